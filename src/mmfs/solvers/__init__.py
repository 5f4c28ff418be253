"""Solvers of the problem: all take a Problem and a rule for gamma, all return a Solution."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mmfs.problem import Problem
from mmfs.solvers.dcd import plain_dcd
from mmfs.solvers.elimination import order_of_elimination, weights_among
from mmfs.solvers.gamma_search import FixedGamma, GammaRule, LargestGamma, SumToOne
from mmfs.solvers.path import (
    Point,
    Stop,
    along_path,
    follow,
    order_of_entry,
    stops_at,
)
from mmfs.solvers.qp import quadratic_programme
from mmfs.solvers.ranking import ranked
from mmfs.solvers.solution import Solution
from mmfs.solvers.working_set import working_set
from mmfs.threads import one_thread
from mmfs.warn import warn_caller

__all__ = [
    "SOLVERS",
    "FixedGamma",
    "GammaRule",
    "LargestGamma",
    "Point",
    "Solution",
    "Stop",
    "SumToOne",
    "order_of_elimination",
    "order_of_entry",
    "ranked",
    "solve",
    "solve_path",
    "stops_at",
    "weights_among",
]

SOLVERS: dict[str, Callable[..., Solution]] = {
    "working_set": working_set,
    "dcd": plain_dcd,
    "qp": quadratic_programme,
}


@one_thread
def solve(
    problem: Problem,
    rule: GammaRule,
    *,
    solver: str = "working_set",
    tol: float = 1e-4,
    max_iter: int = 1000,
    rng: np.random.Generator | None = None,
    **options: Any,
) -> Solution:
    """Solve to a relative duality gap of `tol`; warn if `max_iter` iterations do not suffice."""
    rng = np.random.default_rng(0) if rng is None else rng
    solution = SOLVERS[solver](problem, rule, tol=tol, max_iter=max_iter, rng=rng, **options)
    _warn_if_open(solution.certificate.relative_gap, solution.n_iter, solver, tol, max_iter)
    return solution


@one_thread
def solve_path(
    problem: Problem,
    stops: Sequence[Stop] | Solution,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    **options: Any,
) -> list[Point]:
    """`along_path` of stops, or `follow` to a solution; warn if `max_iter` rounds do not suffice.

    Whatever solver found the solution, a path is followed by the working set.
    """
    options |= {"tol": tol, "max_iter": max_iter}
    if isinstance(stops, Solution):
        points = follow(problem, stops, **options)
    else:
        points = along_path(problem, stops, **options)
    worst = max(points, key=lambda point: point.relative_gap)
    _warn_if_open(worst.relative_gap, worst.n_iter, "working_set", tol, max_iter)
    return points


def _warn_if_open(gap: float, n_iter: int, solver: str, tol: float, max_iter: int) -> None:
    if gap <= tol:  # not so for NaN
        return
    remedy = (
        f"raise max_iter (now {max_iter}), tol, or gamma"
        if n_iter >= max_iter
        else "raise tol; similarities of your own must be positive semi-definite"
    )
    warn_caller(
        f"solver={solver!r} stopped after {n_iter} iterations at a relative duality gap of "
        f"{gap:.1e}, above tol={tol:g}; the ranking may not be final: {remedy}.",
        ConvergenceWarning,
    )
