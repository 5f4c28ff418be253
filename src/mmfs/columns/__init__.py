"""Where data lives: everything the method asks of it, on standardised columns."""

from typing import Any

from mmfs.columns.base import Block, Columns, label_counts
from mmfs.columns.dense import DenseColumns
from mmfs.columns.sparse import CscColumns, CsrColumns, SparseBlock, SparseColumns

__all__ = [
    "Block", "Columns", "DenseColumns", "SparseBlock", "SparseColumns", "as_columns", "label_counts"
]  # fmt: skip


def as_columns(X: Any, *, center: bool = True, n_jobs: int | None = None) -> Columns:
    """The columns of a NumPy array or a SciPy sparse matrix or array, without a copy."""
    kinds = {"csc": CscColumns, "csr": CsrColumns}
    return kinds.get(getattr(X, "format", ""), DenseColumns)(X, center=center, n_jobs=n_jobs)
