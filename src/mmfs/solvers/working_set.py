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
from mmfs.solvers.solution import Solution, in_order

Array = np.ndarray

# The fewest columns to add in a round; how deep a search may go below what is left outside.
FEWEST, DEPTH = 100, 0.25


def working_set(
    problem: Problem,
    aim: Aim,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    report: Any = None,
    **_: Any,
) -> Solution:
    """After every round `report(round, columns, gap)` is told."""
    r = problem.r
    r_max = max(float(r.max()), np.finfo(float).tiny)
    eps = 1e-2 * tol * r_max
    taken = problem.Q.take(_within_limit(in_order(-r, max(FEWEST, aim.fewest)), 0))
    Q = problem.Q.gram(taken, taken)
    alpha = np.zeros(len(taken.J))
    gamma, floor = None, -DEPTH * _without(-r, taken.J).min()
    for n_iter in range(1, max_iter + 1):
        descent = GramDescent(Q, r[taken.J], problem.C, eps, rng)
        descent.alpha[: len(alpha)] = alpha
        # Far below the relevance that the best column outside has left, a search would only find
        # what these columns can do without it.
        alpha, gamma, complete = aim(descent.solve, gamma, floor)
        verdict = problem.judge(taken, alpha, gamma)
        if report:
            report(n_iter, len(taken.J), verdict.relative_gap)
        closed = verdict.relative_gap <= tol
        if (closed and complete) or n_iter == max_iter:
            break
        b, outside = verdict.b, _without(verdict.gradient, taken.J)
        floor = DEPTH * min(b - outside.min(), r_max)
        n_more = max(FEWEST, aim.fewest, 2 * int(np.count_nonzero(alpha)))
        worst = in_order(outside, n_more, below=0.0 if complete else b - floor)
        if len(worst) == 0:
            if not closed:  # all that is missing is precision
                if eps < 1e-14 * r_max:
                    break
                eps /= 100
            continue
        new = problem.Q.take(_within_limit(worst, len(taken.J)))
        across = problem.Q.gram(taken, new)
        Q = np.block([[Q, across], [across.T, problem.Q.gram(new, new)]])
        taken = taken.join(new)
    support = alpha > 0
    return Solution(taken.J[support], alpha[support], gamma, verdict, n_iter)


def _within_limit(J: Array, n_taken: int) -> Array:
    """In the order of the data: that of their values may hang on rounding errors."""
    if n_taken + len(J) > GRAM_LIMIT:
        raise ValueError(
            f"this selection would have more than {GRAM_LIMIT:,} candidate features at once; "
            "raise gamma or C, or use solver='dcd'."
        )
    return np.sort(J)


def _without(values: Array, J: Array) -> Array:
    """A copy with infinity at the positions J."""
    values = values.copy()
    values[J] = np.inf
    return values
