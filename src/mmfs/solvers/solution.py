"""What every solver returns."""

from dataclasses import dataclass

import numpy as np

from mmfs._compiled.vectors import gather
from mmfs.kernels import Taken
from mmfs.problem import Verdict

Array = np.ndarray

# Digits to which weights are found, beside the largest, and gradients, beside relevances.
DIGITS = 9


@dataclass(frozen=True)
class Solution:
    """The support columns, brought here, with their alpha > 0, and the judge's word on them."""

    taken: Taken
    alpha: Array
    gamma: float | None  # None: the constrained form
    verdict: Verdict
    n_iter: int

    @property
    def J(self) -> Array:
        return self.taken.J

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
    """Positions of the n smallest values below a limit, in order, ties by position.

    One pass: whenever many too many have been found, the n smallest of them set the limit.
    """
    values, start, n_found = np.ascontiguousarray(values, dtype=np.float64), 0, 0
    found = np.empty(min(4 * n + 1000, len(values)), dtype=np.int64)
    while start < len(values):
        start, n_found = gather(values, start, float(below), found, n_found)
        if n_found > n > 0:
            here = values[found[:n_found]]
            below = np.partition(here, n - 1)[n - 1]
            kept = np.flatnonzero(here <= below)
            kept = kept[np.argsort(here[kept], kind="stable")[:n]]
            found[:n], n_found = found[np.sort(kept)], n
    positions = found[: min(n, n_found)]
    return positions[np.argsort(values[positions], kind="stable")]
