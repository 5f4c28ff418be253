"""What was done, so that it can be done again."""

import json
import math
import platform
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.explain import MUST_BE_IN, main_causes, noise_of
from mmfs.io import Table
from mmfs.per_row import counts_rows
from mmfs.plots import ScoresDisplay
from mmfs.sources import Mixed
from mmfs.target import Target, encode_target

HIGHER = "higher in "
CLASSES_NAMED = 8  # that are named

# What ranks say.
RANKED_BY = {
    "elimination": "features would be given up from the last to the first, each time the lightest, "
    "and the others weighed again",
    "alpha": "by weight in the joint solution over all features, then by what is missing to get in",
    "path": "as the features enter the joint solution when gamma falls",
}

LIBRARIES = ("mmfs", "numpy", "scipy", "scikit-learn", "numba")


def versions() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES} | {"python": platform.python_version()}


def as_json(record: Any) -> str:
    """Text that any program reads: infinite numbers as words."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [plain(inner) for inner in value]
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(plain(record), indent=2, allow_nan=False)


def shown(name: Any) -> str:
    """A name for people to read, without what would control a terminal or turn text around."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(name))


def record_of(
    inputs: dict[str, str], table: Table, task: str, command: list[str]
) -> dict[str, Any]:
    """How and from what; `inputs` has the checksum of each file, the data first."""
    n_rows, n_columns = table.X.shape
    path = next(iter(inputs))
    return {
        "command": shlex.join(command),
        "versions": versions(),
        "data": {
            "file": path,
            "sha256": inputs[path],
            "bytes": Path(path).stat().st_size,
            "instances": n_rows,
            "features": n_columns,
            "target": table.target_name,
            "target_holds": target_in_words(table.y, task),
            "assumed": [*table.assumed, *numbered(table)],
        },
        "other_files": {file: sha256 for file, sha256 in inputs.items() if file != path},
    }


def in_words(selector: Any) -> list[str]:
    """What a fit assumed of the data."""
    record, words = selector._record, []
    if record.n_missing:
        words.append(f"{record.n_missing:,} missing values: numbers stand for the mean of their "
                     "column, categories for one of their own")  # fmt: skip
    weights, of_classes = record.per_row.weights, record.settings.class_weight is not None
    if weights is not None and counts_rows(weights) and not of_classes:
        words.append(f"weights are whole numbers, and count rows: {weights.sum():,.0f} in all")
    elif weights is not None or of_classes:
        words.append(f"rows are weighted, and tell as much as {record.n_effective:,.4g} equal ones")
    return words


def numbered(table: Table) -> list[str]:
    """How columns without names are numbered."""
    named = table.feature_names is not None
    return [] if named else [f"columns have no names, and are numbered from {table.numbered_from}"]


def target_in_words(y: Any, task: str) -> str:
    """Classes with their numbers of instances, or the range of quantities."""
    if task == "survival":
        events, times = np.asarray(y, dtype=float).T
        return (
            f"{int(events.sum()):,} events and {int((events == 0).sum()):,} censored times, from "
            f"{times.min():g} to {times.max():g}"
        )
    if not encode_target(y, task).of_classes:
        if y.ndim > 1:
            labels = "labels, of which rows may have several"
            return f"{y.shape[1]} {labels if np.isin(y, (0, 1)).all() else 'quantities'}"
        return f"quantities from {y.min():g} to {y.max():g}"
    classes, counts = np.unique(y, return_counts=True)
    pairs = [f"{name} {n:,}" for name, n in zip(classes, counts, strict=True)]
    more = f" and {len(pairs) - CLASSES_NAMED} more" if len(pairs) > CLASSES_NAMED else ""
    return f"{len(classes)} classes: {', '.join(pairs[:CLASSES_NAMED])}{more}"


def columns_of_features(selector: Any) -> list[np.ndarray]:
    """Of every selected feature its columns, in rank order."""
    record = selector._record
    if record.features is None:
        return [np.array([j]) for j in record.indices.tolist()]
    return [record.features.columns[g] for g in record.indices.tolist()]


def directions(
    table: Table, of_features: list[np.ndarray], task: str, weights: np.ndarray | None = None
) -> list[str]:
    """For each feature the class in which it is highest, or whether it rises with y.

    Of categories the one that tells most is named; of features of several columns nothing is said.
    """
    assert table.y is not None
    target = encode_target(table.y, task, weights)
    if target.several:
        return [""] * len(of_features)
    weights = np.ones(len(target.Y)) if weights is None else weights
    return [_direction(table, J, target, weights) if len(J) == 1 else "" for J in of_features]


def _direction(table: Table, J: np.ndarray, target: Target, weights: np.ndarray) -> str:
    X: Any = table.X[:, J]
    words = ""
    if isinstance(X, Mixed) and X.of_codes[0]:
        part = X.source.fetch(np.arange(X.source.shape[1])).toarray()
        around = weights[:, None] * (part - np.average(part, 0, weights))
        best = int(np.linalg.norm(around.T @ target.Y, axis=1).argmax())
        x, words = part[:, best], f": {X.levels[0][best]}"
    else:
        X = X.dense() if isinstance(X, Mixed) else X
        x = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)[:, 0]
        there = ~np.isnan(x)
        x = np.where(there, x, np.average(x[there], weights=weights[there]))
    if not target.of_classes:
        rises = (weights * (x - np.average(x, weights=weights))) @ target.Y[:, 0] > 0
        return ("rises with it" if rises else "falls with it") + words
    totals = np.bincount(target.labels, weights)
    sums = np.bincount(target.labels, weights * x)
    means = np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), -np.inf)
    classes = np.unique(np.asarray(table.y))
    return f"{HIGHER}{classes[int(np.argmax(means))]}{words}"


def selection_record(
    selector: Any, frame: Any, table: Table, scores: ScoresDisplay | None
) -> dict[str, Any]:
    """Parameters, certificate and features of a fitted MMFS, explained by a DataFrame."""
    kept = frame[frame["selected"]].sort_values("rank")
    redundant = made_redundant(frame)
    of_features, task = columns_of_features(selector), selector._record.settings.task
    highest = directions(table, of_features, task, selector._record.per_row.weights)
    return {
        "parameters": {
            name: value
            for name, value in sorted(selector.get_params(deep=False).items())
            if value is None or isinstance(value, bool | int | float | str)
        },
        "result": {
            "gamma": selector.gamma_,
            "objective": selector.objective_,
            "relative_gap": selector.gap_,
            "chance": selector.chance_,
            "noise": noise_of(selector._record),
            "ranked_by": RANKED_BY[selector.ranked_by_],
            "scans": selector.n_scans_,
            "constant_columns": selector.n_constant_,
            "duplicate_columns": selector.n_duplicate_,
            "missing_values": selector.n_missing_,
        },
        "scores": None if scores is None else scores_record(scores, table, task),
        "selected": [
            {
                "rank": int(row.rank),
                "feature": str(row.Index),
                "column": int(columns[0]),
                "columns": columns.tolist(),
                "must_be_in": row.why == MUST_BE_IN,
                "weight": row.weight,
                "relevance": row.relevance,
                "redundancy": row.redundancy,
                "direction": direction,
                "makes_redundant": redundant[str(row.Index)],
                "why": row.why,
            }
            for row, columns, direction in zip(kept.itertuples(), of_features, highest, strict=True)
        ],
    }


def scores_record(scores: ScoresDisplay, table: Table, task: str) -> dict[str, Any]:
    """Cross-validated scores against numbers of features."""
    assert table.y is not None
    weights = np.ones(len(table.y)) if table.weights is None else table.weights
    labels = np.unique(table.y.astype(str), return_inverse=True)[1]
    most_common = np.bincount(labels.ravel(), np.resize(weights, labels.size)).max() / weights.sum()
    return {
        "score": scores.score_name,
        "without_features": most_common if encode_target(table.y, task).of_classes else 0.0,
        "chosen": scores.chosen,
        "n_features": scores.n_features.tolist(),
        "mean": scores.mean.tolist(),
        "standard_error": scores.error.tolist(),
    }


def made_redundant(frame: Any) -> dict[str, list[str]]:
    """For each selected feature, the explained ones that it is a main cause to drop."""
    found: dict[str, list[str]] = {str(name): [] for name in frame.index[frame["selected"]]}
    dropped = frame[frame["why"].str.startswith(("redundant with", "the same as"))]
    for row in dropped.sort_values("relevance", ascending=False, kind="stable").itertuples():
        causes = main_causes(row.causes, row.redundancy)
        for name, _ in causes[:1] if row.why.startswith("the same as") else causes:
            if str(name) in found:
                found[str(name)].append(str(row.Index))
    return found
