"""The judge is itself judged: against linear programmes, the primal, and known solutions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from mmfs.kernels import FetchedColumns, Precomputed
from mmfs.problem import Problem, least, squared_bias_gap, violation
from mmfs.solvers import FixedGamma, SumToOne, solve
from tests.reference.explicit import (
    projected_gradient,
    squared_bias_objective,
    squared_bias_primal,
)

seeds = st.integers(0, 10_000)
gammas = st.floats(1e-3, 10)
bounds = st.sampled_from([0.02, 0.2, 1.0, np.inf])


def random_problem(seed, n=8, m=5):
    """A positive semi-definite Q with unit diagonal, of rank at most m, and relevances."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((m, n))
    F /= np.linalg.norm(F, axis=0)
    return F.T @ F, rng.uniform(0, 1, n)


def solved(Q, r, gamma, C, tol=1e-10):
    solution = solve(Problem(Precomputed(Q, r), 1.0, C), FixedGamma(gamma), tol=tol)
    alpha = np.zeros(len(r))
    alpha[solution.J] = solution.weights
    return alpha, solution


def certified(Q, r, C, alpha, gamma, J=None):
    """The certificate of alpha, of which only the columns J (None: the support) are fetched."""
    J = np.flatnonzero(alpha) if J is None else J
    fetched = FetchedColumns(J, r[J])
    return Problem(Precomputed(Q, r), 1.0, C).certify(fetched, alpha[J], gamma)


@given(seeds, st.sampled_from([0.3, 1.0, np.inf]), st.floats(0.1, 5), st.booleans())
def test_least_is_a_linear_programme(seed, C, total, exact):
    G = np.random.default_rng(seed).standard_normal(6)
    if exact and 6 * C < total:
        return
    row = {"A_eq" if exact else "A_ub": np.ones((1, 6)), "b_eq" if exact else "b_ub": [total]}
    expected = linprog(G, bounds=(0, None if C == np.inf else C), **row).fun
    assert least(G, C, total, exact) == pytest.approx(expected, abs=1e-9)


@given(seeds, gammas, st.sampled_from([0.05, 0.3, 1.0]))
def test_gap_with_the_box_alone_is_primal_minus_dual(seed, gamma, C):
    Q, r = random_problem(seed)
    alpha = np.random.default_rng(seed).uniform(0, C, len(r))
    G = Q @ alpha + gamma * alpha.sum() - r
    by_terms = (alpha * np.maximum(G, 0) + (C - alpha) * np.maximum(-G, 0)).sum()
    dual = -squared_bias_objective(alpha, Q, r, gamma)
    assert by_terms == pytest.approx(squared_bias_primal(alpha, Q, r, gamma, C) - dual)
    assert by_terms == pytest.approx(alpha @ G - least(G, C, np.inf))
    gap = squared_bias_gap(alpha.sum(), alpha @ G, G, r.max(), C, gamma)
    assert gap <= by_terms + 1e-12


@given(seeds, gammas, bounds)
def test_gap_bounds_the_distance_to_the_optimum(seed, gamma, C):
    Q, r = random_problem(seed)
    best = squared_bias_objective(solved(Q, r, gamma, C)[0], Q, r, gamma)
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0, min(C, 1), len(r)) * (rng.random(len(r)) < 0.5)
    exact = certified(Q, r, C, alpha, gamma, np.arange(len(r)))
    for some in (certified(Q, r, C, alpha, gamma), exact):
        assert some.objective == pytest.approx(squared_bias_objective(alpha, Q, r, gamma))
        assert some.objective - best <= some.gap + 1e-9
        # What is not told of the others is bounded, on the safe side.
        assert some.gap >= exact.gap - 1e-12
        assert some.violation == pytest.approx(exact.violation)


@given(seeds, gammas, bounds)
def test_solution_is_optimal_by_first_principles(seed, gamma, C):
    """Conditions rebuilt from alpha alone, projected gradient, and random feasible moves."""
    Q, r = random_problem(seed)
    alpha, solution = solved(Q, r, gamma, C)
    G = Q @ alpha + gamma * alpha.sum() - r
    assert (G[alpha == 0] >= -1e-7).all()
    assert (G[alpha >= C] <= 1e-7).all()
    assert np.abs(G[(alpha > 0) & (alpha < C)]).max(initial=0) <= 1e-7
    assert solution.certificate.violation == pytest.approx(violation(alpha, G, C))
    best = squared_bias_objective(alpha, Q, r, gamma)
    slow = projected_gradient(Q, r, gamma, min(C, 1e6), n=2000)
    assert best <= squared_bias_objective(slow, Q, r, gamma) + 1e-9
    rng = np.random.default_rng(seed)
    for _ in range(100):
        other = np.clip(alpha + 0.1 * rng.standard_normal(len(r)), 0, C)
        assert best <= squared_bias_objective(other, Q, r, gamma) + 1e-12


@given(seeds, st.sampled_from([0.2, 0.5, np.inf]))
def test_constrained_gap_bounds_the_distance_to_the_optimum(seed, C):
    Q, r = random_problem(seed)
    solution = solve(Problem(Precomputed(Q, r), 1.0, C), SumToOne(r.max(), C), tol=1e-10)
    assert solution.alpha.sum() == pytest.approx(1, abs=1e-12)
    inside = (solution.alpha > 0) & (solution.alpha < C)
    np.testing.assert_allclose(solution.certificate.gradient[inside], 0, atol=1e-7)
    best = solution.certificate.objective
    alpha = np.full(len(r), 1 / len(r))
    found = certified(Q, r, C, alpha, None)
    assert found.objective - best <= found.gap + 1e-9
    few = np.zeros(len(r))
    few[: int(np.ceil(1 / min(C, 1)))] = 1 / np.ceil(1 / min(C, 1))
    found = certified(Q, r, C, few, None)
    exact = certified(Q, r, C, few, None, np.arange(len(r)))
    assert found.objective - best <= found.gap + 1e-9
    assert found.gap == pytest.approx(exact.gap) and found.b == pytest.approx(exact.b)


# Facts F1 to F8, in the order of the mathematics.


@given(seeds, gammas, bounds, st.floats(0.1, 10))
def test_f1_homogeneity(seed, gamma, C, t):
    Q, r = random_problem(seed, m=20)  # full rank: alpha is unique
    np.testing.assert_allclose(
        solved(Q, t * r, gamma, t * C)[0], t * solved(Q, r, gamma, C)[0], atol=1e-6 * t
    )


@given(seeds, gammas, st.floats(0.1, 0.9))
def test_f2_theta_inside_the_objective_rescales_gamma(seed, gamma, theta):
    Q, r = random_problem(seed, m=20)
    tau = theta / (1 - theta)
    inside = solved((1 - theta) * Q, theta * r, gamma, np.inf)[0]
    np.testing.assert_allclose(
        inside, solved(Q, tau * r, gamma / (1 - theta), np.inf)[0], atol=1e-6
    )


@given(seeds, gammas, st.integers(10, 500))
def test_f3_scale_of_the_paper(seed, gamma, M):
    """Columns of norm sqrt(M) and relevance M r have gamma M for the same alpha."""
    Q, r = random_problem(seed, m=20)
    np.testing.assert_allclose(
        solved(M * Q, M * r, M * gamma, 1.0)[0], solved(Q, r, gamma, 1.0)[0], atol=1e-6
    )


@given(seeds, gammas)
def test_f4_nonnegative_similarities_bound_alpha(seed, gamma):
    Q, r = random_problem(seed)
    alpha = solved(Q**2, r, gamma, np.inf)[0]
    assert (alpha <= r / (1 + gamma) + 1e-8).all()


@pytest.mark.slow
@given(seeds, gammas, bounds)
def test_f5_fixed_bias_has_the_same_solution(seed, gamma, C):
    Q, r = random_problem(seed, m=20)
    alpha = solved(Q, r, gamma, C)[0]
    b = gamma * alpha.sum()
    np.testing.assert_allclose(
        projected_gradient(Q, r - b, 0.0, min(C, 1e6), n=3000), alpha, atol=1e-5
    )


@given(seeds)
def test_f6_one_feature_beyond_gamma_max(seed):
    Q, r = random_problem(seed)
    top = r.argmax()
    others = np.delete(np.arange(len(r)), top)
    gamma_max = ((r[others] * Q[top, top] - Q[others, top] * r[top]) / (r[top] - r[others])).max()
    gamma = max(gamma_max, 0.0) * 1.01 + 1e-6
    alpha = solved(Q, r, gamma, np.inf)[0]
    assert np.flatnonzero(alpha).tolist() == [top]
    assert alpha[top] == pytest.approx(r[top] / (Q[top, top] + gamma), rel=1e-6)
    if gamma_max > 1e-3:
        assert np.count_nonzero(solved(Q, r, 0.99 * gamma_max, np.inf)[0]) > 1


@given(seeds)
def test_f8_weights_and_gradient_are_unique_where_alpha_is_not(seed):
    Q, r = random_problem(seed, n=10, m=3)
    Q = np.vstack([np.hstack([Q, Q]), np.hstack([Q, Q])])  # every column twice
    r = np.concatenate([r, r])
    a, b = (
        solve(
            Problem(Precomputed(Q, r), 1.0, np.inf),
            FixedGamma(0.05),
            tol=1e-10,
            rng=np.random.default_rng(i),
        ).certificate
        for i in (0, 1)
    )
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-5)
    assert a.objective == pytest.approx(b.objective, rel=1e-9)


@given(seeds, gammas, bounds)
def test_gap_safe_screening_never_discards_wrongly(seed, gamma, C):
    Q, r = random_problem(seed)
    best = solved(Q, r, gamma, C, tol=1e-12)[0]
    rng = np.random.default_rng(seed)
    alpha = np.clip(best + 0.02 * rng.standard_normal(len(r)), 0, C)
    G = Q @ alpha + gamma * alpha.sum() - r
    gap = squared_bias_gap(alpha.sum(), alpha @ G, G, r.max(), C, gamma)
    radius = np.sqrt(2 * max(gap, 0) * (np.diagonal(Q) + gamma))
    assert (best[radius < G] <= 1e-6).all()
    if C < np.inf:
        assert (best[-radius > G] >= C - 1e-6).all()
