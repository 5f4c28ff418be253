"""One fit: solve, rank, and what is to be remembered of it."""

from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from mmfs.errors import InputError, Parameter
from mmfs.features import Features
from mmfs.order import in_order
from mmfs.per_row import PerRow
from mmfs.prepared import PreparedProblem
from mmfs.problem import NONE, Problem
from mmfs.progress import Progress
from mmfs.relevance import n_permutations, permuted_chance
from mmfs.settings import Settings
from mmfs.solvers import (
    Point,
    Solution,
    order_of_elimination,
    order_of_entry,
    ranked,
    solve,
    solve_path,
    weights_among,
)
from mmfs.threads import one_thread
from mmfs.validation import is_name, keeps_scores

Array = np.ndarray

# Level of significance: from this probability on, chance explains the largest relevance.
CHANCE = 0.05

# Rounding of sums of costs; fits in which the number that can be paid for is found; columns that
# are looked at besides twice as many as can be paid for.
BUDGET_ROUNDING, BUDGET_ROUNDS, LOOKED_AT = 1e-12, 4, 50

# Dropped columns that are remembered, the most relevant ones.
REMEMBERED = 1_000

# Support columns that are compared with permuted targets, the most relevant ones.
CHANCE_PERMUTATIONS = 10


@dataclass(frozen=True)
class FittedRecord:
    """What is remembered of a fit: little, unless more was asked for."""

    settings: Settings
    n_columns: int  # of X
    n_rows: int
    n_effective: float  # that would tell as much, if all weighed the same
    y: Array | None
    per_row: PerRow
    # The selection: columns, or features of several, in rank order, those that must be in first;
    # weights of the others among themselves (NaN of those), and the bias.
    features: Features | None
    indices: Array
    n_included: int
    excluded: Array
    ranked_by: str
    weights: Array
    b: float
    facts: Array  # of the selected columns: what others, or other rows, would not have
    runners_up: Array  # the most relevant dropped columns
    # The joint solution over all columns, and its certificate.
    support: Array
    alpha: Array
    gamma: float | None
    joint_b: float
    relative_gap: float
    objective: float
    n_iter: int
    n_scans: int
    # Of all columns.
    costs: Array | None  # their mean is 1
    n_usable: int
    n_constant: int
    n_duplicate: int
    n_missing: int
    largest: float  # relevance
    chance: float | None
    scores: dict[str, Array] | None  # with a value for every column, if kept


@dataclass(frozen=True)
class Fit:
    """A fit, with what it would take to go on from it: see `path_to`."""

    prepared: PreparedProblem
    solution: Solution
    record: FittedRecord
    options: dict[str, Any]

    def path_to(self, n: int) -> list[Point]:
        """n points of the path to the solution; no column is read for the first time again."""
        return solve_path(self.prepared.problem, self.solution, n=n, **self.options)


@one_thread
def fit(prepared: PreparedProblem, rng: np.random.Generator) -> Fit:
    """Solve the problem, rank the columns, remember what is to be known."""
    settings, problem = prepared.settings, prepared.problem
    k = prepared.number(settings.n_features_to_select)
    options = solver_options(settings, rng)
    if settings.budget is None:
        ranking = _ranking(prepared, k, rng, options)
        selected = ranking.first(k)
        if len(selected) + len(prepared.included) == 0:  # at least one is promised
            selected = ranking.first(1)
    else:
        ranking, selected = _within_budget(prepared, k, rng, options)
    weights, b = weights_among(problem, ranking.solution, selected, rng)
    record = _record(prepared, ranking.solution, selected, ranking.by, weights, b)
    return Fit(prepared, ranking.solution, record, options)


class Ranking(NamedTuple):
    """Columns in rank order: those of the joint solution by some rule, then others."""

    problem: Problem
    solution: Solution
    by: str
    order: Array | None

    def first(self, k: int | None) -> Array:
        """k columns; all of the support for None."""
        return ranked(self.problem, self.solution, k, self.order)


def _ranking(
    prepared: PreparedProblem, k: int | None, rng: np.random.Generator, options: dict[str, Any]
) -> Ranking:
    """As it is where k columns are to be selected."""
    settings, problem = prepared.settings, prepared.problem
    rule = prepared.gamma_rule(settings.gamma, None if k is None else max(k, 1))
    remote = prepared.data is not None and prepared.data.columns.source.remote
    kept = keeps_scores(settings.keep_scores, prepared.n_columns, remote)
    solution = solve(problem, rule, solver=settings.solver, whole=kept, **options)
    ranked_by, order = "alpha", None
    if settings.rank == "path":
        ranked_by = "path"
        order, _ = order_of_entry(solve_path(problem, solution, **options))
    elif prepared.eliminates(settings.gamma, k):
        ranked_by = "elimination"
        support, weights = solution.support, solution.weights
        assert solution.gamma is not None
        order = order_of_elimination(problem, support, weights, solution.gamma, rng)
    return Ranking(problem, solution, ranked_by, order)


def _within_budget(
    prepared: PreparedProblem, k: int | None, rng: np.random.Generator, options: dict[str, Any]
) -> tuple[Ranking, Array]:
    """Columns that can be paid for, in rank order.

    How columns rank depends a little on how many are asked for: as many as that are, in the end.
    """
    budget, costs = prepared.settings.budget, prepared.costs
    assert costs is not None and budget is not None
    left = budget - float(costs[prepared.included].sum())
    costs = costs if prepared.left is None else costs[prepared.left]
    r = np.concatenate(prepared.problem.Q.ask(attrgetter("relevance")))
    cheapest = np.sort(costs[np.isfinite(r)])
    most = int(np.searchsorted(np.cumsum(cheapest), left * (1 + BUDGET_ROUNDING), side="right"))
    if left < 0 or most + len(prepared.included) == 0:
        what = (Parameter("must_include"), " costs") if left < 0 else ("the cheapest costs",)
        least = budget - left if left < 0 else cheapest[0]
        raise InputError(
            Parameter("budget", budget), f" is less than {least:g}, what ", *what, "; raise it."
        )
    asked = most if k is None else min(k, most)
    for _ in range(BUDGET_ROUNDS):
        ranking, wanted = _ranking(prepared, asked, rng, options), asked
        selected = _paid_for(ranking, costs, left, wanted, len(cheapest))
        if len(selected) >= wanted - 1:
            break
        asked = max(len(selected), 1)
    return ranking, selected


def _paid_for(ranking: Ranking, costs: Array, budget: float, most: int, n_usable: int) -> Array:
    """The first columns, `most` at most, that can be paid for, one after the other."""
    n, budget = min(n_usable, 2 * most + LOOKED_AT), budget * (1 + BUDGET_ROUNDING)
    while True:
        kept: list[int] = []
        left = budget
        for j in ranking.first(n).tolist():
            if costs[j] <= left and len(kept) < most:
                kept.append(j)
                left -= costs[j]
        if kept or n == n_usable or most == 0:
            return np.array(kept, dtype=np.intp)
        n = min(n_usable, 4 * n)


@one_thread
def rank_point(
    prepared: PreparedProblem, point: Point, gamma: Any, k: int, rng: np.random.Generator
) -> Array:
    """The first k columns of a solution on a path, as `fit` would rank them at that gamma.

    Those that must be in count among the k, or are more.
    """
    problem, order = prepared.problem, point.ranked()
    k = k - len(prepared.included)
    if k < 1:
        return prepared.selection(NONE)
    enough = k <= len(point.J)
    if enough and not prepared.eliminates(gamma, k):
        return prepared.selection(order[:k])
    fetched = problem.Q.fetch(point.J)
    if prepared.eliminates(gamma, k):
        order = order_of_elimination(problem, fetched, point.alpha, point.gamma, rng)
    if enough:
        return prepared.selection(order[:k])
    certificate = problem.certify(fetched, point.alpha, point.gamma, n_others=2 * k)
    solution = Solution(fetched, point.alpha, point.gamma, certificate, point.n_iter, NONE)
    return prepared.selection(ranked(problem, solution, k, order))


def solver_options(settings: Settings, rng: np.random.Generator) -> dict[str, Any]:
    on_round = None
    if settings.progress is not None:
        on_round = partial(_in_words, settings.progress, settings.tol)
    return {"tol": settings.tol, "max_iter": settings.max_iter, "rng": rng, "on_round": on_round}


def _in_words(progress: Progress, tol: float, n_iter: int, n_columns: int, gap: float) -> None:
    wanted, reached = -np.log10(tol), -np.log10(max(gap, tol))
    text = f"round {n_iter}, {n_columns} columns, relative gap {gap:.1e}"
    progress(text, max(reached, 0.0), max(wanted, 0.0))  # in decades


def _record(
    prepared: PreparedProblem,
    solution: Solution,
    selected: Array,
    ranked_by: str,
    weights: Array,
    b: float,
) -> FittedRecord:
    certificate, problem = solution.certificate, prepared.problem
    relevant = prepared.similarity.most_relevant(REMEMBERED + len(selected))[0]
    dropped = relevant[~np.isin(relevant, selected)][:REMEMBERED]
    return FittedRecord(
        settings=replace(prepared.settings, progress=None),
        n_columns=prepared.n_columns,
        n_rows=prepared.n_rows,
        n_effective=prepared.n_effective,
        y=None if prepared.data is None else prepared.data.y.copy(),
        per_row=prepared.per_row,
        features=prepared.features,
        indices=prepared.selection(selected),
        n_included=len(prepared.included),
        excluded=prepared.excluded,
        ranked_by=ranked_by,
        weights=np.append(
            np.full(len(prepared.included), np.nan), prepared.weights(selected, weights)
        ),
        b=b,
        facts=problem.Q.facts_of(selected),
        runners_up=prepared.original(dropped),
        support=prepared.original(solution.J),
        alpha=prepared.weights(solution.J, solution.weights),
        costs=prepared.unit_costs,
        gamma=solution.gamma,
        joint_b=certificate.b,
        relative_gap=certificate.relative_gap,
        objective=certificate.objective,
        n_iter=solution.n_iter,
        n_scans=prepared.n_scans + (solution.n_iter if prepared.settings.solver == "dcd" else 0),
        n_usable=prepared.n_usable,
        n_constant=prepared.n_constant,
        n_duplicate=len(solution.copies),
        n_missing=prepared.n_missing,
        largest=prepared.largest_relevance,
        chance=_chance(prepared, solution),
        scores=_scores(prepared, solution),
    )


def _costs(prepared: PreparedProblem, J: Array) -> Array | float:
    """Of columns of the problem, if any have one; weights of the problem are theirs times these."""
    costs = prepared.unit_costs
    return 1.0 if costs is None else costs[prepared.original(J)]


def _scores(prepared: PreparedProblem, solution: Solution) -> dict[str, Array] | None:
    """Of every column relevance, redundancy and gradient in the joint solution, if kept."""
    certificate = solution.certificate
    if certificate.redundancies is None:
        return None
    r = np.maximum(np.concatenate(prepared.similarity.ask(attrgetter("relevance"))), 0.0)
    costs = _costs(prepared, np.arange(len(r)))
    redundancy = certificate.redundancies * costs
    gradient = redundancy + certificate.b * costs - prepared.problem.tau * r
    return {
        "relevance_": prepared.spread(r, 0.0),
        "redundancy_": prepared.spread(redundancy, 0.0),
        "gradient_": prepared.spread(gradient, certificate.b),
    }


def _chance(prepared: PreparedProblem, solution: Solution) -> float | None:
    """How likely the largest relevance is by chance, also by permutations of the target."""
    likely, support, data = prepared.likely, solution.support, prepared.data
    binned = is_name(prepared.kind, "binned_mutual_info")
    if likely is None or likely > CHANCE or support.block is None or data is None or binned:
        return likely
    if prepared.features is not None:
        return likely
    best, Y = in_order(-support.relevance, CHANCE_PERMUTATIONS), data.target.Y
    if len(best) == 0 or not n_permutations(*Y.shape):
        return likely
    F, r = support.block.only(best).dense(), support.relevance[best]
    r = r * _costs(prepared, support.J[best])
    adjustment, n_rows = data.columns.adjustment, data.n_effective
    return max(likely, permuted_chance(F, r, prepared.n_usable, Y, n_rows, adjustment))
