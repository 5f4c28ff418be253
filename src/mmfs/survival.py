"""Times of which some are censored, as a target: martingale residuals.

Of a row with time t_i, E_i = 1 if the event was seen then and 0 if the row was lost from sight, the
residual is E_i - H(t_i), with the cumulative hazard H by Nelson and Aalen: what a Cox model without
covariates leaves unexplained. Correlations with it rank as that model's score test does.
"""

from typing import Any

import numpy as np

from mmfs.errors import InputError, Parameter

Array = np.ndarray

# Two columns of which one is called like the first of these, the other like the second, are the
# outcome of a survival study.
TIMES = ("time", "duration", "days", "months", "years", "survival", "follow", "surv")
EVENTS = ("event", "status", "death", "dead", "died", "censor", "relapse", "failure", "cens")

SURVIVAL = Parameter("task", "survival")


def martingale_residuals(y: Array, weights: Array | None = None) -> Array:
    """Of y with columns (event, time); events at one time happen together, by Breslow."""
    event, time = y.T
    weights = np.ones(len(y)) if weights is None else weights
    times, at = np.unique(time, return_inverse=True)
    events = np.bincount(at, weights * event, len(times))
    at_risk = np.cumsum(np.bincount(at, weights, len(times))[::-1])[::-1]
    hazard = np.divide(events, at_risk, out=np.zeros(len(times)), where=at_risk > 0)
    return event - np.cumsum(hazard)[at]


def is_structured(y: Any) -> bool:
    return bool(getattr(getattr(y, "dtype", None), "names", None))


def names_survival(names: list[str]) -> bool:
    """Whether two columns are called like a time and an event."""
    return _event_by_name(names) is not None


def as_survival(y: Any) -> Array:
    """Events (1, or 0 where censored) and times as two columns, from whatever holds them.

    That is a structured array as scikit-survival makes it, a frame or an array with two columns.
    """
    if is_structured(y):
        names = list(y.dtype.names)
        columns = [np.asarray(y[name]) for name in names]
    elif hasattr(y, "columns"):
        names = [str(name) for name in y.columns]
        columns = [np.asarray(y[name]) for name in y.columns]
    else:
        values = np.asarray(y)
        columns = list(values.T) if values.ndim == 2 else []
        names = [str(c) for c in range(len(columns))]
    if len(columns) != 2:
        raise InputError(
            SURVIVAL, " needs an event and a time for every row: a structured array of scikit-"
            f"survival, or two columns; y has {len(columns) or 1}.",
        )  # fmt: skip
    try:
        numbers = [column.astype(np.float64) for column in columns]
    except (TypeError, ValueError):
        raise InputError(SURVIVAL, " needs numbers: events as 0 and 1, and times.") from None
    named = is_structured(y) or hasattr(y, "columns")
    which = _which_is_event(names, columns, numbers) if named else 0
    event, time = numbers[which], numbers[1 - which]
    if not np.isfinite(event).all() or not np.isfinite(time).all():
        raise ValueError("y has no event or time in some row; drop such rows of X and y.")
    if not np.isin(event, (0, 1)).all():
        raise ValueError(
            f"the events of y (column {names[which]!r}) must be 0 where a time is censored and 1 "
            "where it is not; in an array without names they come first."
        )
    if (time < 0).any():
        raise ValueError(f"the times of y ({names[1 - which]!r}) must not be negative.")
    if not event.any():
        raise ValueError("y has no event: every time is censored; there is nothing to select for.")
    return np.column_stack([event, time])


def _event_by_name(names: list[str]) -> int | None:
    """Which of two columns is called like an event, the other being called like a time."""
    if len(names) != 2:
        return None
    lower = [name.lower() for name in names]

    def called(name: str, words: tuple[str, ...]) -> bool:
        return any(word in name for word in words)

    for event in range(2):
        if called(lower[event], EVENTS) and called(lower[1 - event], TIMES):
            return event
    return None


def _which_is_event(names: list[str], columns: list[Array], numbers: list[Array]) -> int:
    boolean = [column.dtype.kind == "b" for column in columns]
    if sum(boolean) == 1:
        return boolean.index(True)
    if (named := _event_by_name(names)) is not None:
        return named
    flags = [bool(np.isin(values, (0, 1)).all()) for values in numbers]
    if sum(flags) == 1:
        return flags.index(True)
    raise InputError(
        f"the columns of y, {names[0]!r} and {names[1]!r}, do not tell which is the event; name "
        "them event and time, or pass events as booleans.",
    )
