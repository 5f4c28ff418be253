"""How many features predict best, by cross-validation with the selection redone in every fold."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from mmfs.base import Selector
from mmfs.discretize import SCORE_DIGITS
from mmfs.errors import InputError, Parameter
from mmfs.fit import rank_point, solver_options
from mmfs.model_selection.base import (
    MOST,
    SELECTOR,
    Chooser,
    by_number,
    given_selector,
    in_parallel,
    select_from_part,
    settle_task,
)
from mmfs.model_selection.judging import (
    default_estimator,
    for_estimators,
    judged,
    name_of_score,
    takes_weights,
)
from mmfs.model_selection.path import GRID
from mmfs.per_row import PLAIN, PerRow
from mmfs.prepare import CONSTRAINED
from mmfs.prepared import PreparedProblem
from mmfs.selector import MMFS
from mmfs.solvers import Stop, solve_path
from mmfs.target import QUANTITIES, Target
from mmfs.validation import FLAG, Rule, aligned, is_int, is_name, one_of
from mmfs.warn import warn_caller

Array = np.ndarray

# Numbers of features to try, unless told which: this many, in about equal ratios.
TRIED = 15


class Candidate(NamedTuple):
    n_features_to_select: int
    gamma: float | str


@dataclass(eq=False, repr=False)
class MMFSCV(Chooser):
    """MMFS with the number of features and gamma chosen by cross-validation.

    In every fold the features are selected from the training rows alone, for all candidates along
    one warm-started path; an estimator is trained on them and scored on the rows left out. The
    chosen number and gamma are then used on all rows.

    Parameters
    ----------
    estimator : scikit-learn estimator, default=None
        What the features are for; it is given the columns as they are. None stands for a linear
        SVM (L2 penalty, squared hinge loss, C = 1) on columns of zero mean and unit variance, or
        ridge regression if y holds quantities; the columns selected are made dense for it.
    n_features : int, array of int or None, default=None
        Numbers of features to try. A number stands for some fifteen from 1 to it; None for some
        from 1 to 100, as far as there are columns.
    gammas : "auto", int or array, default="auto"
        "auto" gives every number of features its own gamma, as `MMFS` does. Otherwise every
        number is tried with every gamma: those in the array, or that many from 1 to 0.001 in
        equal ratios.
    cv : int, cross-validation generator or iterable, default=5
        A number stands for shuffled folds, stratified for classes.
    scoring : str, callable or None, default=None
        As in scikit-learn; None is the estimator's own score.
    rule : {"best", "one_se"}, default="best"
        "best" takes the best mean score, of equal ones that with fewest features. "one_se" takes
        the fewest features whose mean score is at most one standard error below the best.
    selector : MMFS or None, default=None
        All other options of the selection, such as its kernel.
    refit : bool, default=True
        Whether to select from all rows with what was chosen. Without that the scores of the
        candidates are all there is.
    random_state : int or None, default=0
        Shuffles the folds.
    n_jobs : int or None, default=None
        Folds to work on at once. Results do not depend on it.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    best_selector_ : MMFS
        The chosen selector, fitted on all rows.
    best_n_features_, best_gamma_, best_score_, best_index_
        What was chosen (without `refit`, gamma may be "auto"), the mean of its scores, and its
        position in `cv_results_`.
    cv_results_ : dict of arrays
        A value per candidate: `n_features`, `gamma` ("auto" stands for each number's own),
        `mean_test_score`, `std_test_score`, `se_test_score`, `rank_test_score` and
        `split0_test_score` and so on.
    score_name_ : str
        "accuracy" or "R2" of the default estimator, the scoring asked for, or "score".
    indices_, support_, n_features_in_, feature_names_in_
        As in `MMFS`.

    Notes
    -----
    `best_score_` was chosen among many and so is somewhat optimistic; for an honest figure put
    the selector in a pipeline and cross-validate that. Rows of X are copied, fold by fold.

    Examples
    --------
    >>> from mmfs import MMFSCV
    >>> from mmfs.datasets import make_planted
    >>> X, y, names = make_planted()
    >>> search = MMFSCV(rule="one_se").fit(X, y)
    >>> search.best_n_features_
    7
    """

    _rules: ClassVar = {
        "n_features": Rule(
            lambda v: (
                v is None
                or (is_int(v) and v >= 1)
                or (np.ndim(v) == 1 and len(v) > 0 and all(is_int(n) and n >= 1 for n in v))
            ),
            "a whole number of at least 1, an array of them, or None",
        ),
        "gammas": Rule(lambda v: is_name(v, "auto") or GRID.holds(v), f"'auto', {GRID.wanted}"),
        "rule": one_of("best", "one_se"),
        "selector": SELECTOR,
        "refit": FLAG,
    }

    estimator: Any = None
    _: KW_ONLY
    n_features: Any = None
    gammas: Any = "auto"
    cv: Any = 5
    scoring: Any = None
    rule: str = "best"
    selector: MMFS | None = None
    refit: bool = True
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: Any = 0

    def fit(
        self, X: Any, y: Any = None, groups: Any = None, *, sample_weight: Any = None,
        covariates: Any = None,
    ) -> Self:  # fmt: skip
        """Choose and select, as `MMFS.fit` does; rows of one of the `groups` stay together.

        Weights reach the estimator and its scores too. The estimator is given the features alone,
        without covariates.
        """
        given = {"groups": groups, "sample_weight": sample_weight, "covariates": covariates}
        return self._fit_with(X, y, **given)

    def _how(
        self, X: Any, sample_weight: Any = None, covariates: Any = None, groups: Any = None
    ) -> dict[str, Any]:
        given = super()._how(X, sample_weight, covariates)
        return given | {"groups": aligned(X, groups, "groups")}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "indices_")

    def _check_options(self, selector: MMFS) -> None:
        super()._check_options(selector)
        if self.estimator is not None and not hasattr(self.estimator, "fit"):
            hint = f"; for up to {self.estimator} features pass n_features={self.estimator}"
            raise ValueError(
                f"estimator is what features are judged by, such as LinearSVC(), got "
                f"{self.estimator!r}{hint if is_int(self.estimator) else ''}."
            )
        if isinstance(self.estimator, Selector):
            raise ValueError(
                f"estimator is what features are judged by; pass {self.estimator!r} as selector=."
            )
        if isinstance(self.scoring, list | tuple | set | dict):
            raise ValueError("MMFSCV chooses by one score; pass one `scoring`, not several.")
        if selector.formulation == "constrained" and not is_name(self.gammas, "auto"):
            raise InputError("gammas have no meaning with ", CONSTRAINED, "; leave gammas='auto'.")

    def _choose(
        self, prepared: PreparedProblem, rng: np.random.Generator, **how: Any
    ) -> dict[str, Any]:
        selector, data = by_number(given_selector(self), self), prepared.data
        selector.set_params(n_jobs=None, verbose=0)
        assert data is not None  # `check_resampled`
        settle_task(selector, data.target)
        labels, groups, per_row = for_estimators(data), how["groups"], prepared.per_row
        estimator = (
            default_estimator(data, prepared.n_missing)
            if self.estimator is None
            else self.estimator
        )
        scorer = check_scoring(estimator, scoring=self.scoring)
        takes_weights(estimator, scorer, per_row)  # refuses before any work is done
        self.score_name_ = name_of_score(self.scoring, self.estimator, data.target)
        candidates = self._candidates(prepared)
        folds = splitter(self.cv, data.target, self.random_state, groups)
        splits = list(folds.split(data.X, labels, groups))
        if not splits:
            raise ValueError("cv has no folds; a generator of them serves once, so pass a list.")
        tasks = [
            (selector, estimator, scorer, candidates, data.X, labels, per_row, fold, *split)
            for fold, split in enumerate(splits)
        ]
        scores = np.empty((len(splits), len(candidates)))
        for fold, values in enumerate(in_parallel(self.n_jobs, scores_of_fold, tasks)):
            scores[fold] = values
            self._say(f"fold {fold + 1} of {len(splits)}, best score {values.max():.4g}",
                      fold + 1, len(splits))  # fmt: skip
        chosen = self._pick(candidates, scores)
        if self.n_features is None and MOST == chosen.n_features_to_select < prepared.n_features:
            warn_caller(
                f"the number of features chosen, {MOST}, is the largest that was tried; larger "
                "ones may predict better."
            )
        return chosen._asdict()

    def _candidates(self, prepared: PreparedProblem) -> list[Candidate]:
        numbers, n_in = self.n_features, len(prepared.included)
        n_usable = prepared.n_usable + n_in
        if numbers is None or is_int(numbers):
            most = min(MOST, n_usable) if numbers is None else numbers
            least = min(max(1, n_in), most)
            numbers = np.unique(np.rint(np.geomspace(least, most, TRIED)).astype(int))
        if max(numbers) > n_usable:
            raise InputError(
                Parameter("n_features"), f" goes up to {max(numbers)}, but X has {n_usable:,} "
                "columns that are not constant.",
            )  # fmt: skip
        if min(numbers) < n_in:
            raise InputError(
                Parameter("n_features"), f" begins with {min(numbers)}, but {n_in} features must "
                "be in.",
            )  # fmt: skip
        gammas = self.gammas
        if is_int(gammas):
            gammas = np.geomspace(1.0, 1e-3, gammas)
        values = ["auto"] if isinstance(gammas, str) else np.unique(gammas)[::-1].tolist()
        return [Candidate(int(n), gamma) for gamma in values for n in sorted(set(numbers))]

    def _pick(self, candidates: list[Candidate], scores: Array) -> Candidate:
        """Note all results; return the candidate that the rule takes."""
        if not np.isfinite(scores).all():
            raise ValueError(
                "some folds have no finite score; choose another `scoring` or estimator, or folds "
                "with every class in them."
            )
        mean, n_folds = np.round(scores.mean(axis=0), SCORE_DIGITS), len(scores)  # ties stay ties
        deviation = scores.std(axis=0, ddof=1) if n_folds > 1 else np.zeros(len(mean))
        error = deviation / np.sqrt(n_folds)
        numbers = np.array([candidate.n_features_to_select for candidate in candidates])
        if self.rule == "best":
            order = np.lexsort((numbers, -mean))
        else:
            best = int(np.argmax(mean))
            enough = mean >= mean[best] - error[best]
            order = np.lexsort((-mean, numbers, ~enough))
        self.best_index_ = int(order[0])
        self.best_score_ = float(mean[self.best_index_])
        self.cv_results_ = {
            "n_features": numbers,
            "gamma": np.array([candidate.gamma for candidate in candidates]),
            "mean_test_score": mean,
            "std_test_score": deviation,
            "se_test_score": error,
            "rank_test_score": 1 + (mean[None, :] > mean[:, None]).sum(axis=1),
        } | {f"split{fold}_test_score": values for fold, values in enumerate(scores)}
        return candidates[self.best_index_]


def splitter(cv: Any, target: Target, random_state: Any, groups: Any = None) -> Any:
    """Folds of rows; a number stands for so many shuffled ones, with the classes in proportion.

    Rows of one group are then never in different folds.
    """
    cv = 5 if cv is None else cv
    if not is_int(cv):
        return check_cv(cv)
    if target.of_classes and np.bincount(target.labels).max() < cv:
        raise InputError(
            f"no class of y has as many rows as there are folds, {cv}; lower ", Parameter("cv"),
            " or, if y holds quantities, say so by ", QUANTITIES, ".",
        )  # fmt: skip
    if groups is None:
        kind = StratifiedKFold if target.of_classes else KFold
    else:
        kind = StratifiedGroupKFold if target.of_classes else GroupKFold
    return kind(cv, shuffle=True, random_state=random_state)


def scores_of_fold(
    selector: MMFS,
    estimator: Any,
    scorer: Any,
    candidates: list[Candidate],
    X: Any,
    y: Array,
    per_row: PerRow,
    fold: int,
    train: Array,
    test: Array,
) -> Array:
    """Of every candidate: select in the training rows, train on them, score on the others."""
    X_train, y_train, X_test, y_test = X[train], y[train], X[test], y[test]
    try:
        selections = _selections(selector, candidates, X_train, y_train, per_row.only(train))
    except ValueError as error:
        raise InputError(f"in the training rows of fold {fold + 1}: ", *error.args) from error
    scores = np.empty(len(candidates))
    for i, J in enumerate(map(np.sort, selections)):
        scores[i] = judged(
            estimator, scorer, X_train[:, J], y_train, X_test[:, J], y_test,
            per_row.only(train), per_row.only(test),
        )  # fmt: skip
    return scores


def _selections(
    selector: MMFS, candidates: list[Candidate], X: Any, y: Array, per_row: PerRow = PLAIN
) -> list[Array]:
    """The columns that MMFS selects for each candidate, to within its search for gamma."""
    if (
        selector.rank == "path"
        or selector.solver != "working_set"
        or selector.formulation == "constrained"
        or selector.budget is not None
    ):
        chosen = (clone(selector).set_params(**candidate._asdict()) for candidate in candidates)
        return [select_from_part(one, X, y, per_row) for one in chosen]
    prepared, rng = clone(selector)._prepare(X, y, per_row)
    problem, options = prepared.problem, solver_options(prepared.settings, rng)
    n_in = len(prepared.included)
    # Numbers that share a gamma share a point of the path, and its ranking.
    most: dict[Any, Candidate] = {}
    for candidate in candidates:
        number = min(candidate.n_features_to_select, prepared.n_usable + len(prepared.included))
        most[_place(candidate)] = Candidate(number, candidate.gamma)
    stops = [
        Stop(prepared.gamma_rule(c.gamma, max(c.n_features_to_select - n_in, 1)), problem.C)
        for c in most.values()
    ]
    points = solve_path(problem, stops, **options)
    rankings = {
        place: rank_point(prepared, point, candidate.gamma, candidate.n_features_to_select, rng)
        for (place, candidate), point in zip(most.items(), points, strict=True)
    }
    chosen = (rankings[_place(c)][: c.n_features_to_select] for c in candidates)
    return [prepared.columns_of(selection) for selection in chosen]


def _place(candidate: Candidate) -> Any:
    return candidate if candidate.gamma == "auto" else candidate.gamma
