"""FCBF: a feature goes if a more relevant one tells as much about it as it tells of the target."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from mmfs.baselines.base import Baseline
from mmfs.discretize import DISCRETIZATIONS, SCORE_DIGITS, States, entropy_of
from mmfs.order import in_order
from mmfs.validation import COUNT, KEEP, TASK, Rule, is_name, is_real, one_of
from mmfs.warn import warn_caller

Array = np.ndarray


@dataclass(eq=False, repr=False)
class FCBF(Baseline):
    """Fast correlation-based filter (Yu and Liu 2003).

    Columns are ranked by SU(f; y), their symmetrical uncertainty 2 I / (H + H) with the target.
    The first one is kept, and every later f with SU(f; first) >= SU(f; y) is dropped; then the
    next one left, and so on. How many are kept is up to the data.

    It takes one pass over the surviving columns per feature kept (they are copied when three in
    four are gone), and never holds similarities with more than one feature. On millions of
    columns, ask for a number of features: the search ends when it has them, since they come in
    order.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        The first so many, or so large a fraction of all columns; None for all that are kept.
        Where fewer are kept than asked for, a warning says so.
    delta : float or "auto", default=0.0
        The least SU(f; y); "auto" takes that of the feature of rank N / log N.
    discretize : {"three_states", "equal_frequency", "mdl", "nonzero", "as_is"}, \
            default="three_states"
        How values become states: see :mod:`mmfs.discretize`. With "as_is" columns may hold
        categories.
    task : {"auto", "classification", "regression"}, default="auto"
        As in :class:`mmfs.MMFS`. A real target is cut into five states to be counted.
    keep_scores : bool or "auto", default="auto"
        Whether to keep `scores_`; "auto": for up to 100,000 columns.
    n_jobs : int or None, default=None
        Threads for scans of dense data and compressed columns.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    indices_ : ndarray
        Kept columns by SU(f; y) descending; ties go to the lower index.
    scores_ : ndarray of shape (n_features_in_,)
        SU(f; y), NaN for constant columns.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the kept columns.
    delta_ : float
        The delta used.
    n_scans_ : int
        How often all columns were looked at; passes over survivors are not counted.
    """

    _rules: ClassVar = {
        "n_features_to_select": COUNT,
        "keep_scores": KEEP,
        "delta": Rule(
            lambda v: is_name(v, "auto") or (is_real(v) and 0 <= v < 1),
            "'auto' or a number in [0, 1)",
        ),
        "discretize": one_of(*DISCRETIZATIONS),
        "task": TASK,
    }

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    delta: float | str = 0.0
    discretize: str = "three_states"
    task: str = "auto"
    keep_scores: bool | str = "auto"
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any) -> None:
        data, k = self._prepare(X, y, task=self.task)
        states, info = self._states(data)
        su = uncertainty(info, states.entropy, entropy_of(data.target.labels))
        order = in_order(np.where(data.usable, -su, np.inf), len(su))
        self.delta_ = self._least(su[order])
        order = order[: np.count_nonzero(su[order] >= self.delta_)]
        if len(order) == 0:
            raise ValueError(
                f"no column has a symmetrical uncertainty of delta={self.delta_:g} with y; the "
                f"largest is {np.max(su[data.usable]):.3g}."
            )
        kept = self._predominant(states, su, order, k)
        if k is not None and len(kept) < k:
            warn_caller(
                f"FCBF keeps {len(kept)} features, not the {k} asked for: all others are below "
                f"delta={self.delta_:g} or redundant to them."
            )
        self._keep(data, kept, su)

    def _least(self, descending: Array) -> float:
        if not isinstance(self.delta, str):
            return float(self.delta)
        n = len(descending)
        return float(descending[min(n, int(n / max(np.log(n), 1.0))) - 1])

    def _predominant(self, states: States, su: Array, order: Array, k: int | None) -> Array:
        """Of the columns in `order`, those that no earlier one kept makes redundant."""
        original = np.arange(len(su))
        kept: list[int] = []
        while len(order):
            first, order = order[0], order[1:]
            kept.append(original[first])
            if len(kept) == k:
                break
            with_first = uncertainty(
                states.shared(np.array([first]))[:, 0], states.entropy, states.entropy[first]
            )
            order = order[with_first[order] < su[order]]
            self._say(f"{len(kept)} features kept, {len(order):,} columns to go")
            if 0 < 4 * len(order) < len(su):  # go on with a copy of the survivors
                states, su, original = states.only(order), su[order], original[order]
                order = np.arange(len(order))
        return np.array(kept)


def uncertainty(info: Array, entropy: Array, other: float) -> Array:
    """Symmetrical uncertainty 2 I / (H + H), from 0 to 1; 0 where neither variable varies."""
    total = entropy + other
    su = np.divide(2 * info, total, out=np.zeros_like(info), where=total > 0)
    return np.round(su, SCORE_DIGITS)  # comparisons must not hang on rounding errors
