"""Why a feature was kept or dropped.

Weights w are those of the selected features among themselves, with their bias b. What these already
tell of column i is its redundancy, sum_j w_j Q_ij over the others; the terms of that sum say which
of them make it redundant, and by how much. redundancy_i + b - tau r_i says how far column i is
beyond its margin: nothing is left of its relevance r_i.
"""

from typing import Any, NamedTuple

import numpy as np

from mmfs.base import first_scan
from mmfs.features import data_columns, members, names_with, values_of
from mmfs.fit import CHANCE, FittedRecord
from mmfs.hsic import HSIC
from mmfs.kernels import Grouped, Precomputed, Similarity, similarity_of
from mmfs.kernels.directions import directions
from mmfs.names import columns_asked, name_of
from mmfs.optional import require
from mmfs.prepare import kind_of_relevance
from mmfs.relevance import relevance_of
from mmfs.solvers import tuning
from mmfs.sources import Mixed, as_source
from mmfs.validation import is_int, is_name

Array = np.ndarray

# Below this, beside the largest relevance, what is left of a margin is rounding error.
MARGIN_ROUNDING = 1e-5

# Causes that a sentence names, at most, and the share of the redundancy that each must have.
NAMED, LEAST_SHARE = 3, 0.1

# Relevances that can be found again from a single column.
BY_COLUMN = ("correlation", "binned_mutual_info")

MUST_BE_IN = "selected: must be in"

COLUMNS = [
    "feature", "selected", "rank", "weight", "relevance", "redundancy", "margin", "causes", "why",
]  # fmt: skip


def explain(record: FittedRecord, X: Any, features: Any, n_dropped: int, names: Any = None) -> Any:
    """A DataFrame with a row for every feature asked, of a fit on X, as read."""
    if not is_int(n_dropped) or n_dropped < 0:
        raise ValueError(f"n_dropped must be a whole number >= 0, got {n_dropped!r}.")
    pandas = require("pandas", "explain", "explain()")
    groups = record.features
    if features is None:
        asked = np.concatenate([record.indices, record.runners_up[:n_dropped]])
    else:
        known_names = None if callable(names) else names
        if groups is not None:
            known_names = names_with(groups, known_names)
        asked = columns_asked(features, known_names, record.n_columns)
        asked = asked if groups is None else groups.of(asked)

    kept, weights = record.indices[record.n_included :], record.weights[record.n_included :]
    J = np.union1d(asked, record.indices)
    known = _some_columns(record, X, J)
    here, those = (known.similarity.fetch(np.searchsorted(J, some)) for some in (asked, kept))
    Q = known.similarity.gram(here, those)
    _check_same_data(known.similarity.facts_of(np.searchsorted(J, kept)), record.facts)
    relevance, given = _beside_included(record, X, J, known)

    def name(j: int) -> Any:
        return name_of(names, j) if groups is None else groups.name(j)

    place = {j: i for i, j in enumerate(record.indices.tolist())}
    tau, b, rows = record.settings.tau, record.b, []
    for j, similar in zip(asked.tolist(), Q, strict=True):
        terms, at = similar * weights, np.searchsorted(J, j)
        causes = {kept[c]: float(terms[c]) for c in np.flatnonzero(terms) if kept[c] != j}
        causes |= given.get(j, {})
        needed = b if record.costs is None else b * float(record.costs[j])
        in_any_case = j in record.indices[: record.n_included]
        row = {
            "feature": name(j),
            "selected": j in place,
            "rank": place[j] + 1 if j in place else None,
            "weight": float(np.nan_to_num(record.weights[place[j]])) if j in place else 0.0,
            "relevance": float(relevance[at]),
            "redundancy": float(sum(causes.values())),
            "margin": float(terms.sum() + needed - tau * known.relevance[at]),
            "causes": {name(c): causes[c] for c in sorted(causes, key=lambda c: -causes[c])},
        }
        alike = tuning.SAME * np.sqrt(known.own[at] * known.own[np.searchsorted(J, kept)])
        twins = np.flatnonzero((similar >= alike) & (kept != j))
        twin = name(kept[twins[0]]) if len(twins) else None
        row["why"] = _sentence(row, twin, tau, needed) if known.usable[at] else "constant"
        if in_any_case:
            row |= {"margin": 0.0, "why": MUST_BE_IN}
        elif j in record.excluded:
            row["why"] = "excluded"
        elif not known.usable[at] and relevance[at] > 0:
            row["why"] = "explained by what must be in" if given else "constant"
        rows.append(row)
    frame = pandas.DataFrame(rows, columns=COLUMNS).set_index("feature")
    return frame.astype({"rank": "Int64"})


def _beside_included(
    record: FittedRecord, X: Any, J: Array, known: "KnownColumns"
) -> tuple[Array, dict[int, dict[int, float]]]:
    """Relevances of features J as if nothing had to be in, and what each that is takes of them.

    Least squares by those that must be in tells the target as the sum of a part for each; what a
    feature loses beside them all is shared out as it agrees with these parts.
    """
    included = record.indices[: record.n_included]
    if len(included) == 0:
        return known.relevance, {}
    alone = _some_columns(record, X, J, adjusted=False)
    columns, Y = alone.columns, alone.columns.Y
    parts = _data_parts(record, X, J)
    at = [np.flatnonzero(parts == np.searchsorted(J, s)) for s in included.tolist()]
    blocks = [columns.fetch(some).dense() for some in at]
    B, *_ = np.linalg.lstsq(np.hstack(blocks), Y, rcond=None)
    sizes = np.cumsum([0, *map(len, at)])
    told = np.hstack([F @ B[a:b] for F, a, b in zip(blocks, sizes[:-1], sizes[1:], strict=True)])
    products = columns.project(told).reshape(-1, len(included), Y.shape[1])
    C = alone.similarity.C if isinstance(alone.similarity, Grouped) else directions(
        columns.everything.products
    )  # fmt: skip
    shares = np.zeros((len(J), len(included)))
    np.add.at(shares, parts, np.einsum("jsc,jc->js", products, C))
    left = np.where(known.usable, known.relevance, 0.0)
    lost = record.settings.tau * (alone.relevance - left)
    total = shares.sum(axis=1)
    scale = np.divide(lost, total, out=np.zeros(len(J)), where=np.abs(total) > MARGIN_ROUNDING)
    given = {
        j: {s: float(shares[i, c] * scale[i]) for c, s in enumerate(included.tolist())}
        for i, j in enumerate(J.tolist())
        if j not in included
    }
    return alone.relevance, given


def noise_of(record: FittedRecord) -> str | None:
    """What is to be said of a selection that chance explains; None of any other."""
    if record.chance is None or record.chance <= CHANCE:
        return None
    n = record.n_usable
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


def similarities(record: FittedRecord, X: Any, J: Array) -> Array:
    """Between columns J of the data of the fit, under its kernel: 1 for equal ones."""
    known = _some_columns(record, X, J, adjusted=False)  # those that must be in are features too
    fetched = known.similarity.fetch(np.arange(len(J)))
    size = np.sqrt(np.where(known.usable, known.own, 1.0))
    return known.similarity.gram(fetched, fetched) / np.outer(size, size)


class KnownColumns(NamedTuple):
    similarity: Similarity
    relevance: Array
    usable: Array  # not constant
    own: Array  # similarity of each with itself
    columns: Any = None  # of the data


def _part(record: FittedRecord, X: Any, J: Array) -> Any:
    """The columns of X that features J are."""
    return X[:, J if record.features is None else record.features.columns_of(J)]


def _data_parts(record: FittedRecord, X: Any, J: Array) -> Array:
    """Of the columns of the data that stand for features J which of these each belongs to."""
    if record.features is None:
        return np.arange(len(J))
    owner = np.repeat(np.arange(len(J)), [len(record.features.columns[g]) for g in J.tolist()])
    part = _part(record, X, J)
    return owner[part.source.of_data] if isinstance(part, Mixed) else owner


def _some_columns(record: FittedRecord, X: Any, J: Array, adjusted: bool = True) -> KnownColumns:
    """What is known of the features J of the data of the fit, X.

    `adjusted`: beside those that must be in.
    """
    if X.shape[0] != record.n_rows:
        raise ValueError(
            f"X has {X.shape[0]:,} rows, but the selector was fitted on {record.n_rows:,}; an "
            "explanation needs the data of the fit."
        )
    settings, scores, features = record.settings, record.scores, record.features
    if is_name(settings.kernel, "precomputed") and scores is not None:
        Q, r, every = X[np.ix_(J, J)], scores["relevance_"][J], np.ones(len(J), dtype=bool)
        return KnownColumns(Precomputed(Q, r), r, every, np.diagonal(Q))
    assert record.y is not None
    per_row, included = record.per_row, record.indices[: record.n_included]
    if adjusted and len(included):
        source = as_source(X)
        per_row = per_row.beside(values_of(source, data_columns(included, features), per_row))
    data = first_scan(
        _part(record, X, J), record.y, settings.task, settings.center, None, per_row,
        settings.class_weight,
    )  # fmt: skip
    columns, target = data.columns, data.target
    if features is not None:
        owner = _data_parts(record, X, J)
        grouped = Grouped(columns, owner, members(owner, len(J)), data.n_effective)
        r, usable = grouped.known[0].relevance, np.isfinite(grouped.known[0].relevance)
        return KnownColumns(grouped, np.maximum(r, 0.0), usable, np.ones(len(J)), columns)
    similarity = similarity_of(settings.kernel, columns, target.Y.shape[1])
    kind = kind_of_relevance(settings)
    if is_name(kind, "mutual_info") and not isinstance(X, np.ndarray):
        kind = "binned_mutual_info"  # which is what it was
    if isinstance(kind, HSIC) or (isinstance(kind, str) and kind in BY_COLUMN):
        r = relevance_of(kind, None, record.y, columns=columns, target=target)
        if scores is not None and adjusted:
            there = np.flatnonzero(~np.isin(J, np.append(included, record.excluded)))
            _check_same_data(r[there], scores["relevance_"][J[there]])
    elif scores is not None:
        r = scores["relevance_"][J]
    else:
        raise ValueError(
            f"the relevance of single columns was not kept for {record.n_columns:,} columns;"
            " fit with keep_scores=True to have them explained."
        )
    own = np.full(len(J), similarity.largest)
    return KnownColumns(similarity, r, columns.usable, own, columns)


def _check_same_data(found: Array, known: Array) -> None:
    if not np.allclose(found, known, rtol=1e-4, atol=1e-6):
        raise ValueError(
            "X is not the data that the selector was fitted on; pass the same rows in the same "
            "order."
        )
