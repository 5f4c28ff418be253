"""From data and settings to the problem that is solved."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mmfs.base import Data, first_scan
from mmfs.columns import Columns
from mmfs.errors import InputError, Parameter
from mmfs.features import (
    Features,
    costs_of,
    data_columns,
    decided,
    features_of,
    places_in,
    shape_of,
    values_of,
)
from mmfs.hsic import HSIC, as_hsic
from mmfs.kernels import Grouped, Precomputed, Similarity, WithCosts, similarity_of
from mmfs.per_row import PLAIN, PerRow
from mmfs.problem import NONE, Problem
from mmfs.relevance import (
    chance_of,
    chance_of_groups,
    given,
    level_of_chance,
    relevance_of,
)
from mmfs.settings import Settings
from mmfs.solvers import FixedGamma, GammaRule, LargestGamma, SumToOne, tuning
from mmfs.sources import Mixed, as_source
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
    per_row: PerRow = PLAIN
    features: Features | None = None  # where columns of the problem are these
    included: Array = field(default_factory=NONE.copy)  # what is selected in any case
    n_excluded: int = 0  # and what never is
    costs: Array | None = None  # of features, as given

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
    def n_missing(self) -> int:
        """Values that are not there, of columns that may be selected."""
        if self.data is None:
            return 0
        X, columns = self.data.X, self.data.columns
        return columns.n_missing + (X.n_unknown if isinstance(X, Mixed) else 0)

    @property
    def n_constant(self) -> int:
        decided = len(self.included) + self.n_excluded
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
        k = number_to_select(asked, self.n_features, self.n_usable + n_in, n_out=self.n_excluded)
        if k is not None and k < n_in:
            raise InputError(
                Parameter("must_include"), f" has {n_in} features, but ",
                Parameter("n_features_to_select", k), " is fewer; ask for more.",
            )  # fmt: skip
        return None if k is None else k - n_in

    def original(self, J: Array) -> Array:
        """Columns of X, or features, that are columns J of the problem."""
        return J if self.left is None else self.left[J]

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


def refuse_rows(settings: Any, per_row: PerRow) -> None:
    """For given similarities, which have no rows."""
    if not per_row.plain or settings.class_weight is not None:
        raise InputError(
            Parameter("kernel", "precomputed"), " has no rows to weigh or to adjust; make the "
            "similarities of weighted and adjusted columns.",
        )  # fmt: skip


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
    names: Any = None,
    per_row: PerRow = PLAIN,
) -> PreparedProblem:
    """Of data as read: the first scan, relevances, similarities.

    The problem may be without the empty columns of X, where they are similar to none. Columns that
    must be in are covariates of all others.
    """
    kind, whole = kind_of_relevance(settings), as_source(X)
    n_columns, of_data = shape_of(whole)
    features = features_of(settings.feature_groups, names, n_columns, of_data)
    asked = settings.must_include, settings.exclude
    included, excluded = decided(*asked, names, n_columns, features)
    if features is not None:
        check_groups(settings, whole, of_data is not None)
    source, left = whole, None
    if features is None and isinstance(kind, str) and settings.kernel in UNRELATED:
        source, left = whole.without_empty()
    known = per_row
    if len(included):
        known = per_row.beside(values_of(whole, data_columns(included, features), per_row))
    data = first_scan(
        source, y, settings.task, settings.center, settings.n_jobs, known, settings.class_weight
    )
    columns, target = data.columns, data.target
    if out := np.concatenate([included, excluded]).tolist():
        columns.leave_out(places_in(data_columns(np.array(out), features), left))
    numbers = left if of_data is None else of_data
    check_scanned(columns, n_columns, names, numbers, settings.missing)
    if data.n_effective - 1 < target.Y.shape[1] + 1 and not data.columns.adjustment.plain:
        raise ValueError(
            f"covariates and features that must be in leave {max(data.n_effective, 0):.3g} of the "
            f"{len(y):,} rows to select from; take fewer."
        )
    if not is_name(kind, "correlation"):
        r = relevance_of(
            kind, X, y, columns=columns, target=target, scale=settings.relevance_scale,
            random_state=rng,
        )  # fmt: skip
        columns.set_relevance(r)
    if features is None:
        Q: Similarity = similarity_of(settings.kernel, columns, target.Y.shape[1])
    else:
        Q = Grouped(columns, features.of_data, features.data_columns, data.n_effective)
    costs = costs_of(settings.costs, names, n_columns, features)
    check_costs(settings, costs)
    if costs is not None:
        problem_costs = costs if left is None else costs[left]
        Q = WithCosts(Q, problem_costs / costs.mean())
    by_formula = isinstance(kind, HSIC) or (isinstance(kind, str) and kind != "mutual_info")
    by_formula = by_formula and costs is None
    # Relevances of groups may exceed 1, and weights are bounded on their scale.
    scale = 1.0 if features is None else max(1.0, float(Q.most_relevant(1)[1].max(initial=0.0)))
    problem = Problem(Q, settings.tau, scale * float(settings.C), copies_agree=by_formula)
    return PreparedProblem(
        problem, settings, kind, replace(data, X=X), n_columns, left, per_row, features, included,
        len(excluded), costs,
    )  # fmt: skip


def check_costs(settings: Settings, costs: Array | None) -> None:
    if costs is None and settings.budget is not None:
        raise InputError(
            Parameter("budget", settings.budget), " needs ", Parameter("costs"), "; pass what each "
            "feature costs.",
        )  # fmt: skip
    if costs is not None and settings.solver != "working_set":
        raise InputError(
            Parameter("costs"), " take ", Parameter("solver", "working_set"), "; leave it."
        )


def check_groups(settings: Settings, source: Any, categories: bool) -> None:
    """What features of several columns go together with."""
    what = "columns of categories" if categories else "feature_groups"
    wanted = {"kernel": "aligned", "relevance": "correlation", "solver": "working_set"}
    for name, value in wanted.items():
        if not is_name(getattr(settings, name), value):
            raise InputError(
                f"{what} take ", Parameter(name, value), "; leave it, or encode categories as "
                "numbers.",
            )  # fmt: skip
    if not settings.center:
        raise InputError(f"{what} take ", Parameter("center", True), "; leave it.")
    if source.remote:
        raise ValueError(f"feature_groups need X here or in a column store, but X is {source}.")
