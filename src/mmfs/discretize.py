"""Columns as discrete variables: the one place where values become states.

Everything that counts (mutual information, symmetrical uncertainty) counts states. A rule gives
each column its cuts; the state of a value is the number of cuts below it.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from mmfs._compiled import counting
from mmfs.columns import Columns
from mmfs.sources import Source, label_counts

Array = np.ndarray

DISCRETIZATIONS = ("three_states", "equal_frequency", "mdl", "nonzero", "as_is")

# Values of a column that is discrete already, at most.
MOST_VALUES = 128

# States that "equal_frequency" makes of a column, and the most cuts that "mdl" makes.
FREQUENCY_STATES, MOST_CUTS = 5, 15

# Entries of X that are looked at column by column at a time; counts that are kept at a time.
ENTRIES_AT_ONCE, COUNTS_AT_ONCE = 1 << 22, 1 << 26

# Scores that agree in so many digits are equal: what differs is rounding error.
SCORE_DIGITS = 12


class States:
    """The N columns of the data as discrete variables."""

    def __init__(self, columns: Columns, cuts: Array, folded: bool = False) -> None:
        self.columns = columns
        self.cuts = cuts
        self.folded = folded  # the first and the last of three states are one
        self.xlogx = xlogx(columns.shape[0])

    @property
    def n_states(self) -> int:
        return self.cuts.shape[1] + 1

    def of(self, J: Array) -> Array:
        """The states of columns J in every row: whole numbers, M x len(J)."""
        values = self.columns.values(J)
        states = np.zeros(values.shape, dtype=np.int64)
        for cuts in self.cuts[J].T:
            states += values > cuts
        return np.where(states == 2, 0, states) if self.folded else states

    @cached_property
    def totals(self) -> Array:
        """Rows in each state of every column: N x n_states."""
        everyone = np.zeros((self.columns.shape[0], 1), dtype=np.int64)
        return self._counts(everyone, 1, 0, self.columns.shape[1])[:, :, 0, 0]

    @cached_property
    def entropy(self) -> Array:
        """H(column) in nats, for every column."""
        n = self.columns.shape[0]
        return np.round((self.xlogx[n] - self.xlogx[self.totals].sum(axis=1)) / n, SCORE_DIGITS)

    def information(self, labels: Array, n_labels: int) -> Array:
        """I(column; labels) in nats, of every column with every column of `labels`."""
        n_columns, sizes = self.columns.shape[1], label_counts(labels, n_labels)
        # Rows with the most frequent label need not be counted: they are what is left of the
        # totals. The first time all are, and the totals come of it.
        common = sizes.argmax(axis=1)
        first_time = "totals" not in vars(self)
        if first_time:
            self.totals = np.empty((n_columns, self.n_states), dtype=np.int32)
        else:
            labels = np.where(labels == common, -1, labels)
        info = np.empty((n_columns, labels.shape[1]))
        width = max(1, COUNTS_AT_ONCE // (self.n_states * labels.shape[1] * n_labels))
        for start in range(0, n_columns, width):
            stop = min(start + width, n_columns)
            counts = self._counts(labels, n_labels, start, stop)
            part = slice(start, stop)
            if first_time:
                counts[:, :, 0].sum(axis=-1, out=self.totals[part])
            counting.information(counts, self.totals[part], sizes, common, self.xlogx, info[part])
        return np.round(info, SCORE_DIGITS, out=info)  # whatever the order of states

    def shared(self, J: Array) -> Array:
        """I(column; column j) in nats of every column with each of J: N x len(J)."""
        out = np.empty((self.columns.shape[1], len(J)))
        size = self.n_states * max(len(out) * self.n_states, self.columns.shape[0])
        width = max(1, min(32, COUNTS_AT_ONCE // size))
        for start in range(0, len(J), width):
            part = slice(start, start + width)
            out[:, part] = self.information(self.of(J[part]), self.n_states)
        return out

    def only(self, J: Array) -> "States":
        """The columns J alone: a copy of them."""
        columns = Columns(self.columns.source.fetch(J), n_jobs=self.columns.n_jobs)
        states = States(columns, self.cuts[J], self.folded)
        states.totals = self.totals[J]
        return states

    def _counts(self, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        counts = self.columns.counts(self.cuts, labels, n_labels, start, stop)
        if self.folded:
            counts[:, 0] += counts[:, 2]
            counts[:, 2] = 0
        return counts


def xlogx(n: int) -> Array:
    """m log m for m = 0 .. n."""
    m = np.arange(n + 1)
    return m * np.log(np.maximum(m, 1))


def entropy_of(labels: Array) -> float:
    """H(labels) in nats."""
    p = np.bincount(labels) / len(labels)
    p = p[p > 0]
    return float(-p @ np.log(p))


def discretize(rule: str, columns: Columns, labels: Array, n_labels: int) -> States:
    """The columns cut by one of DISCRETIZATIONS; the labels guide "mdl" alone.

    "three_states": more than a standard deviation below the mean, above it, or between.
    "equal_frequency": five states with the same number of rows, as far as ties allow.
    "mdl": as many as the labels justify (Fayyad and Irani 1993), at most 16.
    "nonzero": zero, or not zero.
    "as_is": every value is a state, in data that are discrete already.
    """
    if rule == "three_states":
        return three_states(columns)
    if rule == "nonzero":
        return nonzero(columns)
    if rule == "as_is":
        return States(columns, _between_values(columns.source))
    if rule == "equal_frequency":
        return States(columns, _by_frequency(columns.source))
    return States(columns, _by_description_length(columns.source, labels, n_labels))


def three_states(columns: Columns) -> States:
    """Cut at mean -+ one deviation (with `center=False`: of the un-centred column, from zero)."""
    columns.refuse("discretize='three_states'")
    center, inverse = columns.everything.center, columns.everything.inverse
    deviation = np.zeros_like(inverse)
    np.divide(1.0, inverse, out=deviation, where=inverse > 0)
    deviation *= (1 - 1e-9) / np.sqrt(columns.shape[0])  # a balanced 0/1 column has two states
    return States(columns, np.column_stack([center - deviation, center + deviation]))


def nonzero(columns: Columns) -> States:
    """State 1 is zero; states 0 and 2, below and above it, are one."""
    around_zero = [-np.finfo(float).smallest_subnormal, 0.0]
    return States(columns, np.tile(around_zero, (columns.shape[1], 1)), folded=True)


def _between_values(X: Source) -> Array:
    """A cut at every value of a column but the largest."""
    found: list[Array] = []
    for first, indptr, _, data in _compressed(X):
        for j, (a, b) in enumerate(pairwise(indptr.tolist())):
            values = data[a:b] if b - a == X.shape[0] else np.append(data[a:b], 0.0)
            found.append(np.unique(values)[:-1])
            if len(found[-1]) >= MOST_VALUES:
                raise ValueError(
                    f"discretize='as_is' is for columns of at most {MOST_VALUES} values, but "
                    f"column {first + j} has {len(found[-1]) + 1:,}; cut them in another way."
                )
    cuts = np.full((len(found), max(1, *map(len, found))), np.inf)
    for row, values in zip(cuts, found, strict=True):
        row[: len(values)] = values
    return cuts


def _by_frequency(X: Source) -> Array:
    cuts = np.empty((X.shape[1], FREQUENCY_STATES - 1))
    for first, indptr, _, data in _compressed(X):
        part = cuts[first : first + len(indptr) - 1]
        counting.quantile_cuts(indptr, data, X.shape[0], part)
    return cuts


def _by_description_length(X: Source, labels: Array, n_labels: int) -> Array:
    cuts = np.full((X.shape[1], MOST_CUTS), np.inf)
    sizes = np.bincount(labels, minlength=n_labels)
    table = xlogx(X.shape[0])
    for first, indptr, indices, data in _compressed(X):
        part = cuts[first : first + len(indptr) - 1]
        counting.description_length_cuts(indptr, indices, data, labels, sizes, table, part)
    used = int(np.isfinite(cuts).any(axis=0).sum())
    return np.ascontiguousarray(cuts[:, : max(used, 1)])


def _compressed(X: Source) -> Iterator[tuple[int, Array, Array, Array]]:
    """Some columns at a time: the first one's index; indptr, indices and data of all of them."""
    (n_rows, n_columns), filled = X.shape, X.begins
    cuts = np.searchsorted(filled, np.arange(ENTRIES_AT_ONCE, filled[-1], ENTRIES_AT_ONCE))
    for a, b in pairwise(np.unique([0, *cuts, n_columns]).tolist()):
        part = X.fetch(np.arange(a, b))
        if isinstance(part, np.ndarray):
            rows = np.tile(np.arange(n_rows, dtype=np.int32), b - a)
            indptr = n_rows * np.arange(b - a + 1)
            yield a, indptr, rows, part.ravel(order="F").astype(np.float64)
        else:
            part = sp.csc_array(part)
            indptr, indices = part.indptr.astype(np.int64), part.indices.astype(np.int32)
            yield a, indptr, indices, part.data.astype(np.float64)
