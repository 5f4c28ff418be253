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

import numpy as np

from mmfs._compiled import blocks as compiled
from mmfs.columns import Columns, as_columns

Array = np.ndarray

# Numbers that are computed at a time.
NUMBERS = 1 << 17

# A block in which a column varies by less, in standard deviations, tells nothing.
LEAST = 1e-4


@dataclass(frozen=True)
class hsic:
    """How rows are compared: in blocks of about `block_size` (None: all with each other)."""

    block_size: int | None = 50
    n_shuffles: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.block_size is None or self.block_size >= 3) or self.n_shuffles < 1:
            raise ValueError(
                "hsic takes a block_size of at least 3, or None, and at least one shuffle; got "
                f"block_size={self.block_size!r}, n_shuffles={self.n_shuffles!r}."
            )

    def rows(self, n_rows: int) -> Array:
        """Row numbers of one block after the other; a few rows may be left over by each shuffle."""
        n_blocks = 1 if self.block_size is None else max(1, n_rows // self.block_size)
        size = n_rows // n_blocks
        rng = np.random.default_rng(self.seed)
        shuffles = [rng.permutation(n_rows) for _ in range(self.n_shuffles if n_blocks > 1 else 1)]
        return np.concatenate([order[: n_blocks * size].reshape(-1, size) for order in shuffles])


class RowComparison:
    """The features of all columns, a matrix Phi that is multiplied with but never built.

    Columns are handed over by their values, with unit variance, a column per row.
    """

    def __init__(self, columns: Columns, how: hsic) -> None:
        self.columns = columns
        if getattr(columns.X, "format", "") == "csr":  # whole columns are needed, again and again
            self.columns = as_columns(columns.X.tocsc(), n_jobs=columns.n_jobs)
            self.columns.mean, self.columns.inverse = columns.mean, columns.inverse
        self.rows = how.rows(columns.shape[0])
        self.n_blocks, self.size = self.rows.shape
        self.whole = slice(0, self.n_blocks)
        self.n_entries = self.size * (self.size + 1) // 2

    def gram(self, a: Array, b: Array) -> Array:
        """Phi_a'Phi_b."""
        out = np.zeros((len(a), len(b)))
        for part in self._parts(len(a) + len(b)):
            left = self._features(a, part)
            out += left @ (left if b is a else self._features(b, part)).T
        return out * np.outer(self._scale(a), self._scale(b))

    def combine(self, a: Array, weights: Array) -> Array:
        """Phi_a weights, for weights with a row per column."""
        weights = weights * self._scale(a)[:, None]
        parts = self._parts(len(a))
        return np.concatenate([self._features(a, part).T @ weights for part in parts])

    def project(self, W: Array) -> Array:
        """Phi'W for all columns: one pass over the data."""
        n_rows, n_columns = self.columns.shape
        self.columns.n_passes += 1
        out = np.zeros((n_columns, W.shape[1]))
        width = max(1, min(n_columns, NUMBERS // n_rows))

        def work(start: int) -> None:
            J = np.arange(start, min(start + width, n_columns))
            values = unit_variance(self.columns.take(J).dense())
            for part in self._parts(len(J)):
                entries = slice(part.start * self.n_entries, part.stop * self.n_entries)
                out[J] += self._features(values, part) @ W[entries]
            out[J] *= self._scale(values)[:, None]

        self.columns._each(work, [(start,) for start in range(0, n_columns, width)])
        return out

    def of_classes(self, labels: Array) -> Array:
        """Features of a target: rows are alike if of one class, the more so the rarer it is."""
        here = labels[self.rows]
        same = here[:, :, None] == here[:, None, :]
        upper = np.triu_indices(self.size)
        K = (same / same.sum(axis=2, keepdims=True))[:, upper[0], upper[1]]
        return self._of_target(K, ~np.all(same, axis=(1, 2)))

    def of_quantities(self, Y: Array) -> Array:
        """Features of a target with one or several outputs, the columns of Y."""
        values = unit_variance(Y - Y.mean(axis=0))
        K = self._exponents(values, self.whole)
        K[0] = K.sum(axis=0) / len(values)
        return self._of_target(np.exp(K[0]), np.any(self._informative(values, self.whole), axis=0))

    def _of_target(self, K: Array, keep: Array) -> Array:
        compiled.centre(K[None], keep[None], self.size)
        return K.reshape(-1, 1) / np.sqrt(max(1, int(keep.sum())))

    def _parts(self, n_columns: int) -> Iterator[slice]:
        """Ranges of blocks whose features of so many columns can be held."""
        step = max(1, NUMBERS // (n_columns * self.n_entries))
        return (
            slice(start, min(start + step, self.n_blocks))
            for start in range(0, self.n_blocks, step)
        )

    def _features(self, values: Array, part: slice) -> Array:
        """Of each column the blocks in `part`, of unit norm each."""
        K = self._exponents(values, part)
        np.exp(K, out=K)
        compiled.centre(K, self._informative(values, part), self.size)
        return K.reshape(len(values), -1)

    def _exponents(self, values: Array, part: slice) -> Array:
        K = np.empty((len(values), part.stop - part.start, self.n_entries))
        compiled.exponents(values, self.rows[part], K)
        return K

    def _informative(self, values: Array, part: slice) -> Array:
        keep = np.empty((len(values), part.stop - part.start), dtype=bool)
        compiled.informative(values, self.rows[part], LEAST, keep)
        return keep

    def _scale(self, values: Array) -> Array:
        """What makes the features of a column, all its blocks together, of unit norm."""
        return 1 / np.sqrt(np.maximum(1, self._informative(values, self.whole).sum(axis=1)))


def unit_variance(F: Array) -> Array:
    """Centred columns as rows with unit variance; zero where constant."""
    norms = np.linalg.norm(F, axis=0)
    return np.ascontiguousarray((F * (np.sqrt(len(F)) / np.where(norms > 0, norms, 1.0))).T)
