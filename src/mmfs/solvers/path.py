"""Many solutions for little more than one: neighbours share columns, weights and passes.

The columns that the richest solution needs are nearly all that the others need. So all are solved
on one small set, each started from the one before, and then judged together over all columns; what
violates its margin joins the set, and those whose gap is not yet closed are solved again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mmfs.problem import Problem
from mmfs.solvers.aims import Aim, AtGamma
from mmfs.solvers.dcd import GRAM_LIMIT
from mmfs.solvers.solution import Solution, by_weight, in_order
from mmfs.solvers.working_set import FEWEST, WorkingSet, working_set

Array = np.ndarray

# Points of a path, unless told otherwise; and the gamma above which b is within 1 % of max r.
POINTS, HIGHEST = 50, 100.0


class Stop(NamedTuple):
    """A place on the path: what is asked for, and the largest weight there."""

    aim: Aim
    C: float


@dataclass(frozen=True)
class Point:
    """A solution without the vectors over all columns."""

    J: Array
    alpha: Array
    gradient: Array  # G_J
    gamma: float
    C: float
    b: float
    objective: float
    relative_gap: float
    n_iter: int

    def ranked(self) -> Array:
        """The support by alpha descending, then G ascending, then index."""
        return by_weight(self.J, self.alpha, self.gradient)


def along_path(
    problem: Problem,
    stops: Sequence[Stop],
    *,
    start: Array | None = None,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    report: Any = None,
) -> list[Point]:
    """A point for every stop; `start` holds columns known to matter, such as a support.

    The stops should be in order: each is started from the one before, and the last, which needs
    most columns, is solved first if there is no `start`.
    """
    if start is None:
        last, options = stops[-1], {"tol": tol, "max_iter": max_iter, "rng": rng, "report": report}
        start = working_set(replace(problem, C=last.C), last.aim, **options).J
    if len(start) > GRAM_LIMIT:
        raise ValueError(
            f"a path is for at most {GRAM_LIMIT:,} support features, here are {len(start):,}; "
            "let it end at a larger gamma, or use rank='alpha'."
        )
    here = WorkingSet(problem, np.union1d(start, in_order(-problem.r, FEWEST)), tol)
    points: dict[int, Point] = {}
    todo = list(range(len(stops)))
    for n_iter in range(1, max_iter + 1):
        Cs = np.array([stops[t].C for t in todo])
        alphas, gammas = _solve_on(here, [stops[t].aim for t in todo], Cs, rng)
        among, verdicts = problem.judge_all(here.taken, here.Q, alphas, gammas, Cs)
        worst, unfinished = np.zeros(len(among)), []
        for t, alpha, gamma, verdict in zip(todo, alphas.T, gammas, verdicts, strict=True):
            if verdict.relative_gap > tol:
                unfinished.append(t)
                np.minimum(worst, verdict.gradient, out=worst)
            J = here.taken.J[alpha > 0]
            points[t] = Point(
                J=J,
                alpha=alpha[alpha > 0],
                gradient=verdict.gradient[np.searchsorted(among, J)],
                gamma=float(gamma),
                C=stops[t].C,
                b=verdict.b,
                objective=verdict.objective,
                relative_gap=verdict.relative_gap,
                n_iter=n_iter,
            )
        if report:
            report(n_iter, len(here.taken.J), max(v.relative_gap for v in verdicts))
        todo = unfinished
        if not todo:
            break
        worst[np.searchsorted(among, here.taken.J)] = np.inf
        n_most = max(len(points[t].J) for t in todo)
        new = among[in_order(worst, max(FEWEST, 2 * n_most), below=0.0)]
        if len(new):
            here.add(new)
        elif not here.sharpen():  # all that is missing is precision
            break
    return [points[t] for t in range(len(stops))]


def _solve_on(
    here: WorkingSet, aims: list[Aim], Cs: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """The alpha of every aim on the columns taken, each started from the one before; its gamma."""
    descent, gamma = here.descent(rng), None
    alphas, gammas = np.empty((len(here.taken.J), len(aims))), np.empty(len(aims))
    for t, (aim, C) in enumerate(zip(aims, Cs, strict=True)):
        descent.C = float(C)
        np.minimum(descent.alpha, C, out=descent.alpha)
        alphas[:, t], gamma, _ = aim(descent.solver, gamma)
        gammas[t] = gamma
    return alphas, gammas


def follow(problem: Problem, last: Solution, n: int = POINTS, **options: Any) -> list[Point]:
    """n points from where the second feature enters to a solution that is known."""
    assert last.gamma is not None  # the constrained form has no path
    gammas = falling_gammas(problem, last.gamma, n)
    return along_path(problem, stops_at(gammas, problem.C), start=last.J, **options)


def stops_at(gammas: Array, C: float) -> list[Stop]:
    return [Stop(AtGamma(float(gamma)), C) for gamma in gammas]


def order_of_entry(points: Sequence[Point]) -> tuple[Array, Array]:
    """Columns as they enter the support, those that enter together by weight; and where."""
    entered: dict[int, int] = {}
    for t, point in enumerate(points):
        for j in point.ranked().tolist():
            entered.setdefault(j, t)
    return np.array(list(entered), dtype=np.intp), np.array(list(entered.values()), dtype=np.intp)


def falling_gammas(problem: Problem, last: float, n: int = POINTS) -> Array:
    """n values in equal ratios, from where the second feature enters (or HIGHEST) to `last`.

    Until then only the most relevant column, j, has a weight: r_j / (Q_jj + gamma) or C.
    """
    r, C = problem.r, problem.C
    j = int(np.argmax(r))
    top = problem.Q.take(np.array([j]))
    similar, own = problem.Q.product(top, np.ones((1, 1)))[:, 0], problem.Q.gram(top, top)[0, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        enters = (r * own - similar * r[j]) / (r[j] - r)
    enters[(r == r[j]) & (similar < own)] = np.inf
    capped = r[j] / C - own  # below this gamma the weight of j is C
    enters = np.fmax(enters, np.minimum(r / C - similar, capped))
    enters[j] = last
    highest = max(HIGHEST, r[j] / C)
    return np.geomspace(max(last, min(np.nanmax(enters), highest)), last, n)
