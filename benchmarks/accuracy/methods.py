"""The methods that take part, each with its parameters in words."""

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import chi2, f_classif
from sklearn.svm import LinearSVC

from benchmarks.measure import seconds_of
from mmfs import FCBF, FGM, GDM, MMFS, MRMR, QPFS, SVMRFE, MaxRel, prepare
from mmfs.solvers import tuning

GAMMAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of the paper's MMFS-DCD, in the scale of unit norm
TUNED = "MMFS-DCD"
SUBSAMPLES = 20


@dataclass(frozen=True)
class Method:
    """`select(X, y, k, center)` gives at most k columns, the best first."""

    name: str
    parameters: str
    select: Callable[[Any, np.ndarray, int, bool], np.ndarray]
    by_number: bool = False  # whether each number of features is a selection of its own
    sparse: bool = True
    most_columns: float = np.inf
    most_rows: float = np.inf
    several_classes: bool = True

    def cannot(self, X, y) -> str:
        """Why it does not take the data; nothing if it does."""
        if sp.issparse(X) and not self.sparse:
            return "dense data only"
        if X.shape[1] > self.most_columns:
            return f"more than {self.most_columns:,} columns"
        if X.shape[0] > self.most_rows:
            return f"more than {self.most_rows:,} rows"
        if len(np.unique(y)) > 2 and not self.several_classes:
            return "two classes only"
        return ""

    def selections(self, X, y, numbers, center=True) -> tuple[dict[int, np.ndarray], float]:
        """The columns for every number of features, and the seconds that the largest took.

        Fewer columns where the method finds no more.
        """
        seconds, longest = seconds_of(lambda: self.select(X, y, max(numbers), center))
        if self.by_number:
            rest = {k: self.select(X, y, k, center) for k in numbers if k < max(numbers)}
            return rest | {max(numbers): longest}, seconds
        return {k: longest[:k] for k in numbers}, seconds


def ours(name, selector, **options) -> Method:
    """A selector of this package, its parameters as printed."""

    def select(X, y, k, center):
        changes = {"n_features_to_select": k, "center": center}
        known = selector.get_params()
        chosen = type(selector)(**known | {n: v for n, v in changes.items() if n in known})
        return _as_many(chosen, X, y).indices_

    return Method(name, " ".join(str(selector).split()), select, **options)


def _as_many(selector, X, y):
    """Fitted; for as many features as there are, where fewer than asked for vary."""
    try:
        return selector.fit(X, y)
    except ValueError:
        if sp.issparse(X):
            raise
        n_varying = int((X.max(axis=0) > X.min(axis=0)).sum())
        wanted = min(selector.n_features_to_select, n_varying)
        return selector.set_params(n_features_to_select=wanted).fit(X, y)


def largest(values, k):
    """The k largest positive values, in order."""
    values = np.nan_to_num(values, nan=-np.inf)
    J = np.argsort(-values, kind="stable")[:k]
    return J[values[J] > 0]


def l1_weights(X, y, C):
    svm = LinearSVC(penalty="l1", dual=False, C=C, tol=1e-2, max_iter=1000, random_state=0)
    return np.abs(svm.fit(X, y).coef_).sum(axis=0)


def l1_svm(X, y, k, center):
    return largest(l1_weights(X, y, 1.0), k)


def along_path(weights_at, grid, room=1.0):
    """The k largest weights at the first value of a grid that gives `room` times k of them.

    `weights_at(X, y, value, top, before)` is given the largest value that matters and the weights
    before it, to start from. All weights are kept for other k on the same data.
    """
    kept: dict[str, Any] = {}

    def select(X, y, k, center):
        if kept.get("X") is not X:
            kept.update(X=X, prepared=_for_solvers(X), weights=[np.zeros(X.shape[1])])
        path = kept["weights"]
        top = np.abs(kept["prepared"].T @ (y - y.mean())).max() / len(y)
        for i, value in enumerate(grid, start=1):
            if i == len(path):
                path.append(weights_at(kept["prepared"], y, value, top, path[-1]))
            if np.count_nonzero(path[i]) >= room * k:
                break
        return largest(np.abs(path[i]), k)

    return select


def _for_solvers(X):
    return sp.csc_matrix(X, dtype=np.float64) if sp.issparse(X) else np.asfortranarray(X, float)


def l1_svm_weights(X, y, C, top, before):
    return l1_weights(X, y, C)


def celer_weights(X, y, share, top, before):
    from celer import celer_path

    options = {"alphas": [share * top], "coef_init": before, "tol": 1e-3}
    return np.ascontiguousarray(celer_path(X, y - y.mean(), "lasso", **options)[1][:, 0])


def skglm_weights(X, y, share, top, before):
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(share * top / 2, fit_intercept=False, tol=1e-3)
    return model.fit(X, y).coef_.ravel()


def bagged(X, y, k, center):
    """Weights averaged over halves of the rows, among three candidates for every feature."""
    candidates = np.flatnonzero(_as_many(MMFS(2 * k, rank="alpha"), X, y).alpha_)
    if len(candidates) <= k:
        return MMFS(k, rank="alpha").fit(X, y).indices_
    X, rng = X[:, candidates], np.random.default_rng(0)
    X = X.tocsr() if sp.issparse(X) else X
    total = np.zeros(len(candidates))
    for _ in range(SUBSAMPLES):
        half = rng.permutation(len(y))[: max(len(y) // 2, 6)]
        if len(np.unique(y[half])) < len(np.unique(y)):
            continue
        with contextlib.suppress(ValueError):  # too few columns vary
            alpha = MMFS(k, rank="alpha").fit(X[half], y[half]).alpha_
            total += alpha / alpha.max()
    return candidates[np.argsort(-total, kind="stable")[:k]]


def with_constants(name, selector, **constants) -> Method:
    """A variant of MMFS with other values of the constants behind it."""
    known = {prepare: ("HEAD_ROOM", "OF_CHANCE", "CANDIDATES"), tuning: ("GIVEN_UP",)}
    plain = ours(name, selector)

    def select(X, y, k, center):
        with contextlib.ExitStack() as changes:
            for module, names in known.items():
                for constant in set(names) & set(constants):
                    changes.enter_context(patch.object(module, constant, constants[constant]))
            return plain.select(X, y, k, center)

    values = ", ".join(f"{constant} = {value}" for constant, value in constants.items())
    return Method(name, f"{plain.parameters}, {values}", select, by_number=True)


def at_gamma_of(found_by: MMFS, rank: str):
    """The gamma that one rule finds, ranked by another."""

    def select(X, y, k, center):
        first = _as_many(MMFS(**found_by.get_params() | {"n_features_to_select": k}), X, y)
        return MMFS(k, gamma=first.gamma_, rank=rank).fit(X, y).indices_

    return select


def fastcan(X, y, k, center):
    from fastcan import FastCan

    return FastCan(n_features_to_select=k, verbose=0).fit(X, y).indices_


def mrmrs(X, y, k, center):
    import polars
    from mrmrs import mrmr

    frame = polars.DataFrame({str(j): X[:, j] for j in range(X.shape[1])})
    chosen = mrmr(frame, polars.Series("y", y), number_of_features=k, task_type="classification")
    return np.array([int(feature.name) for feature in chosen])


def hsic_lasso(X, y, k, center):
    from pyHSICLasso import HSICLasso

    model = HSICLasso()
    with contextlib.redirect_stdout(io.StringIO()):
        model.input(np.asarray(X), y)
        model.classification(k, B=min(20, len(y)), M=1, n_jobs=1)
    return np.array(model.get_index())


def univariate(score):
    def select(X, y, k, center):
        with np.errstate(all="ignore"):
            return largest(score(X, y)[0], k)

    return select


PAPER = [
    ours("FCBF", FCBF(), most_columns=30_000, sparse=False),
    ours("QPFS", QPFS(), most_columns=10_000, sparse=False),
    ours("QPFS-N", QPFS(nystrom=0.01), most_columns=30_000, sparse=False),
    ours("FGM", FGM(), several_classes=False),
    ours("GDM", GDM(), several_classes=False),
    *(ours(f"{TUNED} {gamma:g}", MMFS(gamma=gamma, kernel="linear")) for gamma in GAMMAS),
]
DEFAULT = ours("MMFS", MMFS(), by_number=True)
OTHERS = [
    ours("MaxRel", MaxRel()),
    ours("mRMR", MRMR(), sparse=False),
    ours("mRMR (correlations)", MRMR(criterion="FCD")),
    ours("SVM-RFE", SVMRFE()),
    Method("L1-SVM", "scikit-learn LinearSVC(penalty='l1', C=1), k largest weights", l1_svm),
    Method(
        "L1-SVM (tuned)",
        "the smallest C of a grid with 1.5 k features, k largest weights",
        along_path(l1_svm_weights, np.geomspace(5e-5, 1.0, 15), room=1.5),
        by_number=True,
        most_columns=1_000_000,
    ),
]
PEERS = [
    Method("fastcan", "FastCan(n_features_to_select=k)", fastcan, sparse=False),
    Method("mrmrs", "mrmr(number_of_features=k)", mrmrs, sparse=False),
    Method(
        "celer",
        "Lasso path to 1.5 k features, k largest weights",
        along_path(celer_weights, np.geomspace(1, 0.01, 31)[1:], room=1.5),
        by_number=True,
    ),
    Method(
        "skglm",
        "l1 logistic path to 1.5 k features, k largest weights",
        along_path(skglm_weights, np.geomspace(1, 0.01, 16)[1:], room=1.5),
        by_number=True,
        several_classes=False,
    ),
    Method(
        "pyHSICLasso",
        "block HSIC Lasso, B=20, M=1",
        hsic_lasso,
        sparse=False,
        most_rows=300,
    ),
]
FILTERS = [
    Method("chi2", "scikit-learn chi2", univariate(chi2)),
    Method("f_classif", "scikit-learn f_classif", univariate(f_classif)),
]

_ALIGNED = MMFS(rank="alpha")
VARIANTS = [
    DEFAULT,
    ours("weights", _ALIGNED, by_number=True),
    ours("order of entry", MMFS(rank="path"), by_number=True),
    Method("bagged weights", f"of {SUBSAMPLES} halves, among 3 k candidates", bagged, True),
    Method(
        "second condition, weights",
        "gamma of the default, k largest weights",
        at_gamma_of(MMFS(), "alpha"),
        True,
    ),
    Method(
        "elimination from 1.5 k",
        "gamma with 1.5 k support features, elimination",
        at_gamma_of(_ALIGNED, "elimination"),
        True,
    ),
    with_constants("elimination, one at a time", MMFS(), GIVEN_UP=0.0),
    with_constants("elimination from 2 k", MMFS(), HEAD_ROOM=2.0, CANDIDATES=200),
    with_constants("elimination to a quarter of chance", MMFS(), OF_CHANCE=0.25),
    with_constants("elimination to the level of chance", MMFS(), OF_CHANCE=1.0),
    with_constants("elimination from at most 300", MMFS(), CANDIDATES=300),
    with_constants("weights, support of k", _ALIGNED, HEAD_ROOM=1.0),
    with_constants("weights, support of 2 k", _ALIGNED, HEAD_ROOM=2.0),
    ours("single gamma 0.01, weights", MMFS(gamma=0.01)),
    ours("single gamma 0.001, weights", MMFS(gamma=0.001)),
    ours("kernel linear", MMFS(kernel="linear"), by_number=True),
    ours("kernel poly2", MMFS(kernel="poly2"), by_number=True, most_columns=100_000),
    ours("kernel rbf", MMFS(kernel="rbf"), by_number=True, most_columns=100_000),
    ours(
        "kernel hsic",
        MMFS(kernel="hsic", relevance="hsic"),
        by_number=True,
        most_columns=30_000,
        most_rows=150,
    ),
    ours("kernel linear, weights", MMFS(kernel="linear", rank="alpha"), by_number=True),
]
QUICK = {"MMFS", "weights", "kernel linear", "MaxRel", "L1-SVM", f"{TUNED} 0.01"}
