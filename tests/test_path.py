"""Paths: every point is what a fit of its own would give, and certified over all columns."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path

from mmfs import MMFS, MMFSCV, MMFSIC, certify_path, mmfs_path
from mmfs.columns import Columns
from mmfs.datasets import make_planted
from mmfs.kernels import RBF, similarity_of
from mmfs.problem import Problem
from mmfs.solvers.path import falling_gammas
from mmfs.solvers.qp import solve_dual
from tests.reference.explicit import class_basis, similarity, standardised


@pytest.fixture(scope="module")
def wide():
    """More columns than a round takes, so that a path needs several."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3000))
    X[:, 1000:2000] += X[:, :1000]
    y = X[:, :8].sum(axis=1) + rng.standard_normal(80)
    return X, y


@pytest.mark.parametrize("kernel", ["aligned", "linear", "poly2", RBF(0.7)])
@pytest.mark.parametrize("C", [0.1, 1.0, np.inf])
def test_every_point_is_the_optimum_at_its_gamma(wide, kernel, C):
    X, y = wide[0][:, :60], wide[1]
    path = mmfs_path(X, y, gammas=[1.0, 0.01, 0.1], kernel=kernel, C=C, tol=1e-8)
    F, Y = standardised(X), standardised(y[:, None])
    Q, r = similarity(F, Y, kernel), np.abs(F.T @ Y)[:, 0]
    assert path.gammas.tolist() == [1.0, 0.1, 0.01]  # falling, whatever the order given
    for t, gamma in enumerate(path.gammas):
        best = solve_dual(Q, r, C, gamma)[0]
        value = best @ Q @ best / 2 + gamma / 2 * best.sum() ** 2 - r @ best
        assert path.objectives[t] == pytest.approx(value, rel=1e-6)
        alpha = path.alphas[:, [t]].toarray()[:, 0]
        assert path.b[t] == pytest.approx(gamma * alpha.sum())
        assert path.n_support[t] == np.count_nonzero(alpha)


@pytest.mark.parametrize("classes", [0, 2, 5])
@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, sp.csr_array])
def test_points_agree_with_fits_of_their_own(wide, store, classes):
    X, y = wide
    X = store(np.where(np.abs(X) > 1, X, 0))
    if classes:
        y = np.searchsorted(np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1]), y)
    path = mmfs_path(X, y, n_features_to_select=30, tol=1e-7)
    assert len(path) == 50 and path.gaps.max() <= 1e-7
    assert path.n_support[0] == 1 and path.n_support[-1] >= 45
    for t in (0, 20, 35, 49):
        fit = MMFS(gamma=path.gammas[t], tol=1e-7).fit(X, y)
        np.testing.assert_allclose(path.alphas[:, [t]].toarray()[:, 0], fit.alpha_, atol=1e-4)
    assert path.gammas[-1] == pytest.approx(MMFS(30, tol=1e-7).fit(X, y).gamma_)


def test_it_costs_few_passes(wide):
    path = mmfs_path(*wide, n_features_to_select=30)
    assert path.n_scans <= 2 * MMFS(30).fit(*wide).n_scans_


@pytest.mark.slow
@pytest.mark.parametrize(("n_taken", "n_scans"), [(400, 1), (40, 7)])
def test_fifty_points_are_certified_together_as_if_each_were_judged_alone(
    wide, monkeypatch, n_taken, n_scans
):
    """`certify_all` against `certify`: same gaps and violators, also where these are many."""
    monkeypatch.setattr(certify_path, "DOUBTFUL", 10)
    X, y = wide
    F, Y = standardised(X), standardised(y[:, None])
    selector = MMFS(30)
    prepared, _ = selector._prepare(X, y)
    problem, n_before = prepared.problem, prepared.n_scans
    J = np.sort(problem.Q.most_relevant(n_taken)[0])
    fetched = problem.Q.fetch(J)
    Q, r = problem.Q.gram(fetched, fetched), problem.r(fetched)
    gammas = np.geomspace(2, 0.01, 50)
    alphas = np.column_stack([solve_dual(Q, r, 1.0, gamma)[0] for gamma in gammas])
    alphas[alphas < 1e-7] = 0
    found = certify_path.certify_all(problem, fetched, Q, alphas, gammas, np.ones(50))
    assert prepared.n_scans - n_before <= n_scans
    signs, everything = np.sign(F.T @ Y)[:, 0], np.abs(F.T @ Y)[:, 0]
    for t, gamma in enumerate(gammas):
        alone = problem.certify(fetched, alphas[:, t], gamma, n_others=X.shape[1])
        assert found[t].gap == pytest.approx(alone.gap, rel=1e-9, abs=1e-12)
        assert found[t].objective == pytest.approx(alone.objective)
        assert found[t].violation == pytest.approx(alone.violation, abs=1e-12)
        full = signs * (F.T @ (F[:, J] @ (signs[J] * alphas[:, t]))) + alone.b - everything
        among = np.append(J, found[t].others.J)
        assert set(np.flatnonzero(full < -1e-9)) <= set(among)
        gradient = np.append(found[t].gradient, found[t].others.gradient)
        np.testing.assert_allclose(gradient, full[among], atol=1e-9)


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_order_of_entry_is_that_of_lars(seed):
    """The path of the aligned kernel is scikit-learn's non-negative Lasso path."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 25))
    y = X[:, :6] @ rng.uniform(0.5, 2, 6) + rng.standard_normal(60)
    F, Y = standardised(X), standardised(y[:, None])[:, 0]
    signed = F * np.sign(F.T @ Y)
    levels, _, coefficients = lars_path(signed, Y, positive=True, method="lasso")
    first = np.where((coefficients > 0).any(axis=1), (coefficients > 0).argmax(axis=1), 10_000)
    entered = np.argsort(first, kind="stable")[: np.count_nonzero(first < 10_000)]
    path = mmfs_path(X, y, gammas=1000, gamma=0.02, C=np.inf, tol=1e-9)
    where = dict(zip(path.order.tolist(), path.entered.tolist(), strict=True))
    assert set(where) == set(entered[: len(where)].tolist())
    points = [where[j] for j in entered[: len(where)].tolist()]
    assert points == sorted(points)
    # b is the Lasso's lambda (times the rows, as scikit-learn counts).
    t = 750
    exact = [np.interp(-path.b[t], -levels * len(y), c) for c in coefficients]
    np.testing.assert_allclose(path.alphas[:, [t]].toarray()[:, 0], exact, atol=1e-6)


def test_only_the_most_relevant_feature_before_the_path_begins(wide):
    X, y = wide[0], wide[1] + 3 * wide[0][:, 5]
    for kernel in ("aligned", "poly2"):
        path = mmfs_path(X, y, kernel=kernel)
        assert path.n_support[0] <= 2 and path.gammas[0] < 100
        before = MMFS(gamma=1.01 * path.gammas[0], kernel=kernel, tol=1e-10).fit(X, y)
        assert before.indices_.tolist() == [np.argmax(before.relevance_)] == [path.order[0]]
        after = MMFS(gamma=0.99 * path.gammas[0], kernel=kernel, tol=1e-10).fit(X, y)
        assert len(after.indices_) == 2


def test_ties_and_a_single_column_have_a_path():
    alike = np.kron(np.eye(4), np.ones((3, 1)))
    assert mmfs_path(alike, [2.0, 1, 0] * 4, gammas=3).gammas[0] == 100.0
    one = mmfs_path(np.arange(10.0)[:, None], np.arange(10.0) ** 2, gammas=3)
    assert one.order.tolist() == [0] and (one.n_support == 1).all()
    columns = np.random.default_rng(0).standard_normal((10, 3))
    columns = MMFS()._read(columns, np.arange(10.0), "auto").columns
    columns._know([columns.everything._replace(relevance=np.array([0.5, -np.inf, -np.inf]))])
    problem = Problem(similarity_of("linear", columns, 1), 1.0, 1.0)
    assert falling_gammas(problem, 0.1, 2)[0] == 0.1


def test_path_over_C(wide):
    X, y = wide[0][:, :100], wide[1]
    path = mmfs_path(X, y, Cs=12, gamma=0.05, tol=1e-7)
    hard = MMFS(gamma=0.05, C=np.inf, tol=1e-7).fit(X, y)
    assert (path.gammas == 0.05).all() and (np.diff(path.Cs) < 0).all()
    assert path.Cs[0] == pytest.approx(hard.alpha_.max())
    assert path.Cs[-1] == pytest.approx(hard.alpha_.max() / 20)
    np.testing.assert_allclose(path.alphas[:, [0]].toarray()[:, 0], hard.alpha_, atol=1e-6)
    assert (path.alphas.max(axis=0).toarray() <= path.Cs * (1 + 1e-12)).all()
    assert path.n_support[-1] > path.n_support[0]  # less weight each, more of them
    own = MMFS(gamma=0.05, C=path.Cs[7], tol=1e-7).fit(X, y)
    np.testing.assert_allclose(path.alphas[:, [7]].toarray()[:, 0], own.alpha_, atol=1e-5)
    given_values = mmfs_path(X, y, Cs=[0.02, 0.5], gamma=0.05)
    assert given_values.Cs.tolist() == [0.5, 0.02]
    assert "2 points" in repr(given_values)


def test_rank_by_path(wide):
    X, y = wide
    by_weight, by_entry = MMFS(20).fit(X, y), MMFS(20, rank="path").fit(X, y)
    np.testing.assert_array_equal(by_weight.alpha_, by_entry.alpha_)
    path = mmfs_path(X, y, n_features_to_select=20)
    in_support = [j for j in path.order if by_entry.alpha_[j] > 0]
    assert by_entry.indices_.tolist() == in_support[:20]
    assert by_entry.indices_.tolist() != by_weight.indices_.tolist()
    more = MMFS(200, gamma=0.3, rank="path").fit(X, y)  # far beyond the support
    n_support = np.count_nonzero(more.alpha_)
    assert len(set(more.indices_.tolist())) == 200 > n_support
    assert (np.diff(more.gradient_[more.indices_[n_support:]]) >= 0).all()


def test_names_and_sparse_weights(wide):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(wide[0][:, :5], columns=list("abcde"))
    path = mmfs_path(X, wide[1], gammas=[0.1])
    assert path.feature_names.tolist() == list("abcde")
    assert sp.issparse(path.alphas) and path.alphas.shape == (5, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["aligned", "linear", "poly2", "rbf", "hsic"])
@pytest.mark.parametrize("relevance", ["correlation", "mutual_info", "binned_mutual_info", "hsic"])
def test_exactly_k_and_the_same_again_under_every_combination(small, kernel, relevance):
    """Or a refusal in one sentence."""
    X, y = small
    n_refused = 0
    for formulation, rank, center, C in itertools.product(
        ["squared_bias", "constrained"], ["alpha", "path"], [True, False], [1.0, 0.05]
    ):
        options = {
            "kernel": kernel, "relevance": relevance, "formulation": formulation, "rank": rank,
            "center": center, "C": C,
        }  # fmt: skip
        try:
            first = MMFS(11, **options).fit(X, y)
        except ValueError as refusal:
            n_refused += 1
            assert "\n" not in str(refusal)
            assert (formulation == "constrained" and rank == "path") or (
                kernel == "hsic" and not center
            )
            continue
        again = MMFS(11, n_jobs=2, **options).fit(X, y)
        assert len(set(first.indices_.tolist())) == 11, options
        assert first.indices_.tolist() == again.indices_.tolist(), options
        np.testing.assert_array_equal(first.alpha_, again.alpha_)
        assert first.gap_ <= first.tol
    assert n_refused == (10 if kernel == "hsic" else 4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"gammas": 1}, r"gammas must be a whole number of at least 2, or an array of positive"),
        ({"gammas": [0.1, -1]}, r"gammas must be .* got \[0\.1, -1\]"),
        ({"gammas": []}, r"gammas must be"),
        ({"gammas": "many"}, r"gammas must be .* got 'many'"),
        ({"Cs": [np.inf]}, r"Cs must be .* got \[inf\]"),
        ({"formulation": "constrained"}, r"has no path, since it has no gamma; vary theta"),
        ({"rank": "speed"}, r"rank must be one of 'auto', .*'path', got 'speed'\."),
        ({"gama": 1}, r"mmfs_path and MMFS have no parameter 'gama'\."),
    ],
)
def test_mistakes(small, arguments, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        mmfs_path(*small, **arguments)


def test_a_path_that_is_cut_short_says_so(wide):
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 iterations .* raise max_iter"):
        mmfs_path(*wide, gammas=[1.0, 1e-3], max_iter=1)


def test_class_basis_is_what_the_path_of_classes_uses(wide):
    """The first feature of a path over classes is the one with the largest correlation ratio."""
    X = wide[0][:, :50]
    y = np.arange(80) % 3
    r = np.linalg.norm(standardised(X).T @ class_basis(y), axis=1)
    assert mmfs_path(X, y).order[0] == np.argmax(r)


def test_the_path_begins_where_the_second_feature_enters_also_under_a_small_C():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(300)
    X = rng.standard_normal((300, 40))
    X[:, 0] = y + 0.5 * X[:, 0]
    X[:, 1:11] += 0.5 * y[:, None]
    for C in (0.02, 0.1):
        path = mmfs_path(X, y, C=C, gammas=200)
        assert path.n_support[0] <= 2
        before = MMFS(gamma=1.01 * path.gammas[0], C=C, tol=1e-9).fit(X, y)
        assert before.indices_.tolist() == [0]
        assert len(set(path.entered[:8].tolist())) >= 4  # not all at once


def test_gammas_or_Cs(wide):
    with pytest.raises(ValueError, match="give gammas or Cs, not both"):
        mmfs_path(*wide, gammas=[0.5], Cs=[0.1])
    with pytest.raises(ValueError, match="no feature is relevant"):
        mmfs_path(wide[0][:, :5], wide[1], Cs=3, relevance=np.zeros(5))
    ragged = [1, [2]]
    with pytest.raises(ValueError, match="gammas must be"):
        mmfs_path(*wide, gammas=ragged)


def test_many_outputs_are_certified_without_many_numbers_at_once(wide, monkeypatch):
    """With q outputs every alpha takes q vectors: fewer are looked at together."""
    widths = []
    scan = Columns.scan

    def watched(self, V, *given):
        widths.append(V.shape[1])
        return scan(self, V, *given)

    monkeypatch.setattr(Columns, "scan", watched)
    monkeypatch.setattr(certify_path, "NUMBERS_HELD", 3000 * 10)
    monkeypatch.setattr(certify_path, "DOUBTFUL", 10)
    X = wide[0]
    path = mmfs_path(X, np.arange(80) % 5, n_features_to_select=10)
    assert max(widths) <= 10 and path.gaps.max() <= 1e-4


def test_a_fit_and_its_path_share_all_that_is_known(wide, monkeypatch):
    """One first scan for both; the path is that of `mmfs_path`, the selection that of `fit`."""
    X, y = wide
    known, plain = mmfs_path(X, y, n_features_to_select=6, tol=1e-7), MMFS(6, tol=1e-7).fit(X, y)
    first, first_scan = [], Columns.first_scan
    monkeypatch.setattr(
        Columns, "first_scan", lambda self, Y: (first.append(self.shape), first_scan(self, Y))
    )
    selector = MMFS(6, tol=1e-7)
    path = selector.fit_path(X, y)
    assert first == [X.shape]
    assert selector.indices_.tolist() == plain.indices_.tolist()
    assert path.n_scans < known.n_scans + plain.n_scans_
    np.testing.assert_allclose(path.gammas, known.gammas, rtol=1e-6)
    np.testing.assert_allclose(path.alphas.toarray(), known.alphas.toarray(), atol=1e-5)
    with pytest.raises(ValueError, match="has no path"):
        MMFS(6, formulation="constrained").fit_path(X, y)
    failed = MMFS(6)
    with pytest.raises(ValueError, match="n_features_to_select=9999999"):
        failed.set_params(n_features_to_select=9999999).fit_path(X, y)
    assert not hasattr(failed, "indices_")


@pytest.mark.parametrize("kernel", ["aligned", "linear", "poly2", "rbf", "hsic"])
def test_a_copy_of_the_most_relevant_column_does_not_begin_the_path(kernel):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 20))
    y = X[:, 3] + 0.5 * X[:, 5] + 0.3 * rng.standard_normal(30)
    options = {"gammas": 5, "kernel": kernel, "gamma": 0.1}
    without = mmfs_path(np.delete(X, 9, axis=1), y, **options)
    X[:, 9] = 0.37 * X[:, 3] + 1.3
    np.testing.assert_allclose(mmfs_path(X, y, **options).gammas, without.gammas, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("chooser", [MMFSCV(n_features=8, cv=3), MMFSIC()])
def test_a_chosen_selection_knows_its_path_without_another_first_scan(chooser, monkeypatch):
    X, y, _ = make_planted()
    expected = clone(chooser).fit(X, y)
    n_first, first_scan = [], Columns.first_scan
    monkeypatch.setattr(
        Columns, "first_scan", lambda self, Y: (n_first.append(1), first_scan(self, Y))[1]
    )
    clone(chooser).fit(X, y)
    alone = len(n_first)
    path = chooser.fit_path(X, y, n_points=5)
    assert len(n_first) == 2 * alone  # as many again, and none for the path
    np.testing.assert_array_equal(chooser.indices_, expected.indices_)
    best = chooser.best_selector_
    assert len(path) == 5 and path.gammas[-1] == pytest.approx(best.gamma_)
    np.testing.assert_allclose(path.alphas[:, [-1]].toarray()[:, 0], best.alpha_, atol=1e-5)
