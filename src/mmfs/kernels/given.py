"""Similarities that are held here: given by the user, or by an explicit map of features."""

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from mmfs.kernels.base import FetchedColumns, Reduce, Similarity
from mmfs.order import in_order
from mmfs.sources import Each

Array = np.ndarray


class Given(NamedTuple):
    """What is known of features that are not columns of data: all of them, in one block."""

    relevance: Array
    start: int = 0


class GivenSimilarity(Similarity):
    """What similarities that are held here have in common."""

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

    def facts_of(self, J: Array) -> Array:
        fetched = self.fetch(J)
        return self.gram(fetched, fetched)

    def fetch(self, J: Array) -> FetchedColumns:
        return FetchedColumns(J, self.known[0].relevance[J])

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        return self.ask(reduce, ([self.product(a.J, alphas)], *each), keep)

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
