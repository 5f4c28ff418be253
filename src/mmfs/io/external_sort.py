"""Turning data that come by rows into columns, in bounded memory.

Parts are gathered until memory is full, sorted by column, and written as a *run*; in the end all
runs are read side by side, a range of columns at a time, and what they have of a column is put in
a row. A run is renamed when it is whole, and remembers how many parts it holds: after an accident
all goes on behind the last of them.
"""

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mmfs._compiled import placing
from mmfs.io.arrays import plain
from mmfs.io.streams import FileProblem
from mmfs.progress import Progress
from mmfs.sources import tidy

Array = np.ndarray

# Bytes that an entry takes while it is sorted: as it came, and where it belongs.
PER_ENTRY = 32

# Row numbers fit into 32 bits.
MOST_ROWS = 2**31 - 1

LABELS = ("y", "groups", "row_names")


class Part(NamedTuple):
    """Consecutive rows: an array or a sparse matrix."""

    X: Any
    y: Array | None = None
    groups: Array | None = None
    row_names: Array | None = None
    share: float = 0.0  # of the source, that has been read with it


class Run(NamedTuple):
    """Entries of some rows, sorted by column."""

    columns: Array  # those that have any, rising
    ends: Array  # of each in `rows` and `data`
    rows: Array
    data: Array
    labels: dict[str, Array]
    n_parts: int
    n_rows: int
    n_columns: int

    def between(self, first: int, last: int) -> tuple[Array, Array, Array, Array, int]:
        """Columns first..last: which, their ends, rows and data, and where these begin."""
        a, b = np.searchsorted(self.columns, [first, last])
        start = int(self.ends[a - 1]) if a else 0
        entries = slice(start, int(self.ends[b - 1]) if b else 0)
        return self.columns[a:b], self.ends[a:b], self.rows[entries], self.data[entries], start


class Runs:
    """The runs in a folder."""

    def __init__(self, folder: Path, memory: int) -> None:
        self.folder, self.most = folder, max(memory // PER_ENTRY, 1)
        self._runs = [_opened(path) for path in sorted(folder.glob("run-*[0-9]"))]

    @property
    def n_parts(self) -> int:
        return sum(run.n_parts for run in self._runs)

    @property
    def n_rows(self) -> int:
        return sum(run.n_rows for run in self._runs)

    @property
    def n_columns(self) -> int:
        return max((run.n_columns for run in self._runs), default=0)

    @property
    def lowest(self) -> int:
        """The first column with an entry."""
        return min((int(run.columns[0]) for run in self._runs if len(run.columns)), default=0)

    @property
    def dtype(self) -> Any:
        return np.result_type(np.float32, *(run.data.dtype for run in self._runs))

    def labels(self, name: str) -> Array | None:
        """y, groups or names of all rows; None if some have none."""
        parts = [run.labels.get(name) for run in self._runs]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) > 0 else None

    def add(self, parts: Iterator[Part], progress: Progress | None = None) -> None:
        """Write parts as runs; the first of them are those that came after `n_parts`."""
        gathered: list[Part] = []
        n_entries = 0
        with ThreadPoolExecutor(1) as writer:  # while more is being read
            pending = None
            for part in parts:
                X = _by_rows(part.X)
                gathered.append(part._replace(X=X))
                n_entries += X.nnz + 2 * X.shape[0]
                if X.shape[1] == 0:
                    raise FileProblem("there are no columns to make a column store of.")
                if n_entries >= self.most // 2:  # one being gathered, one being written
                    if pending:
                        self._runs.append(pending.result())
                    pending = writer.submit(self._write, gathered, self._next())
                    gathered, n_entries = [], 0
                    if progress:
                        progress("sorting", part.share, 1.0)
            if pending:
                self._runs.append(pending.result())
            if gathered:
                self._runs.append(self._write(gathered, self._next()))

    def _next(self) -> tuple[int, int]:
        """The number of the next run, and its first row."""
        return len(self._runs), self.n_rows

    def _write(self, parts: list[Part], at: tuple[int, int]) -> Run:
        number, first_row = at
        n_columns = max(part.X.shape[1] for part in parts)
        counts = np.zeros(n_columns, dtype=np.int64)
        for part in parts:
            placing.count_columns(part.X.indices, counts)
        ends = np.cumsum(counts)
        next_entry = ends - counts
        rows, data = np.empty(ends[-1], dtype=np.int32), np.empty(ends[-1])
        n_rows = 0
        for part in parts:
            X = part.X
            placing.place(
                first_row + n_rows, X.indptr[1:], X.indices, 0, X.data, next_entry, ends, rows, data
            )
            n_rows += X.shape[0]
        if first_row + n_rows > MOST_ROWS:
            raise FileProblem(f"a column store has at most {MOST_ROWS:,} rows, but here are more.")
        used = np.flatnonzero(counts)
        arrays = {"columns": used.astype(np.int32), "ends": ends[used], "rows": rows}
        arrays["data"] = _shortest(data)
        for name in LABELS:
            labels = [getattr(part, name) for part in parts]
            if all(some is not None for some in labels):
                arrays[name] = plain(np.concatenate(labels))
        path = self.folder / f"run-{number:06}"
        unfinished = path.with_suffix(".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        for name, array in arrays.items():
            np.save(unfinished / f"{name}.npy", array, allow_pickle=False)
        counted = {"n_parts": len(parts), "n_rows": n_rows, "n_columns": n_columns}
        (unfinished / "run.json").write_text(json.dumps(counted), encoding="utf-8")
        for file in unfinished.iterdir():
            synced(file)
        os.rename(unfinished, path)
        return _opened(path)

    def merge(
        self,
        shift: int,
        n_columns: int,
        make: Any,
        n_jobs: int,
        progress: Progress | None = None,
    ) -> None:
        """All entries by columns, into the arrays that make(name, dtype, length) provides.

        Columns are numbered from `shift` on in the runs.
        """
        indptr = make("indptr", np.int64, n_columns + 1)
        counts = np.zeros(n_columns, dtype=np.int64)
        for run in self._runs:
            counts[run.columns - shift] += np.diff(run.ends, prepend=0)
        np.cumsum(counts, out=indptr[1:])
        n_entries = int(indptr[-1])
        indices = make("indices", np.int32, n_entries)
        data = make("data", self.dtype, n_entries)
        at_once = max(1, 2 * self.most // n_jobs)
        cuts = np.searchsorted(indptr, np.arange(at_once, n_entries, at_once))
        ranges = list(pairwise(np.unique([0, *cuts, n_columns]).tolist()))

        def place(first: int, last: int) -> None:
            entries = slice(int(indptr[first]), int(indptr[last]))
            next_entry = indptr[first:last] - entries.start
            rows = np.empty(entries.stop - entries.start, dtype=np.int32)
            values = np.empty(len(rows), dtype=self.dtype)
            for run in self._runs:
                columns, ends, some_rows, some_data, start = run.between(
                    first + shift, last + shift
                )
                placing.place_run(
                    columns, ends, some_rows, some_data, start, first + shift, next_entry, rows,
                    values,
                )  # fmt: skip
            indices[entries], data[entries] = rows, values

        with ThreadPoolExecutor(n_jobs) as pool:
            pending = [pool.submit(place, *some) for some in ranges]
            try:
                for n, future in enumerate(pending, start=1):
                    future.result()
                    if progress:
                        progress("placing", n, len(ranges))
            finally:
                for future in pending:
                    future.cancel()


def _by_rows(X: Any) -> sp.csr_array:
    """In one type each: the fewer are compiled for."""
    X = sp.csr_array(tidy(X))
    X.indptr, X.indices = (part.astype(np.int64, copy=False) for part in (X.indptr, X.indices))
    X.data = X.data.astype(np.float64, copy=False)
    return X


def _shortest(data: Array) -> Array:
    """In single precision, if nothing is lost."""
    with np.errstate(over="ignore"):
        short = data.astype(np.float32)
    return short if np.array_equal(short, data, equal_nan=True) else data


def _opened(path: Path) -> Run:
    arrays = {
        file.stem: np.load(file, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        for file in path.glob("*.npy")
    }
    counted = json.loads((path / "run.json").read_text(encoding="utf-8"))
    labels = {name: arrays.pop(name) for name in LABELS if name in arrays}
    return Run(**arrays, labels=labels, **counted)


def synced(path: Path) -> None:
    """On the disk, not only on its way there."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
