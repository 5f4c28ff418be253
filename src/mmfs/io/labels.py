"""Targets, groups and names that are in another file than the data: whose they are."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mmfs.errors import Parameter
from mmfs.io import arrays, csv
from mmfs.io.formats import FORMATS, format_of
from mmfs.io.streams import FileProblem, open_stream, split_compression
from mmfs.io.table import Table, Wanted

Array = np.ndarray

BY_ORDER = Parameter("by_order", True)

# Names that are shown where they do not match; columns that are looked at for those of rows.
LABELS_SHOWN, LABELS_LOOKED_AT = 3, 100


class Matching(NamedTuple):
    """How rows of another file are found: by a column of it, by order, or by names if it can be."""

    by: str | None = None
    by_order: bool = False


class Labels(NamedTuple):
    values: Array
    assumed: str  # how they were matched


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long for a file
        return False


def file_and_part(where: Any) -> tuple[Path, str | None]:
    """A file, and what of it is meant, if that is said after a colon."""
    path = Path(where)
    if is_file(path) or ":" not in str(where):
        return path, None
    file, _, part = str(where).rpartition(":")
    return Path(file), part


def labels_of_rows(where: Any, table: Table, matching: Matching) -> Labels:
    """A value for every row of a table, from another file."""
    path, part = file_and_part(where)
    found = _columns(path, part, matching.by)
    if found is None:
        plain, assumed = _plain_values(path, table.X.shape[0])
        return Labels(_checked(plain, table, 0, path), f"{_by_order(path)}{assumed}")
    key = part or "y"
    values = found[key]
    columns = {name: some for name, some in found.items() if name != key or name == matching.by}
    order, assumed = _order(columns, table, matching, path)
    values = list(values) if order is None else [values[i] for i in order]
    missing = any(value is None for value in values)
    array = np.array(values, dtype=object if missing else None)
    if format_of(path).read is csv.read_text:
        array = csv.as_labels(array)
    return Labels(_checked(array, table, 0, path), assumed)


def names_of_columns(where: Any, table: Table) -> Array:
    """A name for every column of a table, from another file."""
    path, part = file_and_part(where)
    found = _columns(path, part, None, "feature_names")
    if found is None:
        values, _ = _plain_values(path, table.X.shape[1])
    else:
        values = np.array(found[part or "feature_names"], dtype=object)
    return _checked(values, table, 1, path).astype(str)


def _columns(
    path: Path, part: str | None, by: str | None, default: str = "y"
) -> dict[str, Any] | None:
    """Columns of a table: the one called `part`, and some that may name the rows.

    None for an array, or text with a value in each line.
    """
    extension = split_compression(path)[0]
    lines = (*FORMATS["csv"].extensions, *FORMATS["tsv"].extensions, "")
    if extension == ".npy" or (part is None and extension in lines):
        return None
    kind = format_of(path)
    if kind.columns is None:
        found = kind.read(path, Wanted(target=part or default, features=False), None)
        if found.y is None:
            raise FileProblem(f"{path} has no {part or default!r} for the data.")
        return {part or default: found.y} | (
            {} if found.row_names is None else {"row_names": found.row_names}
        )
    if part is None:
        raise FileProblem(f"{path} has several columns; say which, as in {path}:NAME.")
    return kind.columns(path, part, by)


def _plain_values(path: Path, n: int) -> tuple[Array, str]:
    """Of an array, or of lines of text; and what is to be said of them."""
    if split_compression(path)[0] != ".npy":
        return _lines(path, n)
    values = arrays.read_array(path)
    if values.ndim not in (1, 2):
        raise FileProblem(f"{path} holds an array of {values.ndim} dimensions, not a column.")
    return values, ""


def _checked(values: Array, table: Table, axis: int, path: Path) -> Array:
    n, what = table.X.shape[axis], ("rows", "columns")[axis]
    if len(values) != n:
        raise FileProblem(f"{path} has {len(values):,} values for {n:,} {what}.")
    return values


def _by_order(path: Path) -> str:
    return f"rows of {path} are taken in the order they are in"


def _order(
    columns: dict[str, list], table: Table, matching: Matching, path: Path
) -> tuple[list[int] | None, str]:
    """Where the rows of a table are in a file, by the column that has most of their names.

    None: in the same order, as it was asked for, or because one of the two does not name its rows.
    """
    if matching.by_order:
        return None, _by_order(path)
    by = matching.by
    if by is not None and by not in columns:
        raise FileProblem(f"{path} has no column {by!r} to name its rows.")
    if table.row_names is None:
        _refuse_common_column(columns, table, by, path)
        return None, _by_order(path)
    ids = [str(name) for name in table.row_names]
    texts = {name: [str(value) for value in values] for name, values in columns.items()}
    shared = {name: len(set(ids) & set(values)) for name, values in texts.items()}
    best = by or max(shared, key=lambda name: shared[name], default="")
    where = {text: i for i, text in enumerate(texts.get(best, []))}
    missing = [name for name in ids if name not in where]
    if missing:
        if len(missing) == len(ids) and by is None and not _names_rows(texts):
            return None, f"{path} does not name its rows: they are taken in the order they are in"
        _refuse(missing, ids, texts, best, table, path)
    others = [name for name in texts if name != best and shared[name] == shared[best]]
    if by is None and any(texts[name] != texts[best] for name in others):
        raise FileProblem(
            f"columns {best!r} and {others[0]!r} of {path} both have the names of the rows; pass ",
            Parameter("by", best),
            " or the other.",
        )
    twice = [name for name, n in Counter(texts[best]).items() if n > 1 and name in set(ids)]
    if twice:
        raise FileProblem(f"{twice[0]!r} occurs more than once in column {best!r} of {path}.")
    return [where[name] for name in ids], f"rows are matched by column {best!r} of {path}"


def _refuse_common_column(
    columns: dict[str, list], table: Table, by: str | None, path: Path
) -> None:
    """Data that do not name their rows may have numbers for that among their features."""
    names = [] if table.feature_names is None else list(table.feature_names[:LABELS_LOOKED_AT])
    for name in set(names) & set(columns) if isinstance(table.X, np.ndarray) else ():
        here = set(table.X[:, names.index(name)].tolist())
        there = {float(v) for v in columns[name] if v is not None and csv.is_number(str(v))}
        if len(here) == table.X.shape[0] > 1 and here <= there:
            raise FileProblem(
                f"the data and {path} both have a column {name!r} with the same values; if it "
                "names the rows, put it first in the data, without a heading; if they are in the "
                "same order, pass ",
                BY_ORDER,
                ".",
            )
    if by is not None:
        raise FileProblem(f"the data do not name their rows, so {by!r} of {path} names none.")


def _names_rows(texts: dict[str, list[str]]) -> bool:
    """Whether some column tells rows apart: the first by any values, others by text."""
    for place, values in enumerate(texts.values()):
        told_apart = len(set(values)) == len(values) > 1
        if told_apart and (place == 0 or not all(map(csv.is_number, values))):
            return True
    return False


def _refuse(
    missing: list[str], ids: list[str], texts: dict[str, list[str]], best: str, table: Table,
    path: Path,
) -> None:  # fmt: skip
    across = set(() if table.feature_names is None else table.feature_names[:100_000])
    if any(len(across & set(some)) > 1 for some in texts.values()):
        raise FileProblem(
            f"{path} names the columns of the data, not the rows; pass ",
            Parameter("transpose", True),
            ".",
        )
    there = ", ".join(texts[best][:LABELS_SHOWN])
    raise FileProblem(
        f"{len(missing):,} of {len(ids):,} rows are not in column {best!r} of {path}: the data "
        f"have {', '.join(missing[:LABELS_SHOWN])}, that column has {there}; pass the right one "
        "as ",
        Parameter("by"),
        ", add or take out rows, or, if both are in the same order, pass ",
        BY_ORDER,
        ".",
    )


def _lines(path: Path, n: int) -> tuple[Array, str]:
    """A value per line; a line more than there should be is a heading."""
    with open_stream(path) as stream:
        lines = csv.decoded(stream.file.read(), path).split("\n")
    lines = [line.strip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    if any(separator in line for line in lines[:1] for separator in csv.SEPARATORS):
        raise FileProblem(f"{path} has several columns; say which, as in {path}:NAME.")
    if "" in lines:
        raise FileProblem(f"{path} has nothing in line {1 + lines.index('')}; fill it.")
    heading = len(lines) == n + 1 and lines[0] not in lines[1:] and not csv.is_number(lines[0])
    words = f", below a heading, {lines[0]!r}" if heading else ""
    return csv.as_labels(np.array(lines[1:] if heading else lines, dtype=object)), words
