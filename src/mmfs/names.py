"""Columns by name, by number, by a mask or by a pattern."""

import difflib
from fnmatch import fnmatchcase
from numbers import Integral
from typing import Any

import numpy as np

Array = np.ndarray


def name_of(names: Any, j: int) -> Any:
    """Of column j, by names or a function; without any, its number."""
    if callable(names):
        return names(int(j))
    return int(j) if names is None else names[j]


def columns_asked(features: Any, names: Any, n_columns: int, what: str = "features") -> Array:
    """Numbers of columns given by name or number, one or several, each once; `what` asks for them.

    A name that is none may be a pattern, as of files.
    """
    mask = np.asarray(features) if isinstance(features, list | np.ndarray) else np.empty(0)
    if mask.dtype == bool and mask.shape == (n_columns,):
        return np.flatnonzero(mask)
    if isinstance(features, str) or np.ndim(features) == 0:
        features = [features.item() if isinstance(features, np.ndarray) else features]
    where = names if isinstance(names, dict) else {}
    if names is not None and not where:
        where = {str(name): j for j, name in enumerate(names)}
    found = [_columns(feature, where, n_columns, what) for feature in features]
    return np.array(list(dict.fromkeys(j for some in found for j in some)), dtype=np.intp)


def _columns(feature: Any, where: dict[str, int], n_columns: int, what: str) -> list[int]:
    if isinstance(feature, Integral) and not isinstance(feature, bool):
        if 0 <= int(feature) < n_columns:
            return [int(feature)]
        raise ValueError(f"there is no column {feature}; X has columns 0 to {n_columns - 1:,}.")
    if not isinstance(feature, str):
        raise ValueError(f"{what} must be names or numbers of columns, got {feature!r}.")
    if not where:
        raise ValueError(
            f"the columns of the data have no names, so {feature!r} is unknown; pass the number of "
            "the column."
        )
    if feature not in where:
        if matching := [j for name, j in where.items() if fnmatchcase(name, feature)]:
            return matching
        near = difflib.get_close_matches(feature, where, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"there is no feature {feature!r}{hint}")
    return [where[feature]]
