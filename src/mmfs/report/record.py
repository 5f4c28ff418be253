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

from mmfs.explain import main_causes, noise_of
from mmfs.io import Table
from mmfs.plots import ScoresDisplay
from mmfs.target import encode_target

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


def numbered(table: Table) -> list[str]:
    """How columns without names are numbered."""
    named = table.feature_names is not None
    return [] if named else [f"columns have no names, and are numbered from {table.numbered_from}"]


def target_in_words(y: Any, task: str) -> str:
    """Classes with their numbers of instances, or the range of quantities."""
    if not encode_target(y, task).of_classes:
        if y.ndim > 1:
            return f"{y.shape[1]} quantities"
        return f"quantities from {y.min():g} to {y.max():g}"
    classes, counts = np.unique(y, return_counts=True)
    pairs = [f"{name} {n:,}" for name, n in zip(classes, counts, strict=True)]
    more = f" and {len(pairs) - CLASSES_NAMED} more" if len(pairs) > CLASSES_NAMED else ""
    return f"{len(classes)} classes: {', '.join(pairs[:CLASSES_NAMED])}{more}"


def directions(X: Any, y: Any, task: str) -> list[str]:
    """For each column of a few: the class in which it is highest, or whether it rises with y."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    target = encode_target(y, task)
    if target.several:
        return [""] * X.shape[1]
    if not target.of_classes:
        rising = (X - X.mean(axis=0)).T @ target.Y[:, 0] > 0
        return ["rises with it" if up else "falls with it" for up in rising]
    classes = np.unique(y)
    means = np.array([X[target.labels == i].mean(axis=0) for i in range(len(classes))])
    return [f"{HIGHER}{classes[i]}" for i in means.argmax(axis=0)]


def selection_record(
    selector: Any, frame: Any, table: Table, scores: ScoresDisplay | None
) -> dict[str, Any]:
    """Parameters, certificate and features of a fitted MMFS, explained by a DataFrame."""
    kept = frame[frame["selected"]].sort_values("rank")
    redundant = made_redundant(frame)
    highest = directions(table.X[:, selector.indices_], table.y, selector.task)
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
        },
        "scores": None if scores is None else scores_record(scores, table, selector.task),
        "selected": [
            {
                "rank": int(row.rank),
                "feature": str(row.Index),
                "column": int(column),
                "weight": row.weight,
                "relevance": row.relevance,
                "redundancy": row.redundancy,
                "direction": direction,
                "makes_redundant": redundant[str(row.Index)],
                "why": row.why,
            }
            for row, column, direction in zip(
                kept.itertuples(), selector.indices_, highest, strict=True
            )
        ],
    }


def scores_record(scores: ScoresDisplay, table: Table, task: str) -> dict[str, Any]:
    """Cross-validated scores against numbers of features."""
    assert table.y is not None
    most_common = np.unique(table.y.astype(str), return_counts=True)[1].max() / len(table.y)
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
