"""The problem handed to a general quadratic programming library: for small data and as a check.

Both the paper's primal (eq. 1, with or without slack) and its dual; the primal where there are more
columns than rows, as the paper advises.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.problem import Problem
from mmfs.solvers import tuning
from mmfs.solvers.dcd import clean
from mmfs.solvers.gamma_search import GammaRule, InnerSolver, SumToOne
from mmfs.solvers.solution import Solution
from mmfs.solvers.working_set import WorkingSet

Array = np.ndarray


def quadratic_programme(
    problem: Problem, rule: GammaRule, *, tol: float, max_iter: int, whole: bool = False, **_: Any
) -> Solution:
    """Solve by clarabel; `max_iter` bounds the iterations of one of its solves."""
    if problem.n_usable > tuning.QP_LIMIT:
        raise ValueError(
            f"solver='qp' is for at most {tuning.QP_LIMIT:,} usable columns, here are "
            f"{problem.n_usable:,}; use solver='working_set'."
        )
    J = np.sort(problem.Q.most_relevant(problem.n_usable)[0])
    everything = WorkingSet(problem, problem.Q.fetch(J), tol)
    fetched = everything.fetched
    r, C, rule = problem.r(fetched), problem.C, rule.limited(len(fetched.J))
    n_iter = 0
    features = problem.Q.explicit_features(fetched)
    gram = problem.Q.gram(fetched, fetched) if features is None else np.empty(0)

    def solve(gamma: float | None, shift: float) -> Array:
        nonlocal n_iter
        solver, matrix = (solve_dual, gram) if features is None else (solve_primal, features)
        alpha, n = solver(matrix, r - shift, C, gamma, max_iter)
        n_iter += n
        alpha = clean(alpha, tuning.QP_UNCERTAIN)
        return np.where(alpha > (1 - tuning.QP_UNCERTAIN) * C, C, alpha)

    if isinstance(rule, SumToOne):  # the library takes the constraint s = 1 as it is
        alpha, gamma = rule.exact(solve(None, 0.0)), None
    else:
        alpha, gamma = rule(InnerSolver(solve))[:2]
    copies = everything.copies
    certificate = problem.certify(fetched, alpha, gamma, copies=copies, whole=whole)
    return Solution(fetched, alpha, gamma, certificate, n_iter, copies)


def solve_dual(
    Q: Array, r: Array, C: float, gamma: float | None, max_iter: int = 200
) -> tuple[Array, int]:
    """min 1/2 a'(Q + gamma 11')a - r'a over the box; gamma None: 1/2 a'Qa - r'a with 1'a = 1."""
    n = len(r)
    H = Q if gamma is None else Q + gamma
    rows, bounds = [-sp.eye_array(n)], [np.zeros(n)]
    if np.isfinite(C):
        rows.append(sp.eye_array(n))
        bounds.append(np.full(n, C))
    equal = np.ones((1, n)) if gamma is None else None
    x, _, n_iter = _clarabel(H, -r, sp.vstack(rows), np.concatenate(bounds), equal, max_iter)
    return x, n_iter


def solve_primal(
    phi: Array, r: Array, C: float, gamma: float | None, max_iter: int = 200
) -> tuple[Array, int]:
    """The multipliers alpha of w'phi_j + b >= r_j - xi_j in the primal,

    min over w, b, xi >= 0 of  1/2 w'w + b + C sum xi      (gamma None; the paper's eq. 1)
                           or  1/2 w'w + b^2 / (2 gamma) + C sum xi;
    without xi when C is infinite (hard margin).
    """
    m, n = phi.shape
    soft = np.isfinite(C)
    n_slack = n if soft else 0
    curvature = np.concatenate([np.ones(m), [0.0 if gamma is None else 1 / gamma]])
    linear = np.concatenate([np.zeros(m), [1.0 if gamma is None else 0.0], np.full(n_slack, C)])
    margins = [sp.csc_array(-phi.T), -np.ones((n, 1))]
    rows = sp.hstack([*margins, -sp.eye_array(n)] if soft else margins)
    bounds = -r
    if soft:
        rows = sp.vstack([rows, sp.hstack([sp.csc_array((n, m + 1)), -sp.eye_array(n)])])
        bounds = np.concatenate([bounds, np.zeros(n)])
    H = sp.diags_array(np.concatenate([curvature, np.zeros(n_slack)]))
    _, z, n_iter = _clarabel(H, linear, rows, bounds, None, max_iter)
    return z[:n], n_iter


def _clarabel(
    H: Any, linear: Array, rows: Any, bounds: Array, equal: Array | None, max_iter: int
) -> tuple[Array, Array, int]:
    """min 1/2 x'Hx + linear'x with rows x <= bounds (and equal x = 1).

    Returns x, the multipliers of the rows, and the number of iterations.
    """
    try:
        import clarabel
    except ImportError:
        raise ImportError(
            "solver='qp' needs the package clarabel: pip install 'mmfs[qp]'."
        ) from None
    cones = [clarabel.NonnegativeConeT(len(bounds))]
    if equal is not None:
        rows, bounds = sp.vstack([rows, sp.csc_array(equal)]), np.append(bounds, 1.0)
        cones.append(clarabel.ZeroConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iter
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tuning.QP_PRECISION
    H, rows = sp.csc_matrix(sp.triu(H)), sp.csc_matrix(rows)
    answer = clarabel.DefaultSolver(H, linear, rows, bounds, cones, settings).solve()
    return np.array(answer.x), np.array(answer.z), answer.iterations
