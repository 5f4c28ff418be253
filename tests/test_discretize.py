"""Values become states: against counting by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import mutual_info_score

from mmfs import FCBF, MRMR, QPFS, MaxRel
from mmfs._compiled import counting
from mmfs.columns import Columns
from mmfs.discretize import DISCRETIZATIONS, FREQUENCY_STATES, discretize, entropy_of, xlogx
from tests.reference import discrete

STORAGES = [np.asarray, np.asfortranarray, sp.csc_array, sp.csr_array]


def states_of(rule, X, labels, storage=np.asarray):
    columns = Columns(storage(X))
    columns.first_scan(np.zeros((len(X), 1)))
    return discretize(rule, columns, labels, int(labels.max()) + 1)


def by_hand(rule, X, labels):
    rules = {
        "three_states": discrete.three_states,
        "equal_frequency": lambda x: discrete.equal_frequency(x, FREQUENCY_STATES),
        "mdl": lambda x: discrete.mdl(x, labels),
        "nonzero": lambda x: (x != 0).astype(int),
        "as_is": lambda x: np.unique(x, return_inverse=True)[1],
    }
    return np.column_stack([rules[rule](x) for x in X.T])


def same_partition(a, b):
    """Whether two variables say the same, whatever their states are called."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 90)
    X = rng.standard_normal((90, 8)) + labels[:, None] * np.linspace(0, 3, 8)
    X[np.abs(X) < 0.7] = 0
    X[:, 1] = rng.integers(0, 4, 90)
    X[:, 2] = labels * 1.5 - 1
    X[:, 3] = -np.abs(X[:, 3])
    return X, labels


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("rule", DISCRETIZATIONS)
def test_states_information_and_entropy(data, rule, storage):
    X, labels = data
    states = states_of(rule, X, labels, storage)
    expected = by_hand(rule, X, labels)
    J = np.array([5, 0, 2])
    for ours, theirs in zip(states.of(J).T, expected[:, J].T, strict=True):
        assert same_partition(ours, theirs)
    info, shared = states.information(labels[:, None], 3)[:, 0], states.shared(J)
    for i, column in enumerate(expected.T):
        assert info[i] == pytest.approx(discrete.mutual_information(column, labels), abs=1e-12)
        assert states.entropy[i] == pytest.approx(discrete.entropy(column.tolist()), abs=1e-12)
        for k, j in enumerate(J):
            together = discrete.mutual_information(column, expected[:, j])
            assert shared[i, k] == pytest.approx(together, abs=1e-12)
    part = states.only(J)
    np.testing.assert_array_equal(part.of(np.arange(3)), states.of(J))
    np.testing.assert_array_equal(part.shared(np.array([1])), states.shared(J[1:2])[J])


def test_mutual_information_by_hand():
    """Eight rows; the column is 1 in three of the four rows of one class and one of the other."""
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    X = np.array([[0.0, 0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1]]).T
    states = states_of("nonzero", X, labels)
    half = np.log(2)
    expected = half - (0.25 * np.log(4) + 0.75 * np.log(4 / 3))  # H(y) - H(y | x)
    np.testing.assert_allclose(states.information(labels[:, None], 2)[:, 0], [expected, half])
    np.testing.assert_allclose(states.entropy, [half, half])
    assert entropy_of(labels) == pytest.approx(half)


def test_mdl_cuts_where_the_label_changes_and_nowhere_in_noise():
    labels = np.repeat([0, 1, 0], 20)
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(60.0), rng.permutation(60), np.arange(60.0) // 20])
    cuts = states_of("mdl", X, labels).cuts
    assert cuts[0, :2].tolist() == [19, 39] and cuts[2, :2].tolist() == [0, 1]
    assert np.isinf(cuts[1]).all()


def test_a_cut_must_pay_for_its_description():
    """Four rows, one cut between pure halves: gain 1 bit, price (log2 3 + log2 7 - 2) / 4 < 1."""
    x = np.array([[1.0], [2.0], [3.0], [4.0]])
    assert states_of("mdl", x, np.array([0, 0, 1, 1])).cuts.tolist() == [[2.0]]
    # One row of four: gain 0.811, price (log2 3 + log2 7 - 2 * 0.811) / 4 = 0.69; still worth it.
    assert states_of("mdl", x, np.array([0, 1, 1, 1])).cuts.tolist() == [[1.0]]
    # Mixed sides: gain 0.311 does not pay.
    assert np.isinf(states_of("mdl", x, np.array([0, 1, 0, 1])).cuts).all()


@given(
    arrays(float, st.tuples(st.integers(2, 25), st.integers(1, 3)), elements=st.integers(-3, 3)),
    st.integers(0, 10**6),
    st.sampled_from(DISCRETIZATIONS),
)
def test_every_storage_has_the_same_states(X, seed, rule):
    labels = np.random.default_rng(seed).integers(0, 3, len(X))
    expected = by_hand(rule, X, labels)
    varies = X.std(axis=0) > 0
    for storage in STORAGES:
        states = states_of(rule, X, labels, storage).of(np.arange(X.shape[1]))
        for j in np.flatnonzero(varies):
            assert same_partition(states[:, j], expected[:, j])


def test_columns_are_cut_a_few_at_a_time(data, monkeypatch):
    X, labels = data
    for storage in STORAGES:
        for rule in ("mdl", "equal_frequency"):
            whole = states_of(rule, X, labels, storage).cuts
            monkeypatch.setattr("mmfs.discretize.ENTRIES_AT_ONCE", 100)
            np.testing.assert_array_equal(states_of(rule, X, labels, storage).cuts, whole)
            monkeypatch.undo()


def test_information_of_rare_columns_is_not_lost_to_rounding():
    """One of a million rows: I is about 1e-6, and exact to 1e-14."""
    n = 10**6
    counts = np.array([[[[0, n // 2 - 1]], [[0, 1]]]], dtype=np.int32)  # label 0 is not counted
    totals, sizes = np.array([[n - 1, 1]], dtype=np.int32), np.array([[n // 2, n // 2]])
    info = np.empty((1, 1))
    counting.information(counts, totals, sizes, np.array([0]), xlogx(n), info)
    p = np.array([0.5, 0.5 - 1e-6, 1e-6])
    exact = np.sum(p * np.log(p / (np.array([1 - 1e-6, 1 - 1e-6, 1e-6]) * 0.5)))
    assert info[0, 0] == pytest.approx(exact, abs=1e-14)


def test_mdl_with_very_many_classes():
    """3**k ways to split k classes is more than a number can hold for k > 646."""
    labels = np.repeat(np.arange(700), 4)
    assert np.isfinite(states_of("mdl", labels[:, None] * 1.0, labels).cuts).all()


def test_data_that_are_discrete_already():
    """As states by hand, and categories whatever they are called."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (200, 6))
    y = (codes[:, 2] + (rng.random(200) < 0.2)) % 2
    words = pd.DataFrame(np.array(list("vwxyz"))[codes]).add_prefix("c")
    for method, k in ((FCBF, 1), (MRMR, 3), (QPFS, 3)):
        found = method(k, discretize="as_is").fit(codes, y)
        known = method(k, discretize="as_is").fit(words, y)
        assert found.indices_.tolist() == known.indices_.tolist()
        np.testing.assert_allclose(found.scores_, known.scores_, atol=1e-12)
        assert found.indices_[0] == 2
        sparse = method(k, discretize="as_is").fit(sp.csc_array(codes), y)
        np.testing.assert_allclose(sparse.scores_, found.scores_, atol=1e-12)
    info = mutual_info_score(codes[:, 2], y)
    relevance = MRMR(1, discretize="as_is").fit(codes, y).scores_[2]
    assert relevance == pytest.approx(info, abs=1e-9)
    for method in (MRMR(3, criterion="FCD", discretize="as_is"), MRMR(3), MaxRel(3), FCBF()):
        with pytest.raises(ValueError, match="in column 'c0'; encode it as numbers"):
            method.fit(words, y)
    with pytest.raises(ValueError, match="at most 128 values, but column 0 has 200"):
        FCBF(discretize="as_is").fit(rng.standard_normal((200, 2)), y)
