"""Leaving out columns without any entry: they are constant, and cost time and memory.

Without them the entries of compressed columns are the same; only where each column begins changes.
Compressed rows with fewer entries than columns are turned into compressed columns on the way.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.columns.base import Elsewhere

Array = np.ndarray

# Columns that may be empty without it being worth the trouble.
SHARE, FEW = 0.5, 10_000


def without_empty(X: Any) -> tuple[Any, Array | None]:
    """X without its empty columns, and which columns are left; X itself and None if most are."""
    if isinstance(X, Elsewhere):
        return X.without_empty()
    n_rows, n_columns = X.shape
    if not sp.issparse(X) or n_columns <= FEW:
        return X, None
    if X.format == "csr":
        few = 0 < X.nnz <= SHARE * n_columns
        if not few or X.indices.min() < 0 or X.indices.max() >= n_columns:  # refused later
            return X, None
        used = np.zeros(n_columns, dtype=bool)
        used[X.indices] = True
        left = np.flatnonzero(used)
        place = np.empty(n_columns, dtype=np.int32)  # touched only where columns are used
        place[left] = np.arange(len(left), dtype=np.int32)
        rows = sp.csr_array((X.data, place[X.indices], X.indptr), shape=(n_rows, len(left)))
        return rows.tocsc(), left
    with_entries, begins = filled(X.indptr)
    if with_entries is None:
        return X, None
    shape = (n_rows, len(with_entries))
    return sp.csc_array((X.data, X.indices, begins), shape=shape), with_entries


def filled(indptr: Array) -> tuple[Array | None, Array]:
    """Which compressed columns have entries, and where they begin; None if most of them do."""
    n_columns = len(indptr) - 1
    left = np.flatnonzero(indptr[1:] != indptr[:-1])
    if n_columns <= FEW or not 0 < len(left) <= SHARE * n_columns:
        return None, indptr
    return left, np.append(indptr[left], indptr[-1])
