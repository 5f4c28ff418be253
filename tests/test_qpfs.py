"""QPFS against a QP library, and its Nystrom approximation against its definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mmfs import MMFS, QPFS
from mmfs.baselines.qpfs import nystrom_map
from tests.reference import discrete, selectors

pytestmark = pytest.mark.slow


def objective(x, Q, F, theta):
    return (1 - theta) / 2 * x @ Q @ x - theta * F @ x


def by_information(X, y):
    states = np.column_stack([discrete.three_states(x) for x in X.T])
    F = np.array([discrete.mutual_information(x, y) for x in states.T])
    return selectors.information_matrix(states), F


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.standard_normal((90, 15)) + np.outer(y, np.linspace(0, 1, 15))
    X[:, 5] = X[:, 6] + 0.1 * X[:, 5]
    return X, y


def test_two_columns_by_hand():
    """x_1 = (Q_22 - Q_12 + tau (F_1 - F_2)) / (Q_11 + Q_22 - 2 Q_12), with Q_11 = Q_22 = 1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    y = X[:, 0] + 0.8 * X[:, 1] + rng.standard_normal(200)
    q = abs(np.corrcoef(X.T)[0, 1])
    F = np.abs([np.corrcoef(x, y)[0, 1] for x in X.T])
    selector = QPFS(similarity="correlation", theta=0.6).fit(X, y)
    x1 = (1 - q + 1.5 * (F[0] - F[1])) / (2 - 2 * q)
    np.testing.assert_allclose(selector.scores_, [x1, 1 - x1], atol=1e-8)
    auto = QPFS(similarity="correlation").fit(X, y)
    mean = (2 + 2 * q) / 4
    assert auto.theta_ == pytest.approx(mean / (mean + F.mean()))


@pytest.mark.parametrize("theta", ["auto", 0.1, 0.5, 0.9])
@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
def test_information_against_a_qp_library(data, theta, storage):
    X, y = data
    Q, F = by_information(X, y)
    a = Q.mean() / (Q.mean() + F.mean()) if theta == "auto" else theta
    selector = QPFS(theta=theta, tol=1e-9).fit(storage(X), y)
    assert selector.theta_ == pytest.approx(a)
    assert selector.shift_ == 0 and selector.gap_ <= 1e-9
    expected = selectors.qpfs(Q, F, a)
    assert objective(selector.scores_, Q, F, a) <= objective(expected, Q, F, a) + 1e-9
    np.testing.assert_allclose(selector.scores_, expected, atol=1e-5)
    assert selector.indices_[0] == np.argmax(expected)


@given(st.integers(0, 10**6), st.floats(0.1, 0.9))
@pytest.mark.filterwarnings("ignore:the similarities are not positive")
def test_correlation_against_a_qp_library(seed, theta):
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 3
    X = rng.standard_normal((40, 8)) @ rng.standard_normal((8, 8)) + y[:, None]
    selector = QPFS(similarity="correlation", theta=theta, tol=1e-9).fit(X, y)
    Q = selectors.correlations(X) + selector.shift_ * np.eye(8)
    F = sum(np.mean(y == c) * np.abs(np.corrcoef(X.T, (y == c) * 1.0)[-1, :-1]) for c in range(3))
    expected = selectors.qpfs(Q, F, theta)
    np.testing.assert_allclose(selector.scores_, expected, atol=1e-5)


def test_a_similarity_that_is_not_positive_is_shifted_and_the_fit_says_so():
    """Columns in a plane, at equal angles: the matrix of |cos| has negative eigenvalues."""
    angles = np.linspace(0, np.pi, 6, endpoint=False)
    rng = np.random.default_rng(0)
    plane = rng.standard_normal((50, 2))
    plane = np.linalg.qr(plane - plane.mean(axis=0))[0]
    X = plane @ [np.cos(angles), np.sin(angles)]
    lowest = np.linalg.eigvalsh(selectors.correlations(X))[0]
    assert lowest < -0.01
    with pytest.warns(UserWarning, match="not positive semi-definite .* as shift_ says"):
        selector = QPFS(similarity="correlation").fit(X, np.arange(50) % 2)
    assert selector.shift_ == pytest.approx(-lowest)


def test_it_is_the_hard_margin_of_the_constrained_form(data):
    X, y = data
    Q, F = by_information(X, y)
    F = F / F.max()
    ours = MMFS(
        kernel="precomputed", relevance=F, formulation="constrained", C=np.inf, tol=1e-9
    ).fit(Q, None)
    np.testing.assert_allclose(ours.alpha_, selectors.qpfs(Q, F, 0.5), atol=1e-5)


def test_the_nystrom_map_is_the_nystrom_approximation():
    rng = np.random.default_rng(0)
    L = rng.standard_normal((12, 20))
    Q = L @ L.T
    chosen = np.array([1, 4, 5, 10])
    rest = np.setdiff1d(np.arange(12), chosen)
    A, B = Q[np.ix_(chosen, chosen)], Q[np.ix_(chosen, rest)]
    ours = nystrom_map(Q[:, chosen], chosen)
    approximation = ours @ ours.T
    np.testing.assert_allclose(approximation[np.ix_(chosen, chosen)], A, atol=1e-8)
    np.testing.assert_allclose(approximation[np.ix_(chosen, rest)], B, atol=1e-8)
    lower = approximation[np.ix_(rest, rest)]
    np.testing.assert_allclose(lower, B.T @ np.linalg.pinv(A) @ B, atol=1e-8)


def test_nystrom_from_all_columns_is_exact(data):
    X, y = data
    exact, approximate = QPFS().fit(X, y), QPFS(nystrom=1.0).fit(X, y)
    np.testing.assert_allclose(approximate.scores_, exact.scores_, atol=1e-5)
    assert approximate.theta_ == pytest.approx(exact.theta_)
    some = QPFS(5, nystrom=0.6, random_state=3).fit(X, y)
    again = QPFS(5, nystrom=0.6, random_state=3).fit(X, y)
    assert some.indices_.tolist() == again.indices_.tolist() and len(some.indices_) == 5


def test_too_many_columns_are_refused_with_the_cost():
    X = sp.random_array((50, 40_000), density=0.05, format="csc", rng=0)
    with pytest.raises(ValueError, match=r"similarities, \d\.\d GB .* pass nystrom=0\.1 or less"):
        QPFS().fit(X, np.arange(50) % 2)
    assert len(QPFS(5, nystrom=0.1).fit(X[:, :5000], np.arange(50) % 2).indices_) == 5


def test_columns_with_one_state_come_last():
    """A column that never varies would cost nothing, and so be free to take all the weight."""
    rng = np.random.default_rng(0)
    X = np.hstack([1 + rng.random((60, 1)), rng.integers(0, 2, (60, 4))])
    y = X[:, 2]
    selector = QPFS(discretize="nonzero").fit(X, y)
    assert selector.scores_[0] == 0 and selector.indices_[0] == 2
    assert QPFS(5, discretize="nonzero").fit(X, y).indices_[-1] == 0


@pytest.mark.parametrize("similarity", ["mi", "correlation"])
@pytest.mark.filterwarnings("ignore:the similarities are not positive")
def test_copies_change_nothing(similarity):
    X = np.random.default_rng(27).standard_normal((15, 10))
    y = np.arange(15) % 2
    alone = QPFS(similarity=similarity).fit(X, y)
    copied = QPFS(similarity=similarity).fit(np.hstack([X, -2 * X[:, :3] + 1]), y)
    np.testing.assert_allclose(copied.scores_[:10], alone.scores_, atol=1e-8)
    assert copied.shift_ == pytest.approx(alone.shift_) and (copied.scores_[10:] == 0).all()
    everything = QPFS(13, similarity=similarity).fit(np.hstack([X, X[:, :3]]), y)
    assert everything.indices_[-3:].tolist() == [10, 11, 12]


def test_more_than_the_support_of_many_columns():
    """Ranks beyond the support, and beyond what a certificate lists."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 700))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    with pytest.warns(UserWarning, match="added to their diagonal"):
        selector = QPFS(500, similarity="correlation").fit(X, y)
    assert len(set(selector.indices_.tolist())) == 500
    assert np.count_nonzero(selector.scores_) < 300
