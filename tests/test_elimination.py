"""Choosing among the support features by elimination, against a slow reading of what it is."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from mmfs import MMFS, prepare, prepared
from mmfs.model_selection.cv import Candidate, _selections
from mmfs.prepared import CANDIDATES
from mmfs.relevance import level_of_chance


def weights_of(Q, r, gamma, C):
    """The problem's alpha by a general-purpose optimiser."""
    system = Q + gamma
    found = minimize(
        lambda a: 0.5 * a @ system @ a - r @ a,
        np.full(len(r), 0.01),
        jac=lambda a: system @ a - r,
        bounds=[(0, C)] * len(r),
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 5000},
    )
    return found.x


def by_elimination(Q, r, gamma, C, J):
    left, given_up = list(J), []
    while len(left) > 1:
        alpha = weights_of(Q[np.ix_(left, left)], r[left], gamma, C)
        gradient = Q[np.ix_(left, left)] @ alpha + gamma * alpha.sum() - r[left]
        lightest = np.lexsort((-gradient, np.round(alpha, 7)))[: max(1, len(left) // 10)]
        given_up = [left[i] for i in lightest[::-1]] + given_up
        left = [j for i, j in enumerate(left) if i not in lightest]
    return left + given_up


def problem_of(n_rows, n_columns, seed):
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n_rows, 6))
    X = hidden @ rng.standard_normal((6, n_columns)) + 2 * rng.standard_normal((n_rows, n_columns))
    y = hidden[:, 0] + hidden[:, 1] * 0.5 + rng.standard_normal(n_rows) > 0
    F = X - X.mean(axis=0)
    F /= np.linalg.norm(F, axis=0)
    p = F.T @ (y - y.mean()) / np.linalg.norm(y - y.mean())
    return X, y, np.sign(np.outer(p, p)) * (F.T @ F), np.abs(p)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [1.0, 0.05])
def test_as_defined(seed, C):
    X, y, Q, r = problem_of(150, 60, seed)
    selector = MMFS(5, C=C, tol=1e-9).fit(X, y)
    support = np.flatnonzero(selector.alpha_)
    assert len(support) >= 8
    expected = by_elimination(Q, r, selector.gamma_, C, support)
    assert selector.indices_.tolist() == expected[:5]
    longer = MMFS(len(support), gamma=selector.gamma_, C=C, rank="elimination", tol=1e-9)
    assert longer.fit(X, y).indices_.tolist() == expected


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n_rows", "k"), [(60, 3), (60, 20), (2_000, 3), (2_000, 300)])
def test_candidates_are_those_above_chance(seed, n_rows, k):
    X, y, *_ = problem_of(n_rows, 700, seed)
    selector = MMFS(k).fit(X, y)
    plain = MMFS(k, rank="alpha").fit(X, y)
    n_support = np.count_nonzero(selector.alpha_)
    if 1.5 * k > CANDIDATES:
        assert selector.indices_.tolist() == plain.indices_.tolist()
        return
    level = 0.5 * level_of_chance(700, n_rows, 1)
    assert n_support >= 1.5 * k or selector.b_ <= 0.011 * selector.relevance_.max()
    assert selector.b_ <= level * (1 + 1e-9) or n_support >= CANDIDATES
    if n_support > 1.5 * k + 5 and selector.b_ < 0.97 * level:  # no more of them than needed
        assert n_support <= CANDIDATES + 10
    assert selector.gamma_ <= plain.gamma_ * 1.01 and selector.gap_ <= 1e-4


@pytest.mark.parametrize("kind", [np.asarray, sp.csc_array, sp.csr_array])
def test_the_same_from_every_storage_and_in_every_run(kind):
    X, y, *_ = problem_of(150, 60, 0)
    expected = MMFS(10, tol=1e-8).fit(X, y).indices_.tolist()
    assert MMFS(10, tol=1e-8, random_state=5).fit(kind(X), y).indices_.tolist() == expected


@pytest.mark.parametrize("kernel", ["linear", "poly2", "rbf", "hsic"])
def test_other_kernels(kernel):
    X, y, *_ = problem_of(80, 30, 1)
    relevance = "hsic" if kernel == "hsic" else "correlation"
    J = MMFS(6, kernel=kernel, relevance=relevance).fit(X, y).indices_
    assert len(set(J.tolist())) == 6


def test_a_gamma_of_ones_own_ranks_by_weight():
    X, y, *_ = problem_of(150, 60, 2)
    for options in ({"gamma": 0.05}, {"gamma": "auto", "rank": "alpha"}):
        selector = MMFS(8, **options).fit(X, y)
        alpha = selector.alpha_[selector.indices_]
        assert (np.diff(alpha) <= 0).all() and alpha[0] == selector.alpha_.max()


@pytest.mark.parametrize("rank", ["auto", "alpha", "elimination"])
def test_cross_validation_scores_what_a_fit_selects(rank):
    X, y, *_ = problem_of(150, 60, 3)
    numbers = [1, 4, 9, 20]
    found = _selections(MMFS(rank=rank), [Candidate(k, "auto") for k in numbers], X, y)
    for k, J in zip(numbers, found, strict=True):
        assert J.tolist() == MMFS(k, rank=rank).fit(X, y).indices_.tolist()
    at = _selections(MMFS(rank=rank), [Candidate(k, 0.05) for k in numbers], X, y)
    for k, J in zip(numbers, at, strict=True):
        assert J.tolist() == MMFS(k, gamma=0.05, rank=rank).fit(X, y).indices_.tolist()


def test_the_level_of_chance_is_computed_once_in_a_fold(monkeypatch):
    X, y, *_ = problem_of(60, 20, 0)
    calls = []
    original = prepare.relevance_of

    def counted(*arguments, **options):
        calls.append(1)
        return original(*arguments, **options)

    for room in (prepare, prepared):
        monkeypatch.setattr(room, "relevance_of", counted)
    candidates = [Candidate(k, "auto") for k in (1, 2, 3, 4)]
    _selections(MMFS(kernel="hsic", relevance="hsic"), candidates, X, y)
    assert len(calls) == 2


def test_nothing_to_give_up():
    X, y, *_ = problem_of(150, 60, 0)
    assert len(MMFS(1).fit(X, y).indices_) == 1
    alone = MMFS(1).fit(X[:, :1], y)
    assert alone.indices_.tolist() == [0]
    with pytest.raises(ValueError, match="rank='elimination' needs gamma"):
        MMFS(3, rank="elimination", formulation="constrained").fit(X, y)
    assert len(MMFS(3, formulation="constrained").fit(X, y).indices_) == 3
