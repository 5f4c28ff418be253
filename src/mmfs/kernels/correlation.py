"""Similarity as correlation: the literal kernel of the paper, and the aligned one."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mmfs._compiled.vectors import turn
from mmfs.columns import Columns, Facts
from mmfs.kernels import forms
from mmfs.kernels.base import FetchedColumns, Nearness, OfColumns, Reduce
from mmfs.kernels.directions import NOWHERE, directions, nowhere, with_own_output
from mmfs.sources import Each

Array = np.ndarray


class Correlation(OfColumns):
    """Q_ij = rho_ij (linear), or rho_ij u_i'u_j (aligned).

    Aligned, two columns are redundant when they are correlated *and* tell the same about the
    target: their directions u are its unit correlations with the column. For one output u is a
    sign, and a column and its mirror image are as similar as a column and its copy (`mirrors`).
    A column that tells nothing of the target points nowhere, u = 0: either sign would make the
    problem another one for the same target with its sign changed. It is similar to others of its
    kind alone, by their correlation, as if these had an output of their own.
    """

    largest = 1.0

    def __init__(self, columns: Columns, n_outputs: int | None = None) -> None:
        """`n_outputs` of the target if aligned."""
        self.columns, self.aligned = columns, n_outputs is not None
        self.width, self.mirrors = n_outputs or 1, self.aligned

    @property
    def rank(self) -> int:
        n_rows, n_columns = self.columns.shape
        return min(n_columns, n_rows * self.width)

    def fetch(self, J: Array) -> FetchedColumns:
        block = self.columns.fetch(J)
        U = directions(block.facts.products) if self.aligned else None
        return FetchedColumns(J, block.facts.relevance, block, U)

    def affordable(self, fetched: FetchedColumns) -> float:
        assert fetched.block is not None
        work = max(fetched.block.gram_work, 1.0)
        return min(1.0, float(np.sqrt(self.columns.source.size / work)))

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        assert a.block is not None and b.block is not None
        return self._directed(a.block.gram(b.block), a, b)

    def gram_from(self, a: FetchedColumns, start: int, single: bool = False) -> Array:
        assert a.block is not None
        new = a.only(np.arange(start, len(a.J))) if start else a
        return self._directed(a.block.gram_from(start, single), a, new)

    def _directed(self, rho: Array, a: FetchedColumns, b: FetchedColumns) -> Array:
        if a.U is None or b.U is None:
            return rho
        if self.width > 1 or (nowhere(a.U).any() and nowhere(b.U).any()):
            return rho * (a.U @ b.U.T + np.outer(nowhere(a.U), nowhere(b.U)))
        rho *= a.U
        rho *= b.U.T
        return rho

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        assert a.block is not None
        width, weights = self._weighted(a, alphas)
        return self.columns.scan_combined(
            a.block, weights, self._oriented(width, reduce), each, keep
        )

    def _weighted(self, a: FetchedColumns, alphas: Array) -> tuple[int, Array]:
        """How wide each alpha is, and alpha u' for all of them side by side: weights of columns."""
        if a.U is None:
            return 1, alphas
        U = with_own_output(a.U)
        n, width = U.shape
        return width, (alphas[:, :, None] * U[:, None, :]).reshape(n, alphas.shape[1] * width)

    def _oriented(self, width: int, reduce: Reduce) -> Reduce:
        return partial(align, reduce, width) if self.aligned else reduce

    def weights(self, a: FetchedColumns, alpha: Array) -> Array | None:
        if a.block is None or not self.columns.source.skips:
            return None
        return a.block.combine(self._weighted(a, alpha[:, None])[1])

    def nearness(self, w: Array, before: Array) -> Nearness | None:
        if w.shape != before.shape:
            return None
        target = np.zeros_like(w)
        if self.aligned:  # then |F'Y| are the products with the target, so oriented
            target[:, : self.columns.Y.shape[1]] = self.columns.Y
        known = np.column_stack([before.ravel(), target.ravel()])
        (c, d), *_ = np.linalg.lstsq(known, w.ravel(), rcond=None)
        rest = np.linalg.norm(w - c * before - d * target, axis=1)
        weight = self.columns.adjustment.total_weight(len(w))
        return Nearness(float(c), float(d), float(np.linalg.norm(rest)), float(rest.max()), weight)

    def scan_some(
        self, w: Array, which: Callable[..., Array], reduce: Reduce, each: Each = ()
    ) -> list[Any]:
        return self.columns.scan_some(w, which, self._oriented(w.shape[1], reduce), each)

    def by_entries(self, fetched: FetchedColumns, most: float) -> "OfEntries | None":
        block = fetched.block
        if block is None or not self.columns.adjustment.plain or block.stored * self.width >= most:
            return None
        return OfEntries(self, fetched)

    def over_all_columns(self) -> forms.Matrix:
        if not self.aligned:
            return forms.of_all(self.columns, np.ones((self.n_columns, 1)))
        U = directions(self.columns.everything.products)
        return forms.of_all(self.columns, with_own_output(U))

    def explicit_features(self, fetched: FetchedColumns) -> Array | None:
        if fetched.block is None or self.columns.shape[0] * self.width >= len(fetched.J):
            return None
        F = fetched.block.dense()
        if fetched.U is None:
            return F
        return np.einsum("ij,jc->cij", F, with_own_output(fetched.U)).reshape(-1, F.shape[1])


def align(reduce: Reduce, n_outputs: int, facts: Facts, products: Array, *each: Any) -> Any:
    """From products with F u' of several outputs to those in the directions of a block."""
    if n_outputs == 1 and facts.products.shape[1] == 1:
        turn(products, facts.products, NOWHERE)
        return reduce(facts, products, *each)
    U = directions(facts.products)
    if n_outputs > U.shape[1]:
        U = np.column_stack([U, nowhere(U)])
    products = products.reshape(len(products), -1, n_outputs)
    return reduce(facts, np.einsum("jtc,jc->jt", products, U), *each)


class OfEntries:
    """Q among fetched columns, by their entries: for many columns that have few."""

    def __init__(self, Q: Correlation, fetched: FetchedColumns) -> None:
        assert fetched.block is not None
        self.Q, self.fetched, self.U = Q, fetched, np.ones((len(fetched.J), 1))
        if fetched.U is not None:
            self.U = with_own_output(fetched.U)
        self.matrix = forms.of_block(fetched.block, self.U)

    def among(self, free: Array) -> Array:
        fetched = self.fetched.only(free)
        return self.Q.gram(fetched, fetched)

    def product(self, alpha: Array, free: Array) -> Array:
        block = self.fetched.only(free).block
        assert block is not None
        w = block.products(self.matrix.state_of(alpha))
        return np.einsum("jc,jc->j", w, self.U[free])
