"""Data of which some rows are seen at a time, in the same order every time.

Means and scales of all rows follow from those of the parts; products with F and counts of states
are sums over the parts. So any number of rows is read with the memory for one part, and what each
part contributes can be found anywhere.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mmfs.columns.base import Array, Block, Columns, Elsewhere, is_far
from mmfs.columns.dense import DenseBlock
from mmfs.columns.memory import in_memory
from mmfs.columns.sparse import SparseBlock


class Moments(NamedTuple):
    """Of some rows: per column the mean c, as it is rounded, and sums over the rows; sums of V."""

    n_rows: int
    mean: Array  # c; 0 where columns are not centred
    total: Array  # sum of x - c, which rounding of c leaves; 0 where c is not far from zero
    squares: Array  # sum of (x - c)^2, NaN for a column with what is not finite
    products: Array  # (x - c)'V
    sums: Array  # 1'V

    def joined(self, other: "Moments") -> "Moments":
        """Of these rows and others."""
        n_rows = self.n_rows + other.n_rows
        mean = self.mean + (other.mean - self.mean) * (other.n_rows / n_rows)
        total, squares = np.zeros_like(mean), self.squares + other.squares
        products = self.products + other.products
        for some in (self, other):
            shift = some.mean - mean
            here = some.total + some.n_rows * shift  # the sum of x less the new mean
            squares += shift * (some.total + here)
            products += np.outer(shift, some.sums)
            total += here
        return Moments(n_rows, mean, total, squares, products, self.sums + other.sums)

    def inverse(self) -> Array:
        """1 / scale; 0 for a constant column, NaN for one not finite."""
        noise = 1e-24 * (self.squares + self.n_rows * self.mean**2)
        varies = self.squares > np.where(self.mean == 0, 0.0, noise)
        scale = np.sqrt(np.where(varies, self.squares, 1.0))
        return np.where(np.isfinite(self.squares), np.where(varies, 1.0 / scale, 0.0), np.nan)


def moments_of(X: Any, V: Array, center: bool) -> Moments:
    """Of rows X with their rows of V."""
    columns, n_rows = in_memory(X, center=center), X.shape[0]
    middle = V.mean(axis=0) if center else np.zeros(V.shape[1])
    products = columns.moments(V - middle)
    scale, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    np.divide(1.0, columns.inverse, out=scale, where=columns.inverse != 0)
    products *= scale[:, None]
    far = is_far(columns.mean, columns.inverse, n_rows)
    if far.any():
        total[far] = (columns.project(np.ones((n_rows, 1)))[:, 0] * scale)[far]
        products += np.outer(total, middle)
    return Moments(n_rows, columns.mean, total, scale**2, products, V.sum(axis=0))


def known_columns(X: Any, mean: Array, inverse: Array, center: bool) -> Columns:
    """Rows X of data whose means and scales are known."""
    columns = in_memory(X, center=center)
    columns.mean, columns.inverse = mean, inverse
    return columns


def stacked(parts: list[Any]) -> Any:
    """Parts of consecutive rows as one: compressed rows if all are sparse, else an array."""
    if len(parts) == 1:
        return parts[0]
    if all(map(sp.issparse, parts)):
        return sp.vstack(parts, format="csr")
    return np.concatenate([part.toarray() if sp.issparse(part) else part for part in parts])


def block_of(X: Any, mean: Array, inverse: Array) -> Block:
    """A block from the columns as they are, with their means and scales."""
    if sp.issparse(X):
        return SparseBlock(sp.csc_array(X), mean, inverse)
    return DenseBlock(X, np.arange(len(mean)), mean, inverse)


class Rows(Elsewhere):
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

    def columns(self, *, center: bool, n_jobs: int | None) -> "RowColumns":
        return RowColumns(self, center=center, n_jobs=n_jobs)

    def load(self, J: Array) -> Any:
        return stacked([X[:, J] for _, X in self])

    def of_rows(self, rows: Array) -> "Rows":
        def parts() -> Iterator[Any]:
            for part, X in self:
                here = rows[np.searchsorted(rows, part.start) : np.searchsorted(rows, part.stop)]
                yield X[here - part.start]

        return Rows(parts, (len(rows), self.shape[1]), feature_names=self.feature_names)

    @property
    def size(self) -> int:
        """Never worth threads: those that read are at work already."""
        return 0


def tidy(X: Any) -> Any:
    """Compressed rows or columns, in order; or an array."""
    if not sp.issparse(X):
        return np.asarray(X)
    X = X if X.format in ("csc", "csr") else X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


class RowColumns(Columns):
    """Columns of data that come by rows: sums over the parts."""

    X: Rows

    @np.errstate(invalid="ignore", over="ignore")  # `inverse` marks them
    def moments(self, V: Array) -> Array:
        self.n_passes += 1
        found: Moments | None = None
        for rows, X in self.X:
            here = moments_of(X, V[rows], self.center)
            found = here if found is None else found.joined(here)
        assert found is not None
        self.mean, self.inverse = found.mean, found.inverse()
        return found.products * self.inverse[:, None]

    def project(self, V: Array) -> Array:
        self.n_passes += 1
        out = np.zeros((self.shape[1], V.shape[1]))
        for rows, columns in self._known():
            out += columns.project(V[rows])
        return out

    def take(self, J: Array) -> Block:
        self.n_passes += 1
        return block_of(self.X.load(J), self.mean[J], self.inverse[J])

    def states(self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        self.n_passes += 1
        counts = (
            columns.states(cuts, labels[rows], n_labels, start, stop)
            for rows, columns in self._known()
        )
        return reduce(np.add, counts)

    @property
    def columnwise(self) -> Any:
        raise ValueError(
            f"this needs single columns again and again, for each of which {self.X} is read as a "
            "whole; make a column store of it (mmfs convert)."
        )

    def _known(self) -> Iterator[tuple[slice, Columns]]:
        for rows, X in self.X:
            yield rows, known_columns(X, self.mean, self.inverse, self.center)
