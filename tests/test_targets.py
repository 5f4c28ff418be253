"""Times of which some are censored, and several labels at once."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.preprocessing import MultiLabelBinarizer

from mmfs import (
    MMFS,
    MMFSCV,
    MMFSIC,
    MRMR,
    SVMRFE,
    KnockoffSelector,
    MaxRel,
    StabilitySelector,
    compare,
)
from mmfs.io import FileProblem, read_svmlight, read_table
from mmfs.survival import martingale_residuals

SIGNALS = [3, 7, 20]


def cohort(seed=0, n_rows=300, n_columns=60):
    """Cox data: hazards by three columns, about a third of the times censored, days are whole."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    time = rng.exponential(np.exp(-X[:, 3] - X[:, 7] + X[:, 20]))
    lost = rng.exponential(2, n_rows)
    days = np.ceil(30 * np.minimum(time, lost))
    y = np.array([*zip(time <= lost, days, strict=True)], dtype=[("event", bool), ("days", float)])
    return X, y


def cox_score_tests(X, y):
    """The score test of each column alone in a Cox model, by its definition, ties by Breslow."""
    event, time = y["event"], y["days"]
    U, information = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for t in np.unique(time[event]):
        at_risk, here = X[time >= t], X[(time == t) & event]
        U += here.sum(axis=0) - len(here) * at_risk.mean(axis=0)
        information += len(here) * at_risk.var(axis=0)
    return U**2 / information


def test_residuals_by_hand():
    event, time = np.array([1, 0, 1, 1, 0]), np.array([2.0, 3.0, 3.0, 5.0, 6.0])
    hazard = np.array([1 / 5, 1 / 5 + 1 / 4, 1 / 5 + 1 / 4, 1 / 5 + 1 / 4 + 1 / 2, 0.95])
    found = martingale_residuals(np.column_stack([event, time]))
    np.testing.assert_allclose(found, event - hazard)
    weights = np.array([2, 1, 3, 1, 0])
    rows = np.repeat(np.arange(5), weights)
    repeated = martingale_residuals(np.column_stack([event, time])[rows])
    weighted = martingale_residuals(np.column_stack([event, time]), weights.astype(float))
    np.testing.assert_allclose(weighted[rows], repeated, atol=1e-14)


def test_ranks_are_those_of_the_cox_score_test():
    X, y = cohort()
    r = MMFS(3).fit(X, y).relevance_
    assert spearmanr(r**2, cox_score_tests(X, y)).statistic > 0.98


def test_signals_are_found_as_often_as_by_the_score_test():
    ours, theirs = 0, 0
    for seed in range(10):
        X, y = cohort(seed, n_rows=100, n_columns=500)
        ours += np.isin(SIGNALS, MMFS(5).fit(X, y).indices_).sum()
        theirs += np.isin(SIGNALS, np.argsort(-cox_score_tests(X, y))[:5]).sum()
    assert ours >= theirs - 1 and ours >= 24


def test_every_form_of_events_and_times():
    X, y = cohort()
    expected = MMFS(5).fit(X, y).indices_.tolist()
    event, days = y["event"], y["days"]
    for other in (
        np.column_stack([event, days]),
        pd.DataFrame({"days": days, "event": event}),
        pd.DataFrame({"os_time": days, "death": event.astype(int)}),
        pd.DataFrame({"a": event.astype(int), "b": days}),
        pd.DataFrame({"a": days, "b": event}),
    ):
        assert MMFS(5, task="survival").fit(X, other).indices_.tolist() == expected
    assert MMFS(5).fit(sp.csc_array(X), y).indices_.tolist() == expected


BAD = [
    (np.ones(20), "task='survival' needs an event and a time for every row: .* y has 1"),
    (np.column_stack([np.arange(20), np.arange(20)]), "must be 0 where a time is censored and 1"),
    (np.column_stack([np.ones(20), -np.ones(20)]), "must not be negative"),
    (np.column_stack([np.zeros(20), np.arange(20)]), "every time is censored"),
    (np.column_stack([np.ones(20), np.full(20, np.nan)]), "no event or time in some row"),
    (np.array([["a", "b"]] * 20), "needs numbers: events as 0 and 1, and times"),
    (pd.DataFrame({"a": [0, 1] * 10, "b": [1, 0] * 10}), "'a' and 'b', do not tell which is the"),
]


@pytest.mark.parametrize(("y", "sentence"), BAD)
def test_what_is_no_survival(y, sentence):
    X = np.random.default_rng(0).standard_normal((20, 5))
    with pytest.raises(ValueError, match=sentence):
        MMFS(2, task="survival").fit(X, y)


def test_weights_are_repeated_rows_of_a_cohort():
    X, y = cohort()
    weights = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    a, b = MMFS(5).fit(X, y, sample_weight=weights), MMFS(5).fit(X[rows], y[rows])
    assert a.indices_.tolist() == b.indices_.tolist()
    np.testing.assert_allclose(a.relevance_, b.relevance_, atol=1e-10)


def test_choosers_take_censored_times():
    X, y = cohort()
    for chooser in (StabilitySelector(n_pairs=5), MMFSIC(), KnockoffSelector(0.4), MaxRel(3)):
        assert set(SIGNALS) <= set(chooser.fit(X, y).indices_)
    with pytest.raises(ValueError, match="judged by an estimator of your choice"):
        MMFSCV().fit(X, y)
    with pytest.raises(ValueError, match="compare knows classes and quantities"):
        compare(X, y)
    with pytest.raises(ValueError, match="SVMRFE is for classes, but y holds censored times"):
        SVMRFE(3).fit(X, y)

    from sklearn.base import BaseEstimator

    class Concordance(BaseEstimator):
        """Scores a sum of columns: pairs of which the one with the event first has more."""

        def fit(self, X, y):
            self.signs_ = np.sign(X.T @ martingale_residuals(np.array(y.tolist(), dtype=float)))
            return self

        def score(self, X, y):
            risk, event, time = X @ self.signs_, y["event"], y["time"]
            first = (time[:, None] < time) & event[:, None]
            return float((risk[:, None] > risk)[first].mean())

    search = MMFSCV(Concordance(), n_features=[1, 3, 30]).fit(X, y)
    assert search.best_n_features_ == 3 and search.best_score_ > 0.75


# --- several labels at once -----------------------------------------------------------------------


def test_sparse_labels_are_those_of_an_array():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30))
    sets = [{name for name, x in zip("abc", row, strict=True) if x > 0.3} for row in X[:, :3]]
    labels = MultiLabelBinarizer(sparse_output=True).fit_transform(sets)
    found = MMFS(3).fit(X, labels)
    assert sorted(found.indices_) == [0, 1, 2]
    dense = MMFS(3).fit(X, labels.toarray())
    assert found.indices_.tolist() == dense.indices_.tolist()
    assert MMFS(1).fit(X, labels[:, [1]]).indices_.tolist() == [1]
    with pytest.raises(ValueError, match="mutual information is defined for one output"):
        MRMR(3, criterion="MID", task="classification").fit(X, labels)


def test_svmlight_files_with_several_labels(tmp_path):
    path = tmp_path / "labels.svm"
    path.write_text("1,2 1:0.5 3:2\n2 2:1\n3,1 1:-1\n1 2:0.5 3:1\n")
    X, y, *_ = read_svmlight(path)
    assert y.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0]]
    assert read_table(path).y.tolist() == y.tolist()
    assert read_svmlight(path, n_rows=2).y.tolist() == [[1, 1], [0, 1]]
    assert MMFS(1).fit(X, y).indices_.shape == (1,)
    with pytest.raises(FileProblem, match=r"several labels in a row \(1,2\); read it whole"):
        MMFS(1).fit(read_table(path, stream=True).X, y)
    path.write_text("1,x 1:0.5\n")
    with pytest.raises(FileProblem, match="line 1: '1,x' is not a number for a label"):
        read_svmlight(path)
