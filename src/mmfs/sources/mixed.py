"""Columns of numbers beside columns of categories.

A category is the indicator of the rows that have it. Nothing but the number of its category is held
for each row of such a column: sums over the rows of an indicator are counts.
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mmfs.sources.array import ArraySource
from mmfs.sources.base import Array, Each, OneBlock, OnSums, Source, Sums, fill_of

# What a value that is not there is called, as a category.
MISSING = "(missing)"


class Codes(OneBlock):
    """Indicators of the categories of some columns, side by side."""

    def __init__(self, codes: Array, sizes: list[int]) -> None:
        """`codes` (M x n) hold the number of the category in each column, of `sizes` of them."""
        self.codes, self.starts = codes, np.append(0, np.cumsum(sizes))
        self.shape = (len(codes), int(self.starts[-1]))

    def sums(self, V: Array, shifted: bool, n_jobs: int | None = None) -> Sums:
        origin = np.zeros(self.shape[1])
        products = self.products(V, origin)
        return Sums(origin, np.column_stack([products[:, 0], products]), V.sum(axis=0))

    def products(
        self, V: Array, origin: Array, n_jobs: int | None = None, fill: Array | None = None
    ) -> Array:
        out = np.empty((self.shape[1], V.shape[1]))
        for c, column in enumerate(self.codes.T):
            start, stop = self.starts[c : c + 2]
            for v in range(V.shape[1]):
                out[start:stop, v] = np.bincount(column, V[:, v], stop - start)
        return out - np.outer(origin, V.sum(axis=0)) if origin.any() else out

    def fetch(self, J: Array, n_jobs: int | None = None) -> sp.csc_array:
        of = np.searchsorted(self.starts, J, side="right") - 1
        rows = [
            np.flatnonzero(self.codes[:, c] == j - self.starts[c])
            for c, j in zip(of.tolist(), J.tolist(), strict=True)
        ]
        ends = np.append(0, np.cumsum([len(some) for some in rows]))
        indices = np.concatenate(rows) if rows else np.empty(0, dtype=np.intp)
        shape = (self.shape[0], len(J))
        return sp.csc_array((np.ones(len(indices)), indices, ends), shape=shape)

    def counts(self, *how: Any, **more: Any) -> Array:
        raise TypeError("categories are counted as they are")


class Mixed(Source):
    """A table: some columns hold numbers, NaN where there is none, others categories.

    Columns of the data are those of numbers, in their order, then the indicators.
    """

    def __init__(
        self, numbers: Array, codes: Array, levels: list[Array], of_codes: Array, names: Any
    ) -> None:
        """`of_codes` masks the columns that hold categories, whose `levels` are in order."""
        self.numbers, self.codes, self.levels = numbers, codes, levels
        self.of_codes, self.feature_names = of_codes, names
        self.parts: list[OneBlock] = []
        if numbers.shape[1]:
            self.parts.append(ArraySource(numbers))
        if len(levels):
            self.parts.append(Codes(codes, [len(some) for some in levels]))
        self.starts = np.append(0, np.cumsum([part.shape[1] for part in self.parts]))
        self.shape = (len(of_codes) and len(numbers), int(self.starts[-1]))
        sizes = np.ones(len(of_codes), dtype=np.intp)
        sizes[of_codes] = [len(some) for some in levels]
        order = np.concatenate([np.flatnonzero(~of_codes), np.flatnonzero(of_codes)])
        self.of_data = np.repeat(order, sizes[order])  # the column that each one stands for

    def __repr__(self) -> str:
        return "a table with categories"

    @property
    def n_unknown(self) -> int:
        """Rows without a category, in all columns."""
        return sum(
            int(np.count_nonzero(column == np.flatnonzero(known == MISSING)[0]))
            for column, known in zip(self.codes.T, self.levels, strict=True)
            if MISSING in known
        )

    @property
    def n_columns(self) -> int:
        """Of the table."""
        return len(self.of_codes)

    def first_scan(
        self, V: Array, shifted: bool, finish: OnSums, n_jobs: int | None = None
    ) -> list[Any]:
        return [
            finish(part.sums(V, shifted, n_jobs), int(start))
            for part, start in zip(self.parts, self.starts, strict=False)
        ]

    def scan(
        self, V: Array, known: list[Any], reduce: Callable[..., Any], each: Each = (),
        keep: bool = False, n_jobs: int | None = None,
    ) -> list[Any]:  # fmt: skip
        products = [
            part.products(V, facts.origin, n_jobs, fill_of(facts))
            for part, facts in zip(self.parts, known, strict=True)
        ]
        return self.ask(known, reduce, (products, *each), keep)

    def fetch(self, J: Array, n_jobs: int | None = None) -> Any:
        order = np.argsort(J, kind="stable")
        cuts = np.searchsorted(J[order], self.starts)
        found = [
            part.fetch(J[order[a:b]] - start)
            for part, start, a, b in zip(self.parts, self.starts, cuts[:-1], cuts[1:], strict=False)
            if a < b
        ]
        back = np.argsort(order, kind="stable")
        if len(found) == 1:
            return found[0][:, back]
        return sp.csc_array(sp.hstack([sp.csc_array(some) for some in found]))[:, back]

    def counts(self, *how: Any, **more: Any) -> Array:
        raise ValueError("this cuts columns of numbers into states; leave categories out.")

    def only(self, columns: Array) -> Self:
        """Some columns of the table."""
        columns = np.asarray(columns)
        where = np.cumsum(self.of_codes) - 1, np.cumsum(~self.of_codes) - 1
        coded = columns[self.of_codes[columns]]
        plain = columns[~self.of_codes[columns]]
        levels = [self.levels[where[0][j]] for j in coded.tolist()]
        names = None if self.feature_names is None else np.asarray(self.feature_names)[columns]
        return type(self)(
            self.numbers[:, where[1][plain]], self.codes[:, where[0][coded]], levels,
            self.of_codes[columns], names,
        )  # fmt: skip

    def select_rows(self, rows: Array) -> Self:
        return type(self)(
            self.numbers[rows], self.codes[rows], self.levels, self.of_codes, self.feature_names
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> Any:
        """Some rows, or of all rows some columns of the table."""
        if not isinstance(where, tuple):
            return self.select_rows(np.arange(self.shape[0])[where])
        rows, columns = where
        assert rows == slice(None)
        return self.only(np.arange(self.n_columns)[columns])
