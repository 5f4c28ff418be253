"""Files read some rows at a time, for data that are larger than memory."""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mmfs.io import arrow, csv
from mmfs.io.arrays import (
    Archive,
    array_header,
    matrix,
    read_npy,
    with_parts,
)
from mmfs.io.external_sort import LABELS, Part
from mmfs.io.streams import FileProblem, file_problems, open_stream
from mmfs.io.svmlight import parsed_rows
from mmfs.io.table import Table, Wanted
from mmfs.optional import require
from mmfs.progress import Progress
from mmfs.sources import RowStream, stacked

Array = np.ndarray

# Numbers in a part, about.
SIZE = 1 << 22


class Parts(NamedTuple):
    """A file that can be read by rows, from the first on, as often as one likes."""

    read: Callable[[], Iterator[Part]]
    known: Table  # all but data and labels that come with the parts
    numbered: bool = False  # columns by their numbers in the file, from 0 or 1 on
    labels: Callable[[Array], Array] = lambda labels: labels  # as they are meant, of all parts


def svmlight_parts(path: Path, wanted: Wanted, progress: Progress | None) -> Parts:
    def read() -> Iterator[Part]:
        for rows, share in parsed_rows(path, progress=progress):
            rows.refuse_several(path)
            ends = np.append(0, rows.row_ends)
            shape = (len(rows.labels), max(rows.highest + 1, 1))
            X = sp.csr_array((rows.values, rows.columns, ends), shape=shape)
            X.has_sorted_indices = X.has_canonical_format = True
            yield Part(X, rows.labels, rows.queries, share=share)

    return Parts(read, Table(None), numbered=True, labels=csv.as_labels)


def parquet_parts(path: Path, wanted: Wanted, progress: Progress | None) -> Parts:
    parquet = require("pyarrow.parquet", "data")

    def opened() -> Any:
        return parquet.ParquetFile(path, pre_buffer=False)

    with file_problems(path, "Parquet"):
        file = opened()
        roles = arrow.numeric_roles(path, file.schema_arrow, wanted)
        n_rows = file.metadata.num_rows

    def batches() -> Iterator[Any]:
        read = [*roles.features, *wanted.labels]
        read += [] if roles.rows is None else [roles.rows]
        at_once = max(1, SIZE // max(len(read), 1))
        table_of = require("pyarrow", "data").Table.from_batches
        return (table_of([some]) for some in opened().iter_batches(at_once, columns=read))

    return _arrow_parts(path, batches, roles, wanted, progress, n_rows)


def text_parts(path: Path, wanted: Wanted, progress: Progress | None) -> Parts:
    roles, opened = csv.in_batches(path, wanted)
    parts = _arrow_parts(path, lambda: opened(progress), roles, wanted, None, 0)
    return parts._replace(labels=csv.as_labels)


def _arrow_parts(
    path: Path,
    batches: Callable[[], Iterator[Any]],
    roles: arrow.Roles,
    wanted: Wanted,
    progress: Progress | None,
    n_rows: int,
) -> Parts:
    """From batches of Arrow columns."""

    def read() -> Iterator[Part]:
        done = 0
        with file_problems(path, "table"):
            filled = (batch for batch in batches() if batch.num_rows)  # others are no parts
            for batch in filled:
                done += batch.num_rows
                if progress:
                    progress("reading", done, n_rows)
                share = done / n_rows if n_rows else 0.0
                yield _part(batch, roles, wanted, path)._replace(share=share)

    names = np.array(roles.features, dtype=object)
    assumed = arrow.named_by(roles.rows)
    return Parts(read, Table(None, feature_names=names, target_name=wanted.target, assumed=assumed))


def _part(batch: Any, roles: arrow.Roles, wanted: Wanted, path: Path) -> Part:
    columns = [arrow.numbers_of(batch.column(name), name, path) for name in roles.features]
    X = np.column_stack(columns).astype(np.float64, copy=False)
    y, groups = (_labels(batch, name, path) for name in (wanted.target, wanted.groups))
    rows = None if roles.rows is None else batch.column(roles.rows).to_pylist()
    return Part(X, y, groups, None if rows is None else np.array([str(name) for name in rows]))


def _labels(batch: Any, name: str | None, path: Path) -> Array | None:
    if name is None:
        return None
    column = batch.column(name)
    if column.null_count:
        raise FileProblem(
            f"{path}: column {name!r} has no label in some row; drop such rows, or fill it."
        )
    return arrow.values_of(column, name, path)


def npy_parts(path: Path, wanted: Wanted, progress: Progress | None) -> Parts:
    return table_parts(read_npy(path, wanted, progress))


def table_parts(table: Table) -> Parts:
    """Of data that are in memory."""

    def read() -> Iterator[Part]:
        X = table.X.tocsr() if sp.issparse(table.X) else table.X
        n_rows, width = X.shape
        width = X.nnz // n_rows if sp.issparse(X) else width
        height = max(1, SIZE // max(width, 1))
        for start in range(0, n_rows, height):
            rows = slice(start, min(start + height, n_rows))
            yield _of_rows(X[rows], table, rows, rows.stop / n_rows)

    return Parts(read, table)


def _of_rows(X: Any, known: Table, rows: slice, share: float) -> Part:
    """A part of a table."""
    y, groups, names = (
        None if some is None else some[rows] for some in (known.y, known.groups, known.row_names)
    )
    return Part(X, y, groups, names, share)


def npz_parts(path: Path, wanted: Wanted, progress: Progress | None) -> Parts | None:
    """Compressed rows in an archive, entry by entry; None for what else is in one."""
    with open_stream(path) as stream, file_problems(path, "NumPy file"):
        parts = Archive(stream.file, path.stat().st_size)
        if "indptr" not in parts.files or parts["format"].item() != b"csr":
            return None
        indptr, shape = parts["indptr"].astype(np.int64), tuple(parts["shape"].tolist())
        known = with_parts(None, parts, wanted, path, shape)
    height = max(1, SIZE * shape[0] // max(int(indptr[-1]), 1))

    def read() -> Iterator[Part]:
        with file_problems(path, "NumPy file"), zipfile.ZipFile(path) as archive:
            indices, data = (Member(archive, f"{name}.npy") for name in ("indices", "data"))
            for start in range(0, shape[0], height):
                ends = indptr[start : start + height + 1]
                some = [member.next(int(ends[-1] - ends[0])) for member in (data, indices)]
                if progress:
                    progress("reading", int(ends[-1]), int(indptr[-1]))
                X = sp.csr_array((*some, ends - ends[0]), shape=(len(ends) - 1, shape[1]))
                rows = slice(start, start + len(ends) - 1)
                share = float(ends[-1] / max(indptr[-1], 1))
                yield _of_rows(matrix(X, path), known, rows, share)

    return Parts(read, known)


class Member:
    """An array in an archive, read from the start."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._file = archive.open(name)
        _, self.dtype = array_header(self._file, archive.getinfo(name).file_size)

    def next(self, n: int) -> Array:
        size = n * self.dtype.itemsize
        found = self._file.read(size)
        if len(found) < size:
            raise EOFError
        return np.frombuffer(found, dtype=self.dtype)


def as_rows(parts: Parts, unchanged: Callable[[], None]) -> Table:
    """A table whose X is read from the file again whenever it is needed; now, to count."""
    n_rows, n_columns, lowest = 0, 0, 2**31
    labels: dict[str, list[Any]] = {name: [] for name in LABELS}
    for part in parts.read():
        n_rows += part.X.shape[0]
        n_columns = max(n_columns, part.X.shape[1])
        if parts.numbered:
            lowest = min(lowest, int(part.X.indices.min(initial=lowest)))
        for name in LABELS:
            labels[name].append(getattr(part, name))
    if n_rows == 0 or n_columns == 0:
        raise FileProblem(f"there are {n_rows} rows and {n_columns} columns to read.")
    shift = int(parts.numbered and 0 < lowest < 2**31)
    shape = (n_rows, max(n_columns - shift, 1))
    y, groups, row_names = (
        None if any(some is None for some in found) else np.concatenate(found)
        for found in labels.values()
    )
    return replace(
        parts.known,
        X=RowStream(lambda: _renumbered(parts, shift, shape[1], unchanged), shape),
        **labels_of(parts, y, groups, row_names),
        numbered_from=shift if parts.numbered else parts.known.numbered_from,
    )


def labels_of(
    parts: Parts, y: Array | None, groups: Array | None, row_names: Array | None
) -> dict[str, Any]:
    """Labels of all parts, as a table has them."""
    if parts.numbered and groups is not None and (groups < 0).all():  # no qid anywhere
        groups = None
    y, groups = (None if some is None else parts.labels(some) for some in (y, groups))
    return {"y": y, "groups": groups, "row_names": row_names}


def _renumbered(
    parts: Parts, shift: int, n_columns: int, unchanged: Callable[[], None]
) -> Iterator[Any]:
    """Parts with all columns, each with enough entries for what is found of every column."""
    unchanged()
    gathered: list[Any] = []
    n_entries = 0
    for part in parts.read():
        X = part.X
        if parts.numbered:
            shape = (X.shape[0], n_columns)
            X = sp.csr_array((X.data, X.indices - shift, X.indptr), shape=shape)
        gathered.append(X)
        n_entries += X.nnz if sp.issparse(X) else X.size
        if n_entries >= max(SIZE, n_columns):
            yield stacked(gathered)
            gathered, n_entries = [], 0
    if gathered:
        yield stacked(gathered)
