"""Dependence of any shape between columns: the Hilbert-Schmidt independence criterion, in blocks.

A column is described by how similar its rows are to each other: a Gaussian kernel matrix between
rows, centred. The product of two such matrices is large if rows that are alike in one column are
alike in the other, however the columns are related. To keep this linear in the number of rows, they
are shuffled and cut into small blocks, a few times, and only rows of the same block are compared.
All of a column's blocks, each scaled to unit norm, are its explicit features: half the size of a
block numbers per row and shuffle, computed when they are needed and never kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from mmfs._compiled import blocks as compiled
from mmfs.columns import Block, Columns
from mmfs.sources import InMemory

Array = np.ndarray

# Numbers that are computed at a time; numbers that may be held where blocks are large.
COMPUTED_AT_ONCE, HELD = 1 << 17, 1 << 25

# Rows that can all be compared with each other.
LARGEST_BLOCK = 5_000

# A block in which a column varies by less, in standard deviations, tells nothing.
LEAST = 1e-4


@dataclass(frozen=True)
class HSIC:
    """How rows are compared: in blocks of about `block_size` (None: all with each other)."""

    block_size: int | None = 50
    n_shuffles: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        whole = all(isinstance(v, Integral) for v in (self.n_shuffles, self.seed))
        size = self.block_size
        fits = size is None or (isinstance(size, Integral) and size >= 3)
        if not (whole and fits and self.n_shuffles >= 1 and self.seed >= 0):
            raise ValueError(
                f"{self} is not possible: block_size must be a whole number of at least 3 or None, "
                "n_shuffles at least 1, and seed at least 0."
            )

    def rows(self, n_rows: int) -> Array:
        """Row numbers of one block after the other; the last may share rows with the one before."""
        n_blocks = 1 if self.block_size is None else max(1, n_rows // self.block_size)
        size = n_rows // n_blocks
        if size > LARGEST_BLOCK:
            raise ValueError(
                f"hsic in one block of {size:,} rows compares too many of them (the limit is "
                f"{LARGEST_BLOCK:,}); set block_size."
            )
        rng = np.random.default_rng(self.seed)
        blocks = []
        for _ in range(self.n_shuffles if n_blocks > 1 else 1):
            order = rng.permutation(n_rows)
            blocks.append(order[: n_blocks * size].reshape(-1, size))
            if n_blocks * size < n_rows:
                blocks.append(order[None, -size:])
        return np.concatenate(blocks)


def as_hsic(value: Any) -> HSIC | None:
    """What "hsic" or an hsic stands for; None for anything else."""
    if isinstance(value, str) and value == "hsic":
        return HSIC()
    return value if isinstance(value, HSIC) else None


class RowComparison:
    """The features of all columns, a matrix Phi that is multiplied with but never built.

    Columns are handed over by their values, with unit variance, a column per row.
    """

    def __init__(self, columns: Columns, how: HSIC) -> None:
        columns.refuse("hsic")
        self.columns = columns
        self.rows = how.rows(columns.shape[0])
        self.n_blocks, self.size = self.rows.shape
        self.whole = slice(0, self.n_blocks)
        self.n_entries = self.size * (self.size + 1) // 2
        self.n_features = self.n_blocks * self.n_entries
        # Columns to read at a time in a scan; of which all rows, and of which a block, can be held.
        self.tile = max(1, COMPUTED_AT_ONCE // max(columns.shape[0], self.n_entries))
        self.at_once = max(1, HELD // columns.shape[0])
        self.group = max(1, HELD // self.n_entries)

    def fetch(self, J: Array) -> Block:
        return self.columns.fetch(J, self.columns.source.columnwise)

    def gram(self, a: Array, b: Array) -> Array:
        """Phi_a'Phi_b."""
        if max(len(a), len(b)) > self.group:
            return np.block([[self.gram(x, z) for z in self._groups(b)] for x in self._groups(a)])
        out = np.zeros((len(a), len(b)))
        for part in self._parts(len(a) + len(b)):
            left = self._features(a, part)
            out += left @ (left if b is a else self._features(b, part)).T
        return out * np.outer(self._scale(a), self._scale(b))

    def combine(self, a: Array, weights: Array) -> Array:
        """Phi_a weights, for weights with a row per column."""
        out = np.zeros((self.n_features, weights.shape[1]))
        weights = weights * self._scale(a)[:, None]
        for some, theirs in zip(self._groups(a), self._groups(weights), strict=True):
            for part in self._parts(len(some)):
                out[self._entries(part)] += self._features(some, part).T @ theirs
        return out

    def project(self, W: Array) -> Array:
        """Phi'W for all columns: one scan of the data."""
        n_columns = self.columns.shape[1]
        self.columns.n_scans += 1
        out = np.zeros((n_columns, W.shape[1]))
        by_block = W.reshape(self.n_blocks, self.n_entries, -1).transpose(0, 2, 1).copy()
        step = max(1, COMPUTED_AT_ONCE // self.n_entries)

        def work(start: int) -> None:
            here = slice(start, min(start + self.tile, n_columns))
            values = unit_variance(self.fetch(np.arange(here.start, here.stop)).dense())
            columns, blocks = np.nonzero(self._informative(values, self.whole))
            for a in range(0, len(columns), step):
                pairs = columns[a : a + step], blocks[a : a + step]
                K = self._matrices(values, self.rows, *pairs)
                compiled.add_products(K, *pairs, by_block, out[here])
            out[here] *= self._scale(values)[:, None]

        tasks = [(start,) for start in range(0, n_columns, self.tile)]
        source = self.columns.source.columnwise
        if not isinstance(source, InMemory):
            raise ValueError(f"hsic reads single columns again and again, which {source} cannot.")
        source.each(work, tasks, self.columns.n_jobs)
        return out

    def of_classes(self, labels: Array) -> Array:
        """Features of a target: rows are alike if of one class, the more so the rarer it is."""
        upper = np.triu_indices(self.size)
        K, keep = np.zeros((self.n_blocks, self.n_entries)), np.empty(self.n_blocks, dtype=bool)
        for part in self._parts(1):
            here = labels[self.rows[part]]
            same = here[:, :, None] == here[:, None, :]
            K[part] = (same / same.sum(axis=2, keepdims=True))[:, upper[0], upper[1]]
            keep[part] = ~same.all(axis=(1, 2))
        return self._of_target(K, keep)

    def of_quantities(self, Y: Array) -> Array:
        """Features of a target with one or several outputs, the columns of Y."""
        values = unit_variance(Y)
        every, keep = np.arange(self.n_blocks), np.zeros(self.n_blocks, dtype=bool)
        K, of_one = np.zeros((2, self.n_blocks, self.n_entries))
        for x in values:
            compiled.exponents(x[None], self.rows, np.zeros_like(every), every, of_one)
            K += of_one / len(values)
            keep |= self._informative(x[None], self.whole)[0]
        return self._of_target(np.exp(K, out=K), keep)

    def _of_target(self, K: Array, keep: Array) -> Array:
        K[~keep] = 0.0
        centred = K[keep]
        compiled.centre(centred, self.size)
        K[keep] = centred / np.sqrt(max(1, len(centred)))
        return K.reshape(-1, 1)

    def _groups(self, values: Array) -> list[Array]:
        return [values[start : start + self.group] for start in range(0, len(values), self.group)]

    def _entries(self, part: slice) -> slice:
        return slice(part.start * self.n_entries, part.stop * self.n_entries)

    def _parts(self, n_columns: int) -> Iterator[slice]:
        """Ranges of blocks whose features of so many columns can be held."""
        step = max(1, COMPUTED_AT_ONCE // (n_columns * self.n_entries))
        return (
            slice(start, min(start + step, self.n_blocks))
            for start in range(0, self.n_blocks, step)
        )

    def _features(self, values: Array, part: slice) -> Array:
        """Of each column the blocks in `part`, of unit norm each; zero where it hardly varies."""
        columns, blocks = np.nonzero(self._informative(values, part))
        K = self._matrices(values, self.rows[part], columns, blocks)
        n_blocks = part.stop - part.start
        if len(K) < len(values) * n_blocks:
            some, K = K, np.zeros((len(values) * n_blocks, self.n_entries))
            K[columns * n_blocks + blocks] = some
        return K.reshape(len(values), -1)

    def _matrices(self, values: Array, rows: Array, columns: Array, blocks: Array) -> Array:
        """For pairs of a column and a block, centred and of unit norm."""
        K = np.empty((len(columns), self.n_entries))
        compiled.exponents(values, rows, columns, blocks, K)
        np.exp(K, out=K)
        compiled.centre(K, self.size)
        return K

    def _informative(self, values: Array, part: slice) -> Array:
        keep = np.empty((len(values), part.stop - part.start), dtype=bool)
        compiled.informative(values, self.rows[part], LEAST, keep)
        return keep

    def _scale(self, values: Array) -> Array:
        """What makes the features of a column, all its blocks together, of unit norm."""
        return 1 / np.sqrt(np.maximum(1, self._informative(values, self.whole).sum(axis=1)))


def unit_variance(F: Array) -> Array:
    """Columns, centred or not, as rows of zero mean and unit variance; zero where constant."""
    F = F - F.mean(axis=0)
    norms = np.linalg.norm(F, axis=0)
    return np.ascontiguousarray((F * (np.sqrt(len(F)) / np.where(norms > 0, norms, 1.0))).T)
