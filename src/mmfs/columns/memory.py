"""Data in memory."""

from typing import Any

from mmfs.columns.base import Columns
from mmfs.columns.dense import DenseColumns
from mmfs.columns.sparse import CscColumns, CsrColumns


def in_memory(X: Any, *, center: bool = True, n_jobs: int | None = None) -> Columns:
    """The columns of an array, of compressed columns or of compressed rows, without a copy."""
    kinds = {"csc": CscColumns, "csr": CsrColumns}
    return kinds.get(getattr(X, "format", ""), DenseColumns)(X, center=center, n_jobs=n_jobs)
