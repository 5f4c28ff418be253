"""A few columns at a time.

Take the most relevant columns, solve the problem on them, compute the gradient of every column in
one pass, add those columns that violate their margin most, and repeat until the duality gap over
*all* columns is closed. The answer is that of descent over all columns, for a handful of passes.
"""

from typing import Any

import numpy as np

from mmfs.problem import Problem
from mmfs.solvers.aims import Aim, AtGamma
from mmfs.solvers.dcd import GRAM_LIMIT
from mmfs.solvers.exact import NARROW, ExactDescent, OfGram, in_columns
from mmfs.solvers.solution import Solution, in_order

Array = np.ndarray

# The fewest columns to add in a round; for each that is needed, columns to begin with; how deep a
# search may go below what is left outside.
FEWEST, FIRST, DEPTH = 100, 2, 0.25

# Many columns are solved no more exactly than to a share of what margins are violated by anyway.
ROUGH = 0.1


class WorkingSet:
    """Columns taken so far, what is known of their similarities, and how exactly to solve."""

    def __init__(self, problem: Problem, J: Array, tol: float) -> None:
        self.problem = problem
        self.r_max = max(float(problem.r.max()), np.finfo(float).tiny)
        self.eps = self.finest = 1e-2 * tol * self.r_max
        self.taken = problem.Q.take(np.sort(J))
        self._gram = np.empty((0, 0))

    @property
    def Q(self) -> Array:
        """Similarities among the columns taken; what is known of them is kept."""
        known, n = len(self._gram), len(self.taken.J)
        if n > GRAM_LIMIT:
            raise ValueError(
                f"this selection would have more than {GRAM_LIMIT:,} candidate features at once; "
                "raise gamma or C, or use solver='dcd'."
            )
        if known < n:
            new = self.taken.only(np.arange(n) >= known) if known else self.taken
            similar, Q = self.problem.Q.gram(self.taken, new), np.empty((n, n))
            Q[:known, :known], Q[:known, known:], Q[known:] = self._gram, similar[:known], similar.T
            self._gram = Q
        return self._gram

    def descent(self, rng: np.random.Generator) -> ExactDescent:
        """If the columns are many, rough as long as others are missing, and on entries if few."""
        problem, many = self.problem, len(self.taken.J) > NARROW
        known = (in_columns(problem.Q, self.taken) if many else None) or OfGram(self.Q)
        eps = self.eps if many else self.finest
        return ExactDescent(known, problem.r[self.taken.J], problem.C, eps, rng)

    def outside(self, values: Array, n: int) -> Array:
        """The n columns with the smallest values, in order, that have not been taken."""
        J = in_order(values, n + len(self.taken.J))
        return J[~np.isin(J, self.taken.J)][:n]

    def add(self, J: Array) -> None:
        """In the order of the data: that of their values may hang on rounding errors."""
        self.taken = self.taken.join(self.problem.Q.take(np.sort(J)))

    def sharpen(self) -> bool:
        """Ask more of the next descent; False if that is past what rounding allows."""
        if self.eps <= self.finest:
            self.finest /= 100
        self.eps = max(self.finest, self.eps / 100)
        return self.finest >= 1e-16 * self.r_max


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
    n_first = min(max(FEWEST, FIRST * aim.fewest), GRAM_LIMIT)
    best = in_order(-problem.r, n_first + 1)
    here = WorkingSet(problem, best[:n_first], tol)
    here.eps, alpha = ROUGH * here.r_max, np.zeros(len(here.taken.J))
    at_gamma = isinstance(aim, AtGamma)
    gamma, floor = None, DEPTH * float(problem.r[best[n_first:]].max(initial=-np.inf))
    for n_iter in range(1, max_iter + 1):
        descent = here.descent(rng)
        descent.alpha[: len(alpha)] = alpha
        # Far below the relevance that the best column outside has left, a search would only find
        # what these columns can do without it.
        alpha, gamma, complete = aim(descent.solver, gamma, floor)
        verdict = problem.judge(here.taken, alpha, gamma)
        if report:
            report(n_iter, len(alpha), verdict.relative_gap)
        closed = verdict.relative_gap <= tol
        here.eps = max(here.finest, min(here.eps, ROUGH * verdict.violation))
        exact = at_gamma or descent.eps <= here.finest
        if (closed and complete and exact) or n_iter == max_iter:
            break
        if closed and complete:  # but a search was perhaps misled by rough solutions
            here.eps = here.finest
            continue
        n_more = max(FEWEST, aim.fewest, 2 * int(np.count_nonzero(alpha)))
        worst = here.outside(verdict.gradient, n_more)
        G = verdict.gradient[worst]
        floor = DEPTH * min(verdict.b - G.min(initial=np.inf), here.r_max)
        worst = worst[G < (0.0 if complete else verdict.b - floor)]
        if len(worst):
            here.add(worst)
        elif not closed and not (at_gamma and here.eps < descent.eps) and not here.sharpen():
            break  # all that is missing is precision
    return Solution(here.taken.only(alpha > 0), alpha[alpha > 0], gamma, verdict, n_iter)
