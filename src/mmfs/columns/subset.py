"""Some rows of a column store: its entries are read as before, and those of other rows left out."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs._compiled import counting, passes
from mmfs.columns.base import Array, Elsewhere
from mmfs.columns.sparse import CscColumns, SparseBlock


class StoreRows(Elsewhere):
    """Rows of a store, in their order."""

    def __init__(self, store: Any, rows: Array) -> None:
        self.store, self.rows = store, rows
        self.shape = (len(rows), store.shape[1])
        self.feature_names, self.size = store.feature_names, store.size
        self.place = np.full(store.shape[0], -1, dtype=np.int32)
        self.place[rows] = np.arange(len(rows), dtype=np.int32)

    def __repr__(self) -> str:
        return f"{len(self.rows):,} rows of {self.store}"

    def __reduce__(self) -> Any:
        return StoreRows, (self.store, self.rows)

    def columns(self, *, center: bool, n_jobs: int | None) -> "StoreRowColumns":
        return StoreRowColumns(self, center=center, n_jobs=n_jobs)

    def load(self, J: Array) -> sp.csc_array:
        return sp.csc_array(self.store.load(J)[self.rows])

    @property
    def begins(self) -> Array:
        return self.store.indptr

    def of_rows(self, rows: Array) -> "StoreRows":
        return StoreRows(self.store, self.rows[rows])

    def only(self, start: int, stop: int) -> tuple[Array, Array, Array]:
        """Columns start..stop as indptr, indices and data, in memory."""
        store = self.store
        ends = store.indptr[start : stop + 1]
        entries = slice(int(ends[0]), int(ends[-1]))
        rows = self.place[store.indices[entries]]
        kept = rows >= 0
        before = np.append(0, np.cumsum(kept, dtype=np.int64))
        return before[ends - ends[0]], rows[kept], store.data[entries][kept]


class StoreRowColumns(CscColumns):
    """A portion of entries at a time, without those of other rows."""

    X: StoreRows

    def _bind(self, X: Any) -> None:
        self.X, self.arrays = X, (X.store.indptr, None, None)  # there is no whole of the others

    def _find_moments(self, *given: Any) -> bool:
        indptr, _, _, V, center, start, stop, *out = given
        self.X.store.check(int(indptr[start]), int(indptr[stop]))
        here = self.X.only(start, stop)
        return passes.csc_moments(
            *here, V, center, 0, stop - start, *(some[start:stop] for some in out)
        )

    def _find_products(self, *given: Any) -> None:
        V, mean, inverse, far, start, stop, out = given[3:]
        here, part = self.X.only(start, stop), slice(start, stop)
        passes.csc_products(*here, V, mean[part], inverse[part], far, 0, stop - start, out[part])

    def take(self, J: Array) -> SparseBlock:
        return SparseBlock(self.X.load(J), self.mean[J], self.inverse[J])

    def _find_states(self, *given: Any) -> None:
        cuts, labels, sizes, a, b, first, counts = given
        part = counts[a - first : b - first]
        counting.csc_states(*self.X.only(a, b), cuts[a:b], labels, sizes, 0, b - a, 0, part)
