"""From data and settings to the problem that is solved."""

from dataclasses import replace
from typing import Any

import numpy as np

from mmfs.base import first_scan
from mmfs.errors import InputError, Parameter
from mmfs.features import (
    costs_of,
    data_columns,
    places_in,
    shape_of,
    values_of,
    wishes_of,
)
from mmfs.hsic import HSIC, as_hsic
from mmfs.kernels import Grouped, Precomputed, Similarity, WithCosts, similarity_of
from mmfs.per_row import PLAIN, PerRow
from mmfs.prepared import PreparedProblem
from mmfs.problem import Problem
from mmfs.relevance import (
    given,
    relevance_of,
)
from mmfs.settings import Settings
from mmfs.sources import Mixed, as_source
from mmfs.validation import (
    check_scanned,
    check_similarities,
    is_name,
)

Array = np.ndarray

# Kernels that call columns without correlation not similar at all.
UNRELATED = ("aligned", "linear", "poly2")

CONSTRAINED = Parameter("formulation", "constrained")


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
    """For given similarities, which have no rows, and no names."""
    for name in ("must_include", "exclude", "feature_groups", "costs", "budget"):
        if getattr(settings, name) is not None:
            raise InputError(
                Parameter("kernel", "precomputed"), " knows no ", Parameter(name), "; leave these "
                "features out of the similarities, or divide them by costs.",
            )  # fmt: skip
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
    features, included, excluded = wishes_of(settings, names, whole)
    if features is not None:
        check_groups(settings, whole, of_data is not None)
    source, left = whole, None
    if features is None and isinstance(kind, str) and settings.kernel in UNRELATED:
        source, left = whole.without_empty()
    known = per_row
    if len(included):
        J = data_columns(included, features)
        known = per_row.beside(values_of(whole, J, per_row, settings.missing))
    data = first_scan(
        source, y, settings.task, settings.center, settings.n_jobs, known, settings.class_weight
    )
    columns, target = data.columns, data.target
    if len(excluded):
        columns.leave_out(places_in(data_columns(excluded, features), left))
    n_missing = columns.n_missing  # those of columns that must be in too
    if isinstance(X, Mixed):
        n_missing += X.n_unknown
        refuse_unknown(settings, X)
    if len(included):
        columns.leave_out(places_in(data_columns(included, features), left))
    numbers = left if of_data is None else of_data
    if len(included) + len(excluded) and columns.n_usable == 0 and not columns.not_finite()[0]:
        raise InputError(
            Parameter("must_include"), " and ", Parameter("exclude"), " leave no column that "
            "varies to choose from; leave some out of them.",
        )  # fmt: skip
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
    # Relevances of groups may exceed 1, and weights are bounded on their scale; in the problem they
    # are multiplied by costs.
    scale = 1.0 if features is None else max(1.0, float(Q.most_relevant(1)[1].max(initial=0.0)))
    if costs is not None:
        unit_costs = (costs if left is None else costs[left]) / costs.mean()
        Q, scale = WithCosts(Q, unit_costs), scale * float(unit_costs.max())
    by_formula = isinstance(kind, HSIC) or (isinstance(kind, str) and kind != "mutual_info")
    by_formula = by_formula and costs is None
    problem = Problem(Q, settings.tau, scale * float(settings.C), copies_agree=by_formula)
    return PreparedProblem(
        problem, settings, kind, replace(data, X=X), n_columns, left, per_row, features, included,
        excluded, costs, n_missing,
    )  # fmt: skip


def refuse_unknown(settings: Settings, table: Mixed) -> None:
    if settings.missing == "refuse" and table.n_unknown:
        raise InputError(
            f"X has {table.n_unknown:,} missing categories; fill them, or pass ",
            Parameter("missing", "allow"), ".",
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
