"""Data sets in the form their homes publish them."""

import re
import struct
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from scipy.io import loadmat
from sklearn.feature_extraction.text import CountVectorizer

from mmfs.io import FileProblem, read_svmlight
from mmfs.io.streams import file_problems, open_stream
from mmfs.optional import require
from mmfs.progress import Progress

Array = np.ndarray
Parts = dict[str, Any]  # of a Dataset

# The topics that a well-known two-class version of the newsgroups sets against all others.
FIRST_HALF = re.compile(r"comp\.|sci\.|misc\.forsale")


def digits(paths: Sequence[Path], pair: tuple[int, int], progress: Progress | None) -> Parts:
    """Two digits of MNIST: images and labels to train, images and labels to test."""
    images, labels = [_idx(path, progress) for path in paths[::2]], [_idx(p) for p in paths[1::2]]
    y = np.concatenate(labels)
    keep = np.isin(y, pair)
    split = np.repeat(np.arange(len(labels)), [len(part) for part in labels])
    X = np.concatenate([part.reshape(len(part), -1) for part in images])[keep].astype(np.float32)
    classes = np.array([str(digit) for digit in pair])
    return {"X": X, "y": _signs(y[keep] == pair[1]), "classes": classes, "split": split[keep]}


def _idx(path: Path, progress: Progress | None = None) -> Array:
    """An array in the format of the MNIST files: two zeros, a type, the dimensions, the bytes."""
    with open_stream(path, progress) as stream:
        content = stream.file.read()
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise FileProblem(f"{path} is not an idx file of bytes.")
    n = content[3]
    shape = struct.unpack_from(f">{n}I", content, 4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * n)
    if len(values) != np.prod(shape):
        raise FileProblem(f"{path} is cut short; download it again.")
    return values.reshape(shape)


def svmlight(
    paths: Sequence[Path],
    n_rows: Sequence[int | None],
    n_columns: int,
    n_train: int | None,
    progress: Progress | None,
) -> Parts:
    """The first rows of svmlight files, one below the other; the first `n_train` of all train."""
    read = [
        read_svmlight(
            path,
            zero_based=False,
            dtype=np.float32,
            n_features=n_columns,
            n_rows=n,
            progress=progress,
        )
        for path, n in zip(paths, n_rows, strict=True)
    ]
    X = read[0].X if len(read) == 1 else sp.vstack([part.X for part in read], format="csr")
    y = np.concatenate([part.y for part in read])
    split = None if n_train is None else (np.arange(len(y)) >= n_train).astype(np.int64)
    return {"X": X, "y": _signs(y > 0), "split": split}


def series_matrix(path: Path, patterns: dict[str, str], progress: Progress | None) -> Parts:
    """A GEO series: of the samples, those whose description has one of two patterns."""
    described: list[list[str]] = []
    names, rows, in_table = [], [], False
    with open_stream(path, progress) as stream:
        for line in _lines(stream.file):
            if line.startswith("!series_matrix_table"):
                in_table = line.startswith("!series_matrix_table_begin")
            elif in_table:
                name, _, values = line.partition("\t")
                names.append(name.strip('"'))
                rows.append(values)
            elif re.match("!Sample_(title|source_name|characteristics)", line):
                described.append([cell.strip('"') for cell in line.split("\t")[1:]])
    if len(rows) < 2:
        raise FileProblem(f"{path} has no table of a GEO series.")
    try:
        X = np.array([row.split("\t") for row in rows[1:]], dtype=np.float32).T
    except ValueError:
        raise FileProblem(f"{path} has cells that are not numbers, or rows cut short.") from None
    words = [" ".join(cells).lower() for cells in zip(*described, strict=True)]
    found = np.array([[bool(re.search(p, w)) for p in patterns.values()] for w in words])
    keep = found.sum(axis=1) == 1
    return {
        "X": np.ascontiguousarray(X[keep]),
        "y": _signs(found[keep, 1]),
        "classes": np.array(list(patterns)),
        "feature_names": np.array(names[1:]),
    }


def matlab(path: Path, classes: Sequence[str]) -> Parts:
    """X and Y of a MATLAB file, two classes in the order of their labels."""
    with file_problems(path, "a MATLAB file", (Exception,)):
        content = loadmat(path, variable_names=["X", "Y"])
    if "X" not in content or "Y" not in content:
        raise FileProblem(f"{path} has no X and Y.")
    X, labels = content["X"], content["Y"].ravel()
    X = sp.csr_array(X, dtype=np.float32) if sp.issparse(X) else X.astype(np.float32)
    return {"X": X, "y": _signs(labels == labels.max()), "classes": np.array(classes)}


def rdata(path: Path, classes: Sequence[str]) -> Parts:
    """x (a table) and y (a factor) of the one list in an R file."""
    library = require("rdata", "bench", "this data set")
    with file_problems(path, "an R file", (Exception,)):
        (content,) = library.read_rda(path).values()
        x, y = content["x"], np.asarray(content["y"])
        X = np.asarray(x, dtype=np.float32)
    codes = np.searchsorted(np.unique(y), y)
    return {
        "X": X,
        "y": _signs(codes == 1) if len(classes) == 2 else codes,
        "classes": np.array(classes),
        "feature_names": np.asarray(x.columns, dtype=str) if hasattr(x, "columns") else None,
    }


def newsgroups(paths: Sequence[Path], topics: bool, progress: Progress | None) -> Parts:
    """Word counts by date: an archive of (document, word, count) triplets, and the vocabulary."""
    archive, vocabulary = paths
    with open_stream(vocabulary) as stream:
        words = np.array([line.strip() for line in _lines(stream.file)])
    parts, labels = [], []
    with _archive(archive, progress) as tar:
        members = {Path(member.name).name: member for member in tar if member.isfile()}
        groups = [row.split()[0] for row in _text(tar, members, "train.map", archive)]
        for part in ("train", "test"):
            triplets = np.loadtxt(
                _text(tar, members, f"{part}.data", archive), dtype=np.int64, ndmin=2
            )
            y = np.array(_text(tar, members, f"{part}.label", archive), dtype=np.int64) - 1
            document, word, count = triplets.T
            shape = (len(y), len(words))
            counts = (count.astype(np.float32), (document - 1, word - 1))
            parts.append(sp.csr_array(counts, shape=shape))
            labels.append(y)
    topic = np.concatenate(labels)
    first_half = np.array([bool(FIRST_HALF.match(group)) for group in groups])
    return {
        "X": sp.vstack(parts, format="csr"),
        "y": topic if topics else _signs(first_half[topic]),
        "classes": np.array(groups if topics else ["other", "comp, sci, forsale"]),
        "feature_names": words,
        "split": np.repeat([0, 1], [len(part) for part in labels]),
    }


def mails(paths: Sequence[Path], progress: Progress | None) -> Parts:
    """Archives of ham and spam: the presence of word 1- to 3-grams, in alphabetical order."""
    texts, spam = [], []
    for path in paths:
        with _archive(path, progress) as tar:
            members = sorted((m for m in tar if m.isfile()), key=lambda m: m.name)
            for member in members:
                kind = Path(member.name).parent.name
                if kind in ("ham", "spam"):
                    texts.append(_content(tar, member).decode("latin-1"))
                    spam.append(kind == "spam")
    if not texts:
        raise FileProblem(f"{paths[0]} has no mails in folders ham and spam.")
    count = CountVectorizer(ngram_range=(1, 3), token_pattern=r"\w+", binary=True, dtype=np.float32)
    X = sp.csr_array(count.fit_transform(texts))
    return {"X": X, "y": _signs(np.array(spam)), "classes": np.array(["ham", "spam"])}


@contextmanager
def _archive(path: Path, progress: Progress | None) -> Iterator[tarfile.TarFile]:
    with (
        open_stream(path, progress) as stream,
        file_problems(path, "an archive", (tarfile.TarError,)),
        tarfile.open(fileobj=stream.file) as tar,
    ):
        yield tar


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    assert file is not None  # members are plain files
    return file.read()


def _text(tar: tarfile.TarFile, members: dict, name: str, path: Path) -> list[str]:
    if name not in members:
        raise FileProblem(f"{path} has no {name}; download it again.")
    return _content(tar, members[name]).decode().splitlines()


def _lines(file: IO[bytes]) -> Iterator[str]:
    return (line.decode("latin-1").rstrip("\r\n") for line in file)


def _signs(positive: Array) -> Array:
    return np.where(positive, 1, -1)
