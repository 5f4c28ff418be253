"""Similarity between columns as a function of their correlation, and Q as an operator.

Q is never built whole: a solver asks for its entries among columns that were fetched, and scans
Q alpha block by block.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from mmfs.columns import Block, Columns, Facts
from mmfs.hsic import HSIC, RowComparison, as_hsic, unit_variance
from mmfs.order import in_order
from mmfs.sources import Each

Array = np.ndarray
Kernel = Callable[[Array], Array]
Reduce = Callable[..., Any]  # of Q alpha of a block, and what is known of it

# Kernels that are not linear need the correlations of all columns with every support feature: as
# many at a time as make this many numbers, in a row or a column of them; but not fewer than these.
SIMILARITIES_AT_ONCE, LEAST_AT_ONCE = 1 << 24, 16

# A correlation with the target below this is rounding error: it points nowhere.
NOWHERE = 1e-12


def poly2(rho: Array) -> Array:
    """Squared correlation."""
    return rho**2


@dataclass(frozen=True)
class RBF:
    """exp(-(1 - rho) / sigma^2): the Gaussian of the distance between unit-norm columns."""

    sigma: float = 1.0

    def __call__(self, rho: Array) -> Array:
        return np.exp((rho - 1.0) / self.sigma**2)


FUNCTIONS: dict[str, Kernel] = {"poly2": poly2, "rbf": RBF()}
KERNELS = ("aligned", "linear", *FUNCTIONS, "hsic")


@dataclass(frozen=True)
class FetchedColumns:
    """Columns J, brought here, with their relevances and directions U."""

    J: Array
    relevance: Array
    block: Block | None = None
    U: Array | None = None
    similar: Array | None = None  # Q among them, if it is known

    def join(self, other: Self) -> "FetchedColumns":
        J, r = np.append(self.J, other.J), np.append(self.relevance, other.relevance)
        if self.block is None or other.block is None:
            return FetchedColumns(J, r)
        both = self.U is not None and other.U is not None
        U = np.concatenate([self.U, other.U]) if both else None
        return FetchedColumns(J, r, self.block.join(other.block), U)

    def only(self, which: Array) -> "FetchedColumns":
        block = None if self.block is None else self.block.only(which)
        U = None if self.U is None else self.U[which]
        similar = None if self.similar is None else self.similar[which][:, which]
        return FetchedColumns(self.J[which], self.relevance[which], block, U, similar)


class Similarity(Protocol):
    """The matrix Q of the problem, and the relevances r of the columns."""

    largest: float  # no column's similarity with itself is larger
    mirrors: bool  # whether a column and its mirror image are the same
    width: int  # numbers per column that a scan holds for each alpha

    @property
    def n_columns(self) -> int:
        """N."""

    def fetch(self, J: Array) -> FetchedColumns:
        """Bring columns J here."""

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        """Q[a.J][:, b.J]."""

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        """reduce(Q alphas, facts) of every block of columns, where it is.

        The columns of `alphas` are zero outside a.J. As `Columns.scan`.
        """

    def ask(self, reduce: Reduce, each: Each = (), keep: bool = False) -> list[Any]:
        """reduce(facts) of every block, without a scan."""

    def most_relevant(self, n: int) -> tuple[Array, Array]:
        """The n columns with the largest relevance, in order, ties by number; and these."""


class OfColumns:
    """What similarities between columns of data have in common."""

    columns: Columns

    @property
    def n_columns(self) -> int:
        return self.columns.shape[1]

    def ask(self, reduce: Reduce, each: Each = (), keep: bool = False) -> list[Any]:
        return self.columns.ask(reduce, each, keep)

    def most_relevant(self, n: int) -> tuple[Array, Array]:
        return self.columns.most_relevant(n)

    def fetch(self, J: Array) -> FetchedColumns:
        block, facts = self.columns.fetch_known(J)
        return FetchedColumns(J, facts.relevance, block)


class Correlation(OfColumns):
    """Q_ij = rho_ij (linear), or rho_ij u_i'u_j (aligned).

    Aligned, two columns are redundant when they are correlated *and* tell the same about the
    target: their directions u are its unit correlations with the column. For one output u is a
    sign, and a column and its mirror image are as similar as a column and its copy (`mirrors`).
    A column that tells nothing of the target points nowhere, u = 0: either sign would make the
    problem another one for the same target with its sign changed. It is similar to others of its
    kind alone, by their correlation, as if these had an output of their own.
    """

    largest = 1.0

    def __init__(self, columns: Columns, n_outputs: int | None = None) -> None:
        """`n_outputs` of the target if aligned."""
        self.columns, self.aligned = columns, n_outputs is not None
        self.width, self.mirrors = n_outputs or 1, self.aligned

    def fetch(self, J: Array) -> FetchedColumns:
        block, facts = self.columns.fetch_known(J)
        U = directions(facts.products) if self.aligned else None
        return FetchedColumns(J, facts.relevance, block, U)

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        assert a.block is not None and b.block is not None
        rho = a.block.gram(b.block)
        if a.U is None or b.U is None:
            return rho
        if self.width > 1 or (nowhere(a.U).any() and nowhere(b.U).any()):
            return rho * (a.U @ b.U.T + np.outer(nowhere(a.U), nowhere(b.U)))
        rho *= a.U
        rho *= b.U.T
        return rho

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        assert a.block is not None
        if a.U is None:
            return self.columns.scan(a.block.combine(alphas), reduce, each, keep)
        U = with_own_output(a.U)
        weights = (alphas[:, :, None] * U[:, None, :]).reshape(len(alphas), -1)
        aligned = Aligned(reduce, U.shape[1])
        return self.columns.scan(a.block.combine(weights), aligned, each, keep)


@dataclass(frozen=True)
class Aligned:
    """From products with F u' of several outputs to those in the directions of a block."""

    reduce: Reduce
    n_outputs: int

    def __call__(self, products: Array, facts: Facts, *each: Any) -> Any:
        U = directions(facts.products)
        if self.n_outputs > U.shape[1]:
            U = np.column_stack([U, nowhere(U)])
        if self.n_outputs == 1:
            products *= U
        else:
            products = products.reshape(len(products), -1, self.n_outputs)
            products = np.einsum("jtc,jc->jt", products, U)
        return self.reduce(products, facts, *each)


def similarities(Q: Similarity, fetched: FetchedColumns) -> Array:
    """Q among fetched columns."""
    return Q.gram(fetched, fetched) if fetched.similar is None else fetched.similar


def explicit_features(Q: Similarity, fetched: FetchedColumns) -> Array | None:
    """phi with Q = phi'phi, one column per fetched column; None if Q itself is no larger."""
    if not isinstance(Q, Correlation) or fetched.block is None:
        return None
    if Q.columns.shape[0] * Q.width >= len(fetched.J):
        return None
    F = fetched.block.dense()
    if fetched.U is None:
        return F
    return np.einsum("ij,jc->cij", F, with_own_output(fetched.U)).reshape(-1, F.shape[1])


def directions(products: Array) -> Array:
    """Unit vectors along the rows of F'Y, where among the outputs each column points; or zero."""
    if products.shape[1] == 1:
        return np.where(np.abs(products) > NOWHERE, np.sign(products), 0.0)
    norms = np.linalg.norm(products, axis=1)
    known = norms > NOWHERE
    U = products / np.where(known, norms, 1.0)[:, None]
    U[~known] = 0.0
    return U


def nowhere(U: Array) -> Array:
    """Which columns point nowhere."""
    return np.logical_not(U.any(axis=1))


def with_own_output(U: Array) -> Array:
    """Directions in which columns that point nowhere, if there are any, have an output."""
    alone = nowhere(U)
    return np.column_stack([U, alone]) if alone.any() else U


class OfCorrelation(OfColumns):
    """Q_ij = kernel(rho_ij), entry by entry; `mirrors` if the kernel ignores the sign of rho."""

    width = 1

    def __init__(self, columns: Columns, kernel: Kernel) -> None:
        self.columns, self.kernel = columns, kernel
        rho = np.linspace(0, 1, 5)
        same, mirrored = applied(kernel, rho.copy()), applied(kernel, -rho)
        if same.shape != rho.shape or not np.isfinite([same, mirrored]).all() or same[-1] <= 0:
            raise ValueError(
                "kernel must turn an array of correlations into an array of finite similarities "
                f"of the same shape, positive for a correlation of 1; for {rho} it gave {same}."
            )
        self.mirrors = bool(np.allclose(same, mirrored))
        self.largest = float(same[-1])

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        assert a.block is not None and b.block is not None
        return applied(self.kernel, a.block.gram(b.block))

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        """A few support features at a time, what they add up to being kept with the blocks."""
        assert a.block is not None
        at_once, total = max(LEAST_AT_ONCE, SIMILARITIES_AT_ONCE // max(self.columns.shape)), None
        for start in range(0, len(alphas), at_once):
            some = np.arange(start, min(start + at_once, len(alphas)))
            V = a.block.only(some).dense()
            known = () if total is None else (total,)
            total = self.columns.scan(V, Weighed(self.kernel, alphas[some]), known, keep=True)
        assert total is not None
        return self.columns.ask(OnProduct(reduce), (total, *each), keep)


def applied(kernel: Kernel, rho: Array) -> Array:
    return np.asarray(kernel(np.clip(rho, -1.0, 1.0, out=rho)), dtype=np.float64)


@dataclass(frozen=True)
class Weighed:
    """Similarities with some features, weighed and added to those with others."""

    kernel: Kernel
    alphas: Array

    def __call__(self, rho: Array, facts: Facts, total: Array | float = 0.0) -> Array:
        return total + applied(self.kernel, rho) @ self.alphas


@dataclass(frozen=True)
class OnProduct:
    """Of Q alpha that is known of a block."""

    reduce: Reduce

    def __call__(self, facts: Any, values: Array, *each: Any) -> Any:
        return self.reduce(values, facts, *each)


class Dependence(OfColumns):
    """Q_ij = the dependence between two columns by HSIC, of whatever shape: from 0 to 1."""

    largest, mirrors = 1.0 + 1e-12, True

    def __init__(self, columns: Columns, how: HSIC) -> None:
        self.columns, self.comparison = columns, RowComparison(columns, how)
        self.width = 1 + self.comparison.n_features // columns.shape[1]

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        """A few columns of a at a time, since all of their rows are needed."""
        right, at_once = self._values(b), self.comparison.at_once
        if len(a.J) <= at_once:
            return self.comparison.gram(right if a is b else self._values(a), right)
        out = np.empty((len(a.J), len(b.J)))
        for start in range(0, len(a.J), at_once):
            part = np.zeros(len(a.J), dtype=bool)
            part[start : start + at_once] = True
            out[part] = self.comparison.gram(self._values(a.only(part)), right)
        return out

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        values = self.comparison.project(self.comparison.combine(self._values(a), alphas))
        return self.columns.ask(OnProduct(reduce), (self.columns.split(values), *each), keep)

    def _values(self, a: FetchedColumns) -> Array:
        assert a.block is not None
        return unit_variance(a.block.dense())


class Given(NamedTuple):
    """What is known of features that are not columns of data: all of them, in one block."""

    relevance: Array
    start: int = 0


class GivenSimilarity(ABC):
    """What similarities that are held here have in common."""

    width, mirrors = 1, False

    def __init__(self, relevance: Array) -> None:
        self.known = [Given(relevance)]

    @property
    def n_columns(self) -> int:
        return len(self.known[0].relevance)

    def ask(self, reduce: Reduce, each: Each = (), keep: bool = False) -> list[Any]:
        return [reduce(*some) for some in zip(self.known, *each, strict=True)]

    def most_relevant(self, n: int) -> tuple[Array, Array]:
        relevance = self.known[0].relevance
        J = in_order(-relevance, n)
        return J, relevance[J]

    def fetch(self, J: Array) -> FetchedColumns:
        return FetchedColumns(J, self.known[0].relevance[J])

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        return self.ask(OnProduct(reduce), ([self.product(a.J, alphas)], *each), keep)

    @abstractmethod
    def product(self, J: Array, alphas: Array) -> Array:
        """Q[:, J] alphas."""


class Precomputed(GivenSimilarity):
    """Q given by the user, N x N."""

    def __init__(self, Q: Array, relevance: Array) -> None:
        super().__init__(relevance)
        self.Q, self.largest = Q, float(np.diagonal(Q).max())

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        return np.asarray(self.Q[np.ix_(a.J, b.J)], dtype=np.float64)

    def product(self, J: Array, alphas: Array) -> Array:
        return np.asarray(self.Q[:, J] @ alphas, dtype=np.float64)


class FeatureMap(GivenSimilarity):
    """Q = L L', from an explicit L with a row for every feature."""

    def __init__(self, L: Array, relevance: Array) -> None:
        super().__init__(relevance)
        self.L, self.largest = L, float(np.einsum("jk,jk->j", L, L).max())

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        return self.L[a.J] @ self.L[b.J].T

    def product(self, J: Array, alphas: Array) -> Array:
        return self.L @ (self.L[J].T @ alphas)


def similarity_of(kernel: Any, columns: Columns, n_outputs: int) -> Similarity:
    """Q for a kernel given by name or as a function; the aligned one is for so many outputs."""
    if how := as_hsic(kernel):
        return Dependence(columns, how)
    if not isinstance(kernel, str):
        return OfCorrelation(columns, kernel)
    if kernel in FUNCTIONS:
        return OfCorrelation(columns, FUNCTIONS[kernel])
    return Correlation(columns, n_outputs if kernel == "aligned" else None)
