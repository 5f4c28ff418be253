"""Selection with a bound on the share of false features, by knockoffs.

Every column gets a knockoff: a random column with the same correlations to all other columns, but
made without looking at the target. A column that matters only through others is as likely to weigh
less than its knockoff as more; so the knockoffs that win tell how many false features win.
(Candes, Fan, Janson and Lv 2018: second-order Gaussian knockoffs, equi-correlated.)
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from sklearn.covariance import ledoit_wolf
from sklearn.utils import check_random_state

from mmfs.base import Few, PerColumn, WeightedSelector
from mmfs.errors import InputError, Parameter
from mmfs.model_selection.base import (
    SELECTOR,
    allows_holes,
    check_resampled,
    given_selector,
    settle_task,
)
from mmfs.per_row import PLAIN, PerRow
from mmfs.selector import MMFS
from mmfs.sources import Mixed
from mmfs.validation import (
    Rule,
    check_parameters,
    is_int,
    is_name,
    is_real,
    refuse_elsewhere,
)
from mmfs.warn import ChanceWarning, warn_caller

Array = np.ndarray

# Columns up to which knockoffs are made: their covariances are held and factored.
MOST_COLUMNS = 3_000

# Correlations with a lower eigenvalue than this are not positive definite, in practice.
LEAST_EIGENVALUE = 1e-8

# Weights are compared with each other, so the problem is solved more exactly than usual.
TOL = 1e-7


@dataclass(eq=False, repr=False)
class KnockoffSelector(WeightedSelector):
    """Features chosen so that, on average, at most a given share of them is false.

    MMFS is run on all columns together with a knockoff of each. The statistic of a column is its
    weight minus that of its knockoff; a column is selected if its statistic is at least T, the
    lowest value at which (offset + number of statistics <= -T) / (number >= T) is at most `fdr`.

    Parameters
    ----------
    fdr : float, default=0.1
        Expected share of false features among the selected ones, at most. To select anything at
        all, about 1 / fdr features must be found.
    selector : MMFS or None, default=None
        Options of the selection, such as its kernel or gamma. It must not be told how many
        features to select. gamma="auto" means here: as for a third as many features as there
        are rows or columns, whichever are fewer.
    covariance : array of shape (n_features, n_features) or None, default=None
        The covariance of the columns, where it is known; None estimates it.
    offset : {0, 1}, default=1
        1 controls the false discovery rate; 0 the "modified" one, which is milder.
    random_state : int, RandomState instance or None, default=0
        Makes the knockoffs: another one, another selection.
    n_jobs : int or None, default=None
        Threads for scans of the data.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    indices_ : ndarray
        Selected columns, the largest statistic first. There may be none.
    statistics_ : ndarray of shape (n_features_in_,)
        Weight of each column minus that of its knockoff; 0 for constant and repeated columns.
    threshold_ : float
        T; inf if nothing can be selected.
    support_, n_features_in_, feature_names_in_
        As in `MMFS`.

    Notes
    -----
    The guarantee is for columns with a joint normal distribution whose covariance is known. Where
    it is estimated (with Ledoit and Wolf's shrinkage) the guarantee is approximate: close with
    several rows per column, somewhat exceeded with fewer rows than strongly correlated columns.
    A feature is false if, given all other columns,
    the target does not depend on it: of a signal and its noisy copy the copy is false. Strongly
    correlated columns have knockoffs much like themselves, and little power.
    """

    statistics_ = PerColumn()

    _rules: ClassVar = {
        "fdr": Rule(lambda v: is_real(v) and 0 < v < 1, "a number between 0 and 1"),
        "selector": SELECTOR,
        "covariance": Rule(
            lambda v: v is None or np.ndim(v) == 2,
            "a matrix with a row for every column of X, or None",
        ),
        "offset": Rule(lambda v: is_int(v) and v in (0, 1), "0 or 1"),
    }

    fdr: float = 0.1
    _: KW_ONLY
    selector: MMFS | None = None
    covariance: Any = None
    offset: int = 1
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any, per_row: PerRow = PLAIN) -> None:
        check_parameters(self)
        selector = given_selector(self)
        check_resampled(selector, "KnockoffSelector")
        if selector.n_features_to_select is not None:
            raise ValueError(
                "KnockoffSelector finds the number of features itself; leave n_features_to_select "
                "of its selector None."
            )
        for name in ("must_include", "exclude", "feature_groups", "costs"):
            if getattr(selector, name) is not None:
                raise InputError(
                    "KnockoffSelector makes a copy of every column, and knows no ", Parameter(name),
                    "; pass the columns it is about, and what must be in as covariates.",
                )  # fmt: skip
        refuse_elsewhere(X, "KnockoffSelector")
        data = self._read(X, y, selector, per_row)
        if isinstance(data.X, Mixed):
            raise ValueError("Categories have no Gaussian knockoffs; use StabilitySelector.")
        if sp.issparse(data.X):
            raise ValueError(
                "Sparse data have no Gaussian knockoffs; pass X.toarray() if X is small and close "
                "to normal, or use StabilitySelector."
            )
        r = data.relevance("correlation", None)
        J = np.flatnonzero(data.usable & ~data.repeated(r, mirrors=True))
        if len(J) > MOST_COLUMNS:
            raise ValueError(
                f"knockoffs of {len(J):,} columns are too many (the limit is {MOST_COLUMNS:,}); "
                "select a part of them first, in other rows, or use StabilitySelector."
            )
        rng = check_random_state(self.random_state)
        rows, Z = unit_variance(data.columns.fetch(J).dense(), data.columns.adjustment.root)
        both = np.hstack([Z, knockoffs(Z, self._correlations(Z, J, data.X.shape[1]), rng)])
        self._say(f"made {len(J):,} knockoffs, solving for {2 * len(J):,} columns")
        # In random order, so that what depends on the order favours neither.
        order = rng.permutation(both.shape[1])
        selector.set_params(tol=min(TOL, selector.tol), rank="alpha")  # weights are all it gives
        settle_task(selector, data.target)
        if is_name(selector.gamma, "auto"):
            selector.set_params(n_features_to_select=max(1, min(Z.shape) // 3))
        alpha = np.empty(both.shape[1])
        with warnings.catch_warnings():  # half of them are noise
            warnings.simplefilter("ignore", ChanceWarning)
            alpha[order] = selector.fit(
                both[:, order], data.y[rows], **per_row.only(rows).as_arguments()
            ).alpha_
        W = alpha[: len(J)] - alpha[len(J) :]
        self._per_column = {"statistics_": Few(J, W)}
        self.threshold_ = knockoff_threshold(W, self.fdr, self.offset)
        chosen = np.flatnonzero(W >= self.threshold_)
        self.indices_ = J[chosen[np.argsort(-W[chosen], kind="stable")]]
        if len(chosen) == 0:
            needed = max(1, int(np.ceil(self.offset / self.fdr)))
            warn_caller(
                f"no selection has a false discovery rate of {self.fdr:g}: at least {needed} "
                "features would have to stand out from their knockoffs; raise fdr, or use "
                "StabilitySelector."
            )

    def _correlations(self, Z: Array, J: Array, n_columns: int) -> Array:
        """Of the columns J, as given or estimated from their standardised values Z."""
        if self.covariance is None:
            return _scaled(ledoit_wolf(Z, assume_centered=True)[0])
        given = np.asarray(self.covariance)
        if given.shape != (n_columns, n_columns) or given.dtype.kind not in "iuf":
            raise ValueError(
                f"covariance must hold {n_columns} x {n_columns} real numbers, got the shape "
                f"{given.shape} and type {given.dtype}."
            )
        if not np.isfinite(given).all() or not np.allclose(given, given.T):
            raise ValueError("covariance must be symmetric and without NaN or infinity.")
        given = _scaled(given[np.ix_(J, J)])
        if not np.linalg.eigvalsh(given)[0] > LEAST_EIGENVALUE:
            raise ValueError(
                "covariance must be positive definite for the columns of X that are neither "
                "constant nor repeated."
            )
        return given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = allows_holes(self.selector)
        tags.target_tags.multi_output = True
        return tags


def _scaled(covariance: Array) -> Array:
    """With a diagonal of ones."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    return covariance / np.outer(scale, scale)


def unit_variance(F: Array, root: Array | None) -> tuple[Array, Array]:
    """Of standardised columns the rows that count, and what they hold, not weighted any more."""
    if root is None:
        return np.arange(len(F)), np.sqrt(len(F)) * F
    rows = np.flatnonzero(root)
    Z = F[rows] / root[rows, None]
    return rows, Z / np.sqrt((Z**2).mean(axis=0))


def knockoffs(Z: Array, Sigma: Array, rng: np.random.RandomState) -> Array:
    """Second-order Gaussian knockoffs of columns with unit variance and correlations Sigma.

    Given Z they are normal with mean Z - s Z inv(Sigma) and covariance 2 s I - s^2 inv(Sigma),
    where s is as large as it can be for that to be a covariance.
    """
    s = 0.999 * min(1.0, 2 * float(np.linalg.eigvalsh(Sigma)[0]))
    inverse = cho_solve(cho_factor(Sigma), np.eye(len(Sigma)))
    covariance = 2 * s * np.eye(len(Sigma)) - s**2 * inverse
    noise = rng.standard_normal(Z.shape) @ np.linalg.cholesky(covariance).T
    return Z - s * (Z @ inverse) + noise


def knockoff_threshold(W: Array, fdr: float, offset: int) -> float:
    """The lowest t > 0 with (offset + #{W <= -t}) / max(1, #{W >= t}) <= fdr, or inf."""
    candidates = np.unique(np.abs(W[W != 0]))
    ordered = np.sort(W)
    negative = np.searchsorted(ordered, -candidates, side="right")
    positive = len(W) - np.searchsorted(ordered, candidates, side="left")
    good = (offset + negative) / np.maximum(1, positive) <= fdr
    return float(candidates[good][0]) if good.any() else np.inf
