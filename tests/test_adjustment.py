"""Row weights and covariates change vectors of a scan and scales of columns, not the data."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from mmfs.columns import Adjustment, Columns
from tests.elsewhere import ELSEWHERE
from tests.reference.explicit import standardised

PLACES = {"array": np.asarray, "csc": sp.csc_array, "csr": sp.csr_array, **ELSEWHERE}
N_ROWS, N_COLUMNS = 40, 12


def example(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, N_COLUMNS)) * (rng.random((N_ROWS, N_COLUMNS)) < 0.4)
    X[:, 1] = 3.0  # constant, every entry stored
    X[:, 2] = rng.standard_normal(N_ROWS) + 1e5  # far from zero
    X[:, 3] = 0.0
    return X, rng


def residuals(X, Z, weights):
    """Weighted least squares residuals of every column, scaled to unit norm; by `lstsq`."""
    root = np.sqrt(weights)[:, None]
    Z, X = root * np.column_stack([np.ones(len(X)), Z]), root * X
    F = X - Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    norms = np.linalg.norm(F, axis=0)
    return np.divide(F, norms, out=np.zeros_like(F), where=norms > 1e-6 * np.linalg.norm(X, axis=0))


def check(X, F, adjustment, Y, atol):
    """Everything that is asked of columns, against explicit ones."""
    columns = Columns(X, adjustment=adjustment)
    columns.first_scan(Y)
    facts = columns.everything
    assert np.array_equal(facts.inverse > 0, np.linalg.norm(F, axis=0) > 0)
    np.testing.assert_allclose(facts.products, F.T @ Y, atol=atol)
    V = np.random.default_rng(5).standard_normal((len(F), 2)) + 1.0
    np.testing.assert_allclose(columns.project(V), F.T @ V, atol=atol)
    J, K = np.array([7, 2, 0, 1]), np.array([4, 2])
    a, b = columns.fetch(J), columns.fetch(K)
    np.testing.assert_allclose(a.dense(), F[:, J], atol=atol)
    np.testing.assert_allclose(a.gram(b), F[:, J].T @ F[:, K], atol=atol)
    weights = np.arange(12.0).reshape(6, 2)
    both = a.join(b)
    np.testing.assert_allclose(both.combine(weights), F[:, [*J, *K]] @ weights, atol=20 * atol)
    A = both.only(np.array([0, 3, 4])).operator()
    np.testing.assert_allclose(A.T @ V, F[:, [7, 1, 4]].T @ V, atol=atol)


@pytest.mark.parametrize("place", PLACES)
def test_whole_number_weights_are_repeated_rows(place):
    X, rng = example()
    weights = rng.integers(0, 4, N_ROWS)
    rows = np.repeat(np.arange(N_ROWS), weights)
    y = rng.standard_normal(N_ROWS)
    adjustment = Adjustment.of(N_ROWS, weights)
    Y = adjustment.residual(adjustment.vectors(y[:, None]))
    repeated = standardised(X[rows])
    columns = Columns(PLACES[place](X), adjustment=adjustment)
    columns.first_scan(Y)
    expected = repeated.T @ (y[rows] - y[rows].mean())[:, None]
    np.testing.assert_allclose(columns.everything.products, expected, atol=1e-10)
    block = columns.fetch(np.arange(N_COLUMNS))
    np.testing.assert_allclose(block.gram(block), repeated.T @ repeated, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_covariates", [0, 1, 3])
@pytest.mark.parametrize("place", PLACES)
def test_covariates_leave_the_residuals_of_columns(place, n_covariates, weighted):
    X, rng = example()
    Z = rng.standard_normal((N_ROWS, n_covariates)) + 10.0
    if n_covariates:
        X[:, 5] = 2 * Z[:, 0] - 7  # explained
    weights = rng.uniform(0.1, 3, N_ROWS) if weighted else np.ones(N_ROWS)
    adjustment = Adjustment.of(N_ROWS, weights if weighted else None, Z if n_covariates else None)
    Y = adjustment.residual(rng.standard_normal((N_ROWS, 2)))
    check(PLACES[place](X), residuals(X, Z, weights), adjustment, Y, atol=1e-10)


def test_covariates_that_depend_on_others_add_nothing():
    X, rng = example()
    Z = rng.standard_normal((N_ROWS, 2))
    more = np.column_stack([Z, Z @ [1.0, -2.0], np.full(N_ROWS, 4.0)])
    assert Adjustment.of(N_ROWS, None, more).n_covariates == 2
    adjustment = Adjustment.of(N_ROWS, None, more)
    Y = adjustment.residual(rng.standard_normal((N_ROWS, 1)))
    check(X, residuals(X, Z, np.ones(N_ROWS)), adjustment, Y, atol=1e-10)


@given(st.integers(0, 10**6), st.sampled_from(["array", "csc", "csr", "dense_rows"]))
def test_a_weight_of_zero_leaves_a_row_out(seed, place):
    X, rng = example(seed)
    weights = (rng.random(N_ROWS) < 0.7) * rng.uniform(0.5, 2, N_ROWS)
    Z = rng.standard_normal((N_ROWS, 2))
    kept = weights > 0
    found = []
    for rows in (slice(None), kept):
        adjustment = Adjustment.of(len(X[rows]), weights[rows], Z[rows])
        y = adjustment.residual(adjustment.vectors(X[rows, :1] + Z[rows, :1] ** 2))
        columns = Columns(PLACES[place](X[rows]), adjustment=adjustment)
        columns.first_scan(y)
        block = columns.fetch(np.arange(N_COLUMNS))
        found.append((columns.everything.products, block.gram(block)))
    for with_all, without in zip(*found, strict=True):
        np.testing.assert_allclose(with_all, without, atol=1e-10)


@pytest.mark.parametrize("place", ["csc", "csr", "store", "csr_rows"])
def test_a_missing_entry_is_zero_however_far_the_others_are(place):
    """Little may be left of a column by its covariates, or a row weigh next to nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_COLUMNS)) * 0.01 + 5.0
    X[3, :] = 0.0
    nearly = X[:, :1] + 1e-3 * rng.standard_normal((N_ROWS, 1))
    light = np.ones(N_ROWS)
    light[3] = 1e-6
    for weights, Z in ((np.ones(N_ROWS), nearly), (light, np.empty((N_ROWS, 0)))):
        adjustment = Adjustment.of(N_ROWS, weights, Z if Z.size else None)
        Y = adjustment.residual(rng.standard_normal((N_ROWS, 1)))
        check(PLACES[place](X), residuals(X, Z, weights), adjustment, Y, atol=1e-8)
