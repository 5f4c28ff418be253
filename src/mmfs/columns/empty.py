"""Leaving out columns without any entry: they are constant, and cost time and memory.

Without them the entries of compressed columns are the same; only where each column begins changes.
Compressed rows with fewer entries than columns are turned into compressed columns on the way.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray

# Columns that may be empty without it being worth the trouble.
SHARE, FEW = 0.5, 10_000


def without_empty(X: Any) -> tuple[Any, Array | None]:
    """X without its empty columns, and which columns are left; X itself and None if most are."""
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
    left = np.flatnonzero(X.indptr[1:] != X.indptr[:-1])
    if not 0 < len(left) <= SHARE * n_columns:
        return X, None
    begins = np.append(X.indptr[left], X.indptr[-1])
    return sp.csc_array((X.data, X.indices, begins), shape=(n_rows, len(left))), left
