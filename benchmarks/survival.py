"""Censored times: a Cox model on K selected features beside the penalised Cox model of sksurv.

    python -m benchmarks.survival               prints the table of docs/data.md

Concordance (Harrell's) on rows that were not seen: mean and standard error of 5 folds, 4 times. It
needs `pip install 'mmfs[survival]'`.
"""

import warnings

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold
from sksurv.column import encode_categorical, standardize
from sksurv.datasets import load_breast_cancer, load_gbsg2, load_veterans_lung_cancer, load_whas500
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis
from sksurv.metrics import concordance_index_censored

from benchmarks.pages import table
from mmfs import MMFS

SETS = {
    "breast cancer": (load_breast_cancer, (5, 10)),
    "GBSG2": (load_gbsg2, (3,)),
    "veterans": (load_veterans_lung_cancer, (3,)),
    "WHAS500": (load_whas500, (3, 6)),
}
RIDGE = 0.1  # of the Cox models, so that they can be fitted


def by_mmfs(X, y, K):
    J = MMFS(K).fit(X, y).indices_
    return J, CoxPHSurvivalAnalysis(alpha=RIDGE).fit(X[:, J], y)


def by_coxnet(X, y, K):
    """Columns of the first solution on the path with at least K of them, by weight."""
    path = CoxnetSurvivalAnalysis(l1_ratio=1.0, alpha_min_ratio=0.01, n_alphas=100).fit(X, y)
    enough = np.flatnonzero((path.coef_ != 0).sum(axis=0) >= K)
    weights = path.coef_[:, enough[0] if len(enough) else -1]
    J = np.argsort(-np.abs(weights), kind="stable")[:K]
    return J, CoxPHSurvivalAnalysis(alpha=RIDGE).fit(X[:, J], y)


def everything(X, y, K):
    return np.arange(X.shape[1]), CoxPHSurvivalAnalysis(alpha=RIDGE).fit(X, y)


METHODS = {"MMFS": by_mmfs, "Coxnet": by_coxnet, "all columns": everything}


def scores(X, y, K):
    """Of every method, in every fold."""
    event, time = (y[name] for name in y.dtype.names)
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
    found = {name: [] for name in METHODS}
    for train, test in folds.split(X, event):
        for name, method in METHODS.items():
            J, model = method(X[train], y[train], K)
            risk = model.predict(X[test][:, J])
            found[name].append(concordance_index_censored(event[test], time[test], risk)[0])
    return found


def main() -> str:
    warnings.simplefilter("ignore")
    lines = []
    for name, (load, numbers) in SETS.items():
        frame, y = load()
        X = standardize(encode_categorical(frame)).to_numpy(dtype=float)
        for K in numbers:
            found = scores(X, y, K)
            cells = [
                f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"
                for values in found.values()
            ]
            lines.append([f"{name}, {X.shape[0]} x {X.shape[1]}", str(K), *cells])
    return table(["data", "K", *METHODS], lines)


if __name__ == "__main__":
    print(main())
