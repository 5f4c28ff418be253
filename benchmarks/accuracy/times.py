"""The paper's figure 3: seconds to select K features, by all methods on one machine in one run."""

import contextlib
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy.methods import (
    DEFAULT,
    FILTERS,
    OTHERS,
    PAPER,
    PEERS,
    QUICK,
    TUNED,
    ours,
)
from benchmarks.datasets import load
from benchmarks.results import read, save
from mmfs import MMFS
from mmfs.datasets import make_kddb_shaped

PART = "times"
NUMBERS = (5, 10, 20, 50, 100)
SCALE = 0.1  # of the set shaped as kddb
# Repeats, until so many seconds are spent; after one that took LIMIT, larger K are left out.
REPEATS, ENOUGH, LIMIT = 3, 2.0, 120.0

METHODS = [
    DEFAULT,
    ours(TUNED, MMFS(gamma=0.01, kernel="linear", solver="dcd")),
    *(method for method in PAPER if not method.name.startswith(TUNED)),
    *(method for method in OTHERS if "tuned" not in method.name),
    *FILTERS,
    *PEERS,
]


def _sets(folder: Path, quick: bool):
    """Standardised beforehand, as in all other parts (sparse ones to unit variance)."""
    data = load("rac_gse55457", folder, download=False)
    yield "rac_gse55457", StandardScaler().fit_transform(data.X.astype(np.float64)), data.y
    shaped = make_kddb_shaped(0.001 if quick else SCALE)
    yield "shaped as kddb", _unit_variance(shaped.X), np.where(shaped.y, 1, -1)
    if not quick:
        data = load("enron", folder, download=False)
        yield "enron", _unit_variance(data.X), data.y


def _unit_variance(X):
    return sp.csc_array(StandardScaler(with_mean=False).fit_transform(X.astype(np.float64)))


def run(folder: Path, out: Path, quick: bool) -> None:
    warnings.simplefilter("ignore")
    rows: list[dict] = []
    if read(PART, out):
        return
    for name, X, y in _sets(folder, quick):
        for method in METHODS:
            if quick and method.name not in QUICK:
                continue
            rows += _timed(name, X, y, method)
            told = " ".join(
                f"{r['K']}:{r['seconds'] or r['problem']}" for r in rows[-len(NUMBERS) :]
            )
            print(f"{name:15s} {method.name:20s} {told}", flush=True)
    save(rows, PART, out)  # times of one run, or none


def _timed(name, X, y, method) -> list[dict]:
    rows = [
        {"set": name, "method": method.name, "K": k, "seconds": "", "found": "", "problem": ""}
        for k in NUMBERS
    ]
    if problem := method.cannot(X, y) or ("values below 0" if _unsuited(method, X) else ""):
        return [row | {"problem": problem} for row in rows]
    # Compiled code is compiled on a few columns, not the empty ones.
    some = X[:, np.argsort(-np.diff(X.indptr))[:500]] if sp.issparse(X) else X[:, :2000]
    with contextlib.suppress(Exception):  # the real data may still do
        method.select(some, y, 5, True)
    last = 0.0
    for row in rows:
        if last > LIMIT:
            row["problem"] = f"more than {LIMIT:g} s"
            continue
        try:
            last, found = _seconds(method, X, y, row["K"])
        except (ValueError, MemoryError, ImportError) as error:
            row["problem"] = str(error).splitlines()[0][:200]
            continue
        row |= {"seconds": f"{last:.4g}", "found": found}
    return rows


def _unsuited(method, X) -> bool:
    return method.name == "chi2" and X.min() < 0


def _seconds(method, X, y, k) -> tuple[float, int]:
    """The median, and how many features there were."""
    taken: list[float] = []
    while len(taken) < REPEATS and sum(taken) < ENOUGH:
        again = X.copy()  # another object: a path kept for other k does not count
        chosen, seconds = method.selections(again, y, [k])
        taken.append(seconds)
    return float(np.median(taken)), len(chosen[k])
