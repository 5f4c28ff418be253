"""Features that are selected again and again in halves of the data, and how many of them are false.

Of many random halves and their complements (Shah and Samworth 2013), count how often each column is
among the first q that a selector takes. A column that is no better than chance is in q of N halves'
selections; being in a fraction of at least pi of them is then rare, and the expected number of such
columns is bounded:

    q^2 / ((2 pi - 1) N)      Meinshausen and Buhlmann 2010, where noise columns are exchangeable;
                              for complementary halves also without that
    c(pi, B) q^2 / N          Shah and Samworth, if the frequencies of such columns have a
                              unimodal distribution; B is the number of pairs of halves
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from mmfs.base import Few, PerColumn, Selector, WeightedSelector
from mmfs.model_selection.base import (
    MOST,
    allows_holes,
    by_number,
    check_resampled,
    choice_of,
    in_parallel,
    select_from_part,
    settle_task,
)
from mmfs.per_row import PLAIN, PerRow
from mmfs.selector import MMFS
from mmfs.validation import (
    POSITIVE,
    Rule,
    check_parameters,
    is_int,
    is_real,
    one_of,
)
from mmfs.warn import warn_caller

Array = np.ndarray

# The threshold for which q is chosen, and the expected number of false features it then allows.
THRESHOLD, FALSE = 0.75, 1.0


def worst_case_bound(threshold: float, q: float, n_columns: int, n_pairs: int) -> float:
    """Expected number of false selections at most, whatever the distribution."""
    return q**2 / ((2 * threshold - 1) * n_columns) if threshold > 0.5 else np.inf


def unimodal_bound(threshold: float, q: float, n_columns: int, n_pairs: int) -> float:
    """The same if frequencies have a unimodal distribution; never above the other bound."""
    t, step = q / n_columns, 1 / (2 * n_pairs)
    factor = np.inf
    if t <= 1 / np.sqrt(3) and threshold > min(0.5 + t**2, 0.5 + step + 0.75 * t**2):
        if threshold > 0.75:
            factor = 4 * (1 - threshold + step) / (1 + 2 * step)
        elif 2 * threshold - 1 > step:
            factor = 1 / (2 * (2 * threshold - 1 - step))
    return min(factor * q**2 / n_columns, worst_case_bound(threshold, q, n_columns, n_pairs))


BOUNDS: dict[str, Any] = {"unimodal": unimodal_bound, "worst_case": worst_case_bound}


@dataclass(eq=False, repr=False)
class StabilitySelector(WeightedSelector):
    """Features that a selector takes in most random halves of the data.

    Parameters
    ----------
    selector : a selector of this package, default=None
        What selects in each half; None is `MMFS()`. It is told how many features to select.
    n_features_per_half : int or None, default=None
        How many that is, q. None: the number the selector was given. If it has none, as many as
        the bound allows, at most 100, for the number of false features wanted (1, if only a
        threshold is given) and a threshold of 0.75 (or yours).
    n_pairs : int, default=50
        Pairs of halves.
    threshold : float or None, default=None
        Fraction of halves, above 0.5, in which a feature must be selected.
    target_false : float or None, default=None
        Instead of a threshold: the expected number of false features to allow. The lowest
        threshold is taken whose bound is not above. 1 if neither is given.
    bound : {"unimodal", "worst_case"}, default="unimodal"
        Which bound to go by. "worst_case" assumes less and asks for higher thresholds.
    random_state : int, RandomState instance or None, default=0
        Chooses the halves.
    n_jobs : int or None, default=None
        Pairs to work on at once. Results do not depend on it.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    indices_ : ndarray
        Selected columns: the most frequent first, of equally frequent ones those that ranked
        higher, then by index. There may be none.
    frequencies_ : ndarray of shape (n_features_in_,)
        Fraction of halves in which each column was selected.
    threshold_ : float
        The threshold used.
    n_features_per_half_ : float
        How many features were selected per half, on average.
    false_bound_ : float
        The bound on the expected number of false features, by `bound`.
    bounds_ : dict
        Both bounds.
    support_, n_features_in_, feature_names_in_
        As in `MMFS`.

    Notes
    -----
    A false feature is one that is selected in a half no more often than a random column would be,
    q times in N. For classes the halves are stratified. Each half is copied while it is in use.

    Examples
    --------
    >>> from mmfs import StabilitySelector
    >>> from mmfs.datasets import make_planted
    >>> X, y, names = make_planted()
    >>> stable = StabilitySelector().fit(X, y)
    >>> sorted(names[stable.indices_].tolist())
    ['copy of 1', 'copy of 4', 'mirror of 5', 'signal 3', 'signal 6']
    >>> stable.false_bound_ <= 1
    True
    """

    frequencies_ = PerColumn()

    _rules: ClassVar = {
        "n_features_per_half": Rule(
            lambda v: v is None or (is_int(v) and v >= 1), "a whole number of at least 1, or None"
        ),
        "n_pairs": Rule(lambda v: is_int(v) and 1 <= v <= 100_000, "a whole number up to 100,000"),
        "threshold": Rule(
            lambda v: v is None or (is_real(v) and 0.5 < v <= 1),
            "a number above 0.5 and up to 1, or None",
        ),
        "target_false": Rule(lambda v: v is None or POSITIVE.holds(v), "a positive number or None"),
        "bound": one_of(*BOUNDS),
    }

    selector: Selector | None = None
    _: KW_ONLY
    n_features_per_half: int | None = None
    n_pairs: int = 50
    threshold: float | None = None
    target_false: float | None = None
    bound: str = "unimodal"
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any, per_row: PerRow = PLAIN) -> None:
        check_parameters(self)
        if self.threshold is not None and self.target_false is not None:
            raise ValueError(
                "give threshold or target_false, not both: one follows from the other."
            )
        selector = MMFS() if self.selector is None else self.selector
        check_resampled(selector, "StabilitySelector")
        selector = clone(selector)
        data = self._read(X, y, selector, per_row)
        features, n_columns, n_in = choice_of(data, selector, self)
        counted = np.ones(len(data.y), dtype=bool)
        if per_row.weights is not None:
            counted = per_row.weights > 0
        if counted.sum() < 4 or data.n_effective < 4:
            rows = min(int(counted.sum()), int(data.n_effective))
            raise ValueError(f"X has {rows} rows that count; halves of them need at least 4.")
        q = self._per_half(selector.n_features_to_select, n_columns, n_in)
        self._threshold(q - n_in, n_columns)  # refuses before any work is done
        settle_task(by_number(selector, self).set_params(n_features_to_select=q), data.target)
        strata = data.target.labels if data.target.of_classes else np.zeros(len(data.y), dtype=int)
        sizes = np.bincount(strata[counted])
        if data.target.of_classes and sizes[sizes > 0].min() < 2:
            raise ValueError(
                "y has a class with one row, which cannot be in both halves; leave it out."
            )
        selections = self._selections(selector, data.X, data.y, strata, per_row)
        if features is not None:
            selections = [features.of(J) for J in selections]
        counts = np.bincount(np.concatenate(selections))
        self.n_features_per_half_ = float(np.mean([len(J) for J in selections]))
        free = self.n_features_per_half_ - n_in  # the others are selected in any case
        self.threshold_ = self._threshold(free, n_columns)
        self.bounds_ = {
            name: self._bound(self.threshold_, free, n_columns, name) for name in BOUNDS
        }
        self.false_bound_ = self.bounds_[self.bound]
        frequent = Few(np.flatnonzero(counts), counts[counts > 0] / (2 * self.n_pairs))
        chosen = self._ranked(selections, frequent)
        self.indices_ = chosen if features is None else features.columns_of(chosen)
        if features is not None:
            frequent = Few(*features.with_columns(*frequent))
        self._per_column = {"frequencies_": frequent}
        if len(self.indices_) == 0:
            warn_caller(
                f"no feature was selected in {self.threshold_:.0%} of the halves (the most "
                f"frequent: {frequent.values.max():.0%}); raise target_false, or lower threshold."
            )

    def _per_half(self, of_selector: Any, n_columns: int, n_in: int) -> int:
        """q, as asked for or as the bound allows, beside n_in that must be in."""
        asked = of_selector if self.n_features_per_half is None else self.n_features_per_half
        if is_int(asked):
            if asked > n_columns + n_in:
                raise ValueError(
                    f"{asked} features per half are more than the {n_columns:,} columns of X that "
                    "are not constant."
                )
            return int(asked)
        threshold, allowed = self.threshold or THRESHOLD, self.target_false or FALSE
        q = 1
        while q < min(n_columns, MOST) and self._bound(threshold, q + 1, n_columns) <= allowed:
            q += 1
        return q + n_in

    def _bound(self, threshold: float, q: float, n_columns: int, name: str | None = None) -> float:
        return BOUNDS[name or self.bound](threshold, q, n_columns, self.n_pairs)

    def _threshold(self, q: float, n_columns: int) -> float:
        """As given, or the lowest fraction of halves whose bound is good enough."""
        if self.threshold is not None:
            return self.threshold
        allowed, n_halves = self.target_false or FALSE, 2 * self.n_pairs
        for n in range(self.n_pairs + 1, n_halves + 1):
            if self._bound(n / n_halves, q, n_columns) <= allowed:
                return n / n_halves
        lowest = self._bound(1.0, q, n_columns)
        raise ValueError(
            f"{q:g} features per half of {n_columns:,} columns allow no threshold with at most "
            f"{allowed:g} false features expected (at best {lowest:.3g}); lower "
            "n_features_per_half, or raise target_false or n_pairs."
        )

    def _selections(
        self, selector: Any, X: Any, y: Array, strata: Array, per_row: PerRow
    ) -> list[Array]:
        """What is selected in each half, two for every pair, in rank order."""
        seeds = check_random_state(self.random_state).randint(2**31, size=self.n_pairs)
        tasks = [(selector, X, y, strata, per_row, int(seed)) for seed in seeds]
        selections: list[Array] = []
        for pair, both in enumerate(in_parallel(self.n_jobs, _select_in_halves, tasks), 1):
            selections += both
            if pair % 10 == 0 or pair == self.n_pairs:
                self._say(f"pair {pair} of {self.n_pairs}", pair, self.n_pairs)
        return selections

    def _ranked(self, selections: list[Array], frequent: Few) -> Array:
        J, frequency = frequent
        total = dict.fromkeys(J.tolist(), 0.0)
        for selection in selections:
            for place, j in enumerate(selection.tolist()):
                total[j] += place - len(selection)  # lowest for those that ranked high often
        order = np.lexsort((J, np.array([total[j] for j in J.tolist()]), -frequency))
        return J[order[frequency[order] >= self.threshold_ * (1 - 1e-12)]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = allows_holes(self.selector)
        return tags


def _select_in_halves(
    selector: Any, X: Any, y: Array, strata: Array, per_row: PerRow, seed: int
) -> list[Array]:
    """Of a random half of the rows, and of the other rows: the columns selected in it."""
    rng = np.random.default_rng(seed)
    # Neighbours in an order that is random within every stratum go to different halves; so do rows
    # of about equal weight.
    weights = np.ones(len(y)) if per_row.weights is None else per_row.weights
    order = np.lexsort((rng.random(len(y)), weights, strata))
    order = order[weights[order] > 0]
    side = np.arange(len(order)) % 2 == rng.integers(2)
    halves = (np.sort(order[side]), np.sort(order[~side]))
    return [select_from_part(selector, X[rows], y[rows], per_row.only(rows)) for rows in halves]
