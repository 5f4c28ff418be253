"""What was done, so that it can be done again."""

import hashlib
import json
import math
import platform
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mmfs.io import Table

LIBRARIES = ("mmfs", "numpy", "scipy", "scikit-learn", "numba")


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def record_of(path: Path, sha256: str, table: Table, command: list[str]) -> dict[str, Any]:
    """How and from what; the outcome is added by whoever has it."""
    n_rows, n_columns = table.X.shape
    return {
        "command": shlex.join(command),
        "versions": versions(),
        "data": {
            "file": str(path),
            "sha256": sha256,
            "bytes": path.stat().st_size,
            "instances": n_rows,
            "features": n_columns,
            "target": table.target_name,
        },
    }


def selection_record(selector: Any, frame: Any) -> dict[str, Any]:
    """Parameters, certificate and features of a fitted MMFS, explained by a DataFrame."""
    kept = frame[frame["selected"]].sort_values("rank")
    redundant = made_redundant(frame)
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
            "passes": selector.n_passes_,
            "constant_columns": selector.n_constant_,
            "duplicate_columns": selector.n_duplicate_,
        },
        "selected": [
            {
                "rank": int(row.rank),
                "feature": str(row.Index),
                "column": int(column),
                "alpha": row.alpha,
                "relevance": row.relevance,
                "redundancy": row.redundancy,
                "makes_redundant": redundant[str(row.Index)],
                "why": row.why,
            }
            for row, column in zip(kept.itertuples(), selector.indices_, strict=True)
        ],
    }


def made_redundant(frame: Any) -> dict[str, list[str]]:
    """For each selected feature, those of the redundant ones that are most like it."""
    weights = frame["alpha"][frame["selected"]].to_dict()
    found: dict[str, list[str]] = {str(name): [] for name in weights}
    dropped = frame[frame["why"].str.startswith(("redundant with", "the same as"))]
    for row in dropped.sort_values("relevance", ascending=False, kind="stable").itertuples():
        alike = {name: row.causes[name] / weights[name] for name in row.causes if name in weights}
        if alike:
            found[str(max(alike, key=alike.__getitem__))].append(str(row.Index))
    return found
