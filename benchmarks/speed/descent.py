"""The working set beside the paper's descent over all columns, at the same gamma and gap."""

from pathlib import Path

from benchmarks.speed.cases import make
from benchmarks.speed.timing import in_turns, row
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


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    case = make(name, folder, quick)
    out = []
    for k in NUMBERS:
        gamma = MMFS(k).fit(case.X, case.y).gamma_
        contenders = {
            solver: lambda solver=solver, gamma=gamma, k=k: MMFS(k, gamma=gamma, solver=solver).fit(
                case.X, case.y
            )
            for solver in ("working_set", "dcd")
        }
        for solver, timed in in_turns(contenders, turns=2 if quick else 3).items():
            fit = getattr(timed, "result", None)
            gap = "" if fit is None else f"{fit.gap_:.1e}"
            passes = "" if fit is None else fit.n_passes_
            out.append(row(name, solver, timed, K=k, gap=gap, passes=passes))
    return out
