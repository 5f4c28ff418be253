"""Newton's steps and the Cholesky factor that follows them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmfs._compiled.active_set import backward, enter, forward, leave, newton
from mmfs.solvers import exact, tuning
from mmfs.solvers.qp import solve_dual

NO_FACTOR = np.empty((0, 0))


def box_problem(seed, n, rank, C):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rank, n)) / np.sqrt(rank)
    alpha = rng.uniform(0.05, 0.95, n) * min(C, 1.0)
    return A.T @ A, A.T @ rng.standard_normal(rank) + 0.1, alpha


def objective(Q, r, alpha):
    return alpha @ Q @ alpha / 2 - r @ alpha


@given(
    st.integers(0, 10**6),
    st.integers(1, 20),
    st.integers(1, 25),
    st.sampled_from([0.3, 1.0, 50.0]),
    st.booleans(),
)
def test_newton_ends_at_the_least_of_a_face(seed, n, rank, C, by_lapack):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "LARGE_FACTOR", 1)
        ends_at_the_least_of_a_face(seed, n, rank, C, by_lapack)


def ends_at_the_least_of_a_face(seed, n, rank, C, by_lapack):
    Q, r, start = box_problem(seed, n, rank, C)
    alpha = start.copy()
    newton(Q, r, C, alpha, exact.factor(Q) if by_lapack else NO_FACTOR)
    assert (alpha >= 0).all() and (alpha <= C).all()
    assert objective(Q, r, alpha) <= objective(Q, r, start) + 1e-9
    free = (alpha > 0) & (alpha < C)
    assert np.abs((Q @ alpha - r)[free]).max(initial=0.0) < 1e-6
    # Among dependent coordinates no more are left than are needed.
    assert free.sum() <= rank


@given(
    st.integers(0, 10**6), st.integers(1, 15), st.integers(1, 30), st.sampled_from([0.2, 1.0, 50.0])
)
def test_an_adjusted_solution_is_the_optimum_of_what_is_left(seed, n, rank, C):
    Q, r, start = box_problem(seed, n, rank, C)
    rng = np.random.default_rng(seed)
    descent = exact.ExactDescent(exact.OfGram(Q), r, C, 1e-9, rng)
    left = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
    descent.active = left.copy()
    descent.alpha[left] = start[left]
    alpha, gamma = descent.adjust(0.1), 0.1
    assert not np.delete(alpha, left).any() and (alpha >= 0).all() and (alpha <= C).all()
    here = np.ix_(left, left)
    best, _ = solve_dual(Q[here], r[left], C, gamma)
    least = objective(Q[here] + gamma, r[left], best)
    assert objective(Q[here] + gamma, r[left], alpha[left]) <= least + 1e-7 * (1 + abs(least))


@pytest.mark.parametrize(
    ("r", "C", "n_rows", "inside"),
    [([1.0, 1.1], 5.0, 2, True), ([1.0, 9.0], 5.0, 2, False), ([1.0, -0.1], 5.0, 2, False),
     ([1.0, 1.0], 5.0, 1, False)],
)  # fmt: skip
def test_one_step_is_enough_where_no_bound_is_met(r, C, n_rows, inside):
    """Not at C, not at zero, and not where columns depend on each other."""
    F = np.eye(2) if n_rows == 2 else np.ones((1, 2))
    rng = np.random.default_rng(0)
    descent = exact.ExactDescent(exact.OfGram(F.T @ F), np.array(r), C, 1e-9, rng)
    assert descent._step_inside(0.5) == inside
    assert descent.alpha.any() == inside
    if inside:
        np.testing.assert_allclose((F.T @ F + 0.5) @ descent.alpha, r)


def test_a_factor_is_told_from_none():
    Q = box_problem(0, 120, 150, 1.0)[0]
    np.testing.assert_allclose(exact.factor(Q) @ exact.factor(Q).T, Q, atol=1e-12)
    assert len(exact.factor(box_problem(0, 120, 80, 1.0)[0])) == 0  # some depend on others
    assert len(exact.factor(Q[:50, :50])) == 0  # small enough without


def test_a_direction_without_end_is_left_alone():
    Q, r = np.zeros((1, 1)), np.ones(1)
    alpha = np.array([2.0])
    newton(Q, r, np.inf, alpha, NO_FACTOR)
    assert alpha == [2.0]


@given(st.integers(0, 10**6), st.lists(st.integers(0, 7), max_size=12))
def test_the_factor_follows_its_matrix(seed, left_out):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, 8))
    Q = A.T @ A
    L, rows, n = np.empty((9, 9)), np.empty(9, dtype=np.int64), 0
    for j in [*range(8), *range(8)]:  # a second time: those that have left
        if j not in rows[:n]:
            assert enter(L, n, Q, rows, j)
            rows[n] = j
            n += 1
        if left_out and left_out[-1] < n:
            leave(L, n, rows, left_out.pop())
            n -= 1
    here = Q[np.ix_(rows[:n], rows[:n])]
    np.testing.assert_allclose(np.tril(L[:n, :n]), np.linalg.cholesky(here), atol=1e-9)
    x = rng.standard_normal(n)
    solved = x.copy()
    forward(L, n, solved)
    backward(L, n, solved)
    np.testing.assert_allclose(here @ solved, x, atol=1e-8)


def test_a_row_that_depends_on_those_before_it():
    Q = np.array([[1.0, 1.0], [1.0, 1.0]])
    L, rows = np.empty((2, 2)), np.zeros(2, dtype=np.int64)
    assert enter(L, 0, Q, rows, 0) and not enter(L, 1, Q, rows, 1)


def test_where_free_columns_are_many_steps_are_seldom_but_end_a_descent(monkeypatch):
    rng = np.random.default_rng(0)
    F, y = rng.standard_normal((60, 200)), rng.standard_normal(60)
    F *= np.sign(F.T @ y) / np.linalg.norm(F, axis=0)
    Q, r, gamma = F.T @ F, F.T @ y / np.linalg.norm(y), 1e-3
    monkeypatch.setattr(tuning, "NEWTON_LIMIT", 10)
    best, _ = solve_dual(Q, r, 1.0, gamma)
    passes = {}
    for seldom in (40, np.inf):
        monkeypatch.setattr(tuning, "SELDOM", seldom)
        rng = np.random.default_rng(0)
        descent = exact.ExactDescent(exact.OfGram(Q), r, 1.0, 1e-9, rng)
        alpha = descent.solve(gamma, 0.0)
        passes[seldom] = descent.n_passes
        if seldom == 40:
            ours, least = objective(Q + gamma, r, alpha), objective(Q + gamma, r, best)
            assert np.count_nonzero(alpha) > 10 and ours <= least + 1e-8 * abs(least)
    assert passes[40] < passes[np.inf] / 2
