"""Stability selection: its bounds by hand and by simulation. Knockoffs: likewise."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.linalg import toeplitz
from sklearn.utils.estimator_checks import parametrize_with_checks

from mmfs import (
    FCBF,
    FGM,
    MMFS,
    MMFSCV,
    MRMR,
    SVMRFE,
    KnockoffSelector,
    MaxRel,
    StabilitySelector,
)
from mmfs.model_selection.knockoffs import knockoff_threshold, knockoffs
from mmfs.model_selection.stability import _select_in_halves, unimodal_bound, worst_case_bound
from mmfs.per_row import PLAIN

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore:no feature was selected in", "ignore:no selection has a false discovery rate"
    ),
]


# Halves are drawn from rows, and so are knockoffs: others are drawn where a row is there twice.
DRAWN = {
    f"check_sample_weight_equivalence_on_{form}_data": "rows are drawn"
    for form in ("dense", "sparse")
}
UNWEIGHTED = {
    f"check_sample_weights_{name}": "MaxRel takes neither sample_weight nor covariates"
    for name in ("pandas_series", "not_an_array", "list", "shape", "not_overwritten")
}


def refused_by(estimator):
    drawn = dict(DRAWN)
    if isinstance(estimator, KnockoffSelector):
        del drawn["check_sample_weight_equivalence_on_sparse_data"]  # refused, and not tried
    return drawn | (UNWEIGHTED if isinstance(estimator.selector, MaxRel) else {})


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [
        StabilitySelector(n_pairs=3),
        StabilitySelector(MaxRel(), n_pairs=2, threshold=0.6, bound="worst_case"),
        KnockoffSelector(),
        KnockoffSelector(0.5, offset=0),
    ],
    expected_failed_checks=refused_by,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def simulated(seed, n_rows=100, n_columns=200, n_signals=5, strength=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    y = strength * X[:, :n_signals].sum(axis=1) + rng.standard_normal(n_rows)
    return X, y > 0


def test_bounds_by_hand():
    # q = 10 of 1,000: t = 0.01.
    assert worst_case_bound(0.9, 10, 1000, 50) == pytest.approx(100 / 0.8 / 1000)
    assert unimodal_bound(0.7, 10, 1000, 50) == pytest.approx(0.1 / (2 * (0.4 - 0.01)))
    assert unimodal_bound(0.9, 10, 1000, 50) == pytest.approx(0.1 * 4 * (0.1 + 0.01) / 1.02)
    assert unimodal_bound(1.0, 10, 1000, 50) == pytest.approx(0.1 * 4 * 0.01 / 1.02)
    assert worst_case_bound(0.5, 10, 1000, 50) == np.inf
    # Where the unimodal bound does not apply, the other still does.
    assert unimodal_bound(0.9, 700, 1000, 50) == worst_case_bound(0.9, 700, 1000, 50)
    for threshold in np.linspace(0.51, 1, 50):
        assert unimodal_bound(threshold, 20, 500, 50) <= worst_case_bound(threshold, 20, 500, 50)


@pytest.mark.parametrize("bound", ["unimodal", "worst_case"])
def test_the_threshold_is_the_lowest_that_meets_the_target(bound):
    X, y = simulated(0)
    for target in (0.2, 1.0, 3.0):
        stable = StabilitySelector(
            n_features_per_half=6, target_false=target, bound=bound, n_pairs=20
        ).fit(X, y)
        function = {"unimodal": unimodal_bound, "worst_case": worst_case_bound}[bound]
        assert stable.false_bound_ == function(stable.threshold_, 6, 200, 20) <= target
        lower = stable.threshold_ - 1 / 40
        assert lower <= 0.5 or function(lower, 6, 200, 20) > target
        assert stable.bounds_[bound] == stable.false_bound_
        frequencies = stable.frequencies_
        assert set(stable.indices_) == set(np.flatnonzero(frequencies >= stable.threshold_ - 1e-9))
        assert (np.diff(frequencies[stable.indices_]) <= 0).all()


def test_how_many_per_half_unless_told():
    X, y = simulated(0)
    stable = StabilitySelector(n_pairs=20, target_false=2).fit(X, y)
    q = stable.n_features_per_half_
    assert unimodal_bound(0.75, q, 200, 20) <= 2 < unimodal_bound(0.75, q + 1, 200, 20)
    given = StabilitySelector(n_pairs=20, threshold=0.9).fit(X, y)
    q = given.n_features_per_half_
    assert given.threshold_ == 0.9
    assert unimodal_bound(0.9, q, 200, 20) <= 1 < unimodal_bound(0.9, q + 1, 200, 20)


def test_the_number_of_the_selector_is_used_if_no_other_is_given():
    X, y = simulated(0)
    assert StabilitySelector(MMFS(7), n_pairs=2, threshold=0.9).fit(X, y).n_features_per_half_ == 7
    both = StabilitySelector(MMFS(7), n_features_per_half=5, n_pairs=2, threshold=0.9)
    assert both.fit(X, y).n_features_per_half_ == 5


@pytest.mark.filterwarnings("default")
def test_nothing_selected_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 50)), rng.standard_normal(60)
    with pytest.warns(
        UserWarning, match=r"no feature was selected in 95% of the halves \(the most"
    ):
        StabilitySelector(n_pairs=10, threshold=0.95).fit(X, y)
    with pytest.warns(UserWarning, match="at least 20 features would have to stand out"):
        KnockoffSelector(0.05).fit(X, y)


def test_halves_are_complementary_and_stratified():
    seen = []

    class Recorder(MMFS):
        def fit(self, X, y):
            seen.append((set(X[:, 0].tolist()), y.mean()))
            return super().fit(X, y)

    X = np.column_stack([np.arange(60.0), np.random.default_rng(0).standard_normal((60, 5))])
    y = np.arange(60) % 3 == 0
    for seed in range(10):
        _select_in_halves(Recorder(2), X, y, y.astype(int), PLAIN, seed)
    for (left, share), (right, other) in zip(seen[::2], seen[1::2], strict=True):
        assert not left & right and left | right == set(range(60))
        assert share == other == 1 / 3
    assert len({frozenset(rows) for rows, _ in seen}) == 20  # never the same twice


@pytest.mark.parametrize(("bound", "target"), [("unimodal", 2.0), ("worst_case", 2.0)])
def test_false_selections_stay_below_the_bound(bound, target):
    """Independent noise: what is selected beyond the signals, on average, against the bound."""
    false, found, bounds = [], [], []
    for seed in range(20):
        X, y = simulated(seed)
        stable = StabilitySelector(
            MaxRel(), n_pairs=25, target_false=target, bound=bound, random_state=seed
        ).fit(X, y)
        chosen = set(stable.indices_.tolist())
        false.append(len(chosen - set(range(5))))
        found.append(len(chosen & set(range(5))))
        bounds.append(stable.false_bound_)
    assert np.mean(false) <= np.mean(bounds) <= target
    assert np.mean(found) > 2.5  # it is not kept by selecting nothing


def test_a_single_selection_of_as_many_features_would_break_the_bound():
    """What the bound protects from: the same number, selected once, has far more false ones."""
    false = []
    for seed in range(10):
        X, y = simulated(seed)
        false.append(len(set(MMFS(20).fit(X, y).indices_.tolist()) - set(range(5))))
    assert np.mean(false) > 10


@pytest.mark.parametrize(
    "selector", [MMFS(kernel="poly2"), MMFS(rank="path"), MRMR(), FCBF(), FGM(), SVMRFE()], ids=str
)
@pytest.mark.filterwarnings("ignore:FCBF")
def test_around_any_selector(selector):
    X, y = simulated(1, n_rows=400)
    stable = StabilitySelector(selector, n_features_per_half=6, n_pairs=5, threshold=0.8)
    stable.fit(pd.DataFrame(X).add_prefix("x"), y)
    assert len(set(stable.indices_.tolist()) & set(range(5))) >= 2
    assert stable.n_features_per_half_ <= 6
    assert stable.get_feature_names_out().tolist() == [f"x{j}" for j in sorted(stable.indices_)]


def test_same_whatever_the_processes_and_storage(capsys):
    X, y = simulated(0)
    X[np.abs(X) < 1] = 0
    one = StabilitySelector(n_pairs=10, verbose=1).fit(X, y)
    two = StabilitySelector(n_pairs=10, n_jobs=2).fit(X, y)
    sparse = StabilitySelector(n_pairs=10).fit(sp.csr_array(X), y)
    for other in (two, sparse):
        np.testing.assert_array_equal(one.frequencies_, other.frequencies_)
        assert one.indices_.tolist() == other.indices_.tolist()
    assert "pair 10 of 10" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        (StabilitySelector(threshold=0.7, target_false=1), r"threshold or target_false, not both"),
        (StabilitySelector(threshold=0.5), r"threshold must be a number above 0\.5"),
        (StabilitySelector(target_false=0), r"target_false must be a positive number"),
        (StabilitySelector(bound="best"), r"bound must be one of 'unimodal', 'worst_case'"),
        (StabilitySelector(MMFSCV()), r"needs a selector of this package that has n_features_to"),
        (StabilitySelector("MMFS"), r"needs a selector of this package"),
        (StabilitySelector(MMFS(kernel="precomputed")), r"similarities instead of rows"),
        (
            StabilitySelector(n_features_per_half=150, target_false=0.1),
            r"150 features per half of 200 columns allow no threshold .* lower n_features_per",
        ),
        (KnockoffSelector(fdr=0), r"fdr must be a number between 0 and 1, got 0\."),
        (KnockoffSelector(offset=2), r"offset must be 0 or 1"),
        (KnockoffSelector(selector=MMFS(5)), r"finds the number of features itself"),
        (KnockoffSelector(selector=MaxRel()), r"selector must be an MMFS"),
        (
            KnockoffSelector(covariance=np.eye(3)),
            r"must hold 200 x 200 real numbers, got .*\(3, 3\)",
        ),
        (KnockoffSelector(covariance=-np.eye(200)), r"covariance must be positive definite"),
    ],
)
def test_mistakes(selector, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        selector.fit(*simulated(0))
    assert "\n" not in str(caught.value)
    assert not hasattr(selector, "indices_")


def test_a_class_with_one_row_is_refused():
    X = np.random.default_rng(0).standard_normal((20, 10))
    with pytest.raises(ValueError, match="y has a class with one row"):
        StabilitySelector(n_pairs=2).fit(X, [0] * 9 + [1] * 10 + [2])


# --- knockoffs ----------------------------------------------------------------------------------


def test_knockoffs_have_the_covariances_they_should():
    """[Z, Z~]: covariance Sigma within both, Sigma - s I across."""
    rng = np.random.RandomState(0)
    Sigma = toeplitz(0.6 ** np.arange(6))
    Z = rng.multivariate_normal(np.zeros(6), Sigma, 200_000)
    other = knockoffs(Z, Sigma, rng)
    s = 0.999 * min(1.0, 2 * np.linalg.eigvalsh(Sigma)[0])
    np.testing.assert_allclose(other.T @ other / len(Z), Sigma, atol=0.02)
    np.testing.assert_allclose(Z.T @ other / len(Z), Sigma - s * np.eye(6), atol=0.02)


def test_threshold_by_hand():
    W = np.array([5.0, 4, 3, 2, -2, 1, -1, 0])
    # t = 5, 4, 3: no negatives, (1 + 0) / 1, 2, 3; t = 2: (1 + 1) / 4; t = 1: (1 + 2) / 5.
    assert knockoff_threshold(W, 0.34, 1) == 3
    assert knockoff_threshold(W, 0.5, 1) == 2
    assert knockoff_threshold(W, 0.6, 1) == 1
    assert knockoff_threshold(W, 0.3, 1) == np.inf
    assert knockoff_threshold(W, 0.3, 0) == 2
    assert knockoff_threshold(np.zeros(4), 0.5, 1) == np.inf


def correlated(seed, n_rows, n_columns=100, n_signals=25, rho=0.4):
    rng = np.random.default_rng(seed)
    Sigma = toeplitz(rho ** np.arange(n_columns))
    X = rng.standard_normal((n_rows, n_columns)) @ np.linalg.cholesky(Sigma).T
    signals = rng.choice(n_columns, n_signals, replace=False)
    y = X[:, signals] @ (0.4 * rng.choice([-1, 1], n_signals)) + rng.standard_normal(n_rows)
    return X, y, set(signals.tolist()), Sigma


@pytest.mark.parametrize("known", [True, False])
def test_false_discovery_rate_is_kept(known):
    shares, power, runs = [], [], 40
    for seed in range(runs):
        X, y, signals, Sigma = correlated(seed, 500)
        knockoff = KnockoffSelector(0.2, covariance=Sigma if known else None, random_state=seed)
        chosen = set(knockoff.fit(X, y).indices_.tolist())
        shares.append(len(chosen - signals) / max(1, len(chosen)))
        power.append(len(chosen & signals) / len(signals))
    assert np.mean(shares) <= 0.2 + 2 * np.std(shares) / np.sqrt(runs)
    assert np.mean(shares) > 0.05  # and not by selecting next to nothing
    assert np.mean(power) > 0.8


def test_no_signal_at_all_is_mostly_seen():
    """With no true feature, any selection is false: it may happen in a fifth of the runs."""
    rng = np.random.default_rng(0)
    any_selected = [
        len(
            KnockoffSelector(0.2, random_state=seed)
            .fit(rng.standard_normal((200, 60)), rng.standard_normal(200))
            .indices_
        )
        > 0
        for seed in range(40)
    ]
    assert np.mean(any_selected) <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 40)


def test_statistics_and_columns_that_have_no_knockoffs():
    X, y, _, _ = correlated(0, 300, n_columns=40, n_signals=15)
    X = np.column_stack([X, np.ones(300), X[:, 3], -X[:, 4]])
    knockoff = KnockoffSelector(0.3).fit(X, y)
    W = knockoff.statistics_
    assert W.shape == (43,) and (W[40:] == 0).all()
    assert set(knockoff.indices_) == set(np.flatnonzero(knockoff.threshold_ <= W))
    assert (np.diff(W[knockoff.indices_]) <= 0).all()
    again = KnockoffSelector(0.3, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(W, again.statistics_)


def test_what_has_no_knockoffs_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"3,001 columns are too many .* StabilitySelector"):
        KnockoffSelector().fit(rng.standard_normal((10, 3001)), rng.standard_normal(10))
    with pytest.raises(ValueError, match=r"Sparse data have no Gaussian knockoffs"):
        KnockoffSelector().fit(sp.eye_array(10, 10, format="csc"), np.arange(10.0))


def test_halves_in_which_columns_are_constant_or_rows_too_few():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((60, 2)), np.eye(60)[:, :3]])
    y = X[:, 0] > 0
    stable = StabilitySelector(n_features_per_half=4, n_pairs=5, threshold=0.6).fit(X, y)
    assert stable.n_features_per_half_ < 4 and 0 in stable.indices_
    with pytest.raises(ValueError, match="9 features per half are more than the 5 columns"):
        StabilitySelector(n_features_per_half=9, n_pairs=5, threshold=0.6).fit(X, y)
    for selector in (StabilitySelector(n_pairs=3), KnockoffSelector(), MMFSCV()):
        with pytest.raises(ValueError, match="all 5 columns of X are constant"):
            selector.fit(np.ones((60, 5)), y)
    with pytest.raises(ValueError, match="X has 3 rows that count; halves of them need at least 4"):
        StabilitySelector(n_pairs=3).fit(X[:3], [0.1, 0.2, 0.4])


def test_very_many_columns_ask_for_a_hundred_per_half():
    X = sp.random_array((40, 50_000), density=0.2, rng=np.random.default_rng(0), format="csr")
    stable = StabilitySelector(MaxRel(), n_pairs=1, threshold=0.9).fit(X, np.arange(40) % 2)
    assert stable.n_features_per_half_ == 100


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda S: np.full_like(S, np.nan), "symmetric and without NaN or infinity"),
        (lambda S: S + np.triu(np.ones_like(S)), "symmetric and without NaN"),
        (lambda S: S.astype(complex), "real numbers, got .* complex"),
        (lambda S: np.ones_like(S) + 1e-12 * S, "must be positive definite"),
    ],
    ids=["nan", "asymmetric", "complex", "singular"],
)
def test_covariances_that_are_none(change, sentence):
    X, y, _, Sigma = correlated(0, 100)
    with pytest.raises(ValueError, match=sentence):
        KnockoffSelector(covariance=change(Sigma)).fit(X, y)


def test_knockoffs_tell_of_their_progress(capsys):
    X, y, _, _ = correlated(0, 100)
    KnockoffSelector(verbose=1).fit(X, y)
    assert "made 100 knockoffs" in capsys.readouterr().err
