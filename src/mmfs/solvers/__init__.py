"""Solvers of the problem: all take a Problem and an Aim, all return a Solution."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mmfs.problem import Problem
from mmfs.solvers.aims import Aim, AtGamma, UnitSum, below_level, enough_support
from mmfs.solvers.dcd import plain_dcd
from mmfs.solvers.qp import quadratic_programme
from mmfs.solvers.solution import Solution
from mmfs.solvers.working_set import working_set

__all__ = [
    "SOLVERS",
    "Aim",
    "AtGamma",
    "Solution",
    "UnitSum",
    "below_level",
    "enough_support",
    "solve",
]

SOLVERS: dict[str, Callable[..., Solution]] = {
    "working_set": working_set,
    "dcd": plain_dcd,
    "qp": quadratic_programme,
}


def solve(
    problem: Problem,
    aim: Aim,
    *,
    solver: str = "working_set",
    tol: float = 1e-4,
    max_iter: int = 1000,
    rng: np.random.Generator | None = None,
    **options: Any,
) -> Solution:
    """Solve to a relative duality gap of `tol`; warn if `max_iter` iterations do not suffice."""
    rng = np.random.default_rng(0) if rng is None else rng
    solution = SOLVERS[solver](problem, aim, tol=tol, max_iter=max_iter, rng=rng, **options)
    if not solution.verdict.relative_gap <= tol:
        remedy = (
            f"raise max_iter (now {max_iter}), tol, or gamma"
            if solution.n_iter >= max_iter
            else "raise tol; similarities of your own must be positive semi-definite"
        )
        warnings.warn(
            f"solver={solver!r} stopped after {solution.n_iter} iterations at a relative duality "
            f"gap of {solution.verdict.relative_gap:.1e}, above tol={tol:g}; the ranking may not "
            f"be final: {remedy}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return solution
