import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import f_classif, mutual_info_classif, r_regression

from mmfs import MMFS
from mmfs.relevance import as_correlation, encode_target
from tests.reference.discrete import equal_frequency
from tests.reference.explicit import class_basis


def relevance(X, y, **options):
    return MMFS(n_features_to_select=1, gamma=1.0, **options).fit(X, y).relevance_


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 12))
    return X, X[:, 0] - X[:, 1] + rng.standard_normal(90)


def test_two_classes_and_real_targets_give_absolute_correlation(data):
    X, y = data
    np.testing.assert_allclose(relevance(X, y), np.abs(r_regression(X, y)), atol=1e-12)
    binary = (y > 0).astype(int)
    expected = np.abs(r_regression(X, binary))
    for labels in (binary, binary == 1, np.where(binary, "yes", "no"), 2.0 * binary - 1):
        np.testing.assert_allclose(relevance(X, labels), expected, atol=1e-12)


def test_several_classes_give_the_correlation_ratio(data):
    X, y = data
    labels = np.digitize(y, [-1, 0, 1])
    F = f_classif(X, labels)[0]
    between, within = 3, 90 - 4
    eta = np.sqrt(F * between / (F * between + within))
    for y in (labels, np.array(["a", "b", "c", "d"])[labels], labels.astype(object)):
        np.testing.assert_allclose(relevance(X, y), eta, atol=1e-12)


def test_several_outputs_give_the_multiple_correlation(data):
    X, y = data
    # The third depends on the first, the fourth is constant.
    Y = np.column_stack([y, X[:, 5], 2 * y - 3, np.full(90, 0.1)])
    centred = Y - Y.mean(0)
    for j, r in enumerate(relevance(X, Y)):
        x = X[:, j] - X[:, j].mean()
        fitted = centred @ np.linalg.lstsq(centred, x, rcond=None)[0]
        assert r == pytest.approx(np.linalg.norm(fitted) / np.linalg.norm(x), abs=1e-10)


def test_target_basis_is_orthonormal_and_centred():
    y = np.repeat(["a", "b", "c"], [3, 10, 7])
    Y = encode_target(y).Y
    np.testing.assert_allclose(Y.T @ Y, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(Y.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Y @ Y.T, class_basis(y) @ class_basis(y).T, atol=1e-12)


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (np.arange(102) % 51, False),
        (np.arange(100) % 50, True),
        (np.arange(99) % 50, False),
        (np.arange(100, dtype=object) % 50, True),
        (np.arange(40), False),
        (np.linspace(0, 1, 20), False),
        (np.array([0.0, 1.0, 2.0] * 2), True),
        (np.array([True, False]), True),
        (np.array(["a", "b"]), True),
    ],
)
def test_what_counts_as_classes(y, labels):
    target = encode_target(y)
    assert (target.values is None) == labels
    assert encode_target(np.arange(9), "regression").values is not None


def test_nearest_neighbour_mutual_information_is_scikit_learns(data):
    X, y = data
    labels = (y > 0).astype(int)
    ours = relevance(X, labels, relevance="mutual_info", random_state=3)
    seeds = np.random.RandomState(3)
    expected = as_correlation(mutual_info_classif(X, labels, random_state=seeds))
    np.testing.assert_allclose(ours, expected)
    assert relevance(X, y, relevance="mutual_info").argmax() in (0, 1)


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("real", [True, False])
def test_binned_mutual_information_by_hand(data, storage, real):
    X, y = data
    X = np.where(np.abs(X) > 0.5, X, 0)
    labels = equal_frequency(y, 5)
    ours = relevance(storage(X), y if real else labels, relevance="binned_mutual_info")
    z = (X - X.mean(0)) / X.std(0)
    for j in range(X.shape[1]):
        state = np.where(z[:, j] < -1, 0, np.where(z[:, j] > 1, 2, 1))
        info = 0.0
        for s in range(3):
            for c in range(5):
                p = np.mean((state == s) & (labels == c))
                if p:
                    info += p * np.log(p / np.mean(state == s) / np.mean(labels == c))
        assert ours[j] == pytest.approx(np.sqrt(1 - np.exp(-2 * info)), abs=1e-10)


def test_a_balanced_binary_column_has_two_states():
    y = np.tile([0, 1], 30)
    X = np.column_stack([np.random.default_rng(0).standard_normal(60), y])
    assert relevance(X, y, relevance="binned_mutual_info")[1] == pytest.approx(np.sqrt(0.75))


def test_mutual_information_of_gaussians_is_put_on_the_scale_of_correlation():
    rho = np.array([0.0, 0.3, 0.9])
    np.testing.assert_allclose(as_correlation(-0.5 * np.log(1 - rho**2)), rho, atol=1e-12)


def test_given_relevance(data):
    X, y = data
    scores = np.linspace(0, 1, 12)
    np.testing.assert_array_equal(relevance(X, y, relevance=scores), scores)
    np.testing.assert_array_equal(
        relevance(X, y, relevance=lambda X, y: scores[::-1]), scores[::-1]
    )
    labels = y > 0
    scores = f_classif(X, labels)[0]
    ours = relevance(X, labels, relevance=f_classif)
    np.testing.assert_allclose(ours, scores / scores.max())
    X[:, 4] = 1.0  # the score of a constant column is not a number, and does not matter
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match="constant"):
        ours = relevance(X, labels, relevance=f_classif)
    assert ours[4] == 0 and ours.max() == 1
