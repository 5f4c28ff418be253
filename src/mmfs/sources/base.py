"""What a place for data has to offer: scans of all columns, and a few columns fetched.

A source deals in raw columns x_j; what a column means to the method, centred and scaled, is known
in `mmfs.columns` alone. Columns come in blocks. A scan computes sums over the rows for every block,
and hands them to a function *where the block is*; what that returns comes here, or stays there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

Array = np.ndarray

# Numbers of a tile: the cache holds them.
TILE = 1 << 17

# Stored numbers that take longer to read than threads to start.
WORTH_THREADS = 1 << 22


class Sums(NamedTuple):
    """Of a block of columns, sums over the rows about an origin o_j of each column.

    The first column of V holds the weights of the rows. Missing values, NaN, are left out; `holes`
    tell of every column how many there are, and 1'V over their rows. None if there are none.
    """

    origin: Array  # o_j: one of the values of the column, or zero
    sums: Array  # sum_i V_i0 (x_ij - o_j)^2, and (x_j - o_j)'V
    totals: Array  # 1'V
    holes: Array | None = None

    def joined(self, other: "Sums") -> "Sums":
        """Of these rows and others, about the origin of these."""
        origin, sums = self.origin, self.sums + other.sums
        known = self.totals[0] - (0.0 if self.holes is None else self.holes[:, 1])
        origin = np.where(known > 0, origin, other.origin)  # nothing that counts was there yet
        shift = other.origin - origin
        there = other.totals if other.holes is None else other.totals - other.holes[:, 1:]
        sums[:, 0] += shift * (2 * other.sums[:, 1] + shift * there[..., 0])
        sums[:, 1:] += shift[:, None] * there
        holes = self.holes if other.holes is None else other.holes
        if self.holes is not None and other.holes is not None:
            holes = self.holes + other.holes
        return Sums(origin, sums, self.totals + other.totals, holes)


OnSums = Callable[[Sums, int], Any]  # of a block that begins at that column
Each = Sequence[list[Any]]  # lists with something for every block


class Source(ABC):
    """M x N data, wherever they are. `known` is a list with something for every block."""

    shape: tuple[int, int]
    feature_names: Any = None  # a sequence of text, or None
    y: Any = None  # the target, if it is stored with the data
    remote = False  # whether blocks are on other machines
    skips = False  # whether columns that are not asked for cost no time: `scan_some`

    @abstractmethod
    def first_scan(
        self, V: Array, shifted: bool, finish: OnSums, n_jobs: int | None = None
    ) -> list[Any]:
        """finish(sums, start) of every block, left where the block is.

        Sums are about one of the values of each column where `shifted`, else about zero.
        """

    @abstractmethod
    def scan(
        self, V: Array, known: list[Any], reduce: Callable[..., Any], each: Each = (),
        keep: bool = False, n_jobs: int | None = None,
    ) -> list[Any]:  # fmt: skip
        """reduce(known of the block, products) of every block: products = (x_j - o_j)'V.

        The origins o_j are `known[...].origin`, and missing values are taken as `fill_of` says.
        Whatever else there is for `each` block is handed to `reduce` too; what is to `keep` stays
        where the block is.
        """

    def scan_some(
        self, V: Array, known: list[Any], which: Callable[..., Array], reduce: Callable[..., Any],
        each: Each = (), n_jobs: int | None = None,
    ) -> list[Any]:  # fmt: skip
        """As `scan`, of some columns: reduce(known of the block, products, places) of every block.

        The places in the block are which(known of the block, entries of every column, *each).
        """
        raise TypeError(f"{self} reads columns together")

    def ask(
        self, known: list[Any], reduce: Callable[..., Any], each: Each = (),
        keep: bool = False,
    ) -> list[Any]:  # fmt: skip
        """reduce(known of the block) of every block, as `scan`; but no data are read."""
        return [reduce(*some) for some in together(known, each)]

    @abstractmethod
    def fetch(self, J: Array, n_jobs: int | None = None) -> Any:
        """The columns J, brought into memory: compressed columns or an array."""

    @abstractmethod
    def counts(
        self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int,
        n_jobs: int | None = None,
    ) -> Array:  # fmt: skip
        """counts[j, state, c, label]: rows with that state of column j and label of labelling c.

        For columns start..stop, the first of which is j = 0. The state of a value is the number
        of its column's cuts (a row of `cuts`) below it; `labels` (M x L) holds several
        labellings, each of whole numbers below n_labels, or -1 for rows that are left out.
        """

    @property
    def size(self) -> int:
        """Stored numbers, at most."""
        return self.shape[0] * self.shape[1]

    def select_rows(self, rows: Array) -> "Source":
        """Some of the rows, by rising numbers, where they are."""
        raise TypeError(f"{self} gives all of its rows")

    @property
    def columnwise(self) -> "Source":
        """The same data, stored so that single columns are quickly read."""
        return self

    @property
    def begins(self) -> Array:
        """Stored numbers before each column, and in all, at most."""
        return np.arange(self.shape[1] + 1) * self.shape[0]

    def without_empty(self) -> tuple["Source", Array | None]:
        """Without empty columns, and which columns are left; itself and None if most are."""
        return self, None


class Elsewhere(Source):
    """Data that are not in memory, but on disk or on other machines, as selectors take them."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> Any:
        """Rows stay where they are: X[rows]. Columns are brought into memory: X[:, columns]."""
        rows, columns = where if isinstance(where, tuple) else (where, None)
        data: Source = self
        if not (isinstance(rows, slice) and rows == slice(None)):
            numbers = np.arange(self.shape[0])[rows]
            if numbers.ndim != 1 or (np.diff(numbers) <= 0).any():
                raise ValueError(f"{self} gives rows in rising order alone; sort their numbers.")
            data = self.select_rows(numbers)
        if columns is None:
            return data
        return data.fetch(np.arange(self.shape[1])[columns].reshape(-1))


class OneBlock(Source):
    """Data whose columns are one block."""

    @abstractmethod
    def sums(self, V: Array, shifted: bool, n_jobs: int | None = None) -> Sums:
        """Of all columns at once."""

    @abstractmethod
    def products(
        self, V: Array, origin: Array, n_jobs: int | None = None, fill: Array | None = None
    ) -> Array:
        """(x_j - o_j)'V of all columns at once, N x q; with `fill` in place of missing values."""

    def first_scan(
        self, V: Array, shifted: bool, finish: OnSums, n_jobs: int | None = None
    ) -> list[Any]:
        return [finish(self.sums(V, shifted, n_jobs), 0)]

    def scan(
        self, V: Array, known: list[Any], reduce: Callable[..., Any], each: Each = (),
        keep: bool = False, n_jobs: int | None = None,
    ) -> list[Any]:  # fmt: skip
        products = self.products(V, known[0].origin, n_jobs, fill_of(known[0]))
        return self.ask(known, reduce, ([products], *each), keep)


class InMemory(OneBlock):
    """Data that compiled loops and BLAS can read: in memory, or mapped into it."""

    def n_threads(self, n_jobs: int | None) -> int:
        """Small data are read before threads have started."""
        return effective_n_jobs(n_jobs) if self.size >= WORTH_THREADS else 1

    def each(
        self, work: Callable[..., Any], tasks: Iterable[tuple], n_jobs: int | None
    ) -> list[Any]:
        """Do the tasks, in threads if `n_jobs` says so; how they are cut does not depend on it."""
        if (n_threads := self.n_threads(n_jobs)) == 1:
            return [work(*task) for task in tasks]
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(lambda task: work(*task), tasks))


def side_by_side(parts: Sequence[Sums]) -> Sums:
    """Of blocks of columns that follow each other."""
    if len(parts) == 1:
        return parts[0]
    origin, sums, totals, holes = zip(*parts, strict=True)
    missing = None
    if any(some is not None for some in holes):
        width = 1 + len(totals[0])
        missing = np.concatenate([
            np.zeros((len(part.origin), width)) if part.holes is None else part.holes
            for part in parts
        ])  # fmt: skip
    return Sums(np.concatenate(origin), np.concatenate(sums), totals[0], missing)


def first_that_counts(V: Array) -> int:
    """The first row that has a weight; the first of all if none has."""
    return int(np.argmax(V[:, 0] > 0))


def fill_of(known: Any) -> Array | None:
    """What stands for missing values in the columns of a block, if there are any: their means."""
    return None if known.missing is None else known.center


def together(known: list[Any], each: Each) -> list[tuple]:
    """What is handed over with every block."""
    return list(zip(known, *each, strict=True))


def read_only(array: Array) -> Array:
    """A view that compiled loops know by one type, wherever its numbers are."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def label_counts(labels: Array, n_labels: int) -> Array:
    """counts[c, label]: rows with that label in labelling c; -1 is no label."""
    return np.array([np.bincount(column + 1, minlength=n_labels + 1)[1:] for column in labels.T])
