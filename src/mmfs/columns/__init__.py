"""Where data lives: everything the method asks of it, on standardised columns."""

from functools import partial
from typing import Any

from mmfs.columns.base import Block, Columns, Elsewhere, label_counts
from mmfs.columns.dense import DenseColumns
from mmfs.columns.memory import in_memory
from mmfs.columns.rows import Rows, tidy
from mmfs.columns.sparse import SparseBlock, SparseColumns
from mmfs.columns.store import Store, StoreProblem, is_store, open_store

__all__ = [
    "Block", "Columns", "DenseColumns", "Elsewhere", "Rows", "SparseBlock", "SparseColumns",
    "Store", "StoreProblem", "as_columns", "is_store", "label_counts", "open_store", "tidy",
]  # fmt: skip


def as_columns(X: Any, *, center: bool = True, n_jobs: int | None = None) -> Columns:
    """The columns of data in memory or elsewhere, without a copy."""
    place = X.columns if isinstance(X, Elsewhere) else partial(in_memory, X)
    return place(center=center, n_jobs=n_jobs)
