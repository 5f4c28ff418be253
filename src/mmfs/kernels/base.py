"""Fetched columns, and what a solver may ask of similarities: all that it knows of the data."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from mmfs.columns import Block, Columns, products_alone
from mmfs.kernels.copies import fingerprint_vectors
from mmfs.kernels.forms import Known, Matrix
from mmfs.sources import Each

Array = np.ndarray
Reduce = Callable[..., Any]  # of Q alpha of a block, and what is known of it


@dataclass(frozen=True)
class FetchedColumns:
    """Columns J, brought here, with their relevances and directions U."""

    J: Array
    relevance: Array
    block: Block | None = None
    U: Array | None = None
    similar: Array | None = None  # Q among them, if it is known
    precise: bool = True  # and not from single precision
    worth: Array | None = None  # what a weight is multiplied with to be ranked by, if anything

    def join(self, other: Self) -> "FetchedColumns":
        J, r = np.append(self.J, other.J), np.append(self.relevance, other.relevance)
        if self.block is None or other.block is None:
            return FetchedColumns(J, r)
        U, worth = (
            None if a is None or b is None else np.concatenate([a, b])
            for a, b in ((self.U, other.U), (self.worth, other.worth))
        )
        return FetchedColumns(J, r, self.block.join(other.block), U, worth=worth)

    def only(self, which: Array) -> "FetchedColumns":
        block = None if self.block is None else self.block.only(which)
        U, worth = (None if some is None else some[which] for some in (self.U, self.worth))
        similar = None if self.similar is None else self.similar[which][:, which]
        r = self.relevance[which]
        return FetchedColumns(self.J[which], r, block, U, similar, self.precise, worth)


class Nearness(NamedTuple):
    """Redundancies are c times earlier ones and d times |F'Y|, but for errors.

    These are at most `norm`, and at most `largest` sum_i |f_ij|, besides rounding.
    """

    c: float
    d: float
    norm: float
    largest: float
    weight: float  # of all rows


class Similarity(ABC):
    """The matrix Q of the problem, and the relevances r of the columns."""

    largest: float  # no column's similarity with itself is larger
    mirrors = False  # whether a column and its mirror image are the same
    width = 1  # numbers per column that a scan holds for each alpha

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """N."""

    @property
    def rank(self) -> int:
        """That of Q, at most."""
        return self.n_columns

    def affordable(self, fetched: FetchedColumns) -> float:
        """The share of these columns among whom similarities take no longer than a scan."""
        return 1.0

    @abstractmethod
    def ask(self, reduce: Reduce, each: Each = (), keep: bool = False) -> list[Any]:
        """reduce(facts) of every block, without a scan."""

    @abstractmethod
    def most_relevant(self, n: int) -> tuple[Array, Array]:
        """The n columns with the largest relevance, in order, ties by number; and these."""

    @abstractmethod
    def facts_of(self, J: Array) -> Array:
        """What is known of columns J, a row each: others, or other rows, would not have it."""

    @abstractmethod
    def fetch(self, J: Array) -> FetchedColumns:
        """Bring columns J here."""

    @abstractmethod
    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        """Q[a.J][:, b.J]."""

    def gram_from(self, a: FetchedColumns, start: int, single: bool = False) -> Array:
        """Q[a.J][:, a.J[start:]], in `single` precision if that is wanted, and known here."""
        return self.gram(a, a.only(np.arange(start, len(a.J))) if start else a)

    @abstractmethod
    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        """reduce(Q alphas, facts) of every block of columns, where it is.

        The columns of `alphas` are zero outside a.J. As `Columns.scan`.
        """

    def weights(self, a: FetchedColumns, alpha: Array) -> Array | None:
        """w, with which a scan of this alpha multiplies all columns, if some would be quicker."""
        return None

    def nearness(self, w: Array, before: Array) -> "Nearness | None":
        """What redundancies under weights `before` say of those under w."""
        return None

    def scan_some(
        self, w: Array, which: Callable[..., Array], reduce: Reduce, each: Each = ()
    ) -> list[Any]:
        """reduce(facts, Q alpha, places) of some columns, for `weights`: `Source.scan_some`."""
        raise TypeError(f"{self} scans all columns at once")

    def fingerprints(self, keep: bool = False) -> list[Any] | None:
        """Of the columns of every block, as `scan`; None where features are no columns."""
        return None

    def among(self, fetched: FetchedColumns, precise: bool = True) -> Array:
        """Q among fetched columns."""
        if fetched.similar is None or (precise and not fetched.precise):
            return self.gram(fetched, fetched)
        return fetched.similar

    def by_entries(self, fetched: FetchedColumns, most: float) -> Known | None:
        """Q among fetched columns by their entries, if these are fewer than `most` and make it."""
        return None

    def over_all_columns(self) -> Matrix | None:
        """Q among all columns of the data, as coordinate descent reads it, if they make it."""
        return None

    def explicit_features(self, fetched: FetchedColumns) -> Array | None:
        """phi with Q = phi'phi, one column per fetched column; None if Q itself is no larger."""
        return None


class OfColumns(Similarity):
    """What similarities between columns of data have in common."""

    columns: Columns

    @property
    def n_columns(self) -> int:
        return self.columns.shape[1]

    def ask(self, reduce: Reduce, each: Each = (), keep: bool = False) -> list[Any]:
        return self.columns.ask(reduce, each, keep)

    def most_relevant(self, n: int) -> tuple[Array, Array]:
        return self.columns.most_relevant(n)

    def facts_of(self, J: Array) -> Array:
        facts = self.columns.facts_of(J)
        return np.column_stack([facts.center, facts.inverse, facts.products])

    def fetch(self, J: Array) -> FetchedColumns:
        block = self.columns.fetch(J)
        return FetchedColumns(J, block.facts.relevance, block)

    def fingerprints(self, keep: bool = False) -> list[Any]:
        V = fingerprint_vectors(self.columns.shape[0])
        return self.columns.scan(V, products_alone, keep=keep)
