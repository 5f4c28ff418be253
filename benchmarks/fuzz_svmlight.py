"""Coverage-guided fuzzing of the svmlight reader against the slow one; needs atheris.

    pip install atheris
    python -m benchmarks.fuzz_svmlight -max_total_time=300

libFuzzer's options apply. It stops at the first file that the two read differently, or that only
one of them refuses, and leaves that file behind.
"""

import sys
import tempfile
from pathlib import Path

import atheris

from mmfs.io import FileProblem, read_svmlight
from mmfs.io import svmlight as module

with atheris.instrument_imports(include=["tests.reference.svmlight"]):  # not what Numba compiles
    from tests.reference import svmlight as slow
    from tests.test_svmlight import same_as_slow

FOLDER = tempfile.TemporaryDirectory()
SEEDS = (
    b"1 qid:3 1:0.5 7:-1e-3 # note\n-1 2:nan\n",
    b"0 0:1\r\n\r\n+1.5\t5:17976931348623157e292 6:5e-324\n",
    b"1 1:9007199254740993 2:123456789012345678901234567890 3:inf",
)


def one(text: bytes) -> None:
    path = Path(FOLDER.name, "file.svm")
    path.write_bytes(text)
    module.CHUNK = 1 + len(text) % 31
    try:
        expected = slow.read(text)
    except slow.Refused:
        expected = None
    try:
        found = read_svmlight(path, n_jobs=1)
    except FileProblem:
        assert expected is None or len(expected.labels) == 0
        return
    assert expected is not None
    same_as_slow(found, expected)
    columns = read_svmlight(path, layout="csc", n_jobs=1).X.tocsr()
    assert columns.indices.tolist() == found.X.indices.tolist()


if __name__ == "__main__":
    corpus = Path(FOLDER.name, "corpus")
    corpus.mkdir()
    for i, seed in enumerate(SEEDS):
        (corpus / str(i)).write_bytes(seed)
    atheris.Setup([*sys.argv, str(corpus)], one)
    atheris.Fuzz()
