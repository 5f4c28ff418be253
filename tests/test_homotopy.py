"""The walk along b: every solution it passes is optimal, and it ends where it should."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmfs._compiled.homotopy import Enough
from mmfs.solvers.aims import Solver, enough_support
from mmfs.solvers.exact import FOLLOW_LIMIT, ExactDescent
from mmfs.solvers.qp import solve_dual


def problem(n_rows, n_columns, kernel, whole_numbers, rng):
    F = rng.standard_normal((n_rows, n_columns))
    if whole_numbers:  # many ties, copies, and columns that depend on each other
        F = np.rint(F)
    y = F[:, :5].sum(axis=1) + rng.standard_normal(n_rows)
    F, y = F - F.mean(axis=0), y - y.mean()
    norms = np.linalg.norm(F, axis=0)
    F, y = F[:, norms > 0] / norms[norms > 0], y / np.linalg.norm(y)
    Q, r = F.T @ F, np.abs(F.T @ y)
    if kernel == "aligned":
        Q *= np.outer(np.sign(F.T @ y), np.sign(F.T @ y))
    return np.ascontiguousarray(Q**2 if kernel == "poly2" else Q), r


def descent(Q, r, C=1.0):
    return ExactDescent(Q, r, C, 1e-10, np.random.default_rng(0))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["aligned", "linear", "poly2"]),
    st.sampled_from([0.03, 0.3, 1.0, np.inf]),
    st.booleans(),
)
def test_it_ends_at_an_optimum_with_enough_columns(seed, kernel, C, whole_numbers):
    rng = np.random.default_rng(seed)
    Q, r = problem(*rng.integers([4, 5], [50, 100]), kernel, whole_numbers, rng)
    n = int(rng.integers(1, len(r) + 1))
    found = descent(Q, r, C).follow(Enough(n, np.inf, 0, 0.01 * r.max()), 1e-3)
    if found is None:  # as it may without an upper bound, where weights grow without end
        assert kernel == "linear" and np.isinf(C)
        return
    alpha, gamma, reached = found
    b = gamma * alpha.sum()
    assert reached == (np.count_nonzero(alpha) >= n) or (kernel == "linear" and np.isinf(C))
    assert reached or b == pytest.approx(0.01 * r.max())
    left = r - Q @ alpha
    free = (alpha > 0) & (alpha < C)
    np.testing.assert_allclose(left[free], b, atol=1e-8)
    assert (left[alpha == 0] <= b + 1e-8).all() and (left[alpha >= C] >= b - 1e-8).all()


def test_it_is_the_solution_of_a_general_solver():
    Q, r = problem(40, 60, "aligned", False, np.random.default_rng(1))
    for n in (1, 5, 20, 30):
        alpha, gamma, reached = descent(Q, r).follow(Enough(n, np.inf, 0, 0.0), 1e-3)
        assert reached and np.count_nonzero(alpha) == n
        np.testing.assert_allclose(alpha, solve_dual(Q, r, 1.0, gamma)[0], atol=1e-5)


def test_there_is_no_larger_gamma_with_as_many():
    Q, r = problem(40, 60, "aligned", False, np.random.default_rng(2))
    for n in (2, 10, 25):
        walked = enough_support(n, r.max())(descent(Q, r).solver)
        searched = enough_support(n, r.max())(Solver(descent(Q, r).solve))
        assert walked.gamma == pytest.approx(searched.gamma, rel=3e-3)
        above = descent(Q, r).solve(1.005 * walked.gamma, 0.0)
        assert np.count_nonzero(above) < n <= np.count_nonzero(walked.alpha)


def test_down_to_a_level_unless_there_are_too_many():
    Q, r = problem(40, 60, "aligned", False, np.random.default_rng(3))
    level = 0.3 * r.max()
    alpha, gamma, reached = descent(Q, r).follow(Enough(2, level, np.inf, 0.0), 1e-3)
    assert reached and gamma * alpha.sum() == pytest.approx(level)
    n_there = np.count_nonzero(alpha)
    alpha, gamma, reached = descent(Q, r).follow(Enough(2, level, n_there - 1, 0.0), 1e-3)
    assert reached and gamma * alpha.sum() > level and np.count_nonzero(alpha) == n_there - 1
    alpha, gamma, reached = descent(Q, r).follow(Enough(50, np.inf, 0, level), 1e-3)
    assert not reached and gamma * alpha.sum() == pytest.approx(level)


def test_what_it_refuses_is_searched_for():
    rng = np.random.default_rng(0)
    Q = np.eye(FOLLOW_LIMIT + 50)
    r = np.sort(rng.uniform(0.5, 1, len(Q)))
    n = FOLLOW_LIMIT + 20
    assert descent(Q, r).follow(Enough(n, np.inf, 0, 0.0), 1e-3) is None
    assert descent(Q, r).follow(Enough(5, 0.0, np.inf, 0.0), 1e-3) is None  # on the way
    assert np.count_nonzero(enough_support(n, 1.0)(descent(Q, r).solver).alpha) == n
    indefinite = np.array([[1.0, 3.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = descent(indefinite, np.array([1.0, 0.9, 0.8])).follow(Enough(3, np.inf, 0, 0.0), 1e-3)
    assert found is None or np.count_nonzero(found.alpha) < 3
    assert descent(np.eye(3), np.zeros(3)).follow(Enough(1, np.inf, 0, 0.0), 1e-3) is None
