"""The walk along b: every solution it passes is optimal, and it ends where it should."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmfs._compiled.active_set import Enough
from mmfs.solvers.exact import ExactDescent, OfGram
from mmfs.solvers.gamma_search import InnerSolver, LargestGamma
from mmfs.solvers.qp import solve_dual
from mmfs.solvers.tuning import FOLLOW_LIMIT, GAMMA_MAX, LEAST_LEFT


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


def until(n, level=np.inf, most=0, lowest=0.0):
    return Enough(n, level, most, lowest, GAMMA_MAX)


def largest(n, r_max):
    return LargestGamma(n, lowest=LEAST_LEFT * r_max)


def descent(Q, r, C=1.0):
    return ExactDescent(OfGram(Q), r, C, 1e-10, np.random.default_rng(0))


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
    found = descent(Q, r, C).follow(until(n, lowest=0.01 * r.max()), 1e-3)
    unbounded = kernel == "linear" and np.isinf(C)  # weights may grow without end
    if found is None:  # as it may be also where several columns enter at once
        assert unbounded or whole_numbers
        return
    alpha, gamma, reached = found
    b = gamma * alpha.sum()
    assert not reached or np.count_nonzero(alpha) >= n or unbounded
    assert reached or b == pytest.approx(0.01 * r.max())
    assert gamma <= GAMMA_MAX * (1 + 1e-9)
    left = r - Q @ alpha
    free = (alpha > 0) & (alpha < C)
    np.testing.assert_allclose(left[free], b, atol=1e-8)
    assert (left[alpha == 0] <= b + 1e-8).all() and (left[alpha >= C] >= b - 1e-8).all()


def test_it_is_the_solution_of_a_general_solver():
    Q, r = problem(40, 60, "aligned", False, np.random.default_rng(1))
    for n in (1, 5, 20, 30):
        alpha, gamma, reached = descent(Q, r).follow(until(n), 1e-3)
        assert reached and np.count_nonzero(alpha) == n
        np.testing.assert_allclose(alpha, solve_dual(Q, r, 1.0, gamma)[0], atol=1e-5)


def test_there_is_no_larger_gamma_with_as_many():
    Q, r = problem(40, 60, "aligned", False, np.random.default_rng(2))
    for n in (2, 10, 25):
        walked = largest(n, r.max())(descent(Q, r).solver)
        searched = largest(n, r.max())(InnerSolver(descent(Q, r).solve))
        assert walked.gamma == pytest.approx(searched.gamma, rel=3e-3)
        above = descent(Q, r).solve(1.005 * walked.gamma, 0.0)
        assert np.count_nonzero(above) < n <= np.count_nonzero(walked.alpha)


def test_down_to_a_level_unless_there_are_too_many():
    Q, r = problem(40, 60, "aligned", False, np.random.default_rng(3))
    level = 0.3 * r.max()
    alpha, gamma, reached = descent(Q, r).follow(until(2, level, np.inf), 1e-3)
    assert reached and gamma * alpha.sum() == pytest.approx(level)
    n_there = np.count_nonzero(alpha)
    alpha, gamma, reached = descent(Q, r).follow(until(2, level, n_there - 1), 1e-3)
    assert reached and gamma * alpha.sum() > level and np.count_nonzero(alpha) == n_there - 1
    alpha, gamma, reached = descent(Q, r).follow(until(50, lowest=level), 1e-3)
    assert not reached and gamma * alpha.sum() == pytest.approx(level)


def test_what_it_refuses_is_searched_for():
    rng = np.random.default_rng(0)
    Q = np.eye(FOLLOW_LIMIT + 50)
    r = np.sort(rng.uniform(0.5, 1, len(Q)))
    n = FOLLOW_LIMIT + 20
    assert descent(Q, r).follow(until(n), 1e-3) is None
    assert descent(Q, r).follow(until(5, 0.0, np.inf), 1e-3) is None  # on the way
    assert np.count_nonzero(largest(n, 1.0)(descent(Q, r).solver).alpha) == n
    indefinite = np.array([[1.0, 3.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    found = descent(indefinite, np.array([1.0, 0.9, 0.8])).follow(until(3), 1e-3)
    assert found is None or np.count_nonzero(found.alpha) < 3
    assert descent(np.eye(3), np.zeros(3)).follow(until(1), 1e-3) is None


def test_a_column_that_nearly_ties_has_no_weight_yet():
    """What is counted as entered has a weight that is not rounded away."""
    r = np.array([1, 0.8, 0.5, 0.5 - 1e-11, 0.3, 0.2])
    alpha, _, reached = descent(np.eye(6), r).follow(until(3), 1e-3)
    assert reached and np.count_nonzero(alpha) == 4


def test_gamma_has_an_upper_limit():
    r = np.array([0.5, 0.5 - 1e-11, 0.5 - 2e-11])
    alpha, gamma, reached = descent(np.eye(3), r).follow(until(1), 1e-3)
    assert reached and gamma == pytest.approx(GAMMA_MAX) and np.count_nonzero(alpha) == 3


def test_it_does_not_turn_in_circles():
    """Some of these problems tie without end: then a search finds the answer."""
    for seed in (791, 1794, 7522):
        rng = np.random.default_rng(seed)
        Q, r = problem(*rng.integers([4, 5], [50, 100]), "linear", True, rng)
        n = int(rng.integers(1, len(r) + 1))
        found = largest(n, r.max())(descent(Q, r, 0.3).solver)
        b = found.gamma * found.alpha.sum()
        assert np.count_nonzero(found.alpha) >= n or b <= 0.0101 * r.max()
