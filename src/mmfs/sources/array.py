"""A NumPy array of any order and real type.

Contiguous numbers of single or double precision are read as they lie; all others, and the tiles of
products with many vectors, are converted tile by tile.
"""

from collections.abc import Callable, Iterator

import numpy as np

from mmfs._compiled import dense
from mmfs.sources.base import TILE, Array, InMemory, Sums, first_that_counts, read_only

# Where rows are stored together: columns of a tile. And numbers of a share of the data.
TILE_WIDTH, SHARE = 4096, 1 << 21

# Where rows are stored together, of so many columns one is worth a copy: few cache lines are read.
COPIED = 16

# Vectors from which on products are left to BLAS.
MANY = 8

Loop = Callable[..., None]


class ArraySource(InMemory):
    """Nothing larger than a tile is ever copied or converted. One block: N numbers are few here."""

    def __init__(self, X: Array) -> None:
        self.X, self.shape = X, X.shape
        known = X.dtype in (np.float32, np.float64) and X.dtype.isnative
        self.by_rows = known and X.flags.c_contiguous
        self.by_columns = known and not self.by_rows and X.flags.f_contiguous
        self.combines = self.by_rows and X.shape[1] <= TILE_WIDTH  # one tile has all columns

    @property
    def size(self) -> int:
        return self.X.size

    def worth_copying(self, n: int) -> bool:
        """Whether n columns are so few of a long row that they are better read from a copy."""
        return self.by_rows and not self.combines and n * COPIED <= self.shape[1]

    def fetch(self, J: Array, n_jobs: int | None = None) -> Array:
        return np.take(self.X, J, axis=1)

    def sums(self, V: Array, shifted: bool, n_jobs: int | None = None) -> Sums:
        # One of the column's own values as origin: one pass, and no cancellation to speak of.
        row = first_that_counts(V)
        origin = self.X[row].astype(np.float64) if shifted else np.zeros(self.shape[1])
        loops, n = (dense.sums_by_rows, dense.sums_by_columns), 1 + V.shape[1]
        found = self._summed(*loops, V, (origin,), n, n_jobs)
        if not np.isnan(found[0]).any():
            return Sums(origin, np.ascontiguousarray(found.T), V.sum(axis=0))
        origin = self._first_values(V[:, 0]) if shifted else origin
        loops = dense.holed_sums_by_rows, dense.holed_sums_by_columns
        both = np.ascontiguousarray(self._summed(*loops, V, (origin,), 2 * n, n_jobs).T)
        return Sums(origin, both[:, :n].copy(), V.sum(axis=0), both[:, n:].copy())

    def _first_values(self, weights: Array) -> Array:
        """Of every column the first that counts and is not missing; or zero."""
        origin = np.full(self.shape[1], np.nan)
        for row in (self.X[i] for i in np.flatnonzero(weights).tolist()):
            missing = np.isnan(origin)
            if not missing.any():
                break
            origin[missing] = row[missing]
        return np.where(np.isfinite(origin), origin, 0.0)

    def products(
        self, V: Array, origin: Array, n_jobs: int | None = None, fill: Array | None = None
    ) -> Array:
        if V.shape[1] <= MANY and fill is None:
            loops = dense.products_by_rows, dense.products_by_columns
            return self._summed(*loops, V, (origin,), V.shape[1], n_jobs).T
        if V.shape[1] <= MANY and fill is not None:
            holed = dense.holed_products_by_rows, dense.holed_products_by_columns
            return self._summed(*holed, V, (origin, fill), V.shape[1], n_jobs).T

        def work(columns: slice, share: slice) -> Array:
            if fill is None and self.X.dtype == np.float64 and not origin[columns].any():
                return V[share].T @ self.X[share, columns]
            tiles = self._tiles(columns, share, origin, fill)
            return sum(V[rows].T @ tile for rows, tile in tiles)

        return self._sum(work, V.shape[1], n_jobs).T

    def combined_products(
        self, J: Array, weights: Array, center: Array, origin: Array, n_jobs: int | None = None
    ) -> Array:
        """`products` with (X_J - m_J) weights less its mean, made of rows as they are read."""
        X = read_only(self.X)

        def work(columns: slice, share: slice) -> Array:
            out = np.empty((1, X.shape[1]))
            read = X, J, weights, center, origin, share.start, share.stop
            dense.combined_products_by_rows(*read, out)
            return out

        return self._sum(work, 1, n_jobs).T

    def _summed(
        self, by_rows: Loop, by_columns: Loop, V: Array, about: tuple[Array, ...], n: int,
        n_jobs: int | None,
    ) -> Array:  # fmt: skip
        """n sums for each column by a compiled loop, of X as it is, or of a tile at a time.

        `about` has something for every column.
        """
        X, turned = read_only(self.X.T if self.by_columns else self.X), self.by_columns
        V = np.ascontiguousarray(V.T if turned else V)
        loop, zero = by_columns if turned else by_rows, np.zeros(self.shape[1])

        def work(columns: slice, share: slice) -> Array:
            out = np.empty((n, columns.stop - columns.start))
            if self.by_rows or self.by_columns:
                loop(X, V, *about, share.start, share.stop, columns.start, columns.stop, out)
                return out
            out[:], part, here = 0.0, np.empty_like(out), [some[columns] for some in about]
            for rows, tile in self._tiles(columns, share, zero):
                by_rows(read_only(tile), V[rows], *here, 0, len(tile), 0, tile.shape[1], part)
                out += part
            return out

        return self._sum(work, n, n_jobs)

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

        self.each(work, [(tile,) for tile in self._column_tiles(TILE, start, stop)], n_jobs)
        counts = above[:, :-1] - above[:, 1:]
        return counts.reshape(n_columns, cuts.shape[1] + 1, labels.shape[1], n_labels)

    def _column_tiles(self, numbers: int, start: int = 0, stop: int | None = None) -> list[slice]:
        """Column ranges: as wide as suits the memory order; or of about so many numbers."""
        stop = self.shape[1] if stop is None else stop
        width = TILE_WIDTH if self.X.flags.c_contiguous else max(1, numbers // self.shape[0])
        return [slice(a, min(a + width, stop)) for a in range(start, stop, width)]

    def _shares(self) -> list[tuple[slice, slice]]:
        """Column ranges, and for each row ranges if rows are stored together."""
        n_rows, n_columns = self.shape
        height = (
            max(1, SHARE // min(TILE_WIDTH, n_columns)) if self.X.flags.c_contiguous else n_rows
        )
        rows = [slice(a, min(a + height, n_rows)) for a in range(0, n_rows, height)]
        tiles = self._column_tiles(SHARE if self.by_columns else TILE)
        return [(columns, part) for columns in tiles for part in rows]

    def _tiles(
        self, columns: slice, share: slice, origin: Array, fill: Array | None = None
    ) -> Iterator[tuple[slice, Array]]:
        """Row ranges and X[rows, columns] - origin[columns], with `fill` for missing values."""
        height = max(1, TILE // (columns.stop - columns.start))
        for a in range(share.start, share.stop, height):
            rows = slice(a, min(a + height, share.stop))
            tile = np.subtract(self.X[rows, columns], origin[columns], dtype=np.float64)
            if fill is not None:
                np.copyto(tile, (fill - origin)[columns], where=np.isnan(tile))
            yield rows, tile

    def _sum(self, work: Callable[[slice, slice], Array], n: int, n_jobs: int | None) -> Array:
        """n numbers for each column, summed over what `work` finds in each share of the data."""
        out, shares = np.zeros((n, self.shape[1])), self._shares()
        for (columns, _), found in zip(shares, self.each(work, shares, n_jobs), strict=True):
            out[:, columns] += found
        return out
