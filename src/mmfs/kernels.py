"""Similarity between columns as a function of their correlation, and Q as an operator.

Q is never built whole: a solver asks for its entries among the columns it has taken, and for Q alpha.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from mmfs.columns import Block, Columns

Array = np.ndarray
Kernel = Callable[[Array], Array]

# Kernels that are not linear need the correlations of all columns with every support feature;
# they are computed for this many support features at a time.
CHUNK = 16


def poly2(rho: Array) -> Array:
    """Squared correlation."""
    return rho**2


@dataclass(frozen=True)
class rbf:  # noqa: N801 - used like a function: kernel=rbf(0.5)
    """exp(-(1 - rho) / sigma^2): the Gaussian of the distance between unit-norm columns."""

    sigma: float = 1.0

    def __call__(self, rho: Array) -> Array:
        return np.exp((rho - 1.0) / self.sigma**2)


# Linear in the correlation, so Q alpha takes one pass: None. Functions of it: as given.
KERNELS: dict[str, Kernel | None] = {
    "aligned": None,
    "linear": None,
    "poly2": poly2,
    "rbf": rbf(),
}


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
        U = None if self.U is None else np.concatenate([self.U, other.U])  # type: ignore[list-item]
        return Taken(J, self.block.join(other.block), U)

    def only(self, mask: Array) -> "Taken":
        if self.block is None:
            return Taken(self.J[mask])
        return Taken(self.J[mask], self.block.only(mask), None if self.U is None else self.U[mask])


class Similarity(Protocol):
    """The matrix Q of the problem."""

    diagonal: float | Array

    def take(self, J: Array) -> Taken:
        """Bring columns J here."""

    def gram(self, a: Taken, b: Taken) -> Array:
        """Q[a.J][:, b.J]."""

    def product(self, a: Taken, alpha: Array) -> Array:
        """Q alpha for an alpha that is zero outside a.J: a vector over all N columns."""


class Correlation:
    """Q_ij = rho_ij (linear), or rho_ij u_i'u_j (aligned), where u_j are the rows of U.

    Aligned, two columns are redundant when they are correlated *and* tell the same about the
    target: their directions u are its unit correlations with the column. For one output u is a
    sign, and a column and its mirror image are as similar as a column and its copy.
    """

    diagonal = 1.0

    def __init__(self, columns: Columns, U: Array | None = None) -> None:
        self.columns, self.U = columns, U

    def take(self, J: Array) -> Taken:
        return Taken(J, self.columns.take(J), None if self.U is None else self.U[J])

    def gram(self, a: Taken, b: Taken) -> Array:
        assert a.block is not None and b.block is not None
        rho = a.block.gram(b.block)
        return rho if a.U is None or b.U is None else rho * (a.U @ b.U.T)

    def product(self, a: Taken, alpha: Array) -> Array:
        assert a.block is not None
        weights = alpha[:, None] if a.U is None else alpha[:, None] * a.U
        projected = self.columns.project(a.block.combine(weights))
        if self.U is None:
            return projected[:, 0]
        return np.einsum("jc,jc->j", projected, self.U)


class OfCorrelation:
    """Q_ij = kernel(rho_ij), entry by entry."""

    def __init__(self, columns: Columns, kernel: Kernel) -> None:
        self.columns, self.kernel = columns, kernel
        self.diagonal = float(np.asarray(kernel(np.ones(1)))[0])

    def take(self, J: Array) -> Taken:
        return Taken(J, self.columns.take(J))

    def gram(self, a: Taken, b: Taken) -> Array:
        assert a.block is not None and b.block is not None
        return self._of(a.block.gram(b.block))

    def product(self, a: Taken, alpha: Array) -> Array:
        assert a.block is not None
        out = np.zeros(self.columns.shape[1])
        for start in range(0, len(alpha), CHUNK):
            chunk = np.zeros(len(alpha), dtype=bool)
            chunk[start : start + CHUNK] = True
            rho = self.columns.project(a.block.only(chunk).dense())
            out += self._of(rho) @ alpha[chunk]
        return out

    def _of(self, rho: Array) -> Array:
        return np.asarray(self.kernel(np.clip(rho, -1.0, 1.0, out=rho)), dtype=np.float64)


class Precomputed:
    """Q given by the user, N x N."""

    def __init__(self, Q: Array) -> None:
        self.Q = Q
        self.diagonal = np.diagonal(Q)

    def take(self, J: Array) -> Taken:
        return Taken(J)

    def gram(self, a: Taken, b: Taken) -> Array:
        return np.asarray(self.Q[np.ix_(a.J, b.J)], dtype=np.float64)

    def product(self, a: Taken, alpha: Array) -> Array:
        return np.asarray(self.Q[:, a.J] @ alpha, dtype=np.float64)
