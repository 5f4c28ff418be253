"""Methods of selection side by side: how well their features predict, and how long they take."""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.feature_selection import (
    SelectKBest,
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.metrics import check_scoring
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from mmfs.base import Data
from mmfs.baselines import FCBF, FGM, GDM, MRMR, QPFS, SVMRFE, MaxRel
from mmfs.model_selection.base import (
    Choice,
    by_number,
    check_resampled,
    choice_of,
    select_from_part,
    settle_task,
    with_warnings,
)
from mmfs.model_selection.cv import splitter
from mmfs.model_selection.judging import default_estimator, for_estimators, judged, name_of_score
from mmfs.optional import require
from mmfs.order import in_order
from mmfs.per_row import PerRow, read_per_row
from mmfs.selector import MMFS
from mmfs.sources import Mixed
from mmfs.target import Target
from mmfs.validation import aligned, is_int, refuse_elsewhere
from mmfs.warn import warn_caller

Array = np.ndarray
Ranking = Callable[[Target, Any, Array, PerRow, int], Array]  # the k best columns of X, best first

NUMBERS_COMPARED = (1, 2, 5, 10, 20, 50, 100)
FOR_CLASSES = {"fgm", "gdm", "svmrfe", "chi2", "l1_svm"}
MMFS_ALONE = ("must_include", "exclude", "feature_groups", "costs")
USUAL = ("mmfs", "mrmr", "fcbf", "svmrfe", "f_test", "chi2", "l1_svm")


class Method(NamedTuple):
    rank: Ranking
    nested: bool  # whether the best k are the first of any longer ranking


def _ours(selector: Any, nested: bool) -> Method:
    def rank(target: Target, X: Any, y: Array, per_row: PerRow, k: int) -> Array:
        one = clone(selector).set_params(n_features_to_select=k)
        settle_task(one, target)
        return select_from_part(one, X, y, per_row)

    return Method(rank, nested)


def _filter(for_classes: Any, for_quantities: Any = None) -> Method:
    def rank(target: Target, X: Any, y: Array, per_row: PerRow, k: int) -> Array:
        _refuse_tables(X, per_row)
        score = for_classes if target.of_classes else for_quantities
        if score is None:
            raise ValueError("it is for classes, but y holds quantities.")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # constant columns: they rank last
            scores = SelectKBest(score, k="all").fit(X, y).scores_
        return in_order(np.where(np.isnan(scores), np.inf, -scores), k)

    return Method(rank, nested=True)


def _refuse_tables(X: Any, per_row: PerRow) -> None:
    per_row.refuse("it")
    if isinstance(X, Mixed):
        raise ValueError("it takes numbers alone, but X has columns of categories.")
    values = X.data if sp.issparse(X) else X
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise ValueError("it takes no missing values (NaN); impute them.")


def _l1_svm(target: Target, X: Any, y: Array, per_row: PerRow, k: int) -> Array:
    _refuse_tables(X, per_row)
    scale = StandardScaler(with_mean=not sp.issparse(X))
    svm = LinearSVC(penalty="l1", dual=False, max_iter=10_000, random_state=0)
    weights = np.abs(make_pipeline(scale, svm).fit(X, y)[-1].coef_).sum(axis=0)
    return in_order(-weights, k, below=0.0)


METHODS = {
    "mmfs": _ours(MMFS(), nested=False),
    "maxrel": _ours(MaxRel(), nested=True),
    "mrmr": _ours(MRMR(), nested=True),
    "fcbf": _ours(FCBF(), nested=True),
    "qpfs": _ours(QPFS(), nested=True),
    "fgm": _ours(FGM(), nested=False),
    "gdm": _ours(GDM(), nested=False),
    "svmrfe": _ours(SVMRFE(), nested=False),
    "f_test": _filter(f_classif, f_regression),
    "chi2": _filter(chi2),
    "mutual_info": _filter(
        partial(mutual_info_classif, random_state=0),
        partial(mutual_info_regression, random_state=0),
    ),
    "l1_svm": Method(_l1_svm, nested=True),
}


@dataclass(frozen=True)
class Comparison:
    """Scores of several methods on rows that they did not see.

    Attributes
    ----------
    n_features : ndarray
        Numbers of features that were asked for.
    scores : dict of ndarray of shape (n_folds, len(n_features))
        Of each method. Some (fcbf, l1_svm) may find fewer features than were asked for.
    seconds : dict of ndarray of shape (n_folds,)
        Time that each took to select the largest number from the training rows; the first may
        include compilation.
    problems : dict of str
        Why a method could not take part.
    baseline : float
        Mean score without any feature.
    score_name : str
        "accuracy", "R2", or the scoring that was asked for.
    """

    n_features: Array
    scores: dict[str, Array]
    seconds: dict[str, Array]
    problems: dict[str, str]
    baseline: float
    score_name: str

    def mean(self, method: str) -> Array:
        return self.scores[method].mean(axis=0)

    def error(self, method: str) -> Array:
        """Standard errors of the means over folds."""
        scores = self.scores[method]
        return scores.std(axis=0, ddof=1) / np.sqrt(len(scores))

    def typical_seconds(self, method: str) -> float:
        """The median over folds."""
        return float(np.median(self.seconds[method]))

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row per method and number of features."""
        pandas = require("pandas", "explain", "to_frame()")
        columns = ["method", "n_features", "score", "error", "seconds"]
        rows = [
            (name, int(k), float(score), float(error), self.typical_seconds(name))
            for name in self.scores
            for k, score, error in zip(
                self.n_features, self.mean(name), self.error(name), strict=True
            )
        ]
        return pandas.DataFrame(rows, columns=columns)


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] | None = None,
    n_features: Sequence[int] | None = None,
    selector: MMFS | None = None,
    estimator: Any = None,
    cv: Any = 5,
    groups: Any = None,
    sample_weight: Any = None,
    covariates: Any = None,
    scoring: Any = None,
    random_state: Any = 0,
    progress: Any = None,
) -> Comparison:
    """Compare methods of selection on data, by cross-validation.

    In every fold each method selects from the training rows alone; an estimator is trained on what
    it selected and scored on the other rows.

    Parameters
    ----------
    X, y
        As for `MMFS.fit`.
    methods : sequence of str or None, default=None
        Of this package "mmfs", "maxrel", "mrmr", "fcbf", "qpfs", "fgm", "gdm" and "svmrfe"; of
        scikit-learn "f_test", "chi2", "mutual_info" and "l1_svm" (weights of a linear SVM with
        l1 penalty and C = 1). None: of the faster ones those that suit the data.
    n_features : sequence of int or None, default=None
        Numbers of features; None: 1, 2, 5, 10, 20, 50 and 100, as far as there are columns.
    selector : MMFS or None, default=None
        Options of "mmfs"; its `task` says what y holds for all methods.
    estimator : scikit-learn estimator, default=None
        What features are judged by, as in `MMFSCV`.
    cv : int, cross-validation generator or iterable, default=5
        A number stands for shuffled folds, stratified for classes.
    groups : array or None, default=None
        Rows of one group are never in different folds.
    sample_weight, covariates
        As for `MMFS.fit`; of the methods "mmfs" alone takes them. Weights reach the estimator and
        its scores too.
    scoring : str, callable or None, default=None
        As in scikit-learn; None is the estimator's own.
    random_state : int or None, default=0
        Shuffles the folds.
    progress : callable, default=None
        Told (text, done, total).

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from mmfs import compare
    >>> from mmfs.datasets import make_planted
    >>> X, y, names = make_planted()
    >>> result = compare(X, y, methods=["mmfs", "maxrel"], n_features=[6])
    >>> bool(result.mean("mmfs")[0] > result.mean("maxrel")[0])
    True
    """
    options = MMFS() if selector is None else clone(selector)
    check_resampled(options, "compare")
    refuse_elsewhere(X, "compare")
    per_row = read_per_row(X, sample_weight, covariates)
    data = options._read(X, y, options, per_row)
    target, labels, groups = data.target, for_estimators(data), aligned(X, groups, "groups")
    if target.censored:
        raise ValueError("compare knows classes and quantities; y holds censored times.")
    if target.several:
        raise ValueError("compare takes one target; y has several columns.")
    choice = choice_of(data, options, options)
    made = _methods(methods, by_number(options, options), data)
    numbers = _numbers(n_features, choice)
    told = [name for name in MMFS_ALONE if getattr(options, name) is not None]
    judge = default_estimator(data, data.columns.n_missing) if estimator is None else estimator
    scorer = check_scoring(judge, scoring=scoring)
    dummy = DummyClassifier() if target.of_classes else DummyRegressor()
    splits = list(splitter(cv, target, random_state, groups).split(data.X, labels, groups))

    scores = {name: np.empty((len(splits), len(numbers))) for name in made}
    seconds = {name: np.empty(len(splits)) for name in made}
    problems: dict[str, str] = {}
    warned: set[str] = set()
    baseline = np.empty(len(splits))
    for fold, (train, test) in enumerate(splits):
        X_train, y_train, X_test, y_test = data.X[train], labels[train], data.X[test], labels[test]
        seen, left_out = per_row.only(train), per_row.only(test)
        parts = X_train, y_train, X_test, y_test
        baseline[fold] = judged(dummy, scorer, *parts, seen, left_out)
        for turn, (name, method) in enumerate(made.items()):
            if progress:
                done, total = fold * len(made) + turn, len(splits) * len(made)
                progress(f"{name}, fold {fold + 1} of {len(splits)}", done, total)
            if name in problems:
                continue
            if name != "mmfs" and told:
                problems[name] = f"it does not know {told[0]}."
                continue
            try:
                work = (method, target, X_train, y_train, seen, numbers)
                (chosen, seconds[name][fold]), warnings_ = with_warnings(_selections, work)
            except ValueError as error:
                problems[name] = str(error)
                continue
            for category, text in warnings_[:1] if name not in warned else []:
                warned.add(name)
                warn_caller(f"{name}, fold {fold + 1}: {text}", category)
            for i, J in enumerate(chosen):
                parts = X_train[:, J], y_train, X_test[:, J], y_test
                scores[name][fold, i] = judged(judge, scorer, *parts, seen, left_out)
    for name in problems:
        del scores[name], seconds[name]
    score_name = name_of_score(scoring, estimator, target)
    return Comparison(numbers, scores, seconds, problems, float(baseline.mean()), score_name)


def _methods(asked: Sequence[str] | None, options: MMFS, data: Data) -> dict[str, Method]:
    """Those asked for, or the usual ones that suit the data."""
    if asked is None:
        counts = not isinstance(data.X, Mixed) and data.X.min() >= 0
        unsuited = set() if counts else {"chi2"}
        if not data.target.of_classes:
            unsuited |= FOR_CLASSES
        asked = [name for name in USUAL if name not in unsuited]
    if isinstance(asked, str) or len(asked) == 0:
        raise ValueError(f"methods must be a list of names, got {asked!r}.")
    for name in asked:
        if name not in METHODS:
            raise ValueError(f"there is no method {name!r}; methods are {', '.join(METHODS)}.")
    methods = METHODS | {"mmfs": _ours(options, nested=False)}
    return {name: methods[name] for name in asked}


def _numbers(asked: Sequence[int] | None, choice: Choice) -> Array:
    n_usable, n_in = choice.n + choice.n_included, choice.n_included
    if asked is None:
        numbers = [k for k in NUMBERS_COMPARED if n_in <= k <= n_usable] or [n_usable]
    else:
        numbers = sorted(set(asked))
        if not numbers or not all(is_int(k) and 1 <= k for k in numbers):
            raise ValueError(f"n_features must be whole numbers of at least 1, got {asked!r}.")
        if numbers[-1] > n_usable:
            raise ValueError(
                f"n_features goes up to {numbers[-1]:,}, but X has {n_usable:,} columns that are "
                "not constant."
            )
    return np.array(numbers)


def _selections(
    method: Method, target: Target, X: Any, y: Array, per_row: PerRow, numbers: Array
) -> tuple[list[Array], float]:
    """The columns for each number, and the time for the largest."""
    start = time.perf_counter()
    longest = method.rank(target, X, y, per_row, int(numbers[-1]))
    seconds = time.perf_counter() - start
    if len(longest) == 0:
        raise ValueError("it selects nothing here.")
    chosen = [
        longest[:k]
        if method.nested or k == numbers[-1]
        else method.rank(target, X, y, per_row, int(k))
        for k in numbers
    ]
    return [np.sort(J) for J in chosen], seconds
