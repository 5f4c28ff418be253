"""What must not change a selection: offsets, names of classes, signs, and where the data are."""

import dask.array
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mmfs import MMFS
from mmfs.solvers.qp import solve_dual
from tests.elsewhere import ELSEWHERE
from tests.reference.explicit import class_basis, standardised

pytestmark = pytest.mark.slow

PLACES = {
    "dense": np.asarray,
    "f_order": np.asfortranarray,
    "csc": sp.csc_array,
    "csr": sp.csr_array,
    "dask": lambda X: dask.array.from_array(X, chunks=(11, 7)),
    "sparse_dask": lambda X: dask.array.from_array(X, chunks=(11, 7)).map_blocks(sp.csr_array),
    **ELSEWHERE,
}
KERNELS = ("aligned", "linear", "poly2", "rbf", "hsic")
seeds, kernels, places = st.integers(0, 10**6), st.sampled_from(KERNELS), st.sampled_from([*PLACES])


def compared_by_rows(kernel, place):
    """HSIC needs single columns again and again, which not every place has."""
    return kernel == "hsic" and place in ("dask", "sparse_dask", "dense_rows", "csr_rows",
                                          "csc_rows", "rows_of_rows")  # fmt: skip


def exact_relevance(X, y):
    """|correlation| in extended precision, from the numbers as they are stored."""
    X, y = X.astype(np.longdouble), y.astype(np.longdouble)
    for _ in range(2):
        X, y = X - X.mean(axis=0), y - y.mean()
    return np.abs(X.T @ y) / np.sqrt((X**2).sum(axis=0) * (y**2).sum())


def offset_data(seed, of_X, of_y, n_rows=60, n_columns=15):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n_rows, n_columns))
    y = Z[:, 0] - 0.8 * Z[:, 1] + 0.6 * Z[:, 2] + 0.3 * rng.standard_normal(n_rows)
    return Z + of_X, y + of_y


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("exponent", range(10))
def test_offsets_do_not_change_relevances(place, exponent):
    for of_X, of_y in ((10.0**exponent, 0), (0, 10.0**exponent), (10.0**exponent,) * 2):
        X, y = offset_data(exponent, of_X, of_y)
        found = MMFS(3, gamma=0.1, keep_scores=True).fit(PLACES[place](X), y)
        np.testing.assert_allclose(found.relevance_, exact_relevance(X, y), atol=1e-10)


@settings(max_examples=60)
@given(seeds, st.integers(0, 9), st.integers(0, 9), kernels, places)
def test_offsets_do_not_change_a_selection(seed, of_X, of_y, kernel, place):
    """What is stored at an offset is rounded; but every place sees the same numbers."""
    assume(not compared_by_rows(kernel, place))
    X, y = offset_data(seed, 10.0**of_X, -(10.0**of_y))
    relevance = "hsic" if kernel == "hsic" else "correlation"
    options = {"kernel": kernel, "relevance": relevance}
    expected = MMFS(3, **options).fit(X - 10.0**of_X, y + 10.0**of_y)  # exact differences
    found = MMFS(3, **options).fit(PLACES[place](X), y)
    assert found.indices_.tolist() == expected.indices_.tolist()
    np.testing.assert_allclose(found.alpha_, expected.alpha_, atol=1e-5)


@pytest.mark.parametrize("solver", ["working_set", "dcd", "qp"])
@pytest.mark.parametrize("place", ["dense", "csc", "csr", "store"])
def test_offsets_and_solvers(solver, place):
    X, y = offset_data(0, 1e8, 1e8)
    options = {"gamma": 0.05, "solver": solver, "tol": 1e-6, "max_iter": 20_000}
    found = MMFS(5, **options).fit(PLACES[place](X), y)
    expected = MMFS(5, **options | {"solver": "working_set"}).fit(X - 1e8, y - 1e8)
    assert found.gap_ <= 1e-6
    np.testing.assert_allclose(found.alpha_, expected.alpha_, atol=1e-4)


def test_offsets_of_many_candidates_that_are_not_similar_enough_for_a_matrix():
    """Descent on entries, by columns in which some are far from zero and others are not."""
    rng = np.random.default_rng(0)
    X = sp.random_array((400, 3000), density=0.01, rng=rng, format="csc")
    far = sp.csc_array(rng.standard_normal((400, 3)) + 1e8)
    y = X[:, :40].sum(axis=1) + (far - sp.csc_array(np.full((400, 3), 1e8))).sum(axis=1)
    near = sp.csc_array(far.toarray() - 1e8)
    options = {"gamma": 1e-4, "tol": 1e-6}
    found = MMFS(**options).fit(sp.hstack([X, far], format="csc"), y)
    expected = MMFS(**options).fit(sp.hstack([X, near], format="csc"), y)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    np.testing.assert_allclose(found.alpha_, expected.alpha_, atol=1e-3)


def test_a_target_without_digits_left_is_refused():
    X, y = offset_data(0, 0, 0)
    with pytest.raises(ValueError, match="no more than by rounding error around a large offset"):
        MMFS(2).fit(X, y + 1e15)


# --- labels -------------------------------------------------------------------------------------


def small_discrete(seed):
    """Few rows, few values: many columns have no correlation with the target at all."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(5, 13), rng.integers(2, 7)
    X = rng.integers(0, rng.integers(2, 4), (n_rows, n_columns)).astype(float)
    if not np.ptp(X, axis=0).any():
        X[0, 0] += 1
    return X, rng


def same_selection(X, first, second, place="dense", **options):
    data = PLACES[place](X)
    k = min(2, int((np.ptp(X, axis=0) > 0).sum()))
    one, two = (MMFS(k, keep_scores=True, **options).fit(data, y) for y in (first, second))
    assert one.indices_.tolist() == two.indices_.tolist()
    np.testing.assert_allclose(one.alpha_, two.alpha_, atol=1e-7)
    np.testing.assert_allclose(one.relevance_, two.relevance_, atol=1e-9)


def test_swapped_labels_of_four_rows():
    X = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 0], [1, 0, 1]], dtype=float)
    same_selection(X, [1, 0, 1, 0], [0, 1, 0, 1])


@settings(max_examples=200)
@given(seeds, st.integers(2, 4), st.sampled_from(KERNELS[:4]), places)
def test_names_and_order_of_classes_do_not_matter(seed, n_classes, kernel, place):
    X, rng = small_discrete(seed)
    y = np.append(rng.permutation(n_classes), rng.integers(0, n_classes, len(X)))[: len(X)]
    names = np.array(["b", "a", "d", "c"])
    for renamed in (n_classes - 1 - y, rng.permutation(n_classes)[y], names[y]):
        same_selection(X, y, renamed, place, kernel=kernel, task="classification")


@settings(max_examples=200)
@given(seeds, st.sampled_from(KERNELS[:4]), places, st.booleans())
def test_the_sign_and_unit_of_a_target_do_not_matter(seed, kernel, place, whole):
    X, rng = small_discrete(seed)
    y = rng.integers(0, 3, len(X)) if whole else rng.standard_normal(len(X))
    if np.ptp(y) == 0:
        y[0] += 1
    for other in (-y, 3 * y + 7, -y / 1024):
        same_selection(X, y, other, place, kernel=kernel, task="regression")


@pytest.mark.parametrize("relevance", ["binned_mutual_info", "hsic"])
@settings(max_examples=50)
@given(seed=seeds)
def test_the_sign_of_a_target_under_other_relevances(relevance, seed):
    X, rng = small_discrete(seed)
    y = rng.integers(0, 5, len(X))
    y[:2] = 0, 1
    same_selection(X, y, -y, relevance=relevance, task="regression")


@settings(max_examples=100)
@given(seeds, st.sampled_from(KERNELS[:4]), st.integers(2, 4))
def test_the_order_and_signs_of_outputs_do_not_matter(seed, kernel, n_outputs):
    X, rng = small_discrete(seed)
    Y = rng.integers(0, 3, (len(X), n_outputs)).astype(float)
    Y[0] += 1 - np.ptp(Y, axis=0).clip(0, 1)
    order, signs = rng.permutation(n_outputs), rng.choice([-1.0, 2.0], n_outputs)
    same_selection(X, Y, Y[:, order] * signs, kernel=kernel, task="regression")


@pytest.mark.parametrize("formulation", ["squared_bias", "constrained"])
@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_that_point_nowhere_are_similar_to_their_kind_alone(formulation, store, n_classes):
    """Also where they have a relevance of their own, by every solver."""
    y = np.repeat(np.arange(n_classes), 12)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (12 * n_classes, 30)).astype(float)
    X[:, :10] = np.tile(rng.integers(0, 3, (12, 10)), (n_classes, 1))  # the same in every class
    X[:, 4] = X[:, 3] + 0.1 * X[:, 2]  # nearly a copy
    r = rng.permutation(np.linspace(0.9, 0.1, 30))
    F, Y = standardised(X), class_basis(y)
    P = F.T @ Y
    alone = np.linalg.norm(P, axis=1) < 1e-9
    assert alone[:10].all() and not alone.all()
    U = np.where(alone[:, None], 0, P / np.where(alone, 1, np.linalg.norm(P, axis=1))[:, None])
    Q = F.T @ F * (U @ U.T + np.outer(alone, alone))
    gamma = None if formulation == "constrained" else 0.01
    expected, _ = solve_dual(Q, r, 1.0, gamma, 500)
    options = {"relevance": r, "formulation": formulation, "tol": 1e-8, "max_iter": 50_000}
    options |= {} if gamma is None else {"gamma": gamma}
    assert expected[:10].max() > 0.01 < expected[10:].max()
    for solver in ("working_set", "dcd", "qp"):
        found = MMFS(solver=solver, **options).fit(store(X), y)
        np.testing.assert_allclose(found.alpha_, expected, atol=2e-3, err_msg=solver)
        assert found.gap_ <= 1e-8


def test_copies_that_point_nowhere_are_redundant():
    x = np.linspace(-1, 1, 201)
    z = np.random.default_rng(0).permutation(x)
    X = np.column_stack([x, np.sin(x), np.tanh(x), x**3 + x, z])
    for relevance in ("binned_mutual_info", "hsic"):
        selector = MMFS(2, task="regression", relevance=relevance).fit(X, x**2)
        assert 4 in selector.indices_ and len({*selector.indices_} & {0, 1, 2, 3}) == 1


# --- places -------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(seeds, kernels, places, st.sampled_from([2, 3]))
def test_the_place_does_not_matter(seed, kernel, place, n_classes):
    assume(not compared_by_rows(kernel, place))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 12)) * (rng.random((40, 12)) < 0.5)
    y = np.digitize(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(40), [-0.3, 0.3][: n_classes - 1])
    relevance = "hsic" if kernel == "hsic" else "correlation"
    options = {"kernel": kernel, "relevance": relevance, "task": "classification"}
    expected = MMFS(4, **options).fit(X, y)
    found = MMFS(4, keep_scores=True, **options).fit(PLACES[place](X), y)
    assert found.indices_.tolist() == expected.indices_.tolist()
    np.testing.assert_allclose(found.alpha_, expected.alpha_, atol=1e-6)
    np.testing.assert_allclose(found.relevance_, expected.relevance_, atol=1e-9)
    assert found.gap_ <= found.tol
