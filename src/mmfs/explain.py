"""Why a feature was kept or dropped.

Weights w are those of the selected features among themselves, with their bias b. What these already
tell of column i is its redundancy, sum_j w_j Q_ij over the others; the terms of that sum say which
of them make it redundant, and by how much. redundancy_i + b - tau r_i says how far column i is
beyond its margin: nothing is left of its relevance r_i.
"""

import difflib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mmfs.base import first_pass
from mmfs.hsic import hsic
from mmfs.kernels import Precomputed, Similarity, similarity_of
from mmfs.needed import needed
from mmfs.posing import kind_of_relevance
from mmfs.sources import Elsewhere, elsewhere, is_store
from mmfs.validation import check_columns, is_int, is_name

Array = np.ndarray

# From this probability on, chance explains the largest relevance.
CHANCE = 0.05

# Below this, beside the largest relevance, what is left of a margin is rounding error.
PRECISION = 1e-5

# Causes that a sentence names, at most, and the share of the redundancy that each must have.
NAMED, MENTIONED = 3, 0.1

# Similarity from which on two columns are the same.
SAME = 1 - 1e-9

# Relevances that can be found again from a single column.
BY_COLUMN = ("correlation", "binned_mutual_info")

COLUMNS = [
    "feature", "selected", "rank", "weight", "relevance", "redundancy", "margin", "causes", "why",
]  # fmt: skip


def explain(selector: Any, X: Any, features: Any, n_dropped: int, names: Any = None) -> Any:
    """A DataFrame with a row for every feature asked; `selector` is a fitted MMFS."""
    check_is_fitted(selector)
    if isinstance(X, str) and not is_store(Path(X)):
        raise ValueError("explain takes X, the data of the fit, and then the features.")
    if not is_int(n_dropped) or n_dropped < 0:
        raise ValueError(f"n_dropped must be a whole number >= 0, got {n_dropped!r}.")
    pandas = needed("pandas", "explain", "explain()")
    X = elsewhere(X)
    if names is None and isinstance(X, Elsewhere):
        names = X.feature_names
    if names is None:
        names = getattr(selector, "feature_names_in_", None)
    elif not callable(names) and len(names) != selector.n_features_in_:
        raise ValueError(f"there are {len(names)} names for {selector.n_features_in_:,} columns.")
    if features is None:
        asked = np.concatenate([selector.indices_, selector._runners_up[:n_dropped]])
    else:
        known_names = None if callable(names) else names
        asked = _columns_asked(features, known_names, selector.n_features_in_)

    kept, weights = selector.indices_, selector.weights_
    J = np.union1d(asked, kept)
    known = _some_columns(selector, X, J)
    here, those = (known.similarity.take(np.searchsorted(J, some)) for some in (asked, kept))
    Q = known.similarity.gram(here, those)
    _check_same_data(known.marks[np.searchsorted(J, kept)], selector._marks)

    def name(j: int) -> Any:
        return name_of(selector, names, j)

    place = {j: i for i, j in enumerate(kept.tolist())}
    tau, b, rows = selector._tau, selector._b, []
    for j, similar in zip(asked.tolist(), Q, strict=True):
        terms, at = similar * weights, np.searchsorted(J, j)
        order = [c for c in np.argsort(-terms, kind="stable") if terms[c] != 0 and kept[c] != j]
        row = {
            "feature": name(j),
            "selected": j in place,
            "rank": place[j] + 1 if j in place else None,
            "weight": float(weights[place[j]]) if j in place else 0.0,
            "relevance": float(known.relevance[at]),
            "redundancy": float(terms[kept != j].sum()),
            "margin": float(terms.sum() + b - tau * known.relevance[at]),
            "causes": {name(kept[c]): float(terms[c]) for c in order},
        }
        alike = SAME * np.sqrt(known.own[at] * known.own[np.searchsorted(J, kept)])
        twins = np.flatnonzero((similar >= alike) & (kept != j))
        twin = name(kept[twins[0]]) if len(twins) else None
        row["why"] = _sentence(row, twin, tau, b) if known.usable[at] else "constant"
        rows.append(row)
    frame = pandas.DataFrame(rows, columns=COLUMNS).set_index("feature")
    return frame.astype({"rank": "Int64"})


def noise_of(selector: Any) -> str | None:
    """What is to be said of a selection that chance explains; None of any other."""
    if selector.chance_ is None or selector.chance_ <= CHANCE:
        return None
    n = selector.n_features_in_ - selector.n_constant_ - selector.n_duplicate_
    return (
        f"nothing here is more relevant than chance explains: the largest relevance is "
        f"{selector._largest:.2f}, and the largest of {n:,} unrelated columns is no smaller with a "
        f"probability of {selector.chance_:.2f}."
    )


def main_causes(causes: dict, redundancy: float) -> list[tuple[Any, float]]:
    """The few that a sentence names: the largest, and those that matter beside it."""
    least = MENTIONED * redundancy
    adding = [(name, term) for name, term in causes.items() if term > 0]
    return adding[:1] + [(name, term) for name, term in adding[1:NAMED] if term >= least]


def _sentence(row: dict, twin: Any, tau: float, b: float) -> str:
    relevance = row["relevance"]
    left = min(max(relevance - row["redundancy"] / tau, 0.0), relevance)
    if row["selected"]:
        if row["weight"] > 0:
            return f"selected: relevance {relevance:.2f}, {left:.2f} beyond the others"
        return "selected to make up the number asked for"
    if twin is not None:
        return f"the same as {twin}"
    if relevance <= b / tau + PRECISION:
        return f"too little relevance: {relevance:.3f}, where {b / tau:.3f} is needed"
    causes = main_causes(row["causes"], row["redundancy"])
    words = "redundant with " + ", ".join(f"{name} ({term:.2g})" for name, term in causes)
    if causes and (row["margin"] >= -PRECISION * tau or left == 0):
        return words
    if causes and left < relevance / 2:
        return f"{words}, all but {left:.2g} of its relevance"
    return f"next in line: would add {left:.2g} to those selected"


def name_of(selector: Any, names: Any, j: int) -> Any:
    """Of column j, by names given or those of the fit; without any, its number."""
    if names is None:
        names = getattr(selector, "feature_names_in_", None)
    if callable(names):
        return names(int(j))
    return int(j) if names is None else names[j]


def similarities(selector: Any, X: Any, J: Array) -> Array:
    """Between columns J of the data of the fit, under the selector's kernel: 1 for equal ones."""
    known = _some_columns(selector, X, J)
    taken = known.similarity.take(np.arange(len(J)))
    size = np.sqrt(np.where(known.usable, known.own, 1.0))
    return known.similarity.gram(taken, taken) / np.outer(size, size)


class Known(NamedTuple):
    similarity: Similarity
    relevance: Array
    usable: Array  # not constant
    own: Array  # similarity of each with itself
    marks: Array  # what other rows, or the same in another order, would not have


def _some_columns(selector: Any, X: Any, J: Array) -> Known:
    """What is known of the columns J of the data the selector was fitted on."""
    if isinstance(X, Elsewhere):
        check_columns(selector, X)
    else:
        X = validate_data(
            selector, X, reset=False, accept_sparse=("csc", "csr"), dtype="numeric",
            ensure_all_finite=False,
        )  # fmt: skip
    if X.shape[0] != selector._n_rows:
        raise ValueError(
            f"X has {X.shape[0]:,} rows, but the selector was fitted on {selector._n_rows:,}; an "
            "explanation needs the data of the fit."
        )
    fitted = SimpleNamespace(**selector._parameters)  # which may have been changed since
    if is_name(fitted.kernel, "precomputed"):
        Q, every = X[np.ix_(J, J)], np.ones(len(J), dtype=bool)
        return Known(
            Precomputed(Q), selector.relevance_[J], every, np.diagonal(Q), X[J].sum(axis=1)
        )
    data = first_pass(X[:, J], selector._y, fitted.task, fitted.center)
    similarity = similarity_of(fitted.kernel, data.columns, data.products)
    kind = kind_of_relevance(fitted)
    if isinstance(kind, hsic) or (isinstance(kind, str) and kind in BY_COLUMN):
        r = data.relevance(kind, None)
        if selector._scores is not None:
            _check_same_data(r, selector.relevance_[J])
    elif selector._scores is not None:
        r = selector.relevance_[J]
    else:
        raise ValueError(
            f"the relevance of single columns was not kept for {selector.n_features_in_:,} columns;"
            " fit with keep_scores=True to have them explained."
        )
    own = np.full(len(J), similarity.largest)
    return Known(similarity, r, data.usable, own, data.fingerprints)


def _check_same_data(found: Array, known: Array) -> None:
    if not np.allclose(found, known, rtol=1e-4, atol=1e-6):
        raise ValueError(
            "X is not the data that the selector was fitted on; pass the same rows in the same "
            "order."
        )


def _columns_asked(features: Any, names: Array | None, n_columns: int) -> Array:
    """Column numbers of features given by name or number, one or several."""
    mask = np.asarray(features) if isinstance(features, list | np.ndarray) else np.empty(0)
    if mask.dtype == bool and mask.shape == (n_columns,):
        return np.flatnonzero(mask)
    if isinstance(features, str) or np.ndim(features) == 0:
        features = [features.item() if isinstance(features, np.ndarray) else features]
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
