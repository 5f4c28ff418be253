"""Why a feature was kept or dropped.

The margin of column i is what it has beyond the relevance it would need to be missed:
redundancy_i + b - tau r_i, where redundancy_i = sum_j alpha_j Q_ij over the support features j. The
terms of that sum say which features make it redundant, and by how much.
"""

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mmfs.base import first_pass
from mmfs.kernels import Precomputed, Similarity, similarity_of
from mmfs.posing import kind_of_relevance
from mmfs.validation import is_int, is_name

Array = np.ndarray

# Causes that the sentence names; a similarity from which on two columns are the same; relevances
# that can be found again from a single column.
NAMED, SAME = 3, 1 - 1e-9
BY_COLUMN = ("correlation", "binned_mutual_info", "hsic")


def explain(selector: Any, X: Any, features: Any, n_dropped: int) -> Any:
    """A DataFrame with a row for every feature asked; `selector` is a fitted MMFS."""
    check_is_fitted(selector)
    pandas = _pandas()
    names = getattr(selector, "feature_names_in_", None)
    if features is None:
        dropped = selector._most_relevant[~np.isin(selector._most_relevant, selector.indices_)]
        asked = np.concatenate([selector.indices_, dropped[:n_dropped]])
    else:
        asked = _columns_asked(features, names, selector.n_features_in_)

    support, alpha = selector._weights
    both = np.union1d(asked, support)
    similarity, r = _some_columns(selector, X, both)
    here, those = (similarity.take(np.searchsorted(both, J)) for J in (asked, support))
    _check_same_data(similarity.gram(those, those) @ alpha, selector._support_redundancy)
    Q = similarity.gram(here, those)
    terms = Q * alpha
    tau, ranks = (
        selector.theta / (1 - selector.theta),
        {j: i for i, j in enumerate(selector.indices_)},
    )
    weights = dict(zip(support.tolist(), alpha.tolist(), strict=True))
    labels = [int(j) if names is None else str(names[j]) for j in support]
    rows = []
    for i, j in enumerate(asked.tolist()):
        relevance, redundancy = float(r[np.searchsorted(both, j)]), float(terms[i].sum())
        order = np.argsort(-terms[i], kind="stable")
        order = order[(terms[i, order] != 0) & (support[order] != j)]
        causes = {labels[c]: float(terms[i, c]) for c in order}
        row = {
            "feature": j if names is None else names[j],
            "selected": j in ranks,
            "rank": ranks[j] + 1 if j in ranks else None,
            "alpha": weights.get(j, 0.0),
            "relevance": relevance,
            "redundancy": redundancy,
            "margin": redundancy + selector.b_ - tau * relevance,
            "causes": causes,
        }
        twin = [labels[c] for c in order if Q[i, c] >= SAME * similarity.largest]
        rows.append(row | {"why": _sentence(row, twin, tau, selector.b_)})
    frame = pandas.DataFrame(rows).set_index("feature")
    return frame.astype({"rank": "Int64"})


def _sentence(row: dict, twin: list, tau: float, b: float) -> str:
    causes = [(name, term) for name, term in row["causes"].items() if term > 0]
    named = ", ".join(f"{name} ({term:.2f})" for name, term in causes[:NAMED])
    if row["selected"] and row["alpha"] > 0:
        return f"selected: relevance {row['relevance']:.2f}"
    if row["selected"]:
        return "selected to make up the number asked for"
    if row["redundancy"] == row["relevance"] == 0:
        return "constant, or unrelated to everything"
    if twin and row["alpha"] == 0:
        return f"the same as {twin[0]}"
    if row["alpha"] > 0:
        return "has a weight, but others have larger ones"
    if tau * row["relevance"] > b and row["redundancy"] > 0:
        return f"redundant with {named}"
    return f"too little relevance: {row['relevance']:.2f}, where {b / tau:.2f} is needed"


def _some_columns(selector: Any, X: Any, J: Array) -> tuple[Similarity, Array]:
    """Similarity and relevance among the columns J of the data the selector was fitted on."""
    X = validate_data(
        selector, X, reset=False, accept_sparse=("csc", "csr"), dtype="numeric",
        ensure_all_finite=False,
    )  # fmt: skip
    if X.shape[0] != selector._n_rows:
        raise ValueError(
            f"X has {X.shape[0]:,} rows, but the selector was fitted on {selector._n_rows:,}; an "
            "explanation needs the data of the fit."
        )
    if is_name(selector.kernel, "precomputed"):
        return Precomputed(X[np.ix_(J, J)]), selector.relevance_[J]
    data = first_pass(X[:, J], selector._y, selector.task, selector.center)
    similarity = similarity_of(selector.kernel, data.columns, data.products)
    if selector._scores is not None:
        return similarity, selector.relevance_[J]
    if not isinstance(selector.relevance, str) or selector.relevance not in BY_COLUMN:
        raise ValueError(
            f"the relevance of single columns was not kept for {selector.n_features_in_:,} columns;"
            " fit with keep_scores=True to have them explained."
        )
    return similarity, data.relevance(kind_of_relevance(selector), None)


def _check_same_data(found: Array, known: Array) -> None:
    if not np.allclose(found, known, rtol=1e-4, atol=1e-6):
        raise ValueError(
            "X is not the data that the selector was fitted on: its columns are not as similar as "
            "they were; pass the same rows in the same order."
        )


def _columns_asked(features: Any, names: Array | None, n_columns: int) -> Array:
    """Column numbers of features given by name or number, one or several."""
    if isinstance(features, str) or not isinstance(features, Iterable):
        features = [features]
    where = {} if names is None else {str(name): j for j, name in enumerate(names)}
    return np.array([_column(feature, where, n_columns) for feature in features], dtype=np.intp)


def _column(feature: Any, where: dict[str, int], n_columns: int) -> int:
    if is_int(feature):
        if 0 <= feature < n_columns:
            return int(feature)
        raise ValueError(f"there is no column {feature}; X has columns 0 to {n_columns - 1:,}.")
    if not isinstance(feature, str):
        raise ValueError(f"features must be names or numbers of columns, got {feature!r}.")
    if not where:
        raise ValueError(
            f"the selector was fitted on data without names, so {feature!r} is unknown; pass the "
            "number of the column."
        )
    if feature not in where:
        near = difflib.get_close_matches(feature, where, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"there is no feature {feature!r}{hint}")
    return where[feature]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "explain() returns a pandas DataFrame: pip install 'mmfs[explain]'."
        ) from None
    return pandas
