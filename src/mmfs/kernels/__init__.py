"""Similarity between columns as a function of their correlation, and Q as an operator.

Q is never built whole: a solver asks for its entries among columns that were fetched, and scans
Q alpha block by block.
"""

from typing import Any

from mmfs.columns import Columns
from mmfs.hsic import as_hsic
from mmfs.kernels.base import FetchedColumns, Similarity
from mmfs.kernels.correlation import Correlation
from mmfs.kernels.costs import WithCosts
from mmfs.kernels.dependence import Dependence
from mmfs.kernels.functions import FUNCTIONS, RBF, OfCorrelation
from mmfs.kernels.given import FeatureMap, Precomputed
from mmfs.kernels.grouped import Grouped

__all__ = [
    "KERNELS",
    "RBF",
    "FeatureMap",
    "FetchedColumns",
    "Grouped",
    "Precomputed",
    "Similarity",
    "WithCosts",
    "similarity_of",
]

KERNELS = ("aligned", "linear", *FUNCTIONS, "hsic")


def similarity_of(kernel: Any, columns: Columns, n_outputs: int) -> Similarity:
    """Q for a kernel given by name or as a function; the aligned one is for so many outputs."""
    if how := as_hsic(kernel):
        return Dependence(columns, how)
    if not isinstance(kernel, str):
        return OfCorrelation(columns, kernel)
    if kernel in FUNCTIONS:
        return OfCorrelation(columns, FUNCTIONS[kernel])
    return Correlation(columns, n_outputs if kernel == "aligned" else None)
