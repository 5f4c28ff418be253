"""The default solver: descent on a few promising columns, one pass to find what they miss.

A support has tens to thousands of columns among millions. So: take the most promising columns,
solve the problem on them alone, compute every column's gradient in one pass over the data, add
the columns that violate their margin most, and repeat until the duality gap over *all* columns
is closed. The answer is that of descent over all columns, for a handful of passes.
"""

from typing import Any

import numpy as np

from mmfs.problem import Problem
from mmfs.solvers.aims import Aim
from mmfs.solvers.dcd import GRAM_LIMIT, GramDescent
from mmfs.solvers.solution import Solution

Array = np.ndarray

# The fewest columns to add in a round.
FEWEST = 100


def working_set(
    problem: Problem,
    aim: Aim,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    first: int = FEWEST,
    report: Any = None,
    **_: Any,
) -> Solution:
    """`first` is the number of columns to begin with; `report(round, columns, gap)` is told."""
    r = problem.r
    eps = 1e-3 * tol * max(float(r.max()), np.finfo(float).tiny)
    taken = problem.Q.take(_lowest(-r, max(first, FEWEST, int(np.ceil(1 / problem.C)))))
    Q = problem.Q.gram(taken, taken)
    alpha = np.zeros(len(taken.J))
    gamma = None
    for n_iter in range(1, max_iter + 1):
        descent = GramDescent(Q, r[taken.J], problem.C, eps, rng)
        descent.alpha[: len(alpha)] = alpha
        alpha, gamma = aim(descent.solve, gamma)
        verdict = problem.judge(taken, alpha, gamma)
        if report:
            report(n_iter, len(taken.J), verdict.relative_gap)
        if verdict.relative_gap <= tol or n_iter == max_iter:
            break
        G = verdict.gradient.copy()
        G[taken.J] = np.inf
        worst = _lowest(G, max(FEWEST, 2 * int(np.count_nonzero(alpha))), below=0.0)
        if len(worst) == 0:  # all that is missing is precision
            if eps < 1e-15:
                break
            eps /= 100
            continue
        if len(taken.J) + len(worst) > GRAM_LIMIT:
            raise ValueError(
                f"this selection would have more than {GRAM_LIMIT:,} candidate features at once; "
                "raise gamma, or use solver='dcd'."
            )
        new = problem.Q.take(worst)
        across = problem.Q.gram(taken, new)
        Q = np.block([[Q, across], [across.T, problem.Q.gram(new, new)]])
        taken = taken.join(new)
    support = alpha > 0
    return Solution(taken.J[support], alpha[support], gamma, verdict, n_iter)


def _lowest(values: Array, n: int, below: float = np.inf) -> Array:
    """Positions, in increasing order, of the n smallest values among those below a limit."""
    candidates = np.flatnonzero(values < below)
    if len(candidates) > n:
        candidates = np.sort(candidates[np.argpartition(values[candidates], n - 1)[:n]])
    return candidates
