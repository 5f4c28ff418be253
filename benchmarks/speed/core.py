"""How long a joint selection takes beside a univariate filter, and beside the paper's descent.

    python -m benchmarks.speed.core [--columns 2000000] [--stored 50000000] [--repeats 5]

One process, everything warmed up, competitors interleaved; ratios of medians. Seconds mean
nothing on another machine, the ratios nearly the same.
"""

import argparse
import json
import platform
import statistics
import time
import warnings

import numba
import numpy as np
import scipy
import sklearn
from sklearn.feature_selection import SelectKBest, f_classif

import mmfs
from mmfs import MMFS
from mmfs.datasets import make_wide_sparse


def main() -> None:
    arguments = parse()
    X, y, signals = make_wide_sparse(20_000, arguments.columns, arguments.stored)
    rows = X.tocsr()
    k = arguments.k
    warnings.simplefilter("ignore")  # f_classif divides by zero on empty columns

    selected = {}

    def select(name, X, **options):
        selector = MMFS(k, **options).fit(X, y)
        selected[name] = selector
        return selector

    gamma = select("gamma", X).gamma_
    tol = 1e-4
    contenders = {
        "one read of the arrays": lambda: (X.data.sum(), X.indices.sum()),
        "f_classif, rows": lambda: SelectKBest(f_classif, k=k).fit(rows, y),
        "MMFS, columns": lambda: select("MMFS, columns", X),
        "MMFS, columns, 2 threads": lambda: select("MMFS, columns, 2 threads", X, n_jobs=2),
        "MMFS, rows": lambda: select("MMFS, rows", rows),
        "working set, one gamma": lambda: select("working set, one gamma", X, gamma=gamma, tol=tol),
        "dcd, one gamma": lambda: select("dcd, one gamma", X, gamma=gamma, tol=tol, solver="dcd"),
    }
    seconds = interleaved(contenders, arguments.repeats)
    report(X, seconds, selected, signals)


def interleaved(contenders, repeats):
    """Median seconds of each, measured in turns after one turn that does not count."""
    samples = {name: [] for name in contenders}
    for turn in range(repeats + 1):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            if turn:
                samples[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in samples.items()}


def report(X, seconds, selected, signals):
    versions = {m.__name__: m.__version__ for m in (mmfs, np, scipy, sklearn, numba)}
    print(
        json.dumps({"machine": platform.platform(), "python": platform.python_version()} | versions)
    )
    print(f"X: {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} stored\n")
    print(f"{'':28s}{'seconds':>9s}{'reads':>8s}{'passes':>8s}{'gap':>10s}{'signals':>9s}")
    read = seconds["one read of the arrays"]
    for name, value in seconds.items():
        line = f"{name:28s}{value:9.3f}{value / read:8.1f}"
        if fit := selected.get(name):
            found = len(set(signals) & set(fit.indices_))
            line += f"{fit.n_passes_:8d}{fit.gap_:10.1e}{found:5d}/{len(signals)}"
        print(line)
    print()
    goal("MMFS, columns", "f_classif, rows", 0.25, seconds)
    goal("working set, one gamma", "dcd, one gamma", 0.25, seconds)


def goal(ours, theirs, limit, seconds):
    ratio = seconds[ours] / seconds[theirs]
    verdict = "pass" if ratio <= limit else "SHORT"
    print(f"{verdict}: {ours} / {theirs} = {ratio:.3f} (at most {limit})")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=2_000_000)
    parser.add_argument("--stored", type=int, default=50_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("-k", type=int, default=100)
    return parser.parse_args()


if __name__ == "__main__":
    main()
