"""What a column means to the method: the one place where columns are centred and scaled.

With row weights w_i, W = diag(w), and covariates Z (the constant among them, if columns are
centred), let B be an orthonormal basis of W^1/2 Z. Column x_j of the data becomes

    f_j = (I - BB') W^1/2 x_j / s_j,    s_j^2 = sum_i w_i x_ij^2 - |B'W^1/2 x_j|^2

of unit norm. It is never stored: F'V = X'W^1/2 V / s for every V with B'V = 0, so that weights and
covariates change the vectors of a scan and the scale, not the data. Centring is Z = 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mmfs._compiled.vectors import fill_holes, standardise
from mmfs.sources import Sums

Array = np.ndarray

# Sums of squares below this have lost precision.
SMALLEST = 1e-280

# What is left of a column, squared, is rounding error beside its mean, or beside what covariates
# explain of it, if it is not more than this: the column is constant.
OF_MEAN, OF_COVARIATES = 1e-24, 1e-12

# Cancellation: from this mean on, in norms of what varies around it by the root of the rows,
# products are taken about the mean, and would lose their digits otherwise. (`Adjustment.far`)
OFFSET = 1e3

# Digits of a correlation that are not rounding error.
RELEVANCE_DIGITS = 12

# Covariates with a smaller singular value, beside the largest, depend on the others.
COVARIATE_RANK = 1e-8


@dataclass(frozen=True)
class Adjustment:
    """What is done to all columns alike: rows are weighted, covariates and the mean taken out."""

    centered: bool = True
    root: Array | None = None  # W^1/2; None: all rows weigh 1
    covariates: Array | None = None  # B without its first column, W^1/2 1 scaled to unit norm

    @classmethod
    def of(cls, n_rows: int, weights: Any = None, covariates: Any = None) -> "Adjustment":
        """For centred columns, with weights >= 0 of the rows and covariates, a column each."""
        root = None if weights is None else np.sqrt(np.asarray(weights, dtype=np.float64))
        plain = cls(root=root)
        if covariates is None:
            return plain
        Z = np.asarray(covariates, dtype=np.float64).reshape(n_rows, -1)
        Z = plain.vectors(Z - (Z.mean(axis=0) if root is None else np.average(Z, 0, root**2)))
        before, Z = np.linalg.norm(Z, axis=0), plain.residual(Z)
        norms = np.linalg.norm(Z, axis=0)
        varies = norms > COVARIATE_RANK * before
        U, s, _ = np.linalg.svd(Z[:, varies] / norms[varies], full_matrices=False)
        return cls(root=root, covariates=U[:, s > COVARIATE_RANK * s.max(initial=0.0)])

    @property
    def plain(self) -> bool:
        """Whether all rows weigh 1 and nothing but the mean is taken out."""
        return self.root is None and self.covariates is None

    def refuse(self, what: str) -> None:
        """For what knows only centred and scaled columns."""
        if not self.plain:
            raise ValueError(
                f"{what} takes neither weights nor covariates, nor features that must be in."
            )

    @property
    def n_covariates(self) -> int:
        return 0 if self.covariates is None else self.covariates.shape[1]

    def total_weight(self, n_rows: int) -> float:
        return float(n_rows) if self.root is None else float(self.root @ self.root)

    def far(self, n_rows: int) -> float:
        """The mean, in norms of what varies around it, beyond which a column is far from zero.

        A column without an entry in a row of weight w is never that far: zero is as far from its
        mean as that is from zero, so that it varies by sqrt(w) |mean| at least.
        """
        lightest = 1.0 if self.root is None else float(self.root[self.root > 0].min(initial=1.0))
        return max(1 / lightest, OFFSET / np.sqrt(n_rows))

    def vectors(self, V: Array) -> Array:
        """W^1/2 V: what raw columns are multiplied with."""
        return V if self.root is None else V * self.root[:, None]

    def residual(self, V: Array) -> Array:
        """(I - BB') V, twice: the first time leaves rounding errors of what was large."""
        for _ in range(2):
            if self.centered and self.root is None:
                V = V - V.mean(axis=0)
            elif self.centered and self.root is not None:
                V = V - np.outer(self.root, self.root @ V / (self.root @ self.root))
            if self.covariates is not None:
                V = V - self.covariates @ (self.covariates.T @ V)
        return V

    def first_vectors(self, Y: Array) -> Array:
        """What the first scan multiplies raw columns with: weights, covariates, and W^1/2 Y."""
        weights = np.ones(len(Y)) if self.root is None else self.root**2
        parts = [Y] if self.covariates is None else [self.covariates, Y]
        return np.column_stack([weights, *map(self.vectors, parts)])


class Facts(NamedTuple):
    """What is known of a block of columns, and kept where the block is."""

    start: int  # its first column
    center: Array  # weighted mean; 0 if not centred
    inverse: Array  # 1 / s_j; 0 for a constant column, NaN for one not finite
    origin: Array  # what products are taken about: the mean where it is far from zero, else 0
    explained: Array  # |B'W^1/2 x_j|^2, for covariates other than the constant; empty without any
    products: Array  # F'Y
    relevance: Array  # correlation (ratio) with the target, or another; -inf for a constant column
    missing: Array | None = None  # how many values are; None where none is in the whole block

    def only(self, which: Array) -> "Facts":
        missing = None if self.missing is None else self.missing[which]
        known = (values[which] if len(values) else values for values in self[1:-1])
        return Facts._make((self.start, *known, missing))


def joined(parts: Sequence[Facts]) -> Facts:
    """Of columns that follow each other."""
    if len(parts) == 1:
        return parts[0]
    _, *each, missing = zip(*parts, strict=True)
    holes = None
    if any(some is not None for some in missing):
        holes = np.concatenate([
            np.zeros(len(part.center), dtype=np.int64) if part.missing is None else part.missing
            for part in parts
        ])  # fmt: skip
    return Facts._make((parts[0].start, *map(np.concatenate, each), holes))


def facts_from(centered: bool, n_covariates: int, far: float, sums: Sums, start: int) -> Facts:
    """From sums of a block of columns to its facts."""
    missing = None
    if sums.holes is not None and sums.holes.any():
        missing = np.empty(len(sums.origin), dtype=np.int64)
        fill_holes(sums.sums, sums.holes, float(sums.totals[0]), missing)
    n, q = len(sums.origin), sums.sums.shape[1] - 2 - n_covariates
    center, inverse, relevance = np.empty(n), np.empty(n), np.empty(n)
    origin, products = np.zeros(n), np.empty((n, q))
    explained = np.empty(n if n_covariates else 0)
    limits = (far, OF_MEAN, OF_COVARIATES, SMALLEST, 10.0**RELEVANCE_DIGITS)
    standardise(
        sums.origin, sums.sums, float(sums.totals[0]), centered, n_covariates, limits,
        center, inverse, origin, explained, products, relevance,
    )  # fmt: skip
    if missing is not None and not centered:  # there is no mean to be zero
        inverse[missing > 0] = np.nan
    return Facts(start, center, inverse, origin, explained, products, relevance, missing)


def correlation(products: Array) -> Array:
    """|correlation| for one output; for several, and for classes, the correlation ratio.

    `products` = F'Y. For two classes the correlation ratio is |correlation|.
    """
    one = products.shape[1] == 1
    r = np.abs(products[:, 0]) if one else np.sqrt(np.einsum("jc,jc->j", products, products))
    np.minimum(r, 1.0, out=r)
    return np.round(r, RELEVANCE_DIGITS, out=r)  # copies are equally relevant
