"""Columns of numbers beside columns of categories.

A category is the indicator of the rows that have it. Nothing but the number of its category is held
for each row of such a column: sums over the rows of an indicator are counts.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from mmfs.optional import require
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


class SideBySide(Source):
    """Data whose columns come from several sources, one after the other."""

    def __init__(self, parts: list[OneBlock], of_data: Array) -> None:
        """`of_data` are the columns of the table that those of the data stand for."""
        self.parts, self.of_data = parts, of_data
        self.starts = np.append(0, np.cumsum([part.shape[1] for part in parts]))
        self.shape = (parts[0].shape[0], int(self.starts[-1]))

    def __repr__(self) -> str:
        return "a table with categories"

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
        ranges = zip(self.parts, self.starts, cuts[:-1], cuts[1:], strict=False)
        found = [part.fetch(J[order[a:b]] - start) for part, start, a, b in ranges if a < b]
        back = np.argsort(order, kind="stable")
        if len(found) == 1:
            return found[0][:, back]
        return sp.csc_array(sp.hstack([sp.csc_array(some) for some in found]))[:, back]

    def counts(self, *how: Any, **more: Any) -> Array:
        raise ValueError("this cuts columns of numbers into states; leave categories out.")


class Mixed:
    """A table: some columns hold numbers, NaN where there is none, others categories."""

    ndim = 2

    def __init__(
        self, numbers: Array, codes: Array, levels: list[Array], of_codes: Array, names: Any
    ) -> None:
        """`of_codes` masks the columns that hold categories, whose `levels` are in order."""
        self.numbers, self.codes, self.levels = numbers, codes, levels
        self.of_codes, self.feature_names = of_codes, names
        self.shape = (len(numbers), len(of_codes))

    def __repr__(self) -> str:
        return "a table with categories"

    def __len__(self) -> int:
        return self.shape[0]

    @cached_property
    def source(self) -> SideBySide:
        """Columns of numbers, in their order, then an indicator for every category."""
        parts: list[OneBlock] = []
        if self.numbers.shape[1]:
            parts.append(ArraySource(self.numbers))
        if self.levels:
            parts.append(Codes(self.codes, [len(some) for some in self.levels]))
        sizes = np.ones(self.shape[1], dtype=np.intp)
        sizes[self.of_codes] = [len(some) for some in self.levels]
        order = np.concatenate([np.flatnonzero(~self.of_codes), np.flatnonzero(self.of_codes)])
        return SideBySide(parts, np.repeat(order, sizes[order]))

    @property
    def n_unknown(self) -> int:
        """Rows without a category, in all columns."""
        return sum(
            int(np.count_nonzero(column == np.flatnonzero(known == MISSING)[0]))
            for column, known in zip(self.codes.T, self.levels, strict=True)
            if MISSING in known
        )

    def column(self, j: int) -> Array:
        """Numbers, or texts: None where there is none."""
        place = int(self.of_codes[:j].sum())
        if not self.of_codes[j]:
            return self.numbers[:, j - place]
        known = [None if level == MISSING else level for level in self.levels[place].tolist()]
        return np.array(known, dtype=object)[self.codes[:, place]]

    def coded(self) -> Array:
        """Numbers, and those of categories: for what compares states, whatever their order."""
        out = np.empty(self.shape)
        out[:, ~self.of_codes], out[:, self.of_codes] = self.numbers, self.codes
        return out

    def dense(self) -> Array:
        """Numbers, then indicators."""
        X = self.source.fetch(np.arange(self.source.shape[1]))
        return X.toarray() if sp.issparse(X) else np.asarray(X)

    def to_frame(self) -> Any:
        """A pandas DataFrame of the table."""
        pandas = require("pandas", "explain", "a table with categories")
        kinds = ["category" if coded else None for coded in self.of_codes.tolist()]
        return pandas.DataFrame({
            name: pandas.Series(self.column(j), dtype=kind)
            for j, (name, kind) in enumerate(zip(self.feature_names, kinds, strict=True))
        })  # fmt: skip

    def __getitem__(self, where: Any) -> Self:
        """Some rows, or of all rows some columns."""
        rows, columns = where if isinstance(where, tuple) else (where, None)
        if columns is None:
            rows = np.arange(self.shape[0])[rows]
            return self._of(self.numbers[rows], self.codes[rows], self.levels, slice(None))
        assert rows == slice(None)
        columns = np.arange(self.shape[1])[columns]
        coded, place = self.of_codes[columns], np.cumsum(self.of_codes) - 1
        codes, plain = place[columns[coded]], (columns - place[columns] - 1)[~coded]
        levels = [self.levels[c] for c in codes.tolist()]
        return self._of(self.numbers[:, plain], self.codes[:, codes], levels, columns)

    def _of(self, numbers: Array, codes: Array, levels: list[Array], columns: Any) -> Self:
        names = np.asarray(self.feature_names, dtype=object)[columns]
        return type(self)(numbers, codes, levels, self.of_codes[columns], names)
