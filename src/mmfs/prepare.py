"""From data and settings to the problem that is solved."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mmfs.base import Data, first_scan
from mmfs.errors import InputError, Parameter
from mmfs.hsic import HSIC, as_hsic
from mmfs.kernels import Precomputed, similarity_of
from mmfs.problem import Problem
from mmfs.relevance import chance_of, given, level_of_chance, relevance_of
from mmfs.settings import Settings
from mmfs.solvers import FixedGamma, GammaRule, LargestGamma, SumToOne, tuning
from mmfs.sources import as_source
from mmfs.validation import (
    check_scanned,
    check_similarities,
    is_name,
    number_to_select,
)
from mmfs.warn import warn_caller

Array = np.ndarray

# gamma="auto" leaves room to tell features apart: support for 1.5 K, of which the best K are taken.
HEAD_ROOM = 1.5

# Support features to look for, at most: the gradient alone ranks the rest.
MOST_SUPPORT = 2_000

# Kernels that call columns without correlation not similar at all.
UNRELATED = ("aligned", "linear", "poly2")

# Elimination starts from more: all with so much of the relevance left that chance gives to one, up
# to so many candidates. `benchmarks.accuracy` compares other values of these constants.
OF_CHANCE = 0.5
CANDIDATES = 150

CONSTRAINED = Parameter("formulation", "constrained")


@dataclass(frozen=True)
class PreparedProblem:
    """The problem, and what else is known of the data."""

    problem: Problem
    settings: Settings
    kind: Any  # of relevance
    data: Data | None  # None where similarities were given instead
    n_columns: int  # of X, also where some of its columns were left out
    left: Array | None  # and these are the others

    @property
    def n_scans(self) -> int:
        return 1 if self.data is None else self.data.columns.n_scans

    @property
    def n_rows(self) -> int:
        return self.n_columns if self.data is None else len(self.data.y)

    @property
    def n_outputs(self) -> int:
        return 1 if self.data is None else self.data.target.Y.shape[1]

    @property
    def n_usable(self) -> int:
        """Columns that are not constant."""
        return self.problem.n_usable

    @property
    def largest_relevance(self) -> float:
        return self.problem.r_max / self.problem.tau

    @cached_property
    def level_of_chance(self) -> float:
        """The relevance that one in N random columns exceeds."""
        if not isinstance(self.kind, HSIC):
            return level_of_chance(self.n_usable, self.n_rows, self.n_outputs)
        assert self.data is not None
        columns, target = self.data.columns, self.data.target.shuffled()
        return float(relevance_of(self.kind, None, None, columns=columns, target=target).max())

    @cached_property
    def likely(self) -> float | None:
        """How likely the largest relevance is by chance, if that can be told."""
        if self.data is None or self.settings.relevance_scale is not None:
            return None
        largest, center = self.largest_relevance, self.settings.center
        return chance_of(self.kind, largest, self.n_usable, self.data.target, center)

    def number(self, asked: int | float | None) -> int | None:
        return number_to_select(asked, self.n_columns, self.n_usable)

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


def check_combinations(settings: Settings) -> None:
    """Parameters that do not go together."""
    if settings.constrained and settings.rank in ("path", "elimination"):
        raise InputError(
            Parameter("rank", settings.rank), " needs gamma, which ", CONSTRAINED,
            " does not have; take ", Parameter("rank", "alpha"), ".",
        )  # fmt: skip
    if settings.constrained and not settings.finds_gamma:
        raise InputError(
            Parameter("gamma", settings.gamma), " has no meaning with ", CONSTRAINED, ", where ",
            Parameter("theta"), " plays its part; leave ", Parameter("gamma", "auto"), ".",
        )  # fmt: skip
    if as_hsic(settings.kernel) and not settings.center:
        raise InputError(
            Parameter("center", False), " has no meaning with ", Parameter("kernel", "hsic"),
            ", which only looks at differences between rows; leave ", Parameter("center", True),
            ".",
        )  # fmt: skip
    if is_name(settings.kernel, "precomputed") and isinstance(settings.relevance, str | HSIC):
        raise ValueError(
            "kernel='precomputed' needs the relevance of each feature as an array, since X "
            f"holds similarities instead of data; got relevance={settings.relevance!r}."
        )


def check_has_path(settings: Settings) -> None:
    if settings.constrained:
        raise InputError(
            CONSTRAINED, " has no path, since it has no gamma; vary ", Parameter("theta"),
            " instead.",
        )  # fmt: skip


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


def kind_of_relevance(settings: Settings) -> Any:
    """As asked for; "hsic" compares rows as the kernel does, if that is one of its kind."""
    if is_name(settings.relevance, "hsic"):
        return as_hsic(settings.kernel) or HSIC()
    return settings.relevance


def prepare_similarities(settings: Settings, Q: Array, y: Any) -> PreparedProblem:
    """Of features whose similarities are given."""
    Q, kind = check_similarities(Q), settings.relevance
    everything = np.ones(len(Q), dtype=bool)
    r = given(kind(Q, y) if callable(kind) else kind, everything, settings.relevance_scale)
    problem = Problem(Precomputed(Q, r), settings.tau, float(settings.C))
    return PreparedProblem(problem, settings, kind, None, len(Q), None)


def prepare(
    settings: Settings,
    X: Any,
    y: Array,
    rng: np.random.RandomState,
    names: Array | None = None,
) -> PreparedProblem:
    """Of data as read: the first scan, relevances, similarities.

    The problem may be without the empty columns of X, where they are similar to none.
    """
    kind, source, left = kind_of_relevance(settings), as_source(X), None
    if isinstance(kind, str) and settings.kernel in UNRELATED:
        source, left = source.without_empty()
    data = first_scan(source, y, settings.task, settings.center, settings.n_jobs)
    columns, target = data.columns, data.target
    check_scanned(columns, X.shape[1], names, left)
    if not is_name(kind, "correlation"):
        r = relevance_of(
            kind, X, y, columns=columns, target=target, scale=settings.relevance_scale,
            random_state=rng,
        )  # fmt: skip
        columns.set_relevance(r)
    Q = similarity_of(settings.kernel, columns, target.Y.shape[1])
    by_formula = isinstance(kind, HSIC) or (isinstance(kind, str) and kind != "mutual_info")
    problem = Problem(Q, settings.tau, float(settings.C), copies_agree=by_formula)
    return PreparedProblem(problem, settings, kind, replace(data, X=X), X.shape[1], left)
