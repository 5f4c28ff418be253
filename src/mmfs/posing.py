"""From data and parameters to the problem that is solved."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from mmfs.columns import Columns
from mmfs.hsic import as_hsic, hsic
from mmfs.kernels import Precomputed, Similarity, similarity_of
from mmfs.problem import Problem
from mmfs.relevance import chance_of, given, level_of_chance
from mmfs.solvers import Aim, AtGamma, UnitSum, below_level, enough_support
from mmfs.validation import check_similarities, is_name, number_to_select, read_input
from mmfs.warn import warn_caller

Array = np.ndarray

# gamma="auto" leaves room to tell features apart: support for 1.5 K, of which the best K are taken.
# Beyond LARGEST support features the gradient alone ranks the rest.
HEAD_ROOM, LARGEST = 1.5, 2_000

# Kernels that call columns without correlation not similar at all.
UNRELATED = ("aligned", "linear", "poly2")

# Elimination starts from more: all with half the relevance left that chance gives to one, up to so
# many candidates. `benchmarks.accuracy` compares other values of these constants.
OF_CHANCE, CANDIDATES = 0.5, 150


@dataclass(frozen=True)
class Posed:
    """The problem, and what else is known of the columns."""

    problem: Problem
    relevance: Array  # r before it is multiplied by tau
    usable: Array  # not constant
    eligible: Array  # usable, and not the same as another column that stands for it
    marks: Array  # what distinguishes each column from what it would be in other data
    y: Array | None
    columns: Columns | None  # None where similarities were given instead of data
    n_outputs: int
    tau: float
    chance: Callable[[], float]  # the relevance that one in N random columns exceeds
    Y: Array | None  # the target, as vectors
    likely: float | None  # how likely the largest relevance is by chance, if that can be told
    n_columns: int  # of X, also where some of its columns were left out
    n_eligible: int  # of those
    left: Array | None  # and these are the others

    @property
    def n_rows(self) -> int:
        return len(self.usable) if self.columns is None else self.columns.shape[0]

    @property
    def repeated(self) -> Array:
        return self.usable & ~self.eligible

    @property
    def n_passes(self) -> int:
        return 1 if self.columns is None else self.columns.n_scans

    def number(self, asked: int | float | None) -> int | None:
        return number_to_select(asked, self.n_columns, int(self.usable.sum()))

    def original(self, J: Array) -> Array:
        """Columns of X that are columns J of the problem."""
        return J if self.left is None else self.left[J]

    def spread(self, values: Array, of_empty: float) -> Array:
        """Values of all columns of X from those of the problem."""
        if self.left is None:
            return values
        out = np.full(self.n_columns, of_empty)
        out[self.left] = values
        return out

    def eliminates(self, rank: str, gamma: Any, k: int | None) -> bool:
        """Whether k features are chosen by elimination; "auto" does so if gamma is found too."""
        if rank != "auto":
            return rank == "elimination"
        few = k is not None and HEAD_ROOM * k <= CANDIDATES
        return few and isinstance(gamma, str) and self.columns is not None

    def aim(self, gamma: Any, k: int | None, rank: str) -> Aim:
        """What "auto", or a gamma, asks of the solver for k features (None: as many as matter)."""
        if not isinstance(gamma, str):
            return AtGamma(float(gamma), k or 1)
        if k is None:
            if self.columns is None:
                warn_caller(
                    "similarities do not tell how many instances there were, so the level of "
                    "chance is that of as many as there are features; pass n_features_to_select or "
                    "gamma."
                )
            return below_level(self.tau * self.chance())
        n = min(int(np.ceil(HEAD_ROOM * k)), LARGEST)
        if self.columns is not None and self.eliminates(rank, gamma, k):
            return self.support(n, OF_CHANCE * self.tau * self.chance(), CANDIDATES)
        return self.support(n)

    def support(self, n: int, level: float = np.inf, most: int = 0) -> Aim:
        """The largest gamma with n support features (more: `enough_support`), if there are."""
        r_max, most = float(self.problem.r.max()), min(most, self.n_eligible)
        return enough_support(min(n, self.n_eligible), r_max, level, most)

    def unit_sum(self) -> Aim:
        """The constrained form."""
        C, n_eligible = self.problem.C, self.n_eligible
        if n_eligible * C < 1:
            raise ValueError(
                f"formulation='constrained' asks for weights that sum to 1, but {n_eligible} "
                f"distinct columns with weights up to C={C:g} cannot reach it; take C of at least "
                f"{1 / n_eligible:.3g}."
            )
        return UnitSum(float(self.problem.r.max()), C)


def check_combinations(selector: Any) -> None:
    """Parameters of an MMFS that do not go together."""
    constrained = selector.formulation == "constrained"
    if constrained and selector.rank in ("path", "elimination"):
        raise ValueError(
            f"rank={selector.rank!r} needs gamma, which formulation='constrained' does not have; "
            "take rank='alpha'."
        )
    if constrained and not is_name(selector.gamma, "auto"):
        raise ValueError(
            f"gamma={selector.gamma!r} has no meaning with formulation='constrained', where theta "
            "plays its part; leave gamma='auto'."
        )
    if as_hsic(selector.kernel) and not selector.center:
        raise ValueError(
            "center=False has no meaning with kernel='hsic', which only looks at differences "
            "between rows; leave center=True."
        )
    if is_name(selector.kernel, "precomputed") and isinstance(selector.relevance, str | hsic):
        raise ValueError(
            "kernel='precomputed' needs the relevance of each feature as an array, since X "
            f"holds similarities instead of data; got relevance={selector.relevance!r}."
        )


def by_name(relevance: Any, X: Any) -> Any:
    """A Series of relevances in the order of the columns of X, if both name these."""
    if not (hasattr(relevance, "reindex") and hasattr(X, "columns") and hasattr(X, "iloc")):
        return relevance
    if not set(X.columns) <= set(relevance.index):
        raise ValueError(
            "the index of relevance does not have the names of the columns of X; pass "
            "relevance.to_numpy() if it has them in the same order."
        )
    return relevance.loc[list(X.columns)]


def kind_of_relevance(selector: Any) -> Any:
    """As asked for; "hsic" compares rows as the kernel does, if that is one of its kind."""
    if is_name(selector.relevance, "hsic"):
        return as_hsic(selector.kernel) or hsic()
    return selector.relevance


def pose(
    selector: Any, X: Any, y: Any, rng: np.random.RandomState, leave_out_empty: bool = False
) -> Posed:
    """Read X and y under the parameters of `selector`, an MMFS.

    The problem may be without the empty columns of X, where they are similar to none.
    """
    check_combinations(selector)
    if is_name(selector.kernel, "precomputed"):
        X, y = read_input(selector, X, y, needs_y=False)
        similarity: Similarity = Precomputed(check_similarities(X))
        usable = eligible = np.ones(len(X), dtype=bool)
        kind = selector.relevance
        r = given(kind(X, y) if callable(kind) else kind, usable, selector.relevance_scale)
        columns, n_outputs, n_rows, marks, data = None, 1, len(X), X.sum(axis=1), None
        n_columns, left = len(X), None
    else:
        kind = by_name(kind_of_relevance(selector), X)
        leave_out_empty &= isinstance(kind, str) and selector.kernel in UNRELATED
        data = selector._read(X, y, selector.task, selector.center, leave_out_empty)
        similarity = similarity_of(selector.kernel, data.columns, data.products)
        usable, n_columns, left = data.usable, selector.n_features_in_, data.left
        r = data.relevance(kind, rng, selector.relevance_scale)
        marks = data.fingerprints
        eligible = usable & ~data.repeated(r, similarity.mirrors)
        y, columns, (n_rows, n_outputs) = data.y, data.columns, data.target.Y.shape

    @cache
    def chance() -> float:
        if isinstance(kind, hsic):
            assert data is not None
            shuffled = replace(data, target=data.target.shuffled())
            return float(shuffled.relevance(kind, rng)[eligible].max())
        return level_of_chance(n_eligible, n_rows, n_outputs)

    n_eligible, likely = int(eligible.sum()), None
    if data is not None and selector.relevance_scale is None:
        likely = chance_of(kind, r, n_eligible, data.target, selector.center)
    tau = selector.theta / (1 - selector.theta)
    problem = Problem(similarity, np.where(eligible, tau * r, -np.inf), float(selector.C))
    return Posed(
        problem, r, usable, eligible, marks, y, columns, n_outputs, tau, chance,
        None if data is None else data.target.Y, likely, n_columns, n_eligible, left,
    )  # fmt: skip
