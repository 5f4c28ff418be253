"""MaxRel, mRMR and FCBF: by hand, and against all pairs counted one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import f_classif, f_regression

from mmfs import FCBF, MMFS, MRMR, MaxRel
from mmfs.discretize import States
from tests.reference import discrete, selectors

pytestmark = pytest.mark.slow

# Eight rows. Column 0 is wrong about y once, column 1 is its copy, column 2 is wrong twice and
# shares little with column 0, column 3 says nothing.
Y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
X = np.array(
    [
        [0, 0, 0, 1, 1, 1, 1, 1],
        [0, 0, 0, 1, 1, 1, 1, 1],
        [0, 1, 0, 0, 1, 1, 1, 0],
        [0, 1, 0, 1, 0, 1, 0, 1],
    ]
).T


def h(p):
    return -p * np.log(p) - (1 - p) * np.log(1 - p)


I0 = np.log(2) - 5 / 8 * h(1 / 5)  # information of column 0 about y
I2 = np.log(2) - h(1 / 4)
I02 = np.log(2) - (3 / 8 * h(1 / 3) + 5 / 8 * h(2 / 5))  # shared by columns 0 and 2; 0 and 3 too


def test_maxrel_ranks_by_relevance_and_ties_go_to_the_lower_column():
    assert MaxRel(4).fit(X, Y).indices_.tolist() == [0, 1, 2, 3]
    shuffled = MaxRel(4).fit(X[:, [3, 2, 1, 0]], Y)
    assert shuffled.indices_.tolist() == [2, 3, 1, 0]
    rho = np.abs(np.corrcoef(X[:, [3, 2, 1, 0]].T, Y)[-1, :-1])
    np.testing.assert_allclose(shuffled.scores_, rho, atol=1e-12)
    by_relevance = MMFS(gamma=1.0).fit(X, Y).relevance_
    np.testing.assert_array_equal(MaxRel().fit(X, Y).scores_, by_relevance)
    assert MaxRel(1, relevance=[0, 0, 0.5, 0]).fit(X, Y).indices_.tolist() == [2]


def test_mrmr_by_hand():
    selector = MRMR(4, discretize="nonzero").fit(X, Y)
    assert selector.indices_.tolist() == [0, 2, 1, 3]
    copy = I0 - (h(3 / 8) + I02) / 2
    expected = [I0, copy, I2 - I02, -(2 * I02 + 0) / 3]  # columns 2 and 3 share nothing
    np.testing.assert_allclose(selector.scores_, expected, atol=1e-12)
    quotient = MRMR(2, criterion="MIQ", discretize="nonzero").fit(X, Y)
    assert quotient.indices_.tolist() == [0, 2]
    np.testing.assert_allclose(quotient.scores_[2], I2 / (I02 + 1e-4))
    np.testing.assert_allclose(quotient.scores_[1], I0 / (h(3 / 8) + 1e-4))  # not taken


def test_fcbf_by_hand():
    """The copy is dropped for SU(1; 0) = 1, column 3 for SU(3; y) = 0; column 2 stays."""
    selector = FCBF(discretize="nonzero").fit(X, Y)
    assert selector.indices_.tolist() == [0, 2]
    su0, su2 = 2 * I0 / (h(3 / 8) + np.log(2)), 2 * I2 / (2 * np.log(2))
    np.testing.assert_allclose(selector.scores_, [su0, su0, su2, 0], atol=1e-12)
    assert 2 * I02 / (h(3 / 8) + np.log(2)) < su2  # which is why
    assert FCBF(discretize="nonzero", delta=0.2).fit(X, Y).indices_.tolist() == [0]
    assert FCBF(1, discretize="nonzero").fit(X, Y).indices_.tolist() == [0]
    with pytest.warns(UserWarning, match="FCBF keeps 2 features, not the 3 asked for"):
        assert len(FCBF(3, discretize="nonzero").fit(X, Y).indices_) == 2
    # Rank N / log N of 4 columns is 2 (rounded down): the two with SU of column 0.
    auto = FCBF(delta="auto", discretize="nonzero").fit(X, Y)
    assert auto.delta_ == pytest.approx(su0) and auto.indices_.tolist() == [0]


def three_states(X):
    return np.column_stack([discrete.three_states(x) for x in X.T])


@given(st.integers(0, 10**6), st.integers(2, 3), st.sampled_from([np.asarray, sp.csc_array]))
def test_against_all_pairs(seed, n_classes, storage):
    rng = np.random.default_rng(seed)
    y = np.arange(30) % n_classes
    X = rng.integers(-1, 3, (30, 7)) + rng.integers(0, 2, 7) * y[:, None] * 1.0
    X[:, 4] = -X[:, 2]
    states = three_states(X)
    relevance = np.array([discrete.mutual_information(x, y) for x in states.T])
    redundancy = selectors.information_matrix(states)
    for criterion in ("MID", "MIQ"):
        ours = MRMR(7, criterion=criterion).fit(storage(X), y).indices_
        assert ours.tolist() == selectors.mrmr(relevance, redundancy, criterion == "MIQ", 7)
    for delta in (0.0, 0.05):
        if max(discrete.symmetrical_uncertainty(x, y) for x in states.T) > delta:
            expected = selectors.fcbf(states, y, delta)
            assert FCBF(delta=delta).fit(storage(X), y).indices_.tolist() == expected


@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("criterion", ["FCD", "FCQ"])
def test_correlation_criteria_against_all_pairs(small, criterion, real):
    X, y = small
    X = np.delete(X, [10, 11, 12], axis=1)
    y = X[:, 0] / X[:, 0].std() + y if real else y + (X[:, 5] > 0)
    F = (f_regression if real else f_classif)(X, y)[0]
    expected = selectors.mrmr(F, selectors.correlations(X), criterion == "FCQ", 12)
    selector = MRMR(12, criterion=criterion).fit(X, y)
    assert selector.indices_.tolist() == expected
    assert selector.scores_[expected[0]] == pytest.approx(F.max())


def test_fcbf_goes_on_with_the_survivors_alone(monkeypatch):
    """Most columns are dropped early; what is left is copied, and the answer is the same."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    base = rng.integers(0, 2, (60, 6)) ^ (y[:, None] & (rng.random((60, 6)) < 0.6))
    flips = rng.random((60, 60)) < 0.03
    X = np.hstack([base, np.tile(base, 10) ^ flips]).astype(float)
    expected = selectors.fcbf(X.astype(int), y)
    calls = []
    only = States.only
    monkeypatch.setattr(States, "only", lambda self, J: calls.append(len(J)) or only(self, J))
    for storage in (np.asarray, sp.csc_array, sp.csr_array):
        selector = FCBF(discretize="nonzero").fit(storage(X), y)
        assert selector.indices_.tolist() == expected
    assert calls and max(calls) < 33
    assert FCBF(2, discretize="nonzero").fit(X, y).indices_.tolist() == expected[:2]


def test_a_real_target_that_is_mostly_zero_still_has_states():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    y = np.where(X[:, 7] > 1.2, X[:, 7], 0.0)
    for selector in (MRMR(1), FCBF(1), MaxRel(1, relevance="binned_mutual_info")):
        assert selector.fit(X, y).indices_.tolist() == [7]
        assert selector.fit(X, -y).indices_.tolist() == [7]


@pytest.mark.parametrize("discretize", ["three_states", "equal_frequency", "mdl"])
def test_a_mirrored_binary_column_tells_the_same(discretize):
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    X = ((rng.random((100, 1)) < 0.3) & (y[:, None] == 1)).astype(float)
    X = np.hstack([X, 1 - X, -X])
    selector = FCBF(discretize=discretize).fit(X, y)
    assert selector.indices_.tolist() == [0]
    assert selector.scores_[0] == selector.scores_[1] == selector.scores_[2] > 0


def test_mrmr_reads_the_data_once_per_feature():
    X = np.random.default_rng(0).standard_normal((50, 30))
    y = np.arange(50) % 2
    assert MRMR(7).fit(X, y).n_scans_ == 8  # moments, relevance, and six redundancies
    assert MRMR(7, criterion="FCQ").fit(X, y).n_scans_ == 7
    assert MaxRel(7).fit(X, y).n_scans_ == 1


def test_a_discretisation_that_tells_nothing_says_so():
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.warns(UserWarning, match="leaves every column of X with one state") as caught:
        selector = MRMR(2, discretize="nonzero").fit(X, np.arange(20) % 2)
    assert caught[0].filename == __file__
    assert selector.indices_.tolist() == [0, 1]


def test_progress_goes_to_stderr(capsys):
    MRMR(2, verbose=1).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines()[-1] == "mmfs: 2 of 2 features"
