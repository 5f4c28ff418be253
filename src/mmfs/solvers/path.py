"""Many solutions for little more than one: neighbours share columns, weights and scans.

The columns that the richest solution needs are nearly all that the others need. So all are solved
on one small set, each started from the one before, and then certified together over all columns;
what violates its margin joins the set, and those whose gap is not yet closed are solved again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from mmfs.certify_path import certify_all
from mmfs.errors import InputError, Parameter
from mmfs.order import in_order
from mmfs.problem import Problem
from mmfs.solvers import tuning
from mmfs.solvers.gamma_search import FixedGamma, GammaRule
from mmfs.solvers.solution import Solution, by_weight
from mmfs.solvers.working_set import WorkingSet, working_set

Array = np.ndarray


class Stop(NamedTuple):
    """A place on the path: the rule for gamma, and the largest weight there."""

    rule: GammaRule
    C: float


@dataclass(frozen=True)
class Point:
    """A solution without what is not needed of it."""

    J: Array
    alpha: Array
    gradient: Array  # G_J
    gamma: float
    C: float
    b: float
    objective: float
    relative_gap: float
    n_iter: int
    worth: Array | None = None  # as that of fetched columns

    def ranked(self) -> Array:
        """The support by alpha descending, then G ascending, then index."""
        return by_weight(self.J, self.alpha, self.gradient, self.worth)


def along_path(
    problem: Problem,
    stops: Sequence[Stop],
    *,
    start: Array | None = None,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    on_round: Any = None,
) -> list[Point]:
    """A point for every stop; `start` holds columns known to matter, such as a support.

    The stops should be in order: each is started from the one before, and the last, which needs
    most columns, is solved first if there is no `start`.
    """
    if start is None:
        last, options = (
            stops[-1],
            {"tol": tol, "max_iter": max_iter, "rng": rng, "on_round": on_round},
        )
        start = working_set(replace(problem, C=last.C), last.rule, **options).J
    if len(start) > tuning.GRAM_LIMIT:
        raise InputError(
            f"a path is for at most {tuning.GRAM_LIMIT:,} support features, here are "
            f"{len(start):,}; let it end at a larger ", Parameter("gamma"), ", or use ",
            Parameter("rank", "alpha"), ".",
        )  # fmt: skip
    relevant = problem.Q.most_relevant(tuning.LEAST_ADDED)[0]
    here = WorkingSet(problem, problem.Q.fetch(np.union1d(start, relevant)), tol)
    points: dict[int, Point] = {}
    todo = list(range(len(stops)))
    for n_iter in range(1, max_iter + 1):
        Cs = np.array([stops[t].C for t in todo])
        alphas, gammas = _solve_on(here, [stops[t].rule for t in todo], Cs, rng)
        fetched = here.fetched
        certificates = certify_all(problem, fetched, here.Q, alphas, gammas, Cs, here.copies)
        others = certificates[0].others.J
        worst, unfinished = np.zeros(len(others)), []
        for t, alpha, gamma, found in zip(todo, alphas.T, gammas, certificates, strict=True):
            if found.relative_gap > tol:
                unfinished.append(t)
                np.minimum(worst, found.others.gradient, out=worst)
            support = np.flatnonzero(alpha > 0)
            points[t] = Point(
                J=fetched.J[support],
                alpha=alpha[support],
                gradient=found.gradient[support],
                gamma=float(gamma),
                C=stops[t].C,
                b=found.b,
                objective=found.objective,
                relative_gap=found.relative_gap,
                n_iter=n_iter,
                worth=fetched.only(support).worth,
            )
        if on_round:
            on_round(n_iter, len(fetched.J), max(some.relative_gap for some in certificates))
        todo = unfinished
        if not todo:
            break
        n_most = max(len(points[t].J) for t in todo)
        new = others[in_order(worst, max(tuning.LEAST_ADDED, 2 * n_most), below=0.0)]
        if len(new):
            here.add(new)
        elif not here.sharpen():  # all that is missing is precision
            break
    return [points[t] for t in range(len(stops))]


def _solve_on(
    here: WorkingSet, rules: list[GammaRule], Cs: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """The alpha of every rule on the fetched columns, each started from the one before; gammas."""
    descent, gamma = here.descent(rng), None
    alphas, gammas = np.empty((len(here.chosen), len(rules))), np.empty(len(rules))
    for t, (rule, C) in enumerate(zip(rules, Cs, strict=True)):
        descent.C = float(C)
        np.minimum(descent.alpha, C, out=descent.alpha)
        alphas[:, t], gamma, _ = rule.limited(here.n_available)(descent.solver, gamma)
        gammas[t] = gamma
    return alphas, gammas


def follow(problem: Problem, last: Solution, n: int = tuning.POINTS, **options: Any) -> list[Point]:
    """n points from where the second feature enters to a solution that is known."""
    assert last.gamma is not None  # the constrained form has no path
    gammas = falling_gammas(problem, last.gamma, n)
    return along_path(problem, stops_at(gammas, problem.C), start=last.J, **options)


def stops_at(gammas: Array, C: float) -> list[Stop]:
    return [Stop(FixedGamma(float(gamma)), C) for gamma in gammas]


def order_of_entry(points: Sequence[Point]) -> tuple[Array, Array]:
    """Columns as they enter the support, those that enter together by weight; and where."""
    entered: dict[int, int] = {}
    for t, point in enumerate(points):
        for j in point.ranked().tolist():
            entered.setdefault(j, t)
    return np.array(list(entered), dtype=np.intp), np.array(list(entered.values()), dtype=np.intp)


def falling_gammas(problem: Problem, last: float, n: int = tuning.POINTS) -> Array:
    """n values in equal ratios, from where the second feature enters (or HIGHEST) to `last`."""
    first = problem.Q.fetch(problem.Q.most_relevant(1)[0])
    own, r = float(problem.Q.gram(first, first)[0, 0]), float(problem.r(first)[0])
    enters = partial(_enters, own, r, problem.tau, problem.C)
    gamma = max(problem.Q.scan(first, np.ones((1, 1)), enters))
    highest = max(tuning.HIGHEST_GAMMA, r / problem.C)
    return np.geomspace(max(last, min(gamma, highest)), last, n)


@np.errstate(divide="ignore", invalid="ignore")
def _enters(own: float, r_j: float, tau: float, C: float, facts: Any, values: Array) -> float:
    """The largest gamma at which a column of a block enters beside the most relevant one, j.

    Until then only j has a weight: r_j / (Q_jj + gamma) or C. `own` is Q_jj.
    """
    similar, r = values[:, 0], tau * facts.relevance
    enters = (r * own - similar * r_j) / (r_j - r)
    enters[(r == r_j) & (similar < own)] = np.inf
    capped = r_j / C - own  # below this gamma the weight of j is C
    enters = np.fmax(enters, np.minimum(r / C - similar, capped))
    enters[similar >= tuning.SAME * own] = -np.inf  # j itself, and its copies
    return float(np.fmax.reduce(enters, initial=-np.inf))
