"""What is to be predicted: classes or quantities, as vectors to be compared with columns."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import null_space, qr
from scipy.stats import rankdata

from mmfs.errors import InputError, Parameter
from mmfs.survival import (
    SURVIVAL,
    as_survival,
    is_structured,
    martingale_residuals,
    names_survival,
)

Array = np.ndarray

CLASSES, QUANTITIES = Parameter("task", "classification"), Parameter("task", "regression")

# Whole numbers with more distinct values than this are read as quantities, not as classes.
MOST_CLASSES = 50

# Rows for each class, at least, unless there are two classes, or they are said to be classes.
ROWS_PER_CLASS = 3

# A real target is cut into this many equally frequent parts to be counted against a column.
TARGET_BINS = 5

# A target that varies less than this, beside its largest value, does so by rounding error.
CONSTANT_TARGET = 1e-12

# What covariates leave of a target is rounding error, if it is not more than this beside it.
LEFT_OF_TARGET = 1e-8

# Labels at once, times rows, that are made dense.
MOST_LABELS = 100_000_000


@dataclass(frozen=True)
class Target:
    """The target as q orthonormal vectors of zero mean, and as labels 0..n_labels-1."""

    Y: Array  # M x q
    labels: Array
    n_labels: int
    values: Array | None  # the numbers themselves, for one real output
    censored: bool = False  # whether these are residuals of times

    @property
    def of_classes(self) -> bool:
        return self.n_labels > 0 and self.values is None

    @property
    def task(self) -> str:
        if self.censored:
            return "survival"
        return "classification" if self.of_classes else "regression"

    @property
    def several(self) -> bool:
        """Several real outputs, which have no labels."""
        return self.n_labels == 0

    def adjusted(self, adjustment: Any) -> "Target":
        """With rows weighted, and without what covariates explain of it."""
        if adjustment.plain:
            return self
        weighted = adjustment.vectors(self.Y)
        around = replace(adjustment, centered=True)
        plain = replace(around, covariates=None).residual(weighted)
        size = np.linalg.norm(plain, axis=0).max()
        if not size > LEFT_OF_TARGET * np.linalg.norm(weighted, axis=0).max():
            raise ValueError(
                "y is the same in all rows that have a weight; there is nothing to select for."
            )
        left = around.residual(weighted)
        Q, R, _ = qr(left, mode="economic", pivoting=True)
        sizes = np.abs(np.diagonal(R))
        Y = Q[:, sizes > LEFT_OF_TARGET * size]
        if Y.shape[1] == 0:
            raise ValueError(
                "covariates, or features that must be in, explain all of y; leave out those that "
                "are made of it, or are as many as rows."
            )
        if self.Y.shape[1] == 1:  # the same way round
            Y = Y * np.sign(Y[:, 0] @ left[:, 0])
        return replace(self, Y=np.ascontiguousarray(Y))

    def shuffled(self) -> "Target":
        """The same target in another order, unrelated to any column."""
        order = np.random.default_rng(0).permutation(len(self.Y))
        labels = self.labels if self.several else self.labels[order]
        values = None if self.values is None else self.values[order]
        return replace(self, Y=self.Y[order], labels=labels, values=values)


def encode_target(y: Array, task: str = "auto", weights: Array | None = None) -> Target:
    """Classes become indicators, real outputs themselves; both centred and orthonormal.

    "auto": text and booleans are classes, and so are whole numbers, if there are at most 50 of
    them and at least three times as many instances (or two of them). "classes": for a method that
    knows nothing else. "survival": y holds events and times, and rows may have weights.
    """
    if task == "survival":
        residuals = martingale_residuals(y, weights)
        return replace(_quantities(residuals), censored=True)
    y = _plain(np.asarray(y))
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; drop such rows of X and y.")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    asked = task
    if task == "auto":
        task = "classification" if y.ndim == 1 and _looks_like_classes(y) else "regression"
    if task == "classes" and (y.ndim == 2 or (y.dtype.kind == "f" and (y != np.rint(y)).any())):
        raise ValueError(
            "this method is for one column of classes, but y holds quantities; cut them into "
            "classes, or use a method for quantities such as MMFS."
        )
    if task in ("classification", "classes"):
        return _classes(y, asked)
    if y.dtype.kind not in "biuf":
        what = "several columns" if y.ndim == 2 else QUANTITIES
        raise InputError(
            "y must hold numbers with ", what, f", but its type is {y.dtype}; convert it."
        )
    return _quantities(y.astype(np.float64))


def refuse_other_targets(y: Any, task: str = "auto") -> None:
    """What is neither classes nor quantities, though it can be turned into an array."""
    names = [str(name) for name in getattr(y, "columns", ())]
    if task == "auto" and names_survival(names):
        raise InputError(
            f"y has the columns {', '.join(names)}; pass ", SURVIVAL, " if they are censored times "
            "and events, or ", QUANTITIES, " if they are two quantities.",
        )  # fmt: skip
    for values in _columns_of(y):
        if _holds_dates(values):
            raise ValueError(
                "y holds dates or durations; pass numbers, such as days since a date, or classes."
            )


def settled(y: Any, task: str) -> tuple[Any, str]:
    """y and its task where its type tells: events and times, or indicators of several labels."""
    if task == "survival" or (task == "auto" and is_structured(y)):
        return as_survival(y), "survival"
    if fields := getattr(getattr(y, "dtype", None), "names", None):
        raise ValueError(
            f"y is a structured array with the fields {', '.join(fields)}; pass one of them, such "
            f"as y[{fields[-1]!r}]."
        )
    if not hasattr(y, "tocsr"):
        return y, task
    if y.shape[0] * y.shape[1] > MOST_LABELS:
        raise ValueError(
            f"y holds {y.shape[1]:,} labels for {y.shape[0]:,} rows, which is too many at once; "
            "pass some of its columns."
        )
    return y.toarray(), "regression" if y.shape[1] > 1 else task


def plain_labels(y: Any) -> Any:
    """A categorical y of pandas or polars as text: its type says that its values are classes."""
    kind = str(getattr(y, "dtype", "")).lower()
    if not kind.startswith(("category", "categorical", "enum")):
        return y
    values = np.asarray(y, dtype=object)
    missing = [value is None or value != value for value in values]
    return np.array(
        [None if lost else str(value) for value, lost in zip(values, missing, strict=True)],
        dtype=object if any(missing) else None,
    )


def _columns_of(y: Any) -> Iterable[Any]:
    names = getattr(y, "columns", None)
    return [y] if names is None else [y[name] for name in names]


def _holds_dates(values: Any) -> bool:
    kind = getattr(values, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind != "O":
        return kind.kind in "mM"
    if kind is not None and str(kind).lower().startswith(("date", "time", "duration", "period")):
        return True
    flat = np.asarray(values, dtype=object).ravel()[:1000]
    dated = ("date", "datetime", "time", "timedelta", "Timestamp", "Timedelta", "NaTType",
             "datetime64", "timedelta64", "Period")  # fmt: skip
    return any(type(value).__name__ in dated for value in flat)


def _plain(y: Array) -> Array:
    """Numbers that are kept as objects, as numbers."""
    if y.dtype.kind != "O" or not all(isinstance(label, Real | Decimal) for label in y.flat):
        return y
    values = y.ravel().tolist()
    if all(isinstance(label, bool | np.bool_) for label in values):
        return y.astype(bool)
    whole = all(isinstance(label, Integral) for label in values)
    if whole and max(abs(int(label)) for label in values) >= 2**63:
        return y  # names, rather than numbers: some would become the same
    try:
        return np.array([int(v) if whole else float(v) for v in values]).reshape(y.shape)
    except OverflowError:
        raise ValueError("y holds numbers too large for double precision; rescale them.") from None


def _looks_like_classes(y: Array) -> bool:
    if y.dtype.kind not in "iuf":
        return True
    if y.dtype.kind == "f" and (y != np.rint(y)).any():
        return False
    return len(np.unique(y)) <= max(2, min(MOST_CLASSES, len(y) // ROWS_PER_CLASS))


def _classes(y: Array, asked: str) -> Target:
    """`asked` "classification" is the word of a user, who need not be asked again."""
    if y.ndim == 2:
        raise InputError(
            f"y has {y.shape[1]} columns; ", CLASSES, " takes one column of labels (for several "
            "outputs, pass ", QUANTITIES, ").",
        )  # fmt: skip
    known = (str, bytes, Real, np.bool_)
    if y.dtype.kind == "O" and not all(isinstance(label, known) for label in y):
        kinds = sorted({type(label).__name__ for label in y if not isinstance(label, known)})
        raise ValueError(f"y holds labels of type {', '.join(kinds)}; pass text or numbers.")
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
    if asked != "classification" and len(classes) > max(2, len(y) / ROWS_PER_CLASS):
        settle = (CLASSES, " if these are classes.") if asked == "auto" else ("fewer.",)
        raise InputError(
            f"y has {len(classes):,} different labels in {len(y):,} rows, more than one in three; "
            "pass ", *settle,
        )  # fmt: skip
    # Indicators scaled to unit norm are orthonormal; what is orthogonal to the constant is kept.
    constant = np.sqrt(sizes / len(y))
    basis = null_space(constant[None, :])
    Y = _centred((basis / np.sqrt(sizes)[:, None])[labels])
    return Target(Y, labels.astype(np.int64), len(classes), None)


def _quantities(y: Array) -> Target:
    y = np.ldexp(y, -np.frexp(np.abs(y).max())[1])  # squares stay in range, and digits as they are
    centred = _centred(y.reshape(len(y), -1))
    norms = np.linalg.norm(centred, axis=0)
    varies = norms > CONSTANT_TARGET * np.sqrt(len(y)) * np.abs(y.reshape(len(y), -1)).max(axis=0)
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
