"""Some rows of a column store: its entries are read as before, and those of other rows left out."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.sources.base import Array, Elsewhere
from mmfs.sources.compressed import CompressedColumns, Entries


class StoreRows(Elsewhere, CompressedColumns):
    """Rows of a store, in their order; a block of its columns at a time is filtered in memory."""

    def __init__(self, store: Any, rows: Array) -> None:
        self.store, self.rows = store, rows
        self.shape = (len(rows), store.shape[1])
        self.feature_names = store.feature_names
        self.place = np.full(store.shape[0], -1, dtype=np.int32)
        self.place[rows] = np.arange(len(rows), dtype=np.int32)

    def __repr__(self) -> str:
        return f"{len(self.rows):,} rows of {self.store}"

    def __reduce__(self) -> Any:
        return StoreRows, (self.store, self.rows)

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.store.arrays  # which say how much there is to read

    def fetch(self, J: Array, n_jobs: int | None = None) -> sp.csc_array:
        return sp.csc_array(self.store.fetch(J)[self.rows])

    def select_rows(self, rows: Array) -> "StoreRows":
        return StoreRows(self.store, self.rows[rows])

    def without_empty(self) -> tuple["StoreRows", None]:
        return self, None

    def _entries(self, start: int, stop: int) -> Entries:
        indptr, indices, data = self.store._entries(start, stop)[0]
        ends = indptr[start : stop + 1]
        entries = slice(int(ends[0]), int(ends[-1]))
        rows = self.place[indices[entries]]
        kept = rows >= 0
        before = np.append(0, np.cumsum(kept, dtype=np.int64))
        return (before[ends - ends[0]], rows[kept], data[entries][kept]), 0, stop - start
