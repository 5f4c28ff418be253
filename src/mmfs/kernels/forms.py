"""Columns, fetched ones or all, as coordinate descent reads them in the place of Q."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from mmfs._compiled import descent as compiled
from mmfs.columns import Block, Columns, SparseBlock
from mmfs.sources import ArraySource, CompressedColumns, StoreRows

Array = np.ndarray


class Matrix(NamedTuple):
    """Q as descent reads it."""

    form: Any  # what the compiled loop reads: Gram, Csc or Dense
    diagonal: Array
    state_of: Callable[[Array], Array]  # what the loop keeps up to date, afresh from alpha
    work: int  # multiplications in a pass


class Known(Protocol):
    """What is known of the similarities Q among fetched columns."""

    matrix: Matrix

    def among(self, free: Array) -> Array:
        """Q among some columns."""

    def product(self, alpha: Array, free: Array) -> Array:
        """Q alpha of some columns."""


def of_block(block: Block, U: Array) -> Matrix:
    """By the correlations of fetched columns in directions U."""
    n, work, U = len(U), block.stored * U.shape[1], np.ascontiguousarray(U)
    if isinstance(block, SparseBlock):
        form = compiled.Csc(*block.arrays, np.zeros(n), block.means, np.ones(n), U)
        return Matrix(form, np.ones(n), lambda alpha: block.combine(alpha[:, None] * U), work)
    F = np.ascontiguousarray(block.dense().T)
    dense = compiled.Dense(F, np.zeros(n), np.ones(n), U)
    return Matrix(dense, np.ones(n), lambda alpha: F.T @ (alpha[:, None] * U), work)


def of_all(columns: Columns, U: Array) -> Matrix:
    """By the correlations of all columns of the data, in directions U."""
    columns.refuse("solver='dcd'")
    facts, source, U = columns.everything, columns.source.columnwise, np.ascontiguousarray(U)
    form: Any
    if isinstance(source, ArraySource):
        # A copy, unless X is in column order; so is a matrix of compressed rows copied.
        kind = source.X.dtype if source.X.dtype in (np.float32, np.float64) else np.float64
        X = np.ascontiguousarray(source.X.T, dtype=kind)
        form = compiled.Dense(X, facts.center, facts.inverse, U)
    elif isinstance(source, StoreRows) or not isinstance(source, CompressedColumns):
        raise ValueError(f"solver='dcd' cannot read {source}; use solver='working_set'.")
    else:
        means = facts.center - facts.origin
        form = compiled.Csc(*source.arrays, facts.origin, means, facts.inverse, U)

    def state_of(alpha: Array) -> Array:
        J = np.flatnonzero(alpha)
        return columns.fetch(J).combine(alpha[J, None] * U[J])

    return Matrix(form, np.ones(len(U)), state_of, source.size * U.shape[1])
