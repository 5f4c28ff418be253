"""A NumPy array of any order and real type, worked on tile by tile in double precision."""

from collections.abc import Callable, Iterator

import numpy as np

from mmfs.sources.base import TILE, Array, InMemory, Sums

# Where rows are stored together: columns of a tile, and numbers of a share of tall data.
TILE_WIDTH, TALL = 2048, 1 << 22


class ArraySource(InMemory):
    """Nothing larger than a tile is ever copied or converted. One block: N numbers are few here."""

    def __init__(self, X: Array) -> None:
        self.X, self.shape = X, X.shape

    @property
    def size(self) -> int:
        return self.X.size

    def fetch(self, J: Array, n_jobs: int | None = None) -> Array:
        return self.X[:, J]

    def sums(self, V: Array, shifted: bool, n_jobs: int | None = None) -> Sums:
        # One of the column's own values as origin: one pass, and no cancellation to speak of.
        n_columns = self.shape[1]
        origin = self.X[0].astype(np.float64) if shifted else np.zeros(n_columns)
        weights = None if (V[:, 0] == 1.0).all() else V[:, 0]

        @np.errstate(invalid="ignore", over="ignore")  # marked later; threads have their own state
        def work(columns: slice, share: slice) -> Array:
            sums = np.zeros((1 + V.shape[1], columns.stop - columns.start))
            for rows, tile in self._tiles(columns, share, origin):
                weighted = tile if weights is None else tile * weights[rows, None]
                sums[0] += np.einsum("ij,ij->j", weighted, tile)
                sums[1:] += V[rows].T @ tile
            return sums

        found = self._sum(work, 1 + V.shape[1], n_jobs)
        return Sums(origin, found[0], np.ascontiguousarray(found[1:].T), V.sum(axis=0))

    def products(self, V: Array, origin: Array, n_jobs: int | None = None) -> Array:
        def work(columns: slice, share: slice) -> Array:
            if self.X.dtype == np.float64 and not origin[columns].any():
                return V[share].T @ self.X[share, columns]
            tiles = self._tiles(columns, share, origin)
            return sum(V[rows].T @ tile for rows, tile in tiles)

        return self._sum(work, V.shape[1], n_jobs).T

    def counts(
        self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int,
        n_jobs: int | None = None,
    ) -> Array:  # fmt: skip
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

        self.each(work, [(tile,) for tile in self._column_tiles(start, stop)], n_jobs)
        counts = above[:, :-1] - above[:, 1:]
        return counts.reshape(n_columns, cuts.shape[1] + 1, labels.shape[1], n_labels)

    def _column_tiles(self, start: int = 0, stop: int | None = None) -> list[slice]:
        """Column ranges: as wide as suits the memory order, as narrow as leaves some to share."""
        stop = self.shape[1] if stop is None else stop
        width = TILE_WIDTH if self.X.flags.c_contiguous else max(1, TILE // self.shape[0])
        return [slice(a, min(a + width, stop)) for a in range(start, stop, width)]

    def _shares(self) -> list[tuple[slice, slice]]:
        """Column ranges, and for each row ranges if rows are stored together."""
        n_rows, n_columns = self.shape
        height = max(1, TALL // min(TILE_WIDTH, n_columns)) if self.X.flags.c_contiguous else n_rows
        rows = [slice(a, min(a + height, n_rows)) for a in range(0, n_rows, height)]
        return [(columns, part) for columns in self._column_tiles() for part in rows]

    def _tiles(self, columns: slice, share: slice, origin: Array) -> Iterator[tuple[slice, Array]]:
        """Row ranges and X[rows, columns] - origin[columns]."""
        height = max(1, TILE // (columns.stop - columns.start))
        for a in range(share.start, share.stop, height):
            rows = slice(a, min(a + height, share.stop))
            yield rows, np.subtract(self.X[rows, columns], origin[columns], dtype=np.float64)

    def _sum(self, work: Callable[[slice, slice], Array], n: int, n_jobs: int | None) -> Array:
        """n numbers for each column, summed over what `work` finds in each share of the data."""
        out, shares = np.zeros((n, self.shape[1])), self._shares()
        for (columns, _), found in zip(shares, self.each(work, shares, n_jobs), strict=True):
            out[:, columns] += found
        return out
