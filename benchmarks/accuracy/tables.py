"""The paper's Table 2 and the curves behind it: accuracy over the number of features."""

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed

from benchmarks.accuracy.methods import DEFAULT, OTHERS, PAPER, PEERS, QUICK, TUNED
from benchmarks.accuracy.protocol import NESTED, TASKS, data_of, folds_of
from benchmarks.results import read, save
from mmfs.io import FileProblem

PART = "accuracy"
# Where inner folds would take too long to choose a number of features.
SLOW_IN_LEUKEMIA = ("FGM", "GDM", "QPFS", "pyHSICLasso")
SLOW_IN_ENRON = ("FGM", "GDM", "SVM-RFE", "L1-SVM", "celer", "skglm")
TOO_SLOW = {("leukemia", name) for name in SLOW_IN_LEUKEMIA}
TOO_SLOW |= {("enron", name) for name in SLOW_IN_ENRON}
TOO_SLOW |= {("raoa_gse55457", "pyHSICLasso"), ("rac_gse55457", "pyHSICLasso")}
METHODS = [DEFAULT, *PAPER, *OTHERS, *PEERS]
COLUMNS = [
    "task", "method", "parameters", "problem", "n_test", "majority", "seconds", "numbers",
    "correct", "deviation", "nested_inside", "nested_number", "nested_correct",
]  # fmt: skip


def run(folder: Path, out: Path, quick: bool) -> None:
    """A row for every data set and method; those that are there already are kept."""
    _describe(folder, out)
    rows = read(PART, out)
    done = {(row["task"], row["method"]) for row in rows}
    jobs = [
        (task, method)
        for task in TASKS
        for method in METHODS
        if (task.name, method.name) not in done
        and (not quick or (method.name in QUICK and task.name == "raoa_gse55457"))
    ]
    jobs.sort(key=lambda job: job[1].name != "QPFS")  # the slowest first
    work = (delayed(_row)(task, method, folder, quick) for task, method in jobs)
    for row in Parallel(2, return_as="generator_unordered")(work):
        rows.append(row)
        save(sorted(rows, key=_place), PART, out)
        print(f"{row['task']:15s} {row['method']:22s} {_best(row)}", flush=True)


def _place(row):
    tasks, methods = [t.name for t in TASKS], [m.name for m in METHODS]
    return tasks.index(row["task"]), methods.index(row["method"])


def _best(row):
    if row["problem"]:
        return row["problem"]
    numbers, shares = curve(row)
    best = int(np.argmax(shares))
    return f"{shares[best]:.2f} @ {numbers[best]} ({row['seconds']} s)"


def curve(row) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of features and percentages of test rows that are classified rightly."""
    numbers = np.array(row["numbers"].split(), dtype=int)
    return numbers, 100 * np.array(row["correct"].split(), dtype=int) / int(row["n_test"])


def best_gamma(rows: list[dict]) -> list[dict]:
    """The rows of one data set, those of the paper's method under one name: its best gamma."""
    tuned = [row for row in rows if row["method"].startswith(TUNED) and not row["problem"]]
    others = [row for row in rows if not row["method"].startswith(TUNED)]
    if tuned:
        best = max(tuned, key=lambda row: curve(row)[1].max())
        inner = [nested(row) for row in tuned if row["nested_correct"]]
        inside = [max(folds, key=lambda f: f.inside) for folds in zip(*inner,
                                                                      strict=True)]  # fmt: skip
        others.insert(1, best | _written(inside) | {"method": TUNED})
    return others


class Nested(NamedTuple):
    """Of one fold: test rows right inside with the best number, that number, and right outside."""

    inside: int
    number: int
    correct: int


def nested(row: dict) -> list[Nested]:
    """What was chosen inside the training rows of every fold."""
    numbers = [map(int, str(row[f"nested_{name}"]).split()) for name in Nested._fields]
    return [Nested(*fold) for fold in zip(*numbers, strict=True)]


def _written(folds: list[Nested]) -> dict:
    return {
        f"nested_{name}": " ".join(str(getattr(fold, name)) for fold in folds)
        for name in Nested._fields
    }


def _describe(folder: Path, out: Path) -> None:
    """What Table 1 says of the data sets."""
    rows = []
    for task in TASKS:
        try:
            X, _, split = data_of(task, folder)
        except FileProblem as problem:
            print(problem)
            continue
        train = X if split is None or task.split != "given" else X[split == 0]
        if sp.issparse(train):
            stored = train.nnz
            varying = int((np.bincount(train.indices, minlength=X.shape[1]) > 0).sum())
        else:
            stored = int(np.count_nonzero(train))
            varying = int((train.max(axis=0) > train.min(axis=0)).sum())
        rows.append({
            "paper": task.paper, "task": task.name, "rows": train.shape[0],
            "test": f"{X.shape[0] - train.shape[0]:,}" if task.split == "given" else "",
            "features": X.shape[1], "varying": varying,
            "per_row": f"{stored / train.shape[0]:,.1f}",
        })  # fmt: skip
    if rows:
        save(rows, "datasets", out)


def _row(task, method, folder, quick) -> dict:
    warnings.simplefilter("ignore")
    row = dict.fromkeys(COLUMNS, "")
    row |= {"task": task.name, "method": method.name, "parameters": method.parameters}
    numbers = (2, 5, 10, 20, 50) if quick else task.numbers
    try:
        X, y, _ = data_of(task, folder)
        if problem := method.cannot(X, y):
            return row | {"problem": problem}
        folds = folds_of(task, folder, share=0.25 if quick else 1.0)
        return row | _over_folds(task, method, X, y, folds, numbers)
    except (ValueError, MemoryError, ImportError) as error:
        return row | {"problem": str(error).splitlines()[0][:200]}


def _over_folds(task, method, X, y, folds, numbers) -> dict:
    seconds, correct, shares = [], np.zeros(len(numbers), int), []
    inner: list[Nested] = []
    majority = n_test = 0
    tried = [k for k in NESTED if k in numbers]
    for train, test in folds:
        fold = task.fold(X, y, train, test)
        chosen, took = method.selections(fold.X, fold.y, numbers, task.center)
        seconds.append(took)
        right = np.array([fold.correct(chosen[k]) for k in numbers])
        correct += right
        shares.append(100 * right / fold.n_test)
        n_test += fold.n_test
        values, counts = np.unique(fold.y, return_counts=True)
        majority += int((y[test] == values[counts.argmax()]).sum())
        if (task.name, method.name) not in TOO_SLOW:
            right, best = _best_inside(fold, method, tried, task.center)
            inner.append(Nested(right, best, fold.correct(chosen[best])))
    found = {
        "n_test": n_test,
        "majority": f"{100 * majority / n_test:.2f}",
        "seconds": f"{np.median(seconds):.3g}",
        "numbers": " ".join(map(str, numbers)),
        "correct": " ".join(map(str, correct)),
    }
    if len(folds) > 1 and task.split != "leave one out":
        found["deviation"] = " ".join(f"{v:.3f}" for v in np.std(shares, axis=0, ddof=1))
    return found | _written(inner)


def _best_inside(fold, method, tried, center) -> tuple[int, int]:
    """Rows right, and the number of features, that folds of the training rows find best.

    Of equals the smallest number.
    """
    right = np.zeros(len(tried), dtype=int)
    for part in fold.inner():
        chosen, _ = method.selections(part.X, part.y, tried, center)
        right += [part.correct(chosen[k]) for k in tried]
    return int(right.max()), tried[int(np.argmax(right))]
