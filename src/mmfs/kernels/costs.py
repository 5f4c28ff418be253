"""Features that cost something: the term in gamma is (gamma / 2)(c'alpha)^2.

A feature j then needs c_j b of relevance that is left, instead of b. That is the problem without
costs of relevances r_j / c_j and similarities Q_ij / (c_i c_j), in c_j alpha_j: only what is told
of the columns changes.
"""

from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from mmfs.columns import most_relevant
from mmfs.kernels.base import FetchedColumns, Reduce, Similarity
from mmfs.order import Limit
from mmfs.sources import Each

Array = np.ndarray


class WithCosts(Similarity):
    """Another similarity, in units of cost."""

    def __init__(self, Q: Similarity, costs: Array) -> None:
        """`costs` are positive, one for every column of the problem."""
        self.Q, self.costs = Q, costs
        self.width, self.mirrors = Q.width, Q.mirrors
        self.largest = Q.largest / float(costs.min()) ** 2
        starts = Q.ask(attrgetter("start"))
        self.each = np.split(costs, starts[1:])

    @property
    def n_columns(self) -> int:
        return self.Q.n_columns

    @property
    def rank(self) -> int:
        return self.Q.rank

    def affordable(self, fetched: FetchedColumns) -> float:
        return self.Q.affordable(fetched)

    def ask(self, reduce: Reduce, each: Each = (), keep: bool = False) -> list[Any]:
        return self.Q.ask(partial(_priced, reduce), (self.each, *each), keep)

    def most_relevant(self, n: int) -> tuple[Array, Array]:
        J, r = map(np.concatenate, zip(*self.ask(partial(most_relevant, n, Limit())), strict=True))
        order = np.lexsort((J, -r))[:n]
        return J[order], r[order]

    def facts_of(self, J: Array) -> Array:
        return self.Q.facts_of(J)

    def fetch(self, J: Array) -> FetchedColumns:
        known, c = self.Q.fetch(J), self.costs[J]
        return FetchedColumns(J, known.relevance / c, known.block, known.U, worth=1 / c**2)

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        return self.Q.gram(a, b) / np.outer(self.costs[a.J], self.costs[b.J])

    def gram_from(self, a: FetchedColumns, start: int, single: bool = False) -> Array:
        scale = np.outer(self.costs[a.J], self.costs[a.J[start:]])
        return self.Q.gram_from(a, start, single) / scale

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        weights = alphas / self.costs[a.J, None]
        return self.Q.scan(a, weights, partial(_scanned, reduce), (self.each, *each), keep)

    def fingerprints(self, keep: bool = False) -> list[Any] | None:
        return self.Q.fingerprints(keep)


def _priced(reduce: Reduce, facts: Any, costs: Array, *each: Any) -> Any:
    return reduce(facts._replace(relevance=facts.relevance / costs), *each)


def _scanned(reduce: Reduce, facts: Any, values: Array, costs: Array, *each: Any) -> Any:
    return _priced(reduce, facts, costs, values / costs[:, None], *each)
