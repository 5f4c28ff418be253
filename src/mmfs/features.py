"""What is kept or dropped as one: single columns, groups of columns, categories.

A feature is one column of X, or several; what stands for it in the data are columns too: those
same ones, or an indicator for every category of a column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mmfs.errors import InputError, Parameter
from mmfs.names import columns_asked
from mmfs.per_row import PerRow
from mmfs.sources import SideBySide

Array = np.ndarray

# Costs may differ by this factor.
MOST_DEAR = 1e6

NO_COLUMNS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Features:
    """Of every column of X, and of every column of the data, the feature that it belongs to."""

    of_column: Array  # of X
    of_data: Array  # of the data that are scanned
    names: tuple[Any, ...] | None = None  # of groups their keys, of columns what they are called

    @property
    def n_features(self) -> int:
        return int(self.of_column.max()) + 1

    @cached_property
    def columns(self) -> list[Array]:
        """Of every feature its columns of X."""
        return members(self.of_column, self.n_features)

    @cached_property
    def data_columns(self) -> list[Array]:
        """Of every feature the columns that stand for it in the data."""
        return members(self.of_data, self.n_features)

    def name(self, g: int) -> Any:
        return g if self.names is None else self.names[g]

    @property
    def by_name(self) -> dict[Any, Array]:
        """The columns of X of every feature."""
        return {self.name(g): J for g, J in enumerate(self.columns)}

    def of(self, columns: Array) -> Array:
        """The features that columns of X belong to, each once."""
        return np.array(list(dict.fromkeys(self.of_column[columns].tolist())), dtype=np.intp)

    def with_columns(self, features: Array, values: Array) -> tuple[Array, Array]:
        """The columns of features, and for each the value of its feature."""
        sizes = [len(self.columns[g]) for g in features.tolist()]
        return self.columns_of(features), np.repeat(values, sizes)

    def columns_of(self, features: Array) -> Array:
        """All columns of X of some features, in their order."""
        return np.concatenate([NO_COLUMNS, *(self.columns[g] for g in features.tolist())])


def members(owner: Array, n: int) -> list[Array]:
    """Places of 0, of 1, ... of n - 1."""
    order = np.argsort(owner, kind="stable")
    return np.split(order, np.searchsorted(owner[order], np.arange(1, n)))


def features_of(
    groups: Any, names: Any, n_columns: int, of_data: Array | None = None
) -> Features | None:
    """From `feature_groups`, by name, to features; None where every column is one.

    `of_data` are the columns of X that columns of the data stand for, where these are others.
    """
    if groups is None and of_data is None:
        return None
    found = _groups(groups, names, n_columns)
    first = np.arange(n_columns)
    for J in found.values():
        first[J] = J.min()
    _, of_column = np.unique(first, return_inverse=True)
    called = [int(j) for j in range(n_columns)] if names is None else list(names)
    own: list[Any] = [called[j] for j in np.unique(first).tolist()]
    for name, J in found.items():
        own[of_column[J[0]]] = name
    return Features(of_column, of_column if of_data is None else of_column[of_data], tuple(own))


def _groups(groups: Any, names: Any, n_columns: int) -> dict[Any, Array]:
    """Columns by name of the group; every column is in one at most."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        groups = {f"group {g + 1}": group for g, group in enumerate(groups)}
    found = {
        name: columns_asked(group, names, n_columns, "feature_groups")
        for name, group in groups.items()
    }
    outside = {} if names is None else {str(name): j for j, name in enumerate(names)}
    for name, J in found.items():
        numbered = names is None and isinstance(name, int) and 0 <= name < n_columns
        place = name if numbered else outside.get(str(name))
        if place is not None and place not in J:
            raise ValueError(
                f"feature_groups calls a group {name!r}, as a column that is not in it; rename it."
            )
    seen: dict[int, Any] = {}
    for name, J in found.items():
        if len(J) == 0:
            raise ValueError(f"feature_groups has a group without columns, {name!r}.")
        for j in J.tolist():
            if j in seen:
                raise ValueError(
                    f"feature_groups has column {j if names is None else names[j]!r} in "
                    f"{seen[j]!r} and in {name!r}; a column belongs to one group."
                )
            seen[j] = name
    return found


def shape_of(source: Any) -> tuple[int, Array | None]:
    """Columns of X; and of every column of the data that of X, where these are others."""
    if isinstance(source, SideBySide):
        return int(source.of_data.max()) + 1, source.of_data
    return source.shape[1], None


class Wishes(NamedTuple):
    """What is asked of single columns, or features."""

    features: Features | None  # of several columns, if there are such
    included: Array  # that must be in
    excluded: Array  # that must not


def wishes_of(how: Any, names: Any, source: Any) -> Wishes:
    """Of a selector, or its settings, for data whose columns are called so."""
    n_columns, of_data = shape_of(source)
    groups, *asked = (
        getattr(how, name, None) for name in ("feature_groups", "must_include", "exclude")
    )
    features = features_of(groups, names, n_columns, of_data)
    return Wishes(features, *decided(asked[0], asked[1], names, n_columns, features))


def decided(
    must_include: Any, exclude: Any, names: Any, n_columns: int, features: Features | None
) -> tuple[Array, Array]:
    """Features, or columns of X, that must be in, and that must not."""
    both = []
    for name, asked in (("must_include", must_include), ("exclude", exclude)):
        if asked is None:
            both.append(NO_COLUMNS)
            continue
        if features is not None and features.names is not None:
            found = columns_asked(asked, names_with(features, names), n_columns, name)
        else:
            found = columns_asked(asked, names, n_columns, name)
        both.append(found if features is None else features.of(found))
    if len(twice := np.intersect1d(both[0], both[1])):
        j = int(twice[0])
        known = names if features is None else features.names
        raise InputError(
            f"{j if known is None else known[j]!r} is in ", Parameter("must_include"), " and in ",
            Parameter("exclude"), "; take it out of one.",
        )  # fmt: skip
    return both[0], both[1]


def names_with(features: Features, names: Any) -> dict[str, int]:
    """Columns by their names, and by those of the groups they are in."""
    known = {
        str(name): int(J[0])
        for name, J in zip(features.names or (), features.columns, strict=False)
    }
    return known | ({} if names is None else {str(name): j for j, name in enumerate(names)})


def data_columns(J: Array, features: Features | None) -> Array:
    """Columns of the data that stand for features, or columns of X."""
    if features is None:
        return J
    return np.concatenate([NO_COLUMNS, *(features.data_columns[g] for g in J.tolist())])


def places_in(J: Array, left: Array | None) -> Array:
    """Where columns J are among those that are left."""
    return J if left is None else np.flatnonzero(np.isin(left, J))


def values_of(source: Any, J: Array, per_row: PerRow, missing: str = "allow") -> Array:
    """Columns that must be in, dense, with holes filled by the mean of what is there."""
    X = source.fetch(J)
    values = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    weights = np.ones(len(values)) if per_row.weights is None else per_row.weights
    holes = np.isnan(values)
    if holes.any() and missing == "refuse":
        raise InputError(
            "X has NaN in a column that must be in; impute it, or pass ",
            Parameter("missing", "allow"), ".",
        )  # fmt: skip
    if holes.any():
        there = weights @ ~holes
        means = weights @ np.where(holes, 0.0, values) / np.where(there > 0, there, 1.0)
        values = np.where(holes, means, values)
    if not np.isfinite(values).all():
        raise InputError(Parameter("must_include"), " names a column that holds infinity.")
    return values


def costs_of(costs: Any, names: Any, n_columns: int, features: Features | None) -> Array | None:
    """Of every feature, positive; those of several columns cost as much as these together."""
    if costs is None:
        return None
    if hasattr(costs, "to_dict") and hasattr(costs, "index"):
        costs = costs.to_dict()
    if isinstance(costs, Mapping):
        given = {str(name): cost for name, cost in costs.items()}
        known = [str(j) for j in range(n_columns)] if names is None else [str(n) for n in names]
        if lost := [name for name in known if name not in given]:
            raise ValueError(
                f"costs has no value for {lost[0]!r} ({len(lost):,} of {n_columns:,} columns are "
                "not named); name them all."
            )
        costs = [given[name] for name in known]
    try:
        values = np.array(costs, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise ValueError("costs must hold one number for every column of X.") from None
    if len(values) != n_columns:
        raise ValueError(f"costs has {len(values):,} values, but X has {n_columns:,} columns.")
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if len(bad):
        raise ValueError(
            f"costs must be positive, but column {bad[0]} costs {values[bad[0]]:g}; what is free "
            "may have a small cost, and what is paid for be in must_include."
        )
    if values.max() > MOST_DEAR * values.min():
        raise ValueError(
            f"costs go from {values.min():g} to {values.max():g}, further apart than a factor of "
            f"{MOST_DEAR:g}; exclude what is too dear."
        )
    if features is None:
        return values
    return np.bincount(features.of_column, values, features.n_features)
