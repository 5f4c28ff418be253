"""What each column tells about the target, alone."""

from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.stats import chi2, f, norm
from sklearn.feature_selection import chi2 as chi2_scores
from sklearn.feature_selection import (
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
    r_regression,
)

from mmfs.columns import Adjustment, Columns, correlation
from mmfs.discretize import SCORE_DIGITS, three_states
from mmfs.hsic import HSIC, RowComparison, as_hsic
from mmfs.target import Target

Array = np.ndarray

# Columns handed to the nearest-neighbour estimator at a time: it copies what it gets.
NEIGHBOUR_COLUMNS = 256

# Leverage: a column whose largest square is more of their sum than this hangs on single rows,
# and so does one of fewer rows than these.
LEVERAGE = 0.2
FEW_ROWS = 40

# Permuted targets that such a column is compared with; fewer, where they would be more numbers than
# these; but not fewer than these; and those of them that tell.
PERMUTATIONS = 5_000
PERMUTED_NUMBERS = 4_000_000
LEAST_PERMUTATIONS = 40
SEVERAL = 3

# Numbers of permuted targets that are made at once: the cache holds them.
PERMUTED_AT_ONCE = 1 << 16

# Numbers of permutations that are kept for another fit with as many rows, at most.
KEPT_NUMBERS = 1 << 20

# Functions of scikit-learn whose scores have a known scale.
SCORES = (
    f_classif, f_regression, r_regression, chi2_scores, mutual_info_classif, mutual_info_regression
)  # fmt: skip

RELEVANCES = ("correlation", "mutual_info", "binned_mutual_info", "hsic")


def relevance_of(
    kind: Any,
    X: Any,
    y: Any,
    *,
    columns: Columns,
    target: Target,
    scale: str | None = None,
    random_state: Any = None,
) -> Array:
    """The relevance of every column: one of RELEVANCES, an array, or a function of (X, y)."""
    usable = columns.usable
    if how := as_hsic(kind):
        return np.where(usable, dependence(columns, target, how), 0.0)
    if callable(kind):
        columns.adjustment.refuse("relevance as a function of (X, y)")
        return given(scored(kind, X, y), usable, scale)
    if not isinstance(kind, str):
        return given(kind, usable, scale)
    if kind == "correlation":
        return correlation(columns.everything.products)
    if kind == "mutual_info" and isinstance(X, np.ndarray):
        columns.refuse("relevance='mutual_info'")
        r = neighbour_mutual_info(X, target, random_state, columns.n_jobs)
    else:
        r = binned_mutual_info(columns, target)
    return np.where(usable, r, 0.0)


def binned_mutual_info(columns: Columns, target: Target) -> Array:
    """Mutual information of the target with each column cut at mean -+ one deviation."""
    refuse_several(target)
    states = three_states(columns)
    return as_correlation(states.information(target.labels[:, None], target.n_labels)[:, 0])


def dependence(columns: Columns, target: Target, how: HSIC) -> Array:
    """HSIC of the target with each column, from 0 to 1."""
    comparison = RowComparison(columns, how)
    if target.of_classes:
        features = comparison.of_classes(target.labels)
    else:
        features = comparison.of_quantities(
            target.Y if target.values is None else target.values[:, None]
        )
    return np.round(np.clip(comparison.project(features)[:, 0], 0.0, 1.0), SCORE_DIGITS)


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


def scored(function: Any, X: Any, y: Array) -> Any:
    """What a function says of (X, y); the scores of scikit-learn's on the scale of a correlation.

    Of a pair (scores, p-values) the scores are taken. F and chi-squared grow with the number of
    rows: eta^2 = F k / (F k + m) for k and m degrees of freedom is the squared correlation (ratio),
    and so is chi^2 / (chi^2 + M), nearly, of the presence of something rare, in whatever unit.
    """
    values = function(X, y)
    if isinstance(values, tuple) and values:
        values = values[0]
    function = unwrapped(function)
    if function not in SCORES:
        return values
    scores, between, within = np.asarray(values, dtype=np.float64), 1, len(y) - 2
    if function is r_regression:
        return np.abs(scores)
    if function in (mutual_info_classif, mutual_info_regression):
        return as_correlation(scores)
    if function is f_classif:
        n_classes = len(np.unique(y))
        between, within = n_classes - 1, len(y) - n_classes
    with np.errstate(invalid="ignore", divide="ignore"):  # an infinite score, or none
        if function is chi2_scores:
            squares = X.multiply(X) if hasattr(X, "multiply") else X * X
            scores = scores * np.ravel(X.sum(axis=0)) / np.ravel(squares.sum(axis=0))
            within = len(y)
        r = np.sqrt(scores * between / (scores * between + max(within, 1)))
    r[np.isposinf(scores)] = 1.0
    return r


def unwrapped(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def given(values: Any, usable: Array, scale: str | None = None) -> Array:
    """A relevance supplied by the user, on a scale from 0 to 1; 0 for columns that are not usable.

    Rounding errors below zero and above one are forgiven. `scale` "max": divided by the largest.
    """
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
    if scale == "max":
        return np.maximum(r, 0.0) / max(largest, np.finfo(float).tiny)
    if largest > 1 + 1e-6:
        raise ValueError(
            f"relevance has values up to {largest:.4g}, but must be on the scale of a correlation, "
            "from 0 to 1; pass relevance_scale='max' to divide them by the largest."
        )
    return np.clip(r, 0.0, 1.0)


def level_of_chance(n_columns: int, n_rows: float, n_outputs: int) -> float:
    """The correlation (ratio) with the target that one in n_columns random columns exceeds.

    HSIC has no such formula; there the largest with a shuffled target serves.
    """
    return float(np.sqrt(chi2.isf(1 / max(n_columns, 2), n_outputs) / max(n_rows, 1.0)))


def chance_of(
    kind: Any, largest: float, n_columns: int, target: Target, n_rows: float, center: bool = True
) -> float | None:
    """How likely the largest relevance of n_columns unrelated columns is no smaller than that.

    `n_rows` are as many as tell the same if all weigh the same. As if columns were independent: if
    they are not, it is less. None where it is not known.
    """
    kind = unwrapped(kind)
    if n_columns == 0 or not center:
        return None
    if isinstance(kind, str) and kind == "binned_mutual_info":
        return _of_largest(_binned_tail(largest, target.labels), n_columns)
    same = (f_regression, r_regression) if target.Y.shape[1] == 1 else ()
    same = (*same, f_classif) if target.of_classes else same
    if (isinstance(kind, str) and kind == "correlation") or any(kind is score for score in same):
        return _of_largest(correlation_tail(largest, n_rows, target.Y.shape[1]), n_columns)
    return None


def chance_of_groups(
    squares: Array, ranks: Array, usable: Array, n_rows: float, n_outputs: int
) -> float:
    """How likely it is that some group of unrelated columns explains as much: Pillai's trace.

    Of each group r_g^2 = |P_g Y|_F^2 and its rank; by the F test, exact for one output.
    """
    V, k, q = squares[usable], ranks[usable], n_outputs
    s = np.minimum(k, q)
    m, n = (np.abs(k - q) - 1) / 2, (n_rows - 1 - k - q - 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        F = (2 * n + s + 1) / (2 * m + s + 1) * V / (s - V)
        tail = f.sf(F, s * (2 * m + s + 1), s * (2 * n + s + 1))
    tail = np.where((V < s) & (2 * n + s + 1 > 0), tail, np.where(V >= s, 0.0, 1.0))
    tail[n_rows - 1 - k <= 0] = 1.0  # more columns than rows explain anything
    return float(_of_largest(tail, len(tail)).min(initial=1.0))


def correlation_tail(r: Any, n_rows: float, n_outputs: int) -> Any:
    """The probability that the correlation (ratio) of an unrelated column is no smaller: F test."""
    within = n_rows - 1 - n_outputs
    r = np.asarray(r, dtype=float)
    if within <= 0:
        return np.ones_like(r)
    with np.errstate(divide="ignore"):
        return f.sf(r**2 / (1 - r**2) * within / n_outputs, n_outputs, within)


def _binned_tail(r: float, labels: Array) -> float:
    """The same for mutual information with a column of three states: the G test, by Williams.

    The states are taken to be as frequent as those of a normal column.
    """
    sizes = np.bincount(labels)
    sizes, n_rows = sizes[sizes > 0], len(labels)
    freedom = 2 * (len(sizes) - 1)
    outer = norm.cdf(-1)
    rare = (2 / outer + 1 / (1 - 2 * outer) - 1) * ((n_rows / sizes).sum() - 1)
    G = -n_rows * np.log(max(1 - r**2, np.finfo(float).tiny))
    return float(chi2.sf(G / (1 + rare / (6 * n_rows * freedom)), freedom))


def n_permutations(n_rows: int, n_outputs: int) -> int:
    """Of a target that can be held at once; none if they are too few to tell."""
    n = min(PERMUTATIONS, PERMUTED_NUMBERS // (n_rows * n_outputs))
    return n if n >= LEAST_PERMUTATIONS else 0


def permuted_chance(
    F: Array, r: Array, n_columns: int, Y: Array, n_rows: float, adjustment: Adjustment
) -> float:
    """The least chance of a few standardised columns, looked at by permutations of the target.

    The F test is far off for columns that hang on a few rows, and permutations show it: what
    several of them exceed is no rarer than that. What weights and covariates leave of the target
    is permuted, and adjusted for them again (Freedman and Lane). `n_rows` tell as much as all.
    """
    q = Y.shape[1]
    tail = correlation_tail(r, n_rows, q)
    n = n_permutations(*Y.shape)
    if not n or not (n_rows < FEW_ROWS or (F**2).max() > LEVERAGE):
        return float(_of_largest(tail, n_columns).min())
    counted = np.arange(len(Y)) if adjustment.root is None else np.flatnonzero(adjustment.root)
    root = None if adjustment.root is None else adjustment.root[counted, None]
    left, F = Y[counted] if root is None else Y[counted] / root, F[counted]
    B = None if adjustment.covariates is None else adjustment.covariates[counted]
    shuffled = _shuffled if n * len(left) <= KEPT_NUMBERS else _shuffled.__wrapped__
    exceeding, rows = np.zeros(len(r)), shuffled(len(left), n)
    for some in np.array_split(rows, max(1, rows.size * q // PERMUTED_AT_ONCE), axis=1):
        permuted = left.take(some, axis=0)  # rows x permutations x outputs
        if not adjustment.plain:
            permuted = _adjusted(permuted, root, B)
        found = np.linalg.norm(np.tensordot(F.T, permuted, 1), axis=2)
        exceeding += (found >= (1 - 1e-9) * r[:, None]).sum(axis=1)
    tail = np.where(exceeding >= SEVERAL, np.maximum(tail, exceeding / n), tail)
    return float(_of_largest(tail, n_columns).min())


def _adjusted(permuted: Array, root: Array | None, B: Array | None) -> Array:
    """Permuted targets weighted, adjusted, and made orthonormal, each for itself."""
    root = np.ones((len(permuted), 1)) if root is None else root
    out = permuted * root[:, :, None]
    out -= root[:, :, None] * (np.tensordot(root[:, 0], out, 1) / (root**2).sum())
    if B is not None:
        out -= np.tensordot(B, np.tensordot(B.T, out, 1), 1)
    gram = np.einsum("inq,inr->nqr", out, out)
    sizes, vectors = np.linalg.eigh(gram)
    known = sizes > 1e-9 * sizes[:, -1:]
    scale = np.where(known, 1 / np.sqrt(np.where(known, sizes, 1.0)), 0.0)
    return np.einsum("inq,nqr->inr", out, vectors * scale[:, None, :])


@lru_cache(maxsize=2)
def _shuffled(n_rows: int, n: int) -> Array:
    """n permutations of the rows, a column each: always the same."""
    rows = np.tile(np.arange(n_rows, dtype=np.int32), (n, 1))
    return np.ascontiguousarray(np.random.default_rng(0).permuted(rows, axis=1).T)


def _of_largest(tail: Any, n_columns: int) -> Any:
    """Sidak's correction: from the probability of one column to that of any of n."""
    return -np.expm1(n_columns * np.log1p(-np.minimum(tail, 1 - 1e-16)))


def as_correlation(info: Array) -> Array:
    """sqrt(1 - exp(-2 I)): the |correlation| of two Gaussians that share I nats."""
    return np.sqrt(-np.expm1(-2.0 * np.maximum(info, 0.0)))


def refuse_several(target: Target) -> None:
    if target.several:
        raise ValueError(
            "mutual information is defined for one output here; pass one column of y, or choose "
            "correlations instead."
        )
