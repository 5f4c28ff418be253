"""M x N data seen as N standardised columns, wherever they are."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mmfs.columns.fetched import Block, DenseBlock, SparseBlock
from mmfs.columns.standardise import Adjustment, Facts, Finish, joined
from mmfs.sources import ArraySource, as_source

Array = np.ndarray


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
        vars(self).pop("everything", None)
        finish = Finish(self.adjustment.centered, self.shape[0], self.adjustment.n_covariates)
        V = self.adjustment.first_vectors(Y)
        self.facts = self.source.first_scan(V, self.adjustment.centered, finish, self.n_jobs)

    def scan(self, V: Array, reduce: Callable[[Array, Facts], Any]) -> list[Any]:
        """reduce(F'V, facts) of every block, done where it is; V (M x q) holds a few vectors."""
        self.n_scans += 1
        V = self.adjustment.vectors(self.adjustment.residual(V))
        return self.source.scan(V, self.facts, Scaled(reduce), self.n_jobs)

    def ask(self, reduce: Callable[[Facts], Any]) -> list[Any]:
        """reduce(facts) of every block: no data are read."""
        return self.source.ask(self.facts, reduce)

    def fetch(self, J: Array) -> Block:
        """The columns J."""
        J = np.asarray(J)
        places, parts = zip(*self.ask(Pick(J)), strict=True)
        facts = joined(parts).only(np.argsort(np.concatenate(places), kind="stable"))
        if isinstance(self.source, ArraySource):
            return DenseBlock(self.source.X, J, facts, self.adjustment)
        X = self.source.fetch(J, self.n_jobs)
        if sp.issparse(X):
            return SparseBlock.of(sp.csc_array(X), facts, self.adjustment)
        return DenseBlock(X, np.arange(len(J)), facts, self.adjustment)

    def values(self, J: Array) -> Array:
        """The columns J as they are, dense, in double precision."""
        X = self.source.fetch(J, self.n_jobs)
        return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)

    def counts(self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        """As `Source.counts`."""
        self.n_scans += start == 0
        return self.source.counts(cuts, labels, n_labels, start, stop, self.n_jobs)

    @cached_property
    def columnwise(self) -> "Columns":
        """The same columns, stored so that single ones are quickly read."""
        if self.source.columnwise is self.source:
            return self
        other = copy(self)
        other.source = self.source.columnwise
        return other

    # --- with a number for every column, here: for methods that need them all -------------------

    def project(self, V: Array) -> Array:
        """F'V (N x q)."""
        return np.concatenate(self.scan(V, _products))

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


class Scaled(NamedTuple):
    """From products of raw columns to those of standardised ones, and on."""

    reduce: Callable[[Array, Facts], Any]

    def __call__(self, products: Array, facts: Facts) -> Any:
        products *= facts.inverse[:, None]
        return self.reduce(products, facts)


class Pick(NamedTuple):
    """Of a block those of the columns J that are in it: which of J they are, and their facts."""

    J: Array

    def __call__(self, facts: Facts) -> tuple[Array, Facts]:
        here = self.J - facts.start
        places = np.flatnonzero((here >= 0) & (here < len(facts.center)))
        return places, facts.only(here[places])


def _products(products: Array, facts: Facts) -> Array:
    return products


def _itself(facts: Facts) -> Facts:
    return facts
