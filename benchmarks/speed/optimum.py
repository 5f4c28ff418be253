"""The same optimum by solvers of the Lasso.

With the aligned kernel and b = gamma s, the weights are those of the non-negative Lasso with
penalty b. Set-up is outside the clock, and told beside it: for the others an aligned copy of the
columns, of unit norm; for MMFS a pass that finds scale and sign of each. Every solver has the
largest tolerance of its own at which the objective is within one millionth of the best.
"""

import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Lasso

from benchmarks.measure import seconds_of
from benchmarks.speed.cases import make
from benchmarks.speed.timing import Contender, Unable, in_turns, row
from mmfs import MMFS
from mmfs.solvers import FixedGamma, solve

PART = "optimum"
CASES = [
    "dense, 100,000 x 1,000",
    "dense, 100 x 50,000",
    "dense, 1,000 x 20,000",
    "webspam, a quarter",
    "leukemia",
    "mnist_3v8",
    "news20",
    "enron",
]
NUMBERS = (10, 100)
PRECISION = 1e-6
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    warnings.simplefilter("ignore")
    case = make(name, folder, quick)
    X, center = case.X, not case.sparse  # sparse columns stay sparse for the others
    others, (F, y) = seconds_of(lambda: _aligned(X, case.y, center))
    model = MMFS(center=center)
    model._prepare(X, case.y)  # a turn that does not count
    own, (prepared, _) = seconds_of(lambda: model._prepare(X, case.y))
    out = []
    for k in NUMBERS:
        fit = MMFS(k, center=center, rank="alpha", tol=1e-10).fit(X, case.y)
        b, best = fit.b_, _objective(F, y, fit.alpha_, fit.b_)

        def ours(tol, gamma=fit.gamma_, k=k):
            return solve(prepared.problem, FixedGamma(gamma, k), tol=tol)

        def weights_of(solution):
            alpha = np.zeros(X.shape[1])
            alpha[solution.J] = solution.weights
            return alpha

        solvers = {"MMFS": (ours, weights_of)} | _peers(F, y, b)
        contenders: dict[str, Contender] = {}
        for solver, (run, weights) in solvers.items():
            contenders[solver] = _precise(run, weights, F, y, b, best)
        for solver, timed in in_turns(contenders, turns=2 if quick else 3).items():
            set_up = f"{own if solver == 'MMFS' else others:.4g}"
            out.append(row(name, solver, timed, K=k, b=f"{b:.4g}", set_up=set_up))
    return out


def _precise(run, weights, F, y, b, best) -> Contender:
    """With the largest tolerance that is precise enough."""
    for tol in TOLERANCES:
        try:
            objective = _objective(F, y, weights(run(tol)), b)
        except Exception as error:  # whatever a peer raises, the others go on
            return Unable(f"{type(error).__name__}: {error}"[:200])
        if objective - best <= PRECISION * abs(best):
            return lambda tol=tol: run(tol)
    return Unable(f"not within {PRECISION:g} of the optimum at tol = {TOLERANCES[-1]:g}")


def _aligned(X, y, center):
    """Columns of unit norm that point along y, and y, which is centred, of unit norm."""
    y = np.where(y == np.unique(y)[0], -1.0, 1.0)
    y = (y - y.mean()) / np.linalg.norm(y - y.mean())
    if sp.issparse(X):
        F = sp.csc_matrix(X, dtype=np.float64)
        norms = np.sqrt(F.multiply(F).sum(axis=0)).A1
    else:
        F = np.asarray(X, dtype=np.float64)
        F = np.asfortranarray(F - F.mean(axis=0) if center else F)
        norms = np.linalg.norm(F, axis=0)
    sign = np.where(F.T @ y < 0, -1.0, 1.0)
    scale = np.where(norms > 1e-12, sign / np.maximum(norms, 1e-12), 0.0)
    return (F @ sp.diags(scale)).tocsc() if sp.issparse(F) else F * scale, y


def _objective(F, y, alpha, b) -> float:
    rest = y - F @ alpha
    return float(rest @ rest / 2 + b * alpha.sum())


def _peers(F, y, b) -> dict:
    """Their objective is ours divided by the number of rows."""
    penalty, coef = b / len(y), lambda model: model.coef_
    shared = {"alpha": penalty, "fit_intercept": False, "positive": True}

    def scikit_learn(tol):
        return Lasso(**shared, tol=tol, max_iter=100_000).fit(F, y)

    def celer(tol):
        from celer import Lasso

        return Lasso(**shared, tol=tol).fit(F, y)

    def skglm(tol):
        from skglm import Lasso

        return Lasso(**shared, tol=tol).fit(F, y)

    return {
        "scikit-learn Lasso": (scikit_learn, coef),
        "celer": (celer, coef),
        "skglm": (skglm, coef),
    }
