"""One door to files of every kind: `read_table`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mmfs.io import arrays, text
from mmfs.io.formats import FORMATS, STORE, Format, Reader, format_of
from mmfs.io.parts import Parts, as_rows
from mmfs.io.streams import FileProblem, Progress, open_stream, split_compression
from mmfs.io.table import NoSuchName, Table, Wanted, distinct
from mmfs.warn import warn_caller

Array = np.ndarray


def read_table(
    path: Any,
    *,
    target: str | None = None,
    groups: str | None = None,
    names: Any = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    numbers_only: bool = False,
    transpose: bool = False,
    format: str | None = None,
    stream: bool = False,
    progress: Progress | None = None,
) -> Table:
    """Read a file of data, or open a column store.

    Parameters
    ----------
    path : str or Path
        CSV or TSV, Parquet, Arrow, svmlight, .npy, .npz (dense or SciPy's sparse), Matrix Market,
        HDF5 or .h5ad; text formats also compressed (.gz, .xz, .bz2, .zst). Or the folder of a
        column store, which is not read, but opened.
    target : str or None, default=None
        A column of the file (of obs in .h5ad; a line with `transpose`; a part of .npz and .h5,
        where "y" is taken by itself), or another file: a line per instance, .npy, or any table
        with the column after a colon, as in "clinic.csv:diagnosis". If both files name their
        rows, these are matched. svmlight files have their own.
    groups : str or None, default=None
        Groups of rows for cross-validation, given as `target` is.
    names : str, Path or None, default=None
        A file with the name of a feature in each line, or of another kind, as for `target`.
    include, exclude : sequence of str, default=()
        Names or patterns (`gene_*`) of features to read, or not to. All others are not even read
        where the format allows.
    numbers_only : bool, default=False
        Whether to leave out columns of a table that do not hold numbers, instead of refusing it.
    transpose : bool, default=False
        Whether rows are features and columns instances.
    format : str or None, default=None
        "csv", "tsv", "parquet", "arrow", "svmlight", "npy", "npz", "mtx", "hdf5" or "h5ad", if the
        name of the file does not tell.
    stream : bool, default=False
        Whether to leave the data in the file, and to read it again, some rows at a time, whenever a
        selector asks for it: for data larger than memory. CSV, Parquet, svmlight, .npy, and
        compressed rows in .npz; without `transpose`, and `include` in the first two alone.
    progress : callable, default=None
        Told what goes on, how much of it is done, and how much there is.

    Returns
    -------
    Table
        With X, y, feature_names, row_names.
    """
    asked = Asked(Path(path), target, groups, names, include, exclude, numbers_only, transpose,
                  format, progress)  # fmt: skip
    if not stream or asked.kind is STORE:
        return asked.read()
    parts = asked.parts()
    if parts is None:
        raise FileProblem(
            f"{path} cannot be read row by row as it is asked for; leave out stream (--stream), or "
            "convert it to a column store."
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
        transpose: bool = False,
        format: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        if not path.suffix and not path.exists():
            raise FileProblem(f"there is no file or folder {path}.")
        self.path, self.target, self.groups, self.names = path, target, groups, names
        self.progress, self.kind = progress, format_of(path, format)
        by_lines = transpose and self.kind.read is text.read_text
        self._read = text.read_transposed if by_lines else self.kind.read
        self._turn = transpose and not by_lines
        inside = partial(_is_inside, path=path, kind=self.kind, read=self._read)
        self.wanted = Wanted(
            target=target if inside(target) else None,
            groups=groups if inside(groups) else None,
            include=tuple(include),
            exclude=tuple(exclude),
            numbers_only=numbers_only,
        )
        self._filtered = self.kind.columns is not None and names is None and not self._turn
        self._by_rows = self._filtered or not (include or exclude)
        self._by_rows &= not transpose and self.kind.parts is not None

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
            given = _vector(self.names, table, "columns", default="feature_names").astype(str)
            table = replace(table, feature_names=given)
        if isinstance(table.feature_names, np.ndarray):
            unique = np.array(distinct(table.feature_names.tolist()), dtype=object)
            table = replace(table, feature_names=unique)
        if not self._filtered and (self.wanted.include or self.wanted.exclude):
            keep = self.wanted.mask([table.name(j) for j in range(table.X.shape[1])])
            table = table.take(np.flatnonzero(keep))
        if self.target is not None and self.wanted.target is None:
            y = text.as_numbers(_vector(self.target, table, "rows"))
            table = replace(table, y=y, target_name=_name_of(self.target))
        if self.groups is not None and self.wanted.groups is None:
            table = replace(table, groups=_vector(self.groups, table, "rows"))
        return table

    def identity(self) -> dict[str, Any]:
        """What tells this from other files, and from other wishes for the same file."""
        found = self.path.stat()
        return {
            "path": str(self.path.resolve()),
            "bytes": found.st_size,
            "modified": found.st_mtime_ns,
            "format": self.kind.extensions,
            "wanted": repr((self.wanted, self.target, self.groups, self.names, self._turn)),
        }

    @contextmanager
    def _missing_files(self) -> Iterator[None]:
        """A target that is neither in the file nor a file."""
        try:
            yield
        except NoSuchName as problem:
            files = [file_and_part(name)[0] for name in self.wanted.labels]
            missing = [file for file in files if file.suffix[1:].isalpha() and not _is_file(file)]
            if not missing:
                raise
            raise FileProblem(f"there is no file {missing[0]}, and {problem}") from None


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
    if not _is_file(file):
        return True
    if part is not None or file.suffix or len(file.parts) > 1:
        return False
    try:  # a plain name: a column that is there comes before a file called so
        read(path, Wanted(target=labels, features=False), None)
    except NoSuchName:
        return False
    return True


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for a file
        return False


def file_and_part(where: Any) -> tuple[Path, str | None]:
    """A file, and what of it is meant, if that is said after a colon."""
    path = Path(where)
    if _is_file(path) or ":" not in str(where):
        return path, None
    file, _, part = str(where).rpartition(":")
    return Path(file), part


def _name_of(target: str) -> str:
    path, part = file_and_part(target)
    return part or path.name.split(".")[0]


def _vector(where: Any, table: Table, what: str, default: str = "y") -> Array:
    """Values for the rows or columns of a table from another file; plain text stays text."""
    path, part = file_and_part(where)
    n = table.X.shape[0 if what == "rows" else 1]
    extension, _ = split_compression(path)
    lines = (*FORMATS["csv"].extensions, *FORMATS["tsv"].extensions, "")
    if extension == ".npy":
        values = arrays.read_array(path)
    elif part is None and extension in lines:
        values = _lines(path, n)
    elif (columns := format_of(path).columns) is not None:
        if part is None:
            raise FileProblem(f"{path} has several columns; say which, as in {path}:NAME.")
        values = _column(columns(path, part), part, table if what == "rows" else None, path)
    else:
        found = format_of(path).read(path, Wanted(target=part or default, features=False), None)
        assert found.y is not None
        values = found.y
    if len(values) != n:
        raise FileProblem(f"{path} has {len(values):,} values for {n:,} {what}.")
    return values


def _column(columns: dict[str, list], part: str, table: Table | None, path: Path) -> Array:
    """One of the columns, in the order of the rows of a table, if another names these."""
    values = columns.pop(part)
    if table is not None and table.row_names is not None:
        order = _order(columns, table.row_names.tolist(), table.feature_names, path)
        values = values if order is None else [values[i] for i in order]
    return np.array(values, dtype=object if None in values else None)


def _order(
    columns: dict[str, list], ids: list[str], across: Array | None, path: Path
) -> list[int] | None:
    """Where the rows called so are in a file, by the column that has most of these names."""
    if not columns:
        return None
    texts = {name: [str(value) for value in values] for name, values in columns.items()}
    best = max(texts, key=lambda name: len(set(ids) & set(texts[name])))
    where = {text: i for i, text in enumerate(texts[best])}
    missing = [name for name in ids if name not in where]
    if 2 * len(missing) > len(ids):
        if across is not None and any(len(set(across) & set(some)) > 1 for some in texts.values()):
            raise FileProblem(
                f"{path} names the columns of the data, not the rows; transpose the data "
                "(--transpose)."
            )
        warn_caller(f"no column of {path} names the rows; they are taken in the order they are in.")
        return None
    if missing:
        raise FileProblem(
            f"{len(missing)} of {len(ids)} rows, such as {missing[0]!r}, are not in column "
            f"{best!r} of {path}; add them there, or take them out of the data."
        )
    twice = [name for name, n in Counter(texts[best]).items() if n > 1 and name in set(ids)]
    if twice:
        raise FileProblem(f"{twice[0]!r} occurs more than once in column {best!r} of {path}.")
    return [where[name] for name in ids]


def _lines(path: Path, n: int) -> Array:
    """A value per line; a line more than there should be is a heading."""
    with open_stream(path) as stream:
        lines = text.decoded(stream.file.read(), path).split("\n")
    lines = [line.strip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    if any(separator in line for line in lines[:1] for separator in text.SEPARATORS):
        raise FileProblem(f"{path} has several columns; say which, as in {path}:NAME.")
    heading = len(lines) == n + 1 and lines[0] not in lines[1:]
    return np.array(lines[1:] if heading else lines, dtype=object)
