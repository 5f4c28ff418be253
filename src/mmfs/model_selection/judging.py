"""What features are judged by: an estimator, trained on some rows and scored on others."""

from inspect import isfunction, signature
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import has_fit_parameter

from mmfs.base import Data
from mmfs.per_row import PLAIN, PerRow
from mmfs.sources import Mixed
from mmfs.target import Target

Array = np.ndarray


def for_estimators(data: Data) -> Array:
    """y in a form that every scikit-learn estimator takes."""
    if data.target.censored:  # as scikit-survival has it
        kind = [("event", bool), ("time", np.float64)]
        return np.array([(bool(e), t) for e, t in data.y.tolist()], dtype=kind)
    y = data.y[:, 0] if data.y.ndim == 2 and data.y.shape[1] == 1 else data.y
    if data.target.of_classes and y.dtype.kind in "fS":  # they would be read as quantities
        return data.target.labels
    return np.array(y.tolist()) if y.dtype.kind == "O" else y


def name_of_score(scoring: Any, estimator: Any, target: Target) -> str:
    if isinstance(scoring, str):
        return scoring
    if scoring is not None or estimator is not None:
        return "score"
    return "accuracy" if target.of_classes else "R2"


def default_estimator(data: Data, n_missing: int) -> Any:
    """What the features are judged by if nothing is said.

    The few columns selected become dense, missing values the means of training rows, and categories
    indicators.
    """
    target = data.target
    if target.censored:
        raise ValueError(
            "censored times are judged by an estimator of your choice, such as one of scikit-"
            "survival; pass `estimator`."
        )
    last: Any = Ridge()
    if target.of_classes:
        last = LinearSVC(C=1.0, dual="auto", max_iter=10_000, random_state=0)
    dense = FunctionTransformer(_dense, accept_sparse=True)
    fill = [SimpleImputer(keep_empty_features=True)] if n_missing else []
    return make_pipeline(dense, *fill, StandardScaler(), last)


def _dense(X: Any) -> Array:
    if isinstance(X, Mixed):
        return X.dense()
    return X.toarray() if sp.issparse(X) else X


def _as_taken(estimator: Any, X: Any) -> Any:
    """A table as a DataFrame, for an estimator that is not ours."""
    return X if _is_default(estimator) or not isinstance(X, Mixed) else X.to_frame()


def _is_default(estimator: Any) -> bool:
    return isinstance(estimator, Pipeline) and getattr(estimator[0], "func", None) is _dense


def judged(
    estimator: Any, scorer: Any, X_train: Any, y_train: Array, X_test: Any, y_test: Array,
    train: PerRow = PLAIN, test: PerRow = PLAIN,
) -> float:  # fmt: skip
    """The score of an estimator on rows that it was not trained on; rows of weight 0 are none."""
    X_train, y_train, train = _counted(X_train, y_train, train)
    X_test, y_test, test = _counted(X_test, y_test, test)
    weighted = dict.fromkeys(takes_weights(estimator, scorer, train), train.weights)
    given = {} if test.weights is None else {"sample_weight": test.weights}
    with config_context(enable_metadata_routing=False):  # weights are handed over here
        fitted = clone(estimator).fit(_as_taken(estimator, X_train), y_train, **weighted)
        return float(scorer(fitted, _as_taken(estimator, X_test), y_test, **given))


def _counted(X: Any, y: Array, per_row: PerRow) -> tuple[Any, Array, PerRow]:
    if per_row.weights is None or per_row.weights.all():
        return X, y, per_row
    rows = np.flatnonzero(per_row.weights)
    return X[rows], y[rows], per_row.only(rows)


def takes_weights(estimator: Any, scorer: Any, per_row: PerRow) -> list[str]:
    """What an estimator, or steps of a pipeline, call the weights of rows; none without weights."""
    if per_row.weights is None:
        return []
    names, last = ["sample_weight"], estimator
    if isinstance(estimator, Pipeline):
        last = estimator.steps[-1][1]
        names = [f"{estimator.steps[-1][0]}__sample_weight"]
        if _is_default(estimator):
            names.append("standardscaler__sample_weight")
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__} takes no sample_weight; choose another estimator, or leave the "
            "weights out."
        )
    if isfunction(scorer) and "sample_weight" not in signature(scorer).parameters:
        raise ValueError(
            "scoring is a function that takes no sample_weight; add that, or leave the weights out."
        )
    return names
