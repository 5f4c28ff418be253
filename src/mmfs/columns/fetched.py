"""A few columns in memory, standardised: enough to be worked on at leisure."""

from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from mmfs._compiled import dense, scans
from mmfs.columns.standardise import Adjustment, Facts, joined
from mmfs.sources import arrays_of, read_only

Array = np.ndarray

# Numbers of a tile of rows: the cache holds them.
GRAM_TILE = 1 << 18

# Where similarities may be computed in single precision, tile by tile, and added up in double: rows
# for each column, at least, since with fewer columns may depend on each other exactly; and numbers.
TALL, WORTH_SINGLE = 8, 1 << 20


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

    def gram(self, other: Self, precise: bool = True) -> Array:
        """F_self'F_other, the correlations between two sets of columns.

        If not `precise`, single precision may do where it is faster.
        """

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

    def __init__(self, X: Array, J: Array, facts: Facts, adjustment: Adjustment) -> None:
        self.X, self.J, self.facts, self.adjustment = X, J, facts, adjustment

    @property
    def n_rows(self) -> int:
        return self.X.shape[0]

    @property
    def stored(self) -> int:
        return self.X.shape[0] * len(self.J)

    @property
    def _by_rows(self) -> bool:
        """Whether X is as compiled loops read it."""
        X = self.X
        return X.flags.c_contiguous and X.dtype in (np.float32, np.float64) and X.dtype.isnative

    def _rows(self, rows: slice, kind: type = np.float64) -> Array:
        facts, adjustment, X = self.facts, self.adjustment, self.X
        if self._by_rows:
            start, stop, _ = rows.indices(self.n_rows)
            values = np.empty((stop - start, len(self.J)), dtype=kind)
            dense.pick(read_only(X), self.J, facts.center, facts.inverse, start, stop, values)
        else:
            values = X[rows, self.J].astype(kind, copy=False)  # ours: indexing copies
            values -= facts.center
            values *= facts.inverse
        if adjustment.root is not None:
            values *= adjustment.root[rows, None]
        if adjustment.covariates is not None:
            values -= adjustment.covariates[rows] @ (facts.explained * facts.inverse[:, None]).T
        return values

    def _row_tiles(self) -> Iterator[slice]:
        height = max(GRAM_TILE // max(1, len(self.J)), len(self.J), 1)  # not many sums of n x n
        return (slice(a, a + height) for a in range(0, self.X.shape[0], height))

    def gram(self, other: Self, precise: bool = True) -> Array:
        out, many = np.zeros((len(self.J), len(other.J))), self.n_rows >= TALL * len(self.J)
        near = not (self.facts.origin.any() or other.facts.origin.any())
        single = near and many and self.stored >= WORTH_SINGLE and not precise
        kind = np.float32 if single else np.float64
        for rows in self._row_tiles():
            here = self._rows(rows, kind)
            out += here.T @ (here if other is self else other._rows(rows, kind))
        return out

    def combine(self, weights: Array) -> Array:
        return np.concatenate([self._rows(rows) @ weights for rows in self._row_tiles()])

    def products(self, V: Array) -> Array:
        out = np.zeros((len(self.J), V.shape[1]))
        for rows in self._row_tiles():
            out += self._rows(rows).T @ V[rows]
        return out

    def dense(self) -> Array:
        return self._rows(slice(None))

    def operator(self) -> Array:
        return self.dense()

    def join(self, other: Self) -> "DenseBlock":
        X, J = self.X, np.concatenate([self.J, other.J])
        if other.X is not X:  # copies, of other columns each
            X, J = np.hstack([X[:, self.J], other.X[:, other.J]]), np.arange(len(J))
        facts = joined([self.facts, other.facts])
        return DenseBlock(X, J, facts, self.adjustment)

    def only(self, which: Array) -> "DenseBlock":
        facts = self.facts.only(which)
        return DenseBlock(self.X, self.J[which], facts, self.adjustment)


class SparseBlock:
    """Sparse columns, scaled, and what is to be taken out of them: f_j = x_j - b p_j - B e_j.

    b is the constant, W^1/2 1 scaled to unit norm, and B are the other covariates. Columns far from
    zero, which have all of their entries, are held about their means: what is taken out of products
    afterwards would cost them their digits.
    """

    def __init__(self, X: sp.csc_array, facts: Facts, adjustment: Adjustment) -> None:
        self.X, self.facts, self.adjustment = X, facts, adjustment
        self.means = (facts.center - facts.origin) * facts.inverse
        self.explained = facts.explained * facts.inverse[:, None]
        self.total = adjustment.total_weight(X.shape[0])

    @classmethod
    def of(cls, X: sp.csc_array, facts: Facts, adjustment: Adjustment) -> "SparseBlock":
        """From the columns as they are."""
        each = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        data = (X.data - facts.origin[each]) * facts.inverse[each]
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

    def gram(self, other: Self, precise: bool = True) -> Array:
        out, unit = np.empty((self.X.shape[1], other.X.shape[1])), np.sqrt(self.total)
        p, q = unit * self.means, unit * other.means
        if other is self:
            scans.sparse_self_gram(*self.arrays, self.n_rows, p, out)
        else:
            rows, others = arrays_of(self.X.tocsr()), arrays_of(other.X.tocsr())
            scans.sparse_gram(*rows, *others, p, q, out)
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
        return SparseBlock(X, joined([self.facts, other.facts]), self.adjustment)

    def only(self, which: Array) -> "SparseBlock":
        return SparseBlock(self.X[:, which], self.facts.only(which), self.adjustment)
