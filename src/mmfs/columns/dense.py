"""A NumPy array of any order and real type, worked on tile by tile in double precision."""

from collections.abc import Callable, Iterator
from typing import Self

import numpy as np

from mmfs._compiled.passes import SMALLEST
from mmfs.columns.base import TILE, Array, Columns, is_far

# Where rows are stored together: columns of a tile, and numbers of a share of tall data.
WIDTH, SHARE = 2048, 1 << 22


class DenseColumns(Columns):
    """Nothing larger than a tile is ever copied or converted."""

    def _column_tiles(self, start: int = 0, stop: int | None = None) -> list[tuple[slice]]:
        """Column ranges: as wide as memory order likes, as narrow as leaves something to share."""
        stop = self.shape[1] if stop is None else stop
        width = WIDTH if self.X.flags.c_contiguous else max(1, TILE // self.shape[0])
        return [(slice(a, min(a + width, stop)),) for a in range(start, stop, width)]

    def _shares(self) -> list[tuple[slice, slice]]:
        """Column ranges, and for each row ranges if rows are stored together."""
        n_rows, n_columns = self.shape
        height = max(1, SHARE // min(WIDTH, n_columns)) if self.X.flags.c_contiguous else n_rows
        rows = [slice(a, min(a + height, n_rows)) for a in range(0, n_rows, height)]
        return [(columns, part) for (columns,) in self._column_tiles() for part in rows]

    def _tiles(self, columns: slice, share: slice, origin: Array) -> Iterator[tuple[slice, Array]]:
        """Row ranges and X[rows, columns] - origin[columns]."""
        height = max(1, TILE // (columns.stop - columns.start))
        for a in range(share.start, share.stop, height):
            rows = slice(a, min(a + height, share.stop))
            yield rows, np.subtract(self.X[rows, columns], origin[columns], dtype=np.float64)

    def _sum(self, work: Callable[[slice, slice], Array], n: int) -> Array:
        """n numbers for each column, summed over what `work` finds in each share of the data."""
        out, shares = np.zeros((n, self.shape[1])), self._shares()
        for (columns, _), found in zip(shares, self._each(work, shares), strict=True):
            out[:, columns] += found
        return out

    @np.errstate(invalid="ignore", over="ignore", divide="ignore")  # `inverse` marks them
    def moments(self, V: Array) -> Array:
        n_rows, n_columns = self.shape
        self.n_passes += 1
        # One of the column's own values as origin: one pass, and no cancellation to speak of.
        origin = self.X[0].astype(np.float64) if self.center else np.zeros(n_columns)

        @np.errstate(invalid="ignore", over="ignore")  # threads have their own
        def work(columns: slice, share: slice) -> Array:
            sums = np.zeros((2 + V.shape[1], columns.stop - columns.start))
            for rows, tile in self._tiles(columns, share, origin):
                sums[0] += tile.sum(axis=0)
                sums[1] += np.einsum("ij,ij->j", tile, tile)
                sums[2:] += V[rows].T @ tile
            return sums

        sums = self._sum(work, 2 + V.shape[1])
        total, squares = sums[:2]
        self.mean, noise = np.zeros(n_columns), np.zeros(n_columns)
        if self.center:
            self.mean = origin + total / n_rows
            squares -= total**2 / n_rows
            noise = 1e-24 * (squares + n_rows * self.mean**2)
        lost = ~np.isfinite(squares) | ((squares < SMALLEST) & (total != 0.0))
        inverse = np.where(squares > noise, 1.0 / np.sqrt(np.maximum(squares, 0.0)), 0.0)
        self.inverse = np.where(lost, np.nan, inverse)
        return np.ascontiguousarray((sums[2:] * inverse).T)

    def project(self, V: Array) -> Array:
        self.n_passes += 1
        far = is_far(self.mean, self.inverse, self.shape[0])

        def work(columns: slice, share: slice) -> Array:
            if self.X.dtype == np.float64 and not far[columns].any():
                products = V[share].T @ self.X[share, columns]
                return products - np.outer(V[share].sum(axis=0), self.mean[columns])
            tiles = self._tiles(columns, share, self.mean)
            return sum(V[rows].T @ tile for rows, tile in tiles)

        return (self._sum(work, V.shape[1]) * self.inverse).T

    def take(self, J: Array) -> "DenseBlock":
        return DenseBlock(self.X, J, self.mean[J], self.inverse[J])

    def states(self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        self.n_passes += start == 0
        n_rows, n_columns = self.shape[0], stop - start
        # Counts within a tile are whole numbers that single precision holds exactly.
        member = (labels[:, :, None] == np.arange(n_labels)).astype(np.float32).reshape(n_rows, -1)
        above = np.zeros((n_columns, cuts.shape[1] + 2, member.shape[1]), dtype=np.int32)
        above[:, 0] = member.sum(axis=0, dtype=np.int64)
        zero = np.zeros(self.shape[1])

        def work(columns: slice) -> None:
            here = slice(columns.start - start, columns.stop - start)
            for rows, tile in self._tiles(columns, slice(0, n_rows), zero):
                for state, cut in enumerate(cuts[columns].T, 1):
                    exceeds = (tile > cut).astype(np.float32)
                    above[here, state] += (exceeds.T @ member[rows]).astype(np.int32)

        self._each(work, self._column_tiles(start, stop))
        counts = above[:, :-1] - above[:, 1:]
        return counts.reshape(n_columns, cuts.shape[1] + 1, labels.shape[1], n_labels)


class DenseBlock:
    """Columns J of X, read again from X each time: no copy outlives a call."""

    def __init__(self, X: Array, J: Array, mean: Array, inverse: Array) -> None:
        self.X, self.J, self.mean, self.inverse = X, J, mean, inverse

    @property
    def stored(self) -> int:
        return self.X.shape[0] * len(self.J)

    def _rows(self, rows: slice) -> Array:
        values = self.X[rows][:, self.J].astype(np.float64, copy=False)  # ours: indexing copies
        values -= self.mean
        values *= self.inverse
        return values

    def _row_tiles(self) -> Iterator[slice]:
        height = max(2 * TILE // max(1, len(self.J)), len(self.J), 1)  # not many sums of n x n
        return (slice(a, a + height) for a in range(0, self.X.shape[0], height))

    def gram(self, other: Self) -> Array:
        out = np.zeros((len(self.J), len(other.J)))
        for rows in self._row_tiles():
            here = self._rows(rows)
            out += here.T @ (here if other is self else other._rows(rows))
        return out

    def combine(self, weights: Array) -> Array:
        return np.concatenate([self._rows(rows) @ weights for rows in self._row_tiles()])

    def dense(self) -> Array:
        return self._rows(slice(None))

    def operator(self) -> Array:
        return self.dense()

    def join(self, other: Self) -> "DenseBlock":
        X, J = self.X, np.concatenate([self.J, other.J])
        if other.X is not X:  # copies, of other columns each
            X, J = np.hstack([X[:, self.J], other.X[:, other.J]]), np.arange(len(J))
        mean = np.concatenate([self.mean, other.mean])
        return DenseBlock(X, J, mean, np.concatenate([self.inverse, other.inverse]))

    def only(self, mask: Array) -> "DenseBlock":
        return DenseBlock(self.X, self.J[mask], self.mean[mask], self.inverse[mask])
