"""What every solver returns."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmfs.kernels import FetchedColumns
from mmfs.problem import Certificate
from mmfs.solvers import tuning

Array = np.ndarray


@dataclass(frozen=True)
class Solution:
    """Distinct columns that were fetched, their alpha, and the certificate."""

    fetched: FetchedColumns
    alpha: Array  # zero outside the support
    gamma: float | None  # None: the constrained form
    certificate: Certificate
    n_iter: int
    copies: Array  # columns found to be the same as one of those fetched

    @cached_property
    def places(self) -> Array:
        """Of the support among the fetched columns."""
        return np.flatnonzero(self.alpha > 0)

    @cached_property
    def support(self) -> FetchedColumns:
        return self.fetched.only(self.places)

    @property
    def J(self) -> Array:
        """The support."""
        return self.fetched.J[self.places]

    @property
    def weights(self) -> Array:
        """Of the support."""
        return self.alpha[self.places]

    def by_weight(self) -> Array:
        """The support by alpha descending, then gradient ascending, then index."""
        gradient = self.certificate.gradient[self.places]
        return by_weight(self.J, self.weights, gradient, self.support.worth)


def by_weight(J: Array, alpha: Array, gradient: Array, worth: Array | None = None) -> Array:
    """J by alpha descending, then gradient ascending, then index; rounding errors are ties.

    By alpha times what a weight is `worth`, where that differs.
    """
    alpha = alpha if worth is None else alpha * worth
    largest = alpha.max(initial=np.finfo(float).tiny)
    weights = np.round(alpha / largest, tuning.WEIGHT_DIGITS)
    return J[np.lexsort((J, np.round(gradient, tuning.WEIGHT_DIGITS), -weights))]
