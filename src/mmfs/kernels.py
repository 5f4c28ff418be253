"""Similarity between columns as a function of their correlation, and Q as an operator.

Q is never built whole: a solver asks for its entries among columns it has taken, and for Q alpha.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from mmfs.columns import Block, Columns
from mmfs.hsic import RowComparison, as_hsic, hsic, unit_variance

Array = np.ndarray
Kernel = Callable[[Array], Array]

# Kernels that are not linear need the correlations of all columns with every support feature;
# they are computed for this many support features at a time.
CHUNK = 16


# A correlation with the target below this is rounding error: it points nowhere.
ROUNDING = 1e-12


def poly2(rho: Array) -> Array:
    """Squared correlation."""
    return rho**2


@dataclass(frozen=True)
class rbf:
    """exp(-(1 - rho) / sigma^2): the Gaussian of the distance between unit-norm columns."""

    sigma: float = 1.0

    def __call__(self, rho: Array) -> Array:
        return np.exp((rho - 1.0) / self.sigma**2)


FUNCTIONS: dict[str, Kernel] = {"poly2": poly2, "rbf": rbf()}
KERNELS = ("aligned", "linear", *FUNCTIONS, "hsic")


@dataclass(frozen=True)
class Taken:
    """Columns J, brought here, with their directions U."""

    J: Array
    block: Block | None = None
    U: Array | None = None

    def join(self, other: Self) -> "Taken":
        J = np.concatenate([self.J, other.J])
        if self.block is None or other.block is None:
            return Taken(J)
        both = self.U is not None and other.U is not None
        U = np.concatenate([self.U, other.U]) if both else None
        return Taken(J, self.block.join(other.block), U)

    def only(self, mask: Array) -> "Taken":
        if self.block is None:
            return Taken(self.J[mask])
        return Taken(self.J[mask], self.block.only(mask), None if self.U is None else self.U[mask])


class Similarity(Protocol):
    """The matrix Q of the problem."""

    largest: float  # no column's similarity with itself is larger
    mirrors: bool  # whether a column and its mirror image are the same
    width: int  # numbers per column that `product` holds for each alpha

    def take(self, J: Array) -> Taken:
        """Bring columns J here."""

    def gram(self, a: Taken, b: Taken) -> Array:
        """Q[a.J][:, b.J]."""

    def product(self, a: Taken, alphas: Array) -> Array:
        """Q alpha for several alpha that are zero outside a.J, the columns of `alphas`: N x n."""


class Correlation:
    """Q_ij = rho_ij (linear), or rho_ij u_i'u_j (aligned), where u_j are the rows of U.

    Aligned, two columns are redundant when they are correlated *and* tell the same about the
    target: their directions u are its unit correlations with the column. For one output u is a
    sign, and a column and its mirror image are as similar as a column and its copy (`mirrors`).
    A column that tells nothing of the target points nowhere, u = 0: either sign would make the
    problem another one for the same target with its sign changed. It is similar to others of its
    kind alone, by their correlation, as if these had an output of their own.
    """

    largest = 1.0

    def __init__(self, columns: Columns, U: Array | None = None) -> None:
        self.columns, self.U = columns, U
        self.width = 1 if U is None else U.shape[1]
        self.mirrors = U is not None

    def take(self, J: Array) -> Taken:
        return Taken(J, self.columns.fetch(J), None if self.U is None else self.U[J])

    def gram(self, a: Taken, b: Taken) -> Array:
        assert a.block is not None and b.block is not None
        rho = a.block.gram(b.block)
        if a.U is None or b.U is None:
            return rho
        if self.width > 1 or (nowhere(a.U).any() and nowhere(b.U).any()):
            return rho * (a.U @ b.U.T + np.outer(nowhere(a.U), nowhere(b.U)))
        rho *= a.U
        rho *= b.U.T
        return rho

    def product(self, a: Taken, alphas: Array) -> Array:
        assert a.block is not None
        if self.U is None or a.U is None:
            return self.columns.project(a.block.combine(alphas))
        if self.width == 1:
            out = self.columns.project(a.block.combine(alphas * a.U))
            out *= self.U
        else:
            weights = (alphas[:, :, None] * a.U[:, None, :]).reshape(len(alphas), -1)
            projected = self.columns.project(a.block.combine(weights))
            projected = projected.reshape(len(projected), -1, a.U.shape[1])
            out = np.einsum("jtc,jc->tj", projected, self.U).T  # each alpha's vector in one piece
        alone = nowhere(a.U)
        if alone.any():
            here = nowhere(self.U)
            out[here] += self.columns.project(a.block.only(alone).combine(alphas[alone]))[here]
        return out


def explicit_features(Q: Similarity, taken: Taken) -> Array | None:
    """phi with Q = phi'phi, one column per taken column; None if Q itself is no larger."""
    if not isinstance(Q, Correlation) or taken.block is None:
        return None
    outputs = 1 if taken.U is None else taken.U.shape[1]
    if Q.columns.shape[0] * outputs >= len(taken.J):
        return None
    F = taken.block.dense()
    if taken.U is None:
        return F
    return np.einsum("ij,jc->cij", F, with_own_output(taken.U)).reshape(-1, F.shape[1])


def directions(products: Array) -> Array:
    """Unit vectors along the rows of F'Y, where among the outputs each column points; or zero."""
    if products.shape[1] == 1:
        return np.where(np.abs(products) > ROUNDING, np.sign(products), 0.0)
    norms = np.linalg.norm(products, axis=1)
    known = norms > ROUNDING
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


class OfCorrelation:
    """Q_ij = kernel(rho_ij), entry by entry; `mirrors` if the kernel ignores the sign of rho."""

    width = 1

    def __init__(self, columns: Columns, kernel: Kernel) -> None:
        self.columns, self.kernel = columns, kernel
        rho = np.linspace(0, 1, 5)
        same, mirrored = self._of(rho.copy()), self._of(-rho)
        if same.shape != rho.shape or not np.isfinite([same, mirrored]).all() or same[-1] <= 0:
            raise ValueError(
                "kernel must turn an array of correlations into an array of finite similarities "
                f"of the same shape, positive for a correlation of 1; for {rho} it gave {same}."
            )
        self.mirrors = bool(np.allclose(same, mirrored))
        self.largest = float(same[-1])

    def take(self, J: Array) -> Taken:
        return Taken(J, self.columns.fetch(J))

    def gram(self, a: Taken, b: Taken) -> Array:
        assert a.block is not None and b.block is not None
        return self._of(a.block.gram(b.block))

    def product(self, a: Taken, alphas: Array) -> Array:
        assert a.block is not None
        out = np.zeros((self.columns.shape[1], alphas.shape[1]))
        for start in range(0, len(alphas), CHUNK):
            chunk = np.zeros(len(alphas), dtype=bool)
            chunk[start : start + CHUNK] = True
            rho = self.columns.project(a.block.only(chunk).dense())
            out += self._of(rho) @ alphas[chunk]
        return out

    def _of(self, rho: Array) -> Array:
        return np.asarray(self.kernel(np.clip(rho, -1.0, 1.0, out=rho)), dtype=np.float64)


class Dependence:
    """Q_ij = the dependence between two columns by HSIC, of whatever shape: from 0 to 1."""

    largest, mirrors = 1.0 + 1e-12, True

    def __init__(self, columns: Columns, how: hsic) -> None:
        self.comparison = RowComparison(columns, how)
        self.width = 1 + self.comparison.n_features // columns.shape[1]

    def take(self, J: Array) -> Taken:
        return Taken(J, self.comparison.take(J))

    def gram(self, a: Taken, b: Taken) -> Array:
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

    def product(self, a: Taken, alphas: Array) -> Array:
        return self.comparison.project(self.comparison.combine(self._values(a), alphas))

    def _values(self, a: Taken) -> Array:
        assert a.block is not None
        return unit_variance(a.block.dense())


class Precomputed:
    """Q given by the user, N x N."""

    width = 1

    def __init__(self, Q: Array) -> None:
        self.Q, self.mirrors = Q, False
        self.largest = float(np.diagonal(Q).max())

    def take(self, J: Array) -> Taken:
        return Taken(J)

    def gram(self, a: Taken, b: Taken) -> Array:
        return np.asarray(self.Q[np.ix_(a.J, b.J)], dtype=np.float64)

    def product(self, a: Taken, alphas: Array) -> Array:
        return np.asarray(self.Q[:, a.J] @ alphas, dtype=np.float64)


class FeatureMap:
    """Q = L L', from an explicit L with a row for every column of the data."""

    width = 1

    def __init__(self, L: Array) -> None:
        self.L, self.mirrors = L, False
        self.largest = float(np.einsum("jk,jk->j", L, L).max())

    def take(self, J: Array) -> Taken:
        return Taken(J)

    def gram(self, a: Taken, b: Taken) -> Array:
        return self.L[a.J] @ self.L[b.J].T

    def product(self, a: Taken, alphas: Array) -> Array:
        return self.L @ (self.L[a.J].T @ alphas)


def similarity_of(kernel: Any, columns: Columns, products: Array) -> Similarity:
    """Q for a kernel given by name or as a function; `products` = F'Y orients the aligned one."""
    if how := as_hsic(kernel):
        return Dependence(columns, how)
    if not isinstance(kernel, str):
        return OfCorrelation(columns, kernel)
    if kernel in FUNCTIONS:
        return OfCorrelation(columns, FUNCTIONS[kernel])
    return Correlation(columns, directions(products) if kernel == "aligned" else None)
