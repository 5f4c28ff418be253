"""Solvers, storages and formulations agree with each other and with independent solvers."""

import sys
import warnings

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from mmfs import MMFS
from mmfs import fit as fit_module
from mmfs._compiled import descent
from mmfs.kernels import RBF
from mmfs.solvers import tuning
from mmfs.solvers.qp import solve_dual, solve_primal
from tests.reference.explicit import class_basis, similarity, standardised

STORAGES = {"dense": np.asarray, "csc": sp.csc_array, "csr": sp.csr_array}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 60))
    X[:, 30:] += X[:, :30]
    X[np.abs(X) < 0.6] = 0
    return X, X[:, 0] + X[:, 1] - X[:, 31] + rng.standard_normal(40) > 0


def explicit_problem(X, y, kernel, center=True):
    F = standardised(X, center)
    Y = class_basis(y)
    return similarity(F, Y, kernel), np.linalg.norm(F.T @ Y, axis=1), F, Y


@pytest.mark.parametrize("C", [0.03, 1.0, np.inf])
@pytest.mark.parametrize("kernel", ["aligned", "linear", "poly2", "rbf", RBF(0.7)])
@pytest.mark.parametrize("formulation", ["squared_bias", "constrained"])
def test_all_solvers_on_all_storages_reach_the_same_optimum(data, formulation, kernel, C):
    X, y = data
    Q, r, _, _ = explicit_problem(X, y, kernel)
    gamma = None if formulation == "constrained" else 0.02
    reference = solve_dual(Q, r, C, gamma)[0]
    best = reference @ Q @ reference / 2 + (gamma or 0) / 2 * reference.sum() ** 2 - r @ reference
    for solver in ("working_set", "dcd", "qp"):
        for storage in STORAGES.values():
            selector = MMFS(
                5,
                solver=solver,
                kernel=kernel,
                C=C,
                formulation=formulation,
                gamma=gamma or "auto",
                tol=1e-7,
                max_iter=20_000,
            ).fit(storage(X), y)
            assert selector.objective_ == pytest.approx(best, rel=1e-6)
            assert 0 <= selector.gap_ <= 1e-7
            alpha = selector.alpha_
            assert selector.objective_ == pytest.approx(
                alpha @ Q @ alpha / 2 + (gamma or 0) / 2 * alpha.sum() ** 2 - r @ alpha, rel=1e-9
            )
            np.testing.assert_allclose(selector.redundancy_, Q @ alpha, atol=1e-9)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
def test_working_set_smaller_than_the_problem(center, classes):
    """Many more columns than one round takes: several rounds, same optimum as over all columns."""
    rng = np.random.default_rng(1)
    X = sp.random_array((100, 2000), density=0.1, rng=rng, format="csc")
    y = rng.integers(0, classes, 100)
    options = {"gamma": 1e-2, "tol": 1e-6, "center": center, "max_iter": 5000}
    a = MMFS(**options).fit(X, y)
    b = MMFS(solver="dcd", **options).fit(X, y)
    assert a.n_iter_ > 1 and a.n_scans_ < 10 < b.n_iter_
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-6)
    c = MMFS(**options).fit(X.toarray(), y)
    np.testing.assert_allclose(a.alpha_, c.alpha_, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"C": np.inf}, {"C": 1.0}, {"C": 0.01}, {"theta": 0.1}])
@pytest.mark.parametrize("kernel", ["aligned", "poly2"])
def test_constrained_form_on_more_columns_than_a_round_takes(kernel, options):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 1000)), rng.standard_normal(60)
    options = {"formulation": "constrained", "kernel": kernel, "tol": 1e-6} | options
    a = MMFS(5, **options).fit(X, y)
    b = MMFS(5, solver="qp", **options).fit(X, y)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-5)
    assert a.n_iter_ <= 10 and a.gap_ <= 1e-6
    assert a.alpha_.sum() == pytest.approx(1, abs=1e-12) and a.alpha_.max() <= options.get("C", 1)


def test_constrained_form_with_weights_that_just_suffice(data):
    X, y = data
    selector = MMFS(5, formulation="constrained", C=1 / 60).fit(X, y)
    np.testing.assert_allclose(selector.alpha_, 1 / 60)


@pytest.mark.parametrize("formulation", ["squared_bias", "constrained"])
def test_opposite_columns_under_the_linear_kernel_with_a_hard_margin(formulation):
    """Weights that cancel leave faces without curvature; solvers must cross them."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((12, 40))
        X[:, 20:] = -X[:, :20]
        options = {"kernel": "linear", "C": np.inf, "formulation": formulation, "tol": 1e-6}
        if formulation == "squared_bias":
            options["gamma"] = 1e-3
        y = rng.standard_normal(12)
        a = MMFS(5, **options).fit(X, y)
        b = MMFS(5, solver="qp", **options | {"tol": 1e-5}).fit(X, y)
        assert a.objective_ == pytest.approx(b.objective_, rel=1e-5)


def test_no_relevance_and_weights_that_cancel_are_certified():
    X = np.random.default_rng(0).standard_normal((5, 30))
    options = {"kernel": "linear", "formulation": "constrained", "relevance": np.zeros(30)}
    assert MMFS(5, **options).fit(X, np.arange(5) / 3).gap_ <= 1e-4


def test_a_first_round_far_from_the_answer_does_not_mislead_the_search():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 300))
    y = X[:, 0] + rng.standard_normal(50) > 0
    selector = MMFS(40, kernel="linear", C=np.inf).fit(X, y)
    assert np.count_nonzero(selector.alpha_) > 40 and selector.gap_ <= 1e-4


def test_dependent_columns_do_not_stall():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((20, 300)), rng.standard_normal(20)
        assert MMFS(30, kernel="linear", C=np.inf).fit(X, y).gap_ <= 1e-4
        assert MMFS(kernel="linear", C=np.inf, gamma=1e-3).fit(X, y).gap_ <= 1e-4


@pytest.mark.parametrize("solver", ["working_set", "dcd", "qp"])
def test_precomputed_similarities_on_every_solver(data, solver):
    X, y = data
    Q, r, _, _ = explicit_problem(X, y, "poly2")
    best = solve_dual(Q, r, 1.0, 0.02)[0]
    selector = MMFS(5, kernel="precomputed", relevance=r, gamma=0.02, solver=solver, tol=1e-7)
    np.testing.assert_allclose(selector.fit(Q).alpha_, best, atol=1e-4)


@given(st.integers(0, 10_000), st.sampled_from([0.005, 0.05, 0.5]))
def test_f7_aligned_is_the_non_negative_lasso(seed, gamma):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 30)) * (rng.random((40, 30)) < 0.7)
    y = X[:, 0] - X[:, 1] + rng.standard_normal(40) > 0
    selector = MMFS(gamma=gamma, C=np.inf, tol=1e-10).fit(X, y)
    F = standardised(X)
    target = class_basis(y)[:, 0]
    signed = F * np.where(F.T @ target < 0, -1, 1)
    lasso = Lasso(
        alpha=gamma * selector.alpha_.sum() / len(y),
        positive=True,
        fit_intercept=False,
        tol=1e-12,
        max_iter=100_000,
    ).fit(signed, target)
    np.testing.assert_allclose(selector.alpha_, lasso.coef_, atol=1e-5)
    assert selector.b_ == pytest.approx(gamma * selector.alpha_.sum())


def test_several_classes_are_the_matrix_lasso():
    """min 1/2 ||Y - sum_j a_j f_j u_j'||^2 + gamma/2 (1'a)^2, by a Lasso on vec(f_j u_j')."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 50))
    y = np.argmax(X[:, :4] + 0.5 * rng.standard_normal((60, 4)), axis=1)
    selector = MMFS(gamma=0.05, C=np.inf, tol=1e-10).fit(sp.csr_array(X), y)
    F, Y = standardised(X), class_basis(y)
    U = F.T @ Y / np.linalg.norm(F.T @ Y, axis=1, keepdims=True)
    atoms = np.einsum("ij,jc->icj", F, U).reshape(-1, X.shape[1])
    lasso = Lasso(
        alpha=selector.b_ / atoms.shape[0],
        positive=True,
        fit_intercept=False,
        tol=1e-12,
        max_iter=100_000,
    ).fit(atoms, Y.ravel())
    np.testing.assert_allclose(selector.alpha_, lasso.coef_, atol=1e-5)
    fit = np.linalg.norm(Y - (F * selector.alpha_) @ U) ** 2
    value = fit / 2 + 0.05 / 2 * selector.alpha_.sum() ** 2 - np.linalg.norm(Y) ** 2 / 2
    assert selector.objective_ == pytest.approx(value)


def test_constrained_hard_margin_is_qpfs(data):
    """min (1-theta)/2 x'Qx - theta r'x, x >= 0, 1'x = 1: the paper's special case."""
    X, y = data
    theta = 0.3
    Q, r, _, _ = explicit_problem(X, y, "poly2")
    n = len(r)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu((1 - theta) * Q)),
        -theta * r,
        sp.csc_matrix(sp.vstack([sp.csr_array(np.ones((1, n))), -sp.eye_array(n)])),
        np.concatenate([[1.0], np.zeros(n)]),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)],
        settings,
    ).solve()
    options = {"formulation": "constrained", "kernel": "poly2", "theta": theta, "C": np.inf}
    selector = MMFS(**options, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(selector.alpha_, np.array(solution.x), atol=1e-6)


@pytest.mark.parametrize("gamma", [None, 0.1])
@pytest.mark.parametrize("C", [0.05, np.inf])
def test_primal_and_dual_programmes_agree(data, gamma, C):
    X, y = data
    Q, r, F, Y = explicit_problem(X, y, "aligned")
    signed = F * np.where(F.T @ Y < 0, -1, 1).T
    primal = solve_primal(signed, r, C, gamma)[0]
    dual = solve_dual(Q, r, C, gamma)[0]
    np.testing.assert_allclose(primal, dual, atol=1e-6)


@pytest.mark.parametrize("solver", ["working_set", "dcd", "qp"])
def test_gamma_auto_is_the_largest_with_enough_support(data, solver):
    X, y = data
    selector = MMFS(6, solver=solver, tol=1e-6, max_iter=100_000).fit(X, y)
    assert np.count_nonzero(selector.alpha_) >= 9
    again = MMFS(gamma=selector.gamma_, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(again.alpha_, selector.alpha_, atol=1e-4)
    beyond = MMFS(gamma=1.01 * selector.gamma_, tol=1e-8).fit(X, y)
    assert np.count_nonzero(beyond.alpha_) < 9


def test_gamma_auto_without_a_number_stops_at_the_level_of_chance():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 300))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(500)
    selector = MMFS(tol=1e-8).fit(X, y)
    assert set(selector.indices_) >= {0, 1, 2}
    assert len(selector.indices_) < 10
    level = norm.isf(1 / 300 / 2) / np.sqrt(500)
    assert selector.b_ == pytest.approx(level, rel=2e-3)
    residual = selector.relevance_ - selector.redundancy_
    assert residual[~selector.support_].max() <= selector.b_ + 1e-6


@pytest.mark.parametrize("classes", [2, 20])
def test_pure_noise_gives_hardly_any_feature(classes):
    rng = np.random.default_rng(0)
    counts = [
        len(MMFS().fit(rng.standard_normal((300, 500)), rng.integers(0, classes, 300)).indices_)
        for _ in range(10)
    ]
    assert min(counts) >= 1 and np.mean(counts) < 4


@pytest.mark.parametrize("solver", ["working_set", "dcd"])
def test_not_converging_is_said_with_what_to_do(data, solver):
    X = np.hstack([data[0]] * 5) + np.random.default_rng(0).standard_normal((40, 300))
    with pytest.warns(ConvergenceWarning, match=r"after \d+ iterations .* gap .* raise max_iter"):
        selector = MMFS(5, gamma=1e-4, solver=solver, max_iter=1).fit(X, data[1])
    assert selector.gap_ > selector.tol
    assert len(selector.indices_) == 5


def test_no_warning_and_a_small_gap_by_default(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MMFS(5).fit(*data).gap_ <= 1e-4


@pytest.mark.parametrize(
    ("solver", "columns", "limit"), [("dcd", 20_001, "20,000"), ("qp", 5_001, "5,000")]
)
def test_too_many_columns_for_a_solver_is_refused(solver, columns, limit):
    X = np.random.default_rng(0).standard_normal((4, columns))
    with pytest.raises(ValueError, match=f"{limit}.*use solver='working_set'"):
        MMFS(3, kernel="poly2", solver=solver).fit(X, [0, 1, 0, 1])


def test_a_support_too_large_for_the_working_set_is_refused(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.eye_array(300, 300, format="csc") + 0.0
    monkeypatch.setattr(tuning, "GRAM_LIMIT", 150)
    with pytest.raises(ValueError, match="raise gamma or C, or use solver='dcd'"):
        MMFS(gamma=1e-6).fit(X, rng.standard_normal(300))


@pytest.mark.parametrize("kernel", ["linear", "aligned"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, sp.csr_array])
def test_many_columns_are_solved_on_their_entries(store, n_classes, kernel, monkeypatch):
    """A matrix of similarities is not made then."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 800)) * (rng.random((30, 800)) < 0.3)
    y = np.argmax(X[:, :n_classes] + 0.3 * rng.standard_normal((30, n_classes)), axis=1)
    asked = {"gamma": 1e-3, "kernel": kernel, "tol": 1e-8}
    expected = MMFS(**asked).fit(X, y)
    monkeypatch.setattr(tuning, "NARROW", 50)
    monkeypatch.setattr(tuning, "FOLLOWED", 50)
    monkeypatch.setattr(tuning, "COLUMNS_BETTER", np.inf)
    monkeypatch.setattr(sys.modules["mmfs.solvers.working_set"], "OfGram", None)
    found = MMFS(**asked).fit(store(X), y)
    assert found.gap_ <= 1e-8
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-7)


@pytest.mark.slow
def test_a_search_on_entries_ends_where_one_on_similarities_does(monkeypatch):
    """Support features of rough solutions are not counted."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3000))
    y = X[:, :20].sum(axis=1) > 0
    monkeypatch.setattr(tuning, "FOLLOWED", 1000)
    on_entries = MMFS(1000, C=0.005).fit(X, y)
    monkeypatch.setattr(tuning, "FOLLOWED", 10**9)
    on_similarities = MMFS(1000, C=0.005).fit(X, y)
    np.testing.assert_allclose(on_entries.gamma_, on_similarities.gamma_, rtol=1e-3)
    assert set(on_entries.indices_) == set(on_similarities.indices_)


@pytest.mark.parametrize("rank", ["elimination", "path"])
def test_ranks_that_need_all_similarities_have_a_limit(rank, data, monkeypatch):
    X, y = data
    solve = fit_module.solve

    def limited(*given, **options):
        solution = solve(*given, **options)
        monkeypatch.setattr(tuning, "GRAM_LIMIT", 3)
        return solution

    monkeypatch.setattr(fit_module, "solve", limited)
    with pytest.raises(ValueError, match=r"at most 3 support features, here are .*rank='alpha'"):
        MMFS(gamma=0.01, rank=rank).fit(X, y)


def test_columns_with_large_means_are_not_solved_on_their_entries(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 400))
    y = X[:, 0] + X[:, 1] > 0
    expected = MMFS(gamma=1e-3, tol=1e-7).fit(X, y)
    monkeypatch.setattr(tuning, "NARROW", 50)
    monkeypatch.setattr(tuning, "FOLLOWED", 50)
    monkeypatch.setattr(tuning, "COLUMNS_BETTER", np.inf)
    found = MMFS(gamma=1e-3, tol=1e-7).fit(sp.csc_array(X + 1e7), y)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-5)


def test_plain_descent_without_compilation_is_the_same(data):
    """The dispatch that Numba does by overloads, done by Python."""
    X, y = data
    Q, r, F, _ = explicit_problem(X, y, "linear")
    n = len(r)
    forms = {
        "gram": (descent.Gram(Q), np.zeros((n, 1)), np.zeros(1)),
        "dense": (
            descent.Dense(np.ascontiguousarray(F.T), np.zeros(n), np.ones(n), np.ones((n, 1))),
            np.zeros((40, 1)),
            np.zeros(1),
        ),
    }
    C = sp.csc_array(F)
    arrays = (C.indptr.astype(np.int64), C.indices, C.data)
    forms["csc"] = (
        descent.Csc(*arrays, np.zeros(n), np.zeros(n), np.ones(n), np.ones((n, 1))),
        np.zeros((40, 1)),
        np.zeros(1),
    )
    answers = {}
    for name, (form, state, sums) in forms.items():
        alpha = np.zeros(n)
        shrink = np.array([n, np.inf, -np.inf, 0.0])
        seed = np.array([7], dtype=np.uint64)
        args = (form, r, np.full(n, 1.5), 0.5, 1.0, alpha, state, sums, np.arange(n))
        descent.dcd.py_func(*args, shrink, seed, 1e-8, 500)
        answers[name] = alpha
    expected = MMFS(kernel="linear", gamma=0.5, tol=1e-10).fit(X, y).alpha_
    for name, alpha in answers.items():
        np.testing.assert_allclose(alpha, expected, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("kernel", ["linear", "aligned"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.02, 1.0, np.inf])
def test_few_rows_are_solved_on_the_columns_themselves(kernel, n_classes, C, monkeypatch):
    """With more columns than rows similarities are not computed; the answer is the same."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 300)), np.arange(12) % n_classes
    options = {"kernel": kernel, "gamma": 1e-3, "C": C, "tol": 1e-8, "max_iter": 5000}
    plain = MMFS(10, **options).fit(X, y)
    monkeypatch.setattr(tuning, "NARROW", 20)
    monkeypatch.setattr(tuning, "FOLLOWED", 20)
    similarities = property(lambda here: pytest.fail("similarities were computed"))
    monkeypatch.setattr(sys.modules["mmfs.solvers.working_set"].WorkingSet, "Q", similarities)
    narrow = MMFS(10, **options).fit(X, y)
    assert narrow.gap_ <= 1e-8
    assert narrow.objective_ == pytest.approx(plain.objective_, rel=1e-7)
    assert narrow.indices_.tolist() == plain.indices_.tolist()
