"""How time and memory grow: with entries, with empty columns; what two threads bring.

Every size has a process of its own, so that the peak of memory is that of its fit.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import scipy.sparse as sp

from benchmarks.measure import forget_peak, peak_gigabytes, seconds_of
from benchmarks.speed.cases import Case, dense, make
from benchmarks.speed.filters import FIRST, scans_of
from benchmarks.speed.timing import in_turns
from mmfs import MMFS, MaxRel
from mmfs.datasets import make_wide_sparse

PART = "growth"
ENTRIES = (4_000_000, 8_000_000, 16_000_000, 32_000_000, 64_000_000)
EMPTY = (0, 3_000_000, 9_000_000, 27_000_000)  # beside 3 million columns in use
ROWS = (10_000, 1_000_000)  # with the same number of columns and entries
CASES = [
    *(f"entries, {n}" for n in ENTRIES),
    *(f"empty, {n}" for n in EMPTY),
    *(f"rows, {n}" for n in ROWS),
    "many, 10000",
    *(f"memory, {form}" for form in ("csc", "csr", "dense")),
    *(f"threads, {form}" for form in ("csc", "csr", "dense")),
]

NOTHING = dict.fromkeys(
    ("stored", "columns", "seconds", "read", "extra", "two_threads", "read_two"), ""
)


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    what, size = name.split(", ")
    scale = 0.05 if quick else 1.0
    return [{"study": what, "size": size} | _STUDIES[what](size, scale)]


def _entries(size: str, scale: float) -> dict:
    n_stored = int(scale * int(size))
    X, y, _ = make_wide_sparse(20_000, n_stored // 30, n_stored)
    return _seconds(Case(X, y, np.empty(0)))


def _empty(size: str, scale: float) -> dict:
    """Three million columns with three entries each, and so many without any in between."""
    n_used, n_empty = int(3_000_000 * scale), int(int(size) * scale)
    X, y, _ = make_wide_sparse(20_000, n_used, 3 * n_used)
    used = np.sort(np.random.default_rng(0).choice(n_used + n_empty, n_used, replace=False))
    entries = np.zeros(n_used + n_empty, dtype=np.int64)
    entries[used] = np.diff(X.indptr)
    indptr = np.concatenate([[0], np.cumsum(entries)])
    wide = sp.csc_array((X.data, X.indices, indptr), shape=(X.shape[0], len(entries)))
    return _seconds(Case(wide, y, np.empty(0)))


def _seconds(case: Case) -> dict:
    read = lambda: [array.sum() for array in case.arrays()]  # noqa: E731
    found = in_turns({"read": read, "fit": lambda: MMFS(100).fit(case.X, case.y)}, turns=5)
    return NOTHING | {
        "stored": len(case.arrays()[0]),
        "columns": case.X.shape[1],
        "seconds": f"{found['fit'].seconds:.5g}",
        "read": f"{found['read'].seconds:.5g}",
    }


def _data(form: str, scale: float) -> Case:
    if form == "dense":
        return dense(int(100_000 * scale), 1_000)
    X, y, _ = make_wide_sparse(20_000, int(2_000_000 * scale), int(59_000_000 * scale))
    return Case(X.asformat(form), y, np.empty(0))


def _memory(size: str, scale: float) -> dict:
    """Peak beyond what there was before the fit, as a share of the data."""
    case = _data(size, scale)
    few = case.X[:, : min(2_000, case.X.shape[1])]
    MMFS(5).fit(few, case.y)
    before = psutil.Process().memory_info().rss / 1e9
    forget_peak()
    MMFS(100).fit(case.X, case.y)
    extra = (peak_gigabytes() - before) / case.gigabytes()
    return NOTHING | {"extra": f"{extra:.3f}"}


def _threads(size: str, scale: float) -> dict:
    """A selection that is one pass, by one thread and by two; and one read, in the same way."""
    X, y = _data(size, scale)[:2]
    halves = np.array_split(X.ravel() if size == "dense" else X.data, 2)
    passes = {f"pass {n}": lambda n=n: MaxRel(10, n_jobs=n).fit(X, y) for n in (1, 2)}
    passes["read 1"] = lambda: [half.sum() for half in halves]
    with ThreadPoolExecutor(2) as pool:
        passes["read 2"] = lambda: list(pool.map(np.sum, halves))
        found = in_turns(passes, turns=7)
    return NOTHING | {
        "columns": X.shape[1],
        "seconds": f"{found['pass 1'].seconds:.5g}",
        "read": f"{found['read 1'].seconds:.5g}",
        "two_threads": f"{found['pass 2'].seconds:.5g}",
        "read_two": f"{found['read 2'].seconds:.5g}",
    }


def _rows(size: str, scale: float) -> dict:
    """The first scan alone."""
    n_stored = int(20_000_000 * scale)
    X, y, _ = make_wide_sparse(int(size), n_stored // 100, n_stored)
    found = in_turns({"first": scans_of(Case(X, y, np.empty(0)))[FIRST]}, turns=5)
    seconds = f"{found['first'].seconds:.5g}"
    return NOTHING | {"stored": n_stored, "columns": X.shape[1], "seconds": seconds}


def _many(size: str, scale: float) -> dict:
    """So many features of two million columns."""
    case = make("power law, columns", None, quick=scale < 1)
    seconds, _ = seconds_of(lambda: MMFS(int(int(size) * scale)).fit(case.X, case.y))
    known = {"stored": case.X.nnz, "columns": case.X.shape[1], "seconds": f"{seconds:.5g}"}
    return NOTHING | known


_STUDIES = {
    "entries": _entries, "empty": _empty, "rows": _rows, "many": _many, "memory": _memory,
    "threads": _threads,
}  # fmt: skip
