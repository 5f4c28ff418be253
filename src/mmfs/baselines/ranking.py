"""MaxRel and mRMR: relevance alone, and relevance against redundancy one feature at a time."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from mmfs.base import Data
from mmfs.baselines.base import UNASKED, Baseline
from mmfs.discretize import DISCRETIZATIONS, SCORE_DIGITS
from mmfs.order import in_order
from mmfs.relevance import correlation
from mmfs.validation import COUNT, KEEP, RELEVANCE, TASK, one_of

Array = np.ndarray

# Keeps a quotient finite where a column shares nothing with those taken.
EPSILON = 1e-4


@dataclass(eq=False, repr=False)
class MaxRel(Baseline):
    """Maximal relevance: the columns that tell most about the target, each by itself.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        A number, a fraction of all columns, or None for 10 (or all, if there are fewer).
    relevance : {"correlation", "mutual_info", "binned_mutual_info"}, array or callable, \
            default="correlation"
        As in :class:`mmfs.MMFS`.
    task : {"auto", "classification", "regression"}, default="auto"
        As in :class:`mmfs.MMFS`.
    random_state : int, RandomState instance or None, default=0
        Noise of the nearest-neighbour estimate of mutual information.
    keep_scores : bool or "auto", default="auto"
        Whether to keep `scores_`; "auto": for up to 100,000 columns.
    n_jobs : int or None, default=None
        Threads for scans of dense data and compressed columns.
    verbose : int or callable, default=0
        As in :class:`mmfs.MMFS`; one scan has little to report.

    Attributes
    ----------
    indices_ : ndarray
        Selected columns in rank order; ties go to the lower index.
    scores_ : ndarray of shape (n_features_in_,)
        Relevance of every column, NaN for constant ones.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected columns.
    n_scans_ : int
        How often all columns were looked at.
    """

    _rules: ClassVar = {
        "n_features_to_select": COUNT,
        "relevance": RELEVANCE,
        "task": TASK,
        "keep_scores": KEEP,
    }

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    relevance: Any = "correlation"
    task: str = "auto"
    random_state: Any = 0
    keep_scores: bool | str = "auto"
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any) -> None:
        data, k = self._prepare(X, y, unasked=UNASKED, task=self.task)
        assert k is not None
        r = data.relevance(self.relevance, self.random_state)
        ranked = np.where(data.usable, -np.round(r, SCORE_DIGITS), np.inf)
        self._keep(data, in_order(ranked, k), r)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@dataclass(eq=False, repr=False)
class MRMR(Baseline):
    """Minimal redundancy, maximal relevance (Peng, Long and Ding 2005): greedy, one at a time.

    The next feature is the one whose relevance most exceeds, as a difference or as a quotient,
    its mean redundancy with those taken before. A pass over the data for each. A quotient has
    0.0001 added to its denominator.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        A number, a fraction of all columns, or None for 10 (or all, if there are fewer).
    criterion : {"MID", "MIQ", "FCD", "FCQ"}, default="MID"
        Mutual information with the target and with columns taken, as difference or quotient; or
        the F statistic of the target and absolute correlations. F is not on the scale of a
        correlation: with "FCD" redundancy hardly counts where F is large, and "FCQ" takes copies
        of a column whose F is far ahead.
    discretize : {"three_states", "equal_frequency", "mdl", "nonzero", "as_is"}, \
            default="three_states"
        How values become states, for mutual information: see :mod:`mmfs.discretize`. With "as_is"
        columns may hold categories.
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
        Selected columns in the order they were taken; ties go to the lower index.
    scores_ : ndarray of shape (n_features_in_,)
        The criterion when a column was taken; for the others, when the last one was. NaN for
        constant columns.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected columns.
    n_scans_ : int
        How often all columns were looked at.
    """

    _rules: ClassVar = {
        "n_features_to_select": COUNT,
        "keep_scores": KEEP,
        "criterion": one_of("MID", "MIQ", "FCD", "FCQ"),
        "discretize": one_of(*DISCRETIZATIONS),
        "task": TASK,
    }

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    criterion: str = "MID"
    discretize: str = "three_states"
    task: str = "auto"
    keep_scores: bool | str = "auto"
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any) -> None:
        data, k = self._prepare(X, y, unasked=UNASKED, task=self.task)
        measures = self._information if self._counts else self._correlation
        relevance, redundancy_with = measures(data)
        scores = np.full(len(relevance), np.nan)
        candidates = data.usable.copy()
        redundancy = np.zeros(len(relevance))  # summed over the columns taken
        taken: list[int] = []
        while True:
            current = self._criterion(relevance, redundancy, len(taken))
            scores[candidates] = current[candidates]
            current[~candidates] = -np.inf
            best = current.max()
            j = int(np.argmax(current >= best - 10.0**-SCORE_DIGITS * abs(best)))
            candidates[j] = False
            taken.append(j)
            self._say(f"{len(taken)} of {k} features", len(taken), k)
            if len(taken) == k:
                break
            redundancy += redundancy_with(j)
        self._keep(data, np.array(taken), scores)

    @property
    def _counts(self) -> bool:
        return self.criterion in ("MID", "MIQ")

    def _criterion(self, relevance: Array, redundancy: Array, n_taken: int) -> Array:
        if n_taken == 0:
            return relevance.copy()
        if self.criterion.endswith("D"):
            return relevance - redundancy / n_taken
        return relevance / (redundancy / n_taken + EPSILON)

    def _information(self, data: Data) -> tuple[Array, Callable[[int], Array]]:
        states, relevance = self._states(data)
        return relevance, lambda j: states.shared(np.array([j]))[:, 0]

    def _correlation(self, data: Data) -> tuple[Array, Callable[[int], Array]]:
        """F of the regression of a column on the target, and |rho| with another column."""
        explained = correlation(data.products) ** 2
        n_rows, q = data.target.Y.shape
        rest = np.maximum(1 - explained, np.finfo(float).eps)
        F = explained / q / (rest / max(1, n_rows - q - 1))
        return F, lambda j: np.abs(data.columns.correlations(np.array([j]))[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not self._counts
        return tags
