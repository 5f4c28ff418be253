"""Where data lives: everything the method asks of it, on standardised columns."""

from functools import partial
from pathlib import Path
from typing import Any

from mmfs.columns.base import Block, Columns, Elsewhere, label_counts
from mmfs.columns.cluster import DaskData, is_dask
from mmfs.columns.dense import DenseColumns
from mmfs.columns.memory import in_memory
from mmfs.columns.rows import Rows, stacked, tidy
from mmfs.columns.sparse import SparseBlock, SparseColumns
from mmfs.columns.store import Store, StoreProblem, is_store, open_store

__all__ = [
    "Block", "Columns", "DaskData", "DenseColumns", "Elsewhere", "Rows", "SparseBlock",
    "SparseColumns", "Store", "StoreProblem", "as_columns", "elsewhere", "is_dask", "is_store",
    "label_counts", "open_store", "stacked", "tidy",
]  # fmt: skip


def elsewhere(X: Any) -> Any:
    """X as it is; of a path the column store, of a Dask collection what selectors take."""
    if isinstance(X, str | Path):
        return open_store(X)
    return DaskData(X) if is_dask(X) else X


def as_columns(X: Any, *, center: bool = True, n_jobs: int | None = None) -> Columns:
    """The columns of data in memory or elsewhere, without a copy."""
    place = X.columns if isinstance(X, Elsewhere) else partial(in_memory, X)
    return place(center=center, n_jobs=n_jobs)
