"""The paper's figure 4: accuracy over gamma and the number of features, Leukemia, leave one out."""

import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.accuracy.protocol import TASKS, Fold, data_of, folds_of
from benchmarks.results import read, save
from mmfs import MMFS

PART = "surface"
GAMMAS = np.geomspace(1e-4, 10, 11)
NUMBERS = (2, 4, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100)
KERNELS = ("linear", "aligned")


def run(folder: Path, out: Path, quick: bool) -> None:
    if read(PART, out):
        return
    task = TASKS[0]
    X, y, _ = data_of(task, folder)
    folds = folds_of(task, folder, share=0.1 if quick else 1.0)
    work = (delayed(_right)(X, y, *fold) for fold in folds)
    right = np.sum(list(Parallel(2)(work)), axis=0)
    rows = [
        {"kernel": kernel, "gamma": f"{gamma:.6g}", "K": k, "correct": n, "n_test": len(folds)}
        for kernel, by_gamma in zip(KERNELS, right, strict=True)
        for gamma, by_number in zip(GAMMAS, by_gamma, strict=True)
        for k, n in zip(NUMBERS, by_number, strict=True)
    ]
    save(rows, PART, out)


def _right(X, y, train, test) -> np.ndarray:
    warnings.simplefilter("ignore")
    fold = Fold(X, y, train, test)
    found = np.zeros((len(KERNELS), len(GAMMAS), len(NUMBERS)), dtype=int)
    for i, kernel in enumerate(KERNELS):
        for j, gamma in enumerate(GAMMAS):
            J = MMFS(max(NUMBERS), gamma=gamma, kernel=kernel).fit(fold.X, fold.y).indices_
            found[i, j] = [fold.correct(J[:k]) for k in NUMBERS]
    return found
