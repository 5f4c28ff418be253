"""MMFS as scikit-learn users meet it."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_selection import f_classif, r_regression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mmfs import (
    FCBF,
    FGM,
    GDM,
    MMFS,
    MMFSCV,
    MRMR,
    QPFS,
    SVMRFE,
    MaxRel,
    StabilitySelector,
    compare,
    validation,
)
from mmfs.datasets import make_planted
from mmfs.kernels import RBF
from mmfs.warn import ChanceWarning

VARIANTS = [
    MMFS(),
    MMFS(1),
    MMFS(0.5, gamma=0.1),
    MMFS(kernel="linear", C=np.inf),
    MMFS(kernel="poly2", center=False),
    MMFS(kernel=RBF(0.5)),
    MMFS(formulation="constrained"),
    MMFS(relevance="mutual_info"),
    MMFS(relevance="binned_mutual_info", n_jobs=2),
    MMFS(solver="dcd"),
    MMFS(solver="qp"),
]


# What looks at rows or states in ways of its own refuses weights, in one sentence.
WITHOUT_WEIGHTS = {
    f"check_sample_{name}": "takes neither weights nor covariates"
    for name in (
        "weights_pandas_series", "weights_not_an_array", "weights_list", "weights_shape",
        "weights_not_overwritten", "weight_equivalence_on_dense_data",
        "weight_equivalence_on_sparse_data",
    )
}  # fmt: skip


def refused_by(estimator):
    plain = estimator.relevance == "correlation" and estimator.solver != "dcd"
    return {} if plain else WITHOUT_WEIGHTS


@pytest.mark.filterwarnings("ignore:No features were selected")  # some checks use pure noise
@parametrize_with_checks(VARIANTS, expected_failed_checks=refused_by, xfail_strict=True)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_fitted_attributes(small):
    X, y = small
    selector = MMFS(6).fit(X, y)
    assert selector.indices_.shape == (6,)
    assert np.array_equal(np.flatnonzero(selector.support_), np.sort(selector.indices_))
    G = selector.redundancy_ + selector.b_ - selector.relevance_
    np.testing.assert_allclose(selector.gradient_, G)
    np.testing.assert_allclose(selector.b_, selector.gamma_ * selector.alpha_.sum())
    assert selector.n_constant_ == 1 and selector.n_duplicate_ == 2
    assert selector.n_scans_ >= 2 and 0 <= selector.gap_ <= selector.tol


def test_rank_is_by_weight_then_gradient_then_index(small):
    X, y = small
    selector = MMFS(37, gamma=0.5).fit(X, y)  # far more than the support
    alpha, G = selector.alpha_[selector.indices_], selector.gradient_[selector.indices_]
    support = np.count_nonzero(alpha)
    assert 1 < support < 20
    assert (np.diff(alpha) <= 0).all()
    assert (np.diff(G[support:]) >= 0).all()
    alike = np.kron(np.eye(4), np.ones((3, 1)))  # four columns with equal claims
    assert MMFS(4).fit(alike, [2.0, 1, 0] * 4).indices_.tolist() == [0, 1, 2, 3]
    ties = MMFS(5, gamma=0.5, C=1e-3).fit(X, y)  # all at C: the gradient decides
    assert (ties.alpha_[ties.indices_] == 1e-3).all()
    assert (np.diff(ties.gradient_[ties.indices_]) >= 0).all()


@pytest.mark.parametrize("kernel", ["aligned", "linear", "poly2", "rbf"])
def test_exactly_k_columns_come_back(small, kernel):
    X, y = small
    for k in range(1, 40):
        indices = MMFS(k, kernel=kernel).fit(X, y).indices_
        assert len(set(indices.tolist())) == k
        assert 12 not in indices  # constant
    assert len(MMFS(0.25).fit(X, y).indices_) == 10
    assert len(MMFS(1.0).fit(X, y).indices_) == 39


def test_copies_stand_behind_the_first_and_come_last(small):
    X, y = small  # 10 is a copy of 0, 11 mirrors 1
    assert set(MMFS(39).fit(X, y).indices_[-2:]) == {10, 11}
    for gamma in (1e-3, 0.1):
        alpha = MMFS(gamma=gamma, kernel="poly2").fit(X, y).alpha_
        assert alpha[10] == alpha[11] == 0 < min(alpha[0], alpha[1])
    # To the linear kernel a mirror image is another column.
    assert MMFS(39, kernel="linear").fit(X, y).indices_[-1] == 10
    # With finite C a copy does not double what the pair may weigh.
    assert MMFS(gamma=0.01, C=0.05).fit(X, y).alpha_[[0, 10]].tolist() == [0.05, 0]


def test_linear_prefers_mirror_images_and_the_others_do_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 30))
    y = X[:, :5].sum(axis=1)
    X = np.hstack([X, -X[:, :5] + 0.01 * rng.standard_normal((300, 5))])
    taken = {
        kernel: set(MMFS(5, kernel=kernel, gamma=0.01).fit(X, y).indices_)
        for kernel in ("linear", "aligned", "poly2")
    }
    pairs = {kernel: sum({j, j + 30} <= J for j in range(5)) for kernel, J in taken.items()}
    assert pairs == {"linear": 2, "aligned": 0, "poly2": 0}
    assert all({j % 30 for j in taken[k]} == set(range(5)) for k in ("aligned", "poly2"))


def test_orthogonal_columns_rank_by_relevance_alone():
    X = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 20)))[0]
    X = np.linalg.qr(X - X.mean(axis=0))[0]
    y = X @ np.linspace(1, 2, 20)
    r = np.abs(r_regression(X, y))
    for kernel in ("aligned", "linear", "poly2"):
        selector = MMFS(20, kernel=kernel, gamma=0.3, C=np.inf, tol=1e-10).fit(X, y)
        assert selector.indices_.tolist() == np.argsort(-r).tolist()
        np.testing.assert_allclose(
            selector.alpha_, np.maximum(r - selector.b_, 0), atol=1e-8
        )  # closed form


@given(st.integers(0, 1000), st.sampled_from(["aligned", "poly2", "linear"]), st.booleans())
def test_order_and_scale_do_not_matter(seed, kernel, sparse):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 12)) * (rng.random((30, 12)) < 0.7)
    y = rng.standard_normal(30)
    rows, columns = rng.permutation(30), rng.permutation(12)
    scale = rng.uniform(0.01, 100, 12)
    options = {"kernel": kernel, "gamma": 0.1, "tol": 1e-10}
    store = sp.csc_array if sparse else np.asarray
    alpha = MMFS(**options).fit(store(X), y).alpha_
    other = MMFS(**options, random_state=seed).fit(store((X * scale)[rows][:, columns]), y[rows])
    np.testing.assert_allclose(other.alpha_, alpha[columns], atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_columns_unrelated_to_the_target_point_nowhere(classes):
    """Exactly uncorrelated columns: rounding must not decide their direction."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), 24 // classes)
    X = np.column_stack(
        [np.concatenate([rng.permutation([0.0, 1] * (12 // classes)) for _ in range(classes)])]
        + [rng.integers(0, 2, 24) for _ in range(12)]
    )
    for _ in range(20):
        rows = rng.permutation(24)
        a = MMFS(gamma=1e-3, tol=1e-8).fit(X, y)
        b = MMFS(gamma=1e-3, tol=1e-8).fit(X[rows], y[rows])
        np.testing.assert_allclose(a.alpha_, b.alpha_, atol=1e-6)


def test_multi_class_finds_what_tells_each_class():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 400)
    X = rng.standard_normal((400, 100))
    for c in range(4):
        X[y == c, c] += 1.5
    X[:, 10:14] = X[:, :4] + 0.1 * rng.standard_normal((400, 4))
    chosen = MMFS(4).fit(X, np.array(["oak", "ash", "elm", "fir"])[y]).indices_
    assert {j % 10 for j in chosen} == {0, 1, 2, 3}


def test_precomputed_similarities(small):
    X, y = small
    X = np.delete(X, [10, 11, 12], axis=1)
    data = MMFS(5, kernel="poly2", rank="alpha", tol=1e-8).fit(X, y)
    Q, r = np.corrcoef(X.T) ** 2, data.relevance_
    given_q = MMFS(5, kernel="precomputed", relevance=r, tol=1e-8).fit(Q)
    assert given_q.indices_.tolist() == data.indices_.tolist()
    np.testing.assert_allclose(given_q.alpha_, data.alpha_, atol=1e-6)
    assert given_q.transform(X).shape == (120, 5)


def test_data_frames_keep_their_names(small):
    X, y = small
    names = [f"gene {j}" for j in range(40)]
    frame = pd.DataFrame(X, columns=names)
    selector = MMFS(4).fit(frame, pd.Series(y).map({0: "ALL", 1: "AML"}))
    expected = [names[j] for j in np.sort(selector.indices_)]
    assert selector.get_feature_names_out().tolist() == expected
    for container, frames in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        out = clone(selector).set_output(transform=container).fit(frame, y).transform(frame)
        assert isinstance(out, frames) and list(out.columns) == expected
    from_polars = MMFS(4).fit(pl.DataFrame(X, schema=names), pl.Series(y))
    assert from_polars.indices_.tolist() == selector.indices_.tolist()
    assert from_polars.feature_names_in_.tolist() == names


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csc_matrix, sp.csr_array, sp.coo_array])
def test_sparse_input_and_output(small, kind):
    X, y = small
    X = np.where(np.abs(X) > 2, X, 0)
    S = kind(X)
    selector = MMFS(5).fit(S, y)
    assert selector.indices_.tolist() == MMFS(5).fit(X, y).indices_.tolist()
    out = selector.transform(S)
    assert sp.issparse(out) and (S.format != "csc" or out.format == "csc")
    np.testing.assert_array_equal(out.toarray(), X[:, np.sort(selector.indices_)])
    back = selector.inverse_transform(out).toarray()
    np.testing.assert_array_equal(back[:, selector.support_], X[:, selector.support_])


@pytest.mark.slow
def test_pipeline_grid_search_clone_and_pickle(small):
    X, y = small
    pipeline = make_pipeline(StandardScaler(), MMFS(), LogisticRegression())
    grid = {"mmfs__n_features_to_select": [2, 5], "mmfs__gamma": ["auto", 0.1]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=2).fit(X, y)
    assert search.best_score_ > 0.7
    selector = search.best_estimator_["mmfs"]
    copy = pickle.loads(pickle.dumps(selector))
    assert copy.indices_.tolist() == selector.indices_.tolist()
    np.testing.assert_array_equal(copy.alpha_, selector.alpha_)
    assert not hasattr(clone(selector), "indices_")
    weighted = clone(selector).fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_array_equal(weighted.indices_, selector.indices_)


@pytest.mark.slow
def test_a_selector_fitted_on_ten_million_columns_is_small():
    rng = np.random.default_rng(0)
    n = 10_000_000
    rows = rng.integers(0, 50, n).astype(np.int32)
    X = sp.csc_array((np.ones(n), rows, np.arange(n + 1)), shape=(50, n))
    y = rng.integers(0, 2, 50)
    selector = MMFS(20).fit(X, y)
    assert len(pickle.dumps(selector)) < 100_000
    assert selector.n_duplicate_ > 0 and len(set(rows[selector.indices_])) == 20
    more = MMFS(60).fit(X, y).indices_  # than there are distinct columns
    assert len(set(more)) == 60 and len(set(rows[more[:50]])) == 50
    assert selector.alpha_.shape == (n,)
    with pytest.raises(AttributeError, match=r"relevance_ was not kept.*keep_scores=True"):
        _ = selector.relevance_


def test_scores_are_kept_when_asked(small):
    X, y = small
    assert MMFS(keep_scores=True).fit(X, y).relevance_.shape == (40,)
    assert not hasattr(MMFS(keep_scores=False).fit(X, y), "redundancy_")


def test_the_fitted_object_does_not_hold_the_data(small):
    X, y = small
    wide = np.hstack([X, np.random.default_rng(0).standard_normal((120, 5000))])
    assert len(pickle.dumps(MMFS(5).fit(wide, y))) < wide.nbytes / 10


def test_same_seed_same_answer_whatever_the_threads(small):
    X, y = small
    fits = [MMFS(8, n_jobs=n, random_state=s).fit(X, y) for n, s in ((1, 0), (2, 0), (1, 5))]
    np.testing.assert_array_equal(fits[0].alpha_, fits[1].alpha_)
    assert fits[0].indices_.tolist() == fits[2].indices_.tolist()


def test_irrelevant_target_still_gives_k_columns():
    X = np.array([[1, 1.0], [1, -1], [-1, 1], [-1, -1]])
    y = X[:, 0] * X[:, 1]  # no correlation with either
    selector = MMFS(2).fit(X, y)
    assert selector.indices_.tolist() == [0, 1]
    assert selector.alpha_.max() < 1e-12 and selector.gap_ <= selector.tol
    wide = MMFS(5, relevance=np.zeros(300)).fit(
        np.random.default_rng(0).random((20, 300)), [0, 1] * 10
    )
    assert wide.n_iter_ == 1 and wide.indices_.tolist() == [0, 1, 2, 3, 4]


def test_verbose_reports_on_stderr(small, capsys):
    MMFS(3, verbose=1).fit(*small)
    captured = capsys.readouterr()
    assert "round 1, 37 columns, relative gap" in captured.err and captured.out == ""


def test_equal_claims_are_settled_by_position_whatever_the_storage():
    """Binary columns tie often: solver precision must not decide among them."""
    for seed in range(60, 100):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(10, 60))
        X = (rng.random((n_rows, 30)) < 0.2) * 1.0
        y = np.arange(n_rows) % 2
        dense, sparse = MMFS(1).fit(X, y), MMFS(1).fit(sp.csr_array(X), y)
        assert dense.indices_.tolist() == sparse.indices_.tolist(), seed
    X = np.random.default_rng(0).standard_normal((80, 60))
    y = np.random.default_rng(1).standard_normal(80)
    first = {
        MMFS(1, kernel="linear", random_state=s).fit(np.hstack([X, -X]), y).indices_[0]
        for s in range(8)
    }
    assert len(first) == 1 and first < set(range(60))


def test_targets_of_any_size():
    X = np.random.default_rng(0).standard_normal((50, 10))
    for scale in (1e300, 1e-300, -1e-200):
        assert MMFS(1).fit(X, scale * X[:, 4]).indices_.tolist() == [4]


EXCLUSIVE_OR = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, dtype=float)


@pytest.mark.parametrize(
    ("X", "y", "options"),
    [
        (EXCLUSIVE_OR, [0, 1, 1, 0] * 10, {}),
        (EXCLUSIVE_OR, [0, 1, 1, 0] * 10, {"kernel": "linear"}),
        (EXCLUSIVE_OR, [0, 1, 1, 0] * 10, {"relevance": "binned_mutual_info"}),
        (EXCLUSIVE_OR, np.arange(40) % 3, {"relevance": np.zeros(2)}),
        (EXCLUSIVE_OR, np.arange(40) % 3, {"formulation": "constrained"}),
        (np.eye(3), None, {"kernel": "precomputed", "relevance": [0.1, 0.2, 0.1]}),
        (np.eye(3), None, {"kernel": "precomputed", "relevance": np.zeros(3)}),
    ],
)
@pytest.mark.filterwarnings("ignore:similarities do not tell how many")
@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
def test_at_least_one_feature_is_selected(X, y, options, storage):
    if options.get("kernel") == "precomputed":
        storage = np.asarray
    assert len(MMFS(**options).fit(storage(X), y).indices_) >= 1


def test_similarities_alone_do_not_tell_the_level_of_chance():
    """How many instances there were decides it; with a number, or gamma, it is not asked for."""
    Q, r = np.eye(5), np.linspace(0.1, 0.9, 5)
    with pytest.warns(UserWarning, match="similarities do not tell how many instances there were"):
        MMFS(kernel="precomputed", relevance=r).fit(Q)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MMFS(2, kernel="precomputed", relevance=r).fit(Q)
        MMFS(gamma=0.1, kernel="precomputed", relevance=r).fit(Q)


def test_noise_is_called_noise():
    """With permuted labels a warning says so, nearly always; with real ones it does not."""
    X, y, _ = make_planted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MMFS(6).fit(X, y).chance_ < 1e-6
        varies = np.ptp(X, axis=0) > 0
        assert MMFS(6, relevance=f_classif).fit(X[:, varies], y).chance_ < 1e-6
    told = []
    for seed in range(60):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            permuted = np.random.default_rng(seed).permutation(y)
            selector = MMFS(5).fit(sp.csc_array(X) if seed % 2 else X, permuted)
        told.append([w for w in caught if issubclass(w.category, ChanceWarning)] != [])
        assert told[-1] == (selector.chance_ > 0.05)
        assert len(selector.indices_) == 5
    assert sum(told) >= 53  # one in twenty may be missed: more than 7 of 60 have a chance of 1 %


@pytest.mark.slow
@pytest.mark.parametrize("relevance", ["correlation", "binned_mutual_info"])
@pytest.mark.parametrize("classes", [2, 4, None])
def test_the_level_of_chance_is_that_of_random_columns(relevance, classes):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        X = rng.standard_normal((60, 40))
        y = rng.standard_normal(60) if classes is None else rng.permutation(60) % classes
        found.append(MMFS(1, gamma=1.0, relevance=relevance).fit(X, y).chance_)
    assert abs(np.mean(np.array(found) < 0.1) - 0.1) < 0.08  # uniform, about


def test_resampling_does_not_warn_of_noise_in_every_part():
    X, y, _ = make_planted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MMFSCV(n_features=[2, 4], cv=KFold(15)).fit(X[:80], y[:80])
        StabilitySelector(MMFS(4), n_pairs=3, threshold=0.6).fit(X[:60], y[:60])
        compare(X[:60], y[:60], methods=["mmfs", "maxrel"], n_features=[3], cv=3)
    with pytest.warns(ChanceWarning):
        MMFS(4).fit(X, np.random.default_rng(0).permutation(y))


def test_fractions_are_those_of_arithmetic():
    X = np.random.default_rng(0).standard_normal((30, 100))
    y = X[:, 0] > 0
    for hundredths in range(1, 101):
        assert len(MMFS(hundredths / 100, gamma=0.5).fit(X, y).indices_) == hundredths
    assert len(MMFS(1 / 3, gamma=0.5).fit(X[:, :99], y).indices_) == 33


@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("offset", [0, 1e4, 1e6, 1e8])
def test_copies_are_found_far_from_zero(store, offset):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (30, 12)).astype(float)
    X[:, 7], X[:, 9] = -3 * X[:, 3] + 5, 2 * X[:, 3]
    y = X[:, 3] + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(30)
    selector = MMFS(12, C=0.05).fit(store(X + offset), y)
    assert selector.n_duplicate_ == 2 and set(selector.indices_[-2:]) == {7, 9}
    assert selector.alpha_[[3, 7, 9]].tolist() == [0.05, 0, 0]


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        (MMFS(3), "relevance_"), (MMFS(3), "gradient_"), (MaxRel(3), "scores_"),
        (MRMR(3), "scores_"), (FCBF(), "scores_"), (QPFS(3), "scores_"), (FGM(2), "scores_"),
        (GDM(2), "scores_"), (SVMRFE(3), "scores_"),
    ],
    ids=str,
)  # fmt: skip
def test_what_has_a_value_for_every_column_is_kept_by_one_rule(selector, name, monkeypatch):
    X, y, _ = make_planted()
    expected = getattr(clone(selector).fit(X, y), name)
    monkeypatch.setattr(validation, "KEPT_COLUMNS", X.shape[1] - 1)
    small = clone(selector).fit(X, y)
    with pytest.raises(AttributeError, match=rf"{name} was not kept for 53 columns; fit with keep"):
        getattr(small, name)
    assert not hasattr(small, name) and not hasattr(clone(selector), name)
    large = clone(selector).set_params(keep_scores=True).fit(X, y)
    np.testing.assert_array_equal(getattr(large, name), expected)
