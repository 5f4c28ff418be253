"""FGM and GDM: one step by hand, the SVM against a cone solver, the optimum over all groups."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from mmfs import FGM, GDM
from mmfs.baselines.groups import GroupSVM, bound, norms, shrink
from mmfs.columns import Columns
from tests.reference import selectors

pytestmark = pytest.mark.slow

# Columns of +-1 that are balanced: mean zero, variance one. The first is y, the second is wrong
# in two rows, the third in two others, the fourth in four.
Y = np.array([1.0, 1, 1, 1, -1, -1, -1, -1])
X = np.column_stack([Y, Y, Y, Y])
X[[0, 4], 1] *= -1
X[[1, 5], 2] *= -1
X[[2, 3, 6, 7], 3] *= -1


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def svm_of(X, y, C, storage=np.asarray):
    columns = Columns(storage(X))
    columns.first_scan(np.zeros((len(X), 1)))
    return GroupSVM(columns, y[:, None], C)


def test_the_first_worst_case_by_hand():
    """alpha = C for all rows: c_j = C x_j'y, which is 8, 4, 4 and 0 for C = 1."""
    svm = svm_of(X, Y, 1.0)
    np.testing.assert_allclose(svm.strength(), [64, 16, 16, 0], atol=1e-12)
    assert FGM(2, B=2).fit(X, Y).indices_.tolist() == [0, 1]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_one_column_by_hand(C):
    """min w^2/2 + 8 C (1 - w)^2 / 2 at w = 8C / (1 + 8C); alpha = C (1 - w)."""
    svm = svm_of(X, Y, C)
    svm.add(np.array([0]))
    w = 8 * C / (1 + 8 * C)
    np.testing.assert_allclose(svm.W[0], [[w]], rtol=1e-2)
    np.testing.assert_allclose(svm.objective, w / 2, rtol=1e-4)
    np.testing.assert_allclose(svm.alpha, C * (1 - w), rtol=2e-2)


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_worst_case_against_all_groups(seed, B):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 7))
    y = np.where(rng.random(20) < 0.5, -1.0, 1.0)
    y[:2] = -1, 1
    svm = svm_of(X, y, 1.0)
    svm.alpha = rng.random((20, 1))
    ours = np.argsort(-svm.strength())[:B]
    assert sorted(ours) == sorted(selectors.strongest_group(standard(X), svm.alpha[:, 0], y, B))


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_svm_against_a_cone_solver(C, storage):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    y = np.sign(X[:, 0] + X[:, 3] + 0.5 * rng.standard_normal(40))
    groups = [np.array([0, 1]), np.array([2, 3, 4]), np.array([3, 7])]  # two share a column
    svm = svm_of(X, y, C, storage)
    for group in groups:
        svm.add(group)
    exact = selectors.group_svm(standard(X), y, groups, C)
    assert exact - 1e-9 <= svm.objective <= exact * (1 + 2e-4)
    assert svm.gap <= 1e-4
    # The dual bound is below the optimum, whatever alpha.
    for alpha in (svm.alpha, rng.random((40, 1))):
        c = standard(X).T @ (alpha[:, 0] * y)
        assert bound(alpha, C, max(np.sum(c[g] ** 2) for g in groups)) <= exact + 1e-9


@given(st.integers(0, 10**6), st.floats(0.01, 100))
def test_shrinking_minimises_what_it_says(seed, L):
    rng = np.random.default_rng(seed)
    V, firsts = rng.standard_normal((6, 2)), np.array([0, 1, 4])

    def value(W):
        return L / 2 * np.sum((W - V) ** 2) + norms(W, firsts).sum() ** 2 / 2

    best = shrink(V, firsts, L)
    for _ in range(20):
        assert value(best) <= value(best + 0.01 * rng.standard_normal(V.shape)) + 1e-12
    assert value(best) <= min(value(V), value(0 * V)) + 1e-12


def test_the_relaxation_is_solved_over_all_groups():
    """With a small C the cutting planes end at the optimum over all 15 pairs of six columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = np.sign(X[:, 0] + 0.8 * X[:, 1] - 0.6 * X[:, 2] + 0.5 * rng.standard_normal(60))
    selector = FGM(6, B=2, C=0.01).fit(X, y)
    pairs = [np.array(pair) for pair in combinations(range(6), 2)]
    exact = selectors.group_svm(standard(X), y, pairs, 0.01)
    assert selector.gap_ <= 1e-3
    assert exact - 1e-9 <= selector.objective_ <= exact * (1 + 1.1e-3)
    assert sorted(selector.indices_.tolist()) == [*range(6)]


def test_rounds_and_passes(small):
    X, y = small
    selector = FGM(6, B=2).fit(X, y)
    assert selector.n_iter_ >= 3 and selector.n_scans_ == selector.n_iter_ + 2
    assert FGM(B=3, max_rounds=1).fit(X, y).n_iter_ == 1
    assert len(FGM(20, max_rounds=2).fit(X, y).indices_) == 20  # the strongest follow
    lengths = selector.scores_
    assert (lengths[selector.indices_] > 0).all() and np.count_nonzero(lengths > 0) <= 8
    by_correlation = FGM(5, B=5).fit(X, y).indices_
    rho = np.nan_to_num(np.abs([np.corrcoef(x, y)[0, 1] if x.std() else 0 for x in X.T]))
    assert set(by_correlation) == set(np.argsort(-rho)[:5])


def test_several_classes_share_the_groups():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.standard_normal((300, 20))
    for c, j in enumerate((4, 9, 14)):
        X[:, j] += 2.0 * (y == c)
    assert set(FGM(3, B=1).fit(X, y).indices_.tolist()) == {4, 9, 14}
    # Two classes as one SVM, or as one for each, are the same groups.
    two = y > 0
    assert FGM(6).fit(X, two).indices_.tolist() == FGM(6).fit(X, ~two).indices_.tolist()


def test_a_group_of_gdm_by_hand():
    """Columns 1 and 2 have correlation 1/2 with column 0, column 3 has none."""
    np.testing.assert_allclose(np.corrcoef(X.T)[0], [1, 0.5, 0.5, 0], atol=1e-12)
    selector = GDM(2, B=2, delta=0.5).fit(X, Y)
    assert selector.indices_.tolist() == [0, 3]
    assert {s: list(J) for s, J in selector.groups_.items()} == {0: [1, 2], 3: []}
    assert GDM(2, B=2, delta=0.6).fit(X, Y).indices_.tolist() == [0, 1]
    with pytest.warns(
        UserWarning, match=r"GDM found 2 features, not the 4 asked .* by 0\.5 or more"
    ):
        assert len(GDM(4, delta=0.5).fit(X, Y).indices_) == 2


@given(st.integers(0, 10**6), st.sampled_from([1, 3]), st.floats(0.2, 0.95))
def test_gdm_rounds_against_the_scan_written_out(seed, B, delta):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 12)) + 0.3 * rng.standard_normal(
        (30, 12)
    )
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    selector = GDM(B=B, delta=delta, max_rounds=2).fit(X, y)
    svm = svm_of(X, y, 1.0)
    for _ in range(selector.n_iter_):
        svm.add(np.array(selectors.gdm_round(X, svm.strength(), svm.found, B, delta)))
    assert selector.indices_.tolist() == svm.found.tolist()
    ours = {s: sorted(J) for s, J in selector.groups_.items()}
    assert ours == selectors.gdm_groups(X, svm.found.tolist(), delta)


def test_gdm_looks_past_many_copies():
    """Two hundred near copies of the best feature do not hide the others, nor fill the quota."""
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 100)
    X = rng.standard_normal((200, 6))
    X[:, 0] += 3 * y
    X[:, 1] += y
    copies = X[:, [0]] + 0.05 * rng.standard_normal((200, 200))
    X = np.hstack([X, copies])
    selector = GDM(3, B=1).fit(X, y)
    assert len({0, *range(6, 206)} & set(selector.indices_.tolist())) == 1
    best = selector.indices_[0]
    assert len(selector.groups_[int(best)]) == 200
    rho = np.abs(np.corrcoef(X.T)[best, selector.groups_[int(best)]])
    assert (np.diff(rho) <= 1e-12).all() and (rho >= 0.8).all()


@pytest.mark.parametrize("method", [FGM, GDM])
def test_sparse_columns_far_from_zero(method):
    """Timestamps, say: products lose their digits unless such columns are centred first."""
    rng = np.random.default_rng(0)
    time = 1.7e9 + 100 * rng.random(300)
    y = (time > time.mean()).astype(int)
    X = np.column_stack([time, -time + 100 * rng.random(300), rng.standard_normal((300, 3))])
    dense = method(3).fit(X, y)
    sparse = method(3).fit(sp.csr_array(X), y)
    assert sparse.indices_.tolist() == dense.indices_.tolist()
    assert dense.indices_[0] == 0


def test_a_loss_too_heavy_to_train_ends_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 50))
    y = X[:, 0] + X[:, 1] > 0
    with pytest.warns(ConvergenceWarning, match=r"stopped at a relative duality gap .* lower C"):
        selector = FGM(6, C=1e10).fit(X, y)
    assert len(set(selector.indices_.tolist())) == 6
    light = FGM(6, C=1e-10).fit(X, y)
    rho = np.abs([np.corrcoef(x, y)[0, 1] for x in X.T])
    assert light.indices_.tolist() == np.argsort(-rho)[:6].tolist()  # nothing else counts


def test_gdm_sees_past_any_number_of_copies():
    rng = np.random.default_rng(0)
    s = rng.standard_normal(200)
    X = np.hstack(
        [s[:, None] + 0.2 * rng.standard_normal((200, 1500)), rng.standard_normal((200, 30))]
    )
    selector = GDM(5, B=1, C=1e-3).fit(X, s > 0)
    assert len(selector.indices_) == 5 and (np.sort(selector.indices_)[1:] >= 1500).all()
    assert GDM(3, delta=1.0).fit(np.hstack([X[:, :2], X]), s > 0).groups_ is not None
