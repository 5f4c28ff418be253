"""Damaged files for every reader, and for the opening of stores: no crash, no hang, no bomb.

    python -m benchmarks.fuzz [seconds for each, default 600] [names ...] [--keep FOLDER]

Seeds of every format are mutated with its structure in mind: bytes, numbers as text and as words of
one to eight bytes, tokens, pieces moved, the members of archives behind right checksums. What a
reader may do is to read a file, or to refuse it in one sentence. It may not take 5 seconds, nor
set aside more than ten times the file (and ROOM for its buffers). Two formats run at once, each
in processes that may die; what fails is kept, one file for each way of failing.
"""

import argparse
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mmfs import MMFS, open_store, write_store
from mmfs.io import FileProblem, Table, read_table, write_table
from mmfs.sources import StoreProblem
from mmfs.sources.store import checksum_of, file_checksum, header_checksum

SECONDS, ROOM = 5, 400 << 20
ENDINGS = {
    "csv": "csv", "csv.gz": "csv.gz", "tsv": "tsv", "transposed": "csv", "stream": "csv",
    "parquet": "parquet", "arrow": "arrow", "svmlight": "svm", "npy": "npy", "npz": "npz",
    "mtx": "mtx", "h5ad": "h5ad", "target": "txt", "store": "store",
}  # fmt: skip

NUMBERS = (0, 1, -1, 2, 7, 127, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1,
           -(2**31), -(2**63))  # fmt: skip
WORDS = (b"nan", b"inf", b"-1", b"1e309", b"999999999999", b"1000000000", b"0x10", b"", b'"', b"'",
         b"\x00", b"\xff\xfe", b"=1+1", b"%", b"#", b":", b",", b"\n", b"\r", b"[" * 50,
         b"9" * 400, b"True", b"null", b"{", b"(" * 300)  # fmt: skip


# --- seeds ---------------------------------------------------------------------------------------


def example(sparse: bool, names: bool = True) -> Table:
    rng = np.random.default_rng(0)
    X = np.rint(9 * rng.standard_normal((12, 5))) * (rng.random((12, 5)) < 0.6)
    X[:, 0] = np.arange(12) / 8
    y = np.where(X[:, 0] > 0.6, "case", "control")
    columns = np.array([f"g{j}" for j in range(5)], dtype=object) if names else None
    rows = np.array([f"r{i}" for i in range(12)], dtype=object) if names else None
    return Table(sp.csr_array(X) if sparse else X, y, columns, rows, "group" if names else None)


def seeds(name: str) -> list[bytes]:
    """Valid files of a format."""
    if name == "store":
        return []
    if name == "target":
        return ["\n".join(["group", *example(False).y]).encode(), "\n".join("01" * 6).encode()]
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for i, (sparse, named) in enumerate([(False, True), (True, True), (False, False)]):
            path = Path(folder, f"{i}.{ENDINGS[name]}")
            table = example(sparse, named)
            if name == "transposed":
                lines = [",".join(["id", *(table.row_names if named else map(str, range(12)))])]
                lines += [",".join(map(str, [table.name(j), *np.ravel(column)])) for j, column in
                          enumerate(np.asarray(example(False).X).T)]  # fmt: skip
                found.append("\n".join(lines).encode())
                continue
            write_table(table, path)
            found.append(path.read_bytes())
    if name == "mtx":
        found.append(b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n")
        found.append(b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n")
    if name == "csv":
        found.append(b'id;"a ""b""";c;group\nx;1,5;2;u\n"y\nz";3;;v\n')
    return found


# --- mutations ----------------------------------------------------------------------------------


def mutated(text: bytes, others: list[bytes], rng: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        rng.choice(MUTATIONS)(data, at, others, rng)
    return bytes(data)


def _flip(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    if at < len(data):
        data[at] ^= 1 << rng.randrange(8)


def _byte(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    if at < len(data):
        data[at] = rng.randrange(256)


def _word(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    """A number where one may be, in one to eight bytes, also one that is about right."""
    size, order = rng.choice((1, 2, 4, 8)), rng.choice(("little", "big"))
    at -= at % rng.choice((1, size))
    old = int.from_bytes(data[at : at + size], order)
    new = rng.choice((*NUMBERS, old + 1, old - 1, 2 * old, len(data)))
    data[at : at + size] = (new % 256**size).to_bytes(size, order)


def _number(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    """A number that is written as text."""
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    if found:
        place = rng.choice(found)
        new = str(rng.choice((*NUMBERS, 10**9, 10**18, 1e308, 0.5))).encode()
        data[place.start() : place.end()] = new


def _token(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    found = list(re.finditer(rb"[^\s,;:]+", data))
    if found:
        place = rng.choice(found)
        data[place.start() : place.end()] = rng.choice(WORDS)


def _insert(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    data[at:at] = rng.choice(WORDS)


def _delete(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    del data[at : at + rng.choice((1, 4, 30, 300))]


def _repeat(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    data[at:at] = data[at : at + rng.choice((1, 8, 100))] * rng.choice((1, 2, 50))


def _move(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    """A piece of this file, or of another, somewhere else."""
    source = rng.choice(others)
    start, size = rng.randrange(len(source) + 1), rng.choice((4, 16, 64, 512))
    data[at : at + size] = source[start : start + size]


def _truncate(data: bytearray, at: int, others: list[bytes], rng: random.Random) -> None:
    del data[at:]


MUTATIONS: list[Callable] = [
    _flip, _byte, _byte, _word, _word, _word, _number, _number, _token, _token, _insert, _delete,
    _repeat, _move, _truncate,
]  # fmt: skip


def mutated_archive(text: bytes, rng: random.Random) -> bytes:
    """A member of a zip archive changed, whose checksum is right."""
    with zipfile.ZipFile(io.BytesIO(text)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    changed = rng.choice(list(members))
    members[changed] = mutated(members[changed], list(members.values()), rng)
    if rng.random() < 0.1:
        del members[rng.choice(list(members))]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return made.getvalue()


def mutated_store(folder: Path, rng: random.Random) -> None:
    """A store with a change somewhere; mostly its checksums are right nevertheless."""
    header = json.loads((folder / "header.json").read_text())
    if rng.random() < 0.3:
        text = mutated(json.dumps(header).encode(), [b"[{}]"], rng)
        try:
            header = json.loads(text)
            header["checksum"] = header_checksum(header)
        except (ValueError, TypeError, AttributeError, RecursionError):
            (folder / "header.json").write_bytes(text)
            return
    else:
        file = folder / f"{rng.choice(list(header['files']))}.npy"
        whole, begin = file.read_bytes(), rng.choice((0, 128))
        file.write_bytes(whole[:begin] + mutated(whole[begin:] or b"0", [whole], rng))
        known = header["files"][file.stem] = {"bytes": file.stat().st_size}
        if file.stem not in ("indices", "data"):
            known["checksum"] = file_checksum(file)
        elif rng.random() < 0.9:
            made = folder / "checksums.npy"
            try:
                entries = [np.load(folder / f"{name}.npy") for name in ("indices", "data")]
                np.save(made, np.array([checksum_of(*entries, 0)], dtype=np.uint32))
                header["files"]["checksums"] = {
                    "bytes": made.stat().st_size, "checksum": file_checksum(made)
                }  # fmt: skip
            except Exception:  # what was changed is no NumPy file any more
                pass
        header["checksum"] = header_checksum(header)
    (folder / "header.json").write_text(json.dumps(header))


# --- trying -------------------------------------------------------------------------------------


def read(name: str, path: Path) -> None:
    """Read a file, and look at everything that was read."""
    if name == "store":
        store = open_store(path)
        store.check()
        store[:, [0, -1]].sum()
        print(*(store.feature_names or ()), *(store.row_names or ()), file=io.StringIO())
        MMFS(1, gamma=1.0).fit(store, np.arange(store.shape[0]) % 2)
        return
    if name == "target":
        data = path.with_name("data.npy")
        np.save(data, np.ones((12, 2)))
        read_table(data, target=str(path))
        return
    stream = name == "stream"
    table = read_table(path, transpose=name == "transposed", numbers_only=True, stream=stream)
    X = table.X[:, :] if stream else table.X
    if sp.issparse(X):
        X.check_format(full_check=True)
    float(X.sum())


def outcome(name: str, path: Path) -> str:
    """Read, refused, or what is wrong."""
    try:
        read(name, path)
    except (FileProblem, StoreProblem) as problem:
        return "refused" if "\n" not in str(problem) else "several lines"
    except ValueError as problem:
        refused = name == "store" and re.search("X has|constant|usable", str(problem))
        return "refused" if refused else _where(problem)
    except Exception as problem:
        return _where(problem)
    return "read"


def _where(problem: BaseException) -> str:
    last = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__} in {Path(last.filename).name}:{last.lineno} {problem!s:.90}"


def worker(name: str, seed: int, seconds: float, folder: Path) -> None:
    """Try files until the time is over, or the process dies of one; prints counts every second."""
    warnings.simplefilter("ignore")
    rng, known = random.Random(seed), seeds(name)
    path, log = folder / f"case.{ENDINGS[name]}", (folder / "log").open("a")
    whole = folder / "whole"
    if name == "store" and not whole.exists():
        table = example(True)
        write_store(whole, table.X, table.y, feature_names=table.feature_names)
    for text in known[:1]:  # so that all is imported and compiled
        path.write_bytes(text)
        outcome(name, path)
    if name == "store":
        outcome(name, whole)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    end, counts, told = time.monotonic() + seconds, Counter[str](), time.monotonic()
    while time.monotonic() < end:
        size = 0
        if name == "store":
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(whole, path)
            mutated_store(path, rng)
        else:
            text = rng.choice(known)
            inside = name == "npz" and rng.random() < 0.7
            text = mutated_archive(text, rng) if inside else mutated(text, known, rng)
            if name == "csv.gz" and rng.random() < 0.5:
                text = zlib.compress(mutated(zlib.decompress(rng.choice(known), 31), known, rng),
                                     wbits=31)  # fmt: skip
            path.write_bytes(text)
            size = len(text)
        resource.setrlimit(resource.RLIMIT_AS, (used + ROOM + 10 * size, resource.RLIM_INFINITY))
        signal.alarm(SECONDS)
        found = outcome(name, path)
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        counts[found] += 1
        if found not in ("read", "refused") and counts[found] == 1:
            _keep(path, folder, found)
        if time.monotonic() > told + 1:
            print(json.dumps(counts), file=log, flush=True)
            counts, told = Counter(), time.monotonic()
    print(json.dumps(counts), file=log, flush=True)


def _keep(path: Path, folder: Path, found: str) -> None:
    kept = folder / f"found-{zlib.crc32(found.encode()):08x}{path.suffix}"
    if not kept.exists():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, kept)
        kept.with_suffix(".why").write_text(found)


def fuzz(name: str, seconds: float, keep: Path) -> Counter:
    """All outcomes of a format, over as many processes as it takes."""
    folder = keep / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    end, seed, counts = time.monotonic() + seconds, 0, Counter[str]()
    while (left := end - time.monotonic()) > 1:
        seed += 1
        words = [sys.executable, "-m", "benchmarks.fuzz", "--worker", name, str(seed), str(left)]
        done = subprocess.run([*words, str(folder)], capture_output=True, text=True)
        if done.returncode:
            hung = done.returncode == -signal.SIGALRM
            why = "hang" if hung else f"exit {done.returncode} {done.stderr[-200:]}"
            counts[why] += 1
            _keep(folder / f"case.{ENDINGS[name]}", folder, f"{why} {seed if hung else ''}")
    for line in (folder / "log").read_text().splitlines():
        counts.update(json.loads(line))
    print(f"{name}: {dict(counts.most_common())}", flush=True)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", nargs="?", type=float, default=600)
    parser.add_argument("names", nargs="*", default=list(ENDINGS))
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir(), "fuzz"))
    told = parser.parse_args()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda name: fuzz(name, told.seconds, told.keep), told.names))
    bad = sum(
        n for counts in found for what, n in counts.items() if what not in ("read", "refused")
    )
    print(f"{sum(map(Counter.total, found)):,} files, {bad} failures; see {told.keep}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        os.nice(10)
        worker(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), Path(sys.argv[5]))
    else:
        main()
