"""The working set beside the paper's descent over all columns, at the same gamma and gap."""

from functools import partial
from pathlib import Path

from benchmarks.speed.cases import Case, make
from benchmarks.speed.timing import Contender, Unable, in_turns, row
from mmfs import MMFS

PART = "descent"
CASES = [
    "dense, 100,000 x 1,000",
    "dense, 100 x 50,000",
    "dense, 1,000 x 20,000",
    "sparse columns",
    "shaped as kddb",
    "leukemia",
    "mnist_3v8",
    "news20",
    "enron",
]
NUMBERS = (10, 100, 1000)
SOLVERS = ("working_set", "dcd")


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    case = make(name, folder, quick)
    out = []
    for k in NUMBERS:
        for solver, timed in in_turns(_contenders(case, k), turns=2 if quick else 3).items():
            fit = getattr(timed, "result", None)
            gap = "" if fit is None else f"{fit.gap_:.1e}"
            passes = "" if fit is None else fit.n_scans_
            out.append(row(name, solver, timed, K=k, gap=gap, passes=passes))
    return out


def _contenders(case: Case, k: int) -> dict[str, Contender]:
    """Both at the gamma of k features, if there are so many."""
    try:
        gamma = MMFS(k).fit(case.X, case.y).gamma_
    except ValueError as error:
        return dict.fromkeys(SOLVERS, Unable(str(error)))
    models = {solver: MMFS(k, gamma=gamma, solver=solver) for solver in SOLVERS}
    return {solver: partial(model.fit, case.X, case.y) for solver, model in models.items()}
