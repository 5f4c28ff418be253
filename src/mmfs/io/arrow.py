"""Parquet and Arrow files, and columns of Arrow tables as a matrix."""

from collections import Counter
from collections.abc import Callable
from itertools import compress
from operator import not_
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mmfs.frames import categories
from mmfs.io.streams import FileProblem, file_problems
from mmfs.io.table import Table, Wanted, position
from mmfs.optional import require
from mmfs.progress import Progress
from mmfs.sources import Mixed

Array = np.ndarray

# Columns read at a time.
BATCH = 500

# Columns, at most, among which those that name the rows are looked for.
NAME_CANDIDATES = 100

# Columns of categories that are named in a sentence.
CATEGORIES_NAMED = 5

# Sparse values that are written out as dense ones, zeros included, at most.
MOST_CELLS = 10**8

# What programs call a column of names that has none itself.
UNNAMED = ("", "__index_level_0__", "Unnamed: 0")

# Types whose values single precision holds exactly.
SMALL = ("float", "halffloat", "int8", "int16", "uint8", "uint16", "bool")


class Opened(NamedTuple):
    """A file or table: its columns, and what gets some of them."""

    schema: Any
    n_rows: int
    select: Callable[[list[str]], Any]


def _parquet(path: Path) -> Opened:
    file = require("pyarrow.parquet", "data").ParquetFile(path, pre_buffer=False)
    return Opened(file.schema_arrow, file.metadata.num_rows, lambda names: file.read(columns=names))


def _arrow(path: Path) -> Opened:
    """Mapped into memory; columns are checked before use."""
    pyarrow = require("pyarrow", "data")
    table = pyarrow.ipc.open_file(pyarrow.memory_map(str(path))).read_all()

    def select(names: list[str]) -> Any:
        columns = table.select(names)
        columns.validate(full=True)
        return columns

    return Opened(table.schema, table.num_rows, select)


OPEN = {"Parquet": _parquet, "Arrow": _arrow}


def read_wanted(kind: str, path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """The wanted columns of a Parquet or Arrow (Feather) file."""
    with file_problems(path, kind):
        opened = OPEN[kind](path)
        return from_columns(path, opened, _roles(path, opened.schema, wanted), wanted, progress)


def read_some(kind: str, path: Path, name: str, by: str | None) -> dict[str, list]:
    """A column of such a file, and those that may name its rows."""
    with file_problems(path, kind):
        opened = OPEN[kind](path)
        return opened.select(with_some(opened.schema.names, path, name, by)).to_pydict()


def with_some(names: list[str], path: Path, *asked: str | None) -> list[str]:
    """Those of the names that are asked for, and the first few others."""
    wanted = [name for name in asked if name is not None]
    for name in wanted:
        position(name, names, f"column in {path} called")
    return list(dict.fromkeys([*names[:NAME_CANDIDATES], *wanted]))


def numeric_roles(path: Path, schema: Any, wanted: Wanted) -> "Roles":
    """What columns are for, of those that are wanted."""
    roles = _roles(path, schema, wanted)
    features = _numbers(schema, roles.features, wanted)[0]
    if not features:
        raise FileProblem(f"{path} has no columns of numbers.")
    return roles._replace(features=features)


def _roles(path: Path, schema: Any, wanted: Wanted) -> "Roles":
    names = list(schema.names)
    if len(set(names)) < len(names):
        raise FileProblem(f"{path} has several columns of one name; rename them.")
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in noted if isinstance(name, str) and name in names]
    if len(index) == 1 and index[0] != names[0]:  # pandas puts it last
        names = [index[0], *(name for name in names if name != index[0])]
    first_type = "string" if index else str(schema.field(names[0]).type) if names else ""
    return roles_of(path, names, wanted, first_type)


class Roles(NamedTuple):
    features: list[str]
    rows: str | None  # the column that holds the names of the rows


def roles_of(path: Path, names: list[str], wanted: Wanted, first_type: str) -> Roles:
    """What each column is for; the first one may be for the names of the rows."""
    if not names:
        raise FileProblem(f"{path} has no columns.")
    for name in wanted.labels:
        position(name, names, f"column in {path} called")
    first = names[0]
    others = set(names) - {first, *wanted.labels}
    unnamed = others and (first in UNNAMED or "string" in first_type)
    named = unnamed and wanted.features and first not in (*wanted.labels, *wanted.exclude)
    rows = first if named else None
    rest = [name for name in names if name not in (*wanted.labels, rows)]
    return Roles(list(compress(rest, wanted.mask(rest))), rows)


def from_columns(
    path: Path, opened: Opened, roles: Roles, wanted: Wanted, progress: Progress | None
) -> Table:
    """A table from Arrow columns."""

    def one(name: str) -> Any:
        return opened.select([name]).column(name)

    features, rows = roles
    if rows is not None and not wanted.include and not _tell_apart(one(rows), rows):
        features, rows = [rows, *features], None
    features, left_out = _numbers(opened.schema, features, wanted)
    numeric = [str(opened.schema.field(name).type).startswith(NUMERIC) for name in features]
    numbers, texts = list(compress(features, numeric)), list(compress(features, map(not_, numeric)))
    small = all(str(opened.schema.field(name).type) in SMALL for name in numbers)
    kind = np.float32 if small and not texts else np.float64
    X: Any = np.empty((opened.n_rows, len(numbers)), dtype=kind, order="F")
    for start in range(0, len(numbers), BATCH):
        if progress:
            progress("reading", start, len(features))
        batch = opened.select(numbers[start : start + BATCH])
        for offset, name in enumerate(batch.column_names):
            X[:, start + offset] = numbers_of(batch.column(name), name, path)
    if texts:
        X = _with_categories(X, {name: one(name) for name in texts}, features, path)

    y = None if wanted.target is None else values_of(one(wanted.target), wanted.target, path)
    groups = None if wanted.groups is None else values_of(one(wanted.groups), wanted.groups, path)
    row_names = None if rows is None else names_of_rows(one(rows), rows, path)
    assumed = named_by(rows)
    if texts:
        assumed += (f"columns of categories: {', '.join(texts[:CATEGORIES_NAMED])}"
                    + (f" and {len(texts) - CATEGORIES_NAMED} more"
                       if len(texts) > CATEGORIES_NAMED else ""),)  # fmt: skip
    beside = {name: values_of(one(name), name, path) for name in wanted.beside}
    return Table(
        X, y, np.array(features, dtype=object), row_names, wanted.target, groups,
        left_out=tuple(left_out), assumed=assumed, beside=beside,
    )  # fmt: skip


def _tell_apart(column: Any, name: str) -> bool:
    """Whether a column of text has another one in every row, as names have."""
    return name in UNNAMED or len(column.unique()) == len(column)


def _with_categories(numbers: Array, texts: dict[str, Any], names: list[str], path: Path) -> Mixed:
    """Columns of numbers beside those of text, whose different values are categories."""
    levels, codes = [], []
    for name, column in texts.items():
        kind = str(column.type)
        if "string" not in kind:
            numbers_of(column, name, path)  # refuses dates, lists and the like
        found = categories(column.to_pylist(), declared="dictionary" in kind)
        if isinstance(found, str):
            raise FileProblem(
                f"{path}: column {name!r} holds {_offending(column, found)}; encode it as numbers, "
                "exclude it, or make it the target."
            )
        levels.append(found[0])
        codes.append(found[1])
    of_codes = np.array([name in texts for name in names])
    return Mixed(numbers, np.column_stack(codes), levels, of_codes, np.array(names, dtype=object))


def named_by(rows: str | None) -> tuple[str, ...]:
    """That rows have the names in a column."""
    if rows is None:
        return ()
    return (f"column {rows!r} names the rows" if rows else "the first column names the rows",)


NUMERIC = ("int", "uint", "float", "double", "half", "null", "bool", "decimal")


def _numbers(schema: Any, features: list[str], wanted: Wanted) -> tuple[list[str], list[str]]:
    """The features, and those that are left out if only numbers are wanted."""
    if not wanted.numbers_only:
        return features, []
    numeric = [str(schema.field(name).type).startswith(NUMERIC) for name in features]
    return list(compress(features, numeric)), list(compress(features, map(not_, numeric)))


def numbers_of(column: Any, name: str, path: Path) -> Array:
    """An Arrow column as numbers; missing values are NaN."""
    kind = str(column.type)
    if kind == "bool":
        column = column.cast("int8")
    elif kind.startswith("decimal"):
        column = column.cast("float64")
    elif not kind.startswith(NUMERIC):
        raise FileProblem(
            f"{path}: column {name!r} holds {_offending(column, '')}; encode it as numbers, "
            "exclude it, or make it the target."
        )
    if kind == "null":
        return np.full(len(column), np.nan)
    return column.to_numpy()


def values_of(column: Any, name: str, path: Path) -> Array:
    """An Arrow column as labels: text, numbers, or objects where values are missing."""
    kind = str(column.type)
    if "string" in kind:
        values = column.to_pylist()
        return np.array(values, dtype=object if None in values else str)
    if (
        kind.startswith(("int", "uint", "float", "double", "half", "bool"))
        and not column.null_count
    ):
        return column.to_numpy()
    if "binary" in kind:
        raise FileProblem(f"column {name!r} of {path} is not UTF-8 text; convert the file to it.")
    return np.array(column.to_pylist(), dtype=object)


def names_of_rows(column: Any, name: str, path: Path) -> Array:
    names = [str(name) for name in column.to_pylist()]
    n_numbers = sum(is_number(name) for name in names)
    doubtful = len(set(names)) < len(names) or 2 * n_numbers > len(names)
    if doubtful and "string" in str(column.type) and name not in UNNAMED:
        numbers_of(column, name, path)  # refuses it: not what tells rows apart
    return np.array(names, dtype=object)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _offending(column: Any, found: str) -> str:
    """What a column of text holds instead of numbers, where most of it are, or `found`."""
    kind = str(column.type)
    if "string" not in kind:
        return f"values of type {kind.split('<')[0]}"
    if found and not found.startswith("numbers"):
        return found.rstrip(",")
    for row, value in enumerate(column.to_pylist(), start=1):
        if value is not None and not is_number(value):
            return f"text ({value!r} in row {row})"
    return "numbers written as text"


def as_arrow(table: Table) -> Any:
    """An Arrow table: names of rows, features, target."""
    pyarrow = require("pyarrow", "data")
    if isinstance(table.X, Mixed):
        columns = [(table.name(j), table.X.column(j)) for j in range(table.X.shape[1])]
    else:
        X = dense_block(table.X)
        columns = [(table.name(j), X[:, j]) for j in range(X.shape[1])]
    if table.row_names is not None:
        columns.insert(0, ("", table.row_names))
    name = table.target_name or "target"
    if table.y is not None and table.y.ndim == 1:
        columns.append((name, table.y))
    elif table.y is not None:
        columns += [(f"{name}_{i}", values) for i, values in enumerate(table.y.T)]
    names = [name for name, _ in columns]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise FileProblem(f"two columns would be called {twice!r}; rename feature or target.")
    made = [
        pyarrow.array(values.tolist() if values.dtype.kind in "OU" else values)
        for _, values in columns
    ]
    return pyarrow.table(made, names)


def dense_block(X: Any) -> Array:
    if isinstance(X, np.ndarray):
        return X
    if X.shape[0] * X.shape[1] > MOST_CELLS:
        raise FileProblem(
            f"{X.shape[0]:,} x {X.shape[1]:,} sparse values are too many for a format of dense "
            "columns; write .npz, .svm, .mtx or .h5ad instead."
        )
    return X.toarray()


def write_parquet(table: Table, path: Path, compression: str) -> None:
    require("pyarrow.parquet", "data").write_table(as_arrow(table), path)


def write_arrow(table: Table, path: Path, compression: str) -> None:
    arrow = as_arrow(table)
    ipc = require("pyarrow.ipc", "data")
    with ipc.new_file(str(path), arrow.schema) as file:
        file.write_table(arrow)
