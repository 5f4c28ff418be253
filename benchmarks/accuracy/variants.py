"""Which defaults? Variants of MMFS and other methods over a suite of sixteen data sets.

Five folds (three times over for small sets), K = 5, 10, 20, 50 and 100; one rule for all sets. The
figure of merit is the mean over K, then over sets; differences are taken set by set.
"""

import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from benchmarks.accuracy.methods import DEFAULT, OTHERS, PAPER, QUICK, VARIANTS, ours
from benchmarks.accuracy.protocol import Fold
from benchmarks.datasets import load
from benchmarks.results import read, save
from mmfs import QPFS

PART = "variants"
NUMBERS = (5, 10, 20, 50, 100)
SUITE = [
    "leukemia", "raoa_gse55457", "rac_gse55457", "colon", "prostate", "huntington", "srbct",
    "arcene", "madelon", "mnist_3v8", "pcmac", "relathe", "basehock", "news20", "enron",
    "news20_topics",
]  # fmt: skip
COMPARED = [
    *OTHERS,
    ours("QPFS", QPFS(), most_columns=5_000, most_rows=10_000),
    *(method for method in PAPER if method.name in ("QPFS-N", "FCBF", "FGM", "GDM")),
]
METHODS = [*VARIANTS, *COMPARED]
SMALL, REPEATS, MOST_ROWS = 250, 3, 4_000


def run(folder: Path, out: Path, quick: bool) -> None:
    rows = read(PART, out)
    done = {(row["set"], row["method"]) for row in rows}
    jobs = [
        (name, method)
        for method in METHODS
        for name in SUITE
        if (name, method.name) not in done
        and (not quick or (method.name in QUICK and name in ("colon", "srbct", "raoa_gse55457")))
    ]
    jobs.sort(key=lambda job: -SUITE.index(job[0]))  # the largest first
    work = (delayed(_rows)(name, method, folder, quick) for name, method in jobs)
    for new in Parallel(2, return_as="generator_unordered")(work):
        rows += new
        order = {m.name: i for i, m in enumerate(METHODS)}
        rows.sort(key=lambda r: (SUITE.index(r["set"]), order[r["method"]], int(r["fold"])))
        save(rows, PART, out)
        said = (
            new[0]["problem"]
            or f"{np.mean([float(r[f'K={k}']) for r in new for k in NUMBERS]):.1f}"
        )
        print(f"{new[0]['set']:15s} {new[0]['method']:28s} {said}", flush=True)


@lru_cache(maxsize=2)
def data(name: str, folder: Path):
    """At most MOST_ROWS rows, the same for every method, without words in one row only."""
    data = load(name, folder, download=False)
    X, y = data.X, data.y
    if len(y) > MOST_ROWS:
        some = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
        X, y = X[some], y[some]
    if sp.issparse(X):
        X = sp.csr_array(X)
        X = X[:, np.bincount(X.indices, minlength=X.shape[1]) > 1].astype(np.float64)
    return X, y


def _rows(name, method, folder, quick) -> list[dict]:
    return [{"set": name} | row for row in over_folds(*data(name, folder), method, quick)]


def over_folds(X, y, method, quick) -> list[dict]:
    """A row for every fold with the accuracy at every K; or one that says what the problem is."""
    warnings.simplefilter("ignore")
    empty = {"method": method.name, "fold": 0, "problem": ""}
    empty |= {f"K={k}": "" for k in NUMBERS}
    if problem := method.cannot(X, y):
        return [empty | {"problem": problem}]
    rows = []
    for fold in range(2 if quick else 5 * (REPEATS if len(y) < SMALL else 1)):
        splits = StratifiedKFold(5, shuffle=True, random_state=fold // 5).split(X, y)
        part = Fold(X, y, *list(splits)[fold % 5])
        try:
            chosen, _ = method.selections(part.X, part.y, NUMBERS)
        except (ValueError, MemoryError, ImportError) as error:
            return [empty | {"problem": str(error).splitlines()[0][:200]}]
        shares = {f"K={k}": f"{100 * part.correct(chosen[k]) / part.n_test:.2f}" for k in NUMBERS}
        rows.append(empty | {"fold": fold} | shares)
    return rows


def means(rows: list[dict]) -> dict[str, dict[str, np.ndarray]]:
    """Of each method and set: the mean accuracy at every number of features."""
    gathered: dict[str, dict[str, list]] = {}
    for row in rows:
        if not row["problem"]:
            shares = [float(row[f"K={k}"]) for k in NUMBERS]
            gathered.setdefault(row["method"], {}).setdefault(row["set"], []).append(shares)
    return {
        method: {name: np.mean(shares, axis=0) for name, shares in sets.items()}
        for method, sets in gathered.items()
    }


def against_default(found: dict, method: str) -> tuple[float, float, float, int]:
    """Means of the default and a method over the sets both take, s.e. of the difference, sets."""
    both = [name for name in found[DEFAULT.name] if name in found[method]]
    ours_, theirs = (
        np.array([found[m][name].mean() for name in both]) for m in (DEFAULT.name, method)
    )
    spread = (theirs - ours_).std(ddof=1) / np.sqrt(len(both)) if len(both) > 1 else np.nan
    return ours_.mean(), theirs.mean(), spread, len(both)
