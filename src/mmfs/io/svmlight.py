"""svmlight / LIBSVM files: lines of `label qid:number column:value column:value ... # comment`.

The text is read once, a few megabytes at a time, and parsed by several threads; what they find is
put where it belongs in order. For compressed columns it is read twice, to count and to place, since
that takes no more memory than the result.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs

from mmfs._compiled import placing
from mmfs._compiled import svmlight as text_of
from mmfs.io.growing import Counts, Growing
from mmfs.io.outputs import open_output
from mmfs.io.streams import FileProblem, open_stream
from mmfs.io.table import Table
from mmfs.progress import Progress
from mmfs.validation import is_int

Array = np.ndarray

CHUNK = 1 << 21

# Rows times labels, where rows have several: a byte each.
MOST_INDICATORS = 1 << 28


WRONG = {
    text_of.NO_LABEL: "{token} is not a number for a label",
    text_of.NO_COLUMN: "{token} does not start with a column number (up to 2147483646) and a colon",
    text_of.NO_VALUE: "{token} has no number for a value",
    text_of.NOT_RISING: "the column number of {token} is not above the one before it, or too low",
    text_of.NO_QUERY: "{token} is not qid: and a whole number",
}


class Rows(NamedTuple):
    """Some consecutive rows of the file."""

    labels: Array
    queries: Array  # -1 where there is none
    row_ends: Array
    columns: Array
    values: Array
    lowest: int
    highest: int
    n_lines: int
    several: dict[int, tuple[float, ...]]  # labels of rows that have more than one, as 1,2

    def first(self, n: int) -> "Rows":
        end = int(self.row_ends[n - 1])
        columns = self.columns[:end]
        return self._replace(
            labels=self.labels[:n],
            queries=self.queries[:n],
            row_ends=self.row_ends[:n],
            columns=columns,
            values=self.values[:end],
            lowest=int(columns.min(initial=2**31 - 1)),
            highest=int(columns.max(initial=-1)),
            several={row: labels for row, labels in self.several.items() if row < n},
        )

    def refuse_several(self, path: Path) -> None:
        """Where rows are read part by part, labels that are in none yet are not known."""
        if self.several:
            labels = ",".join(f"{label:g}" for label in next(iter(self.several.values())))
            raise FileProblem(
                f"{path} has several labels in a row ({labels}); read it whole, or keep one."
            )


class Svmlight(NamedTuple):
    X: sp.csr_array | sp.csc_array
    y: Array
    queries: Array | None
    numbered_from: int


def read_svmlight(
    path: Any,
    *,
    layout: str = "csr",
    zero_based: bool | str = "auto",
    dtype: Any = np.float64,
    n_features: int | None = None,
    n_rows: int | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Svmlight:
    """Read an svmlight (LIBSVM) file.

    Parameters
    ----------
    path : str or Path
        The file; compressed if its name ends in .gz, .xz, .bz2 or .zst.
    layout : {"csr", "csc"}, default="csr"
        Compressed rows, or columns. Columns take two readings of the file, and no more memory.
    zero_based : bool or "auto", default="auto"
        Whether the first column has number 0. "auto": only if number 0 is used.
    dtype : float32 or float64, default=float64
        Of the values.
    n_features : int or None, default=None
        Number of columns, if there are more than the largest number used.
    n_rows : int or None, default=None
        How many rows to read; None: all.
    n_jobs : int or None, default=None
        Threads; None stands for all cores.
    progress : callable, default=None
        Told ("reading", bytes read, bytes there are).

    Returns
    -------
    X : scipy.sparse.csr_array or csc_array
        With every entry of the file, zeros too.
    y : ndarray
        The labels; where rows have several (1,2), an indicator of each label, in rising order.
    queries : ndarray of int or None
        The qid of each row (-1: none), if any row has one.
    numbered_from : int
        The number that the first column has in the file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mmfs.io import read_svmlight
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.svm")
    >>> _ = path.write_text("1 1:0.5 3:2 # first\\n-1 2:1e-3\\n")
    >>> X, y, *_ = read_svmlight(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1.0, -1.0])
    """
    if layout not in ("csr", "csc"):
        raise ValueError(f"layout must be 'csr' or 'csc', got {layout!r}.")
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}.")
    path, dtype = Path(path), np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}.")
    if n_rows is not None and not (is_int(n_rows) and n_rows >= 1):
        raise ValueError(f"n_rows must be a whole number of at least 1, got {n_rows!r}.")
    first_column = 1 if zero_based is False else 0

    def rows(name: str) -> Iterator[tuple[Rows, float]]:
        told = progress and (lambda _, done, size: progress(name, done, size))
        left = float("inf") if n_rows is None else n_rows
        for some, share in parsed_rows(path, first_column, n_jobs, told):
            left -= len(some.labels)
            if left <= 0:
                yield some.first(len(some.labels) + int(left)), 1.0
                return
            yield some, share

    labels, queries, lengths = Growing(np.float64), Growing(np.int64), Growing(np.int64)
    columns, values, counts = Growing(np.int32), Growing(dtype), Counts()
    several: dict[int, tuple[float, ...]] = {}
    lowest, highest = 2**62, -1
    for some, share in rows("reading" if layout == "csr" else "counting"):
        several |= {len(labels) + row: found for row, found in some.several.items()}
        labels.append(some.labels, share)
        queries.append(some.queries, share)
        lengths.append(np.diff(some.row_ends, prepend=0), share)
        lowest, highest = min(lowest, some.lowest), max(highest, some.highest)
        if layout == "csr":
            columns.append(some.columns, share)
            values.append(some.values, share)
        else:
            counts.add(some.columns, some.highest)
    if len(labels) == 0:
        raise FileProblem(f"{path} is empty.")

    shift = int(zero_based is False or (zero_based == "auto" and lowest > 0 and highest >= 0))
    n_columns = max(highest + 1 - shift, 1)
    if n_features is not None and n_features < n_columns:
        raise FileProblem(f"{path} has {n_columns:,} columns, more than n_features={n_features:,}.")
    shape = (len(labels), n_features or n_columns)
    X: Any
    if layout == "csr":
        indices = columns.array
        indices -= shift
        X = sp.csr_array((values.array, indices, _ends(lengths.array)), shape=shape)
    else:
        n_stored = np.pad(counts.array[shift:], (0, shape[1]))[: shape[1]]
        X = _placed(rows("placing"), n_stored, shift, shape, dtype, path)
    X.has_sorted_indices = X.has_canonical_format = True
    numbers = queries.array
    y = _indicators(labels.array, several, path) if several else labels.array
    return Svmlight(X, y, numbers if (numbers >= 0).any() else None, shift)


def _indicators(labels: Array, several: dict[int, tuple[float, ...]], path: Path) -> Array:
    """A column for every label, 1 in the rows that have it."""
    alone = np.ones(len(labels), dtype=bool)
    alone[list(several)] = False
    found = [label for some in several.values() for label in some]
    known = np.unique(np.append(labels[alone], found))
    if len(known) * len(labels) > MOST_INDICATORS:
        raise FileProblem(f"{path} has {len(known):,} labels, too many at once; keep some of them.")
    y = np.zeros((len(labels), len(known)), dtype=np.int8)
    rows = np.flatnonzero(alone)
    y[rows, np.searchsorted(known, labels[rows])] = 1
    for row, some in several.items():
        y[row, np.searchsorted(known, some)] = 1
    return y


def _placed(
    rows: Iterator[tuple[Rows, float]],
    counts: Array,
    shift: int,
    shape: Any,
    dtype: Any,
    path: Path,
) -> sp.csc_array:
    """Compressed columns, given how many entries each has."""
    indptr = _ends(counts)
    indices, data = np.empty(indptr[-1], dtype=indptr.dtype), np.empty(indptr[-1], dtype=dtype)
    next_entry, first_row = indptr[:-1].copy(), 0
    for some, _ in rows:
        fits = placing.place(
            first_row, some.row_ends, some.columns, shift, some.values, next_entry, indptr[1:],
            indices, data,
        )  # fmt: skip
        first_row += len(some.labels)
        if not fits or first_row > shape[0]:
            break
    if first_row != shape[0] or (next_entry != indptr[1:]).any():
        raise FileProblem(f"{path} changed while it was read; read it again.")
    return sp.csc_array((data, indices, indptr), shape=shape)


def _ends(lengths: Array) -> Array:
    ends = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=ends[1:])
    return ends.astype(np.int32) if ends[-1] < 2**31 else ends


def parsed_rows(
    path: Path,
    first_column: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Rows, float]]:
    """Rows of a file in order, and which share of it has been read."""
    n_jobs = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    pending: deque[tuple[Future, float]] = deque()
    n_lines = 0

    def oldest() -> tuple[Rows, float]:
        nonlocal n_lines
        future, share = pending.popleft()
        try:
            found = future.result()
        except Malformed as wrong:
            raise FileProblem(f"{path}, line {n_lines + wrong.line}: {wrong}.") from None
        n_lines += found.n_lines
        return found, share

    with open_stream(path, progress) as stream, ThreadPoolExecutor(n_jobs) as pool:
        try:
            for text in _whole_lines(stream.file):
                pending.append((pool.submit(_parse, text, first_column), stream.share))
                if len(pending) > n_jobs + 1:
                    yield oldest()
            while pending:
                yield oldest()
        finally:
            for future, _ in pending:
                future.cancel()


def _whole_lines(file: Any) -> Iterator[bytes]:
    """The text in pieces of about CHUNK bytes, cut at the ends of lines."""
    begun: list[bytes] = []
    while block := file.read(CHUNK):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*begun, block[:cut]])
            begun = []
        begun.append(block[cut:])
    if rest := b"".join(begun):
        yield rest + b"\n"


class Malformed(Exception):
    def __init__(self, text: bytes, at: int, kind: int) -> None:
        self.line = 1 + text.count(b"\n", 0, at)
        words = text[at : at + 60].split(b"#")[0].split()
        token = words[0].decode("utf-8", "replace") if words else ""
        super().__init__(WRONG[kind].format(token=repr(token)))


def _parse(text: bytes, first_column: int) -> Rows:
    letters = np.frombuffer(text, dtype=np.uint8)
    most_entries, most_rows = text_of.count_marks(letters)
    labels, queries = np.empty(most_rows), np.empty(most_rows, dtype=np.int64)
    row_ends = np.empty(most_rows, dtype=np.int64)
    columns, values = np.empty(most_entries, dtype=np.int64), np.empty(most_entries)
    odd = np.empty((most_rows + most_entries, 3), dtype=np.int64)
    n_rows, n_entries, n_odd, lowest, highest, wrong, at = text_of.parse(
        letters, first_column, labels, queries, row_ends, columns, values, odd
    )
    several: dict[int, tuple[float, ...]] = {}
    for start, stop, entry in odd[:n_odd].tolist():
        label, token = entry < 0, text[start:stop]
        try:
            if label and b"," in token:
                several[-1 - entry] = tuple(map(_number, token.split(b",")))
                continue
            number = _number(token if label else token.partition(b":")[2])
        except ValueError:
            raise Malformed(text, start, text_of.NO_LABEL if label else text_of.NO_VALUE) from None
        if label:
            labels[-1 - entry] = number
        else:
            values[entry] = number
    if wrong:
        raise Malformed(text, at, wrong)
    return Rows(
        labels[:n_rows],
        queries[:n_rows],
        row_ends[:n_rows],
        columns[:n_entries],
        values[:n_entries],
        lowest,
        highest,
        most_rows,
        several,
    )


def _number(text: bytes) -> float:
    if b"_" in text:  # which Python's literals may have, and data should not
        raise ValueError
    return float(text)


def write_svmlight(table: Table, path: Path, compression: str) -> None:
    """One-based, with as many digits as tell the number again; names are not kept."""
    X = sp.csr_array(table.X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    labels, meaning = _labels(table.y, X.shape[0])
    queries = _queries(table.groups)
    last = X.shape[1] if X.nnz == 0 or X.indices.max() < X.shape[1] - 1 else 0
    with open_output(path, compression) as file:
        if meaning:
            file.write(f"# {meaning}\n".encode())
        for i, label in enumerate(labels):
            entries = slice(X.indptr[i], X.indptr[i + 1])
            columns, values = X.indices[entries] + 1, X.data[entries].astype(float)
            pairs = [*zip(columns.tolist(), values.tolist(), strict=True)]
            if last and i == 0:
                pairs.append((last, 0.0))  # so that the number of columns is known
            query = f" qid:{queries[i]}" if queries is not None and queries[i] >= 0 else ""
            row = "".join(f" {column}:{value!r}" for column, value in pairs)
            file.write(f"{label}{query}{row}\n".encode())


def _queries(groups: Array | None) -> Array | None:
    """Groups as whole numbers."""
    if groups is None or groups.dtype.kind in "iu":
        return groups
    return np.unique(groups.astype(str), return_inverse=True)[1]


def _labels(y: Array | None, n_rows: int) -> tuple[list[Any], str]:
    """Numbers for labels, and what they mean if they are not the labels themselves."""
    if y is None:
        return [0] * n_rows, ""
    if y.ndim == 1 and y.dtype.kind in "biuf":
        return (y.astype(int) if y.dtype.kind == "b" else y).tolist(), ""
    if y.ndim > 1:
        raise FileProblem("svmlight files have one target; write .npz instead.")
    classes, numbers = np.unique(y.astype(str), return_inverse=True)
    words = ", ".join(f"{i} = {name}" for i, name in enumerate(classes))
    return numbers.tolist(), f"labels: {' '.join(words.split())}"
