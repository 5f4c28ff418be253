"""Features of several columns, categories, costs: against explicit projections and QP."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from mmfs import MMFS, MMFSCV, MMFSIC, MRMR, MaxRel, StabilitySelector, compare, mmfs_path
from mmfs.relevance import chance_of_groups, correlation_tail
from tests.conftest import DATA
from tests.elsewhere import ELSEWHERE

PLACES = {"array": np.asarray, "csc": sp.csc_array, "csr": sp.csr_array, **ELSEWHERE}
N_ROWS, N_COLUMNS = 80, 14
GROUPS = {"pair": [3, 4], "three": [5, 6, 7], "copies": [8, 9], "constants": [12, 13]}
OWNER = np.array([0, 1, 2, 3, 3, 4, 4, 4, 5, 5, 6, 7, 8, 8])


def example(seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, N_COLUMNS))
    X[:, 9] = 2 * X[:, 8] + 1
    X[:, 12:] = 4.0
    signal = X[:, 3] - X[:, 4] + X[:, 5] + X[:, 1] + rng.standard_normal(N_ROWS) / 2
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    return X, y, rng


def indicators(y):
    """Orthonormal and centred, as a basis of what classes can tell."""
    member = (y[:, None] == np.unique(y)).astype(float)
    U, s, _ = np.linalg.svd(member - member.mean(axis=0), full_matrices=False)
    return U[:, s > 1e-10]


def explicit(X, y):
    """r and phi of every group, by projectors."""
    Y, F = indicators(y), X - X.mean(axis=0)
    relevance, phi = [], []
    for g in range(OWNER.max() + 1):
        U, s, _ = np.linalg.svd(F[:, OWNER == g], full_matrices=False)
        P = U[:, s > 1e-8] @ U[:, s > 1e-8].T
        told, k = P @ Y, int((s > 1e-8).sum())
        square, q, M = (told**2).sum(), Y.shape[1], len(y)
        adjusted = square if k <= 1 else q - (q - square) * (M - 2) / (M - 1 - k)
        relevance.append(np.sqrt(max(adjusted, 0.0)) if k else 0.0)
        phi.append((told / max(np.sqrt(square), 1e-300)).ravel())
    return np.array(relevance), np.array(phi).T


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("place", PLACES)
def test_groups_are_what_their_columns_explain(place, n_classes):
    X, y, _ = example(n_classes=n_classes)
    found = MMFS(4, feature_groups=GROUPS, gamma=0.3).fit(PLACES[place](X), y)
    r, Phi = explicit(X, y)
    np.testing.assert_allclose(found.relevance_, r[OWNER], atol=1e-9)
    Q = Phi.T @ Phi
    assert np.linalg.eigvalsh(Q)[0] > -1e-10

    def objective(a):
        return a @ Q @ a / 2 + 0.15 * a.sum() ** 2 - r @ a, Q @ a + 0.3 * a.sum() - r

    bounds = [(0, max(1.0, r.max()))] * len(r)
    best = minimize(objective, np.zeros(len(r)), jac=True, bounds=bounds, method="L-BFGS-B",
                    options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 5000})  # fmt: skip
    assert found.objective_ == pytest.approx(best.fun, abs=1e-9)
    np.testing.assert_allclose(found.alpha_, best.x[OWNER], atol=1e-5)
    assert found.gap_ < 1e-8


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.sampled_from([*PLACES]))
@settings(max_examples=20)
def test_groups_of_one_column_change_nothing(seed, n_classes, place):
    X, y, _ = example(seed, n_classes)
    data = PLACES[place](X)
    plain = MMFS(4).fit(data, y)
    grouped = MMFS(4, feature_groups=[[j] for j in range(5)]).fit(data, y)
    assert grouped.indices_.tolist() == plain.indices_.tolist()
    np.testing.assert_allclose(grouped.weights_, plain.weights_, atol=1e-9)
    np.testing.assert_allclose(grouped.relevance_, plain.relevance_, atol=1e-10)
    assert grouped.chance_ == pytest.approx(plain.chance_, abs=1e-6) or plain.chance_ > 0.01


def test_all_columns_of_a_group_are_kept_or_dropped():
    X, y, _ = example()
    selector = MMFS(2, feature_groups=GROUPS).fit(X, y)
    assert selector.selected_groups_ == ["three", "pair"]
    assert selector.indices_.tolist() == [5, 6, 7, 3, 4]
    assert selector.transform(X).shape == (N_ROWS, 5)
    assert len(selector.weights_) == 2
    assert selector.feature_groups_["copies"].tolist() == [8, 9]
    assert list(selector.feature_groups_)[:5] == [0, 1, 2, "pair", "three"]
    assert selector.n_constant_ == 1
    assert MMFS(8, feature_groups=GROUPS).fit(X, y).indices_.size == 12
    with pytest.raises(ValueError, match=r"9 is more than the 8 usable columns \(1 of the 9 are"):
        MMFS(9, feature_groups=GROUPS).fit(X, y)


def test_a_group_is_left_out_by_its_name_in_parts_of_the_rows_too():
    X, y, _ = example()
    frame = pd.DataFrame(X).add_prefix("g")
    selector = MMFS(feature_groups={"pair": ["g3", "g4"]}, exclude=["pair"], must_include=["g1"])
    for chooser in (
        MMFSCV(n_features=[2, 3], cv=3, selector=selector),
        StabilitySelector(selector, n_pairs=3, n_features_per_half=3, threshold=0.6),
    ):
        chosen = chooser.fit(frame, y).indices_
        assert chosen[0] == 1 and not set(chosen) & {3, 4}
    with pytest.raises(ValueError, match="calls a group 'g0', as a column that is not in it"):
        MMFS(2, feature_groups={"g0": ["g3", "g4"]}).fit(frame, y)


def test_equal_groups_are_copies():
    X, y, _ = example()
    X[:, 10:12] = X[:, [4, 3]] * [2.0, -1.0]
    twice = MMFS(3, feature_groups=GROUPS | {"again": [10, 11]}).fit(X, y)
    assert "pair" in twice.selected_groups_
    assert "again" not in twice.selected_groups_
    assert twice.n_duplicate_ == 1


def test_reasons_of_groups():
    X, y, _ = example()
    selector = MMFS(2, feature_groups=GROUPS).fit(X, y)
    frame = selector.explain(X)
    assert frame.index[:2].tolist() == ["three", "pair"]
    r, Phi = explicit(X, y)
    a, b = 3, 4
    assert frame.loc["pair", "relevance"] == pytest.approx(r[a])
    expected = (Phi.T @ Phi)[a, b] * selector.weights_[0]
    assert frame.loc["pair", "redundancy"] == pytest.approx(expected, abs=1e-9)
    assert selector.explain(X, [4]).index.tolist() == ["pair"]
    assert selector.explain(X, "three").index.tolist() == ["three"]


def test_groups_of_noise_are_no_more_relevant_than_columns_of_noise():
    rng = np.random.default_rng(0)
    groups = {"wide": list(range(20)), "narrow": [20, 21]}
    found = np.array([
        MMFS(1, feature_groups=groups, keep_scores=True)
        .fit(rng.standard_normal((100, 40)), rng.standard_normal(100)).relevance_[[0, 20, 30]]
        for _ in range(200)
    ])  # fmt: skip
    squares = (found**2).mean(axis=0)
    assert squares.max() < 5 * squares[2] < 0.3 * 20 / 99  # which is what 20 columns explain


def test_chance_of_groups_is_the_f_test():
    assert chance_of_groups(
        np.array([0.2]), np.array([1.0]), np.array([True]), 50, 1
    ) == pytest.approx(correlation_tail(np.sqrt(0.2), 50, 1))
    assert chance_of_groups(
        np.array([0.2]), np.array([1.0]), np.array([True]), 50, 3
    ) == pytest.approx(correlation_tail(np.sqrt(0.2), 50, 3))
    rng = np.random.default_rng(0)
    likely = []
    for _ in range(300):
        X, y = rng.standard_normal((60, 12)), rng.integers(0, 3, 60)
        groups = {f"no. {g}": list(range(4 * g, 4 * g + 4)) for g in range(3)}
        likely.append(MMFS(1, feature_groups=groups).fit(X, y).chance_)
    assert 0.02 < np.mean(np.array(likely) < 0.05) < 0.09


BAD_GROUPS = [
    ({0: [3, 4]}, "calls a group 0, as a column that is not in it; rename it"),
    ({"a": [1, 2], "b": [2, 3]}, "feature_groups has column 2 in 'a' and in 'b'"),
    ({"a": []}, "feature_groups has a group without columns, 'a'"),
    ({"a": [1, 99]}, "there is no column 99"),
    ({"a": ["x"]}, "no names, so 'x' is unknown"),
]


@pytest.mark.parametrize(("groups", "sentence"), BAD_GROUPS)
def test_bad_groups(groups, sentence):
    X, y, _ = example()
    with pytest.raises(ValueError, match=sentence):
        MMFS(2, feature_groups=groups).fit(X, y)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kernel": "poly2"}, "feature_groups take kernel='aligned'"),
        ({"relevance": "mutual_info"}, "feature_groups take relevance='correlation'"),
        ({"solver": "dcd"}, "feature_groups take solver='working_set'"),
        ({"center": False}, "feature_groups take center=True"),
    ],
)
def test_groups_have_one_kernel(options, sentence):
    X, y, _ = example()
    with pytest.raises(ValueError, match=sentence):
        MMFS(2, feature_groups=GROUPS, **options).fit(X, y)


# --- categories -----------------------------------------------------------------------------------


def table(seed=0, n=200):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "age": rng.normal(50, 10, n), "city": rng.choice(["Rome", "Oslo", "Lima"], n),
        "size": rng.standard_normal(n), "kind": rng.choice(list("abcdef"), n),
        "noise": rng.choice(["x", "y"], n), "old": rng.random(n) < 0.5,
    })  # fmt: skip
    effect = {"a": 2.0, "b": -1.0, "c": 0.0, "d": 1.0, "e": -2.0, "f": 0.5}
    y = frame["kind"].map(effect) + 0.1 * frame["age"] + rng.standard_normal(n)
    return frame, y.to_numpy()


def test_a_category_is_the_group_of_its_indicators():
    frame, y = table()
    found = MMFS(4).fit(frame, y)
    dummies = pd.get_dummies(frame, columns=["city", "kind", "noise"], dtype=float)
    groups = {
        name: [c for c in dummies.columns if c.startswith(f"{name}_")]
        for name in ("city", "kind", "noise")
    }
    by_hand = MMFS(4, feature_groups=groups).fit(dummies, y)
    assert found.selected_groups_ == by_hand.selected_groups_
    assert frame.columns[found.indices_].tolist() == found.selected_groups_
    np.testing.assert_allclose(found.weights_, by_hand.weights_, atol=1e-9)
    assert found.selected_groups_[:2] in (["kind", "age"], ["age", "kind"])
    assert found.get_feature_names_out().tolist() == list(frame.columns[np.sort(found.indices_)])
    assert found.transform(frame).columns.tolist() == list(frame.columns[np.sort(found.indices_)])


def test_categories_of_every_kind_of_frame():
    frame, y = table()
    expected = MMFS(3).fit(frame, y)
    typed = frame.astype({"city": "category", "kind": "string", "noise": "category"})
    for other in (typed, pl.from_pandas(frame), pl.from_pandas(typed)):
        found = MMFS(3).fit(other, y)
        assert found.indices_.tolist() == expected.indices_.tolist()
        np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-12)
        assert found.transform(other).shape == (len(y), 3)
    coded = frame.assign(kind=frame["kind"].map(ord).astype("category"))
    assert MMFS(3).fit(coded, y).indices_.tolist() == expected.indices_.tolist()


def test_a_missing_category_is_one():
    frame, y = table()
    frame.loc[frame["kind"] == "e", "kind"] = None
    frame.loc[::7, "size"] = np.nan
    found = MMFS(3).fit(frame, y)
    named = frame.assign(kind=frame["kind"].fillna("none"))
    again = MMFS(3).fit(named, y)
    assert found.indices_.tolist() == again.indices_.tolist()
    np.testing.assert_allclose(found.weights_, again.weights_, atol=1e-12)
    assert found.n_missing_ == again.n_missing_ + frame["kind"].isna().sum()


def test_weights_of_tables_are_repeated_rows():
    frame, y = table()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    a = MMFS(3).fit(frame, y, sample_weight=weights)
    b = MMFS(3).fit(frame.iloc[rows].reset_index(drop=True), y[rows])
    assert a.indices_.tolist() == b.indices_.tolist()
    np.testing.assert_allclose(a.weights_, b.weights_, atol=1e-9)


def test_tables_in_choosers():
    frame, y = table()
    search = MMFSCV(n_features=[1, 2, 4]).fit(frame, y)
    assert search.best_score_ > 0.5
    assert {"kind", "age"} <= set(search.get_feature_names_out())
    assert "kind" in MMFSIC().fit(frame, y).get_feature_names_out()
    stable = StabilitySelector(MMFS(2), n_pairs=5).fit(frame, y)
    assert {"kind", "age"} == set(stable.get_feature_names_out())
    assert stable.frequencies_.shape == (6,)
    assert mmfs_path(frame, y).order[0] in (0, 3)
    result = compare(frame, y, n_features=[2])
    assert set(result.scores) == {"mmfs"}
    assert "takes numbers alone" in result.problems["mrmr"]
    for baseline in (MRMR(2), MaxRel(2)):
        with pytest.raises(ValueError, match="column 'city'"):
            baseline.fit(frame, y)


def test_an_estimator_of_the_users_gets_the_frame():
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    seen = []

    class Watching(Ridge):
        def fit(self, X, y):
            return super().fit(X, y)

    frame, y = table()
    frame = frame[["kind", "city"]]
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]))
    search = MMFSCV(make_pipeline(encode, Watching()), n_features=[2]).fit(frame, y)
    assert search.best_score_ > 0.3 and not seen


@pytest.mark.parametrize("name", ["adult", "hypothyroid", "soybean", "credit_g"])
def test_real_tables_need_no_preparation(name):
    path = DATA / "tables" / f"{name}.csv.gz"
    if not path.exists():
        pytest.skip(f"benchmark data not found: {path.name} (set MMFS_DATA to its folder)")
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    frame = pd.read_csv(path)
    y = frame.pop("target")
    if name == "hypothyroid":
        kept = y.map(y.value_counts()) > 5
        frame, y = frame[kept], y[kept]
    selector = MMFS(6).fit(frame, y)
    assert len(selector.indices_) == 6 and selector.chance_ < 1e-10 and selector.gap_ < 1e-8
    coded = frame.dropna(axis=1, how="all").apply(
        lambda c: c if c.dtype.kind in "if" else c.astype("category").cat.codes
    )
    trees = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    both = [
        cross_val_score(trees, some, y, cv=3).mean()
        for some in (coded, coded[selector.get_feature_names_out()])
    ]
    least = {"soybean": 0.6}.get(name, both[0] - 0.03)  # 19 classes of 35 columns need more than 6
    assert both[1] >= least


# --- costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES)
def test_costs_are_a_price_in_the_problem(place):
    X, y, rng = example()
    costs = rng.uniform(0.5, 3, N_COLUMNS)
    found = MMFS(4, costs=costs, gamma=0.2, C=np.inf, rank="alpha").fit(PLACES[place](X), y)
    F = X - X.mean(axis=0)
    F = F / np.maximum(np.linalg.norm(F, axis=0), 1e-12) * (np.ptp(X, axis=0) > 0)
    e = (y - y.mean()) / np.linalg.norm(y - y.mean())
    A, c = F * np.sign(F.T @ e), costs / costs.mean()
    Q, r = A.T @ A, np.abs(F.T @ e)

    def objective(a):
        return a @ Q @ a / 2 + 0.1 * (c @ a) ** 2 - r @ a, Q @ a + 0.2 * c * (c @ a) - r

    best = minimize(objective, np.zeros(N_COLUMNS), jac=True, bounds=[(0, None)] * N_COLUMNS,
                    method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-12})  # fmt: skip
    assert found.objective_ == pytest.approx(best.fun, abs=1e-9)
    assert objective(found.alpha_)[0] == pytest.approx(best.fun, abs=1e-9)
    np.testing.assert_allclose(found.gradient_[:12], objective(found.alpha_)[1][:12], atol=1e-6)


@given(st.integers(0, 10**6), st.sampled_from(["aligned", "linear", "poly2"]),
       st.sampled_from([*PLACES]))  # fmt: skip
@settings(max_examples=20)
def test_equal_costs_change_nothing(seed, kernel, place):
    X, y, _ = example(seed)
    data = PLACES[place](X)
    plain = MMFS(4, kernel=kernel).fit(data, y)
    priced = MMFS(4, kernel=kernel, costs=np.full(N_COLUMNS, 7.0)).fit(data, y)
    assert priced.indices_.tolist() == plain.indices_.tolist()
    np.testing.assert_allclose(priced.weights_, plain.weights_, atol=1e-8)
    np.testing.assert_allclose(priced.gradient_, plain.gradient_, atol=1e-8)


@given(st.integers(0, 10**6), st.floats(0.5, 40.0), st.booleans(), st.booleans())
@settings(max_examples=40)
def test_a_budget_is_never_exceeded(seed, budget, grouped, included):
    X, y, rng = example(seed)
    costs = np.round(rng.uniform(0.5, 6, N_COLUMNS), 1)
    options = {"feature_groups": GROUPS} if grouped else {}
    if included:
        options["must_include"] = [0]
    selector = MMFS(costs=costs, budget=budget, **options)
    of_features = np.bincount(OWNER, costs)[[0, 1, 2, 3, 4, 5, 6, 7]] if grouped else costs[:12]
    if budget < (costs[0] if included else of_features.min()):
        with pytest.raises(ValueError, match="budget="):
            selector.fit(X, y)
        return
    spent = costs[selector.fit(X, y).indices_].sum()
    assert 0 < spent <= budget * (1 + 1e-9)


def test_dear_features_give_way_to_cheap_ones():
    X, y, _ = example()
    costs = np.ones(N_COLUMNS)
    costs[8] = 10.0  # its copy is cheap
    selector = MMFS(6, costs=costs).fit(X, y)
    assert 8 not in selector.indices_
    dear = np.ones(N_COLUMNS)
    first = MMFS(3).fit(X, y).indices_[0]
    dear[first] = 30.0
    assert not MMFS(3, costs=dear).fit(X, y).support_[first]
    frame = selector.explain(X)
    assert frame.loc[selector.indices_, "margin"].abs().max() < 1e-6
    named = pd.DataFrame(X, columns=[f"g{j}" for j in range(N_COLUMNS)])
    by_name = dict(zip(named.columns, costs, strict=True))
    assert MMFS(6, costs=by_name).fit(named, y).indices_.tolist() == selector.indices_.tolist()
    series = pd.Series(by_name)
    assert MMFS(6, costs=series).fit(named, y).indices_.tolist() == selector.indices_.tolist()


BAD_COSTS = [
    ({"costs": np.ones(3)}, "costs has 3 values, but X has 14 columns"),
    ({"costs": np.zeros(14)}, "costs must be positive, but column 0 costs 0"),
    ({"costs": {"0": 1.0}}, r"costs has no value for '1' \(13 of 14 columns are not named\)"),
    ({"costs": "much"}, "costs must hold one number for every column"),
    ({"budget": 5.0}, "budget=5.0 needs costs"),
    ({"costs": np.ones(14), "budget": -1}, "budget must be a positive number, or None"),
    ({"costs": np.ones(14), "budget": 0.5}, "budget=0.5 is less than 1, what the cheapest costs"),
    ({"costs": np.ones(14), "solver": "dcd"}, "costs take solver='working_set'"),
]


@pytest.mark.parametrize(("options", "sentence"), BAD_COSTS)
def test_bad_costs(options, sentence):
    X, y, _ = example()
    with pytest.raises(ValueError, match=sentence):
        MMFS(**options).fit(X, y)
