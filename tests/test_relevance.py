from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import (
    chi2,
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
    r_regression,
)

from mmfs import MMFS
from mmfs.datasets import make_planted
from mmfs.relevance import as_correlation
from mmfs.target import encode_target
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
        (np.arange(153) % 51, False),
        (np.arange(150) % 50, True),
        (np.arange(149) % 50, False),
        (np.arange(150, dtype=object) % 50, True),
        (np.arange(40), False),
        (np.linspace(0, 1, 20), False),
        (np.array([0.0, 1.0, 2.0] * 3), True),
        (np.array([0.0, 1.0, 2.0] * 2), False),
        (np.array([1, 0, 1, 0]), True),
        (np.array([Decimal("0.5"), Decimal("1.5"), Decimal(2)] * 3), False),
        (np.array([Fraction(1, 3), Fraction(2, 3), Fraction(1, 7)] * 3), False),
        (np.array([Decimal(0), Decimal(1)] * 3), True),
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
    with pytest.raises(ValueError, match=r"up to 12, .* pass relevance_scale='max'"):
        relevance(X, y, relevance=np.arange(1.0, 13))
    ours = relevance(X, y, relevance=np.arange(1.0, 13), relevance_scale="max")
    np.testing.assert_allclose(ours, np.arange(1, 13) / 12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_of_scikit_learn_are_put_on_the_scale_of_a_correlation(data, n_classes):
    X, y = data
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    expected = relevance(X, labels)
    np.testing.assert_allclose(relevance(X, labels, relevance=f_classif), expected, atol=1e-10)
    for function in (f_regression, partial(f_regression, force_finite=True), r_regression):
        np.testing.assert_allclose(relevance(X, y, relevance=function), relevance(X, y), atol=1e-10)
    info = relevance(X, y, relevance=partial(mutual_info_regression, random_state=0))
    np.testing.assert_allclose(info, as_correlation(mutual_info_regression(X, y, random_state=0)))
    X[:, 4] = 1.0  # the score of a constant column is not a number, and does not matter
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match="constant"):
        ours = relevance(X, labels, relevance=f_classif)
    assert ours[4] == 0 and np.delete(ours, 4).min() > 0
    X[:, 5] = labels == 0  # an infinite score
    with np.errstate(all="ignore"), pytest.warns(UserWarning, match="constant"):
        assert relevance(X, labels == 0, relevance=f_classif)[5] == 1


def test_chi_squared_is_put_on_the_scale_of_a_correlation():
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 30)) < rng.uniform(0.01, 0.1, 30)).astype(float)
    y = X[:, 0] + X[:, 1] + (rng.random(2000) < 0.2) > 0
    found, correlations = relevance(X, y, relevance=chi2), relevance(X, y)
    np.testing.assert_allclose(found, correlations, atol=0.05)
    assert MMFS(2, relevance=chi2).fit(X, y).indices_.tolist() == [0, 1]


def test_a_score_function_selects_what_the_correlation_does():
    """The scores of scikit-learn's filters, in the place of the correlation."""
    X, y, _ = make_planted()
    X = X[:, np.ptp(X, axis=0) > 0]  # of the others scikit-learn warns
    for function in (f_classif, lambda X, y: np.abs(r_regression(X, y == "case"))):
        selector = MMFS(6, relevance=function).fit(X, y)
        assert selector.indices_.tolist() == MMFS(6).fit(X, y).indices_.tolist()


def test_a_series_of_relevances_is_matched_by_name(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    r = pd.Series(np.linspace(0.1, 0.9, 12), index=frame.columns)
    np.testing.assert_array_equal(relevance(frame, y, relevance=r), r)
    np.testing.assert_array_equal(relevance(frame, y, relevance=r.sample(frac=1)), r)
    with pytest.raises(ValueError, match=r"the index of relevance does not have the names of"):
        relevance(frame, y, relevance=r.reset_index(drop=True))
    np.testing.assert_array_equal(relevance(X, y, relevance=r), r)


def test_chi_squared_does_not_depend_on_the_unit():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.2, (300, 10)).astype(float)
    y = X[:, 0] + X[:, 1] > 0
    for unit in (10, 1e6):
        for store in (np.asarray, sp.csr_array):
            found = relevance(store(unit * X), y, relevance=chi2)
            np.testing.assert_allclose(found, relevance(X, y, relevance=chi2), rtol=1e-9)


def test_where_the_level_of_chance_is_not_known(data):
    X, y = data
    classes = np.digitize(y, [-0.5, 0.5])

    def chance(y, **options):
        return MMFS(1, gamma=1.0, **options).fit(X, y).chance_

    assert chance(y) == pytest.approx(chance(y, relevance=f_regression), rel=1e-6)
    assert chance(classes) == pytest.approx(chance(classes, relevance=f_classif), rel=1e-6)
    assert chance(y, relevance=f_regression, relevance_scale="max") is None
    assert chance(y, center=False) is None
    assert chance(classes, relevance=f_regression) is None  # the classes are not what it looks at
    assert chance(y.round(), relevance=f_classif, task="regression") is None
    assert chance(y, relevance=np.linspace(0, 1, 12)) is None


@pytest.mark.parametrize(
    "noise",
    [
        lambda rng: (rng.integers(0, 2, (5, 50)).astype(float), np.array([0, 1, 0, 1, 1])),
        lambda rng: (rng.integers(0, 3, (8, 100)).astype(float), rng.permutation(8) % 2),
        lambda rng: (rng.standard_cauchy((100, 100)), rng.permutation(100) % 2),
        lambda rng: (
            sp.csc_array((rng.random((300, 400)) < 0.01) * 1.0),
            rng.permutation(300) < 30,
        ),
    ],
    ids=["five rows", "eight rows", "Cauchy", "rare entries"],
)
def test_noise_that_the_f_test_does_not_see_through(noise):
    rng = np.random.default_rng(0)
    fits = [MMFS(2).fit(*noise(rng)) for _ in range(30)]
    assert sum(fit.chance_ <= 0.05 for fit in fits) <= 6
