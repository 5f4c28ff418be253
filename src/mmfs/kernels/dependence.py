"""Similarity as dependence of any shape: HSIC."""

from typing import Any

import numpy as np

from mmfs.columns import Columns
from mmfs.hsic import HSIC, RowComparison, unit_variance
from mmfs.kernels.base import FetchedColumns, OfColumns, Reduce
from mmfs.sources import Each

Array = np.ndarray


class Dependence(OfColumns):
    """Q_ij = the dependence between two columns by HSIC, of whatever shape: from 0 to 1."""

    largest, mirrors = 1.0 + 1e-12, True

    def __init__(self, columns: Columns, how: HSIC) -> None:
        self.columns, self.comparison = columns, RowComparison(columns, how)
        self.width = 1 + self.comparison.n_features // columns.shape[1]

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        """A few columns of a at a time, since all of their rows are needed."""
        right, at_once = self._values(b), self.comparison.at_once
        if len(a.J) <= at_once:
            return self.comparison.gram(right if a is b else self._values(a), right)
        out = np.empty((len(a.J), len(b.J)))
        for start in range(0, len(a.J), at_once):
            part = np.zeros(len(a.J), dtype=bool)
            part[start : start + at_once] = True
            out[part] = self.comparison.gram(self._values(a.only(part)), right)
        return out

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        values = self.comparison.project(self.comparison.combine(self._values(a), alphas))
        return self.columns.ask(reduce, (self.columns.split(values), *each), keep)

    def _values(self, a: FetchedColumns) -> Array:
        assert a.block is not None
        return unit_variance(a.block.dense())
