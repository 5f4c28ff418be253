"""Real data sets by name: from a folder, or from where they are published."""

import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets.catalogue import CATALOGUE, Entry, Remote
from mmfs.io import FileProblem, Outputs, checksum
from mmfs.io.streams import file_problems
from mmfs.optional import require
from mmfs.progress import Progress

Array = np.ndarray

# The variable that names a folder of data sets, and the file with checksums of first downloads.
FOLDER, CHECKSUMS = "MMFS_DATA", "checksums.json"


@dataclass(frozen=True)
class Dataset:
    """A data set as published: nothing is scaled, transformed or left out.

    Attributes
    ----------
    name, title : str
        What it is called, and what it holds.
    X : ndarray or scipy.sparse.csr_array
        A row per instance.
    y : ndarray of int
        -1 and 1, or 0, 1, ... for more than two classes.
    classes : ndarray of str
        What the labels stand for, in their order.
    feature_names : ndarray of str or None
    split : ndarray of int or None
        0 for the rows that are meant to train, 1 for those to test.
    """

    name: str
    title: str
    X: Any
    y: Array
    classes: Array
    feature_names: Array | None = None
    split: Array | None = None

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"Dataset({self.name!r}: {rows:,} x {columns:,}, {self.title})"


def load(
    name: str,
    folder: Any = None,
    *,
    download: bool = True,
    progress: Progress | None = None,
) -> Dataset:
    """A real data set: from a folder if it is there, else from where it is published.

    Parameters
    ----------
    name : str
        One of `mmfs.datasets.CATALOGUE`. The paper's are "leukemia", "raoa", "rac", "mnist_3v8",
        "real_sim", "webspam" and "kddb".
    folder : str, Path or None, default=None
        Where data sets are, and where downloads are kept. None: the folder that the environment
        variable MMFS_DATA names, else the user's cache.
    download : bool, default=True
        Whether to fetch what is not in the folder (needs `mmfs[bench]`). A published checksum
        is compared; where there is none, later loads are compared with the first download.
    progress : callable, default=None
        Told (text, done, total).

    Returns
    -------
    Dataset
    """
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(CATALOGUE)}.")
    entry = CATALOGUE[name]
    home = _home(folder)
    prepared = home / f"{entry.stored}.npz"
    if prepared.exists():
        parts = _prepared(prepared, entry.labels)
    elif entry.read is None:
        raise FileProblem(
            f"{name} cannot be downloaded; put {prepared.name} with X, y and classes into {home}."
        )
    else:
        paths = [_fetched(name, remote, home, download, progress) for remote in entry.remotes]
        parts = entry.read(paths, progress)
    _check(name, entry, parts)
    parts.setdefault("classes", np.unique(parts["y"]).astype(str))
    return Dataset(name, entry.title, **parts)


def _home(folder: Any) -> Path:
    given = folder or os.environ.get(FOLDER)
    if given:
        if not Path(given).is_dir():
            what = "folder" if folder else f"the folder that {FOLDER} names"
            raise FileProblem(f"{what} {given} does not exist; make it, or name another.")
        return Path(given)
    pooch = require("pooch", "bench", f"loading without a folder (or {FOLDER})")
    return Path(pooch.os_cache("mmfs"))


def _prepared(path: Path, labels: tuple[str, str]) -> dict[str, Any]:
    """From an .npz file: X and all the rest, or a sparse X with the rest in NAME_labels.npz."""
    beside = path.with_name(f"{path.stem}_labels.npz")
    rest = beside if beside.exists() else path
    wrong = (ValueError, KeyError, zipfile.BadZipFile)
    with file_problems(rest, "a prepared data set", wrong), np.load(rest) as file:
        parts = {key: file[key] for key in ("feature_names", "split") if key in file}
        parts |= {part: file[key] for part, key in zip(("y", "classes"), labels, strict=True)}
        if rest is path:
            parts["X"] = file["X"]
    if rest is beside:
        with file_problems(path, "a sparse matrix", wrong):
            parts["X"] = sp.csr_array(sp.load_npz(path))
    return parts


def _fetched(
    name: str, remote: Remote, home: Path, download: bool, progress: Progress | None
) -> Path:
    path = home / remote.file
    if not path.exists() and not download:
        raise FileProblem(
            f"{name} is not in {home}; download {remote.url} into it, or leave download=True."
        )
    first = _first_checksums(home)
    expected = remote.checksum or first.get(remote.file)
    if path.exists():
        algorithm, _, digest = (expected or "").partition(":")
        if digest and checksum(path, algorithm) != digest:
            raise FileProblem(
                f"{path} is not the file it should be (its checksum differs); delete it to "
                "download it again."
            )
        return path
    pooch = require("pooch", "bench", "downloading a data set")
    try:
        pooch.get_logger().setLevel("WARNING")
        fetch = pooch.HTTPDownloader(progressbar=_Bar(name, progress), timeout=60)
        pooch.retrieve(remote.url, expected, remote.file, home, downloader=fetch)
    except (OSError, ValueError) as error:  # of the network, the disk, or a checksum
        lost = isinstance(error, require("requests", "bench").ConnectionError)
        why = "no connection" if lost else str(error).partition("\n")[0].rstrip(".")
        raise FileProblem(
            f"{name} could not be downloaded from {remote.url} ({why}); fetch it elsewhere and "
            f"put it into {home}."
        ) from None
    if expected is None:
        first[remote.file] = f"sha256:{checksum(path)}"
        with Outputs(force=True) as outputs:
            outputs.stage(home / CHECKSUMS).write_text(json.dumps(first, indent=1))
    return path


def _first_checksums(home: Path) -> dict[str, str]:
    path = home / CHECKSUMS
    if not path.exists():
        return {}
    with file_problems(path, "checksums", (ValueError,)):
        return json.loads(path.read_text())


def _check(name: str, entry: Entry, parts: dict[str, Any]) -> None:
    shape = parts["X"].shape
    if shape != entry.shape or len(parts["y"]) != shape[0]:
        expected = " x ".join(f"{n:,}" for n in entry.shape)
        raise FileProblem(
            f"{name} should be {expected}, but what is there is {shape[0]:,} x {shape[1]:,} with "
            f"{len(parts['y']):,} labels; delete it and load it again."
        )


class _Bar:
    """What the downloader asks of a progress bar."""

    def __init__(self, name: str, progress: Progress | None) -> None:
        self._name, self._progress = name, progress
        self.total, self._done = 0, 0

    def update(self, n: int) -> None:
        self._done += n
        if self._progress:
            self._progress(f"downloading {self._name}", self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        pass
