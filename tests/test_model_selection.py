"""How many features: by cross-validation without leakage, and by information criteria."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import comb
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from mmfs import MMFS, MMFSCV, MMFSIC, MaxRel, mmfs_path
from mmfs.columns import Columns
from mmfs.datasets import make_planted
from tests.reference.explicit import class_basis, standardised

pytestmark = pytest.mark.slow


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [MMFSCV(), MMFSCV(gammas=3, rule="one_se", n_jobs=2), MMFSIC(), MMFSIC("bic")]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def planted():
    X, y, _ = make_planted(300)
    return X, y


SELECTORS = [
    MMFS(),
    MMFS(kernel="poly2"),
    MMFS(rank="path"),
    MMFS(formulation="constrained"),
    MMFS(solver="dcd", max_iter=20_000),
    MMFS(relevance="binned_mutual_info", C=0.2),
    MMFS(kernel="hsic", relevance="hsic"),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=str)
@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, sp.csr_array])
def test_scores_are_those_of_a_pipeline_fitted_on_the_training_rows(planted, selector, store):
    """Fold by fold what cross_val_score gives for MMFS(K, gamma) and the estimator, in full."""
    X, y = store(planted[0]), planted[1]
    estimator = LogisticRegression()
    folds = StratifiedKFold(3)
    numbers = [3, 7, 30]
    search = MMFSCV(estimator, n_features=numbers, cv=folds, selector=selector).fit(X, y)
    for i, k in enumerate(numbers):
        own = clone(selector).set_params(n_features_to_select=k)
        scores = cross_val_score(make_pipeline(own, estimator), X, y, cv=folds)
        mine = [search.cv_results_[f"split{fold}_test_score"][i] for fold in range(3)]
        np.testing.assert_allclose(mine, scores, atol=0.011)  # a gamma found to 1e-3: a row or so
        assert search.cv_results_["mean_test_score"][i] == pytest.approx(np.mean(mine))
    best = search.best_selector_
    assert len(best.indices_) == search.best_n_features_ in numbers
    assert search.indices_.tolist() == best.indices_.tolist()
    assert search.transform(X).shape == (300, search.best_n_features_)


def test_a_grid_of_gammas_is_exact(planted):
    X, y = planted
    folds = KFold(3, shuffle=True, random_state=1)
    search = MMFSCV(LogisticRegression(), n_features=[2, 5, 45], gammas=[0.1, 0.5], cv=folds)
    results = search.fit(X, y).cv_results_
    assert results["gamma"].tolist() == [0.5] * 3 + [0.1] * 3
    assert results["n_features"].tolist() == [2, 5, 45] * 2
    for i, (k, gamma) in enumerate(zip(results["n_features"], results["gamma"], strict=True)):
        pipeline = make_pipeline(MMFS(int(k), gamma=gamma), LogisticRegression())
        scores = cross_val_score(pipeline, X, y, cv=folds)
        assert [results[f"split{fold}_test_score"][i] for fold in range(3)] == scores.tolist()
    assert search.best_gamma_ in (0.1, 0.5)


def leaky_score(X, y, k):
    """Selection on all rows, then cross-validation: the mistake."""
    J = MMFS(k).fit(X, y).indices_
    return cross_val_score(make_pipeline(StandardScaler(), LinearSVC()), X[:, J], y, cv=5).mean()


def test_permuted_labels_are_predicted_at_chance():
    """No leakage: nested accuracy is a coin's, where selecting on all rows would make it high."""
    rng = np.random.default_rng(0)
    nested, within, leaky = [], [], []
    for _ in range(6):
        X, y = rng.standard_normal((60, 2000)), rng.permutation([0, 1] * 30)
        search = MMFSCV(n_features=[5, 20], cv=5)
        pipeline = make_pipeline(search, StandardScaler(), LinearSVC())
        nested.append(cross_val_score(pipeline, X, y, cv=5).mean())
        within.append(search.fit(X, y).cv_results_["mean_test_score"].mean())
        leaky.append(leaky_score(X, y, 20))
    error = 0.5 / np.sqrt(6 * 60)
    assert abs(np.mean(nested) - 0.5) < 4 * error
    assert abs(np.mean(within) - 0.5) < 4 * error
    assert np.mean(leaky) > 0.9  # what the test would see


def test_rules(planted):
    X, y = planted
    best = MMFSCV(DecisionTreeClassifier(random_state=0), rule="best").fit(X, y)
    results = best.cv_results_
    mean, numbers = results["mean_test_score"], results["n_features"]
    assert mean[best.best_index_] == mean.max() == best.best_score_
    assert numbers[best.best_index_] == min(numbers[mean == mean.max()]) == best.best_n_features_
    assert results["rank_test_score"][best.best_index_] == 1
    splits = np.array([results[f"split{i}_test_score"] for i in range(5)])
    np.testing.assert_allclose(results["se_test_score"], splits.std(0, ddof=1) / np.sqrt(5))
    sparing = MMFSCV(DecisionTreeClassifier(random_state=0), rule="one_se").fit(X, y)
    enough = mean >= mean.max() - results["se_test_score"][np.argmax(mean)]
    assert sparing.best_n_features_ == min(numbers[enough]) <= best.best_n_features_


def test_finds_the_six_signals(planted):
    X, y = planted
    names = make_planted(300).names
    search = MMFSCV(rule="one_se").fit(X, y)
    signals = {names[j].split()[-1] for j in search.indices_ if "noise" not in names[j]}
    assert len(signals) >= 5 and search.best_score_ > 0.85


def test_targets_of_every_kind():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 30))
    assert set(MMFSCV().fit(X, X[:, 2] + X[:, 7]).indices_) >= {2, 7}
    assert 2 in MMFSCV().fit(X, X[:, [2, 7]] + 0.1).indices_
    # Whole numbers that look like quantities in a part of the rows are still classes.
    y = np.repeat(np.arange(40), 3)[rng.permutation(120)]
    assert len(MMFSCV(cv=3, n_features=[4]).fit(X, y).indices_) == 4
    text = np.where(X[:, 2] > 0, "yes", "no").astype(object)
    assert MMFSCV().fit(X, text).best_score_ > 0.95
    own = MMFSCV(Ridge(), scoring="neg_mean_absolute_error", cv=KFold(4)).fit(X, X[:, 2])
    assert own.best_score_ < 0 and 2 in own.indices_


def test_groups_and_names_and_progress(planted, capsys):
    X, y = pd.DataFrame(planted[0]).add_prefix("gene "), planted[1]
    search = MMFSCV(cv=GroupKFold(3), n_features=[4], verbose=1)
    search.fit(X, y, groups=np.arange(300) // 10)
    assert all(name.startswith("gene ") for name in search.get_feature_names_out())
    assert "fold 3 of 3, best score" in capsys.readouterr().err
    frame = search.explain(X, "gene 3")
    assert frame.index.tolist() == ["gene 3"]


def test_same_whatever_the_processes(planted):
    one, two = (MMFSCV(n_jobs=n).fit(*planted) for n in (1, 2))
    for name, values in one.cv_results_.items():
        assert values.tolist() == two.cv_results_[name].tolist()
    assert one.indices_.tolist() == two.indices_.tolist()


@pytest.mark.parametrize(
    ("chooser", "sentence"),
    [
        (MMFSCV(selector=MaxRel()), r"selector must be an MMFS, or None"),
        (MMFSCV(selector=MMFS(5)), r"chooses n_features_to_select and gamma itself"),
        (MMFSCV(selector=MMFS(gamma=0.1)), r"chooses n_features_to_select and gamma itself"),
        (MMFSCV(selector=MMFS(kernel="precomputed")), r"similarities instead of rows"),
        (MMFSCV(selector=MMFS(relevance=np.ones(53))), r"array of relevances cannot be found"),
        (MMFSCV(gammas=3, selector=MMFS(formulation="constrained")), r"gammas have no meaning"),
        (MMFSCV(n_features=[60]), r"goes up to 60, but X has 52 columns that are not constant"),
        (MMFSCV(n_features=0), r"n_features must be a whole number of at least 1, an array"),
        (MMFSCV(rule="simplest"), r"rule must be one of 'best', 'one_se'"),
        (MMFSIC("aic"), r"criterion must be one of 'ebic', 'bic'"),
        (MMFSIC(selector=MMFS(kernel="poly2")), r"takes kernel='aligned'; use MMFSCV"),
        (MMFSIC(selector=MMFS(theta=0.3)), r"needs theta=0\.5, got 0\.3"),
        (MMFSIC(selector=MMFS(relevance="mutual_info")), r"takes relevance='correlation'"),
        (MMFSIC(max_features=0), r"max_features must be a whole number"),
    ],
)
def test_mistakes(planted, chooser, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        chooser.fit(*planted)
    assert "\n" not in str(caught.value)
    assert not hasattr(chooser, "indices_")


def test_folds_without_a_score_are_refused(planted):
    def nothing(estimator, X, y):
        return np.nan

    with pytest.raises(ValueError, match="no finite score"):
        MMFSCV(scoring=nothing).fit(*planted)


@pytest.mark.parametrize("classes", [0, 2, 4])
@pytest.mark.parametrize("criterion", ["bic", "ebic"])
def test_criteria_by_their_definition(classes, criterion):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 40))
    y = X[:, :4].sum(axis=1) + rng.standard_normal(150)
    if classes:
        y = np.searchsorted(np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]), y)
    chooser = MMFSIC(criterion).fit(X, y)
    Y = class_basis(y) if classes else standardised(y[:, None])
    F, (m, q) = standardised(X), Y.shape
    path = mmfs_path(X, y, gammas=chooser.gammas_)
    for t in (0, 10, 30, 45):
        J = path.alphas[:, [t]].toarray()[:, 0].nonzero()[0]
        fit = LinearRegression(fit_intercept=False).fit(F[:, J], Y)
        rss = ((Y - fit.predict(F[:, J])) ** 2).sum()
        value = m * q * np.log(rss / (m * q)) + q * len(J) * np.log(m)
        if criterion == "ebic":
            value += 2 * np.log(comb(40, len(J)))
        assert chooser.criterion_[t] == pytest.approx(value)
        assert chooser.n_support_[t] == len(J)
    best = np.argmin(chooser.criterion_)
    assert chooser.best_gamma_ == chooser.gammas_[best]
    assert chooser.best_n_features_ == chooser.n_support_[best] == len(chooser.indices_)


def test_ebic_finds_the_signals_and_bic_too_many():
    found = []
    for seed, criterion in itertools.product(range(5), ["ebic", "bic"]):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 2000))
        y = X[:, :5].sum(axis=1) + rng.standard_normal(200)
        J = MMFSIC(criterion).fit(X, y).indices_
        assert set(J) >= set(range(5))
        found.append(len(J))
    assert max(found[::2]) <= 7 and min(found[1::2]) > 10


def test_no_more_features_than_may_be_and_never_a_saturated_fit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 500))
    for seed in range(5):
        y = np.random.default_rng(seed).standard_normal(40)
        assert MMFSIC("bic", max_features=4).fit(X, y).best_n_features_ <= 4
        assert MMFSIC("bic", max_features=60).fit(X, y).best_n_features_ <= 20
        assert MMFSIC(max_features=60).fit(X, y).best_n_features_ <= 2


@pytest.mark.parametrize("chooser", [MMFSCV(cv=2, n_features=[2]), MMFSIC()], ids=str)
def test_names_of_an_earlier_fit_are_forgotten(planted, chooser):
    X, y = planted
    chooser.fit(pd.DataFrame(X).add_prefix("gene "), y).fit(X, y)
    assert not hasattr(chooser, "feature_names_in_")
    assert chooser.fit(X[:, :9], y).get_feature_names_out()[0].startswith("x")


@pytest.mark.parametrize("selector", SELECTORS[:5], ids=str)
def test_columns_that_are_constant_in_a_fold(selector):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] > 0
    X[:, 3] = 0
    X[0, 3] = 1
    assert len(MMFSCV(n_features=[1, 4], selector=selector).fit(X, y).cv_results_["gamma"]) == 2


def test_the_fold_that_cannot_be_used_is_named(planted):
    X, y = planted
    with pytest.raises(ValueError, match="in the training rows of fold 2: y has only one class"):
        MMFSCV(cv=[(np.arange(200), np.arange(200, 300)), (np.flatnonzero(y == "case"), [0])]).fit(
            X, y
        )


def test_folds_that_are_used_up(planted):
    search = MMFSCV(cv=KFold(3).split(planted[0]), n_features=[2])
    search.fit(*planted)
    before = search.best_score_
    with pytest.raises(ValueError, match="cv has no folds; a generator of them serves once"):
        search.fit(*planted)
    assert search.best_score_ == before


def test_equal_means_are_ties(planted):
    scores = iter([0.3, 0.1, 0.2, 0.2, 0.1, 0.3])  # fold by fold, for one and two features

    def scoring(estimator, X, y):
        return next(scores)

    search = MMFSCV(scoring=scoring, n_features=[1, 2], cv=3).fit(*planted)
    assert search.best_n_features_ == 1
    assert search.cv_results_["rank_test_score"].tolist() == [1, 1]


def test_sparse_and_dense_choose_alike():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = (rng.random((80, 30)) < 0.4) * rng.integers(1, 5, (80, 30)).astype(float)
        y = X[:, 0] - X[:, 1] + X[:, 2] + rng.standard_normal(80) > 1
        S = sp.coo_array(X)
        S.coords = tuple(index.astype(np.int64) for index in S.coords)
        dense, sparse = MMFSCV().fit(X, y), MMFSCV().fit(S.asformat("csr"), y)
        assert dense.indices_.tolist() == sparse.indices_.tolist()
        assert dense.best_score_ == pytest.approx(sparse.best_score_)


def test_targets_that_estimators_would_misread(planted):
    X, y = planted
    halves = np.where(y == "case", 0.5, 1.5)
    selector = MMFS(task="classification")
    assert MMFSCV(n_features=[6], selector=selector).fit(X, halves).best_score_ > 0.8
    assert MMFSCV(n_features=[6]).fit(X, y.astype("S")).best_score_ > 0.8
    assert MMFSCV(n_features=[6]).fit(X, y[:, None]).best_score_ > 0.8


def test_one_number_stands_for_some_up_to_it(planted):
    X, y = planted
    numbers = MMFSCV(n_features=9, cv=2).fit(X, y).cv_results_["n_features"]
    assert numbers[0] == 1 and numbers[-1] == 9 and len(numbers) >= 7


@pytest.mark.parametrize("quantities", [False, True])
@pytest.mark.parametrize("cv", [4, None])
def test_groups_are_not_torn_apart(planted, quantities, cv):
    X, y = planted
    y = X[:, 0] if quantities else y
    groups = np.arange(len(y)) // 7
    seen = []

    def note(estimator, rows, labels):
        seen.append(set(rows[:, 0].tolist()))
        return 0.0

    Z = np.column_stack([groups, X])
    search = MMFSCV(n_features=[Z.shape[1] - 1], cv=cv, scoring=note, selector=MMFS(tol=0.1))
    search.fit(Z, y, groups=groups)
    assert len(seen) == (cv or 5) and sum(map(len, seen)) == len(set(groups.tolist()))


def test_the_largest_number_tried_is_not_taken_in_silence():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 130))
    y = X @ rng.uniform(0.9, 1.1, 130)
    with pytest.warns(UserWarning, match="chosen, 100, is the largest that was tried"):
        MMFSCV(cv=2).fit(X, y)


def test_all_rows_are_scanned_first_once_and_solved_once(planted, monkeypatch):
    """For the search and for what it selects in the end; without `refit`, for the scores alone."""
    X, y = planted
    scanned, scan = [], Columns.first_scan
    monkeypatch.setattr(
        Columns, "first_scan", lambda self, Y: (scanned.append(len(Y)), scan(self, Y))[1]
    )
    options = {"n_features": [2, 6], "cv": 3}
    search = MMFSCV(**options).fit(X, y)
    assert scanned.count(len(y)) == 1 and len(scanned) == 4
    expected = MMFS(search.best_n_features_).fit(X, y)
    assert search.indices_.tolist() == expected.indices_.tolist()
    assert search.best_gamma_ == expected.gamma_

    scores = MMFSCV(refit=False, **options).fit(X, y)
    assert scores.best_n_features_ == search.best_n_features_ and scores.best_gamma_ == "auto"
    for name, values in search.cv_results_.items():
        assert scores.cv_results_[name].tolist() == values.tolist()
    with pytest.raises(NotFittedError):
        scores.transform(X)
    with pytest.raises(ValueError, match="fit_path needs refit=True"):
        scores.fit_path(X, y)
    again = search.set_params(refit=False).fit(X, y)
    assert not hasattr(again, "indices_") and not hasattr(again, "best_selector_")


def test_many_labels_or_a_selector_in_the_wrong_place(planted):
    X, y = planted
    with pytest.raises(ValueError, match=r"no class of y .* say so by task='regression'"):
        MMFSCV().fit(X[:60], np.arange(60) // 3)
    with pytest.raises(ValueError, match=r"pass MMFS\(n_features_to_select=5\) as selector="):
        MMFSCV(MMFS(5)).fit(X, y)


def test_one_score_only(planted):
    with pytest.raises(ValueError, match="chooses by one score"):
        MMFSCV(scoring=["accuracy", "f1"]).fit(*planted)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_warnings_of_the_folds_reach_the_caller(planted, n_jobs):
    selector = MMFS(tol=1e-300, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="gap") as caught:
        MMFSCV(n_features=[2], cv=2, n_jobs=n_jobs, selector=selector).fit(*planted)
    assert all(warning.filename == __file__ for warning in caught)
