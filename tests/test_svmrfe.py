"""SVM-RFE against elimination from explicit matrices."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mmfs import SVMRFE
from mmfs.baselines import svmrfe
from tests.reference import selectors

pytestmark = pytest.mark.slow


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12)) * rng.uniform(0.1, 10, 12)
    y = (X[:, 2] / X[:, 2].std() + 0.5 * X[:, 7] / X[:, 7].std() > 0).astype(int)
    return X, y


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_at_a_time_against_explicit_matrices(data, storage, n_classes):
    X, y = data
    y = y + (X[:, 4] > 5) if n_classes == 3 else y
    selector = SVMRFE(12, step=1).fit(storage(X), y)
    assert selector.indices_.tolist() == selectors.svm_rfe(X, y)
    assert selector.n_iter_ == 12


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_two_columns_by_hand(C):
    """Column 1 is y as +-1, column 0 is orthogonal to it: w_0 = 0, so it goes first.

    Alone, column 1 has min w^2/2 + 8 C (1 - w)^2 at w = 16 C / (1 + 16 C).
    """
    y = np.array([1, 1, 1, 1, -1, -1, -1, -1])
    X = np.column_stack([[1, 1, -1, -1, 1, 1, -1, -1], y])
    selector = SVMRFE(2, step=1, C=C, tol=1e-8).fit(X, y)
    assert selector.indices_.tolist() == [1, 0]
    w = 16 * C / (1 + 16 * C)
    np.testing.assert_allclose(selector.scores_, [0, w**2], atol=1e-6)


def test_the_strongest_shift_between_classes_comes_first():
    y = np.repeat([0, 1], 40)
    X = np.linalg.qr(np.random.default_rng(0).standard_normal((80, 5)))[0]
    X += np.outer(y, [0.02, 0.05, 0.1, 0.2, 0.4])
    assert SVMRFE(2, step=1, tol=1e-4).fit(X, y).indices_.tolist()[0] == 4


def test_steps(data, monkeypatch):
    X, y = data
    widths = []
    weights = SVMRFE._weights

    def spy(self, Z, *args, **options):
        widths.append(Z.shape[1])
        return weights(self, Z, *args, **options)

    monkeypatch.setattr(SVMRFE, "_weights", spy)
    assert SVMRFE(5, step=3).fit(X, y).n_iter_ == 5  # 12, 9, 6, 5, 2 columns
    assert SVMRFE(1, step=0.5).fit(X, y).n_iter_ == 5  # 12, 6, 3, 2, 1
    # The matrix itself shrinks only when more than half of its columns are gone.
    widths.clear()
    SVMRFE(1, step=1).fit(X, y)
    assert widths == [12] * 7 + [5] * 3 + [2] * 2


def test_no_copy_while_columns_are_erased(data):
    X = data[0]
    Z, usable = svmrfe._scaled(_Data(X))
    before = Z
    alive = np.ones(12, dtype=bool)
    alive[[3, 5]] = False
    svmrfe._erase(Z, np.array([3, 5]), alive)
    assert Z is before and (Z[:, [3, 5]] == 0).all() and len(usable) == 12
    S, _ = svmrfe._scaled(_Data(sp.csc_array(X)))
    svmrfe._erase(S, np.array([3, 5]), alive)
    np.testing.assert_allclose(S.toarray(), Z)


class _Data:
    def __init__(self, X):
        from mmfs.columns import Columns

        self.X, self.columns = X, Columns(X)
        self.columns.first_scan(np.zeros((X.shape[0], 1)))
        self.usable = self.columns.usable


def test_an_svm_that_does_not_converge_is_reported_once(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match=r"liblinear stopped short .* raise tol or lower C"):
        SVMRFE(2, C=1e8, tol=1e-12).fit(X[:10], y[:10])


def test_the_input_is_not_changed(data):
    X, y = data
    for Z in (X.copy(), sp.csr_array(X)):
        before = Z.copy()
        SVMRFE(3).fit(Z, y)
        assert (Z != before).sum() == 0


def test_offsets_do_not_matter(data):
    """liblinear penalises its intercept: columns far from zero have to be centred for it."""
    X, y = data
    rng = np.random.default_rng(1)
    shifted = X + rng.uniform(0, 100, 12) * X.std(axis=0)
    assert SVMRFE(4).fit(shifted, y).indices_.tolist() == SVMRFE(4).fit(X, y).indices_.tolist()
    mostly_zero = np.where(rng.random(X.shape) < 0.3, shifted, 0)
    dense = SVMRFE(4).fit(mostly_zero, y)
    assert SVMRFE(4).fit(sp.csc_array(mostly_zero), y).indices_.tolist() == dense.indices_.tolist()


def test_large_index_types(data):
    X, y = data
    for storage in (sp.csc_array, sp.csr_array):
        Z = storage(X)
        Z.indices, Z.indptr = Z.indices.astype(np.int64), Z.indptr.astype(np.int64)
        assert SVMRFE(4).fit(Z, y).indices_.tolist() == SVMRFE(4).fit(X, y).indices_.tolist()
