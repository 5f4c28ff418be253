"""What each column tells about the target, alone."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import null_space, qr
from scipy.stats import chi2, rankdata
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from mmfs.columns import Columns
from mmfs.discretize import DIGITS, three_states
from mmfs.hsic import RowComparison, as_hsic, hsic

Array = np.ndarray

# Whole numbers with more distinct values than this are read as quantities, not as classes.
MOST_CLASSES = 50

# A real target is cut into this many equally frequent parts to be counted against a column.
TARGET_BINS = 5

# A target that varies less than this, beside its largest value, does so by rounding error.
ROUNDING = 1e-12

# Columns handed to the nearest-neighbour estimator at a time: it copies what it gets.
NEIGHBOUR_COLUMNS = 256

RELEVANCES = ("correlation", "mutual_info", "binned_mutual_info", "hsic")


@dataclass(frozen=True)
class Target:
    """The target as q orthonormal vectors of zero mean, and as labels 0..n_labels-1."""

    Y: Array  # M x q
    labels: Array
    n_labels: int
    values: Array | None  # the numbers themselves, for one real output

    @property
    def of_classes(self) -> bool:
        return self.n_labels > 0 and self.values is None

    @property
    def several(self) -> bool:
        """Several real outputs, which have no labels."""
        return self.n_labels == 0

    def shuffled(self) -> "Target":
        """The same target in another order, unrelated to any column."""
        order = np.random.default_rng(0).permutation(len(self.Y))
        labels = self.labels if self.several else self.labels[order]
        values = None if self.values is None else self.values[order]
        return Target(self.Y[order], labels, self.n_labels, values)


def encode_target(y: Array, task: str = "auto") -> Target:
    """Classes become indicators, real outputs themselves; both centred and orthonormal.

    "auto": text and booleans are classes, and so are whole numbers, if there are at most 50 of
    them and at least twice as many instances. "classes": for a method that knows nothing else.
    """
    y = np.asarray(y)
    if y.dtype.kind == "O" and all(isinstance(label, Real) for label in y.flat):
        y = np.array(y.tolist())  # numbers kept as objects
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if task == "auto":
        task = "classification" if y.ndim == 1 and _looks_like_classes(y) else "regression"
    if task == "classes" and (y.ndim == 2 or (y.dtype.kind == "f" and (y != np.rint(y)).any())):
        raise ValueError(
            "this method is for one column of classes, but y holds quantities; cut them into "
            "classes, or use a method for quantities such as MMFS."
        )
    if task in ("classification", "classes"):
        return _classes(y)
    if y.dtype.kind not in "biuf":
        what = "several columns" if y.ndim == 2 else "task='regression'"
        raise ValueError(f"y must hold numbers with {what}, but its type is {y.dtype}; convert it.")
    return _quantities(y.astype(np.float64))


def _looks_like_classes(y: Array) -> bool:
    if y.dtype.kind not in "iuf":
        return True
    if y.dtype.kind == "f" and (y != np.rint(y)).any():
        return False
    return len(np.unique(y)) <= max(2, min(MOST_CLASSES, len(y) // 2))


def _classes(y: Array) -> Target:
    if y.ndim == 2:
        raise ValueError(
            f"y has {y.shape[1]} columns; task='classification' takes one column of labels "
            "(for several outputs, pass task='regression')."
        )
    try:
        classes, labels, sizes = np.unique(y, return_inverse=True, return_counts=True)
    except TypeError:
        raise ValueError(
            "y mixes text with other values; make all labels text, or all of them numbers."
        ) from None
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes[0]}); feature selection needs at least two classes."
        )
    if len(classes) == len(y) > 2:
        raise ValueError(
            "y has another label in every row; pass classes that have more than one each."
        )
    # Indicators scaled to unit norm are orthonormal; what is orthogonal to the constant is kept.
    constant = np.sqrt(sizes / len(y))
    basis = null_space(constant[None, :])
    Y = _centred((basis / np.sqrt(sizes)[:, None])[labels])
    return Target(Y, labels.astype(np.int64), len(classes), None)


def _quantities(y: Array) -> Target:
    y = np.ldexp(y, -np.frexp(np.abs(y).max())[1])  # squares stay in range, and digits as they are
    centred = _centred(y.reshape(len(y), -1))
    norms = np.linalg.norm(centred, axis=0)
    varies = norms > ROUNDING * np.sqrt(len(y)) * np.abs(y.reshape(len(y), -1)).max(axis=0)
    if not varies.any():
        if np.ptp(y, axis=0).any():
            raise ValueError(
                "y varies no more than by rounding error around a large offset; subtract that."
            )
        raise ValueError("y is constant; there is nothing to select features for.")
    Y = centred[:, varies] / norms[varies]
    if y.ndim == 2:
        Q, R, _ = qr(Y, mode="economic", pivoting=True)
        Y = Q[:, np.abs(np.diagonal(R)) > 1e-10]
        return Target(_centred(Y), np.empty(0, dtype=np.int64), 0, None)
    return Target(_centred(Y), _equal_parts(y), TARGET_BINS, y)


def _centred(Y: Array) -> Array:
    """Twice, since the first mean is that of numbers which may be large beside what varies."""
    Y = Y - Y.mean(axis=0)
    return np.ascontiguousarray(Y - Y.mean(axis=0))


def _equal_parts(y: Array) -> Array:
    """A real target cut into TARGET_BINS equally frequent parts, the same from either end.

    A value belongs where the middle of its ranks is; at a border, to the part nearer the middle.
    """
    place = (2 * rankdata(y) - 1).astype(np.int64)  # from 1 to 2M - 1
    lower, upper = TARGET_BINS * place, -TARGET_BINS * place
    return np.where(place < len(y), lower // (2 * len(y)), -(upper // (2 * len(y))) - 1)


def relevance_of(
    kind: Any,
    X: Any,
    y: Array,
    *,
    columns: Columns,
    target: Target,
    products: Array,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Array:
    """The relevance of every column: one of RELEVANCES, an array, or a function of (X, y).

    `products` = F'Y is known from the first pass; "correlation" needs no other.
    """
    usable = columns.inverse > 0
    if how := as_hsic(kind):
        return np.where(usable, dependence(columns, target, how), 0.0)
    if callable(kind):
        return given(kind(X, y), usable)
    if not isinstance(kind, str):
        return given(kind, usable)
    if kind == "correlation":
        return correlation(products)
    if kind == "mutual_info" and isinstance(X, np.ndarray):
        r = neighbour_mutual_info(X, target, random_state, n_jobs)
    else:
        r = binned_mutual_info(columns, target)
    return np.where(usable, r, 0.0)


def correlation(products: Array) -> Array:
    """|correlation| for one output; for several, and for classes, the correlation ratio.

    `products` = F'Y. For two classes the correlation ratio is |correlation|.
    """
    one = products.shape[1] == 1
    r = np.abs(products[:, 0]) if one else np.sqrt(np.einsum("jc,jc->j", products, products))
    np.minimum(r, 1.0, out=r)
    return np.round(r, DIGITS, out=r)  # copies are as relevant as each other, to the last digit


def binned_mutual_info(columns: Columns, target: Target) -> Array:
    """Mutual information of the target with each column cut at mean -+ one deviation."""
    refuse_several(target)
    states = three_states(columns)
    return as_correlation(states.information(target.labels[:, None], target.n_labels)[:, 0])


def dependence(columns: Columns, target: Target, how: hsic) -> Array:
    """HSIC of the target with each column, from 0 to 1."""
    comparison = RowComparison(columns, how)
    if target.of_classes:
        features = comparison.of_classes(target.labels)
    else:
        features = comparison.of_quantities(
            target.Y if target.values is None else target.values[:, None]
        )
    return np.round(np.clip(comparison.project(features)[:, 0], 0.0, 1.0), DIGITS)


def neighbour_mutual_info(
    X: Array, target: Target, random_state: Any = None, n_jobs: int | None = None
) -> Array:
    """Mutual information by scikit-learn's nearest-neighbour estimator."""
    refuse_several(target)
    real = target.values is not None
    estimate = mutual_info_regression if real else mutual_info_classif
    y = target.values if real else target.labels
    parts = [
        estimate(
            np.asarray(X[:, start : start + NEIGHBOUR_COLUMNS], dtype=np.float64),
            y,
            discrete_features=False,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        for start in range(0, X.shape[1], NEIGHBOUR_COLUMNS)
    ]
    return as_correlation(np.concatenate(parts))


def given(values: Any, usable: Array) -> Array:
    """A relevance supplied by the user, on a scale from 0 to 1; 0 for columns that are not usable.

    Of a pair (scores, p-values) the scores are taken. Rounding errors below zero are forgiven.
    """
    if isinstance(values, tuple) and values:
        values = values[0]
    try:
        r = np.array(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise ValueError("relevance must hold one number for every column of X.") from None
    if len(r) != len(usable):
        raise ValueError(f"relevance has {len(r):,} values, but X has {len(usable):,} columns.")
    r[~usable] = 0.0
    largest = r.max(initial=0.0)
    bad = np.flatnonzero(~(np.isfinite(r) & (r >= -1e-5 * largest)))
    if len(bad):
        raise ValueError(
            f"relevance must be finite and not negative, but is {r[bad[0]]} for column {bad[0]}."
        )
    return np.maximum(r, 0.0) / max(largest, 1.0)


def level_of_chance(n_columns: int, n_rows: int, n_outputs: int) -> float:
    """The correlation (ratio) with the target that one in n_columns random columns exceeds.

    HSIC has no such formula; there the largest with a shuffled target serves.
    """
    return float(np.sqrt(chi2.isf(1 / max(n_columns, 2), n_outputs) / n_rows))


def as_correlation(info: Array) -> Array:
    """sqrt(1 - exp(-2 I)): the |correlation| of two Gaussians that share I nats."""
    return np.sqrt(-np.expm1(-2.0 * np.maximum(info, 0.0)))


def refuse_several(target: Target) -> None:
    if target.several:
        raise ValueError(
            "mutual information is defined for one output here; pass one column of y, or choose "
            "correlations instead."
        )
