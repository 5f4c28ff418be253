"""Word counts have heavy tails: does it help to select from their logarithms, or from presence?

As for the variants: five folds, K = 5 to 100; all that is selected from is also what the SVM sees.
"""

from pathlib import Path

from joblib import Parallel, delayed

from benchmarks.accuracy import variants
from benchmarks.accuracy.methods import DEFAULT, OTHERS
from benchmarks.results import read, save

PART = "counts"
SETS = ("pcmac", "relathe", "basehock", "news20_topics")
PREPARED = {
    "counts": lambda X: X,
    "log(1 + count)": lambda X: X.log1p(),
    "count > 0": lambda X: X.sign(),
}
METHODS = [DEFAULT, *(method for method in OTHERS if method.name == "MaxRel")]


def run(folder: Path, out: Path, quick: bool) -> None:
    if read(PART, out):
        return
    jobs = [
        (name, method, prepared)
        for name in SETS[: 1 if quick else None]
        for method in METHODS
        for prepared in PREPARED
    ]
    work = (delayed(_rows)(*job, folder, quick) for job in jobs)
    save([row for rows in Parallel(2)(work) for row in rows], PART, out)


def _rows(name, method, prepared, folder, quick) -> list[dict]:
    X, y = variants.data(name, folder)
    X = PREPARED[prepared](X)
    return [
        {"set": name, "prepared": prepared} | row
        for row in variants.over_folds(X, y, method, quick)
    ]
