"""SciPy sparse data, centred and scaled without ever being made dense.

f_j'v = (x_j'v - mean_j 1'v) * inverse_j costs what the un-centred product costs. Compressed columns
are read column by column; compressed rows a block of columns at a time, which takes some three
times as long, but no transposed copy.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from mmfs._compiled import counting, passes
from mmfs.columns.base import Array, Columns, far_from, is_far, label_counts

# Entries a compiled loop reads between two chances to be interrupted, and a thread's share.
PORTION = 1 << 20


class SparseColumns(Columns):
    """What compressed columns and compressed rows have in common."""

    _find_moments: Callable[..., bool]  # of a range of columns
    _find_products: Callable[..., None]
    arrays: tuple[Any, Any, Any]  # indptr, indices and data

    def __init__(self, X: Any, *, center: bool = True, n_jobs: int | None = None) -> None:
        super().__init__(X, center=center, n_jobs=n_jobs)
        self._bind(X)

    def _bind(self, X: Any) -> None:
        """The arrays of X as read-only views: one compiled signature whatever their source."""
        self.X = X
        self.arrays = _arrays(X)

    @abstractmethod
    def _portions(self) -> Iterable[tuple[int, int]]:
        """Ranges of columns with about PORTION entries each."""

    def moments(self, V: Array) -> Array:
        products = self._moments(V)
        if products is None:
            # Unsorted or repeated entries: put a copy in order, the input stays as it is.
            X = self.X.copy()
            X.check_format(full_check=True)
            X.sum_duplicates()
            self._bind(X)
            products = self._moments(V)
        assert products is not None
        far = is_far(self.mean, self.inverse, self.shape[0])
        if far.any():  # rare in sparse data: their products are found about their means
            products[far] = self.project(V)[far]
        return products

    def _moments(self, V: Array) -> Array | None:
        """`moments`, or None if the entries of X are not sorted, unique and in range."""
        self.n_passes += 1
        n_columns = self.shape[1]
        self.mean, self.inverse = np.empty(n_columns), np.empty(n_columns)
        products = np.empty((n_columns, V.shape[1]))
        V = np.pad(V, ((0, 0), (0, max(0, 4 - V.shape[1]))))

        def work(start: int, stop: int) -> bool:
            return self._find_moments(
                *self.arrays, V, self.center, start, stop, self.mean, self.inverse, products
            )

        return products if all(self._each(work, self._portions())) else None

    def project(self, V: Array) -> Array:
        self.n_passes += 1
        V, out = np.ascontiguousarray(V), np.empty((self.shape[1], V.shape[1]))
        far = far_from(self.shape[0])

        def work(start: int, stop: int) -> None:
            self._find_products(*self.arrays, V, self.mean, self.inverse, far, start, stop, out)

        self._each(work, self._portions())
        return out


class CscColumns(SparseColumns):
    """Compressed sparse columns."""

    _find_moments = staticmethod(passes.csc_moments)
    _find_products = staticmethod(passes.csc_products)

    def _portions(self) -> Iterable[tuple[int, int]]:
        return _about_equal(self.arrays[0])

    def take(self, J: Array) -> "SparseBlock":
        return SparseBlock(sp.csc_array(self.X[:, J]), self.mean[J], self.inverse[J])

    def states(self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        self.n_passes += start == 0
        sizes = label_counts(labels, n_labels)
        counts = np.empty((stop - start, cuts.shape[1] + 1, *sizes.shape), dtype=np.int32)

        def work(a: int, b: int) -> None:
            a, b = max(a, start), min(b, stop)
            if a < b:
                self._find_states(cuts, labels, sizes, a, b, start, counts)

        self._each(work, self._portions())
        return counts

    def _find_states(self, *given: Any) -> None:
        counting.csc_states(*self.arrays, *given)


class CsrColumns(SparseColumns):
    """Compressed sparse rows, read by ranges of columns, without a transposed copy."""

    _find_moments = staticmethod(passes.csr_moments)
    _find_products = staticmethod(passes.csr_products)

    def _portions(self) -> Iterable[tuple[int, int]]:
        """Equally wide ones; each begins with a search in every row, so they are fewer."""
        n_portions = -(-len(self.arrays[1]) // (16 * PORTION))
        ends = np.linspace(0, self.shape[1], n_portions + 1).astype(int)
        return pairwise(ends) if n_portions else [(0, self.shape[1])]

    @cached_property
    def columnwise(self) -> CscColumns:
        """A copy, made once."""
        copy = CscColumns(self.X.tocsc(), center=self.center, n_jobs=self.n_jobs)
        copy.mean, copy.inverse = self.mean, self.inverse
        return copy

    def take(self, J: Array) -> "SparseBlock":
        self.n_passes += 1
        columns, place = np.unique(J, return_inverse=True)
        wanted = np.zeros(self.shape[1] // 8 + 1, dtype=np.uint8)  # a bit each: the cache holds it
        np.bitwise_or.at(wanted, columns >> 3, np.left_shift(1, columns & 7).astype(np.uint8))

        def work(start: int, stop: int) -> sp.csr_array:
            rows = passes.csr_take(*self.arrays, columns, wanted, start, stop)
            return sp.csr_array(rows, shape=(stop - start, len(columns)))

        X = sp.vstack(list(self._each(work, _about_equal(self.arrays[0]))), format="csc")
        return SparseBlock(X[:, place], self.mean[J], self.inverse[J])

    def states(self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        self.n_passes += 1
        sizes = label_counts(labels, n_labels)
        counts = np.empty((stop - start, cuts.shape[1] + 1, *sizes.shape), dtype=np.int32)
        counting.all_absent(cuts, sizes, start, stop, start, counts)
        for a, b in _about_equal(self.arrays[0]):
            counting.csr_states(*self.arrays, cuts, labels, a, b, start, counts)
        return counts


class SparseBlock:
    """A few sparse columns with their means and scales.

    Columns far from zero, which have all of their entries, are held about their means: otherwise
    products that are centred afterwards would lose their digits.
    """

    def __init__(self, X: sp.csc_array, mean: Array, inverse: Array) -> None:
        self.X, self.mean, self.inverse = X.astype(np.float64, copy=False), mean, inverse
        far = is_far(mean, inverse, X.shape[0])
        if far.any():
            origin = np.where(far, mean, 0.0)
            data = self.X.data - np.repeat(origin, np.diff(self.X.indptr))
            self.X = sp.csc_array((data, self.X.indices, self.X.indptr), shape=X.shape)
            self.mean = mean - origin

    @property
    def stored(self) -> int:
        return self.X.nnz

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return _arrays(self.X)

    def gram(self, other: Self) -> Array:
        out = np.empty((other.X.shape[1], self.X.shape[1]))
        passes.sparse_gram(
            *_arrays(self.X.tocsr()), *other.arrays, (self.mean, self.inverse),
            (other.mean, other.inverse), out,
        )  # fmt: skip
        return out.T

    def combine(self, weights: Array) -> Array:
        weights = weights * self.inverse[:, None]
        return self.X @ weights - self.mean @ weights

    def operator(self) -> Any:
        return SparseOperator(self)

    def dense(self) -> Array:
        return (self.X.toarray() - self.mean) * self.inverse

    def join(self, other: Self) -> "SparseBlock":
        return SparseBlock(
            sp.hstack([self.X, other.X], format="csc"),
            np.concatenate([self.mean, other.mean]),
            np.concatenate([self.inverse, other.inverse]),
        )

    def only(self, mask: Array) -> "SparseBlock":
        return SparseBlock(self.X[:, mask], self.mean[mask], self.inverse[mask])


class SparseOperator(LinearOperator):
    """Products with a block that stays sparse: the means are subtracted from them."""

    def __init__(self, block: SparseBlock) -> None:
        super().__init__(np.float64, block.X.shape)
        self.block = block

    def _matmat(self, W: Array) -> Array:
        return self.block.combine(W)

    def _rmatmat(self, V: Array) -> Array:
        block = self.block
        return (block.X.T @ V - np.outer(block.mean, V.sum(axis=0))) * block.inverse[:, None]


def _about_equal(indptr: Array) -> Iterable[tuple[int, int]]:
    """Ranges of compressed columns, or rows, with about PORTION entries each."""
    cuts = np.searchsorted(indptr, np.arange(PORTION, indptr[-1], PORTION))
    return pairwise((0, *cuts, len(indptr) - 1))


def _arrays(X: Any) -> tuple[Array, Array, Array]:
    """indptr, indices and data as read-only views, of types that the compiled loops know."""
    data = X.data.view(np.uint8) if X.dtype == bool else X.data
    data = data.astype(data.dtype.newbyteorder("="), copy=False)
    if data.dtype.char in "eg":  # half precision and long double
        data = data.astype(np.float64)
    return (
        _read_only(X.indptr.astype(np.int64, copy=False)),
        _read_only(X.indices.astype(X.indices.dtype.newbyteorder("="), copy=False)),
        _read_only(data),
    )


def _read_only(array: Array) -> Array:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
