"""Data frames with columns of categories: from pandas or polars to codes, once."""

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from mmfs.errors import InputError, Parameter
from mmfs.names import columns_asked
from mmfs.sources import Mixed
from mmfs.sources.mixed import MISSING

Array = np.ndarray

# What data frames call columns of categories.
CATEGORIES = ("category", "categorical", "enum")

DATES = ("date", "time", "duration", "period", "<m8", "object_date")
PLAIN_TYPES = (str, bool, int, float, np.bool_, np.number, type(None))

# What types of columns of numbers are called beside NumPy's.
NUMBERS = ("int", "float", "uint", "bool", "decimal")

# A column with more different values than this share of the rows is names or text, not categories.
MOST_DIFFERENT = 0.5

# Letters of the name of a category, at most.
LONGEST = 300


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def holds_words(X: Any) -> bool:
    """Whether some columns of a frame do not hold numbers: their types tell, mostly."""
    if not is_frame(X):
        return False
    doubtful = [
        name for name, kind in zip(X.columns, X.dtypes, strict=True)
        if not (isinstance(kind, np.dtype) and kind.kind in "biuf")
    ]  # fmt: skip
    return any(_holds_words(X[name]) for name in doubtful)


def read_frame(X: Any, exclude: Any = None) -> Mixed | Array:
    """Columns of numbers and of categories; those to `exclude` are not looked at.

    An array if all of the others hold numbers.
    """
    names = np.array([str(name) for name in X.columns], dtype=object)
    out = [] if exclude is None else columns_asked(exclude, names, len(names), "exclude").tolist()
    numbers, codes, levels = [], [], []
    of_codes = np.zeros(len(names), dtype=bool)
    for j, values in enumerate(_columns(X)):
        if j in out:
            numbers.append(np.zeros(X.shape[0]))
        elif _holds_words(values):
            known, code = _categories(names[j], values)
            of_codes[j] = True
            codes.append(code)
            levels.append(known)
        else:
            numbers.append(_floats(values))
    dense = np.column_stack(numbers) if numbers else np.empty((X.shape[0], 0))
    if not codes:
        return dense
    return Mixed(dense, np.column_stack(codes), levels, of_codes, names)


def _columns(X: Any) -> list[Any]:
    return [X[name] for name in X.columns]


def _holds_words(values: Any) -> bool:
    kind = values.dtype
    if str(kind).lower().startswith((*CATEGORIES, *DATES)):
        return True
    if isinstance(kind, np.dtype) and kind.kind in "biufmM":
        return kind.kind in "mM"
    if not isinstance(kind, np.dtype) and str(kind).lower().startswith(NUMBERS):
        return False
    return not _all_numbers(values)


def _all_numbers(values: Any) -> bool:
    flat = np.asarray(values, dtype=object).tolist()
    return all(_is_missing(value) or isinstance(value, Real | Decimal) for value in flat)


def _floats(values: Any) -> Array:
    """NaN where there is no number."""
    try:
        return np.asarray(values, dtype=np.float64)
    except TypeError:  # pandas.NA
        flat = np.asarray(values, dtype=object).tolist()
        return np.array([np.nan if _is_missing(value) else float(value) for value in flat])


def _categories(name: str, values: Any) -> tuple[Array, Array]:
    """The different values of a column as text, and which each row has."""
    kind = str(values.dtype).lower()
    if kind.startswith(DATES):
        raise _unreadable(name, "dates")
    flat = np.asarray(values, dtype=object).tolist()
    found = categories(flat, declared=kind.startswith(CATEGORIES))
    if not isinstance(found, str):
        return found
    raise _unreadable(name, found)


def categories(values: list, declared: bool) -> tuple[Array, Array] | str:
    """The different values as text, and which each row has; or why these are no categories.

    Columns that are not `declared` to be of categories may be meant as numbers.
    """
    texts = [MISSING if _is_missing(value) else str(value) for value in values]
    strange = {
        type(value).__name__
        for value in values
        if not (isinstance(value, PLAIN_TYPES) or _is_missing(value))
    }
    if strange:
        return f"values of type {min(strange)}"
    there = [text for text in texts if text != MISSING]
    others = [text for text in there if not _is_number(text)]
    longest = max(map(len, there), default=0)
    if longest > LONGEST:
        return f"texts of up to {longest:,} letters, as prose has,"
    if not declared and there and 2 * len(others) <= len(there):
        return "numbers as text" + (f", and {others[0]!r}," if others else "")
    levels, codes = np.unique(np.array(texts, dtype=object), return_inverse=True)
    if len(levels) > max(2, MOST_DIFFERENT * len(texts)):
        n, m = len(levels), len(texts)
        return f"{n:,} different texts in {m:,} rows, as names and prose have,"
    return levels, codes.astype(np.int32)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unreadable(name: str, what: str) -> InputError:
    return InputError(
        f"X has {what} in column {name!r}; leave it out, ", Parameter("exclude", [name]),
        ", or make it numbers or categories.",
    )  # fmt: skip
