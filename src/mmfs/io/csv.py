"""CSV and TSV files."""

import csv
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mmfs.errors import Parameter
from mmfs.io.arrow import (
    NUMERIC,
    UNNAMED,
    Opened,
    Roles,
    as_arrow,
    from_columns,
    is_number,
    numeric_roles,
    roles_of,
    with_some,
)
from mmfs.io.outputs import open_output
from mmfs.io.streams import FileProblem, file_problems, open_stream
from mmfs.io.table import Table, Wanted, position, unique_names
from mmfs.optional import require
from mmfs.progress import Progress

Array = np.ndarray

LINES = 1 << 24  # bytes of lines that are parsed at a time
CELLS = 1 << 20  # values that are written at a time
SEPARATORS = ",;\t"

# Digits that are a name rather than a number: with a zero in front, or more than are told apart.
NAME, DATE = re.compile(r"[+-]?(0[0-9]|[0-9]{16,}$)"), re.compile(r"\d{4}-[01]\d-[0-3]\d")


def read_text(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """Instances as lines, under a line of names."""
    header = _header(path, wanted.number_duplicates)
    names = header.names
    either = [roles_of(path, names, wanted, kind) for kind in ("", "string")]  # not known yet
    read = {*wanted.labels, *either[0].features, *either[1].features, either[1].rows}
    asked = [name for name in names if name in read]
    table = _parsed(path, header, asked, progress, texts=wanted.labels)
    first = str(table.schema.field(names[0]).type) if names[0] in read else ""
    roles = roles_of(path, names, wanted, first)
    opened = Opened(table.schema, table.num_rows, table.select)
    made = from_columns(path, opened, roles, wanted, None)
    y, groups = (None if some is None else as_labels(some) for some in (made.y, made.groups))
    beside = {name: as_labels(some) for name, some in made.beside.items()}
    return replace(made, y=y, groups=groups, beside=beside)


def read_transposed(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """Features as lines that start with their names; the target may be one of these lines."""
    pyarrow = require("pyarrow", "data")
    header = _header(path, wanted.number_duplicates)
    names = header.names
    table = _parsed(path, header, names, progress, texts=names)
    features = np.array([str(name) for name in table.column(0).to_pylist()])
    keep = np.full(len(features), True)

    def line(name: str | None) -> Array | None:
        if name is None:
            return None
        at = position(name, features, f"row in {path} called")
        keep[at] = False
        return np.array([table.column(i)[at].as_py() for i in range(1, len(names))], dtype=object)

    labels = line(wanted.target), line(wanted.groups)
    keep[keep] = wanted.mask(features[keep].tolist())
    mask = pyarrow.array(keep)
    instances: list[int] = []
    left_out: list[str] = []
    X = np.empty((len(names) - 1, keep.sum()))
    for i, name in enumerate(names[1:]):
        try:
            X[len(instances)] = _floats(table.column(name).filter(mask), features[keep], name, path)
            instances.append(i)
        except NotNumbers:
            if not wanted.numbers_only:
                raise
            left_out.append(name)
    y, groups = (None if some is None else as_labels(some[instances]) for some in labels)
    return Table(
        X[: len(instances)], y, features[keep], np.array(names[1:])[instances], wanted.target,
        groups, left_out=tuple(left_out),
    )  # fmt: skip


class NotNumbers(FileProblem):
    """A column that describes rows rather than an instance."""


def text_columns(path: Path, name: str, by: str | None) -> dict[str, list]:
    """A column of a CSV file, and those that may name its rows, as text."""
    header = _header(path, True)  # of which one column is wanted
    read = with_some(header.names, path, name, by)
    return _parsed(path, header, read, None, texts=read).to_pydict()


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """The first two columns of a CSV file, as text, without the line of names."""
    header = _header(path, True)
    if len(header.names) < 2:
        raise FileProblem(f"{path} needs two columns.")
    both = header.names[:2]
    table = _parsed(path, header, both, None, texts=both)
    columns = (table.column(name).to_pylist() for name in both)
    pairs = [(a or "", b or "") for a, b in zip(*columns, strict=True)]
    for name, value in pairs:
        if not name or not value:
            raise FileProblem(f"{path} has nothing beside {name or value!r}; fill it.")
    return pairs


def write_text(table: Table, path: Path, compression: str, separator: str) -> None:
    arrow_csv = require("pyarrow.csv", "data")
    rows, first = as_arrow(table), True
    with open_output(path, compression) as file:
        for batch in rows.to_batches(max(1, CELLS // max(rows.num_columns, 1))) or [rows]:
            sink = require("pyarrow", "data").BufferOutputStream()
            options = arrow_csv.WriteOptions(delimiter=separator, include_header=first)
            arrow_csv.write_csv(batch, sink, options)
            file.write(sink.getvalue())
            first = False


def decoded(line: bytes, path: Path) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileProblem(f"{path} is not UTF-8 text; convert it to that.") from None


class Header(NamedTuple):
    names: list[str]
    separator: str
    n_lines: int  # names may have newlines in them


def _header(path: Path, number_duplicates: bool) -> Header:
    """The names in the first line, and what separates them."""
    with file_problems(path, "CSV", (csv.Error,)), open_stream(path) as stream:
        lines = (decoded(line, path) for line in stream.file)
        first = next(lines, "")
        separator = max(SEPARATORS, key=first.count)
        if not first.strip():
            raise FileProblem(f"{path} is empty.")
        reader = csv.reader(itertools.chain([first], lines), delimiter=separator)
        names = [name.strip() for name in next(reader)]
    if len(names) == 1:
        raise FileProblem(f"{path} has one column only; columns are told apart by , ; or a tab.")
    if all(is_number(name) for name in names) and not all(name.isdecimal() for name in names):
        raise FileProblem(
            f"{path} starts with numbers; add a first line with the names of the columns."
        )
    return Header(unique_names(names, path, number_duplicates), separator, reader.line_num)


def _parsed(
    path: Path, header: Header, read: list[str], progress: Progress | None, texts: list[str]
) -> Any:
    """An Arrow table of the columns to read, some of them as text.

    A column that looks like numbers in some blocks and not in others is text in all of them.
    """
    pyarrow = require("pyarrow", "data")
    types = {name: pyarrow.string() for name in texts}
    while True:
        tables = [*_tables(path, header, read, types, progress)]
        if not tables:
            raise FileProblem(f"{path} has a line of names, but no others.")
        mixed = [name for name in read if not _alike(table.schema.field(name) for table in tables)]
        if not mixed:
            schemas = [table.schema for table in tables]
            schema = pyarrow.unify_schemas(schemas, promote_options="permissive")
            return pyarrow.concat_tables([table.cast(schema, safe=False) for table in tables])
        types |= {name: pyarrow.string() for name in mixed}


def _alike(fields: Iterator[Any]) -> bool:
    kinds = {str(field.type) for field in fields} - {"null"}
    return len(kinds) <= 1 or kinds <= {"int64", "double"}


def _tables(
    path: Path,
    header: Header,
    read: list[str],
    types: dict[str, Any],
    progress: Progress | None,
) -> Iterator[Any]:
    """The columns to read, some megabytes of lines at a time, as Arrow tables."""
    pyarrow, arrow_csv = require("pyarrow", "data"), require("pyarrow.csv", "data")
    types = types | {name: pyarrow.string() for name in read if name in UNNAMED}
    with open_stream(path, progress) as stream, file_problems(path, "CSV"):
        for _ in range(header.n_lines):
            stream.file.readline()
        for lines in _blocks(stream.file):
            yield arrow_csv.read_csv(native(lines), *_options(header, read, types, len(lines) + 1))


def native(text: bytes) -> Any:
    """A copy in memory of Arrow's own, to be read by its threads.

    One of them may be the last to let go of it, when there is no interpreter left to give it to.
    """
    pyarrow = require("pyarrow", "data")
    sink = pyarrow.BufferOutputStream()
    sink.write(text)
    return pyarrow.BufferReader(sink.getvalue())


def in_batches(path: Path, wanted: Wanted) -> tuple[Roles, Callable[[Any], Iterator[Any]]]:
    """What columns are for, and a function that reads the file, some lines at a time."""
    string, double = require("pyarrow", "data").string(), require("pyarrow", "data").float64()
    header = _header(path, wanted.number_duplicates)
    first = next(_tables(path, header, header.names, {}, None), None)
    if first is None:
        raise FileProblem(f"{path} has a line of names, but no others.")
    roles = numeric_roles(path, first.schema, wanted)
    # What the first lines look like may not be what all are: numbers need not be whole, and labels
    # are looked at when all are known.
    types = {name: string for name in (*wanted.labels, roles.rows) if name is not None}
    for name in roles.features:
        kind = str(first.schema.field(name).type)
        if kind.startswith(NUMERIC) and kind != "bool":
            types[name] = double
    read = [name for name in header.names if name in {*roles.features, *types}]
    return roles, lambda progress: _tables(path, header, read, types, progress)


def _blocks(file: Any) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time; a line break between quotes does not end a line."""
    begun: list[bytes] = []
    quoted, block = False, file.read(LINES)
    while block:
        following = file.read(LINES)
        end = _end_of_lines(block, quoted) if following else len(block)
        if end:
            lines = b"".join([*begun, block[:end]])
            begun, quoted, block = [], False, block[end:]
            if lines.strip():
                yield lines
        begun.append(block)
        quoted ^= bool(block.count(b'"') % 2)
        block = following


def _end_of_lines(block: bytes, quoted: bool) -> int:
    """Behind the last line break that is not between quotes, where the block may begin; or 0."""
    quoted ^= bool(block.count(b'"') % 2)  # at the end
    end = len(block)
    while (at := block.rfind(b"\n", 0, end)) >= 0:
        quoted ^= bool(block.count(b'"', at, end) % 2)
        if not quoted:
            return at + 1
        end = at
    return 0


def _options(header: Header, read: list[str], types: dict[str, Any], block: int) -> tuple:
    arrow_csv = require("pyarrow.csv", "data")
    return (
        arrow_csv.ReadOptions(column_names=header.names, block_size=block),
        arrow_csv.ParseOptions(delimiter=header.separator, newlines_in_values=True),
        arrow_csv.ConvertOptions(
            include_columns=read, column_types=types, strings_can_be_null=True
        ),
    )


def _floats(column: Any, features: Array, name: str, path: Path) -> Array:
    compute = require("pyarrow.compute", "data")
    try:
        return compute.utf8_trim_whitespace(column).cast("float64").to_numpy()
    except require("pyarrow", "data").ArrowInvalid:
        pass
    values = column.to_pylist()
    wrong = [i for i, value in enumerate(values) if value is not None and not is_number(value)]
    if not wrong or 2 * len(wrong) > len(values):
        raise NotNumbers(
            f"{path}: column {name!r} does not hold numbers; take it out, or leave out all such "
            "columns by ",
            Parameter("numbers_only", True),
            ".",
        )
    value, feature = values[wrong[0]], str(features[wrong[0]])
    raise FileProblem(
        f"{path}: {value!r} in row {feature!r}, column {name!r} is not a number; encode it as one, "
        "or exclude that row."
    )


def as_labels(y: Array) -> Array:
    """Labels of a file that has no types, as what all of them are; 007 and long numbers are names.

    In files that have types, labels are of the type they have.
    """
    if y.dtype.kind == "f":
        whole = np.isfinite(y).all() and (y == np.rint(y)).all() and np.abs(y).max() < 2**53
        return y.astype(int) if whole else y
    texts = [str(value) for value in y.tolist()]
    if {text.lower() for text in texts} <= {"true", "false"}:
        return np.array([text.lower() == "true" for text in texts])
    if all(map(DATE.fullmatch, texts)):
        return np.array(texts, dtype="M8[D]")
    if not all(is_number(text) and not NAME.match(text) for text in texts):
        return y
    return as_labels(y.astype(float))
