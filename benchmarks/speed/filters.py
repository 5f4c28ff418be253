"""A joint selection beside filters that look at columns one by one, and beside the memory."""

from pathlib import Path

import numpy as np
from sklearn.feature_selection import SelectKBest, chi2, f_classif

from benchmarks.speed.cases import GENERATED, REAL, Case, make
from benchmarks.speed.timing import Contender, Unable, in_turns, row
from mmfs import MMFS

PART = "filters"
CASES = [*GENERATED, *REAL]
NUMBERS = (10, 100, 1000)
ONE_GAMMA = "MMFS, one gamma"  # that of 100 features
TWO_THREADS = "MMFS, 100 features, two threads"
READ, PRODUCT, F_CLASSIF = "one read of the arrays", "one product X'v", "f_classif"


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    case = make(name, folder, quick)
    X, y = case.X, case.y
    v = np.random.default_rng(0).standard_normal(X.shape[0])
    gamma = MMFS(100).fit(X, y).gamma_
    contenders: dict[str, Contender] = {
        READ: lambda: [array.sum() for array in case.arrays()],
        PRODUCT: lambda: X.T @ v,
        F_CLASSIF: lambda: SelectKBest(f_classif, k=100).fit(X, y),
        "chi2": Unable("values below 0"),
        ONE_GAMMA: lambda: MMFS(100, gamma=gamma).fit(X, y),
    }
    if X.min() >= 0:
        contenders["chi2"] = lambda: SelectKBest(chi2, k=100).fit(X, y)
    for k in NUMBERS:
        contenders[f"MMFS, {k} features"] = lambda k=k: MMFS(k).fit(X, y)
    contenders[TWO_THREADS] = lambda: MMFS(100, n_jobs=2).fit(X, y)
    found = in_turns(contenders, turns=2 if quick else 5)
    return [row(name, contender, timed, **_more(case, timed)) for contender, timed in found.items()]


def _more(case: Case, timed) -> dict:
    """What was done, and what was found, by a selector."""
    result = getattr(timed, "result", None)
    known = {"passes": "", "rounds": "", "support": "", "gap": "", "found": ""}
    if isinstance(result, MMFS):
        known |= {"passes": result.n_scans_, "rounds": result.n_iter_, "gap": f"{result.gap_:.1e}"}
        known["support"] = int(np.count_nonzero(result.alpha_))
    if hasattr(result, "get_support") and len(case.signals):
        selected = result.get_support(indices=True)
        known["found"] = f"{np.isin(case.signals, selected).mean():.2f}"
    return known
