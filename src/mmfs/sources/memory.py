"""Data in memory."""

from typing import Any

from mmfs.sources.array import ArraySource
from mmfs.sources.base import InMemory
from mmfs.sources.compressed import CompressedColumns, CompressedRows


def in_memory(X: Any) -> InMemory:
    """An array, compressed columns or compressed rows as a source, without a copy."""
    kinds = {"csc": CompressedColumns, "csr": CompressedRows}
    return kinds.get(getattr(X, "format", ""), ArraySource)(X)
