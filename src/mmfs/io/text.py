"""CSV and TSV files."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from mmfs.io.arrow import arrow_problems, as_arrow, from_columns, roles_of
from mmfs.io.outputs import open_output
from mmfs.io.streams import FileProblem, Progress, needed, open_stream
from mmfs.io.table import Table, Wanted, distinct, position

Array = np.ndarray

BLOCK = 1 << 26  # bytes; a line must fit into one
SEPARATORS = ",;\t"


def read_text(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """Instances as lines, under a line of names."""
    header, separator = _header(path)
    names = distinct(header)
    either = [roles_of(path, names, wanted, kind) for kind in ("", "string")]  # not known yet
    read = {*wanted.labels, *either[0].features, *either[1].features, either[1].rows}
    table = _parsed(path, names, [name for name in names if name in read], separator, progress)
    if table.num_rows == 0:
        raise FileProblem(f"{path} has a line of names, but no others.")
    first = str(table.schema.field(names[0]).type) if names[0] in read else ""
    roles = roles_of(path, names, wanted, first)
    return from_columns(path, table.schema, table.num_rows, table.select, roles, wanted, None)


def read_transposed(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """Features as lines that start with their names; the target may be one of these lines."""
    pyarrow = needed("pyarrow", "data")
    header, separator = _header(path)
    names = distinct(header)
    table = _parsed(path, names, names, separator, progress, pyarrow.string())
    features = np.array([str(name) for name in table.column(0).to_pylist()])
    keep = np.full(len(features), True)

    def line(name: str | None) -> Array | None:
        if name is None:
            return None
        at = position(name, features, f"row in {path} called")
        keep[at] = False
        return as_numbers(np.array([table.column(i)[at].as_py() for i in range(1, len(names))]))

    y, groups = line(wanted.target), line(wanted.groups)
    keep[keep] = wanted.mask(features[keep].tolist())
    X = np.empty((len(names) - 1, keep.sum()))
    mask = pyarrow.array(keep)
    for i, name in enumerate(names[1:]):
        X[i] = _floats(table.column(i + 1).filter(mask), features[keep], name, path)
    return Table(X, y, features[keep], np.array(names[1:]), wanted.target, groups)


def write_text(table: Table, path: Path, separator: str, compression: str) -> None:
    arrow_csv = needed("pyarrow.csv", "data")
    options = arrow_csv.WriteOptions(delimiter=separator)
    with open_output(path, compression) as file:
        arrow_csv.write_csv(as_arrow(table), file, options)


def _header(path: Path) -> tuple[list[str], str]:
    """The names in the first line, and what separates them."""
    with open_stream(path) as stream:
        line = stream.file.readline()
    if not line.strip():
        raise FileProblem(f"{path} is empty.")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileProblem(f"{path} is not UTF-8 text; convert it, or tell its format.") from None
    separator = max(SEPARATORS, key=text.count)
    names = [name.strip() for name in next(csv.reader([text], delimiter=separator))]
    if len(names) == 1:
        raise FileProblem(f"{path} has one column only; columns are told apart by , ; or a tab.")
    if all(_is_number(name) for name in names) and not all(name.isdecimal() for name in names):
        raise FileProblem(
            f"{path} starts with numbers; add a first line with the names of the columns."
        )
    return names, separator


def _parsed(
    path: Path,
    names: list[str],
    read: list[str],
    separator: str,
    progress: Progress | None,
    kind: Any = None,
) -> Any:
    """An Arrow table of the columns to read, all of one kind if that is given."""
    arrow_csv = needed("pyarrow.csv", "data")
    types = dict.fromkeys(read, kind) if kind else None
    with open_stream(path, progress) as stream, arrow_problems(path, "CSV"):
        return arrow_csv.read_csv(
            stream.file,
            arrow_csv.ReadOptions(column_names=names, skip_rows=1, block_size=BLOCK),
            arrow_csv.ParseOptions(delimiter=separator),
            arrow_csv.ConvertOptions(
                include_columns=read, column_types=types, strings_can_be_null=True
            ),
        )


def _floats(column: Any, features: Array, name: str, path: Path) -> Array:
    try:
        return column.cast("float64").to_numpy()
    except needed("pyarrow", "data").ArrowInvalid:
        pass
    for feature, value in zip(features.tolist(), column.to_pylist(), strict=True):
        if value is not None and not _is_number(value):
            raise FileProblem(
                f"{path}: {value!r} in row {feature!r}, column {name!r} is not a number; encode "
                "it as one, or exclude that row."
            )
    raise FileProblem(f"{path}: column {name!r} does not hold numbers.")


def as_numbers(y: Array) -> Array:
    """Numbers that were read as text, as numbers."""
    if not all(value is not None and _is_number(value) for value in y.tolist()):
        return y
    values = y.astype(float)
    return values.astype(int) if (values == np.rint(values)).all() else values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
