"""A few columns in memory, standardised: enough to be worked on at leisure."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from mmfs._compiled import dense, gram
from mmfs.columns.standardise import Adjustment, Facts, joined
from mmfs.sources import arrays_of, read_only

Array = np.ndarray

# Numbers of a tile of rows: the cache holds them.
GRAM_TILE = 1 << 18

# Where similarities may be computed in single precision, tile by tile, and added up in double: rows
# for each column, at least, since with fewer columns may depend on each other exactly; and numbers.
TALL, WORTH_SINGLE = 8, 1 << 20

# Multiplications of BLAS in the time in which a scan reads a number.
MULTIPLICATIONS = 64


class Block(Protocol):
    """Some standardised columns F, which `Columns.fetch` brings."""

    adjustment: Adjustment
    facts: Facts

    @property
    def n_rows(self) -> int:
        """M."""

    @property
    def stored(self) -> int:
        """Numbers that a product with all columns reads."""

    @property
    def single(self) -> bool:
        """Whether similarities are found faster in single precision, and nearly as well."""

    @property
    def gram_work(self) -> float:
        """What similarities among them take, in the time in which a scan reads a number."""

    def gram(self, other: Self) -> Array:
        """F_self'F_other, the correlations between two sets of columns."""

    def gram_from(self, start: int, single: bool = False) -> Array:
        """Those of all columns with the columns from `start` on."""

    def combine(self, weights: Array) -> Array:
        """F weights, for weights with a row per column: a matrix of M rows."""

    def products(self, V: Array) -> Array:
        """F'V, for V with M rows."""

    def dense(self) -> Array:
        """The standardised columns themselves, M x n."""

    def operator(self) -> Any:
        """The same to multiply with, many times: A @ W and A.T @ V."""

    def join(self, other: Self) -> Self:
        """These columns followed by those of another block of the same data."""

    def only(self, which: Array) -> Self:
        """The columns where a mask is True, or at some places."""


class DenseBlock:
    """Columns J of an array, read again from it each time: no copy outlives a call."""

    def __init__(
        self, X: Array, J: Array, facts: Facts, adjustment: Adjustment, explained: Any = None
    ) -> None:
        self.X, self.J, self.facts, self.adjustment = X, J, facts, adjustment
        if explained is not None:
            self.explained = explained

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def stored(self) -> int:
        return self.X.shape[0] * len(self.J)

    @cached_property
    def as_in_memory(self) -> tuple[Array, Array, Facts, Array]:
        """Columns in the order of memory, which is read forwards: order, J, facts; and back."""
        order = np.argsort(self.J, kind="stable")
        return order, self.J[order], self.facts.only(order), np.argsort(order)

    def _tiles(self, kind: type = np.float64) -> Iterator[tuple[slice, Array]]:
        """Some rows, and the columns there, standardised, in the order of memory."""
        n = max(1, len(self.J))
        height = max(GRAM_TILE // n, n)  # not many sums of n x n
        for start in range(0, self.n_rows, height):
            rows = slice(start, min(start + height, self.n_rows))
            yield rows, self._rows(rows, kind)

    @cached_property
    def explained(self) -> Array:
        """B'f_j of the weighted and scaled columns, a row each: what covariates tell of them."""
        B, order = self.adjustment.covariates, self.as_in_memory[-1]
        assert B is not None
        height = max(GRAM_TILE // max(1, len(self.J)), 1)
        starts = range(0, self.n_rows, height)
        parts = [slice(start, min(start + height, self.n_rows)) for start in starts]
        return sum(self._weighted(rows).T @ B[rows] for rows in parts)[order]

    def _rows(self, rows: slice, kind: type = np.float64) -> Array:
        """Some rows of the columns, in the order of memory."""
        values, B = self._weighted(rows, kind), self.adjustment.covariates
        if B is not None:
            values -= B[rows] @ self.explained[self.as_in_memory[0]].T
        return values

    def _weighted(self, rows: slice, kind: type = np.float64) -> Array:
        (_, J, facts, _), adjustment, X = self.as_in_memory, self.adjustment, self.X
        if X.flags.c_contiguous and X.dtype in (np.float32, np.float64) and X.dtype.isnative:
            values: Array = np.empty((rows.stop - rows.start, len(J)), dtype=kind)
            read = read_only(X), J, facts.center, facts.inverse
            dense.pick(*read, rows.start, rows.stop, values)
        else:
            values = X[rows, J].astype(kind, copy=False)  # ours: indexing copies
            values -= facts.center
            values *= facts.inverse
        if facts.missing is not None:
            values[np.isnan(values)] = 0.0  # the mean
        if adjustment.root is not None:
            values *= adjustment.root[rows, None]
        return values

    @property
    def single(self) -> bool:
        tall = self.n_rows >= TALL * len(self.J) and self.stored >= WORTH_SINGLE
        return tall and not self.facts.origin.any()

    @property
    def gram_work(self) -> float:
        return self.stored * len(self.J) / 2 / MULTIPLICATIONS

    def gram(self, other: Self) -> Array:
        if other is self:
            return self.gram_from(0)
        out = np.zeros((len(self.J), len(other.J)))
        for rows, here in self._tiles():
            out += here.T @ other._rows(rows)
        return out[self.as_in_memory[-1][:, None], other.as_in_memory[-1]]

    def gram_from(self, start: int, single: bool = False) -> Array:
        out, place = np.zeros((len(self.J), len(self.J) - start)), self.as_in_memory[-1]
        for _, here in self._tiles(np.float32 if single else np.float64):
            out += here.T @ (here[:, place[start:]] if start else here)  # half the work if the same
        return out[place] if start else out[place[:, None], place]

    def combine(self, weights: Array) -> Array:
        weights = weights[self.as_in_memory[0]]
        return np.concatenate([here @ weights for _, here in self._tiles()])

    def products(self, V: Array) -> Array:
        out = np.zeros((len(self.J), V.shape[1]))
        for rows, here in self._tiles():
            out += here.T @ V[rows]
        return out[self.as_in_memory[-1]]

    def dense(self) -> Array:
        return self._rows(slice(0, self.n_rows))[:, self.as_in_memory[-1]]

    def operator(self) -> Array:
        return self.dense()

    def join(self, other: Self) -> "DenseBlock":
        X, J, explained = self.X, np.concatenate([self.J, other.J]), None
        if self.adjustment.covariates is not None:
            explained = np.concatenate([self.explained, other.explained])
        if other.X is not X:  # copies, of other columns each
            both = [np.take(block.X, block.J, axis=1) for block in (self, other)]
            X, J = np.hstack(both), np.arange(len(J))
        return DenseBlock(X, J, joined([self.facts, other.facts]), self.adjustment, explained)

    def only(self, which: Array) -> "DenseBlock":
        known = None if self.adjustment.covariates is None else self.explained[which]
        facts = self.facts.only(which)
        return DenseBlock(self.X, self.J[which], facts, self.adjustment, known)


class SparseBlock:
    """Sparse columns, scaled, and what is to be taken out of them: f_j = x_j - b p_j - B e_j.

    b is the constant, W^1/2 1 scaled to unit norm, and B are the other covariates. Columns far from
    zero, which have all of their entries, are held about their means: what is taken out of products
    afterwards would cost them their digits.
    """

    def __init__(
        self, X: sp.csc_array, facts: Facts, adjustment: Adjustment, explained: Any = None
    ) -> None:
        self.X, self.facts, self.adjustment = X, facts, adjustment
        self.means = (facts.center - facts.origin) * facts.inverse
        B = adjustment.covariates
        if explained is None:
            explained = X.T @ B if B is not None else np.empty((X.shape[1], 0))
        self.explained = explained
        self.total = adjustment.total_weight(X.shape[0])

    @classmethod
    def of(cls, X: sp.csc_array, facts: Facts, adjustment: Adjustment) -> "SparseBlock":
        """From the columns as they are."""
        each = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        values = X.data
        if facts.missing is not None:
            values = np.where(np.isnan(values), facts.center[each], values)
        data = (values - facts.origin[each]) * facts.inverse[each]
        if adjustment.root is not None:
            data *= adjustment.root[X.indices]
        scaled = sp.csc_array((data, X.indices, X.indptr), shape=X.shape)
        return cls(scaled, facts, adjustment)

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def stored(self) -> int:
        return self.X.nnz

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return arrays_of(self.X)

    @property
    def single(self) -> bool:
        return False

    @property
    def gram_work(self) -> float:
        return self.stored**2 / self.n_rows / 2  # more, if rows are not equally full

    def gram_from(self, start: int, single: bool = False) -> Array:
        out = np.empty((self.X.shape[1] - start, self.X.shape[1]))
        p = np.sqrt(self.total) * self.means
        gram.sparse_self_gram(*self.arrays, self.n_rows, p, start, out)
        if self.adjustment.covariates is not None:
            out -= self.explained[start:] @ self.explained.T
        return out.T

    def gram(self, other: Self) -> Array:
        if other is self:
            return self.gram_from(0)
        out, unit = np.empty((self.X.shape[1], other.X.shape[1])), np.sqrt(self.total)
        p, q = unit * self.means, unit * other.means
        rows, others = arrays_of(self.X.tocsr()), arrays_of(other.X.tocsr())
        gram.sparse_gram(*rows, *others, p, q, out)
        if self.adjustment.covariates is not None:
            out -= self.explained @ other.explained.T
        return out

    def combine(self, weights: Array) -> Array:
        out = self.X @ weights
        out -= self._constant(self.means @ weights)
        if self.adjustment.covariates is not None:
            out -= self.adjustment.covariates @ (self.explained.T @ weights)
        return out

    def products(self, V: Array) -> Array:
        root = self.adjustment.root
        out = self.X.T @ V - np.outer(self.means, V.sum(axis=0) if root is None else root @ V)
        if self.adjustment.covariates is not None:
            out -= self.explained @ (self.adjustment.covariates.T @ V)
        return out

    def _constant(self, values: Array) -> Array:
        root = self.adjustment.root
        return values if root is None else np.outer(root, values)

    def operator(self) -> Any:
        many = {"matmat": self.combine, "rmatmat": self.products}
        return LinearOperator(self.X.shape, self.combine, self.products, dtype=np.float64, **many)

    def dense(self) -> Array:
        out = self.X.toarray()
        out -= self._constant(self.means)
        if self.adjustment.covariates is not None:
            out -= self.adjustment.covariates @ self.explained.T
        return out

    def join(self, other: Self) -> "SparseBlock":
        X = sp.hstack([self.X, other.X], format="csc")
        explained = np.concatenate([self.explained, other.explained])
        return SparseBlock(X, joined([self.facts, other.facts]), self.adjustment, explained)

    def only(self, which: Array) -> "SparseBlock":
        known = self.explained[which]
        return SparseBlock(self.X[:, which], self.facts.only(which), self.adjustment, known)
