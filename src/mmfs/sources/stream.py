"""Data that come some rows at a time, in the same order every time.

Sums about an origin, products and counts are sums over the parts. So any number of rows is read
with the memory for one part, and what each part contributes can be found anywhere.
"""

from collections.abc import Callable, Iterator
from functools import reduce as fold
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.sources.base import Array, Elsewhere, OneBlock, Source, Sums
from mmfs.sources.memory import in_memory


class RowStream(OneBlock, Elsewhere):
    """Data that are read from the start, some rows at a time, whenever they are needed.

    Parameters
    ----------
    parts : callable
        `parts()` is an iterator of arrays or sparse matrices with consecutive rows: the same every
        time, with `shape[1]` columns each.
    shape : (int, int)
        Rows and columns of them all.
    y, feature_names : array, default=None
        The target, if `fit` is to find it here, and the names of the columns.
    """

    def __init__(
        self,
        parts: Callable[[], Iterator[Any]],
        shape: tuple[int, int],
        *,
        y: Any = None,
        feature_names: Any = None,
    ) -> None:
        self._parts, self.shape = parts, shape
        self.y, self.feature_names = y, feature_names

    def __repr__(self) -> str:
        return "a stream of rows"

    def __iter__(self) -> Iterator[tuple[slice, Any]]:
        """Which rows, and their data."""
        n = 0
        for X in self._parts():
            rows = slice(n, n + X.shape[0])
            if X.shape[0] == 0:
                continue
            if X.shape[1] != self.shape[1]:
                raise ValueError(
                    f"rows {n:,} to {rows.stop - 1:,} have {X.shape[1]:,} columns instead of "
                    f"{self.shape[1]:,}."
                )
            n = rows.stop
            yield rows, tidy(X)
        if n != self.shape[0]:
            raise ValueError(
                f"there were {n:,} rows this time instead of {self.shape[0]:,}; X must be the same "
                "whenever it is read."
            )

    def sums(self, V: Array, shifted: bool, n_jobs: int | None = None) -> Sums:
        return fold(Sums.joined, (in_memory(X).sums(V[rows], shifted, n_jobs) for rows, X in self))

    def products(
        self, V: Array, origin: Array, n_jobs: int | None = None, fill: Array | None = None
    ) -> Array:
        out = np.zeros((self.shape[1], V.shape[1]))
        for rows, X in self:
            out += in_memory(X).products(V[rows], origin, n_jobs, fill)
        return out

    def fetch(self, J: Array, n_jobs: int | None = None) -> Any:
        return stacked([X[:, J] for _, X in self])

    def counts(
        self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int,
        n_jobs: int | None = None,
    ) -> Array:  # fmt: skip
        counts = (
            in_memory(X).counts(cuts, labels[rows], n_labels, start, stop) for rows, X in self
        )
        return fold(np.add, counts)

    def select_rows(self, rows: Array) -> "RowStream":
        def parts() -> Iterator[Any]:
            for part, X in self:
                here = rows[np.searchsorted(rows, part.start) : np.searchsorted(rows, part.stop)]
                yield X[here - part.start]

        return RowStream(parts, (len(rows), self.shape[1]), feature_names=self.feature_names)

    @property
    def columnwise(self) -> Source:
        raise ValueError(
            f"this needs single columns again and again, for each of which {self} is read as a "
            "whole; make a column store of it (mmfs convert)."
        )


def tidy(X: Any) -> Any:
    """Compressed rows or columns, in order; or an array."""
    if not sp.issparse(X):
        return np.asarray(X)
    X = X if X.format in ("csc", "csr") else X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def stacked(parts: list[Any]) -> Any:
    """Parts of consecutive rows as one: compressed rows if all are sparse, else an array."""
    if len(parts) == 1:
        return parts[0]
    if all(map(sp.issparse, parts)):
        return sp.vstack(parts, format="csr")
    return np.concatenate([part.toarray() if sp.issparse(part) else part for part in parts])
