"""What features are judged by: an estimator, trained on some rows and scored on others."""

from typing import Any

import numpy as np
import scipy.sparse as sp
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


def default_estimator(data: Data) -> Any:
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
    fill = [SimpleImputer(keep_empty_features=True)] if data.columns.n_missing else []
    return make_pipeline(dense, *fill, StandardScaler(), last)


def _dense(X: Any) -> Array:
    if isinstance(X, Mixed):
        return X.dense()
    return X.toarray() if sp.issparse(X) else X


def _as_taken(estimator: Any, X: Any) -> Any:
    """A table as a DataFrame, for an estimator that is not ours."""
    ours = isinstance(estimator, Pipeline) and getattr(estimator[0], "func", None) is _dense
    return X if ours or not isinstance(X, Mixed) else X.to_frame()


def judged(
    estimator: Any, scorer: Any, X_train: Any, y_train: Array, X_test: Any, y_test: Array,
    train: PerRow = PLAIN, test: PerRow = PLAIN,
) -> float:  # fmt: skip
    """The score of an estimator on rows that it was not trained on."""
    weighted = dict.fromkeys(takes_weights(estimator, train), train.weights)
    fitted = clone(estimator).fit(_as_taken(estimator, X_train), y_train, **weighted)
    given = {} if test.weights is None else {"sample_weight": test.weights}
    return float(scorer(fitted, _as_taken(estimator, X_test), y_test, **given))


def takes_weights(estimator: Any, per_row: PerRow) -> list[str]:
    """What an estimator, or the last step of a pipeline, calls the weights of rows, if any."""
    if per_row.weights is None:
        return []
    name, last = "sample_weight", estimator
    if isinstance(estimator, Pipeline):
        name, last = f"{estimator.steps[-1][0]}__sample_weight", estimator.steps[-1][1]
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__} takes no sample_weight; choose another estimator, or leave the "
            "weights out."
        )
    return [name]
