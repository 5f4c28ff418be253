"""A joint selection beside filters that look at columns one by one, and beside the memory."""

from pathlib import Path

import numpy as np
from sklearn.feature_selection import SelectKBest, chi2, f_classif

from benchmarks.speed.cases import GENERATED, REAL, Case, make
from benchmarks.speed.timing import Contender, Unable, in_turns, row
from mmfs import MMFS
from mmfs.columns import Columns, Facts
from mmfs.sources import as_source
from mmfs.target import encode_target

PART = "filters"
CASES = [*GENERATED, *REAL]
NUMBERS = (10, 50, 100, 1000)
ONE_GAMMA = "MMFS, one gamma"  # that of 100 features
TWO_THREADS = "MMFS, 100 features, two threads"
READ, F_CLASSIF = "one read of the arrays", "f_classif"
FIRST, FURTHER = "the first scan alone", "a certifying scan alone"


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    case = make(name, folder, quick)
    X, y = case.X, case.y
    gamma = MMFS(100).fit(X, y).gamma_
    contenders: dict[str, Contender] = {
        READ: lambda: [array.sum() for array in case.arrays()],
        **scans_of(case),
        F_CLASSIF: lambda: SelectKBest(f_classif, k=100).fit(X, y),
        "chi2": Unable("values below 0"),
        ONE_GAMMA: lambda: MMFS(100, gamma=gamma).fit(X, y),
    }
    if X.min() >= 0:
        contenders["chi2"] = lambda: SelectKBest(chi2, k=100).fit(X, y)
    for k in NUMBERS:
        contenders[f"MMFS, {k} features"] = lambda k=k: MMFS(k).fit(X, y)
    contenders[TWO_THREADS] = lambda: MMFS(100, n_jobs=2).fit(X, y)
    found = in_turns(contenders, turns=2 if quick else 3)
    return [row(name, contender, timed, **_more(case, timed)) for contender, timed in found.items()]


def scans_of(case: Case) -> dict[str, Contender]:
    """What any fit has to do, as floors: nothing but the products of all columns."""
    Y = encode_target(case.y, "auto").Y
    w = np.random.default_rng(0).standard_normal((len(Y), 1))

    def first() -> Columns:
        columns = Columns(as_source(case.X).without_empty()[0])
        columns.first_scan(Y)
        return columns

    known = first()
    return {FIRST: first, FURTHER: lambda: known.scan(w, _largest)}


def _largest(facts: Facts, products: np.ndarray) -> float:
    return float(products.max(initial=0.0))


def _more(case: Case, timed) -> dict:
    """What was done, and what was found, by a selector."""
    result = getattr(timed, "result", None)
    known = {"scans": "", "rounds": "", "support": "", "gap": "", "found": ""}
    if isinstance(result, MMFS):
        known |= {"scans": result.n_scans_, "rounds": result.n_iter_, "gap": f"{result.gap_:.1e}"}
        known["support"] = int(np.count_nonzero(result.alpha_))
    if hasattr(result, "get_support") and len(case.signals):
        selected = result.get_support(indices=True)
        known["found"] = f"{np.isin(case.signals, selected).mean():.2f}"
    return known
