"""Each mistake gets one sentence that says what is wrong, where, and what to do."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from mmfs import (
    FCBF,
    FGM,
    GDM,
    MMFS,
    MMFSCV,
    MMFSIC,
    MRMR,
    QPFS,
    SVMRFE,
    KnockoffSelector,
    MaxRel,
    StabilitySelector,
    compare,
    mmfs_path,
)

X = np.random.default_rng(0).standard_normal((20, 6))
Y = np.arange(20) % 2
FRAME = pd.DataFrame({"age": range(20), "size": np.sqrt(range(20))})


def broken(value, row=3, column=2):
    Z = X.copy()
    Z[row, column] = value
    return Z


PARAMETERS = [
    ({"n_features_to_select": 0}, r"n_features_to_select must be a whole number .* got 0\."),
    ({"n_features_to_select": 1.5}, r"a fraction in \(0, 1\], .* got 1\.5\."),
    ({"n_features_to_select": "all"}, r"n_features_to_select must be .* got 'all'\."),
    ({"n_features_to_select": True}, r"n_features_to_select must be .* got True\."),
    ({"gamma": -1}, r"gamma must be 'auto' or a positive number, got -1\."),
    ({"gamma": 0}, r"gamma must be 'auto' or a positive number, got 0\."),
    ({"gamma": "big"}, r"gamma must be 'auto' or a positive number, got 'big'\."),
    ({"C": -0.5}, r"C must be a positive number, or inf .* got -0\.5\."),
    ({"C": np.nan}, r"C must be a positive number.* got nan\."),
    ({"theta": 1}, r"theta must be a number between 0 and 1, got 1\."),
    ({"kernel": "cubic"}, r"kernel must be one of 'aligned', 'linear', .* got 'cubic'\."),
    (
        {"kernel": 3},
        r"kernel must be one of .* a function of the correlation, or an HSIC.*, got 3\.",
    ),
    ({"relevance": "chi2"}, r"relevance must be one of 'correlation', .* got 'chi2'\."),
    ({"formulation": "dual"}, r"formulation must be one of 'squared_bias', 'constrained'"),
    ({"solver": "smo"}, r"solver must be one of 'working_set', 'dcd', 'qp', got 'smo'\."),
    ({"task": "ranking"}, r"task must be one of 'auto', 'classification', 'regression'"),
    ({"tol": 0}, r"tol must be a positive number, got 0\."),
    ({"max_iter": 0}, r"max_iter must be a whole number >= 1, got 0\."),
    ({"keep_scores": 1}, r"keep_scores must be 'auto', True or False, got 1"),
    ({"keep_scores": "maybe"}, r"keep_scores must be 'auto', True or False"),
    ({"formulation": "constrained", "gamma": 0.1}, r"gamma=0\.1 has no meaning .*gamma='auto'\."),
    ({"formulation": "constrained", "C": 0.1}, r"6 distinct columns .* C of at least 0\.167\."),
    ({"kernel": "precomputed"}, r"needs the relevance of each feature as an array"),
    ({"n_features_to_select": 7}, r"=7 is more than the 6 usable columns; ask for at most 6"),
    ({"relevance": None}, r"relevance must be one of 'correlation', .* got None\."),
    ({"relevance": list("abcdef")}, r"relevance must hold one number for every column of X\."),
    ({"center": "yes"}, r"center must be True or False, got 'yes'\."),
    ({"kernel": lambda rho: -rho}, r"kernel must turn an array .* positive for a correlation of 1"),
    ({"kernel": lambda rho: 1.0}, r"kernel must turn an array .* of the same shape"),
    ({"kernel": lambda rho: rho + np.nan}, r"kernel must turn an array .* of finite similarities"),
    ({"relevance": np.ones(5)}, r"relevance has 5 values, but X has 6 columns\."),
    ({"relevance": -np.ones(6)}, r"finite and not negative, but is -1\.0 for column 0\."),
]


@pytest.mark.parametrize(("parameters", "sentence"), PARAMETERS)
def test_parameters(parameters, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        MMFS(**parameters).fit(X, Y)
    assert "\n" not in str(caught.value)


DATA = [
    (broken(np.inf), Y, r"X has infinity in row 3, column 2"),
    (broken(1e200), Y, r"X has numbers too large or too small to square, column 2"),
    (np.full((20, 6), np.nan), Y, r"all 6 columns of X are constant"),
    (sp.csr_array(broken(-np.inf)), Y, r"X has infinity in row 3, column 2"),
    (pd.DataFrame(broken(np.inf), columns=list("abcdef")), Y, r"row 3, column 2 \('c'\)"),
    (X, np.zeros(20), r"y has only one class \(0\.0\); .* needs at least two classes\."),
    (X, np.full(20, "sick"), r"y has only one class \(sick\)"),
    (X, np.full(20, 0.5), r"y is constant; there is nothing to select features for\."),
    (X, np.full((20, 2), 0.1), r"y is constant"),
    (X, Y[:19], r"inconsistent numbers of samples: \[20, 19\]"),
    (X, np.where(Y, np.nan, 1.0), r"y contains NaN"),
    (X, None, r"requires y to be passed"),
    (X, np.array(["a", 1] * 10, dtype=object), r"y mixes text with other values"),
    (X[0], Y, r"Expected 2D array, got 1D array"),
    (np.empty((0, 6)), np.empty(0), r"Found array with 0 sample\(s\)"),
    (np.empty((20, 0)), Y, r"Found array with 0 feature\(s\)"),
    (X[:1], Y[:1], r"minimum of 2 is required"),
    (np.ones((20, 6)), Y, r"all 6 columns of X are constant; nothing can be selected\."),
    (
        FRAME.assign(who=[f"patient {i}" for i in range(20)]),
        Y,
        r"X has 20 different texts in 20 rows, .* in column 'who'; leave it out, exclude=\['who'\]",
    ),
    (
        FRAME.assign(b=[0.5] * 19 + ["n/a"]),
        Y,
        r"numbers as text, and 'n/a', in column 'b'; leave it out",
    ),
    (
        FRAME.assign(b=["1", "2"] * 10),
        Y,
        r"numbers as text in column 'b'; leave it out, .* or make it num",
    ),
    (FRAME.assign(day=pd.Timestamp("2026-01-01")), Y, r"X has dates in column 'day'"),
    (FRAME[[]].assign(kind=pd.Categorical(["x"] * 20)), Y, r"all 1 columns of X are constant"),
    (pl.DataFrame({"when": [datetime.date(2026, 1, 1)] * 20}), Y, r"X has dates in column 'when'"),
    (pl.LazyFrame({"age": range(20)}), Y, r"X is a LazyFrame, not data; pass X\.collect\(\)"),
    (1e-200 * X, Y, r"too large or too small to square, column 0 \(6 columns"),
    (sp.csc_array(1e-160 * X), Y, r"too large or too small to square, column 0"),
    (X, ["a"] * 10 + [None] + ["b"] * 9, r"y has no label in row 10; drop that row"),
    (X, ["a"] * 10 + [np.nan] + ["b"] * 9, r"y has no label in row 10"),
    (X, pd.Series([*Y[:19], pd.NA], dtype=object), r"y has no label in row 19"),
    (X, pl.Series(["a"] * 10 + [None] + ["b"] * 9), r"y has no label in row 10"),
    (X, np.array(list("abcdefghijklmnopqrst")), r"y has another label in every row"),
    (X, np.array([["a", "b"]] * 20), r"y must hold numbers with several columns"),
    (
        X,
        [f"p{i}" for i in range(18)] + ["p0", "p1"],
        r"y has 18 different labels in 20 rows, more"
        r" than one in three; pass task='classification' if these are classes\.",
    ),
    (X, np.arange(20).astype("M8[D]"), r"y holds dates or durations; pass numbers"),
    (X, np.arange(20).astype("m8[s]"), r"y holds dates or durations"),
    (X, pd.Series(pd.date_range("2026-01-01", periods=20)), r"y holds dates or durations"),
    (X, pd.Series([pd.Timestamp("2026-01-01"), pd.NaT] * 10), r"y holds dates or durations"),
    (X, pd.Series([datetime.date(2026, 1, 1)] * 19 + [None]), r"y holds dates or durations"),
    (X, pl.Series([datetime.date(2026, 1, 1)] * 20), r"y holds dates or durations"),
    (X, pd.DataFrame({"a": pd.date_range("2026-01-01", periods=20)}), r"y holds dates"),
    (X, [Decimal("nan"), *[Decimal(1)] * 19], r"contains NaN"),
    (
        X,
        np.array([(True, 3.5, 1)] * 20, dtype=[("event", bool), ("time", float), ("n", int)]),
        r"task='survival' needs an event and a time for every row: .* y has 3\.",
    ),
    (
        X,
        pd.DataFrame({"time": np.arange(20.0), "status": Y}),
        r"y has the columns time, status; pass task='survival' if they are .* task='regression' if",
    ),
    (X, pd.DataFrame({"OS.event": Y, "OS.days": np.arange(20.0)}), r"pass task='survival' if"),
    (X, [{1}] * 10 + [{2}] * 10, r"y holds labels of type set; pass text or numbers"),
    (np.ma.masked_less(X, 0), Y, r"X or y is a masked array"),
    (X, [10**400, 0.5] * 10, r"y holds numbers too large for double precision"),
    (pd.DataFrame(), [], r"X has 0 rows and 0 columns; there is nothing to select\."),
    (pd.DataFrame(index=range(20)), Y, r"X has 20 rows and 0 columns; there is nothing to select"),
    (pl.DataFrame(), [], r"X has 0 rows and 0 columns"),
    (pd.DataFrame(X, columns=list("abcaef")), Y, r"X has several columns called 'a'; rename them"),
    (pd.DataFrame(X, columns=list("abcaef")).assign(e="x"), Y, r"several columns called 'a'"),
    (
        pd.DataFrame({"day": pd.date_range("2026-01-01", periods=20)}),
        Y,
        r"X has dates in column 'day'",
    ),
    (np.arange(40).reshape(20, 2).astype("M8[D]"), Y, r"X holds dates; encode them as numbers"),
    (
        pd.DataFrame(X, index=range(5, 25)),
        pd.Series(Y),
        r"the index of y is not that of X;"
        r" pass y\.to_numpy\(\) if both have the same rows in the same order",
    ),
    (
        pd.DataFrame(X, index=list("ab") * 10),
        pd.Series(Y, index=list("ba") * 10),
        r"the index of y is not that of X; pass y\.to_numpy",
    ),
    (X.astype(str) + "x", Y, r"could not convert string to float|numeric"),
    (X + 1j, Y, r"Complex data not supported"),
]


@pytest.mark.parametrize(("data", "target", "sentence"), DATA)
def test_data(data, target, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        MMFS(2).fit(data, target)
    if "Expected 2D" not in sentence and "Complex" not in sentence:  # these are scikit-learn's
        assert "\n" not in str(caught.value)


def test_constant_columns_are_counted_in_the_message():
    Z = X.copy()
    Z[:, :2] = 1
    with pytest.raises(ValueError, match=r"=5 .* 4 usable .* \(2 of the 6 are constant\)"):
        MMFS(5).fit(Z, Y)


SIMILARITIES = [
    (np.ones((3, 4)), r"takes a square matrix .* got 3 x 4\."),
    (np.array([[1, 0.5], [0.2, 1]]), r"not symmetric; pass \(Q \+ Q\.T\) / 2\."),
    (np.array([[1, np.nan], [np.nan, 1]]), r"NaN or infinity"),
    (np.array([[1.0, 2.0], [2.0, 1.0]]), r"not positive semi-definite .* add 1 to its diagonal"),
    (np.diag([1.0, 0.0]), r"feature 1 has similarity 0 to itself; it must be positive\."),
    (sp.eye_array(3).tocsr(), r"dense array of similarities"),
]


@pytest.mark.parametrize(("Q", "sentence"), SIMILARITIES)
def test_precomputed_similarities(Q, sentence):
    relevance = np.ones(Q.shape[1])
    with pytest.raises(ValueError, match=sentence):
        MMFS(1, kernel="precomputed", relevance=relevance).fit(Q, np.arange(Q.shape[0]))


def test_tasks_that_do_not_fit_the_target():
    with pytest.raises(ValueError, match=r"y must hold numbers with task='regression'"):
        MMFS(task="regression").fit(X, np.where(Y, "a", "b"))
    with pytest.raises(ValueError, match=r"y has 2 columns; task='classification' takes one"):
        MMFS(task="classification").fit(X, X[:, :2])
    with pytest.raises(ValueError, match=r"mutual information is defined for one output"):
        MMFS(relevance="mutual_info").fit(X, X[:, :2])


def test_transform_checks_its_input():
    selector = MMFS(2).fit(X, Y)
    with pytest.raises(ValueError, match="X has 5 features, but MMFS is expecting 6"):
        selector.transform(X[:, :5])
    with pytest.raises(ValueError, match="infinity"):
        selector.transform(sp.csc_array(broken(np.inf)))
    with pytest.raises(ValueError, match="NaN"):
        MMFS(2, missing="refuse").fit(X, Y).transform(sp.csc_array(broken(np.nan)))


def test_bad_input_changes_nothing():
    selector = MMFS(2).fit(X, Y)
    before = selector.indices_.copy()
    Z = broken(np.inf)
    with pytest.raises(ValueError, match="infinity"):
        selector.fit(Z, Y)
    assert np.array_equal(selector.indices_, before)
    assert np.isinf(Z).sum() == 1


@pytest.mark.parametrize("form", [np.array, np.asfortranarray, sp.csc_array, sp.csr_array])
def test_missing_values_are_refused_if_that_is_asked_for(form):
    with pytest.raises(ValueError, match=r"X has NaN in row 3, column 2; impute, rescale or drop"):
        MMFS(2, missing="refuse").fit(form(broken(np.nan)), Y)
    with pytest.raises(ValueError, match=r"NaN in row 0, column 0 \(6 columns are affected\)"):
        MMFS(2, missing="refuse").fit(form(np.full((20, 6), np.nan)), Y)
    assert MMFS(2).fit(form(broken(np.nan)), Y).n_missing_ == 1


def test_rows_that_pandas_names_are_matched_by_their_names():
    frame, target = pd.DataFrame(X, index=[f"row {i}" for i in range(20)]), X[:, 3] + 0.1 * X[:, 1]
    labels = pd.Series(target, index=frame.index)
    shuffled = labels.sample(frac=1, random_state=0)
    expected = MMFS(2).fit(X, target)
    for y in (labels, shuffled, shuffled.to_frame()):
        found = MMFS(2).fit(frame, y)
        np.testing.assert_array_equal(found.relevance_, expected.relevance_)
    by_order = MMFS(2).fit(frame, shuffled.to_numpy())
    assert abs(by_order.relevance_ - expected.relevance_).max() > 0.1
    groups = pd.Series(np.arange(20) // 4, index=frame.index)
    for search in (MMFSCV(n_features=[1, 2], cv=3), MMFSCV(n_features=[1, 2], cv=GroupKFold(3))):
        one = clone(search).fit(frame, labels, groups=groups)
        two = clone(search).fit(frame, shuffled, groups=groups.sample(frac=1, random_state=1))
        np.testing.assert_array_equal(
            one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
        )
    with pytest.raises(ValueError, match="the index of groups is not that of X"):
        MMFSCV(cv=3).fit(frame, labels, groups=groups.reset_index(drop=True))


def test_two_quantities_and_many_classes_if_the_task_says_so():
    frame = pd.DataFrame({"time": X[:, 0] + X[:, 1], "event": X[:, 1]})
    assert set(MMFS(2, task="regression").fit(X, frame).indices_) == {0, 1}
    labels = np.array([f"p{i % 9}" for i in range(20)])
    assert len(MMFS(2, task="classification").fit(X, labels).indices_) == 2


ALL = [
    FCBF(), FGM(), GDM(), KnockoffSelector(), MaxRel(), MMFS(), MMFSCV(), MMFSIC(), MRMR(), QPFS(),
    StabilitySelector(), SVMRFE(),
]  # fmt: skip


@pytest.mark.parametrize("selector", ALL, ids=lambda selector: type(selector).__name__)
def test_every_selector_refuses_what_none_can_take(selector):
    with pytest.raises(ValueError, match=r"all 3 columns of X are constant; nothing can be sel"):
        selector.fit(np.ones((20, 3)), Y)
    with pytest.raises(ValueError, match=r"X has several columns called 'a'; rename them\."):
        selector.fit(pd.DataFrame(X[:, :2], columns=["a", "a"]), Y)
    with pytest.raises(ValueError, match=r"y holds dates"):
        selector.fit(X, Y.astype("M8[D]"))


def test_functions_refuse_constant_columns():
    with pytest.raises(ValueError, match=r"all 3 columns of X are constant"):
        compare(np.ones((20, 3)), Y)
    with pytest.raises(ValueError, match=r"all 3 columns of X are constant"):
        mmfs_path(np.ones((20, 3)), Y)


def test_a_number_in_the_place_of_the_estimator():
    with pytest.raises(ValueError, match=r"such as LinearSVC\(\), got 5; .* pass n_features=5\."):
        MMFSCV(5).fit(X, Y)
    with pytest.raises(ValueError, match=r"such as LinearSVC\(\), got 'svc'\."):
        MMFSCV("svc").fit(X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("gamma", [1e-308, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("C", [1e-300, 1.0, 1e300, np.inf])
def test_numbers_at_the_edge_of_double_precision(gamma, C):
    """Warnings of NumPy, such as of an overflow, are errors here."""
    selector = MMFS(3, gamma=gamma, C=C, max_iter=20).fit(X, X[:, 0] - X[:, 1])
    assert len(selector.indices_) == 3 and not np.isnan(selector.gap_)


def test_an_index_that_counts_rows_does_not_name_them():
    """X may have lost its index on the way, and y kept the order of another one."""
    order = np.random.default_rng(0).permutation(20)
    target = pd.Series(X[order, 3], index=order)
    for frame in (pd.DataFrame(X[order]), pd.DataFrame(X[order], index=pd.Index(np.arange(20)))):
        with pytest.raises(ValueError, match=r"the index of y is not that of X; pass y\.to_numpy"):
            MMFS(2).fit(frame, target)
    dates = pd.date_range("2026-01-01", periods=20)
    with pytest.raises(ValueError, match=r"the index of y is not that of X"):
        MMFS(2).fit(pd.DataFrame(X, index=dates), pd.Series(Y, index=dates.astype(str)))


def test_a_categorical_target_is_one_of_classes():
    dose = np.repeat([0.1, 0.5, 1.0], 20)
    Z = np.random.default_rng(0).standard_normal((60, 5))
    Z[dose == 0.5, 2] += 3
    expected = MMFS(1).fit(Z, dose.astype(str))
    for y in (pd.Series(dose).astype("category"), pl.Series(dose.astype(str)).cast(pl.Categorical),
              pl.Series(dose.astype(str), dtype=pl.Enum(["0.1", "0.5", "1.0"]))):  # fmt: skip
        np.testing.assert_allclose(MMFS(1).fit(Z, y).relevance_, expected.relevance_)
    words = pl.Series(np.where(Y, "update", "new"), dtype=pl.Enum(["update", "new"]))
    assert len(MMFS(1).fit(X, words).indices_) == 1
    missing = pd.Series(["a", None] * 10).astype("category")
    with pytest.raises(ValueError, match="y has no label in row 1"):
        MMFS(1).fit(X, missing)
    long = np.array([10**19 + i % 2 for i in range(20)], dtype=object)
    assert MMFS(1).fit(np.column_stack([X, Y]), long).indices_.tolist() == [6]
