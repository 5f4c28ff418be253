"""What the methods of comparison share beyond being selectors."""

from typing import Any

import numpy as np

from mmfs.base import Data, PerColumn, Selector
from mmfs.discretize import SCORE_DIGITS, States, discretize
from mmfs.relevance import refuse_several
from mmfs.validation import check_parameters, is_name, keeps_scores, number_to_select
from mmfs.warn import warn_caller

Array = np.ndarray

# Features that a mere ranking selects if not told how many, or all where there are fewer.
UNASKED = 10


class Baseline(Selector):
    """A selector that ranks columns by scores of its own kind, `scores_`."""

    scores_ = PerColumn()
    n_features_to_select: int | float | None
    keep_scores: bool | str
    discretize: str  # of those that count states

    @property
    def _counts(self) -> bool:
        """Whether it looks at nothing but the states of columns."""
        return hasattr(self, "discretize")

    @property
    def takes_codes(self) -> bool:
        """Whether categories may come as numbers, which mean nothing but which is which."""
        return self._counts and is_name(self.discretize, "as_is")

    def _prepare(
        self, X: Any, y: Any, unasked: int | None = None, **options: Any
    ) -> tuple[Data, int | None]:
        """The data, and how many features were asked for, or `unasked`."""
        check_parameters(self)
        data = self._read(X, y, **options)
        asked, n_usable = self.n_features_to_select, data.columns.n_usable
        return data, number_to_select(asked, data.X.shape[1], n_usable, unasked)

    def _states(self, data: Data) -> tuple[States, Array]:
        """The columns as discrete variables, and the information of each about the target."""
        target = data.target
        refuse_several(target)
        states = discretize(self.discretize, data.columns, target.labels, target.n_labels)
        info = states.information(target.labels[:, None], target.n_labels)[:, 0]
        if not states.entropy.any():
            warn_caller(
                f"discretize={self.discretize!r} leaves every column of X with one state: none "
                "tells anything, and they rank as they come; choose another."
            )
        return states, info

    def _keep(self, data: Data, indices: Array, scores: Array) -> None:
        """Remember the ranking. Scores of constant columns are NaN, whatever they were."""
        scores = np.where(data.usable, scores, np.nan)
        self.indices_, self.n_scans_ = indices, data.columns.n_scans
        kept = keeps_scores(self.keep_scores, len(scores))
        self._per_column = {"scores_": scores if kept else None}


def rounded(values: Array) -> Array:
    """Without the digits that are rounding error, beside the largest value."""
    largest = values.max()
    return np.round(values / largest, SCORE_DIGITS) * largest if largest > 0 else values
