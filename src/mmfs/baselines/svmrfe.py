"""SVM-RFE: train a linear SVM, drop the columns with the smallest weights, repeat."""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from mmfs.base import Data
from mmfs.baselines.base import UNASKED, Baseline, rounded
from mmfs.discretize import nonzero
from mmfs.sources import ArraySource, Compressed
from mmfs.validation import (
    COUNT,
    KEEP,
    LOSS_WEIGHT,
    POSITIVE,
    Rule,
    is_int,
    is_real,
    refuse_elsewhere,
)
from mmfs.warn import warn_caller

Array = np.ndarray


@dataclass(eq=False, repr=False)
class SVMRFE(Baseline):
    """Recursive feature elimination by a linear SVM (Guyon et al. 2002).

    The SVM is liblinear's, with squared hinge loss, through scikit-learn's `LinearSVC`; several
    classes are told apart one against the rest, and their squared weights added. Columns are
    scaled to unit variance and, unless mostly zero, centred; the SVM has an intercept.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        A number, a fraction of all columns, or None for 10 (or all, if there are fewer).
    step : int or float, default=0.1
        Columns dropped in a round: a number, or a fraction in (0, 1) of those that are left.
        At least one; the number asked for is not passed over.
    C : float, default=1.0
        Weight of the SVM's loss.
    tol : float, default=0.01
        Tolerance of the SVM, as liblinear understands it.
    random_state : int, RandomState instance or None, default=0
        Order of liblinear's coordinate updates.
    keep_scores : bool or "auto", default="auto"
        Whether to keep `scores_`; "auto": for up to 100,000 columns.
    n_jobs : int or None, default=None
        Threads for the first pass over dense data and compressed columns.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    indices_ : ndarray
        Selected columns, the last to be dropped first; of those dropped together, by weight.
    scores_ : ndarray of shape (n_features_in_,)
        Squared weight in the last SVM the column took part in, NaN for constant columns.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected columns.
    n_iter_ : int
        SVMs trained.
    n_scans_ : int
        How often all of X was read, before the first SVM.

    Notes
    -----
    For classes only. liblinear needs rows in double precision: one standardised copy of X is made,
    and copied again only when half of its columns are gone; liblinear makes another while it
    trains. Columns that are mostly zero stay sparse; their means are within a deviation of zero.
    """

    _rules: ClassVar = {
        "n_features_to_select": COUNT,
        "keep_scores": KEEP,
        "step": Rule(
            lambda v: (is_int(v) and v >= 1) or (not is_int(v) and is_real(v) and 0 < v < 1),
            "a whole number of at least 1 or a fraction in (0, 1)",
        ),
        "C": LOSS_WEIGHT,
        "tol": POSITIVE,
    }

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    step: int | float = 0.1
    C: float = 1.0
    tol: float = 0.01
    random_state: Any = 0
    keep_scores: bool | str = "auto"
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any) -> None:
        refuse_elsewhere(X, "SVMRFE")
        data, k = self._prepare(X, y, unasked=UNASKED, task="classes")
        assert k is not None
        n_rows, n_columns = data.X.shape
        scores = np.full(n_columns, np.nan)
        Z, original = _scaled(data)
        alive = np.ones(len(original), dtype=bool)  # columns of Z
        dropped: list[Array] = []
        self.n_iter_ = n_unfinished = 0
        while alive.any():
            n_left = int(alive.sum())
            weights, finished = self._weights(Z, data.target.labels, dual=n_rows < n_left)
            self.n_iter_ += 1
            n_unfinished += not finished
            self._say(f"{n_left:,} columns left")
            left = np.flatnonzero(alive)
            scores[original[left]] = weights[left]
            ascending = left[np.lexsort((-original[left], weights[left]))]
            drop = ascending[: n_left - self._next(n_left, k)]
            dropped.append(original[drop])
            alive[drop] = False
            _erase(Z, drop, alive)
            if 2 * np.count_nonzero(alive) < len(alive):
                Z, original, alive = Z[:, alive], original[alive], alive[alive]
        if n_unfinished:
            warn_caller(
                f"liblinear stopped short of tol={self.tol:g} in {n_unfinished} of {self.n_iter_} "
                "rounds; raise tol or lower C.",
                ConvergenceWarning,
            )
        self._keep(data, np.concatenate(dropped)[::-1][:k], scores)

    def _weights(self, Z: Any, labels: Array, dual: bool) -> tuple[Array, bool]:
        """Squared weights of an SVM, summed over classes, and whether it was trained to the end."""
        svm = LinearSVC(C=self.C, tol=self.tol, dual=dual, random_state=self.random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            svm.fit(Z, labels)
        weights = rounded(np.einsum("cj,cj->j", svm.coef_, svm.coef_))
        return weights, int(np.max(svm.n_iter_)) < svm.max_iter

    def _next(self, n_left: int, k: int) -> int:
        """How many columns are left after this round; k is not passed over."""
        fewer = int(self.step) if is_int(self.step) else max(1, int(self.step * n_left))
        return max(n_left - fewer, k if n_left > k else 0)


def _scaled(data: Data) -> tuple[Any, Array]:
    """The usable columns as liblinear is to read them, and which they are.

    All have unit variance. Those that are mostly not zero are centred, and come last; of the
    others no mean is more than a deviation from zero.
    """
    source, facts = data.columns.source, data.columns.everything
    assert isinstance(source, ArraySource | Compressed)
    X = source.X
    filled = 2 * nonzero(data.columns).totals[:, 0] > X.shape[0]
    plain, filled = np.flatnonzero(data.usable & ~filled), np.flatnonzero(data.usable & filled)
    order = np.concatenate([plain, filled])
    # Rounded: where liblinear stops depends on the last digits, which depend on how X is stored.
    mantissa, exponent = np.frexp(facts.inverse[order] * np.sqrt(X.shape[0]))
    factors = np.ldexp(np.rint(mantissa * 2**24), exponent - 24)
    steps = 2.0**30 * factors[len(plain) :]
    means = np.rint(facts.center[filled] * steps) / steps
    if not sp.issparse(X):
        Z = np.empty((X.shape[0], len(order)))
        Z[:] = X[:, order]
        Z[:, len(plain) :] -= means
        Z *= factors
        return Z, order
    centred = sp.csr_array(data.columns.values(filled) - means)
    Z = sp.hstack([X[:, plain], centred], format="csr", dtype=np.float64)
    if Z.nnz > np.iinfo(np.int32).max:
        raise ValueError(
            f"liblinear takes at most 2**31 stored entries, but X has {Z.nnz:,}; select columns "
            "with MaxRel first."
        )
    indices, indptr = Z.indices.astype(np.int32), Z.indptr.astype(np.int32)
    return sp.csr_array((Z.data * factors[indices], indices, indptr), Z.shape), order


def _erase(Z: Any, drop: Array, alive: Array) -> None:
    """Set columns to zero, in place: the SVM gives them no weight."""
    if sp.issparse(Z):
        Z.data[~alive[Z.indices]] = 0.0
    else:
        Z[:, drop] = 0.0
