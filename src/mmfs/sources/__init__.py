"""Where data live: in memory, on disk, in a stream, on a cluster. All deal in raw columns."""

from pathlib import Path
from typing import Any

from mmfs.sources.array import ArraySource
from mmfs.sources.base import Each, Elsewhere, InMemory, Source, Sums, label_counts, read_only
from mmfs.sources.compressed import Compressed, CompressedColumns, CompressedRows, arrays_of
from mmfs.sources.dask import DaskData, is_dask
from mmfs.sources.memory import in_memory
from mmfs.sources.mixed import Mixed, SideBySide
from mmfs.sources.store import Store, StoreProblem, is_store, open_store
from mmfs.sources.store_rows import StoreRows
from mmfs.sources.stream import RowStream, stacked, tidy

__all__ = [
    "ArraySource",
    "Compressed",
    "CompressedColumns",
    "CompressedRows",
    "DaskData",
    "Each",
    "Elsewhere",
    "InMemory",
    "Mixed",
    "RowStream",
    "SideBySide",
    "Source",
    "Store",
    "StoreProblem",
    "StoreRows",
    "Sums",
    "arrays_of",
    "as_source",
    "elsewhere",
    "in_memory",
    "is_dask",
    "is_store",
    "label_counts",
    "open_store",
    "read_only",
    "stacked",
    "tidy",
]  # fmt: skip


def elsewhere(X: Any) -> Any:
    """X as it is; of a path the column store, of a Dask collection what selectors take."""
    if isinstance(X, str | Path):
        return open_store(X)
    return DaskData(X) if is_dask(X) else X


def as_source(X: Any) -> Source:
    """Data in memory or elsewhere as a source, without a copy."""
    if isinstance(X, Mixed):
        return X.source
    return X if isinstance(X, Source) else in_memory(X)
