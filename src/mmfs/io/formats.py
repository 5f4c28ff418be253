"""One door to files of every kind: `read_table` and `write_table`."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mmfs.io import arrays, arrow, hdf, mtx, text
from mmfs.io.outputs import Outputs
from mmfs.io.streams import FileProblem, Progress, open_stream, split_compression
from mmfs.io.svmlight import read_svmlight, write_svmlight
from mmfs.io.table import NoSuchName, Table, Wanted, distinct
from mmfs.warn import warn_caller

Array = np.ndarray
Reader = Callable[[Path, Wanted, Progress | None], Table]
Writer = Callable[[Table, Path, str], None]


class Format(NamedTuple):
    extensions: tuple[str, ...]
    read: Reader
    write: Writer
    compressed: bool = False  # may be
    labelled: bool = True  # holds the target
    named: bool = True  # features, rows and target have names in it
    # Reads single columns: the one called so, and some that may name the rows.
    columns: Callable[[Path, str], dict[str, list]] | None = None


def _read_svm(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    X, y, groups, first = read_svmlight(path, progress=progress)
    return Table(X, text.as_whole(y), groups=groups, numbered_from=first)


def _write_separated(separator: str) -> Writer:
    return lambda table, path, compression: text.write_text(table, path, separator, compression)


FORMATS = {
    "csv": Format(
        (".csv",), text.read_text, _write_separated(","), compressed=True,
        columns=text.text_columns,
    ),
    "tsv": Format(
        (".tsv", ".tab", ".txt"), text.read_text, _write_separated("\t"), compressed=True,
        columns=text.text_columns,
    ),
    "parquet": Format(
        (".parquet", ".pq"), arrow.read_parquet, arrow.write_parquet,
        columns=arrow.parquet_columns,
    ),
    "arrow": Format(
        (".arrow", ".feather", ".ipc"), arrow.read_arrow, arrow.write_arrow,
        columns=arrow.arrow_columns,
    ),
    "svmlight": Format(
        (".svm", ".svmlight", ".libsvm"), _read_svm, write_svmlight, compressed=True, named=False
    ),
    "npy": Format((".npy",), arrays.read_npy, arrays.write_npy, labelled=False, named=False),
    "npz": Format((".npz",), arrays.read_npz, arrays.write_npz),
    "mtx": Format(
        (".mtx",), mtx.read_mtx, mtx.write_mtx, compressed=True, labelled=False, named=False
    ),
    "hdf5": Format((".h5", ".hdf5"), hdf.read_hdf, hdf.write_hdf),
    "h5ad": Format((".h5ad",), hdf.read_h5ad, hdf.write_h5ad),
}  # fmt: skip


def format_of(path: Path, name: str | None = None) -> Format:
    """By its name if given, else by the extension of the file."""
    extension, compression = split_compression(path)
    if name is not None:
        if name not in FORMATS:
            raise FileProblem(f"there is no format {name!r}; formats are {', '.join(FORMATS)}.")
        found = FORMATS[name]
    else:
        known = [one for one in FORMATS.values() if extension in one.extensions]
        if extension in (".xlsx", ".xls", ".ods"):
            raise FileProblem(f"{path} is a spreadsheet; save it as CSV.")
        if not known:
            raise FileProblem(
                f"the name of {path} does not tell its format; say it (--format, or --to for what "
                f"is written): {', '.join(FORMATS)}."
            )
        found = known[0]
    if compression and not found.compressed:
        raise FileProblem(f"{path} cannot be compressed as a whole; leave out {compression}.")
    return found


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
    progress: Progress | None = None,
) -> Table:
    """Read a file of data.

    Parameters
    ----------
    path : str or Path
        CSV or TSV, Parquet, Arrow, svmlight, .npy, .npz (dense or SciPy's sparse), Matrix Market,
        HDF5 or .h5ad; text formats also compressed (.gz, .xz, .bz2, .zst).
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
    progress : callable, default=None
        Told what goes on, how much of it is done, and how much there is.

    Returns
    -------
    Table
        With X, y, feature_names, row_names.
    """
    path = Path(path)
    kind = format_of(path, format)
    read = text.read_transposed if transpose and kind.read is text.read_text else kind.read
    turn = transpose and read is kind.read
    wanted = Wanted(
        target=target if _is_inside(target, path, kind, read) else None,
        groups=groups if _is_inside(groups, path, kind, read) else None,
        include=tuple(include),
        exclude=tuple(exclude),
        numbers_only=numbers_only,
    )
    filtered = kind.columns is not None and names is None and not turn
    try:
        table = read(path, wanted if filtered else wanted.unfiltered(), progress)
    except NoSuchName as problem:
        files = [file_and_part(name)[0] for name in wanted.labels]
        missing = [file for file in files if file.suffix[1:].isalpha() and not _is_file(file)]
        if not missing:
            raise
        raise FileProblem(f"there is no file {missing[0]}, and {problem}") from None
    if 0 in table.X.shape:
        raise FileProblem(f"{path} has {table.X.shape[0]} rows and {table.X.shape[1]} columns.")
    if turn:
        table = _transposed(table)
    if names is not None:
        given = _vector(names, table, "columns", default="feature_names").astype(str)
        table = replace(table, feature_names=given)
    if table.feature_names is not None:
        unique = np.array(distinct(table.feature_names.tolist()), dtype=object)
        table = replace(table, feature_names=unique)
    if not filtered and (include or exclude):
        keep = wanted.mask([table.name(j) for j in range(table.X.shape[1])])
        table = table.take(np.flatnonzero(keep))
    if target is not None and wanted.target is None:
        y = text.as_numbers(_vector(target, table, "rows"))
        table = replace(table, y=y, target_name=_name_of(target))
    if groups is not None and wanted.groups is None:
        table = replace(table, groups=_vector(groups, table, "rows"))
    return table


def write_table(
    table: Table, path: Any, *, format: str | None = None, force: bool = False
) -> list[str]:
    """Write a table; returns what of it the format could not hold, in words.

    The file appears whole or not at all, and replaces another only if `force` is true.
    """
    with Outputs(force) as outputs:
        return stage_table(table, Path(path), outputs, format)


def stage_table(table: Table, path: Path, outputs: Outputs, format: str | None = None) -> list[str]:
    kind = format_of(path, format)
    kind.write(table, outputs.stage(path), split_compression(path)[1])
    held = {
        "the target": kind.labelled or table.y is None,
        "the names of the features": kind.named or table.feature_names is None,
        "the names of the rows": kind.named or table.row_names is None,
        "the groups": kind is FORMATS["svmlight"] or table.groups is None,
    }
    return [what for what, is_held in held.items() if not is_held]


def _transposed(table: Table) -> Table:
    if table.y is not None and len(table.y) != table.X.shape[1]:
        raise FileProblem(
            f"transposed, X has {table.X.shape[1]:,} rows, but the target in the file has "
            f"{len(table.y):,}."
        )
    return replace(table, X=table.X.T, feature_names=table.row_names, row_names=table.feature_names)


def _is_inside(labels: str | None, path: Path, kind: Format, read: Reader) -> bool:
    """Whether target or groups are in the file with the data, rather than in another."""
    if labels is None or not kind.named:
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
