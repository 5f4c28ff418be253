"""Similarity as a function of the correlation, entry by entry."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mmfs.columns import Columns, Facts
from mmfs.kernels.base import FetchedColumns, OfColumns, Reduce
from mmfs.sources import Each

Array = np.ndarray
Kernel = Callable[[Array], Array]

# Kernels that are not linear need the correlations of all columns with every support feature: as
# many at a time as make this many numbers, in a row or a column of them; but not fewer than these.
SIMILARITIES_AT_ONCE, LEAST_AT_ONCE = 1 << 24, 16


def poly2(rho: Array) -> Array:
    """Squared correlation."""
    return rho**2


@dataclass(frozen=True)
class RBF:
    """exp(-(1 - rho) / sigma^2): the Gaussian of the distance between unit-norm columns."""

    sigma: float = 1.0

    def __call__(self, rho: Array) -> Array:
        return np.exp((rho - 1.0) / self.sigma**2)


FUNCTIONS: dict[str, Kernel] = {"poly2": poly2, "rbf": RBF()}


class OfCorrelation(OfColumns):
    """Q_ij = kernel(rho_ij), entry by entry; `mirrors` if the kernel ignores the sign of rho."""

    width = 1

    def __init__(self, columns: Columns, kernel: Kernel) -> None:
        self.columns, self.kernel = columns, kernel
        rho = np.linspace(0, 1, 5)
        same, mirrored = applied(kernel, rho.copy()), applied(kernel, -rho)
        if same.shape != rho.shape or not np.isfinite([same, mirrored]).all() or same[-1] <= 0:
            raise ValueError(
                "kernel must turn an array of correlations into an array of finite similarities "
                f"of the same shape, positive for a correlation of 1; for {rho} it gave {same}."
            )
        self.mirrors = bool(np.allclose(same, mirrored))
        self.largest = float(same[-1])

    def gram(self, a: FetchedColumns, b: FetchedColumns) -> Array:
        assert a.block is not None and b.block is not None
        return applied(self.kernel, a.block.gram(b.block))

    def scan(
        self, a: FetchedColumns, alphas: Array, reduce: Reduce, each: Each = (), keep: bool = False
    ) -> list[Any]:
        """A few support features at a time, what they add up to being kept with the blocks."""
        assert a.block is not None
        at_once, total = max(LEAST_AT_ONCE, SIMILARITIES_AT_ONCE // max(self.columns.shape)), None
        for start in range(0, len(alphas), at_once):
            some = np.arange(start, min(start + at_once, len(alphas)))
            V = a.block.only(some).dense()
            known = () if total is None else (total,)
            total = self.columns.scan(
                V, partial(weighed, self.kernel, alphas[some]), known, keep=True
            )
        assert total is not None
        return self.columns.ask(reduce, (total, *each), keep)


def applied(kernel: Kernel, rho: Array) -> Array:
    return np.asarray(kernel(np.clip(rho, -1.0, 1.0, out=rho)), dtype=np.float64)


def weighed(
    kernel: Kernel, alphas: Array, facts: Facts, rho: Array, total: Array | float = 0.0
) -> Array:
    """Similarities with some features, weighed and added to those with others."""
    return total + applied(kernel, rho) @ alphas
