"""Weights, holes, covariates, features that must be in: each against what it means, by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from mmfs import (
    MMFS,
    MMFSCV,
    MMFSIC,
    KnockoffSelector,
    StabilitySelector,
    compare,
    mmfs_path,
)
from mmfs.per_row import effective_rows
from tests.elsewhere import ELSEWHERE

PLACES = {
    "array": np.asarray,
    "columns in memory order": np.asfortranarray,
    "csc": sp.csc_array,
    "csr": sp.csr_array,
    **ELSEWHERE,
}
TARGETS = ("two classes", "four classes", "quantity", "two quantities")
N_ROWS, N_COLUMNS = 60, 15
ATOL = 1e-10


def example(seed=0, holes=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, N_COLUMNS)) * (rng.random((N_ROWS, N_COLUMNS)) < 0.6)
    X[:, 1] = 3.0  # constant, every entry stored
    X[:, 2] = rng.standard_normal(N_ROWS) + 1e4  # far from zero
    X[:, 9] = 0.7 * X[:, 4] + 0.3 * rng.standard_normal(N_ROWS)
    if holes:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[:, 7] = np.nan
        X[0, 2] = np.nan
    return X, rng


def target(kind, X, rng):
    signal = np.nan_to_num(X[:, 4]) - np.nan_to_num(X[:, 5]) + rng.standard_normal(len(X)) / 2
    if kind == "two classes":
        return signal > 0
    if kind == "four classes":
        return np.array(list("abcd"))[np.digitize(signal, [-1, 0, 1])]
    return signal if kind == "quantity" else np.column_stack([signal, np.nan_to_num(X[:, 6])])


def same(a, b, atol=ATOL):
    assert a.indices_.tolist() == b.indices_.tolist()
    np.testing.assert_allclose(a.weights_, b.weights_, atol=atol)
    np.testing.assert_allclose(a.relevance_, b.relevance_, atol=atol)
    assert a.gamma_ == pytest.approx(b.gamma_, abs=atol)


def fit(X, y, *, k=5, **how):
    given = {name: how.pop(name) for name in ("sample_weight", "covariates") if name in how}
    return MMFS(k, keep_scores=True, **how).fit(X, y, **given)


# --- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("place", PLACES)
def test_whole_number_weights_are_repeated_rows(place, kind):
    X, rng = example()
    y, weights = target(kind, X, rng), rng.integers(0, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), weights)
    weighted = fit(PLACES[place](X), y, sample_weight=weights)
    same(weighted, fit(X[rows], y[rows]))
    assert weighted.gap_ <= 1e-4


@given(st.integers(0, 10**6), st.sampled_from(["aligned", "linear", "poly2", "rbf"]),
       st.sampled_from([*PLACES]), st.sampled_from([5, None]))  # fmt: skip
@settings(max_examples=25)
def test_weights_of_any_kernel_and_number(seed, kernel, place, k):
    X, rng = example(seed)
    y, weights = target("two classes", X, rng), rng.integers(0, 3, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), weights)
    options = {"kernel": kernel, "k": k, "rank": "alpha"}
    same(
        fit(PLACES[place](X), y, sample_weight=weights, **options), fit(X[rows], y[rows], **options)
    )


@pytest.mark.parametrize("options", [{"center": False}, {"formulation": "constrained"}])
def test_weights_beside_other_options(options):
    X, rng = example()
    y, weights = target("two classes", X, rng), rng.integers(0, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), weights)
    same(fit(X, y, sample_weight=weights, **options), fit(X[rows], y[rows], **options))


@pytest.mark.parametrize("place", PLACES)
def test_a_weight_of_zero_leaves_a_row_out(place):
    X, rng = example()
    y, weights = target("four classes", X, rng), rng.uniform(0.5, 2, N_ROWS)
    weights[rng.random(N_ROWS) < 0.3] = 0.0
    rows = np.flatnonzero(weights)
    weighted = fit(PLACES[place](X), y, sample_weight=weights)
    same(weighted, fit(X[rows], y[rows], sample_weight=weights[rows]))


def test_the_scale_of_weights_does_not_matter_unless_they_count():
    X, rng = example()
    y, weights = target("two classes", X, rng), rng.uniform(0.5, 2, N_ROWS)
    same(fit(X, y, sample_weight=weights), fit(X, y, sample_weight=weights * 1e-7))
    assert effective_rows(3, np.array([1.0, 2.0, 3.0])) == 6
    assert effective_rows(3, np.array([1.5, 3.0, 4.5])) == pytest.approx(36 / 14)
    for factor in (1e18, 1e150, 1e-150):
        same(fit(X, y, sample_weight=weights), fit(X, y, sample_weight=weights * factor))
    counted = effective_rows(3, np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 1.0]))
    assert counted == pytest.approx(7**2 / 9)


def test_class_weights_are_weights_of_rows():
    X, rng = example()
    y = target("four classes", X, rng)
    classes, sizes = np.unique(y, return_counts=True)
    each = dict(zip(classes, N_ROWS / len(classes) / sizes, strict=True))
    by_hand = np.array([each[label] for label in y])
    balanced = fit(X, y, class_weight="balanced", gamma=0.1)
    same(balanced, fit(X, y, sample_weight=by_hand, gamma=0.1))
    same(fit(X, y, class_weight=each, gamma=0.1), balanced)
    weights = rng.uniform(0.5, 2, N_ROWS)
    both = fit(X, y, sample_weight=weights, class_weight={"a": 2.5}, gamma=0.1)
    times = np.where(y == "a", 2.5, 1.0)
    same(both, fit(X, y, sample_weight=weights * times, gamma=0.1))


BAD_WEIGHTS = [
    (np.ones((N_ROWS, 1)), "1D"),
    (np.ones(N_ROWS - 1), "sample_weight has 59 rows, but X has 60"),
    (-np.ones(N_ROWS), "must not be negative, and finite, but is -1 in row 0"),
    (np.full(N_ROWS, np.nan), "finite, but is nan in row 0"),
    (np.zeros(N_ROWS), "zero in every row"),
    (["a"] * N_ROWS, "must hold a number for every row"),
    (np.arange(N_ROWS) < 1, "y is the same in all rows that have a weight"),
]


@pytest.mark.parametrize(("weights", "sentence"), BAD_WEIGHTS)
def test_bad_weights(weights, sentence):
    X, rng = example()
    with pytest.raises(ValueError, match=sentence):
        MMFS(2).fit(X, target("two classes", X, rng), sample_weight=weights)


def test_class_weights_beside_counts_of_rows():
    X, rng = example()
    y, weights = target("four classes", X, rng), rng.integers(0, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), weights)
    balanced = fit(X, y, sample_weight=weights, class_weight="balanced")
    again = fit(X[rows], y[rows], class_weight="balanced")
    same(balanced, again)
    assert balanced.chance_ <= 0.05 and again.chance_ <= 0.05
    flags = y == "a"
    same(
        fit(X, flags, class_weight={0: 1, 1: 5}),
        fit(X, flags + 0.0, class_weight={False: 1, 1.0: 5}),
    )


def test_rows_without_weight_may_hold_anything_finite():
    X, rng = example()
    y, weights = target("quantity", X, rng), rng.uniform(0.5, 2, N_ROWS)
    weights[:3] = 0.0
    wild = X.copy()
    wild[:3] = 1e8
    batch = np.where(np.arange(N_ROWS) < 3, "gone", rng.choice(["a", "b"], N_ROWS))
    for place in PLACES:
        found = fit(PLACES[place](wild), y, sample_weight=weights, covariates=batch)
        known = fit(X[3:], y[3:], sample_weight=weights[3:], covariates=batch[3:])
        same(found, known, atol=1e-9)


def test_noise_is_noise_with_weights_and_covariates_too():
    """Columns that hang on two rows, and a target with long tails: the F test alone is sure."""
    plain, weighted, adjusted = 0, 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.zeros((60, 200))
        for column in X.T:
            column[rng.choice(60, 2, replace=False)] = 1
        y = np.exp(3 * rng.standard_normal(60))
        plain += MMFS(3).fit(X, y).chance_ <= 0.05
        weights = rng.uniform(0.5, 2, 60)
        weighted += MMFS(3).fit(X, y, sample_weight=weights).chance_ <= 0.05
        adjusted += MMFS(3).fit(X, y, covariates=rng.standard_normal(60)).chance_ <= 0.05
    assert max(plain, weighted, adjusted) <= 3


def test_names_reach_the_parts_of_the_rows():
    X, rng = example()
    frame = pd.DataFrame(X).add_prefix("g")
    y = target("two classes", X, rng)
    options = {
        "must_include": ["g3"], "exclude": ["g5", "g1*"], "feature_groups": {"k": ["g6", "g8"]},
        "costs": dict.fromkeys(frame.columns, 1.0),
    }  # fmt: skip
    selector = MMFS(**options)
    search = MMFSCV(n_features=[2, 3], cv=3, selector=selector).fit(frame, y)
    stable = StabilitySelector(selector, n_pairs=3, n_features_per_half=3, threshold=0.9)
    stable.fit(frame, y)
    for chosen in (search, stable):
        assert chosen.indices_[0] == 3 and not set(chosen.indices_) & {5, 1, 10}
    assert compare(frame, y, selector=selector, n_features=[3], methods=["mmfs"]).scores
    few, rest = ["g3", "g4", "g6"], [name for name in frame if name not in ("g3", "g4", "g6")]
    alone = StabilitySelector(MMFS(1), n_pairs=3, threshold=0.7).fit(frame[few], y)
    beside = StabilitySelector(MMFS(1, exclude=rest), n_pairs=3, threshold=0.7).fit(frame, y)
    assert beside.false_bound_ == alone.false_bound_


def test_class_weights_that_fit_no_class():
    X, rng = example()
    with pytest.raises(ValueError, match="class_weight='balanced' is for classes"):
        MMFS(2, class_weight="balanced").fit(X, target("quantity", X, rng))
    with pytest.raises(ValueError, match="class_weight names 'z', which is no class of y"):
        MMFS(2, class_weight={"z": 1}).fit(X, target("four classes", X, rng))
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced', or a dict"):
        MMFS(2, class_weight="even").fit(X, target("four classes", X, rng))


def test_routing_brings_weights_through_a_pipeline():
    import sklearn
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    X, rng = example()
    y, weights = target("two classes", X, rng), rng.integers(0, 4, N_ROWS).astype(float)
    Z = rng.standard_normal((N_ROWS, 1))
    with sklearn.config_context(enable_metadata_routing=True):
        selector = MMFS(3).set_fit_request(sample_weight=True, covariates=True)
        judge = LogisticRegression().set_fit_request(sample_weight=True)
        judge = judge.set_score_request(sample_weight=True)
        grid = {"mmfs__n_features_to_select": [2, 4]}
        search = GridSearchCV(make_pipeline(selector, judge), grid, cv=3)
        search.fit(X, y, sample_weight=weights, covariates=Z)
    k = search.best_params_["mmfs__n_features_to_select"]
    alone = MMFS(k).fit(X, y, sample_weight=weights, covariates=Z)
    assert search.best_estimator_["mmfs"].indices_.tolist() == alone.indices_.tolist()


# --- missing values ------------------------------------------------------------------------------


def filled(X, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    out = X.copy()
    for column in out.T:
        there = ~np.isnan(column)
        column[~there] = np.average(column[there], weights=weights[there]) if there.any() else 0.0
    return out


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("place", PLACES)
def test_missing_values_are_the_mean_of_what_is_there(place, kind):
    X, rng = example(holes=True)
    y = target(kind, X, rng)
    found = fit(PLACES[place](X), y)
    same(found, fit(filled(X), y), atol=1e-9)
    assert found.n_missing_ == np.isnan(X).sum()
    assert not found.support_[7] and found.gap_ <= 1e-4


@given(st.integers(0, 10**6), st.sampled_from([*PLACES]), st.booleans())
@settings(max_examples=25)
def test_missing_values_beside_weights_and_covariates(seed, place, covariates):
    X, rng = example(seed, holes=True)
    y, weights = target("two classes", X, rng), rng.uniform(0.2, 2, N_ROWS)
    how = {"sample_weight": weights}
    if covariates:
        how["covariates"] = rng.standard_normal((N_ROWS, 2))
    same(fit(PLACES[place](X), y, **how), fit(filled(X, weights), y, **how), atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "poly2", "rbf"])
@pytest.mark.parametrize("place", ["array", "csc", "csr", "store"])
def test_missing_values_under_other_kernels(place, kernel):
    X, rng = example(holes=True)
    y = target("two classes", X, rng)
    options = {"kernel": kernel, "rank": "path"}
    same(fit(PLACES[place](X), y, **options), fit(filled(X), y, **options), atol=1e-8)


@pytest.mark.parametrize("form", [sp.csc_array, sp.csr_array, np.asarray])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_hole_in_the_first_row_of_a_column_far_from_zero(form, offset):
    X, rng = example()
    X += offset
    X[:3, :5] = np.nan
    y = target("quantity", X - offset, rng)
    mean = np.nanmean(X.astype(np.longdouble), axis=0)
    F = np.where(np.isnan(X), 0, X - mean)
    norms = np.sqrt((F**2).sum(axis=0))
    yc = (y - y.mean()).astype(np.longdouble)
    expected = np.abs(F.T @ yc) / np.where(norms > 0, norms, 1) / np.sqrt(yc @ yc)
    expected[np.ptp(np.nan_to_num(X, nan=X[5, 0]), axis=0) == 0] = 0.0
    found = MMFS(3).fit(form(X), y)
    np.testing.assert_allclose(
        found.relevance_[[0, 2, 3, 4, 5]], expected[[0, 2, 3, 4, 5]].astype(float), atol=1e-9
    )


def test_transform_leaves_holes_as_they_are():
    X, rng = example(holes=True)
    selector = MMFS(4).fit(X, target("two classes", X, rng))
    np.testing.assert_array_equal(selector.transform(X), X[:, np.sort(selector.indices_)])
    sparse = selector.transform(sp.csc_array(X))
    np.testing.assert_array_equal(sparse.toarray(), X[:, np.sort(selector.indices_)])


def test_what_takes_no_missing_values_says_so():
    X, rng = example(holes=True)
    y = target("two classes", X, rng)
    for options in ({"solver": "dcd"}, {"kernel": "hsic"}, {"relevance": "binned_mutual_info"}):
        with pytest.raises(ValueError, match=r"takes no missing values \(NaN\); impute them"):
            MMFS(3, **options).fit(X, y)
    with pytest.raises(ValueError, match="X has NaN in row"):
        MMFS(3, center=False).fit(X, y)


# --- covariates ----------------------------------------------------------------------------------


def residuals(X, Z, weights):
    root = np.sqrt(weights)[:, None]
    Z, X = root * np.column_stack([np.ones(len(X)), Z]), root * X
    return X - Z @ np.linalg.lstsq(Z, X, rcond=None)[0]


def partial_correlations(X, y, Z, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    F, e = residuals(X, Z, weights), residuals(y[:, None], Z, weights)[:, 0]
    norms = np.linalg.norm(F, axis=0)
    constant = norms <= 1e-6 * np.linalg.norm(np.sqrt(weights)[:, None] * X, axis=0)
    r = np.abs(F.T @ e) / np.where(constant, np.inf, norms) / np.linalg.norm(e)
    return r, constant


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_relevances_are_partial_correlations(place, weighted):
    X, rng = example()
    y, Z = target("quantity", X, rng), rng.standard_normal((N_ROWS, 3))
    X[:, 3] = 2 * Z[:, 0] - 7
    weights = rng.uniform(0.2, 2, N_ROWS) if weighted else None
    found = fit(PLACES[place](X), y, covariates=Z, sample_weight=weights)
    expected, constant = partial_correlations(X, y, Z, weights)
    np.testing.assert_allclose(found.relevance_, expected, atol=ATOL)
    assert found.n_constant_ == constant.sum() == 2
    assert not found.support_[3]


@pytest.mark.parametrize("kind", TARGETS)
def test_covariates_leave_the_residuals_of_everything(kind):
    """As if X and y had been replaced by their residuals, with as many rows less."""
    X, rng = example()
    Z = rng.standard_normal((N_ROWS, 2))
    y = target(kind, X, rng)
    found = fit(X, y, covariates=Z, gamma=0.2, rank="alpha")
    F = residuals(X, Z, np.ones(N_ROWS))
    F[:, 1] = 0.0
    Y = y.astype(float) if y.dtype.kind != "U" else (y[:, None] == np.unique(y)).astype(float)
    E = residuals(Y.reshape(N_ROWS, -1), Z, np.ones(N_ROWS))
    by_hand = MMFS(5, gamma=0.2, rank="alpha", task="regression").fit(F, E)
    assert found.indices_.tolist() == by_hand.indices_.tolist()
    np.testing.assert_allclose(found.alpha_, by_hand.alpha_, atol=1e-8)


def test_covariates_may_be_categories_and_frames():
    X, rng = example()
    y, batch = target("quantity", X, rng), rng.choice(list("uvw"), N_ROWS)
    age = rng.standard_normal(N_ROWS)
    dummies = (batch[:, None] == np.array(list("uvw"))).astype(float)
    by_hand = fit(X, y, covariates=np.column_stack([age, dummies]))
    frame = pd.DataFrame({"age": age, "batch": batch})
    same(fit(X, y, covariates=frame), by_hand)
    same(fit(X, y, covariates=frame.assign(batch=frame["batch"].astype("category"))), by_hand)
    alone = fit(X, y, covariates=dummies)
    same(fit(X, y, covariates=pd.Series(batch)), alone)
    same(fit(X, y, covariates=batch), alone)
    indexed = pd.DataFrame(X, index=[f"p{i}" for i in range(N_ROWS)])
    shuffled = frame.set_index(indexed.index).iloc[::-1]
    assert fit(indexed, y, covariates=shuffled).indices_.tolist() == by_hand.indices_.tolist()


BAD_COVARIATES = [
    (np.ones((N_ROWS - 1, 2)), "covariates has 59 rows, but X has 60"),
    (pd.DataFrame({"age": [np.nan] * N_ROWS}), "covariate 'age' has no number in row 0; fill it"),
    (pd.DataFrame({"who": [f"p{i}" for i in range(N_ROWS)]}), "'who' has 60 different values"),
    (pd.DataFrame({"day": pd.date_range("2026-01-01", periods=N_ROWS)}), "'day' holds dates"),
    (pd.DataFrame(index=range(N_ROWS)), "covariates have no columns"),
    (np.eye(N_ROWS)[:, 1:], "explain all of y"),
]


@pytest.mark.parametrize(("covariates", "sentence"), BAD_COVARIATES)
def test_bad_covariates(covariates, sentence):
    X, rng = example()
    with pytest.raises(ValueError, match=sentence):
        MMFS(2).fit(X, target("quantity", X, rng), covariates=covariates)


def test_covariates_that_explain_the_target():
    X, rng = example()
    y = target("quantity", X, rng)
    with pytest.raises(ValueError, match="explain all of y"):
        MMFS(2).fit(X, y, covariates=np.column_stack([y, X[:, 0]]))
    with pytest.raises(ValueError, match=r"leave .* of the 60 rows to select from"):
        MMFS(2).fit(X, y, covariates=rng.standard_normal((N_ROWS, 58)))
    with pytest.raises(ValueError, match="take the mean out too; leave center=True"):
        MMFS(2, center=False).fit(X, y, covariates=X[:, 0])


# --- features that must be in, or must not -------------------------------------------------------


@pytest.mark.parametrize("place", PLACES)
def test_features_that_must_be_in_are_covariates_of_the_others(place):
    X, rng = example(holes=True)
    y = target("quantity", X, rng)
    found = fit(PLACES[place](X), y, must_include=[6, 0])
    known = filled(X)
    beside = fit(known, y, k=3, covariates=known[:, [6, 0]])
    assert found.indices_[:2].tolist() == [6, 0]
    assert found.indices_[2:].tolist() == beside.indices_.tolist()
    np.testing.assert_allclose(found.weights_[2:], beside.weights_, atol=1e-8)
    assert np.isnan(found.weights_[:2]).all()


def test_must_include_counts_within_k():
    X, rng = example()
    y = target("two classes", X, rng)
    assert MMFS(3, must_include=3).fit(X, y).indices_.size == 3
    assert MMFS(2, must_include=[3, 8]).fit(X, y).indices_.tolist() == [3, 8]
    assert MMFS(must_include=[3]).fit(X, y).indices_[0] == 3
    with pytest.raises(ValueError, match="must_include has 3 features, but n_features_to_select=2"):
        MMFS(2, must_include=[3, 8, 9]).fit(X, y)
    with pytest.raises(ValueError, match=r"16 is more than the 14 usable columns \(1 of the 15"):
        MMFS(16, must_include=[3]).fit(X, y)


def test_reasons_name_features_that_must_be_in():
    X, rng = example()
    y = target("quantity", X, rng)
    selector = MMFS(3, must_include=[4]).fit(X, y)
    frame = selector.explain(X, [4, 9])
    assert frame.loc[4, "why"] == "selected: must be in"
    assert next(iter(frame.loc[9, "causes"])) == 4
    assert frame.loc[9, "why"].startswith("redundant with 4")
    r, _ = partial_correlations(X, y, X[:, [4]])
    plain = MMFS(3).fit(X, y).relevance_
    assert frame.loc[9, "relevance"] == pytest.approx(plain[9])
    assert frame.loc[9, "causes"][4] == pytest.approx(plain[9] - r[9], abs=1e-9)


def test_columns_that_are_excluded():
    X, rng = example()
    y = target("two classes", X, rng)
    frame = pd.DataFrame(X, columns=["id", "zip1", "zip2", *(f"g{j}" for j in range(12))])
    frame["id"] = [f"p{i}" for i in range(N_ROWS)]
    frame.loc[3, "zip1"] = np.inf
    selector = MMFS(5, exclude=["id", "zip*"]).fit(frame, y)
    others = frame.drop(columns=["id", "zip1", "zip2"])
    assert selector.get_feature_names_out().tolist() == (
        MMFS(5).fit(others, y).get_feature_names_out().tolist()
    )
    assert selector.n_constant_ == 0
    assert not set(selector.indices_) & {0, 1, 2}
    with pytest.raises(ValueError, match=r"there is no feature 'g33'; did you mean 'g3'"):
        MMFS(2, exclude=["g33"]).fit(others, y)
    with pytest.raises(ValueError, match="'g1' is in must_include and in exclude"):
        MMFS(2, exclude="g1", must_include="g1").fit(others, y)
    with pytest.raises(ValueError, match="no names, so 'g1' is unknown; pass the number"):
        MMFS(2, exclude="g1").fit(X, y)
    with pytest.raises(ValueError, match=r"13 is more than the 12 usable columns \(.*3 are excl"):
        MMFS(13, exclude=["id", "zip*"]).fit(frame, y)


# --- all of it, everywhere -----------------------------------------------------------------------


@pytest.fixture
def everything():
    X, rng = example(3, holes=True)
    X = np.vstack([X, example(4, holes=True)[0]])
    y = target("two classes", X, rng)
    how = {"sample_weight": rng.uniform(0.5, 2, len(y)), "covariates": rng.standard_normal(len(y))}
    return X, y, how


def test_choosers_pass_it_on(everything):
    X, y, how = everything
    for chooser in (MMFSCV(n_features=[2, 3]), MMFSIC()):
        chooser.fit(X, y, **how)
        best = chooser.best_selector_
        again = MMFS(best.n_features_to_select, gamma=best.gamma_).fit(X, y, **how)
        assert set(again.indices_) == set(chooser.indices_)
    assert StabilitySelector(MMFS(3), n_pairs=4).fit(X, y, **how).frequencies_.max() > 0.8
    path = mmfs_path(X, y, **how)
    assert path.gaps.max() < 1e-4
    assert path.order[0] == MMFS(1).fit(X, y, **how).indices_[0]
    result = compare(X, y, methods=["mmfs", "mrmr", "f_test"], n_features=[3], **how)
    assert set(result.scores) == {"mmfs"}
    assert result.problems["mrmr"] == "MRMR takes neither sample_weight nor covariates."
    with pytest.warns(UserWarning, match="no selection has a false discovery rate"):
        assert KnockoffSelector(0.01).fit(X, y, **how).indices_.size == 0


def test_weights_reach_the_estimator_and_its_scores(everything):
    X, y, _ = everything
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    kept = weights > 0
    folds = [(np.flatnonzero(np.arange(len(y)) < 60), np.flatnonzero(np.arange(len(y)) >= 60))]
    place = np.cumsum(kept) - 1
    inside = [tuple(place[rows[kept[rows]]] for rows in fold) for fold in folds]
    weighted = MMFSCV(n_features=[1, 4], cv=folds).fit(X, y, sample_weight=weights)
    left = MMFSCV(n_features=[1, 4], cv=inside).fit(X[kept], y[kept])
    for name in ("mean_test_score", "n_features"):
        np.testing.assert_allclose(weighted.cv_results_[name], left.cv_results_[name], atol=1e-3)

    class NoWeights(LinearRegression):
        def fit(self, X, y):
            return super().fit(X, y)

    with pytest.raises(ValueError, match="NoWeights takes no sample_weight; choose another"):
        MMFSCV(NoWeights(), n_features=2).fit(X, y.astype(float), sample_weight=weights)


def test_stability_leaves_rows_without_weight_out(everything):
    X, y, _ = everything
    weights = np.where(np.arange(len(y)) < 4, 0.0, 1.0)
    wild = X.copy()
    wild[:4] = 1e3 * np.sign(np.random.default_rng(0).standard_normal(wild[:4].shape))
    stable = StabilitySelector(MMFS(3), n_pairs=5)
    found = stable.fit(wild, y, sample_weight=weights).frequencies_
    assert found[4] + found[9] > 0.9
    with pytest.raises(ValueError, match="X has 3 rows that count; halves of them need at least 4"):
        stable.fit(X, y, sample_weight=np.arange(len(y)) < 3)


def test_knockoffs_of_weighted_rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 12))
    y = X[:, :5] @ np.ones(5) + 3 * rng.standard_normal(300)
    weights = rng.integers(0, 3, 300)
    found = KnockoffSelector(0.4, random_state=0).fit(X, y, sample_weight=weights)
    assert np.isin(np.arange(5), found.indices_).sum() >= 4
    with pytest.raises(ValueError, match="knows no must_include; pass the columns"):
        KnockoffSelector(selector=MMFS(must_include=[1])).fit(X, y)
