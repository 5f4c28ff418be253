"""Selecting from more columns than there is room for a number of each.

The workers that hold the data keep what is known of every column. Here are only the most relevant
ones, among which the problem is solved; then every column is asked whether it violates its margin
in that solution. Those that do are added, and all is done again, mostly never: what is certified in
the end is a solution over all columns.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mmfs.columns.cluster import DaskColumns, DaskData, Held, by_range, compute, delayed
from mmfs.columns.distinct import fingerprint_vectors
from mmfs.kernels import directions
from mmfs.posing import Posed, check_combinations
from mmfs.problem import Verdict, judge
from mmfs.relevance import chance_of, correlation, level_of_chance
from mmfs.solvers import Solution, in_order
from mmfs.target import encode_target
from mmfs.validation import check_parameters, is_name, number_to_select, read_input
from mmfs.warn import warn_caller

Array = np.ndarray

# Columns of which all numbers are held here; of more, so many of the most relevant (or as many for
# each that is asked for), and of those that violate their margins at once.
HELD, MOST_RELEVANT, FOR_EACH, VIOLATORS = 1_000_000, 100_000, 10, 10_000

# Rounds of adding columns, at most; steps of relevance up to 1; columns among which equal ones are
# counted.
ROUNDS, LEVELS, COUNTED = 20, (0x3F800000 >> 17) + 1, 1 << 22


def fit(selector: Any, X: DaskData, y: Any) -> None:
    """Fit an MMFS: solve among the most relevant columns, until all others agree."""
    check_parameters(selector)
    check_combinations(selector)
    whole = Whole(selector, X, y)
    for _ in range(ROUNDS):
        posed, rng = selector._pose(whole.part(), whole.y)
        posed = whole.complete(posed)
        solution, selected = selector._solve(posed, rng)
        verdict, missing = whole.judge(posed, solution, selected)
        unsolved = solution.verdict.relative_gap > selector.tol  # which has been warned of
        if len(missing) == 0 or unsolved:
            break
        whole.J = np.union1d(whole.J, missing)
    else:
        warn_caller(
            f"columns were still being added after {ROUNDS} rounds, at a relative duality gap of "
            f"{verdict.relative_gap:.1e}; raise tol or gamma.",
            ConvergenceWarning,
        )
    selector.gap_, selector.n_features_in_ = verdict.relative_gap, whole.n_columns
    selector.n_constant_ = whole.n_columns - whole.n_usable
    selector.n_duplicate_ = whole.n_usable - whole.n_distinct
    selector.n_passes_ = whole.columns.n_passes


class Seen(NamedTuple):
    """What is told of a block of columns."""

    n_usable: int
    n_bad: int  # with values that are not finite
    bad: int  # the first of them
    levels: Array  # how many columns have a relevance of each of LEVELS


class Outside(NamedTuple):
    """Columns with a small gradient."""

    J: Array
    gradient: Array
    r: Array


class Whole:
    """All columns, as seen through their summaries."""

    def __init__(self, selector: Any, X: DaskData, y: Any) -> None:
        _check(selector)
        self.X, self.tol = X, selector.tol
        _, self.y = read_input(selector, X, y, needs_y=True)
        self.target = encode_target(self.y, selector.task)
        self.columns: DaskColumns = X.columns(center=selector.center, n_jobs=None)
        marks = fingerprint_vectors(X.shape[0], selector.center)
        self.columns.hold(np.hstack([self.target.Y, marks]))
        self.q = self.target.Y.shape[1]
        self.n_columns = X.shape[1]
        seen = compute([delayed(_seen)(held, self.q) for held in self.columns.held])
        self._refuse_bad(seen)
        self.n_usable = sum(some.n_usable for some in seen)
        asked = selector.n_features_to_select
        k = number_to_select(asked, self.n_columns, self.n_usable, unasked=1) or 1
        self.n_distinct = self._count_distinct(mirrors=is_name(selector.kernel, "aligned"))
        self.J = self._most_relevant(seen, max(MOST_RELEVANT, FOR_EACH * k))

    def _most_relevant(self, seen: list[Seen], n: int) -> Array:
        """n columns, among those down to the level that so many reach."""
        levels = np.array([some.levels for some in seen]).sum(axis=0, dtype=np.int64)
        reached = np.cumsum(np.flip(levels))
        level = max(LEVELS - 1 - int(np.searchsorted(reached, n)), 0)
        found = compute([
            delayed(_above)(held, self.q, level, n, part.start)
            for held, part in zip(self.columns.held, self.columns.parts, strict=True)
        ])  # fmt: skip
        J, r = map(np.concatenate, zip(*found, strict=True))
        return np.sort(J[in_order(-r, n)])

    def part(self) -> DaskData:
        return self.X.of_columns(self.J)

    def complete(self, posed: Posed) -> Posed:
        """The problem of the part, with what is known of the whole."""
        n_rows, n_outputs = self.target.Y.shape
        level = level_of_chance(self.n_distinct, n_rows, n_outputs)
        n_columns, n_eligible = self.n_columns, self.n_distinct
        return replace(
            posed, chance=lambda: level, n_columns=n_columns, n_eligible=n_eligible, left=self.J,
            likely=chance_of("correlation", posed.relevance, n_eligible, self.target),
        )  # fmt: skip

    def judge(self, posed: Posed, solution: Solution, selected: Array) -> tuple[Verdict, Array]:
        """The verdict over all columns, and those that are missing here."""
        verdict, problem, tau = solution.verdict, posed.problem, posed.tau
        block, U = solution.taken.block, solution.taken.U
        assert block is not None
        alpha = solution.alpha[:, None]
        W = block.combine(alpha if U is None else alpha * U)
        # Columns to make up the number are those with the smallest gradients of all.
        here = np.append(selected, solution.J)
        below = max(0.0, float(verdict.gradient[here].max(initial=0.0)))
        parts, known = self.columns.parts, by_range(self.J, self.columns.parts)
        tasks = zip(self.columns.products(W), self.columns.held, strict=True)
        found = compute([
            delayed(_outside)(products, held, self.q, U is not None, verdict.b, tau, below,
                              known.get(n, np.empty(0, dtype=int)), parts[n].start)
            for n, (products, held) in enumerate(tasks)
        ])  # fmt: skip
        J, G, r = map(np.concatenate, zip(*found, strict=True))
        redundancy = np.concatenate([verdict.redundancy, G - verdict.b + tau * r])
        everything = judge(
            solution.J, solution.alpha, redundancy, np.concatenate([problem.r, tau * r]), problem.C,
            solution.gamma,
        )  # fmt: skip
        if any(len(some.J) == VIOLATORS for some in found):  # and there may be more
            everything = replace(everything, gap=np.inf)
        closed = everything.relative_gap <= max(self.tol, verdict.relative_gap)
        wanted = in_order(G, VIOLATORS) if below > 0 or not closed else G[:0].astype(int)
        return everything, J[wanted]

    def _refuse_bad(self, seen: list[Seen]) -> None:
        n_bad = sum(some.n_bad for some in seen)
        if n_bad:
            number = next(n for n, some in enumerate(seen) if some.n_bad)
            first = self.columns.parts[number].start + seen[number].bad
            others = f" ({n_bad:,} columns are affected)" if n_bad > 1 else ""
            raise ValueError(
                "X has NaN, infinity, or numbers too large or too small to square in column "
                f"{first}{others}; impute, rescale or drop it."
            )

    def _count_distinct(self, mirrors: bool) -> int:
        """Columns that are not constant, equal ones once; of very many, counted in a sample."""
        one_in = 1 << max(0, (self.n_usable // COUNTED).bit_length())
        keys = [delayed(_keys)(held, self.q, mirrors, one_in) for held in self.columns.held]
        return min(one_in * compute([delayed(_distinct)(keys)])[0], self.n_usable)


def _check(selector: Any) -> None:
    wrong = None
    if not (is_name(selector.kernel, "aligned") or is_name(selector.kernel, "linear")):
        wrong = f"kernel={selector.kernel!r}: take 'aligned' or 'linear'"
    elif not is_name(selector.relevance, "correlation"):
        wrong = "that relevance: take 'correlation'"
    elif selector.solver != "working_set":
        wrong = f"solver={selector.solver!r}: take 'working_set'"
    elif selector.keep_scores is True:
        wrong = "keep_scores=True: leave it 'auto'"
    if wrong:
        raise ValueError(f"a Dask array of more than {HELD:,} columns does not go with {wrong}.")


# --- what workers do ----------------------------------------------------------------------------


def _seen(held: Held, q: int) -> Seen:
    bad, r = np.flatnonzero(~np.isfinite(held.inverse)), _relevance(held, q)
    levels = np.bincount(_levels(r[r >= 0]), minlength=LEVELS).astype(np.int32)
    return Seen(int(levels.sum()), len(bad), int(bad[0]) if len(bad) else -1, levels)


def _relevance(held: Held, q: int) -> Array:
    return np.where(held.inverse > 0, correlation(held.products[:, :q]), -1.0)


def _levels(r: Array) -> Array:
    """Steps of a hundredth or so: exponent and first digits of a number from 0 to 1."""
    return r.astype(np.float32).view(np.uint32) >> 17


def _above(held: Held, q: int, level: int, n: int, start: int) -> tuple[Array, Array]:
    """The n most relevant columns, of those that reach a level, and their relevance."""
    r = _relevance(held, q)
    reached = (r >= 0) & (_levels(np.maximum(r, 0.0)) >= level)
    J = in_order(np.where(reached, -r, np.inf), n)
    return start + J, r[J]


def _outside(
    products: Array, held: Held, q: int, aligned: bool, b: float, tau: float, below: float,
    known: Array, start: int,
) -> Outside:  # fmt: skip
    """Columns with a gradient below a limit that are not known yet."""
    of_target = held.products[:, :q]
    redundancy = products[:, 0]
    if aligned:
        redundancy = np.einsum("jc,jc->j", products, directions(of_target))
    r = _relevance(held, q)
    G = np.where(r >= 0, redundancy + b - tau * r, np.inf)
    G[known] = np.inf
    J = in_order(G, VIOLATORS, below=below)
    return Outside(start + J, G[J], r[J])


def _keys(held: Held, q: int, mirrors: bool, one_in: int) -> Array:
    """Fingerprints as whole numbers, each once; of several, equal ones all or none."""
    marks = np.rint(held.products[held.inverse > 0, q:] * 2.0**33).astype(np.int64)
    if mirrors:
        marks *= np.where(marks[:, :1] < 0, -1, 1)
    keys = marks[:, 0] * np.int64(0x9E3779B97F4A7C15 - 2**64) + marks[:, 1]
    return _once(keys[(keys >> 32) % one_in == 0])


def _distinct(keys: list[Array]) -> int:
    return len(_once(np.concatenate(keys)))


def _once(keys: Array) -> Array:
    """Each number once, in order; NumPy's `unique` takes ten times as long."""
    keys = np.sort(keys)
    return keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
