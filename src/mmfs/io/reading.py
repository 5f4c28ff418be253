"""One door to files of every kind: `read_table`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mmfs.errors import Parameter
from mmfs.io import csv
from mmfs.io.chunks import Parts, as_rows
from mmfs.io.formats import FORMATS, STORE, Format, Reader, format_of
from mmfs.io.labels import Matching, file_and_part, is_file, labels_of_rows, names_of_columns
from mmfs.io.streams import FileProblem
from mmfs.io.table import NoSuchName, Table, Wanted, unique_names
from mmfs.progress import Progress

Array = np.ndarray

# Readers of files whose columns have a type each, and of observations.
OF_TYPES = [FORMATS[name].read for name in ("parquet", "arrow", "h5ad")]

# Columns that were left out, of which so many are named.
MENTIONED = 10


def read_table(
    path: Any,
    *,
    target: str | None = None,
    groups: str | None = None,
    names: Any = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    numbers_only: bool = False,
    number_duplicates: bool = False,
    transpose: bool = False,
    by: str | None = None,
    by_order: bool = False,
    format: str | None = None,
    stream: bool = False,
    weights: str | None = None,
    covariates: str | None = None,
    event: str | None = None,
    drop_unlabelled: bool = False,
    progress: Progress | None = None,
) -> Table:
    """Read a file of data, or open a column store.

    Parameters
    ----------
    path : str or Path
        CSV or TSV, Parquet, Arrow, svmlight, .npy, .npz (dense or SciPy's sparse), Matrix Market,
        .h5ad; text formats also compressed (.gz, .xz, .bz2, .zst). Or the folder of a
        column store, which is not read, but opened.
    target : str or None, default=None
        A column of the file (of obs in .h5ad; a line with `transpose`; a part of .npz,
        where "y" is taken by itself), or another file: a line per instance, .npy, or any table
        with the column after a colon, as in "clinic.csv:diagnosis". If both files name their
        rows, these are matched, and refused if they do not. svmlight files have their own.
    groups : str or None, default=None
        Groups of rows for cross-validation, given as `target` is.
    names : str, Path or None, default=None
        A file with the name of a feature in each line, or of another kind, as for `target`.
    include, exclude : sequence of str, default=()
        Names or patterns (`gene_*`) of features to read, or not to. All others are not even read
        where the format allows.
    numbers_only : bool, default=False
        Whether to leave out columns of a table that do not hold numbers, instead of refusing it.
    number_duplicates : bool, default=False
        Whether to call columns of one name a, a.1, a.2, instead of refusing them.
    transpose : bool, default=False
        Whether rows are features and columns instances.
    by : str or None, default=None
        The column of the other file with `target` or `groups` that names its rows; None: the one
        that has the names of the rows of the data.
    by_order : bool, default=False
        Whether to take rows of the other file in the order they are in, whatever they are called.
    format : str or None, default=None
        "csv", "tsv", "parquet", "arrow", "svmlight", "npy", "npz", "mtx" or "h5ad", if the
        name of the file does not tell.
    stream : bool, default=False
        Whether to leave the data in the file, and to read it again, some rows at a time, whenever a
        selector asks for it: for data larger than memory. CSV, Parquet, svmlight, .npy, and
        compressed rows in .npz; without `transpose`, and `include` in the first two alone.
    weights : str or None, default=None
        How much each row counts, given as `target` is.
    covariates : str or None, default=None
        What is to be taken out: columns of the file, "age,sex", or of another one,
        "clinic.csv:age,sex".
    event : str or None, default=None
        Where the target holds times, what tells whether the event was seen then (1) or not (0),
        given as `target` is: y has then two columns, events and times.
    drop_unlabelled : bool, default=False
        Whether rows without a target are left out.
    progress : callable, default=None
        Told what goes on, how much of it is done, and how much there is.

    Returns
    -------
    Table
        With X, y, feature_names, row_names; `assumed` says what was taken for granted.
    """
    asked = Asked(Path(path), target, groups, names, include, exclude, numbers_only,
                  number_duplicates, transpose, by, by_order, format, weights, covariates, event,
                  drop_unlabelled, progress)  # fmt: skip
    if not stream or asked.kind is STORE:
        return asked.read()
    parts = asked.parts()
    if parts is None:
        raise FileProblem(
            f"{path} cannot be read row by row as it is asked for; leave out ",
            Parameter("stream"),
            ", or convert it to a column store.",
        )
    known = asked.identity()

    def unchanged() -> None:
        if asked.identity() != known:
            raise FileProblem(f"{path} has changed since it was opened; open it again.")

    return asked.completed(as_rows(parts, unchanged))


class Asked:
    """What of a file is asked for, and where the rest is to be found."""

    def __init__(
        self,
        path: Path,
        target: str | None = None,
        groups: str | None = None,
        names: Any = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        numbers_only: bool = False,
        number_duplicates: bool = False,
        transpose: bool = False,
        by: str | None = None,
        by_order: bool = False,
        format: str | None = None,
        weights: str | None = None,
        covariates: str | None = None,
        event: str | None = None,
        drop_unlabelled: bool = False,
        progress: Progress | None = None,
    ) -> None:
        if not path.suffix and not path.exists():
            raise FileProblem(f"there is no file or folder {path}.")
        self.path, self.target, self.groups, self.names = path, target, groups, names
        self.progress, self.kind = progress, format_of(path, format)
        if by is not None and by_order:
            raise FileProblem(
                "rows are matched by a column, ",
                Parameter("by"),
                ", or in their order, ",
                Parameter("by_order"),
                ", not both.",
            )
        self.matching = Matching(by, by_order)
        self.assumed: tuple[str, ...] = ()  # known when it has been read
        by_lines = transpose and self.kind.read is csv.read_text
        self._read = csv.read_transposed if by_lines else self.kind.read
        self._turn = transpose and not by_lines
        inside = partial(_is_inside, path=path, kind=self.kind, read=self._read)
        self.weights, self.event, self.drop_unlabelled = weights, event, drop_unlabelled
        self.covariates = _several(covariates)
        beside = [name for name in (weights, event, *self.covariates) if inside(name)]
        self.wanted = Wanted(
            beside=tuple(name for name in beside if name is not None),
            target=target if inside(target) else None,
            groups=groups if inside(groups) else None,
            include=tuple(include),
            exclude=tuple(exclude),
            numbers_only=numbers_only,
            number_duplicates=number_duplicates,
        )
        self._filtered = self.kind.columns is not None and names is None and not self._turn
        self._by_rows = self._filtered or not (include or exclude)
        self._by_rows &= not transpose and self.kind.parts is not None
        self._by_rows &= not self.wanted.beside
        if self.wanted.beside and self._read not in (csv.read_text, *OF_TYPES):
            raise FileProblem(
                f"{path} holds the features alone, so that {self.wanted.beside[0]!r} is looked for "
                "in another file; pass FILE:COLUMN."
            )

    def read(self) -> Table:
        """All of it."""
        wanted = self.wanted if self._filtered else self.wanted.unfiltered()
        with self._missing_files():
            table = self._read(self.path, wanted, self.progress)
        if 0 in table.X.shape:
            n_rows, n_columns = table.X.shape
            raise FileProblem(f"{self.path} has {n_rows} rows and {n_columns} columns.")
        return self.completed(_transposed(table) if self._turn else table)

    def parts(self) -> Parts | None:
        """It, by rows, without what `completed` adds; None if it can only be read whole."""
        if not self._by_rows or self.kind.parts is None:
            return None
        with self._missing_files():
            return self.kind.parts(self.path, self.wanted, self.progress)

    def completed(self, table: Table) -> Table:
        """With what is in other files, unless it is there already."""
        if self.names is not None:
            table = replace(table, feature_names=names_of_columns(self.names, table))
        assumed = [*table.assumed]
        if isinstance(table.feature_names, np.ndarray):
            old = table.feature_names.tolist()
            where = self.path if self.names is None else self.names
            new = np.array(unique_names(old, where, self.wanted.number_duplicates), dtype=object)
            table = replace(table, feature_names=new)
        if not self._filtered and (self.wanted.include or self.wanted.exclude):
            keep = self.wanted.mask([table.name(j) for j in range(table.X.shape[1])])
            table = table.take(np.flatnonzero(keep))
        if self.target is not None and self.wanted.target is None:
            y, how = labels_of_rows(self.target, table, self.matching)
            table = replace(table, y=y, target_name=_name_of(self.target))
            assumed.append(how)
        if self.groups is not None and self.wanted.groups is None:
            groups, how = labels_of_rows(self.groups, table, self.matching)
            table = replace(table, groups=groups)
            assumed.append(how)
        table = self._beside(table, assumed)
        if table.left_out:
            named, others = table.left_out[:MENTIONED], len(table.left_out) - MENTIONED
            more = f" and {others:,} more" if others > 0 else ""
            assumed.append(f"columns left out: {', '.join(named)}{more}")
        self.assumed = tuple(dict.fromkeys(assumed))
        return replace(table, assumed=self.assumed)

    def _beside(self, table: Table, assumed: list[str]) -> Table:
        """With weights, covariates and events; without rows that have no target, if that is so."""

        def column(where: str) -> Array:
            if where in table.beside:
                return table.beside[where]
            values, how = labels_of_rows(where, table, self.matching)
            assumed.append(how)
            return values

        if self.weights is not None:
            table = replace(table, weights=column(self.weights))
        if self.covariates:
            known = {_name_of(where): _numbers(column(where)) for where in self.covariates}
            table = replace(table, covariates=known)
            assumed.append(f"adjusted for {', '.join(known)}")
        if self.event is not None and table.y is not None:
            event = column(self.event)
            both = [_numbers(event), _numbers(table.y)]
            for values, name in zip(both, (self.event, self.target), strict=True):
                if values.dtype.kind not in "biuf":
                    raise FileProblem(
                        f"{name} holds {str(values[0])!r}, but events are 0 or 1, and times "
                        "numbers; encode them so."
                    )
            table = replace(table, y=np.column_stack(both).astype(np.float64))
            name = f"{table.target_name} and {_name_of(self.event)}"
            table = replace(table, target_name=name, censored=True)
        if self.drop_unlabelled and (lost := unlabelled(table.y)).any():
            if not isinstance(table, Table):
                raise FileProblem(
                    f"{lost.sum():,} rows of {self.path} have no target, but a column store keeps "
                    "all rows; leave them out of the file."
                )
            table = table.rows(np.flatnonzero(~lost))
            assumed.append(f"{lost.sum():,} rows without a target are left out")
        return table

    def identity(self) -> dict[str, Any]:
        """What tells this from other files, and from other wishes for the same file."""
        found = self.path.stat()
        return {
            "path": str(self.path.resolve()),
            "bytes": found.st_size,
            "modified": found.st_mtime_ns,
            "format": self.kind.extensions,
            "wanted": repr(
                (self.wanted, self.target, self.groups, self.names, self._turn, self.matching)
            ),
        }

    @contextmanager
    def _missing_files(self) -> Iterator[None]:
        """A target that is neither in the file nor a file."""
        try:
            yield
        except NoSuchName as problem:
            files = [file_and_part(name)[0] for name in self.wanted.labels]
            missing = [file for file in files if file.suffix[1:].isalpha() and not is_file(file)]
            if not missing:
                raise
            raise FileProblem(f"there is no file {missing[0]}, and {problem}") from None


def unlabelled(y: Any) -> Array:
    """Mask of the rows that have no target."""
    if y is None:
        return np.zeros(0, dtype=bool)
    if y.dtype.kind == "f":
        return np.isnan(y.reshape(len(y), -1)).any(axis=1)
    if y.dtype.kind != "O":
        return np.zeros(len(y), dtype=bool)
    return np.array([value is None or value != value for value in y.tolist()])


def _numbers(values: Array) -> Array:
    """As numbers, NaN where there is none, if all that is there can be read so."""
    there = [value for value in values.tolist() if value is not None]
    if values.dtype.kind not in "OU" or not all(csv.is_number(str(value)) for value in there):
        return values
    return np.array([np.nan if value is None else float(value) for value in values.tolist()])


def _several(where: str | None) -> list[str]:
    """Of "a,b" and "FILE:a,b" each by itself."""
    if where is None:
        return []
    file, colon, names = where.rpartition(":")
    if not colon or not is_file(Path(file)):
        file, names = "", where
    return [f"{file}:{name.strip()}" if file else name.strip() for name in names.split(",")]


def _transposed(table: Table) -> Table:
    if table.y is not None and len(table.y) != table.X.shape[1]:
        raise FileProblem(
            f"transposed, X has {table.X.shape[1]:,} rows, but the target in the file has "
            f"{len(table.y):,}."
        )
    return replace(table, X=table.X.T, feature_names=table.row_names, row_names=table.feature_names)


def _is_inside(labels: str | None, path: Path, kind: Format, read: Reader) -> bool:
    """Whether target or groups are in the file with the data, rather than in another."""
    if labels is None or not kind.named or kind is STORE:
        return False
    file, part = file_and_part(labels)
    if not is_file(file):
        return True
    if part is not None or file.suffix or len(file.parts) > 1:
        return False
    try:  # a plain name: a column that is there comes before a file called so
        read(path, Wanted(target=labels, features=False), None)
    except NoSuchName:
        return False
    return True


def _name_of(target: str) -> str:
    path, part = file_and_part(target)
    return part or path.name.split(".")[0]
