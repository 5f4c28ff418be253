"""One fit: solve, rank, and what is to be remembered of it."""

from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from mmfs.errors import InputError, Parameter
from mmfs.features import Features
from mmfs.order import in_order
from mmfs.per_row import PerRow
from mmfs.prepare import PreparedProblem
from mmfs.problem import NONE
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

# Rounding of sums of costs; fits in which the number that can be paid for is found.
BUDGET_ROUNDING, BUDGET_ROUNDS = 1e-12, 4

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
    remote = prepared.data is not None and prepared.data.columns.source.remote
    kept = keeps_scores(settings.keep_scores, prepared.n_columns, remote)
    if settings.budget is None:
        ranked_by, solution, selected = _ranked(prepared, k, kept, rng, options)
    else:
        ranked_by, solution, selected = _within_budget(prepared, k, kept, rng, options)
    weights, b = weights_among(problem, solution, selected, rng)
    record = _record(prepared, solution, selected, ranked_by, weights, b)
    return Fit(prepared, solution, record, options)


def _ranked(
    prepared: PreparedProblem, k: int | None, kept: bool, rng: np.random.Generator, options: dict
) -> tuple[str, Solution, Array]:
    """How k columns were ranked, the joint solution, and these."""
    settings, problem = prepared.settings, prepared.problem
    rule = prepared.gamma_rule(settings.gamma, None if k is None else max(k, 1))
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
    selected = ranked(problem, solution, k, order)
    if len(selected) + len(prepared.included) == 0:  # at least one is promised
        selected = ranked(problem, solution, 1)
    return ranked_by, solution, selected


def _within_budget(
    prepared: PreparedProblem, k: int | None, kept: bool, rng: np.random.Generator, options: dict
) -> tuple[str, Solution, Array]:
    """As `_ranked`, of those that can be paid for; of so many as that are, in the end.

    How features rank depends a little on how many are asked for. So that many are asked for again.
    """
    assert prepared.costs is not None and prepared.settings.budget is not None
    costs = prepared.costs if prepared.left is None else prepared.costs[prepared.left]
    r = np.concatenate(prepared.problem.Q.ask(attrgetter("relevance")))
    left = prepared.settings.budget - float(prepared.costs[prepared.included].sum())
    cheapest = np.sort(costs[np.isfinite(r)])
    most = int(np.searchsorted(np.cumsum(cheapest), left * (1 + BUDGET_ROUNDING), side="right"))
    if left < 0 or (most == 0 and len(prepared.included) == 0):
        least = prepared.costs[prepared.included].sum() if left < 0 else cheapest[0]
        raise InputError(
            Parameter("budget", prepared.settings.budget), f" is less than {least:g}, what ",
            *((Parameter("must_include"), " costs") if left < 0 else ("the cheapest costs",)),
            "; raise it.",
        )  # fmt: skip
    asked = most if k is None else min(k, most)
    for _ in range(BUDGET_ROUNDS):
        ranked_by, solution, selected = _ranked(prepared, asked, kept, rng, options)
        paid = _paid_for(selected, costs[selected], left)
        if len(paid) >= asked - 1 or len(paid) == 0:
            break
        asked = len(paid) if k is None else min(k, max(len(paid), 1))
    return ranked_by, solution, paid


def _paid_for(J: Array, costs: Array, budget: float) -> Array:
    """Of columns in rank order those that can be paid for, one after the other."""
    kept, budget = [], budget * (1 + BUDGET_ROUNDING)
    for place, cost in enumerate(costs.tolist()):
        if cost <= budget:
            kept.append(place)
            budget -= cost
    return J[kept]


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
        ranked_by=ranked_by,
        weights=np.concatenate(
            [np.full(len(prepared.included), np.nan), weights / _costs(prepared, selected)]
        ),
        b=b,
        facts=problem.Q.facts_of(selected),
        runners_up=prepared.original(dropped),
        support=prepared.original(solution.J),
        alpha=solution.weights / _costs(prepared, solution.J),
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
    if (
        prepared.features is not None or not data.columns.adjustment.plain
    ):  # rows that differ cannot be exchanged
        return likely
    best, Y = in_order(-support.relevance, CHANCE_PERMUTATIONS), data.target.Y
    if len(best) == 0 or not n_permutations(*Y.shape):
        return likely
    F, r = support.block.only(best).dense(), support.relevance[best]
    r = r * _costs(prepared, support.J[best])
    return max(likely, permuted_chance(F, r, prepared.n_usable, Y))
