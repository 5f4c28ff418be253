"""What every solver returns."""

from dataclasses import dataclass

import numpy as np

from mmfs._compiled.vectors import smallest
from mmfs.problem import Verdict

Array = np.ndarray

# Digits to which weights are found, beside the largest, and gradients, beside relevances.
DIGITS = 9


@dataclass(frozen=True)
class Solution:
    """Support columns J with their alpha > 0, and the judge's word on them."""

    J: Array
    alpha: Array
    gamma: float | None  # None: the constrained form
    verdict: Verdict
    n_iter: int

    def ranked(self, k: int | None, repeated: Array, order: Array | None = None) -> Array:
        """The first k columns by alpha descending, then G ascending, then index.

        k None: all of the support. Columns marked as `repeated` come after all others. With an
        `order` of columns, that decides within the support.
        """
        J, G = self.J, self.verdict.gradient
        head = by_weight(J, self.alpha, G[J])
        if order is not None:
            order = order[np.isin(order, J)]
            head = np.concatenate([order, head[~np.isin(head, order)]])
        if k is None or k <= len(head):
            return head[:k]
        rest = G.copy()
        rest[J] = np.inf
        tail = in_order(rest, k - len(head))
        return np.concatenate([head, tail, np.flatnonzero(repeated)])[:k]


def by_weight(J: Array, alpha: Array, gradient: Array) -> Array:
    """J by alpha descending, then gradient ascending, then index; rounding errors are ties."""
    largest = alpha.max(initial=np.finfo(float).tiny)
    return J[np.lexsort((J, np.round(gradient, DIGITS), -np.round(alpha / largest, DIGITS)))]


def in_order(values: Array, n: int, below: float = np.inf) -> Array:
    """Positions of the n smallest values below a limit, in order, ties by position."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    positions = smallest(values, max(n, 1), float(below))[:n]
    return positions[np.argsort(values[positions], kind="stable")]
