"""Writing column stores: bounded memory, and whole or not at all.

Everything is built in a hidden folder beside the store, which is renamed at the very end. A folder
left behind by an accident is used by the next attempt, if its source is the same, and else removed.
"""

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs

from mmfs.io.arrays import matrix, plain
from mmfs.io.chunks import Parts, labels_of, table_parts
from mmfs.io.external_sort import LABELS, Part, Runs, synced
from mmfs.io.formats import STORE
from mmfs.io.outputs import FORCE, OrderlyEnd
from mmfs.io.reading import Asked
from mmfs.io.streams import FileProblem
from mmfs.io.table import Table, unique_names
from mmfs.progress import Progress
from mmfs.sources import Elsewhere, Store, open_store
from mmfs.sources.store import (
    CHECKED,
    ENTRIES,
    FORMAT,
    HEADER,
    KINDS,
    VERSION,
    Texts,
    checksum_of,
    file_checksum,
    header_checksum,
)
from mmfs.validation import refuse_missing_label

Array = np.ndarray

MEMORY, ZEROS_AT_ONCE = 1 << 29, 1 << 20  # bytes to work with, unless told; zeros written at a time


def write_store(
    path: Any,
    data: Any,
    y: Any = None,
    *,
    groups: Any = None,
    feature_names: Any = None,
    target_name: str | None = None,
    force: bool = False,
    memory: int = MEMORY,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Store:
    """Write data as a column store, a folder that selectors take in place of X.

    Parameters
    ----------
    path : str or Path
        The folder to make.
    data : array, sparse matrix, or iterable
        The data; or parts of consecutive rows, as a generator may yield them: arrays or sparse
        matrices, or pairs of one and its part of y.
    y, groups : array, default=None
        Target and groups of all rows, to be kept with the data.
    feature_names : sequence of str, default=None
        Names of the columns.
    target_name : str or None, default=None
        What the target is called.
    force : bool, default=False
        Whether to replace a store that exists.
    memory : int, default=2**29
        Bytes to work with, about. A column is held whole while it is written.
    n_jobs : int or None, default=None
        Threads; None stands for all cores.
    progress : callable, default=None
        Told what goes on, how much of it is done, and how much there is.

    Returns
    -------
    Store
        The store, opened.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from mmfs import MMFS, write_store
    >>> rng = np.random.default_rng(0)
    >>> def parts():
    ...     for _ in range(10):
    ...         X = rng.standard_normal((100, 50))
    ...         yield X, X[:, 3] + X[:, 20] > 0
    >>> path = pathlib.Path(tempfile.mkdtemp(), "clicks")
    >>> store = write_store(path, parts())
    >>> MMFS(n_features_to_select=2).fit(store, store.y).indices_.tolist()
    [20, 3]
    """
    if isinstance(data, Elsewhere):
        raise ValueError(f"data is {data}, not in memory; give parts of it.")
    if y is not None:
        refuse_missing_label(y)
    if sp.issparse(data) or isinstance(data, np.ndarray):
        parts = table_parts(Table(matrix(data, "data")))
    else:
        parts = Parts(lambda: _given(data), Table(None))

    def with_labels(table: Table) -> Table:
        for name, values, axis in (("y", y, 0), ("groups", groups, 0), ("feature_names", names, 1)):
            if values is not None and len(values) != table.X.shape[axis]:
                what = ("rows", "columns")[axis]
                raise ValueError(
                    f"{name} has {len(values):,} values for {table.X.shape[axis]:,} {what}."
                )
        return replace(
            table,
            y=table.y if y is None else np.asarray(y),
            groups=None if groups is None else np.asarray(groups),
            feature_names=names,
            target_name=target_name,
        )

    names = None if feature_names is None else np.array([*map(str, feature_names)], dtype=object)
    return store_parts(
        Path(path), parts, with_labels, force=force, memory=memory, n_jobs=n_jobs, progress=progress
    )


def convert_to_store(
    asked: Asked, path: Path, *, force: bool = False, memory: int = MEMORY
) -> Store:
    """Write what is asked of a file as a store; goes on where an earlier attempt was cut short."""
    check_place(path.resolve(), force)
    if asked.kind is STORE:
        raise FileProblem(f"{asked.path} is a column store already; copy the folder.")
    parts, finish = asked.parts(), asked.completed
    if parts is None:
        parts, finish = table_parts(asked.read()), lambda table: table
    return store_parts(
        path, parts, finish, source=asked.identity(), force=force, memory=memory,
        progress=asked.progress,
    )  # fmt: skip


def _given(data: Iterable[Any]) -> Iterator[Part]:
    """Parts of a user, who may use the memory of one for the next."""
    first: tuple[int, bool] | None = None
    for some in data:
        X, y = some if isinstance(some, tuple) else (some, None)
        if getattr(X, "ndim", 0) != 2 or (y is not None and len(y) != X.shape[0]):
            raise ValueError(
                "data must be an array or a sparse matrix of numbers, or give parts of consecutive "
                "rows: X, or pairs (X, y) of the same length."
            )
        n_columns, labelled = first = first or (X.shape[1], y is not None)
        if X.shape[1] != n_columns:
            raise ValueError(f"a part has {X.shape[1]:,} columns, but the first has {n_columns:,}.")
        if (y is not None) != labelled:
            raise ValueError("some parts come with y and others without; give it with all.")
        if labelled:
            refuse_missing_label(y)
        yield Part(matrix(X, "a part of data").copy(), np.array(y) if labelled else None)


def store_parts(
    path: Path,
    parts: Parts,
    finish: Callable[[Table], Table],
    *,
    source: dict[str, Any] | None = None,
    force: bool = False,
    memory: int = MEMORY,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Store:
    """Write parts as a store; `finish` adds what is known of rows and columns from elsewhere.

    An unfinished store of the same `source` is gone on with.
    """
    path = path.resolve()
    n_jobs = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    check_place(path, force)
    with _workplace(path, source) as place:
        runs = Runs(place / "runs", memory)
        runs.add(islice(parts.read(), runs.n_parts, None), progress)
        if runs.n_rows == 0:
            raise FileProblem("there are no rows to make a column store of.")
        shift = int(parts.numbered and runs.lowest > 0)
        n_columns = max(runs.n_columns - shift, 1)
        number = shift if parts.numbered else None
        table = finish(_labelled(runs, parts, (runs.n_rows, n_columns), number))
        _check_labels(table)
        folder = Folder(place / "store")
        runs.merge(shift, n_columns, folder.make, n_jobs, progress)
        folder.finish(table)
        check_place(path, force)  # something may have come into being meanwhile
        _put(place / "store", path)
    return open_store(path)


def _labelled(runs: Runs, parts: Parts, shape: tuple[int, int], shift: int | None) -> Table:
    labels = labels_of(parts, *map(runs.labels, LABELS))
    known = parts.known if shift is None else replace(parts.known, numbered_from=shift)
    return replace(known, X=SimpleNamespace(shape=shape), **labels)


def _check_labels(table: Table) -> None:
    """Refuse what could not be read back, before anything is written in the place of another."""
    for name, labels in (("y", table.y), ("groups", table.groups)):
        if labels is not None and plain(labels).dtype.kind not in KINDS:
            raise FileProblem(f"{name} holds {labels.dtype}, which a store does not; pass text.")
    if table.feature_names is not None:
        unique_names(list(map(str, table.feature_names)), "feature_names", False)


def check_place(path: Path, force: bool) -> None:
    """Refuse a place where a store cannot be, before any work is done for it."""
    if not path.parent.is_dir():
        raise FileProblem(f"there is no folder {path.parent} to make {path.name} in.")
    if not path.exists():
        return
    if not path.is_dir() or (any(path.iterdir()) and not _is_ours(path)):
        raise FileProblem(
            f"{path} exists and is not a column store, or not that alone; name another folder."
        )
    if any(path.iterdir()) and not force:
        raise FileProblem(f"{path} exists; pass ", FORCE, " to replace it.")


def _is_ours(path: Path) -> bool:
    """Whether a folder is a store and nothing else."""
    try:
        header = json.loads((path / HEADER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    ours = isinstance(header, dict) and header.get("format") == FORMAT
    return ours and all(file.name == HEADER or file.suffix == ".npy" for file in path.iterdir())


@contextmanager
def _workplace(path: Path, source: dict[str, Any] | None) -> Iterator[Path]:
    """A hidden folder, for one process at a time; left behind only where work can go on later."""
    place = path.with_name(f".{path.name}.unfinished")
    if place.exists() and not (place / "lock").is_file():
        raise FileProblem(f"{place} is in the way; move it.")
    end = OrderlyEnd()
    end.on()
    try:
        place.mkdir(exist_ok=True)
        with (place / "lock").open("w") as lock:
            _take(lock, path)
            _tidy_up(place, json.dumps(source, sort_keys=True), source is not None)
            yield place
            shutil.rmtree(place)
    except BaseException as error:
        # Of a source that is read again the runs are kept; what is wrong with it would stay wrong,
        # and a full disk needs the space.
        unwritten = isinstance(error, OSError) and _of_writing(error, place)
        useless = source is None or isinstance(error, ValueError) or unwritten
        if useless and not isinstance(error, Taken):
            shutil.rmtree(place, ignore_errors=True)
        if unwritten:
            assert isinstance(error, OSError)
            why = error.strerror or "no space left"  # which NumPy does not say
            raise FileProblem(f"{path} cannot be written ({why}).") from error
        raise
    finally:
        end.off()


def _of_writing(error: OSError, place: Path) -> bool:
    """Rather than of reading what is to be written."""
    full = error.errno in (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return full or str(error.filename).startswith(str(place))


class Taken(FileProblem):
    """Another process is at work there."""


def _take(lock: Any, path: Path) -> None:
    """Be the only one, as long as the file is open."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        same = os.path.samestat(os.fstat(lock.fileno()), os.stat(lock.name))
    except OSError:
        same = False
    if not same:  # it may have been removed meanwhile, by one who was done
        raise Taken(f"another process is writing {path}; wait for it.")


def _tidy_up(place: Path, source: str, again: bool) -> None:
    """Keep the runs of the same source, if it can be read again, and nothing else."""
    noted = place / "source.json"
    if not again or not noted.is_file() or noted.read_text(encoding="utf-8") != source:
        shutil.rmtree(place / "runs", ignore_errors=True)
        noted.write_text(source, encoding="utf-8")
    shutil.rmtree(place / "store", ignore_errors=True)
    (place / "runs").mkdir(exist_ok=True)
    (place / "store").mkdir()


def _put(folder: Path, path: Path) -> None:
    """Give a finished folder its name, in the place of another if there is one."""
    old = path.with_name(f".{path.name}.old")
    if old.exists() and not path.exists() and _is_ours(old):
        os.rename(old, path)  # someone was killed between the two steps below
    if path.exists():
        if _is_ours(old):
            shutil.rmtree(old)
        os.rename(path, old)
    try:
        os.rename(folder, path)
    except BaseException:
        if old.exists():
            os.rename(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _allocate(file: Any, size: int) -> None:
    """Space for so many bytes more; without it, writing to a mapped file ends the process."""
    file.flush()
    if hasattr(os, "posix_fallocate") and size:
        os.posix_fallocate(file.fileno(), file.tell(), size)
        return
    for start in range(0, size, ZEROS_AT_ONCE):
        file.write(bytes(min(ZEROS_AT_ONCE, size - start)))


class Folder:
    """The files of a store that is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.arrays: dict[str, Array] = {}

    def make(self, name: str, dtype: Any, length: int) -> Array:
        """An array to be filled, on disk."""
        file, dtype = self.path / f"{name}.npy", np.dtype(dtype)
        with file.open("wb") as begun:
            header = {"descr": dtype.str, "fortran_order": False, "shape": (length,)}
            np.lib.format.write_array_header_1_0(begun, header)
            _allocate(begun, length * dtype.itemsize)
        mapped = np.lib.format.open_memmap(file, "r+") if length else np.empty(0, dtype=dtype)
        self.arrays[name] = mapped
        return mapped

    def finish(self, table: Table) -> None:
        """Labels, names, checksums and header."""
        indices, data = (self.arrays[name] for name in ENTRIES)
        portions = range(-(-len(indices) // CHECKED))
        checksums = [checksum_of(indices, data, portion) for portion in portions]
        others = {
            "checksums": np.array(checksums, dtype=np.uint32),
            "y": table.y,
            "groups": table.groups,
        }
        for name in ("feature_names", "row_names"):
            if (texts := getattr(table, name)) is not None:
                packed = Texts.of(map(str, texts))
                others |= {f"{name}_bytes": packed.letters, f"{name}_ends": packed.ends}
        for name, array in others.items():
            if array is not None:
                np.save(self.path / f"{name}.npy", plain(array), allow_pickle=False)
        for array in self.arrays.values():
            if isinstance(array, np.memmap):
                array.flush()
        files = {file.stem: self._described(file) for file in sorted(self.path.glob("*.npy"))}
        header: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "shape": list(map(int, table.X.shape)),
            "entries": len(indices),
            "target_name": table.target_name,
            "numbered_from": table.numbered_from,
            "files": files,
        }
        header["checksum"] = header_checksum(header)
        (self.path / HEADER).write_text(json.dumps(header, indent=1) + "\n", encoding="utf-8")
        synced(self.path / HEADER)

    def _described(self, file: Path) -> dict[str, int]:
        synced(file)
        size = {"bytes": file.stat().st_size}
        return size if file.stem in ENTRIES else size | {"checksum": file_checksum(file)}
