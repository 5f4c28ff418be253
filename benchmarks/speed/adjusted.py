"""What weights, covariates and missing values cost, beside the plain fit of the same data."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.cases import Case, make
from benchmarks.speed.timing import Contender, in_turns, row
from mmfs import MMFS

PART = "adjusted"
CASES = [
    "power law, columns",
    "power law, rows",
    "sparse columns",
    "dense, 1,000 x 20,000",
    "leukemia",
]
PLAIN = "plain"
N_COVARIATES, HOLES = 5, 0.01
COVARIATES, MISSING = f"weights and {N_COVARIATES} covariates", "1 % missing"


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    case, rng = make(name, folder, quick), np.random.default_rng(0)
    X, y, holed = case.X, case.y, with_holes(case, rng)
    given: dict[str, Any] = {
        "sample_weight": rng.uniform(0.5, 2, len(y)),
        "covariates": rng.standard_normal((len(y), N_COVARIATES)),
    }

    def of(data: Any, **how: Any) -> Callable[[], MMFS]:
        return lambda: MMFS(100).fit(data, y, **how)

    contenders: dict[str, Contender] = {
        PLAIN: of(X),
        COVARIATES: of(X, **given),
        MISSING: of(holed),
    }
    found = in_turns(contenders, turns=2 if quick else 5)
    return [row(name, contender, timed) for contender, timed in found.items()]


def with_holes(case: Case, rng: np.random.Generator) -> Any:
    """The same data, of whose stored values some are missing."""
    X = case.X.copy().astype(np.result_type(case.X.dtype, np.float32))
    values = X.data if case.sparse else X.reshape(-1)
    values[rng.random(len(values)) < HOLES] = np.nan
    return X
