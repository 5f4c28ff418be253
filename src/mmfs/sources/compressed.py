"""SciPy's sparse data, read as they are stored.

Compressed columns are read column by column; compressed rows a range of columns at a time, which
takes some three times as long, but no transposed copy.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mmfs._compiled import counting, scans
from mmfs.sources.base import (
    WORTH_THREADS,
    Array,
    Each,
    InMemory,
    OnSums,
    Source,
    Sums,
    fill_of,
    first_that_counts,
    label_counts,
    read_only,
    side_by_side,
    together,
)
from mmfs.sources.empty import filled, without_empty_rows

# Entries of a thread's share, which a compiled loop reads between two chances to be interrupted:
# few enough to be shared evenly, but each share costs as much as ten thousand entries besides.
SHARES, ENTRIES_AT_MOST = 16, 1 << 22

# Of a range of columns: none is named; none has missing values.
EVERY, NO_HOLES = np.empty(0, dtype=np.int64), np.empty((0, 0))

RawSums = tuple[Array, Array, Array | None]
Entries = tuple[tuple[Any, Any, Any], int, int]


class Vectors(NamedTuple):
    """What the columns are multiplied with, as compiled loops read it."""

    weights: Array  # of the rows; empty if all weigh 1
    first: Array  # the first vector
    others: Array  # all others, M x (q - 2)
    in_lanes: tuple[Array, int]  # weights and vectors as `csc_sums_several` reads them
    row: int  # the first that counts

    @classmethod
    def of(cls, V: Array) -> "Vectors":
        """Of vectors of which the first are the weights."""
        weights, first = np.ascontiguousarray(V[:, :2].T)
        others, lanes = V[:, 2:].copy(), np.zeros((0, 0))
        if others.shape[1]:
            lanes = np.zeros((len(V), 2 + scans.LANES))
            lanes[:, : min(V.shape[1], 1 + scans.LANES)] = V[:, : 1 + scans.LANES]
        n = min(V.shape[1] - 1, scans.LANES)
        weights = weights[:0] if (weights == 1.0).all() else weights
        return cls(weights, first, others, (lanes, n), first_that_counts(V))


class Compressed(InMemory):
    """What compressed columns and compressed rows have in common."""

    X: Any

    def __init__(self, X: Any) -> None:
        self.shape = X.shape
        self._bind(X)

    def _bind(self, X: Any) -> None:
        self.X = X
        vars(self).pop("arrays", None)

    @cached_property
    def arrays(self) -> tuple[Any, Any, Any]:
        """indptr, indices and data as read-only views: one compiled signature whatever it was."""
        return arrays_of(self.X)

    @property
    def size(self) -> int:
        return len(self.arrays[1])

    @abstractmethod
    def _blocks(self, n_jobs: int | None) -> list[tuple[int, int]]:
        """Ranges of columns that are worth a thread; what is found does not depend on them."""

    @abstractmethod
    def _sums(self, V: "Vectors", shifted: bool, start: int, stop: int) -> RawSums | None:
        """Origins, sums and holes of a range of columns.

        None if its entries are not sorted, unique and in range.
        """

    @abstractmethod
    def _products(self, V: Array, origin: Array, fill: Array, start: int, stop: int) -> Array:
        """Of a range of columns, of which `origin` are the origins; `fill` is empty if not used."""

    def first_scan(
        self, V: Array, shifted: bool, finish: OnSums, n_jobs: int | None = None
    ) -> list[Any]:
        vectors, totals = Vectors.of(V), V.sum(axis=0)

        def work(start: int, stop: int) -> Any:
            found = self._sums(vectors, shifted, start, stop)
            if found is None:
                return None
            origin, sums, holes = found
            return finish(Sums(origin, sums, totals, holes), start)

        found = self.each(work, self._blocks(n_jobs), n_jobs)
        if any(some is None for some in found):
            # Unsorted or repeated entries: put a copy in order, the input stays as it is.
            X = self.X.copy()
            X.check_format(full_check=True)
            X.sum_duplicates()
            self._bind(X)
            found = self.each(work, self._blocks(n_jobs), n_jobs)
        return found

    def scan(
        self, V: Array, known: list[Any], reduce: Callable[..., Any], each: Each = (),
        keep: bool = False, n_jobs: int | None = None,
    ) -> list[Any]:  # fmt: skip
        V = np.ascontiguousarray(V)

        def work(block: tuple[int, int], some: tuple) -> Any:
            read = some[0].origin, or_empty(fill_of(some[0]))
            return reduce(some[0], self._products(V, *read, *block), *some[1:])

        return self.each(
            work, list(zip(self._blocks(n_jobs), together(known, each), strict=True)), n_jobs
        )

    def sums(self, V: Array, shifted: bool, n_jobs: int | None = None) -> Sums:
        return side_by_side(self.first_scan(V, shifted, lambda sums, start: sums, n_jobs))

    def products(
        self, V: Array, origin: Array, n_jobs: int | None = None, fill: Array | None = None
    ) -> Array:
        V, fill = np.ascontiguousarray(V), or_empty(fill)

        def work(start: int, stop: int) -> Array:
            return self._products(V, origin[start:stop], fill[start:stop], start, stop)

        return np.concatenate(self.each(work, self._blocks(n_jobs), n_jobs))


class CompressedColumns(Compressed):
    """Compressed sparse columns."""

    skips = True

    def _blocks(self, n_jobs: int | None) -> list[tuple[int, int]]:
        return about_equal(self.arrays[0])

    def _entries(self, start: int, stop: int) -> Entries:
        """The arrays, and where columns start..stop are among them."""
        return self.arrays, start, stop

    def _sums(self, V: Vectors, shifted: bool, start: int, stop: int) -> RawSums | None:
        (n, q), (arrays, a, b) = (stop - start, V.others.shape[1]), self._entries(start, stop)
        origin, sums, holes = np.empty(n), np.empty((n, 3 + q)), None
        loop: Any = scans.csc_sums_several if q else scans.csc_sums
        known: tuple = V.in_lanes if q else (V.weights, V.first)
        read = *arrays, *known, V.row if shifted else -1, a, b, origin, sums
        found = loop(*read, NO_HOLES)
        if found == scans.HOLES:
            holes = np.zeros((n, sums.shape[1]))
            found = loop(*read, holes)
        if found and q >= scans.LANES:
            rest = V.others[:, scans.LANES - 1 :]
            vectors = in_lanes(rest), rest.shape[1], origin, np.empty(0), a, EVERY
            beside = 2 + scans.LANES, sums, NO_HOLES if holes is None else holes
            scans.csc_several(*arrays, *vectors, *beside)
        return (origin, sums, holes) if found else None

    def _products(self, V: Array, origin: Array, fill: Array, start: int, stop: int) -> Array:
        arrays, a, _ = self._entries(start, stop)
        return _multiplied(arrays, V, origin, fill, a, EVERY)

    def scan_some(
        self, V: Array, known: list[Any], which: Callable[..., Array], reduce: Callable[..., Any],
        each: Each = (), n_jobs: int | None = None,
    ) -> list[Any]:  # fmt: skip
        V = np.ascontiguousarray(V)

        def work(block: tuple[int, int], some: tuple) -> Any:
            arrays, a, b = self._entries(*block)
            places = which(some[0], np.diff(arrays[0][a : b + 1]), *some[1:])
            origin, fill = some[0].origin[places], or_empty(fill_of(some[0]))
            fill = fill[places] if len(fill) else fill
            products = _multiplied(arrays, V, origin, fill, a, a + places)
            return reduce(some[0], products, places)

        blocks = zip(self._blocks(n_jobs), together(known, each), strict=True)
        return self.each(work, list(blocks), n_jobs)

    def fetch(self, J: Array, n_jobs: int | None = None) -> sp.csc_array:
        return sp.csc_array(self.X[:, J])

    def counts(
        self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int,
        n_jobs: int | None = None,
    ) -> Array:  # fmt: skip
        sizes = label_counts(labels, n_labels)
        counts = np.empty((stop - start, cuts.shape[1] + 1, *sizes.shape), dtype=np.int32)

        def work(a: int, b: int) -> None:
            a, b = max(a, start), min(b, stop)
            if a < b:
                arrays, first, last = self._entries(a, b)
                part = counts[a - start : b - start]
                counting.csc_states(*arrays, cuts[a:b], labels, sizes, first, last, part)

        self.each(work, self._blocks(n_jobs), n_jobs)
        return counts

    @property
    def begins(self) -> Array:
        return self.arrays[0]

    def without_empty(self) -> tuple[Source, Array | None]:
        left, begins = filled(self.X.indptr)
        if left is None:
            return self, None
        shape = (self.shape[0], len(left))
        X = sp.csc_array((self.X.data, self.X.indices, begins), shape=shape)
        return CompressedColumns(X), left


class CompressedRows(Compressed):
    """Compressed sparse rows, read by ranges of columns, without a transposed copy."""

    def _blocks(self, n_jobs: int | None) -> list[tuple[int, int]]:
        """Equally wide ones, as few as possible, since each is a visit to every row."""
        threads = self.n_threads(n_jobs)
        n_blocks = max(1, threads, self.size // (SHARES * ENTRIES_AT_MOST))
        return list(pairwise(np.linspace(0, self.shape[1], n_blocks + 1).astype(int).tolist()))

    @cached_property
    def _origin(self) -> Array:
        """Of columns with an entry in every row, the first that counts; zero of all others."""
        origin = np.zeros(self.shape[1])
        counted = np.flatnonzero(self._counts)
        J, values = scans.csr_full(*self.arrays, counted[0] if len(counted) else 0)
        known = (J >= 0) & (J < self.shape[1])  # what is not is refused by the scan
        origin[J[known]] = values[known]
        for j in np.flatnonzero(np.isnan(origin)).tolist():  # the first is missing
            there = self.fetch(np.array([j])).toarray()[counted, 0]
            origin[j] = next((x for x in there.tolist() if x == x), 0.0)
        return origin

    def _bind(self, X: Any) -> None:
        super()._bind(X)
        vars(self).pop("_origin", None)

    def first_scan(
        self, V: Array, shifted: bool, finish: OnSums, n_jobs: int | None = None
    ) -> list[Any]:
        """About zero, and again if that is far from any column."""
        self._far, self._counts = False, V[:, 0] > 0
        vars(self).pop("_origin", None)
        found = super().first_scan(V, False, finish, n_jobs)
        if shifted and self._far:
            assert len(self._origin)  # found once, before threads ask for it
            found = super().first_scan(V, True, finish, n_jobs)
        return found

    def _sums(self, V: Vectors, shifted: bool, start: int, stop: int) -> RawSums | None:
        origin = self._origin[start:stop] if shifted else np.empty(0)
        sums, holes = np.empty((stop - start, 3 + V.others.shape[1])), None
        read = *self.arrays, *V[:3], origin, start, stop, self.shape[1], sums
        right = scans.csr_sums(*read, NO_HOLES)
        if right == scans.HOLES:
            holes = np.zeros(sums.shape)
            right = scans.csr_sums(*read, holes)
        if right == scans.FAR:
            self._far = True
        return (origin if shifted else np.zeros(stop - start), sums, holes) if right else None

    def _products(self, V: Array, origin: Array, fill: Array, start: int, stop: int) -> Array:
        out = np.empty((stop - start, V.shape[1]))
        scans.csr_products(*self.arrays, V, origin, fill, start, stop, self.shape[1], out)
        return out

    def fetch(self, J: Array, n_jobs: int | None = None) -> sp.csc_array:
        columns, place = np.unique(J, return_inverse=True)
        wanted = np.zeros(self.shape[1], dtype=np.uint8)
        wanted[columns] = 1

        def work(start: int, stop: int) -> sp.csr_array:
            rows = scans.csr_take(*self.arrays, columns, wanted, start, stop)
            return sp.csr_array(rows, shape=(stop - start, len(columns)))

        rows = self.each(work, about_equal(self.arrays[0]), n_jobs)
        return sp.vstack(rows, format="csc")[:, place]

    def counts(
        self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int,
        n_jobs: int | None = None,
    ) -> Array:  # fmt: skip
        sizes = label_counts(labels, n_labels)
        counts = np.empty((stop - start, cuts.shape[1] + 1, *sizes.shape), dtype=np.int32)
        counting.all_absent(cuts[start:stop], sizes, counts)
        for a, b in about_equal(self.arrays[0]):
            counting.csr_states(*self.arrays, cuts, labels, a, b, start, counts)
        return counts

    @property
    def begins(self) -> Array:
        counts = np.bincount(self.arrays[1], minlength=self.shape[1])
        return np.append(0, np.cumsum(counts))

    @cached_property
    def columnwise(self) -> Source:
        """A copy, made once."""
        return CompressedColumns(self.X.tocsc())

    def without_empty(self) -> tuple[Source, Array | None]:
        X, left = without_empty_rows(self.X)
        return (self, None) if left is None else (CompressedColumns(X), left)


def _multiplied(
    arrays: tuple[Any, ...], V: Array, origin: Array, fill: Array, start: int, J: Array
) -> Array:
    """(x_j - o_j)'V of the columns J, or of all from `start` on that have an origin."""
    q, out = V.shape[1], np.empty((len(origin), V.shape[1]))
    if len(out) == 0:
        return out
    if q == 1:
        read = *arrays, V.reshape(-1), origin, fill, start, J, out.reshape(-1)
        scans.csc_dots(*read)
    else:
        read = *arrays, in_lanes(V), q, origin, fill, start, J, 0, out, NO_HOLES
        scans.csc_several(*read)
    return out


def in_lanes(V: Array) -> Any:
    """With zeros, so that so many vectors at a time are all."""
    n, q = V.shape
    out = np.zeros((n, -(-q // scans.LANES) * scans.LANES))
    out[:, :q] = V
    return out


def or_empty(fill: Array | None) -> Array:
    """As compiled loops take it."""
    return np.empty(0) if fill is None else fill


def about_equal(indptr: Array) -> list[tuple[int, int]]:
    """Ranges of compressed columns, or rows, with about as many entries each; one of few."""
    if indptr[-1] < WORTH_THREADS:
        return [(0, len(indptr) - 1)]
    share = min(int(indptr[-1]) // SHARES, ENTRIES_AT_MOST)
    cuts = np.searchsorted(indptr, np.arange(share, indptr[-1], share))
    return list(pairwise((0, *cuts.tolist(), len(indptr) - 1)))


def arrays_of(X: Any) -> tuple[Array, Array, Array]:
    """indptr, indices and data as read-only views, of types that the compiled loops know."""
    data = X.data.view(np.uint8) if X.dtype == bool else X.data
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    if data.dtype.char in "eg":  # half precision and long double
        data = data.astype(np.float64)
    indices = X.indices.astype(X.indices.dtype.newbyteorder("="), copy=False)
    arrays = X.indptr.astype(np.int64, copy=False), indices, data
    begins, indices, data = (read_only(np.ascontiguousarray(array)) for array in arrays)
    return begins, indices, data
