"""Every place for data gives the answers of explicit standardisation."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mmfs.columns import Adjustment, Columns
from mmfs.sources import ArraySource, Compressed
from mmfs.sources import array as array_module
from mmfs.sources import base as base_module
from mmfs.sources import compressed as compressed_module
from tests.elsewhere import ELSEWHERE
from tests.reference.explicit import standardised


def example(n_rows=30, n_columns=25, density=0.3):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < density)
    X[:, 3] = 0  # empty
    X[:, 4] = 2.5  # constant, every entry stored
    X[:, 5] = rng.standard_normal(n_rows) + 1e4  # a large offset
    return X


def with_wide_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def read_only(X):
    X = X.copy()
    for name in ("data", "indices", "indptr"):
        if hasattr(X, name) and not isinstance(X, np.ndarray):
            getattr(X, name).flags.writeable = False
    if isinstance(X, np.ndarray):
        X.flags.writeable = False
    return X


PLACES = {
    "c_order": np.ascontiguousarray,
    "f_order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, 0), 2, 1)[::2, ::2],
    "read_only": read_only,
    "csc_array": sp.csc_array,
    "csr_array": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "csr_matrix": sp.csr_matrix,
    "csc_int64": lambda X: with_wide_indices(sp.csc_array(X)),
    "csr_int64": lambda X: with_wide_indices(sp.csr_array(X)),
    "csc_read_only": lambda X: read_only(sp.csc_array(X)),
    **ELSEWHERE,
}


def as_columns(X, center=True, n_jobs=None):
    return Columns(X, adjustment=Adjustment(center), n_jobs=n_jobs)


def moments(columns, V):
    columns.first_scan(V)
    return columns.everything.products


def centred_vectors(n_rows, q=3):
    V = np.random.default_rng(2).standard_normal((n_rows, q))
    return V - V.mean(axis=0)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("place", PLACES)
def test_agrees_with_explicit_standardisation(place, center):
    X = example()
    F, V = standardised(X, center), centred_vectors(len(X))
    columns = as_columns(PLACES[place](X), center=center)
    if place not in ELSEWHERE:
        kind = Compressed if place.startswith("cs") else ArraySource
        assert isinstance(columns.source, kind)

    np.testing.assert_allclose(moments(columns, V), F.T @ V, atol=1e-8)
    not_centred = V + 1.0
    np.testing.assert_allclose(columns.project(not_centred), F.T @ not_centred, atol=1e-8)
    np.testing.assert_allclose(columns.project(V[:, :1]), F.T @ V[:, :1], atol=1e-8)
    assert np.array_equal(columns.usable, np.linalg.norm(F, axis=0) > 0)

    J, K = np.array([7, 5, 0]), np.array([8, 5])
    a, b = columns.fetch(J), columns.fetch(K)
    np.testing.assert_allclose(a.dense(), F[:, J], atol=1e-8)
    np.testing.assert_allclose(a.gram(b), F[:, J].T @ F[:, K], atol=1e-7)
    weights = np.arange(10.0).reshape(5, 2)
    both = a.join(b)
    np.testing.assert_allclose(both.combine(weights), F[:, [*J, *K]] @ weights, atol=1e-7)
    kept = both.only(np.array([True, False, False, True, False]))
    np.testing.assert_allclose(kept.dense(), F[:, [7, 8]], atol=1e-8)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i4", "i8", "u2", "?", "g"])
@pytest.mark.parametrize("place", ["c_order", "f_order", "csc_array", "csr_array"])
def test_all_real_types(place, dtype):
    X = np.rint(3 * example()).astype(dtype)
    V = centred_vectors(len(X))
    columns = as_columns(PLACES[place](X))
    np.testing.assert_allclose(moments(columns, V), standardised(X).T @ V, atol=1e-6)
    np.testing.assert_allclose(columns.project(V), standardised(X).T @ V, atol=1e-6)


def test_memory_mapped(tmp_path):
    X = sp.csc_array(example())
    V = centred_vectors(X.shape[0])
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
    parts = (np.load(tmp_path / f"{n}.npy", mmap_mode="r") for n in ("data", "indices", "indptr"))
    mapped = sp.csc_array(tuple(parts), shape=X.shape)
    np.testing.assert_array_equal(moments(as_columns(mapped), V), moments(as_columns(X), V))
    np.save(tmp_path / "dense.npy", X.toarray())
    dense = np.load(tmp_path / "dense.npy", mmap_mode="r")
    np.testing.assert_allclose(
        moments(as_columns(dense), V), moments(as_columns(X), V), rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csr_array])
def test_unsorted_and_repeated_entries_are_put_in_order_in_a_copy(kind):
    X = kind(example())
    # Halve every entry and store it twice, out of order.
    indptr = 2 * X.indptr
    indices = np.concatenate(
        [np.tile(X.indices[a:b][::-1], 2) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    )
    data = np.concatenate(
        [np.tile(X.data[a:b][::-1] / 2, 2) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
    )
    messy = kind((data, indices, indptr), shape=X.shape)
    before = (messy.data.copy(), messy.indices.copy())
    V = centred_vectors(X.shape[0])
    columns = as_columns(messy)
    np.testing.assert_allclose(moments(columns, V), moments(as_columns(X), V), atol=1e-12)
    np.testing.assert_allclose(columns.project(V), standardised(X).T @ V, atol=1e-8)
    assert np.array_equal(messy.data, before[0]) and np.array_equal(messy.indices, before[1])


@pytest.mark.parametrize("place", ["c_order", "f_order", "csc_array", "csr_array"])
def test_answers_do_not_depend_on_threads_or_portions(place, monkeypatch):
    for module in (base_module, compressed_module):
        monkeypatch.setattr(module, "WORTH_THREADS", 0)
    monkeypatch.setattr(compressed_module, "ENTRIES_AT_MOST", 5)
    monkeypatch.setattr(array_module, "TILE", 64)
    monkeypatch.setattr(array_module, "SHARE", 50)
    monkeypatch.setattr(array_module, "TILE_WIDTH", 7)
    X = PLACES[place](example(n_columns=60))
    V = centred_vectors(X.shape[0])
    one, two = as_columns(X, n_jobs=1), as_columns(X, n_jobs=2)
    cut = getattr(one.source, "_blocks", getattr(one.source, "_shares", None))
    assert len(cut(2) if "csr" in place or "csc" in place else cut()) > 5
    np.testing.assert_array_equal(moments(one, V), moments(two, V))
    np.testing.assert_array_equal(one.project(V), two.project(V))
    np.testing.assert_allclose(one.project(V), standardised(X).T @ V, atol=1e-8)
    for columns in (one, two):
        taken = columns.fetch(np.array([9, 0, 59, 9])).dense()
        np.testing.assert_allclose(taken, standardised(X)[:, [9, 0, 59, 9]], atol=1e-8)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [33, 90])
def test_products_with_a_combination_need_not_hold_it(n_rows, dtype, center, monkeypatch):
    """By several shares, also of columns far from zero, and where a row more is not enough."""
    monkeypatch.setattr(array_module, "SHARE", 1000)
    X = example(n_rows).astype(dtype)
    X[:, 6] += dtype(2.0**20)
    columns = as_columns(X, center)
    columns.first_scan(centred_vectors(n_rows))
    J = np.array([6, 20, 0, 5, 11])
    block, weights = columns.fetch(J), np.random.default_rng(3).standard_normal((len(J), 1))
    products = lambda facts, products: products  # noqa: E731
    F = standardised(X.astype(np.float64), center)
    monkeypatch.setattr(type(block), "combine", None)
    found = np.concatenate(columns.scan_combined(block, weights, products))
    assert columns.n_scans == 2
    np.testing.assert_allclose(found, F.T @ (F[:, J] @ weights), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_of_long_rows_are_copied_once(dtype):
    rng = np.random.default_rng(4)
    X = (rng.standard_normal((12, 5000)) + 3).astype(dtype)
    few, more, F = np.array([4999, 2, 77]), np.array([5, 0]), standardised(X.astype(np.float64))
    columns = as_columns(X)
    columns.first_scan(centred_vectors(12))
    block, many = columns.fetch(few), columns.fetch(np.arange(5000))
    assert block.X.shape == (12, 3) and many.X is X
    both, J = block.join(columns.fetch(more)), np.append(few, more)
    assert both.X.flags.c_contiguous and both.X.shape == (12, 5)
    for some, K in ((block, few), (both, J), (both.only(np.array([3, 1])), J[[3, 1]])):
        np.testing.assert_allclose(some.dense(), F[:, K], atol=1e-12)
        np.testing.assert_allclose(some.gram(some), F[:, K].T @ F[:, K], atol=1e-12)
    np.testing.assert_allclose(both.gram_from(3), F[:, J].T @ F[:, more], atol=1e-12)


def test_threads_are_for_large_data(monkeypatch):
    started = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, n_threads):
            started.append(n_threads)
            super().__init__(n_threads)

    monkeypatch.setattr(base_module, "ThreadPoolExecutor", Pool)
    for store in (np.asarray, sp.csc_array, sp.csr_array):
        columns = as_columns(store(example()), n_jobs=2)
        monkeypatch.setattr(base_module, "WORTH_THREADS", 1 << 22)
        moments(columns, centred_vectors(columns.shape[0]))
        assert not started
        monkeypatch.setattr(base_module, "WORTH_THREADS", 0)
        moments(columns, centred_vectors(columns.shape[0]))
        assert set(started) == {2}
        started.clear()


@pytest.mark.parametrize("place", ["c_order", "f_order", "csc_array", "csr_array"])
@pytest.mark.parametrize("n_cuts", [1, 2, 5])
def test_states_are_counted_against_every_labelling(place, n_cuts):
    X = example()
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.standard_normal((X.shape[1], n_cuts)), axis=1)
    cuts[0] = cuts[1, :] = X[0, 0]  # a cut on a value: that value is below it
    cuts[2] = np.inf
    labels = rng.integers(-1, 3, (len(X), 2))  # -1: left out
    columns = as_columns(PLACES[place](X))
    moments(columns, centred_vectors(len(X)))
    counts = columns.counts(cuts, labels, 4, 0, X.shape[1])
    part = columns.counts(cuts, labels, 4, 2, 5)
    np.testing.assert_array_equal(part, counts[2:5])
    states = (X[:, :, None] > cuts).sum(axis=2)
    assert counts.shape == (X.shape[1], n_cuts + 1, 2, 4)
    for state in range(n_cuts + 1):
        for c in range(2):
            for label in range(4):
                expected = (states[labels[:, c] == label] == state).sum(axis=0)
                np.testing.assert_array_equal(counts[:, state, c, label], expected)
    np.testing.assert_array_equal(columns.values(np.array([2, 0])), X[:, [2, 0]])


@given(
    arrays(
        float,
        st.tuples(st.integers(2, 8), st.integers(1, 6)),
        elements=st.sampled_from([0.0, 0.0, 1.0, -2.5, 1000.125, 3e-4]),
    )
)
def test_places_agree_on_any_matrix(X):
    V = centred_vectors(len(X), 2)
    expected = standardised(X).T @ V
    for place in ("c_order", "f_order", "csc_array", "csr_array"):
        np.testing.assert_allclose(
            moments(as_columns(PLACES[place](X)), V), expected, atol=1e-8, err_msg=place
        )


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csr_array])
def test_large_offsets_in_sparse_columns(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 6))
    columns = as_columns(kind(X + 1e7))
    moments(columns, centred_vectors(50))
    block = columns.fetch(np.arange(6))
    np.testing.assert_allclose(block.gram(block), np.corrcoef(X.T), atol=1e-7)


@pytest.mark.parametrize("density", [0.0, 0.002, 0.3])
@pytest.mark.parametrize("n", [1, 700])
def test_correlations_of_many_sparse_columns(n, density):
    """More than are worked on at a time, with rows that are empty and rows that are full."""
    X = sp.random(150, n + 3, density, format="lil", random_state=1)
    X[7] = 1.0 + np.arange(n + 3)
    columns = as_columns(sp.csc_array(X))
    moments(columns, centred_vectors(150))
    F, some = standardised(X.toarray()), np.r_[n, 0, n + 2]
    block, others = columns.fetch(np.arange(n)), columns.fetch(some)
    np.testing.assert_allclose(block.gram(block), F[:, :n].T @ F[:, :n], atol=1e-12)
    np.testing.assert_allclose(block.gram(others), F[:, :n].T @ F[:, some], atol=1e-12)
    np.testing.assert_allclose(others.gram(block), F[:, some].T @ F[:, :n], atol=1e-12)


def test_bad_row_numbers_are_refused():
    X = sp.csc_array(example())
    X.indices = X.indices.copy()
    X.indices[-1] = 10_000
    with pytest.raises(ValueError):
        moments(as_columns(X), centred_vectors(X.shape[0]))


@pytest.mark.parametrize("portion", [5, 15, 50])
def test_unsorted_rows_are_noticed_in_every_portion(portion, monkeypatch):
    """Rows are entered by a search, which is at a loss where they are not sorted."""
    monkeypatch.setattr(compressed_module, "ENTRIES_AT_MOST", portion)
    rng = np.random.default_rng(0)
    dense = example(n_columns=60)
    V = centred_vectors(len(dense))
    expected = moments(as_columns(sp.csr_array(dense)), V)
    for _ in range(100):
        X = sp.csr_array(dense)
        row = slice(*X.indptr[(i := rng.integers(len(dense))) : i + 2])
        order = rng.permutation(row.stop - row.start)
        X.indices[row], X.data[row] = X.indices[row][order], X.data[row][order]
        X.has_sorted_indices = X.has_canonical_format = False
        np.testing.assert_allclose(moments(as_columns(X), V), expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i2", ">i4", ">i8", "<f2", ">f2"])
@pytest.mark.parametrize("kind", [sp.csc_array, sp.csr_array])
def test_numbers_in_any_byte_order(kind, dtype):
    """Numba does not ask, and would read the bytes the wrong way round."""
    other = kind(np.rint(3 * example()))
    other.data = other.data.astype(dtype)
    X = other.astype(np.float64).toarray()
    expected = moments(as_columns(kind(X)), centred_vectors(len(X)))
    other.indices = other.indices.astype(">i4")
    columns = as_columns(other)
    np.testing.assert_allclose(moments(columns, centred_vectors(len(X))), expected, atol=1e-9)
