"""Features of several columns: what a group of columns tells of the target stands for all of it.

P_g projects on the standardised columns F_g of a group, R_g = F_g'F_g is of rank k_g, and Y is the
orthonormal target. Then, of unit norm,

    phi_g = P_g Y / r_g = F_g C_g,    C_g = R_g^+ F_g'Y / r_g,    r_g = |P_g Y|_F
    Q_gh = <phi_g, phi_h>_F

For groups of one column that is the aligned kernel. A scan multiplies all columns as ever, and sums
up within groups. The more columns a group has, the more of any target it explains by chance, k_g /
(M - 1) of each output. So the relevance is that of one column which tells as much beyond chance:

    r^2 = q - (q - r_g^2) (M - 2) / (M - 1 - k_g),    and r_g for one column
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mmfs.columns import Adjustment, Columns, products_alone
from mmfs.columns.standardise import RELEVANCE_DIGITS
from mmfs.kernels.base import FetchedColumns, Reduce
from mmfs.kernels.copies import fingerprint_vectors
from mmfs.kernels.directions import directions
from mmfs.kernels.given import GivenSimilarity
from mmfs.sources import Each

Array = np.ndarray

# Eigenvalues of R_g below this, beside the largest, are those of columns that depend on others.
GROUP_RANK = 1e-10

# Columns of a group, at most: their similarities are factored.
LARGEST_GROUP = 3_000


class Grouped(GivenSimilarity):
    """The aligned kernel between groups of columns; `members` are the columns of each."""

    largest = 1.0 + 1e-12

    def __init__(self, columns: Columns, owner: Array, members: list[Array], n_rows: float) -> None:
        """`owner` tells of every column its group, of `n_rows` that tell as much as all rows."""
        facts, self.columns = columns.everything, columns
        self.owner, self.members, self.width = owner, members, columns.Y.shape[1]
        self.C, n = directions(facts.products), len(members)
        self.squares, self.ranks = np.zeros(n), np.ones(n)
        alone = np.flatnonzero(np.bincount(owner, minlength=n) == 1)
        first = np.array([J[0] for J in members])
        self.squares[alone] = np.maximum(facts.relevance[first[alone]], 0.0) ** 2
        usable = facts.inverse > 0
        for g in np.setdiff1d(np.arange(n), alone):
            J = members[g][usable[members[g]]]
            self.C[members[g]] = 0.0
            if len(J):
                self.C[J], self.squares[g], self.ranks[g] = self._explained(J, facts.products[J])
        q, left = self.width, n_rows - 1 - self.ranks
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = q - (q - self.squares) * (n_rows - 2) / left
        one = self.ranks <= 1
        squares = np.where(one, self.squares, np.where(left > 0, np.maximum(beyond, 0.0), 0.0))
        relevance = np.round(np.sqrt(squares), RELEVANCE_DIGITS)
        self.usable = np.array([usable[J].any() for J in members])
        super().__init__(np.where(self.usable, relevance, -np.inf))

    def _explained(self, J: Array, products: Array) -> tuple[Array, float, int]:
        """Of a group of columns that vary C_g, r_g^2 and k_g."""
        if len(J) > LARGEST_GROUP:
            raise ValueError(
                f"a feature of {len(J):,} columns is too large (the limit is {LARGEST_GROUP:,}); "
                "take fewer columns, or categories, together."
            )
        block = self.columns.fetch(J)
        sizes, vectors = np.linalg.eigh(block.gram(block))
        kept = sizes > GROUP_RANK * sizes[-1]
        V, sizes = vectors[:, kept], sizes[kept]
        along = V.T @ products
        square = float(((along**2) / sizes[:, None]).sum())
        C = V @ (along / sizes[:, None]) / np.sqrt(max(square, np.finfo(float).tiny))
        return C, square, len(sizes)

    @property
    def rank(self) -> int:
        return min(self.n_columns, self.columns.shape[0] * self.width)

    def fetch(self, J: Array) -> FetchedColumns:
        Phi = np.zeros((self.columns.shape[0], self.width, len(J)))
        alone = np.array([len(self.members[g]) == 1 for g in J.tolist()], dtype=bool)
        own = np.array([self.members[g][0] for g in J[alone].tolist()], dtype=np.intp)
        if len(own):
            Phi[:, :, alone] = np.einsum("ij,jc->icj", self.columns.fetch(own).dense(), self.C[own])
        for place in np.flatnonzero(~alone).tolist():
            columns = self.members[J[place]]
            Phi[:, :, place] = self.columns.fetch(columns).combine(self.C[columns])
        block = Held(Phi.reshape(len(Phi) * self.width, len(J)))
        return FetchedColumns(J, self.known[0].relevance[J], block)  # type: ignore[arg-type]

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        assert isinstance(a.block, Held) and isinstance(b.block, Held)
        return a.block.Phi.T @ b.block.Phi

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        assert isinstance(a.block, Held)
        return self.ask(reduce, ([self._products(a.block.Phi @ alphas)], *each), keep)

    def fingerprints(self, keep: bool = False) -> list[Any]:
        return [self._products(fingerprint_vectors(self.columns.shape[0] * self.width))]

    def product(self, J: Array, alphas: Array) -> Array:
        block = self.fetch(J).block
        assert isinstance(block, Held)
        return self._products(block.Phi @ alphas)

    def _products(self, W: Array) -> Array:
        """<phi_g, W_t>_F of every group, for W with a column of M q numbers for each t."""
        n_rows, q, n = self.columns.shape[0], self.width, W.shape[1]
        V = W.reshape(n_rows, q, n).transpose(0, 2, 1).reshape(n_rows, n * q)
        products = np.concatenate(self.columns.scan(V, products_alone)).reshape(-1, n, q)
        values = np.einsum("jtc,jc->jt", products, self.C)
        return np.column_stack(
            [np.bincount(self.owner, some, minlength=self.n_columns) for some in values.T]
        )


@dataclass(frozen=True)
class Held:
    """Features phi as they are, a column of M q numbers each."""

    Phi: Array
    adjustment = Adjustment(centered=False)
    single = False

    @property
    def n_rows(self) -> int:
        return self.Phi.shape[0]

    def products(self, V: Array) -> Array:
        return self.Phi.T @ V

    def join(self, other: Self) -> "Held":
        return Held(np.hstack([self.Phi, other.Phi]))

    def only(self, which: Array) -> "Held":
        return Held(self.Phi[:, which])
