"""How many, how sure, and why: what the promises of `mmfs.model_selection` come to.

    python -m benchmarks.model_selection path          50 gammas against one fit, 2 million columns
    python -m benchmarks.model_selection cv DATA       cross-validation on leukemia_golub
    python -m benchmarks.model_selection stability     false selections against their bounds
    python -m benchmarks.model_selection knockoffs     false discovery rates
    python -m benchmarks.model_selection hsic DATA     planted non-linear problem; madelon, against
                                                      pyHSICLasso

DATA is the folder of benchmark sets. Each prints "pass" or "SHORT" against its goals and ends with
status 1 if any falls short. Times are medians of interleaved runs; only their ratios mean much.
"""

import argparse
import contextlib
import io
import statistics
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.linalg import toeplitz

from benchmarks.measure import goal, seconds_of
from mmfs import MMFS, MMFSCV, KnockoffSelector, MaxRel, StabilitySelector, mmfs_path
from mmfs.datasets import make_nonlinear, make_wide_sparse
from mmfs.hsic import HSIC


def path(_):
    X, y, _ = make_wide_sparse(20_000, 2_000_000, 50_000_000)
    print(f"X: {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz:,} stored")
    ratios = {}
    for name, store in (("columns", X), ("rows", X.tocsr())):
        fits, paths = [], []
        for turn in range(4):
            fit, selector = seconds_of(lambda store=store: MMFS(100).fit(store, y))
            run, found = seconds_of(
                lambda store=store: mmfs_path(store, y, n_features_to_select=100)
            )
            if turn:
                fits.append(fit)
                paths.append(run)
        ratios[name] = statistics.median(paths) / statistics.median(fits)
        print(
            f"{name}: fit {statistics.median(fits):.2f} s, {selector.n_scans_} scans; path "
            f"{statistics.median(paths):.2f} s, {found.n_scans} scans, {found.n_support[-1]} "
            f"support features, largest gap {found.gaps.max():.1e}"
        )
    return goal("path of 50 gammas / one fit, columns", ratios["columns"], 6) & goal(
        "path of 50 gammas / one fit, rows", ratios["rows"], 6
    )


def cv(folder):
    with np.load(folder / "leukemia_golub.npz") as file:
        X, y = file["X"].astype(float), file["y"]
    good = True
    for options in ({}, {"rule": "one_se"}, {"gammas": 10}):
        search = MMFSCV(n_jobs=2, **options)
        run, _ = seconds_of(lambda search=search: search.fit(X, y))
        print(f"{search}: {search.best_n_features_} features, {search.best_score_:.3f}")
        good &= goal("seconds on two cores, start of processes included", run, 10)
    return good


def stability(_):
    good = True
    for selector in (MMFS(), MaxRel()):
        for bound in ("unimodal", "worst_case"):
            false, found, bounds = [], [], []
            for seed in range(50):
                rng = np.random.default_rng(seed)
                X = rng.standard_normal((200, 500))
                y = 0.7 * X[:, :10].sum(axis=1) + rng.standard_normal(200)
                stable = StabilitySelector(
                    selector, target_false=2, bound=bound, random_state=seed
                ).fit(X, y)
                chosen = set(stable.indices_.tolist())
                false.append(len(chosen - set(range(10))))
                found.append(len(chosen & set(range(10))))
                bounds.append(stable.false_bound_)
            print(
                f"{selector}, {bound}: threshold {stable.threshold_}, "
                f"{stable.n_features_per_half_:g} per half, {np.mean(found):.1f} of 10 found"
            )
            good &= goal("false selections, mean of 50 runs", np.mean(false), np.mean(bounds))
    return good


def knockoffs(_):
    good = True
    for n_rows, rho, known in [
        (400, 0.0, True), (400, 0.5, True), (400, 0.8, True), (200, 0.5, True),
        (1000, 0.5, False), (1000, 0.8, False), (400, 0.5, False), (200, 0.5, False),
    ]:  # fmt: skip
        Sigma = toeplitz(rho ** np.arange(200))
        shares, power = [], []
        for seed in range(100):
            rng = np.random.default_rng(seed)
            X = rng.standard_normal((n_rows, 200)) @ np.linalg.cholesky(Sigma).T
            signals = set(rng.choice(200, 30, replace=False).tolist())
            weights = np.zeros(200)
            weights[list(signals)] = 0.4 * rng.choice([-1, 1], 30)
            y = X @ weights + rng.standard_normal(n_rows)
            selector = KnockoffSelector(0.2, covariance=Sigma if known else None, random_state=seed)
            chosen = set(selector.fit(X, y).indices_.tolist())
            shares.append(len(chosen - signals) / max(1, len(chosen)))
            power.append(len(chosen & signals) / 30)
        error = np.std(shares) / np.sqrt(len(shares))
        words = (
            f"false discovery rate, {n_rows} x 200, correlation {rho}, covariance "
            f"{'known' if known else 'estimated'} (power {np.mean(power):.2f})"
        )
        # The guarantee is for a known covariance; an estimate may cost a quarter more.
        good &= goal(words, np.mean(shares), (0.2 if known else 0.25) + 2 * error)
    return good


def nonlinear(folder):
    good = True
    for seed in range(5):
        X, y, signals = make_nonlinear(random_state=seed)
        run, found = seconds_of(
            lambda X=X, y=y: MMFS(10, kernel="hsic", relevance="hsic", n_jobs=2).fit(X, y)
        )
        hits = len(set(found.indices_) & set(signals))
        print(f"planted, seed {seed}: {run:.1f} s, {found.n_scans_} scans")
        good &= goal("signals found of 10 among 2,000 columns", hits, 10, at_least=True)
        good &= goal(
            "signals found by the aligned kernel",
            len(set(MMFS(10).fit(X, y).indices_) & set(signals)),
            0,
        )
    with np.load(folder / "madelon.npz") as file:
        X, y = file["X"].astype(float), file["y"]
    useful = useful_of_madelon(X)
    for block, shuffles in ((20, 3), (50, 3)):
        ours = []
        for seed in range(5):
            how = HSIC(block, shuffles, seed)
            run, found = seconds_of(
                lambda how=how: MMFS(20, kernel=how, relevance="hsic").fit(X, y)
            )
            ours.append(len(useful & set(found.indices_.tolist())))
        theirs_run, theirs = seconds_of(lambda b=block, s=shuffles: by_pyhsiclasso(X, y, b, s))
        print(
            f"madelon, blocks of {block}, {shuffles} shuffles: ours {ours} (five seeds), "
            f"{run:.1f} s; pyHSICLasso {theirs_run:.1f} s"
        )
        good &= goal(
            "useful columns among the first 20, beside pyHSICLasso's",
            ours[0],
            len(useful & set(theirs)),
            at_least=True,
        )
    return good


def useful_of_madelon(X):
    """Five columns and fifteen combinations of them: correlated with others as no noise is."""
    rho = np.abs(np.corrcoef(X.T))
    np.fill_diagonal(rho, 0)
    strongest = rho.max(axis=1)
    useful = set(np.argsort(-strongest)[:20].tolist())
    least, most = np.sort(strongest)[[-20, -21]]
    print(f"madelon: 20 columns correlate above {least:.2f} with another, none of the rest above "
          f"{most:.2f}")  # fmt: skip
    return useful


def by_pyhsiclasso(X, y, block, shuffles):
    from pyHSICLasso import HSICLasso

    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = HSICLasso()
        other.input(X, y)
        other.classification(20, B=block, M=shuffles, n_jobs=1)
    return other.get_index()


BENCHMARKS = {
    "path": path, "cv": cv, "stability": stability, "knockoffs": knockoffs, "hsic": nonlinear,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=BENCHMARKS)
    parser.add_argument("data", nargs="?", type=Path)
    arguments = parser.parse_args()
    if arguments.what in ("cv", "hsic") and arguments.data is None:
        parser.error(f"{arguments.what} needs the folder of benchmark sets")
    sys.exit(0 if BENCHMARKS[arguments.what](arguments.data) else 1)
