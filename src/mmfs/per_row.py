"""What is known of the rows beside X and y: how much each counts, and what is to be taken out."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.class_weight import compute_sample_weight

from mmfs.columns import Adjustment
from mmfs.errors import InputError, Parameter
from mmfs.frames import CATEGORIES, DATES
from mmfs.target import Target
from mmfs.validation import aligned

Array = np.ndarray

# Different values of a covariate that is a category, at most: each takes a degree of freedom.
MOST_LEVELS = 1_000


@dataclass(frozen=True)
class PerRow:
    """Weights of the rows, and covariates, a column of numbers each; None where there are none."""

    weights: Array | None = None
    covariates: Array | None = None

    @property
    def plain(self) -> bool:
        return self.weights is None and self.covariates is None

    def only(self, rows: Array) -> "PerRow":
        """Of some of the rows."""
        both = (self.weights, self.covariates)
        return PerRow(*(None if some is None else some[rows] for some in both))

    def beside(self, columns: Array) -> "PerRow":
        """With columns of the data as further covariates."""
        known = [] if self.covariates is None else [self.covariates]
        return PerRow(self.weights, np.column_stack([*known, columns]))

    def as_arguments(self) -> dict[str, Any]:
        """For a `fit`: what there is."""
        given = {"sample_weight": self.weights, "covariates": self.covariates}
        return {name: value for name, value in given.items() if value is not None}

    def refuse(self, what: str) -> None:
        """For what knows rows that count the same, and no covariates."""
        if not self.plain:
            raise ValueError(f"{what} takes neither sample_weight nor covariates.")

    def adjustment(self, n_rows: int, centered: bool) -> Adjustment:
        for name, values in self.as_arguments().items():
            if len(values) != n_rows:
                raise ValueError(f"{name} has {len(values):,} rows, but X has {n_rows:,}.")
        if self.covariates is not None and not centered:
            raise ValueError(
                "covariates, and features that must be in, take the mean out too; leave "
                "center=True."
            )
        if centered:
            return Adjustment.of(n_rows, self.weights, self.covariates)
        return Adjustment(centered, None if self.weights is None else np.sqrt(self.weights))


PLAIN = PerRow()


def effective_rows(n_rows: int, weights: Array | None, of_classes: Array | None = None) -> float:
    """As many rows as weigh the same would tell as much.

    Whole-number weights are counts of rows that are the same. Others, and those `of_classes`, say
    how much a row is to be trusted, on no particular scale: (sum w)^2 / sum w^2, by Kish.
    """
    if weights is None and of_classes is None:
        return float(n_rows)
    counts = np.ones(n_rows)
    trust = np.ones(n_rows) if of_classes is None else of_classes
    if weights is not None and counts_rows(weights):
        counts = weights
    elif weights is not None:
        trust = trust * weights
    return float((counts @ trust) ** 2 / (counts @ trust**2))


def counts_rows(weights: Array) -> bool:
    """Whether weights can be counts of rows that are the same."""
    return bool((weights == np.rint(weights)).all() and weights.sum() < 2**53)


def read_per_row(X: Any, sample_weight: Any = None, covariates: Any = None) -> PerRow:
    """As given to `fit`, in the order of the rows of X."""
    weights = None
    if sample_weight is not None:
        weights = _weights(aligned(X, sample_weight, "sample_weight"))
    if covariates is None:
        return PerRow(weights)
    return PerRow(weights, _numbers(aligned(X, covariates, "covariates")))


def _weights(sample_weight: Any) -> Array:
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight must hold a number for every row.") from None
    if weights.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D, a number for every row; got the shape {weights.shape}."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(
            f"sample_weight must not be negative, and finite, but is {weights[bad[0]]:g} in row "
            f"{bad[0]}."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero in every row; there is nothing to select from.")
    return weights if counts_rows(weights) else in_range(weights)


def in_range(values: Array) -> Array:
    """Divided by a power of two, so that squares stay in range, and digits as they are."""
    return np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=0.0))[1]))


def class_weights(y: Array, target: Target, per_row: PerRow, class_weight: Any) -> Array:
    """What the classes of rows weigh: "balanced", or of each label."""
    if not target.of_classes:
        raise InputError(
            Parameter("class_weight", class_weight), " is for classes, but y holds quantities."
        )
    weights = np.ones(len(target.labels)) if per_row.weights is None else per_row.weights
    if isinstance(class_weight, str):  # "balanced": all classes weigh the same
        totals = np.bincount(target.labels, weights, target.n_labels)
        known = totals > 0
        of_class = np.where(known, weights.sum() / np.where(known, totals, 1.0) / known.sum(), 0.0)
        return of_class[target.labels]
    labels = set(np.unique(y).tolist())
    if unknown := [label for label in class_weight if label not in labels]:
        raise ValueError(f"class_weight names {unknown[0]!r}, which is no class of y.")
    return compute_sample_weight(dict(class_weight), y)


def _numbers(covariates: Any) -> Array:
    """Columns of numbers as they are, those of categories as indicators."""
    if hasattr(covariates, "columns"):
        columns = {str(name): covariates[name] for name in covariates.columns}
    elif hasattr(covariates, "name") and hasattr(covariates, "dtype"):  # a column of a frame
        columns = {str(covariates.name): covariates}
    else:
        values = np.asarray(covariates)
        if values.ndim not in (1, 2):
            raise ValueError(f"covariates must be columns, got {values.ndim} dimensions.")
        columns = {str(c): column for c, column in enumerate(values.reshape(len(values), -1).T)}
    if not columns:
        raise ValueError("covariates have no columns; leave them out.")
    parts = [_covariate(name, values) for name, values in columns.items()]
    check_consistent_length(*parts)
    return np.hstack(parts)


def _covariate(name: str, values: Any) -> Array:
    kind = str(getattr(values, "dtype", "")).lower()
    values = np.asarray(values)
    if values.dtype.kind in "mM" or kind.startswith(DATES):
        raise ValueError(f"covariate {name!r} holds dates; pass numbers, such as days since one.")
    numeric = values.dtype.kind in "biuf" or all(
        isinstance(value, Real | None) for value in values.tolist()
    )
    if numeric and not kind.startswith(CATEGORIES):
        numbers = values.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(numbers))
        if len(bad):
            raise ValueError(
                f"covariate {name!r} has no number in row {bad[0]}; fill it, or leave that row "
                "out of X, y and covariates."
            )
        return in_range(numbers)[:, None]
    levels, codes = np.unique([str(value) for value in values.tolist()], return_inverse=True)
    if len(levels) > min(MOST_LEVELS, len(values) / 2):
        raise ValueError(
            f"covariate {name!r} has {len(levels):,} different values in {len(values):,} rows; "
            "leave it out, or make it a number."
        )
    return (codes[:, None] == np.arange(len(levels))).astype(np.float64)
