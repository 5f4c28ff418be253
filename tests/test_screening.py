"""Shortcuts of a certificate change nothing: columns not read, similarities in single precision."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mmfs import MMFS
from mmfs.columns import Adjustment, Columns, fetched
from mmfs.kernels import similarity_of
from mmfs.problem import Problem
from mmfs.target import encode_target
from tests.reference.explicit import standardised


def sparse_data(rng, n_rows, n_columns):
    """Rare and common columns, full ones far from zero, empty and constant ones, copies."""
    X = rng.standard_normal((n_rows, n_columns)) * (
        rng.random((n_rows, n_columns)) < rng.choice([0.02, 0.2, 0.6], n_columns)
    )
    X[:, 0], X[:, 1], X[:, 2] = 0.0, 3.0, X[:, 3]
    X[:, 4] = rng.standard_normal(n_rows) + 1e6
    X[:, 5] = rng.standard_normal(n_rows) + 3.0
    return X


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kernel=st.sampled_from(["aligned", "linear"]),
    n_classes=st.sampled_from([2, 4]),
    adjusted=st.sampled_from(["", "weights", "covariates", "not centred"]),
    change=st.sampled_from([0.0, 1e-3, 0.1, 1.0]),
    tau=st.sampled_from([1e-4, 1.0, 1e4]),
)
def test_columns_that_are_not_read_meet_their_margin(
    seed, kernel, n_classes, adjusted, change, tau
):
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(20, 60)), int(rng.integers(10, 80))
    X, y = sparse_data(rng, n_rows, n_columns), rng.integers(0, n_classes, n_rows)
    y[:n_classes] = np.arange(n_classes)
    adjustment = Adjustment(centered=adjusted != "not centred")
    if adjusted in ("weights", "covariates"):
        weights = rng.random(n_rows) + 0.1
        others = rng.standard_normal((n_rows, 2)) if adjusted == "covariates" else None
        adjustment = Adjustment.of(n_rows, weights, others)
    Y = encode_target(y, "classification").Y
    columns = Columns(sp.csc_array(X), adjustment=adjustment)
    columns.first_scan(adjustment.residual(adjustment.vectors(Y)))
    problem = Problem(similarity_of(kernel, columns, Y.shape[1]), tau, np.inf)

    known = problem.Q.fetch(np.sort(problem.Q.most_relevant(8)[0]))
    gamma = 10.0 ** rng.uniform(-2, 1)
    first = tau * rng.random(len(known.J)) * (rng.random(len(known.J)) < 0.7)
    first[0] = tau
    second = np.maximum(first + tau * change * rng.standard_normal(len(first)), 0.0)
    second[0] = tau
    n_others = int(rng.integers(1, 100))
    earlier = problem.certify(known, first, gamma)
    assert earlier.seen is not None
    found = problem.certify(known, second, gamma, n_others=n_others, earlier=earlier)
    expected = problem.certify(known, second, gamma, n_others=n_others)

    negative = expected.others.J[expected.others.gradient < -1e-9 * tau]
    assert set(negative) <= set(found.others.J[: len(expected.others.J)])
    exact = problem.certify(known, second, gamma, n_others=n_columns)  # of what is not told, bounds
    near = 1e-8 * tau**2
    assert exact.gap - near <= found.gap <= max(expected.gap, exact.gap) + near
    np.testing.assert_allclose(found.redundancy, expected.redundancy, atol=1e-9 * tau)
    told = dict(zip(expected.others.J, expected.others.gradient, strict=True))
    for j, gradient in zip(found.others.J, found.others.gradient, strict=True):
        if j in told and gradient < np.inf:
            np.testing.assert_allclose(gradient, told[j], atol=1e-9 * tau)


@pytest.mark.parametrize("tau", [1e-4, 1.0, 1e4])
def test_columns_that_just_violate_their_margin_are_told(tau):
    """What is known of redundancies is rounded to single precision, whatever their size."""
    rng = np.random.default_rng(2)
    columns = Columns(sp.csc_array(rng.standard_normal((50, 300))))
    columns.first_scan(encode_target(rng.integers(0, 2, 50), "classification").Y)
    problem = Problem(similarity_of("aligned", columns, 1), tau, np.inf)
    known = problem.Q.fetch(np.sort(problem.Q.most_relevant(8)[0]))
    alpha = tau * rng.random(8) / 8
    others = problem.certify(known, alpha, 1e-9, n_others=300).others
    tried = 0
    for j, gradient in zip(others.J, others.gradient, strict=True):
        if -0.2 * tau < gradient < -0.01 * tau:
            gamma = 1e-9 - (gradient + 1e-8 * tau) / alpha.sum()
            earlier = problem.certify(known, alpha, gamma)
            found = problem.certify(known, alpha, gamma, n_others=300, earlier=earlier)
            assert j in found.others.J
            tried += 1
    assert tried > 20


def test_screening_spares_columns():
    """What is certified is that of all columns, but few are read."""
    rng = np.random.default_rng(0)
    X = sp.csc_array(sparse_data(rng, 400, 3000))
    y = np.asarray(X[:, 6:26].sum(axis=1)).ravel() + 0.1 * rng.standard_normal(400) > 0
    columns = Columns(X)
    columns.first_scan(encode_target(y, "auto").Y)
    problem = Problem(similarity_of("aligned", columns, 1), 1.0, np.inf)
    known = problem.Q.fetch(np.sort(problem.Q.most_relevant(60)[0]))
    asked, scan_some = [], columns.source.scan_some
    columns.source.scan_some = lambda V, facts, which, *more: scan_some(
        V, facts, lambda *some: asked.append(which(*some)) or asked[-1], *more
    )
    alpha = rng.random(60)
    earlier = problem.certify(known, alpha, 0.05)
    problem.certify(known, alpha * (1 + 1e-3 * rng.random(60)), 0.05, earlier=earlier)
    assert 60 <= len(np.concatenate(asked)) < 1500


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_proposes_and_double_decides(order, dtype, monkeypatch):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((2000, 60))
    Z[:, :30:3] += 2 * Z[:, 1:31:3]
    X = np.asarray(Z * rng.uniform(0.01, 100, 60) + rng.uniform(-5, 5, 60), dtype, order=order)
    y = Z[:, :12].sum(axis=1) + rng.standard_normal(2000) > 0
    monkeypatch.setattr(fetched, "WORTH_SINGLE", np.inf)
    expected = MMFS(8).fit(X, y)
    kinds, gram_from = [], fetched.DenseBlock.gram_from

    def watched(block, start, single=False):
        kinds.append(single)
        return gram_from(block, start, single)

    monkeypatch.setattr(fetched.DenseBlock, "gram_from", watched)
    monkeypatch.setattr(fetched, "WORTH_SINGLE", 0)
    found = MMFS(8).fit(X, y)
    assert set(kinds) == {True, False}
    np.testing.assert_array_equal(found.indices_, expected.indices_)
    np.testing.assert_allclose(found.gamma_, expected.gamma_, rtol=1e-4)
    assert found.gap_ < 1e-5

    # Weights of the selection among itself, at the gamma that was found: by plain linear algebra.
    F = standardised(X.astype(np.float64))[:, found.indices_]
    t = y - y.mean()
    r = F.T @ t / np.linalg.norm(t)
    Q = F.T @ F * np.sign(r) * np.sign(r)[:, None]
    assert (found.weights_ > 0).all()
    np.testing.assert_allclose(
        found.weights_, np.linalg.solve(Q + found.gamma_, np.abs(r)), rtol=1e-9
    )
