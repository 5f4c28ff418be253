"""M x N data seen as N standardised columns, wherever they are."""

from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.columns.fetched import Block, DenseBlock, SparseBlock
from mmfs.columns.standardise import Adjustment, Facts, facts_from, joined
from mmfs.order import Limit, in_order
from mmfs.sources import ArraySource, Each, Source, as_source

Array = np.ndarray

# The most relevant columns that are found at once, at least: each question asks all blocks.
RELEVANT_AT_ONCE = 1_200


class Columns:
    """Scans of all columns, and a few fetched; `first_scan` comes before all else."""

    def __init__(
        self, X: Any, *, adjustment: Adjustment | None = None, n_jobs: int | None = None
    ) -> None:
        self.source = as_source(X)
        self.shape: tuple[int, int] = self.source.shape
        self.adjustment = adjustment or Adjustment()
        self.n_jobs = n_jobs
        self.n_scans = 0
        self.facts: list[Any] = []  # of every block, where it is

    def first_scan(self, Y: Array) -> None:
        """Find centre and scale of every column, and F'Y for a target Y (M x q) with B'Y = 0."""
        self.n_scans += 1
        centered, far = self.adjustment.centered, self.adjustment.far(self.shape[0])
        finish = partial(facts_from, centered, self.adjustment.n_covariates, far)
        self.Y, V = Y, self.adjustment.first_vectors(Y)
        self._know(self.source.first_scan(V, centered, finish, self.n_jobs))

    def _know(self, facts: list[Any]) -> None:
        self.facts = facts
        self._best = np.empty(0, dtype=np.intp), np.empty(0)
        vars(self).pop("everything", None)

    def scan(
        self,
        V: Array,
        reduce: Callable[..., Any],
        each: Each = (),
        keep: bool = False,
    ) -> list[Any]:
        """reduce(facts, F'V) of every block, done where it is; V (M x q) holds a few vectors.

        Whatever else there is for `each` block is handed over too. What is to `keep` stays there.
        """
        self.n_scans += 1
        V = self.adjustment.vectors(self.adjustment.residual(V))
        return self.source.scan(V, self.facts, partial(scaled, reduce), each, keep, self.n_jobs)

    def scan_combined(
        self, block: Block, weights: Array, reduce: Callable[..., Any], each: Each = (),
        keep: bool = False,
    ) -> list[Any]:  # fmt: skip
        """`scan` with F weights, for the columns F of a block; in one reading of short rows."""
        source, plain = self.source, self.adjustment.plain and weights.shape[1] == 1
        at_once = plain and isinstance(source, ArraySource) and source.combines
        if not at_once or self.facts[0].missing is not None:
            return self.scan(block.combine(weights), reduce, each, keep)
        assert isinstance(block, DenseBlock) and isinstance(source, ArraySource)
        self.n_scans += 1
        (facts,), (order, J, _, _) = self.facts, block.as_in_memory
        known = J, (weights[:, 0] * block.facts.inverse)[order], facts.center, facts.origin
        products = source.combined_products(*known, self.n_jobs)
        return source.ask(self.facts, partial(scaled, reduce), ([products], *each), keep)

    def scan_some(
        self, V: Array, which: Callable[..., Array], reduce: Callable[..., Any], each: Each = ()
    ) -> list[Any]:
        """reduce(facts, F'V, places) of some columns of every block: as `Source.scan_some`."""
        self.n_scans += 1
        V = self.adjustment.vectors(self.adjustment.residual(V))
        reduce = partial(scaled_some, reduce)
        return self.source.scan_some(V, self.facts, which, reduce, each, self.n_jobs)

    def ask(self, reduce: Callable[..., Any], each: Each = (), keep: bool = False) -> list[Any]:
        """reduce(facts) of every block: no data are read."""
        return self.source.ask(self.facts, reduce, each, keep)

    def split(self, values: Array) -> list[Array]:
        """Of something with a row for every column the part of each block."""
        starts = [*self.ask(attrgetter("start")), self.shape[1]]
        return [values[a:b] for a, b in pairwise(starts)]

    def set_relevance(self, r: Array) -> None:
        """Another relevance than the correlation (ratio)."""
        self._know(self.ask(_with_relevance, (self.split(r),), keep=True))

    def leave_out(self, J: Array) -> None:
        """As if the columns J were constant, whatever they hold."""
        self._know(self.ask(partial(_without, np.sort(J)), keep=True))

    def most_relevant(self, n: int) -> tuple[Array, Array]:
        """The n columns with the largest relevance, in order, ties by number; and these."""
        if len(self._best[0]) < min(n, self.shape[1]):
            at_once = max(n, RELEVANT_AT_ONCE)
            found = self.ask(partial(most_relevant, at_once, Limit()))
            J, r = map(np.concatenate, zip(*found, strict=True))
            order = np.lexsort((J, -r))[:at_once]
            self._best = J[order], r[order]
        J, r = self._best
        return J[:n], r[:n]

    def fetch(self, J: Array, source: Source | None = None) -> Block:
        """The columns J; from another source of the same data, if that is quicker."""
        J, facts, source = np.asarray(J), self.facts_of(J), source or self.source
        if isinstance(source, ArraySource) and not source.worth_copying(len(J)):
            return DenseBlock(source.X, J, facts, self.adjustment)
        X = source.fetch(J, self.n_jobs)
        if sp.issparse(X):
            return SparseBlock.of(sp.csc_array(X), facts, self.adjustment)
        return DenseBlock(X, np.arange(len(J)), facts, self.adjustment)

    def facts_of(self, J: Array) -> Facts:
        """What is known of the columns J: no data are read."""
        places, parts = zip(*self.ask(partial(pick, np.asarray(J))), strict=True)
        return joined(parts).only(np.argsort(np.concatenate(places), kind="stable"))

    def values(self, J: Array) -> Array:
        """The columns J as they are, dense, in double precision."""
        X = self.source.fetch(J, self.n_jobs)
        return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)

    def counts(self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        """As `Source.counts`."""
        self.n_scans += start == 0
        return self.source.counts(cuts, labels, n_labels, start, stop, self.n_jobs)

    @property
    def n_usable(self) -> int:
        """How many columns are not constant."""
        return sum(self.ask(_n_usable))

    def not_finite(self) -> tuple[int, int]:
        """How many columns hold NaN, infinity or numbers that cannot be squared; and the first."""
        found = [some for some in self.ask(_not_finite) if some[0]]
        return sum(n for n, _ in found), min((j for _, j in found), default=-1)

    @property
    def n_missing(self) -> int:
        """Missing values."""
        return sum(self.ask(_missing))

    def holed(self) -> tuple[int, int]:
        """How many columns have some; and the first."""
        found = [some for some in self.ask(_holed) if some[0]]
        return sum(n for n, _ in found), min((j for _, j in found), default=-1)

    def refuse(self, what: str) -> None:
        """For what knows only centred and scaled columns, without holes."""
        self.adjustment.refuse(what)
        if self.n_missing:
            raise ValueError(f"{what} takes no missing values (NaN); impute them.")

    # --- with a number for every column, here: for methods that need them all -------------------

    def project(self, V: Array) -> Array:
        """F'V (N x q)."""
        return np.concatenate(self.scan(V, products_alone))

    def correlations(self, J: Array) -> Array:
        """F'F_J: of every column with each of the columns J, which are made dense."""
        return self.project(self.fetch(J).dense())

    @cached_property
    def everything(self) -> Facts:
        """The facts of all columns."""
        return joined(self.ask(_itself))

    @property
    def usable(self) -> Array:
        """Mask of the columns that are not constant."""
        return self.everything.inverse > 0


# --- what is done where a block is ---------------------------------------------------------------


def scaled(reduce: Callable[..., Any], facts: Facts, products: Array, *each: Any) -> Any:
    """From products of raw columns to those of standardised ones, and on."""
    return reduce(facts, products * facts.inverse[:, None], *each)


def scaled_some(reduce: Callable[..., Any], facts: Facts, products: Array, places: Array) -> Any:
    return scaled(reduce, facts.only(places), products, places)


def pick(J: Array, facts: Facts) -> tuple[Array, Facts]:
    """Of a block those of the columns J that are in it: which of J they are, and their facts."""
    here = J - facts.start
    places = np.flatnonzero((here >= 0) & (here < len(facts.center)))
    return places, facts.only(here[places])


def most_relevant(n: int, limit: Limit, facts: Facts) -> tuple[Array, Array]:
    J = in_order(-facts.relevance, n, limit.value)
    r = facts.relevance[J]
    if len(J) == n:
        limit.lower(np.nextafter(-r[-1], np.inf))  # those that are as relevant are told too
    return facts.start + J, r


def products_alone(facts: Facts, products: Array) -> Array:
    return products


def _itself(facts: Facts) -> Facts:
    return facts


def _n_usable(facts: Facts) -> int:
    return int(np.count_nonzero(facts.inverse > 0))


def _missing(facts: Facts) -> int:
    return 0 if facts.missing is None else int(facts.missing.sum())


def _holed(facts: Facts) -> tuple[int, int]:
    holed = np.flatnonzero(facts.missing) if facts.missing is not None else np.empty(0)
    return len(holed), facts.start + int(holed[0]) if len(holed) else -1


def _not_finite(facts: Facts) -> tuple[int, int]:
    bad = np.flatnonzero(~np.isfinite(facts.inverse))
    return len(bad), facts.start + int(bad[0]) if len(bad) else -1


def _without(J: Array, facts: Facts) -> Facts:
    here = J[(J >= facts.start) & (J < facts.start + len(facts.center))] - facts.start
    if len(here) == 0:
        return facts
    copies = [None if values is None else values.copy() for values in facts[1:]]
    for values in copies:
        if values is not None and len(values):
            values[here] = 0
    out = Facts._make((facts.start, *copies))
    out.relevance[here] = -np.inf
    return out


def _with_relevance(facts: Facts, r: Array) -> Facts:
    return facts._replace(relevance=np.where(facts.inverse > 0, r, -np.inf))
