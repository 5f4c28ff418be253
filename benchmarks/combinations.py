"""Which things that data may bring go together: every pair is tried, and the table says what came.

    python -m benchmarks.combinations           prints the table of docs/data.md

A pair works, or is refused in one sentence. Rows are what data may bring, columns the same, and
then options, places and selectors.
"""

import tempfile
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from mmfs import (
    MMFS,
    MMFSCV,
    MMFSIC,
    KnockoffSelector,
    RowStream,
    StabilitySelector,
    compare,
    mmfs_path,
    write_store,
)

N_ROWS, N_COLUMNS = 60, 12


class Case:
    """Data and everything that a fit is told."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.rng, self.X = rng, rng.standard_normal((N_ROWS, N_COLUMNS))
        self.y: Any = (self.X[:, 3] - self.X[:, 4] + rng.standard_normal(N_ROWS) / 2 > 0) + 0
        self.options: dict[str, Any] = {}
        self.given: dict[str, Any] = {}
        self.task = ""
        self.place: Callable[[Any], Any] | None = None
        self.fit: Callable[[Any, Any, MMFS, dict], Any] = plain


def plain(X: Any, y: Any, selector: MMFS, given: dict) -> Any:
    selector.set_params(n_features_to_select=3)
    if selector.budget is not None:
        selector.set_params(n_features_to_select=None)
    return selector.fit(X, y, **given)


def explained(X: Any, y: Any, selector: MMFS, given: dict) -> Any:
    return plain(X, y, selector, given).explain(X)


def path(X: Any, y: Any, selector: MMFS, given: dict) -> Any:
    return mmfs_path(X, y, gammas=5, **given, **selector.get_params())


def compared(X: Any, y: Any, selector: MMFS, given: dict) -> Any:
    found = compare(X, y, methods=["mmfs"], n_features=[3], selector=selector, cv=3, **given)
    if found.problems:
        raise ValueError(found.problems["mmfs"])
    return found


# --- what data may bring --------------------------------------------------------------------------


def weights(case: Case) -> None:
    case.given["sample_weight"] = case.rng.uniform(0.5, 2, N_ROWS)


def class_weight(case: Case) -> None:
    case.options["class_weight"] = "balanced"


def missing(case: Case) -> None:
    case.X = case.X.copy()
    case.X[case.rng.random(case.X.shape) < 0.1] = np.nan


def covariates(case: Case) -> None:
    case.given["covariates"] = case.rng.standard_normal((N_ROWS, 2))


def must_include(case: Case) -> None:
    case.options["must_include"] = [0]


def exclude(case: Case) -> None:
    case.options["exclude"] = [1]


def groups(case: Case) -> None:
    case.options["feature_groups"] = {"pair": [3, 5]}


def categories(case: Case) -> None:
    frame = pd.DataFrame(case.X, columns=[f"g{j}" for j in range(N_COLUMNS)])
    frame["g9"] = np.where(frame["g9"] > 0, "high", np.where(frame["g9"] > -1, "low", "least"))
    case.X = frame


def costs(case: Case) -> None:
    case.options |= {"costs": np.arange(1.0, N_COLUMNS + 1), "budget": 20.0}


def survival(case: Case) -> None:
    event = case.rng.random(N_ROWS) < 0.7
    time = np.exp(-case.y + case.rng.standard_normal(N_ROWS))
    case.y = np.array([*zip(event, time, strict=True)], dtype=[("event", bool), ("time", float)])


def labels(case: Case) -> None:
    case.y = sp.csr_array(np.column_stack([case.y, case.rng.random(N_ROWS) < 0.4]).astype(int))


BRINGS: dict[str, Callable[[Case], None]] = {
    "weights": weights, "class weights": class_weight, "missing values": missing,
    "covariates": covariates, "must include": must_include, "exclude": exclude,
    "groups": groups, "categories": categories, "costs": costs, "survival": survival,
    "several labels": labels,
}  # fmt: skip


# --- options, places, selectors -------------------------------------------------------------------


def option(**options: Any) -> Callable[[Case], None]:
    def add(case: Case) -> None:
        case.options |= options

    return add


def stored(X: Any) -> Any:
    return write_store(Path(tempfile.mkdtemp(), "store"), X)


def streamed(X: Any) -> RowStream:
    parts = [X[a : a + 25] for a in range(0, N_ROWS, 25)]
    return RowStream(lambda: iter(parts), X.shape)


def on_dask(X: Any) -> Any:
    import dask.array as da

    return da.from_array(X, chunks=(25, 5))


def placed(place: Callable[[Any], Any]) -> Callable[[Case], None]:
    def move(case: Case) -> None:
        case.place = place

    return move


def chosen(make: Callable[[MMFS], Any]) -> Callable[[Case], None]:
    def fit(X: Any, y: Any, selector: MMFS, given: dict) -> Any:
        return make(selector).fit(X, y, **given)

    def use(case: Case) -> None:
        case.fit = fit

    return use


def called(function: Callable[..., Any]) -> Callable[[Case], None]:
    def use(case: Case) -> None:
        case.fit = function

    return use


OTHERS: dict[str, Callable[[Case], None]] = {
    "poly2": option(kernel="poly2"), "hsic": option(kernel="hsic", relevance="hsic"),
    "mutual information": option(relevance="mutual_info"),
    "constrained": option(formulation="constrained"), "rank path": option(rank="path"),
    "no centring": option(center=False), "dcd": option(solver="dcd"),
    "sparse": placed(sp.csc_array), "store": placed(stored), "stream": placed(streamed),
    "Dask": placed(on_dask), "explain": called(explained), "mmfs_path": called(path),
    "MMFSCV": chosen(lambda s: MMFSCV(n_features=[2, 3], cv=3, selector=s)),
    "MMFSIC": chosen(lambda s: MMFSIC(selector=s)),
    "stability": chosen(
        lambda s: StabilitySelector(s, n_features_per_half=2, n_pairs=3, threshold=0.9)
    ),
    "knockoffs": chosen(lambda s: KnockoffSelector(0.4, selector=s)), "compare": called(compared),
}  # fmt: skip


@lru_cache
def outcome(one: str, other: str) -> str:
    """Nothing if the two go together, or the sentence that refuses them."""
    case, everything = Case(), BRINGS | OTHERS
    if {one, other} == {"survival", "several labels"}:
        return "a target is one or the other"
    for name in sorted((one, other), key=[*everything].index):
        everything[name](case)
    X = case.X
    if case.place is not None:
        if isinstance(X, pd.DataFrame):
            return "a table with categories is held in memory"
        X = case.place(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            case.fit(X, case.y, MMFS(**case.options), dict(case.given))
        except ValueError as refused:
            return str(refused)
    return ""


def table() -> str:
    """Markdown: `yes`, or the number of the sentence below."""
    sentences: dict[str, int] = {}
    lines = []
    for part in (list(BRINGS), list(OTHERS)):
        lines += ["| | " + " | ".join(part) + " |", "|" + " --- |" * (len(part) + 1)]
        for name in BRINGS:
            cells = []
            for other in part:
                said = "" if name == other else outcome(name, other)
                cells.append(str(sentences.setdefault(said, len(sentences) + 1)) if said else "yes")
            cells = ["" if name == other else cell for cell, other in zip(cells, part, strict=True)]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += [f"{number}. {said}" for said, number in sentences.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
