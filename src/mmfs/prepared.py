"""The problem that is solved, and what else is known of the data it was made of."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mmfs.base import Data
from mmfs.columns import Columns
from mmfs.errors import InputError, Parameter
from mmfs.features import Features
from mmfs.hsic import HSIC
from mmfs.kernels import Grouped, Similarity, WithCosts
from mmfs.per_row import PLAIN, PerRow
from mmfs.problem import NONE, Problem
from mmfs.relevance import chance_of, chance_of_groups, level_of_chance, relevance_of
from mmfs.settings import Settings
from mmfs.solvers import FixedGamma, GammaRule, LargestGamma, SumToOne, tuning
from mmfs.validation import number_to_select
from mmfs.warn import warn_caller

Array = np.ndarray

# gamma="auto" leaves room to tell features apart: support for 1.5 K, of which the best K are taken.
HEAD_ROOM = 1.5

# Support features to look for, at most: the gradient alone ranks the rest.
MOST_SUPPORT = 2_000

# Elimination starts from more: all with so much of the relevance left that chance gives to one, up
# to so many candidates. `benchmarks.accuracy` compares other values of these constants.
OF_CHANCE = 0.5
CANDIDATES = 150


@dataclass(frozen=True)
class PreparedProblem:
    """The problem, and what else is known of the data."""

    problem: Problem
    settings: Settings
    kind: Any  # of relevance
    data: Data | None  # None where similarities were given instead
    n_columns: int  # of X, also where some of its columns were left out
    left: Array | None  # and these are the others
    per_row: PerRow = PLAIN
    features: Features | None = None  # where columns of the problem are these
    included: Array = field(default_factory=NONE.copy)  # what is selected in any case
    excluded: Array = field(default_factory=NONE.copy)  # and what never is
    costs: Array | None = None  # of features, as given
    n_missing: int = 0  # values that are not there

    @property
    def n_scans(self) -> int:
        return 1 if self.data is None else self.data.columns.n_scans

    @property
    def n_rows(self) -> int:
        return self.n_columns if self.data is None else len(self.data.y)

    @property
    def n_effective(self) -> float:
        """Rows that weigh the same and would tell as much."""
        return float(self.n_columns) if self.data is None else self.data.n_effective

    @property
    def n_outputs(self) -> int:
        return 1 if self.data is None else self.data.target.Y.shape[1]

    @property
    def n_usable(self) -> int:
        """Columns, or features, that are not constant, and that it is not decided about."""
        return self.problem.n_usable

    @property
    def n_features(self) -> int:
        """Columns of X, or features of several."""
        return self.n_columns if self.features is None else self.features.n_features

    @property
    def n_constant(self) -> int:
        decided = len(self.included) + len(self.excluded)
        return self.n_features - self.n_usable - decided

    @property
    def similarity(self) -> Similarity:
        """Without costs."""
        Q = self.problem.Q
        return Q.Q if isinstance(Q, WithCosts) else Q

    @property
    def columns(self) -> Columns:
        assert self.data is not None
        return self.data.columns

    def members(self, J: Array) -> list[tuple[Array, int]]:
        """Of columns of the problem the columns of the data, and their rank."""
        Q = self.similarity
        if isinstance(Q, Grouped):
            return [(Q.members[g], int(Q.ranks[g])) for g in J.tolist()]
        return [(np.array([j]), 1) for j in J.tolist()]

    @property
    def unit_costs(self) -> Array | None:
        """Of features on a scale on which their mean is 1, as the problem has them."""
        return None if self.costs is None else self.costs / self.costs.mean()

    @property
    def largest_relevance(self) -> float:
        return float(self.similarity.most_relevant(1)[1].max(initial=-np.inf))

    @cached_property
    def level_of_chance(self) -> float:
        """The relevance that one in N random columns exceeds."""
        if not isinstance(self.kind, HSIC):
            return level_of_chance(self.n_usable, self.n_effective, self.n_outputs)
        assert self.data is not None
        columns, target = self.data.columns, self.data.target.shuffled()
        return float(relevance_of(self.kind, None, None, columns=columns, target=target).max())

    @cached_property
    def likely(self) -> float | None:
        """How likely the largest relevance is by chance, if that can be told."""
        if self.data is None or self.settings.relevance_scale is not None:
            return None
        largest, center = self.largest_relevance, self.settings.center
        target, n_rows = self.data.target, self.n_effective
        if isinstance(Q := self.similarity, Grouped):
            return chance_of_groups(Q.squares, Q.ranks, Q.usable, n_rows, Q.width)
        return chance_of(self.kind, largest, self.n_usable, target, n_rows, center)

    def number(self, asked: int | float | None) -> int | None:
        """How many to select beside those that are in any case."""
        n_in = len(self.included)
        k = number_to_select(asked, self.n_features, self.n_usable + n_in, n_out=len(self.excluded))
        if k is not None and k < n_in:
            raise InputError(
                Parameter("must_include"), f" has {n_in} features, but ",
                Parameter("n_features_to_select", k), " is fewer; ask for more.",
            )  # fmt: skip
        return None if k is None else k - n_in

    def original(self, J: Array) -> Array:
        """Columns of X, or features, that are columns J of the problem."""
        return J if self.left is None else self.left[J]

    def weights(self, J: Array, alpha: Array) -> Array:
        """alpha of columns J of the problem, from what the problem has: that times their costs."""
        costs = self.unit_costs
        return alpha if costs is None else alpha / costs[self.original(J)]

    def selection(self, J: Array) -> Array:
        """The same, behind those that are in any case."""
        return np.concatenate([self.included, self.original(J)]).astype(np.intp)

    def columns_of(self, selection: Array) -> Array:
        """Columns of X of features that were selected."""
        return selection if self.features is None else self.features.columns_of(selection)

    def spread(self, values: Array, of_empty: float) -> Array:
        """Values of all columns of X from those of the problem."""
        if self.features is not None:
            return values[self.features.of_column]
        if self.left is None:
            return values
        out = np.full(self.n_columns, of_empty)
        out[self.left] = values
        return out

    def eliminates(self, gamma: Any, k: int | None) -> bool:
        """Whether k features are chosen by elimination; "auto" does so if gamma is found too."""
        rank = self.settings.rank
        if self.settings.constrained or rank != "auto":
            return rank == "elimination"
        few = k is not None and HEAD_ROOM * k <= CANDIDATES
        return few and isinstance(gamma, str) and self.data is not None

    def gamma_rule(self, gamma: Any, k: int | None) -> GammaRule:
        """What "auto", or a gamma, means for k features (None: as many as matter)."""
        if self.settings.constrained:
            return SumToOne(self.problem.r_max, self.problem.C)
        if not isinstance(gamma, str):
            return FixedGamma(float(gamma), k or 1)
        tau = self.settings.tau
        if k is None:
            if self.data is None:
                warn_caller(
                    "similarities do not tell how many instances there were, so the level of "
                    "chance is that of as many as there are features; pass n_features_to_select or "
                    "gamma."
                )
            return LargestGamma(0, tau * self.level_of_chance, np.inf)
        n = min(int(np.ceil(HEAD_ROOM * k)), MOST_SUPPORT)
        if self.data is not None and self.eliminates(gamma, k):
            return self.support_rule(n, OF_CHANCE * tau * self.level_of_chance, CANDIDATES)
        return self.support_rule(n)

    def support_rule(self, n: int, level: float = np.inf, most: int = 0) -> GammaRule:
        """As `LargestGamma`, as far as there is relevance to use up."""
        return LargestGamma(n, level, most, lowest=tuning.LEAST_LEFT * self.problem.r_max)
