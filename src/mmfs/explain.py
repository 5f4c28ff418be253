"""Why a feature was kept or dropped.

Weights w are those of the selected features among themselves, with their bias b. What these already
tell of column i is its redundancy, sum_j w_j Q_ij over the others; the terms of that sum say which
of them make it redundant, and by how much. redundancy_i + b - tau r_i says how far column i is
beyond its margin: nothing is left of its relevance r_i.
"""

import difflib
from typing import Any, NamedTuple

import numpy as np

from mmfs.base import first_scan
from mmfs.fit import CHANCE, FittedRecord
from mmfs.hsic import HSIC
from mmfs.kernels import Precomputed, Similarity, similarity_of
from mmfs.optional import require
from mmfs.prepare import kind_of_relevance
from mmfs.relevance import relevance_of
from mmfs.solvers import tuning
from mmfs.validation import is_int, is_name

Array = np.ndarray

# Below this, beside the largest relevance, what is left of a margin is rounding error.
MARGIN_ROUNDING = 1e-5

# Causes that a sentence names, at most, and the share of the redundancy that each must have.
NAMED, LEAST_SHARE = 3, 0.1

# Relevances that can be found again from a single column.
BY_COLUMN = ("correlation", "binned_mutual_info")

COLUMNS = [
    "feature", "selected", "rank", "weight", "relevance", "redundancy", "margin", "causes", "why",
]  # fmt: skip


def explain(record: FittedRecord, X: Any, features: Any, n_dropped: int, names: Any = None) -> Any:
    """A DataFrame with a row for every feature asked, of a fit on X, as read."""
    if not is_int(n_dropped) or n_dropped < 0:
        raise ValueError(f"n_dropped must be a whole number >= 0, got {n_dropped!r}.")
    pandas = require("pandas", "explain", "explain()")
    if features is None:
        asked = np.concatenate([record.indices, record.runners_up[:n_dropped]])
    else:
        known_names = None if callable(names) else names
        asked = _columns_asked(features, known_names, record.n_columns)

    kept, weights = record.indices, record.weights
    J = np.union1d(asked, kept)
    known = _some_columns(record, X, J)
    here, those = (known.similarity.fetch(np.searchsorted(J, some)) for some in (asked, kept))
    Q = known.similarity.gram(here, those)
    _check_same_data(known.similarity.facts_of(np.searchsorted(J, kept)), record.facts)

    def name(j: int) -> Any:
        return name_of(names, j)

    place = {j: i for i, j in enumerate(kept.tolist())}
    tau, b, rows = record.settings.tau, record.b, []
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
        alike = tuning.SAME * np.sqrt(known.own[at] * known.own[np.searchsorted(J, kept)])
        twins = np.flatnonzero((similar >= alike) & (kept != j))
        twin = name(kept[twins[0]]) if len(twins) else None
        row["why"] = _sentence(row, twin, tau, b) if known.usable[at] else "constant"
        rows.append(row)
    frame = pandas.DataFrame(rows, columns=COLUMNS).set_index("feature")
    return frame.astype({"rank": "Int64"})


def noise_of(record: FittedRecord) -> str | None:
    """What is to be said of a selection that chance explains; None of any other."""
    if record.chance is None or record.chance <= CHANCE:
        return None
    n = record.n_columns - record.n_constant
    return (
        f"nothing here is more relevant than chance explains: the largest relevance is "
        f"{record.largest:.2f}, and the largest of {n:,} unrelated columns is no smaller with a "
        f"probability of {record.chance:.2f}."
    )


def main_causes(causes: dict, redundancy: float) -> list[tuple[Any, float]]:
    """The few that a sentence names: the largest, and those that matter beside it."""
    least = LEAST_SHARE * redundancy
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
    if relevance <= b / tau + MARGIN_ROUNDING:
        return f"too little relevance: {relevance:.3f}, where {b / tau:.3f} is needed"
    causes = main_causes(row["causes"], row["redundancy"])
    words = "redundant with " + ", ".join(f"{name} ({term:.2g})" for name, term in causes)
    if causes and (row["margin"] >= -MARGIN_ROUNDING * tau or left == 0):
        return words
    if causes and left < relevance / 2:
        return f"{words}, all but {left:.2g} of its relevance"
    return f"next in line: would add {left:.2g} to those selected"


def name_of(names: Any, j: int) -> Any:
    """Of column j, by names or a function; without any, its number."""
    if callable(names):
        return names(int(j))
    return int(j) if names is None else names[j]


def similarities(record: FittedRecord, X: Any, J: Array) -> Array:
    """Between columns J of the data of the fit, under its kernel: 1 for equal ones."""
    known = _some_columns(record, X, J)
    fetched = known.similarity.fetch(np.arange(len(J)))
    size = np.sqrt(np.where(known.usable, known.own, 1.0))
    return known.similarity.gram(fetched, fetched) / np.outer(size, size)


class KnownColumns(NamedTuple):
    similarity: Similarity
    relevance: Array
    usable: Array  # not constant
    own: Array  # similarity of each with itself


def _some_columns(record: FittedRecord, X: Any, J: Array) -> KnownColumns:
    """What is known of the columns J of the data of the fit, X."""
    if X.shape[0] != record.n_rows:
        raise ValueError(
            f"X has {X.shape[0]:,} rows, but the selector was fitted on {record.n_rows:,}; an "
            "explanation needs the data of the fit."
        )
    settings, scores = record.settings, record.scores
    if is_name(settings.kernel, "precomputed") and scores is not None:
        Q, r, every = X[np.ix_(J, J)], scores["relevance_"][J], np.ones(len(J), dtype=bool)
        return KnownColumns(Precomputed(Q, r), r, every, np.diagonal(Q))
    assert record.y is not None
    data = first_scan(X[:, J], record.y, settings.task, settings.center)
    columns, target = data.columns, data.target
    similarity = similarity_of(settings.kernel, columns, target.Y.shape[1])
    kind = kind_of_relevance(settings)
    if is_name(kind, "mutual_info") and not isinstance(X, np.ndarray):
        kind = "binned_mutual_info"  # which is what it was
    if isinstance(kind, HSIC) or (isinstance(kind, str) and kind in BY_COLUMN):
        r = relevance_of(kind, None, record.y, columns=columns, target=target)
        if scores is not None:
            _check_same_data(r, scores["relevance_"][J])
    elif scores is not None:
        r = scores["relevance_"][J]
    else:
        raise ValueError(
            f"the relevance of single columns was not kept for {record.n_columns:,} columns;"
            " fit with keep_scores=True to have them explained."
        )
    own = np.full(len(J), similarity.largest)
    return KnownColumns(similarity, r, columns.usable, own)


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
