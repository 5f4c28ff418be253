"""A few columns at a time.

Fetch the most relevant columns, solve the problem on them, scan the gradient of all columns, fetch
those that violate their margin most, and repeat until the duality gap over *all* columns is closed.
The answer is that of descent over all columns, for a handful of scans.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from mmfs.kernels import FetchedColumns
from mmfs.kernels.copies import standing
from mmfs.problem import Problem
from mmfs.solvers import tuning
from mmfs.solvers.dcd import OfGram
from mmfs.solvers.exact import ExactDescent, by_entries
from mmfs.solvers.gamma_search import FixedGamma, GammaRule
from mmfs.solvers.solution import Solution

Array = np.ndarray


class WorkingSet:
    """Columns fetched so far, distinct ones and copies, and the similarities of the distinct."""

    def __init__(
        self, problem: Problem, fetched: FetchedColumns, tol: float, hasty: bool = False
    ) -> None:
        """`hasty`: single precision may do for similarities, since scans tell the gradient."""
        self.problem, self.hasty, self.precise = problem, hasty, True
        self.r_max = max(problem.r_max, np.finfo(float).tiny)
        self.eps = self.finest = tuning.FINEST * tol * self.r_max
        self.everything = fetched  # copies too
        self.chosen = np.empty(0, dtype=np.intp)  # places of those that stand for themselves
        self._tell_apart()
        self._gram = np.empty((0, 0))

    @property
    def n_available(self) -> int:
        """Distinct columns that there may be, at most."""
        return self.problem.n_usable - len(self.everything.J) + len(self.chosen)

    @property
    def Q(self) -> Array:
        """Similarities among the distinct columns; what is known of them is kept."""
        known, n = len(self._gram), len(self.chosen)
        if n > tuning.GRAM_LIMIT:
            raise ValueError(
                f"this selection would have more than {tuning.GRAM_LIMIT:,} candidate features at "
                "once; raise gamma or C, or use solver='dcd'."
            )
        if known < n:
            fetched, Q = self.fetched, np.empty((n, n))
            single = self.hasty and fetched.block is not None and fetched.block.single
            self.precise = self.precise and not single
            similar = self.problem.Q.gram_from(fetched, known, single)
            own = similar[known:]
            Q[:known, :known], Q[known:, known:] = self._gram, (own + own.T) / 2  # but for rounding
            Q[:known, known:], Q[known:, :known] = similar[:known], similar[:known].T
            self._gram = Q
        return self._gram

    def descent(self, rng: np.random.Generator) -> ExactDescent:
        """If the columns are many, rough as long as others are missing, and on entries if few."""
        problem, fetched = self.problem, self.fetched
        known = by_entries(problem.Q, fetched) or OfGram(self.Q)
        eps = self.eps if len(fetched.J) > tuning.NARROW else self.finest
        return ExactDescent(known, problem.r(fetched), problem.C, eps, rng, problem.Q.rank)

    @property
    def known(self) -> FetchedColumns:
        """The distinct columns, with their similarities if these were needed."""
        similar = self._gram if len(self._gram) == len(self.chosen) else None
        return replace(self.fetched, similar=similar, precise=self.precise)

    def add(self, J: Array) -> None:
        """In the order of the data: that of their gradients may hang on rounding errors."""
        new = self.problem.Q.fetch(np.sort(J))
        self.everything = self.everything.join(new)
        self._tell_apart()

    def _tell_apart(self) -> None:
        """Which columns are the same; one that stands for others takes the place they had."""
        J, r, block = self.everything.J, self.everything.relevance, self.everything.block
        own = place = np.arange(len(J))
        if block is not None:
            place = standing(block, r, J, self.problem.Q.mirrors, self.problem.copies_agree)
        before, new = place[self.chosen], np.flatnonzero(place == own)
        self.chosen = np.concatenate([before, new[~np.isin(new, before)]])
        distinct = len(self.chosen) == len(J)
        self.fetched = self.everything if distinct else self.everything.only(self.chosen)
        self.copies = np.delete(J, self.chosen)

    def sharpen(self) -> bool:
        """Ask more of the next descent; False if that is past what rounding allows."""
        if self.eps <= self.finest:
            self.finest /= 100
        self.eps = max(self.finest, self.eps / 100)
        return self.finest >= 1e-16 * self.r_max


def working_set(
    problem: Problem,
    rule: GammaRule,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    whole: bool = False,
    on_round: Any = None,
) -> Solution:
    """After every round `on_round(round, columns, gap)` is told."""
    wanted = min(rule.fewest, problem.Q.rank)
    least = max(tuning.LEAST_ADDED, wanted)
    n_first = min(max(tuning.LEAST_ADDED, tuning.FIRST * wanted), tuning.GRAM_LIMIT)
    best, r = problem.Q.most_relevant(n_first + 1)
    first = problem.Q.fetch(np.sort(best[:n_first]))
    n_first = max(int(problem.Q.affordable(first) * n_first), min(least, n_first))
    first = first.only(np.isin(first.J, best[:n_first]))
    here = WorkingSet(problem, first, tol, hasty=tol >= tuning.SINGLE_PRECISION)
    enough = min(wanted, here.n_available)
    while 2 * len(here.chosen) < enough and n_first < tuning.GRAM_LIMIT:  # most are copies
        n_first = min(4 * n_first, tuning.GRAM_LIMIT)
        best, r = problem.Q.most_relevant(n_first + 1)
        here.add(best[:n_first][~np.isin(best[:n_first], here.everything.J)])
    here.eps, alpha = tuning.ROUGH * here.r_max, np.zeros(len(here.chosen))
    fixed, wider = isinstance(rule, FixedGamma), 1
    certificate, complete = None, False
    gamma, floor = None, tuning.DEPTH * problem.tau * float(r[n_first:].max(initial=-np.inf))
    for n_iter in range(1, max_iter + 1):
        descent = here.descent(rng)
        descent.alpha[: len(alpha)] = alpha
        # Far below the relevance that the best column outside has left, a search would only find
        # what these columns can do without it.
        limited = rule.limited(here.n_available)
        alpha, gamma, complete = limited(descent.solver, gamma, floor)
        n_more = wider * max(least, 2 * int(np.count_nonzero(alpha)))
        certificate = problem.certify(
            here.fetched, alpha, gamma, copies=here.copies, n_others=max(n_more, rule.fewest),
            whole=whole, earlier=certificate if complete else None,
        )  # fmt: skip
        others = certificate.others
        if on_round:
            on_round(n_iter, len(alpha), certificate.relative_gap)
        closed = certificate.relative_gap <= tol
        here.eps = max(here.finest, min(here.eps, tuning.ROUGH * certificate.violation))
        exact = fixed or descent.eps <= here.finest
        if (closed and complete and exact) or n_iter == max_iter:
            break
        if closed and complete:  # but a search was perhaps misled by rough solutions
            here.eps = here.finest
            continue
        J, G = others.J[:n_more], others.gradient[:n_more]
        floor = tuning.DEPTH * min(certificate.b - G.min(initial=np.inf), here.r_max)
        worst = J[G < (0.0 if complete else certificate.b - floor)]
        if len(worst):
            n_before = len(here.chosen)
            here.add(worst)
            wider = 1 if len(here.chosen) > n_before else 4 * wider  # all were copies
        elif not closed and not (fixed and here.eps < descent.eps) and not here.sharpen():
            break  # all that is missing is precision
    assert certificate is not None  # of one round at least
    return Solution(here.known, alpha, gamma, certificate, n_iter, here.copies)
