"""What an entry costs in a scan, by rows: vectors of that length are in the cache, or not."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.columns import Columns

PART = "passes"
ROWS, QUICK = (10_000, 100_000, 1_000_000, 10_000_000), (10_000, 20_000)
COLUMNS, PER_COLUMN, TURNS = 20_000, 1_000, 3


def measure(folder: Path, quick: bool) -> list[dict[str, Any]]:
    out = []
    for n_rows in QUICK if quick else ROWS:
        columns = Columns(_spread(n_rows, 200 if quick else COLUMNS))
        V = np.random.default_rng(0).standard_normal((n_rows, 1))
        V -= V.mean(axis=0)
        n_entries = columns.source.size
        first, further = [], []
        for _ in range(TURNS + 1):
            first.append(_seconds(columns.first_scan, V))
            further.append(_seconds(columns.project, V))
        nanoseconds = [1e9 * float(np.median(some[1:])) / n_entries for some in (first, further)]
        out.append({"rows": n_rows, "first": nanoseconds[0], "further": nanoseconds[1]})
        print(out[-1], flush=True)
    return out


def _seconds(work: Any, V: np.ndarray) -> float:
    start = time.perf_counter()
    work(V)
    return time.perf_counter() - start


def _spread(n_rows: int, n_columns: int) -> sp.csc_array:
    """Columns whose entries are spread over the rows, one in each stretch of equal length."""
    rng = np.random.default_rng(0)
    stretch = n_rows // PER_COLUMN
    rows = rng.integers(0, stretch, (n_columns, PER_COLUMN), dtype=np.int32)
    rows += np.arange(PER_COLUMN, dtype=np.int32) * stretch
    data = rng.random(rows.size, dtype=np.float32)
    indptr = np.arange(0, rows.size + 1, PER_COLUMN)
    return sp.csc_array((data, rows.ravel(), indptr), shape=(n_rows, n_columns))
