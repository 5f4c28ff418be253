"""What the choosers share: an MMFS whose number of features and gamma they find."""

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mmfs.base import Data, Selector, WeightedSelector
from mmfs.features import Features, costs_of, features_of, names_with, wishes_of
from mmfs.fit import Fit
from mmfs.hsic import HSIC
from mmfs.names import columns_asked
from mmfs.per_row import PLAIN, PerRow
from mmfs.prepared import PreparedProblem
from mmfs.selector import MMFS, WithPath
from mmfs.target import Target
from mmfs.validation import Rule, TooFewColumns, check_parameters, is_name
from mmfs.warn import ChanceWarning, warn_caller

Array = np.ndarray

# Features to look at, at most, unless told otherwise.
MOST = 100

SELECTOR = Rule(lambda v: v is None or isinstance(v, MMFS), "an MMFS, or None for MMFS()")


def check_resampled(selector: Any, name: str) -> None:
    """Refuse what cannot be selected again from a part of the rows."""
    if not isinstance(selector, Selector) or "n_features_to_select" not in selector.get_params():
        raise ValueError(
            f"{name} needs a selector of this package that has n_features_to_select, got "
            f"{selector!r}."
        )
    if is_name(getattr(selector, "kernel", None), "precomputed"):
        raise ValueError(
            f"{name} selects from parts of the rows, but kernel='precomputed' has similarities "
            "instead of rows."
        )
    relevance = getattr(selector, "relevance", "")
    if not (isinstance(relevance, str | HSIC) or callable(relevance)):
        raise ValueError(
            f"{name} selects from parts of the rows, for which an array of relevances cannot be "
            "found again; pass a function of (X, y)."
        )


def given_selector(owner: Any) -> MMFS:
    """A copy of the `selector` of an estimator, with its threads and its wish for progress."""
    selector = MMFS() if owner.selector is None else clone(owner.selector)
    if owner.n_jobs is not None:
        selector.set_params(n_jobs=owner.n_jobs)
    return selector.set_params(verbose=owner.verbose or selector.verbose)


def most_features(prepared: PreparedProblem) -> int:
    """How many features to look at unless told: MOST, or half as many as rows or columns."""
    return max(1, min(MOST, int(prepared.n_effective / 2), prepared.n_usable // 2))


class Choice(NamedTuple):
    """What there is to choose from."""

    features: Features | None  # of several columns, if there are such
    n: int  # columns, or features, that vary and are not decided about
    n_included: int  # those that must be in


def choice_of(data: Data, selector: Any, owner: Any) -> Choice:
    """What a selector would choose from; `owner` knows the names of columns."""
    names = getattr(owner, "feature_names_in_", None)
    features, included, excluded = wishes_of(selector, names, data.columns.source)
    if features is None and len(included) + len(excluded) == 0:
        return Choice(None, data.columns.n_usable, 0)
    usable = data.usable if features is None else np.bincount(features.of_data, data.usable) > 0
    usable = usable.copy()
    usable[np.append(included, excluded)] = False
    return Choice(features, int(usable.sum()), len(included))


def by_number(selector: Any, owner: Any) -> Any:
    """Options that name columns, by number: parts of the rows come without names."""
    names, n = getattr(owner, "feature_names_in_", None), owner.n_features_in_
    groups, known = getattr(selector, "feature_groups", None), {}
    features = features_of(groups, names, n)
    where = names if features is None else names_with(features, names)
    for name in ("must_include", "exclude"):
        if (asked := getattr(selector, name, None)) is not None:
            known[name] = columns_asked(asked, where, n, name).tolist()
    if features is not None:
        known["feature_groups"] = {
            name: J.tolist() for name, J in features.by_name.items() if len(J) > 1
        }
    if (costs := getattr(selector, "costs", None)) is not None:
        known["costs"] = costs_of(costs, names, n, None)
    return selector.set_params(**known) if known else selector


def allows_holes(selector: Any) -> bool:
    """Whether a selector, None for MMFS(), takes missing values."""
    return bool(get_tags(MMFS() if selector is None else selector).input_tags.allow_nan)


def settle_task(selector: Any, target: Target) -> None:
    """Read the target in every part of the rows as in all of them."""
    if "task" in selector.get_params():
        selector.set_params(task=target.task)


def in_parallel(n_jobs: int | None, function: Any, tasks: Iterable[tuple]) -> Iterator[Any]:
    """function(*task) for every task, in order; what is warned of there is warned of here, once."""
    warned = set()
    work = (delayed(with_warnings)(function, task) for task in tasks)
    for result, warned_of in Parallel(n_jobs, return_as="generator")(work):
        for category, text in warned_of:
            if (category, text) not in warned:
                warned.add((category, text))
                warn_caller(text, category)
        yield result


def with_warnings(function: Any, task: tuple) -> tuple[Any, list[tuple[type[Warning], str]]]:
    """function(*task), and what it warned of instead of warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*task)
    # That parts of the rows may look like noise is no news to someone who judges by all parts.
    told = [w for w in caught if not issubclass(w.category, ChanceWarning)]
    return result, [(warning.category, str(warning.message)) for warning in told]


def select_from_part(selector: Any, X: Any, y: Array, per_row: PerRow = PLAIN) -> Array:
    """The columns selected from some of the rows: as many as asked for, or as vary there."""
    selector, given = clone(selector), per_row.as_arguments()
    if not isinstance(selector, WeightedSelector):
        per_row.refuse(type(selector).__name__)
    try:
        return selector.fit(X, y, **given).indices_
    except TooFewColumns as few:
        selector.set_params(n_features_to_select=few.n_usable)
        return selector.fit(X, y, **given).indices_


class Chooser(WithPath):
    """A selector that chooses the number of features and gamma of another, `best_selector_`."""

    selector: MMFS | None

    @abstractmethod
    def _choose(
        self, prepared: PreparedProblem, rng: np.random.Generator, **how: Any
    ) -> dict[str, Any]:
        """The parameters of the selector that are best."""

    def _fit(self, X: Any, y: Any, **how: Any) -> Fit | None:
        check_parameters(self)
        best = given_selector(self)
        self._check_options(best)
        prepared, rng = best._prepare(X, y, how["per_row"])
        for name in ("indices_", "best_selector_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.n_features_in_ = best.n_features_in_
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
        chosen = self._choose(prepared, rng, **how)
        if not self.refit:
            self.best_gamma_ = chosen["gamma"]
            self.best_n_features_ = chosen["n_features_to_select"]
            return None
        settings = replace(prepared.settings, **chosen)
        done = best.set_params(**chosen)._fit_prepared(replace(prepared, settings=settings), rng)
        self.best_selector_, self.indices_ = best, best.indices_
        self.best_gamma_, self.best_n_features_ = best.gamma_, len(best.weights_)
        return done

    def _check_options(self, selector: MMFS) -> None:
        name = type(self).__name__
        check_resampled(selector, name)
        if selector.n_features_to_select is not None or not is_name(selector.gamma, "auto"):
            raise ValueError(
                f"{name} chooses n_features_to_select and gamma itself; leave those of `selector` "
                "as they are by default."
            )

    def explain(
        self, X: Any, features: Any = None, *, n_dropped: int = 10, names: Any = None
    ) -> Any:
        """As `MMFS.explain`, for the selection that was chosen."""
        check_is_fitted(self)
        return self.best_selector_.explain(X, features, n_dropped=n_dropped, names=names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = allows_holes(self.selector)
        return tags
