"""Loading data sets: from a folder, and from a server with small files in the homes' formats."""

import bz2
import functools
import gc
import gzip
import http.server
import io
import json
import lzma
import struct
import tarfile
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import rdata
import scipy.io
import scipy.sparse as sp

from benchmarks.datasets import CATALOGUE, load
from mmfs.datasets import make_kddb_shaped, make_webspam_shaped
from mmfs.io import FileProblem
from tests.conftest import DATA

# A refused download leaves its socket to the garbage collector.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def idx(array):
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return gzip.compress(head + array.astype(np.uint8).tobytes())


def archive(texts):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def published():
    """For each file that a data set lives in: what a small one of its kind holds."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (9, 28, 28)), np.array([3, 8, 1, 3, 8, 0, 3, 8, 8])
    svm = b"".join(b"%d 1:0.5 %d:1.5\n" % (s, j) for s, j in [(1, 3), (-1, 2), (1, 4), (-1, 4)])
    series = "\n".join(
        [
            '!Series_title\t"joints, normalized"',
            '!Sample_title\t"RA 1"\t"OA 1"\t"normal 1"\t"RA 2"',
            '!Sample_data_processing\t"normalized"\t"normalized"\t"normalized"\t"normalized"',
            '!Sample_characteristics_ch1\t"clinical status: rheumatoid arthritis"'
            '\t"clinical status: osteoarthritis"\t"clinical status: normal control"'
            '\t"clinical status: rheumatoid arthritis"',
            "!series_matrix_table_begin",
            '"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"\t"GSM4"',
            '"1007_s_at"\t1.5\t2\t3\t4e1',
            '"1053_at"\t5\t6\t7\t8',
            "!series_matrix_table_end",
        ]
    )
    mat = io.BytesIO()
    scipy.io.savemat(mat, {"X": np.arange(6).reshape(3, 2), "Y": np.array([[1], [2], [1]])})
    news = {
        "train.data": "1 1 2\n1 3 1\n2 2 5\n",
        "train.label": "1\n2\n",
        "train.map": "alt.atheism 1\nsci.space 2\n",
        "test.data": "1 3 7\n",
        "test.label": "2\n",
    }
    news = {f"20news-bydate/matlab/{name}": text for name, text in news.items()}
    return {
        "train-images-idx3-ubyte.gz": idx(images[:6]),
        "train-labels-idx1-ubyte.gz": idx(labels[:6]),
        "t10k-images-idx3-ubyte.gz": idx(images[6:]),
        "t10k-labels-idx1-ubyte.gz": idx(labels[6:]),
        "real-sim.bz2": bz2.compress(svm),
        "webspam_wc_normalized_trigram.svm.xz": lzma.compress(svm),
        "kddb.bz2": bz2.compress(svm),
        "kddb.t.bz2": bz2.compress(svm),
        "GSE15573_series_matrix.txt.gz": gzip.compress(series.encode()),
        "GSE55457_series_matrix.txt.gz": gzip.compress(series.encode()),
        "ALLAML.mat": mat.getvalue(),
        "20news-bydate-matlab.tgz": archive(news),
        "vocabulary.txt": b"archive\nname\natheism\n",
    } | {
        f"enron{part}.tar.gz": archive(
            {f"enron{part}/ham/1.txt": "We meet", f"enron{part}/spam/2.txt": f"Buy, buy {part}!"}
            | {f"enron{part}/Summary.txt": "two mails"}
        )
        for part in (1, 2, 3)
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    for name, content in published().items():
        (folder / name).write_bytes(content)
    toy = {"x": pd.DataFrame(np.eye(3), columns=list("abc")), "y": pd.Categorical(list("ntn"))}
    rdata.write_rda(folder / "alon.RData", {"alon": toy})

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()
    gc.collect()


@pytest.fixture
def published_at(server, monkeypatch):
    """Lets a data set live on the server, with a shape of its small version."""
    folder, address = server

    def move(name, shape, **changes):
        entry = CATALOGUE[name]
        remotes = tuple(
            replace(remote, url=address + remote.file, checksum=changes.get("checksum"))
            for remote in entry.remotes
        )
        monkeypatch.setitem(CATALOGUE, name, replace(entry, shape=shape, remotes=remotes))
        return folder

    return move


SMALL = {
    "leukemia": (3, 2),
    "rac": (3, 2),
    "raoa_gse55457": (3, 2),
    "rac_gse55457": (3, 2),
    "mnist_3v8": (7, 784),
    "real_sim": (4, 20_958),
    "webspam": (4, 16_609_143),
    "kddb": (8, 29_890_095),
    "news20": (3, 3),
    "news20_topics": (3, 3),
    "colon": (3, 3),
    "enron": (6, 14),
}


@pytest.mark.parametrize("name", SMALL)
def test_downloaded_once_and_read_as_published(name, published_at, tmp_path):
    published_at(name, SMALL[name])
    told = []
    data = load(name, tmp_path, progress=lambda *what: told.append(what))
    assert data.X.shape == SMALL[name] and data.X.dtype == np.float32
    assert len(data.y) == SMALL[name][0] and len(data.classes) == 2
    assert set(np.unique(data.y)) == ({0, 1} if name == "news20_topics" else {-1, 1})
    assert any("downloading" in text and done == total > 0 for text, done, total in told)
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = load(name, tmp_path, download=False)
    assert again.X.shape == data.X.shape
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == kept


def test_what_the_files_hold(published_at, tmp_path):
    for name, shape in SMALL.items():
        published_at(name, shape)
    digits = load("mnist_3v8", tmp_path)
    assert digits.y.tolist() == [-1, 1, -1, 1, -1, 1, 1]
    assert digits.split.tolist() == [0, 0, 0, 0, 1, 1, 1]
    joints = load("raoa_gse55457", tmp_path)
    assert joints.X.tolist() == [[1.5, 5], [2, 6], [40, 8]] and joints.y.tolist() == [1, -1, 1]
    assert joints.feature_names.tolist() == ["1007_s_at", "1053_at"]
    assert load("rac_gse55457", tmp_path).X[:, 0].tolist() == [1.5, 3, 40]
    news = load("news20_topics", tmp_path)
    assert news.X.toarray().tolist() == [[2, 0, 1], [0, 5, 0], [0, 0, 7]]
    assert news.y.tolist() == [0, 1, 1] and news.classes.tolist() == ["alt.atheism", "sci.space"]
    assert load("news20", tmp_path).y.tolist() == [-1, 1, 1]
    assert load("colon", tmp_path).y.tolist() == [-1, 1, -1]
    mails = load("enron", tmp_path)
    assert mails.y.tolist() == [-1, 1] * 3 and mails.X.max() == 1
    assert mails.X.sum(axis=1).tolist() == [3, 5, 3, 5, 3, 5]
    both = load("kddb", tmp_path)
    assert both.y.tolist() == [1, -1, 1, -1] * 2
    assert both.X[:, [0, 1, 2, 3]].toarray()[:4].tolist() == [
        [0.5, 0, 1.5, 0],
        [0.5, 1.5, 0, 0],
        [0.5, 0, 0, 1.5],
        [0.5, 0, 0, 1.5],
    ]


def refusal(*arguments, **options):
    with pytest.raises(FileProblem) as caught:
        load(*arguments, **options)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    return str(caught.value)


def test_another_file_than_was_published(published_at, tmp_path):
    published_at("real_sim", SMALL["real_sim"], checksum="md5:" + 32 * "0")
    assert "could not be downloaded" in refusal("real_sim", tmp_path)
    assert not (tmp_path / "real-sim.bz2").exists()


def test_a_file_that_changes_after_its_first_download(published_at, tmp_path):
    published_at("leukemia", SMALL["leukemia"])
    load("leukemia", tmp_path)
    assert json.loads((tmp_path / "checksums.json").read_text())["ALLAML.mat"].startswith("sha256:")
    with (tmp_path / "ALLAML.mat").open("ab") as file:
        file.write(b"!")
    assert "checksum differs" in refusal("leukemia", tmp_path)


def test_a_file_of_another_shape(published_at, tmp_path):
    published_at("leukemia", (72, 7129))
    assert "should be 72 x 7,129, but what is there is 3 x 2" in refusal("leukemia", tmp_path)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("mnist_3v8", "train-images-idx3-ubyte.gz"),
        ("real_sim", "real-sim.bz2"),
        ("rac", "GSE15573_series_matrix.txt.gz"),
        ("leukemia", "ALLAML.mat"),
        ("news20", "20news-bydate-matlab.tgz"),
        ("colon", "alon.RData"),
        ("enron", "enron1.tar.gz"),
    ],
)
@pytest.mark.parametrize("damage", [b"", b"not at all what it should be", "half"])
def test_damaged_files(name, file, damage, published_at, tmp_path):
    folder = published_at(name, SMALL[name])
    content = (folder / file).read_bytes()
    (tmp_path / file).write_bytes(content[: len(content) // 2] if damage == "half" else damage)
    assert refusal(name, tmp_path, download=True)


def test_without_data_or_network(published_at, tmp_path, monkeypatch):
    assert "cannot be downloaded; put raoa.npz" in refusal("raoa", tmp_path)
    assert "or leave download=True" in refusal("rac", tmp_path, download=False)
    assert "does not exist" in refusal("leukemia", tmp_path / "nowhere")
    monkeypatch.setenv("MMFS_DATA", str(tmp_path / "nowhere"))
    assert "MMFS_DATA" in refusal("leukemia")
    published_at("leukemia", SMALL["leukemia"])
    remote = replace(CATALOGUE["leukemia"].remotes[0], url="http://127.0.0.1:9/ALLAML.mat")
    monkeypatch.setitem(CATALOGUE, "leukemia", replace(CATALOGUE["leukemia"], remotes=(remote,)))
    assert "(no connection); fetch it elsewhere" in refusal("leukemia", tmp_path)
    remote = replace(remote, url=published_at("rac", SMALL["rac"]) and _missing(CATALOGUE["rac"]))
    monkeypatch.setitem(CATALOGUE, "leukemia", replace(CATALOGUE["leukemia"], remotes=(remote,)))
    assert "404" in refusal("leukemia", tmp_path)
    with pytest.raises(ValueError, match="there is no data set 'golub'; there are leukemia,"):
        load("golub", tmp_path)


def _missing(entry):
    return entry.remotes[0].url.replace("GSE", "none")


def test_incomplete_files(published_at, tmp_path):
    np.savez(tmp_path / "raoa.npz", y=np.zeros(31), classes=["OA", "RA"])
    assert "cannot be read as a prepared data set" in refusal("raoa", tmp_path)
    folder = published_at("rac", SMALL["rac"])
    text = gzip.decompress((folder / "GSE15573_series_matrix.txt.gz").read_bytes())
    for damaged in (text.replace(b"1.5\t2", b"1.5\tnull"), text.replace(b"\t3\t4e1", b"")):
        (tmp_path / "GSE15573_series_matrix.txt.gz").write_bytes(gzip.compress(damaged))
        assert "not numbers, or rows cut short" in refusal("rac", tmp_path)


def test_too_small_to_be_shaped_so():
    with pytest.raises(ValueError, match="entries are too many"):
        make_kddb_shaped(1e-5)


def test_a_prepared_folder_comes_first(tmp_path, monkeypatch):
    X, y = np.zeros((31, 18_432), dtype=np.float32), np.repeat([-1, 1], [15, 16])
    np.savez(tmp_path / "raoa.npz", X=X, y=y, classes=["OA", "RA"])
    monkeypatch.setenv("MMFS_DATA", str(tmp_path))
    assert load("raoa").classes.tolist() == ["OA", "RA"]
    (tmp_path / "raoa.npz").write_bytes((tmp_path / "raoa.npz").read_bytes()[:1000])
    assert "cannot be read as a prepared data set" in refusal("raoa")


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_real_ones(name):
    if not (DATA / f"{CATALOGUE[name].stored}.npz").exists():
        pytest.skip(f"{name} is not at hand (set MMFS_DATA to a folder with it)")
    data = load(name, DATA, download=False)
    assert data.X.shape == CATALOGUE[name].shape
    values = data.X.data if sp.issparse(data.X) else data.X
    assert np.isfinite(values).all() and len(data.classes) == len(np.unique(data.y))


@pytest.mark.parametrize("scale", [0.002, 0.01])
@pytest.mark.parametrize(
    ("make", "shape", "per_row"),
    [
        (make_webspam_shaped, (80_000, 8_355_099), 3_730),
        (make_kddb_shaped, (100_000, 29_889_813), 30),
    ],
)
def test_shaped_as_the_paper_says(make, shape, per_row, scale):
    X, y, signals, copies = data = make(scale, n_signals=20)
    assert X.shape == (int(scale * shape[0]), int(scale * shape[1]))
    assert X.nnz == per_row * X.shape[0]
    plain = X.copy()
    plain.has_canonical_format = plain.has_sorted_indices = False
    plain.sum_duplicates()
    assert plain.nnz == X.nnz and (np.diff(X.indptr) >= 0).all()
    assert abs(y.mean() - 0.5) < 0.02 and len(np.unique([*signals, *copies])) == 40
    for signal, copy in zip(signals, copies, strict=True):
        pair = X[:, [signal, copy]].toarray()
        assert np.corrcoef(pair.T)[0, 1] > 0.6
    assert data.found(copies[:5]) == 0.25 and data.found([]) == 0.0
    assert make(scale, n_signals=20).X.indices.tolist() == X.indices.tolist()
