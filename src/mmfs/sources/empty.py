"""Leaving out columns without any entry: they are constant, and cost time and memory.

Without them the entries of compressed columns are the same; only where each column begins changes.
Compressed rows with fewer entries than columns are turned into compressed columns on the way.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs._compiled.vectors import places_of_filled
from mmfs.sources.base import read_only

Array = np.ndarray

# Columns that may be empty without it being worth the trouble: a share of them.
WORTHWHILE = 0.5


def filled(indptr: Array) -> tuple[Array | None, Array]:
    """Which compressed columns have entries, and where they begin; None if most of them do."""
    most = int(WORTHWHILE * (len(indptr) - 1))
    left, begins = np.empty(most + 1, dtype=np.int64), np.empty(most + 1, dtype=indptr.dtype)
    n = places_of_filled(read_only(indptr), left, begins)
    if not 0 < n <= most:
        return None, indptr
    begins[n] = indptr[-1]
    return left[:n], begins[: n + 1]


def without_empty_rows(X: Any) -> tuple[Any, Array | None]:
    """Of compressed rows X the columns with entries, compressed, and which; None if most have."""
    n_rows, n_columns = X.shape
    few = 0 < X.nnz <= WORTHWHILE * n_columns
    if not few or X.indices.min() < 0 or X.indices.max() >= n_columns:  # refused later
        return X, None
    used = np.zeros(n_columns, dtype=bool)
    used[X.indices] = True
    left = np.flatnonzero(used)
    place = np.empty(n_columns, dtype=np.int32)  # touched only where columns are used
    place[left] = np.arange(len(left), dtype=np.int32)
    rows = sp.csr_array((X.data, place[X.indices], X.indptr), shape=(n_rows, len(left)))
    return rows.tocsc(), left
