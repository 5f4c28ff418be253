"""The border: everything a user can get wrong, each with one sentence that says what to do."""

from collections import Counter
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from mmfs.columns import Columns
from mmfs.errors import InputError, Parameter
from mmfs.frames import holds_words, is_frame, read_frame
from mmfs.relevance import RELEVANCES
from mmfs.sources import Elsewhere, Mixed, elsewhere, is_dask, is_store
from mmfs.target import plain_labels, refuse_other_targets, settled

Array = np.ndarray

# Features up to which given similarities are checked to be positive semi-definite.
PSD_LIMIT = 3_000

# What has a value per column is kept, unasked, for at most this many columns.
KEPT_COLUMNS = 100_000


class TooFewColumns(InputError):
    """More features were asked for than columns are usable."""

    n_usable: int


class Rule(NamedTuple):
    """What a parameter may be, as a test and in words."""

    holds: Callable[[Any], bool]
    wanted: str


def one_of(*names: str, function: str = "") -> Rule:
    """One of the names or, if described, a function."""

    def holds(value: Any) -> bool:
        if isinstance(value, str):
            return value in names
        return bool(function) and callable(value)

    wanted = [*map(repr, names), *filter(None, [function])]
    return Rule(holds, f"one of {', '.join(wanted)}")


def is_name(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name


def is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_fraction(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, Integral) and 0 < float(value) <= 1


COUNT = Rule(
    lambda v: v is None or (is_int(v) and v >= 1) or _is_fraction(v),
    "a whole number of at least 1, a fraction in (0, 1], or None",
)
WHOLE = Rule(lambda v: is_int(v) and v >= 1, "a whole number >= 1")
POSITIVE = Rule(lambda v: is_real(v) and 0 < v < np.inf, "a positive number")
LOSS_WEIGHT = Rule(lambda v: is_real(v) and 1e-10 <= v <= 1e10, "a number from 1e-10 to 1e10")
FLAG = Rule(lambda v: isinstance(v, bool | np.bool_), "True or False")
KEEP = Rule(lambda v: is_name(v, "auto") or isinstance(v, bool), "'auto', True or False")
TASK = one_of("auto", "classification", "regression", "survival")
CLASS_WEIGHT = Rule(
    lambda v: (
        v is None
        or is_name(v, "balanced")
        or (isinstance(v, dict) and all(is_real(w) and 0 <= w < np.inf for w in v.values()))
    ),
    "None, 'balanced', or a dict with a weight for labels",
)
RELEVANCE = Rule(
    lambda v: v in RELEVANCES if isinstance(v, str) else v is not None,
    f"{one_of(*RELEVANCES).wanted}, an array, a function of (X, y)",
)


def keeps_scores(asked: bool | str, n_columns: int, remote: bool = False) -> bool:
    """Whether what has a value for every column is kept, or brought from other machines."""
    return n_columns <= KEPT_COLUMNS and not remote if isinstance(asked, str) else asked


def check_parameters(selector: Any) -> None:
    """Types and ranges of the parameters."""
    for name, rule in selector._rules.items():
        value = getattr(selector, name)
        if not rule.holds(value):
            raise InputError(Parameter(name), f" must be {rule.wanted}, got {value!r}.")


def read_input(
    selector: Any, X: Any, y: Any, needs_y: bool, task: str = "auto",
    categories: str | None = None, exclude: Any = None,
) -> tuple[Any, Any, str]:  # fmt: skip
    """X as an array, a CSC or CSR matrix or data elsewhere, y as an array; and the task of y.

    Finiteness of X is checked later. Columns of `categories` may come as "features", in a table of
    which some are excluded, or as "codes" of them among the numbers; None refuses them.
    """
    if isinstance(X, Mixed) and categories is None:
        name = type(selector).__name__
        raise ValueError(f"{name} takes numbers alone, but X has columns of categories.")
    X = elsewhere(X)
    if isinstance(X, Elsewhere):
        return X, *_read_elsewhere(selector, X, y, needs_y, task)
    if needs_y:
        y, task = settled(aligned(X, y), task)
        refuse_other_targets(y, task)
        y = plain_labels(y)
    if np.ma.is_masked(X) or np.ma.is_masked(y):
        raise ValueError("X or y is a masked array, whose mask is not looked at; fill it.")
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise ValueError(f"X is a {type(X).__name__}, not data; pass X.collect().")
    if is_frame(X):
        _check_frame(X)
    options = {"accept_sparse": ("csc", "csr"), "dtype": "numeric", "ensure_all_finite": False}
    try:
        if not needs_y:
            return validate_data(selector, X, **options), None, task
        refuse_missing_label(y)
        if isinstance(X, Mixed) or (categories is not None and holds_words(X)):
            table, y = _read_table(selector, X, y, exclude)
            coded = categories == "codes" and isinstance(table, Mixed)
            return table.coded() if coded else table, y, task
        Z, y = validate_data(selector, X, y, ensure_min_samples=2, multi_output=True, **options)
        if Z.dtype.kind in "mM":
            raise ValueError("X holds dates; encode them as numbers.")
        return Z.astype(np.float64) if Z.dtype.kind not in "biuf" else Z, y, task
    except InputError:
        raise
    except (ValueError, TypeError):
        column = _unreadable_column(X)
        if column is None:
            raise
    raise ValueError(f"X has {column}; encode it as numbers, or leave it out.")


def _read_table(selector: Any, X: Any, y: Any, exclude: Any) -> tuple[Any, Array]:
    """A frame, or a table that was made of one, that holds more than numbers; and y."""
    table = X if isinstance(X, Mixed) else read_frame(X, exclude)
    y = validate_data(selector, y=y, multi_output=True)
    check_consistent_length(table, y)
    if isinstance(X, Mixed):
        selector.n_features_in_ = X.shape[1]
        selector.feature_names_in_ = np.asarray(X.feature_names, dtype=object)
    else:
        validate_data(selector, X, skip_check_array=True)
    return table, y


def _check_frame(X: Any) -> None:
    """A DataFrame must have rows, columns, and names for them that tell them apart."""
    if 0 in X.shape:
        raise ValueError(
            f"X has {X.shape[0]:,} rows and {X.shape[1]:,} columns; there is nothing to select."
        )
    names = list(X.columns)
    if len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise ValueError(f"X has several columns called {twice!r}; rename them.")


def aligned(X: Any, y: Any, name: str = "y") -> Any:
    """y in the order of the rows of X, where pandas names the rows of both."""
    if not (hasattr(X, "iloc") and hasattr(y, "iloc")) or len(X) != len(y):
        return y  # numbers of rows are compared later
    if X.index.equals(y.index):
        return y
    try:
        where = y.index.get_indexer(X.index)
    except Exception:  # an index with repeats, or of a type that cannot be compared
        where = np.array([-1])
    counted = any(some.equals(type(some)(range(len(X)))) for some in (X.index, y.index))
    if not counted and (where >= 0).all():
        return y.iloc[where]
    raise ValueError(
        f"the index of {name} is not that of X; pass {name}.to_numpy() if both have the same rows "
        f"in the same order, or {name}.loc[X.index] if the index names them."
    )


def _read_elsewhere(
    selector: Any, X: Elsewhere, y: Any, needs_y: bool, task: str
) -> tuple[Array, str]:
    """y for data that scikit-learn cannot look at; the selector is told of their columns."""
    if not needs_y:
        raise ValueError(f"kernel='precomputed' needs similarities in memory, not {X}.")
    y = getattr(X, "y", None) if y is None else y
    y, task = settled(y.compute() if is_dask(y) else y, task)
    refuse_other_targets(y, task)
    if y is None:
        raise ValueError(f"y is missing, and {X} has none of its own; pass the target.")
    y = plain_labels(y)
    refuse_missing_label(y)
    y = validate_data(selector, y=y, multi_output=True)
    if len(y) != X.shape[0]:
        raise ValueError(f"y has {len(y):,} rows, but X, {X}, has {X.shape[0]:,}.")
    if X.shape[0] < 2:
        raise ValueError("X has one row; there is nothing to compare.")
    selector.n_features_in_ = X.shape[1]
    vars(selector).pop("feature_names_in_", None)
    if X.feature_names is not None and X.shape[1] <= KEPT_COLUMNS:
        selector.feature_names_in_ = np.asarray(X.feature_names, dtype=object)
    return y, task


def check_columns(selector: Any, X: Elsewhere) -> None:
    """X must have as many columns as those that the selector was fitted on."""
    if X.shape[1] != selector.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]:,} columns, but {type(selector).__name__} was fitted on "
            f"{selector.n_features_in_:,}."
        )


def read_again(selector: Any, X: Any) -> Any:
    """The data that a selector was fitted on, as read."""
    if isinstance(X, Mixed):
        return X
    if holds_words(X):
        validate_data(selector, X, reset=False, skip_check_array=True)
        return read_frame(X, getattr(selector, "exclude", None))
    if isinstance(X, str) and not is_store(Path(X)):
        raise ValueError("explain takes X, the data of the fit, and then the features.")
    X = elsewhere(X)
    if isinstance(X, Elsewhere):
        check_columns(selector, X)
        return X
    return validate_data(
        selector, X, reset=False, accept_sparse=("csc", "csr"), dtype="numeric",
        ensure_all_finite=False,
    )  # fmt: skip


def names_of_columns(selector: Any, X: Any, names: Any) -> Any:
    """As given, or of the data, or of the fit; or None."""
    if names is None:
        names = X.feature_names if isinstance(X, Elsewhere) else None
        return getattr(selector, "feature_names_in_", None) if names is None else names
    if not callable(names) and len(names) != selector.n_features_in_:
        raise ValueError(f"there are {len(names)} names for {selector.n_features_in_:,} columns.")
    return names


def refuse_elsewhere(X: Any, name: str) -> None:
    """For what needs all of X in memory."""
    if isinstance(X, Elsewhere | str | Path) or is_dask(X):
        raise ValueError(
            f"{name} needs X in memory, but X is {X}; select columns with MMFS first, and pass "
            "X[:, columns]."
        )


def check_scanned(
    columns: Columns, n_columns: int, names: Array | None, numbers: Array | None = None,
    missing: str = "refuse",
) -> None:  # fmt: skip
    """After the first scan: some column must vary, and all must be finite, and their squares.

    `numbers` are those of the columns in X, which has n_columns, if they are not all there.
    """
    n_bad, first = columns.not_finite()
    if n_bad == 0 and missing == "refuse":
        n_bad, first = columns.holed()
    if n_bad == 0:
        return refuse_constant(n_columns, columns.n_usable)
    j = first if numbers is None else int(numbers[first])
    values = columns.values(np.array([first])).ravel()
    wrong = np.flatnonzero(~np.isfinite(values))
    name = f"column {j}" if names is None else f"column {j} ({names[j]!r})"
    others = f" ({n_bad:,} columns are affected)" if n_bad > 1 else ""
    what = "numbers too large or too small to square"
    if len(wrong):
        kind = "NaN" if np.isnan(values[wrong[0]]) else "infinity"
        what = f"{kind} in row {wrong[0]}"
    raise ValueError(f"X has {what}, {name}{others}; impute, rescale or drop it.")


def refuse_constant(n_columns: int, n_usable: int) -> None:
    if n_usable == 0:
        raise ValueError(f"all {n_columns:,} columns of X are constant; nothing can be selected.")


def number_to_select(
    asked: int | float | None, n_columns: int, n_usable: int, unasked: int | None = None,
    n_out: int = 0,
) -> int | None:  # fmt: skip
    """The K that was asked for; for None `unasked`, or all usable columns if there are fewer."""
    refuse_constant(n_columns, n_usable)
    if asked is None:
        return unasked and min(unasked, n_usable)
    if not is_int(asked):  # 0.29 of 100 is 29, though 0.29 * 100 is a little less
        return min(max(1, int(asked * n_columns * (1 + 1e-12))), n_usable)
    if asked > n_usable:
        constant = n_columns - n_usable - n_out
        reasons = [f"{constant:,} of the {n_columns:,} are constant"] if constant else []
        reasons += [f"{n_out:,} are excluded"] if n_out else []
        because = f" ({', '.join(reasons)})" if reasons else ""
        few = TooFewColumns(
            Parameter("n_features_to_select", asked),
            f" is more than the {n_usable:,} usable columns{because}; ask for at most {n_usable}.",
        )
        few.n_usable = n_usable
        raise few
    return int(asked)


def check_similarities(Q: Any) -> Array:
    """X for kernel="precomputed": square, finite, symmetric, with a positive diagonal."""
    if sp.issparse(Q):
        raise ValueError(
            "kernel='precomputed' takes a dense array of similarities, not a sparse one."
        )
    if Q.shape[0] != Q.shape[1]:
        raise ValueError(
            f"kernel='precomputed' takes a square matrix of similarities between features, got "
            f"{Q.shape[0]} x {Q.shape[1]}."
        )
    if not np.isfinite(Q).all():
        raise ValueError("the matrix of similarities has NaN or infinity; remove those features.")
    if not np.allclose(Q, Q.T, rtol=1e-8, atol=1e-10):
        raise ValueError("the matrix of similarities is not symmetric; pass (Q + Q.T) / 2.")
    if not (np.diagonal(Q) > 0).all():
        j = int(np.flatnonzero(~(np.diagonal(Q) > 0))[0])
        raise ValueError(f"feature {j} has similarity {Q[j, j]:g} to itself; it must be positive.")
    if len(Q) <= PSD_LIMIT:
        lowest = float(np.linalg.eigvalsh(Q)[0])
        if lowest < -1e-8 * np.diagonal(Q).max():
            raise ValueError(
                f"the matrix of similarities is not positive semi-definite (lowest eigenvalue "
                f"{lowest:.3g}); add {-lowest:.3g} to its diagonal."
            )
    return Q


def refuse_missing_label(y: Any) -> None:
    if (row := _missing_label(y)) is not None:
        raise ValueError(f"y has no label in row {row}; drop that row of X and y, or fill it.")


def _missing_label(y: Any) -> int | None:
    """The first row whose label is None, NaN or pandas.NA, if y is a list or holds objects."""
    if not isinstance(y, list | tuple):  # in an array, a list with NaN would become text
        y = np.asarray(y)
        if y.dtype.kind != "O" or y.ndim != 1:
            return None
    for row, label in enumerate(y):
        missing = label is None or type(label).__name__ in ("NAType", "NaTType")
        if missing or (isinstance(label, float) and np.isnan(label)):
            return row
    return None


def _unreadable_column(X: Any) -> str | None:
    """The first column of a DataFrame that does not hold numbers, described."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return None
    for name in X.columns:
        values = np.asarray(X[name])
        if values.dtype.kind in "mM":
            return f"dates in column {name!r}"
        if values.dtype.kind in "biuf":
            continue
        for value in values:
            try:
                float(value)
            except (ValueError, TypeError):
                return f"{str(value)!r} in column {name!r}"
    return None
