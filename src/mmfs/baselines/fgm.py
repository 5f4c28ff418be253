"""FGM and GDM: groups of features found by cutting planes for a linear SVM."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from mmfs.base import Data
from mmfs.baselines.base import Baseline, rounded
from mmfs.baselines.groups import GroupSVM, bound
from mmfs.order import in_order
from mmfs.validation import COUNT, FLAG, KEEP, LOSS_WEIGHT, WHOLE, Rule, is_real
from mmfs.warn import warn_caller

Array = np.ndarray

# The search ends when a round improves the objective, or could at all, by less than this fraction.
ENOUGH = 1e-3

# Rounds if neither they nor a number of features is asked for.
ROUNDS = 20

# Correlations short of delta by this little reach it.
RHO_ROUNDING = 1e-12


@dataclass(eq=False, repr=False)
class FGM(Baseline):
    r"""Feature generating machine (Tan, Wang and Tsang 2010; Tan, Tsang and Wang 2014).

    A linear SVM with squared hinge loss and no bias may use B features; which ones, is part of
    the problem. Its convex relaxation is solved by cutting planes: given the dual variables
    :math:`\alpha`, the B columns with the largest :math:`(x_j^\top (\alpha \circ y))^2` form a new
    group; an SVM on all groups found so far (:mod:`mmfs.baselines.groups`) gives new dual
    variables. A round takes one pass over the data. Columns have zero mean and unit variance; if
    not centred, unit mean square.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        A number, a fraction of all columns, or None for all that are found until a round
        improves the objective by less than 0.1 %.
    B : int, default=2
        Features per round. With B as large as the number asked for, there is one round only,
        and it ranks by correlation.
    C : float, default=1.0
        Weight of the loss, summed over instances.
    max_rounds : int or None, default=None
        Most rounds; None for as many as it takes, or 20 if no number of features is asked for.
    center : bool, default=True
        Whether columns are centred; sparse ones are, without being made dense.
    keep_scores : bool or "auto", default="auto"
        Whether to keep `scores_`; "auto": for up to 100,000 columns.
    n_jobs : int or None, default=None
        Threads for scans of dense data and compressed columns.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    indices_ : ndarray
        Selected columns by the round in which they were found, then by the strength they had.
        If the problem is solved, or the rounds are over, before that many are found, the
        strongest others follow.
    scores_ : ndarray of shape (n_features_in_,)
        Length of each column's weights in the last SVM; 0 if it was not in it, NaN if constant.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected columns.
    n_iter_, n_scans_ : int
        Rounds; how often all columns were looked at.
    objective_, gap_ : float
        Objective of the last SVM; how far, relatively, it can be above the optimum over all
        groups of B columns.

    Notes
    -----
    For classes only. With more than two, one SVM per class against the rest shares the groups:
    the squares are summed over classes. This is our extension.

    The columns found are held in memory, dense if X is: 8 bytes times rows times columns found.
    """

    _rules: ClassVar = {
        "n_features_to_select": COUNT,
        "keep_scores": KEEP,
        "B": WHOLE,
        "C": LOSS_WEIGHT,
        "max_rounds": Rule(lambda v: v is None or WHOLE.holds(v), f"None or {WHOLE.wanted}"),
        "center": FLAG,
    }

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    B: int = 2
    C: float = 1.0
    max_rounds: int | None = None
    center: bool = True
    keep_scores: bool | str = "auto"
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any) -> None:
        data, k = self._prepare(X, y, task="classes", center=self.center)
        svm = GroupSVM(data.columns, _signs(data.target.labels, data.target.n_labels), self.C)
        previous, largest_gap = np.inf, 0.0
        while True:
            strength = rounded(np.where(data.usable, svm.strength(), -np.inf))
            worst = in_order(-strength, self.B)
            self.gap_ = 1 - bound(svm.alpha, self.C, strength[worst].sum()) / svm.objective
            self._say(
                f"round {len(svm.groups)}, {len(svm.found)} features, relative gap {self.gap_:.1e}"
            )
            if self._done(svm, k, previous):
                break
            group = self._group(data, svm, strength, worst)
            if len(group) == 0:
                break
            previous = svm.objective
            svm.add(group)
            largest_gap = max(largest_gap, svm.gap)
        if largest_gap > ENOUGH:
            warn_caller(
                f"an SVM was stopped at a relative duality gap of {largest_gap:.1e}, and groups "
                "found after it may not be the best; lower C.",
                ConvergenceWarning,
            )
        scores = np.zeros(len(strength))
        scores[svm.found] = svm.lengths()
        self.n_iter_ = len(svm.groups)
        self.objective_ = svm.objective
        self._keep(data, self._ranked(svm, strength, k), scores)

    def _done(self, svm: GroupSVM, k: int | None, previous: float) -> bool:
        rounds = len(svm.groups)
        if k is not None:
            return len(svm.found) >= k or rounds == self.max_rounds
        return rounds == (self.max_rounds or ROUNDS) or (
            rounds > 0 and previous - svm.objective <= ENOUGH * previous
        )

    def _group(self, data: Data, svm: GroupSVM, strength: Array, worst: Array) -> Array:
        """The worst case for the present dual variables; none if it cannot make a difference."""
        known = any(set(worst) == set(svm.found[group]) for group in svm.groups)
        return worst[:0] if known or self.gap_ <= ENOUGH else worst

    def _ranked(self, svm: GroupSVM, strength: Array, k: int | None) -> Array:
        if k is None or k <= len(svm.found):
            return svm.found[:k]
        strength[svm.found] = -np.inf
        return np.concatenate([svm.found, in_order(-strength, k - len(svm.found))])


@dataclass(eq=False, repr=False)
class GDM(FGM):
    """Group discovery machine (Zhai, Tan, Ong and Tsang 2012): FGM without correlated features.

    A round takes B new *support* features, the strongest that are not correlated with any other
    support feature by `delta` or more in absolute value. Columns that are, are *affiliated* with
    the support feature they are most correlated with. Only support features are selected. A round
    takes one pass over the data, and another one for each new support feature.

    Parameters
    ----------
    n_features_to_select, B, C, max_rounds, center, n_jobs, verbose
        As in :class:`FGM`. Where fewer support features are to be found than asked for, a
        warning says so.
    delta : float, default=0.8
        Absolute correlation from which on two features are not both selected.

    Attributes
    ----------
    groups_ : dict of int to ndarray
        For every selected column the columns affiliated with it, most correlated first.
    indices_, scores_, support_, n_iter_, n_scans_, objective_
        As in :class:`FGM`.
    gap_ : float
        As in :class:`FGM`, whose optimum is free of `delta`; it need not go to zero.

    Notes
    -----
    Written from short descriptions of the method. Our reading, where they are silent: support
    features of earlier rounds count as well, so a round brings new ones only; a column belongs to
    the support feature it is most correlated with, of equal ones the first; every column of X is
    affiliated if it can be, whether or not it was strong enough to be considered; delta=0.8.
    """

    _rules: ClassVar = {
        **FGM._rules,
        "delta": Rule(lambda v: is_real(v) and 0 < v <= 1, "a number in (0, 1]"),
    }

    _: KW_ONLY
    delta: float = 0.8

    def _fit(self, X: Any, y: Any) -> None:
        super()._fit(X, y)
        self.groups_ = {}
        for s in self.indices_.tolist():
            own = np.flatnonzero((self._support == s) & (self._rho >= self.delta - RHO_ROUNDING))
            own = own[own != s]
            self.groups_[s] = own[np.argsort(-self._rho[own], kind="stable")]
        del self._support, self._rho

    def _group(self, data: Data, svm: GroupSVM, strength: Array, worst: Array) -> Array:
        """The B strongest columns that are weakly correlated with each other and with `found`."""
        if len(svm.found) == 0:
            self._support = np.full(len(strength), -1)  # the nearest support feature of each column
            self._rho = np.zeros(len(strength))  # and the absolute correlation with it
        group: list[int] = []
        while len(group) < self.B:
            free = np.where(self._rho < self.delta - RHO_ROUNDING, strength, -np.inf)
            j = int(np.argmax(free))
            if free[j] == -np.inf:
                break
            group.append(j)
            rho = np.abs(data.columns.correlations(np.array([j]))[:, 0])
            rho[j] = np.inf
            nearer = rho > self._rho + RHO_ROUNDING
            self._support[nearer] = j
            self._rho[nearer] = rho[nearer]
        return np.array(group, dtype=np.intp)

    def _ranked(self, svm: GroupSVM, strength: Array, k: int | None) -> Array:
        if k is not None and len(svm.found) < k:
            why = (
                f"max_rounds={self.max_rounds} are over"
                if len(svm.groups) == self.max_rounds
                else f"every other column is correlated with one of them by {self.delta:g} or more"
            )
            warn_caller(f"GDM found {len(svm.found)} features, not the {k} asked for: {why}.")
        return svm.found[:k]


def _signs(labels: Array, n_labels: int) -> Array:
    """+1 for a class and -1 for the rest, a column for each; one column for two classes."""
    member = labels[:, None] == (np.arange(n_labels) if n_labels > 2 else np.array([1]))
    return np.where(member, 1.0, -1.0)
