"""Columns without entries are left out: nothing changes but time and memory."""

import numpy as np
import pytest
import scipy.sparse as sp

from mmfs import MMFS
from mmfs.sources import as_source

# Columns of which half and a few more are empty.
HALF = 500


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    rows = sp.random_array((60, 300), density=0.2, rng=rng, format="csc")
    wide = sp.lil_array((60, 2 * HALF))
    used = np.sort(rng.choice(wide.shape[1], 300, replace=False))
    wide[:, used] = rows
    y = np.asarray(rows[:, [3, 50, 120]].sum(axis=1) > 0.4)
    return sp.csc_array(wide), y, rows, used


@pytest.mark.parametrize("form", [sp.csc_array, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("options", [{}, {"center": False}, {"kernel": "linear", "gamma": 0.05}])
def test_the_selection_is_that_without_them(data, form, options):
    X, y, narrow, used = data
    expected = MMFS(8, **options).fit(narrow, y)
    got = MMFS(8, keep_scores=True, **options).fit(form(X), y)
    assert got.indices_.tolist() == used[expected.indices_].tolist()
    assert got.n_features_in_ == X.shape[1] == len(got.alpha_) == len(got.support_)
    np.testing.assert_allclose(got.alpha_[used], expected.alpha_, atol=1e-9)
    assert got.n_constant_ == expected.n_constant_ + X.shape[1] - 300
    for name, of_empty in {"relevance_": 0, "redundancy_": 0, "gradient_": got.b_}.items():
        values = getattr(got, name)
        np.testing.assert_allclose(values[used], getattr(expected, name), atol=1e-9)
        np.testing.assert_allclose(np.delete(values, used), of_empty, atol=1e-9)
    assert got.transform(X).shape == (60, 8)


def test_numbers_in_words_are_those_of_the_data(data):
    X, y, _, used = data
    with pytest.raises(ValueError, match=f"more than the 300 usable columns .* {2 * HALF:,}"):
        MMFS(301).fit(X, y)
    assert len(MMFS(0.01).fit(X, y).indices_) == 10
    X.data[X.indptr[used[7]]] = np.inf
    with pytest.raises(ValueError, match=f"infinity in row .*, column {used[7]};"):
        MMFS(3).fit(X, y)


def test_relevances_of_ones_own_are_for_all_columns(data):
    X, y, _, used = data
    r = np.zeros(X.shape[1])
    r[used[:20]] = np.linspace(1, 0.5, 20)
    for relevance in (r, lambda X, y: r):
        assert MMFS(1, rank="alpha", relevance=relevance).fit(X, y).indices_.tolist() == [used[0]]


def test_what_is_similar_to_empty_columns_too(data):
    """With such a kernel they are not left out."""
    X, y, narrow, used = data
    expected = MMFS(5, kernel="rbf").fit(narrow, y)
    got = MMFS(5, kernel="rbf", keep_scores=True).fit(X, y)
    assert got.indices_.tolist() == used[expected.indices_].tolist()
    empty = np.delete(np.arange(X.shape[1]), used)[:3]
    np.testing.assert_allclose(got.redundancy_[empty], np.exp(-1) * got.alpha_.sum())
    assert set(got.explain(X, features=empty)["selected"]) == {False}


def test_wrong_column_numbers_are_still_refused(data):
    X, y, *_ = data
    for wrong, said in ((-1, "0"), (X.shape[1], f"{X.shape[1]}")):
        rows = X.tocsr()
        rows.indices[5] = wrong
        with pytest.raises(ValueError, match=f"indices must be .* {said}"):
            MMFS(3).fit(rows, y)


def test_nothing_but_empty_columns():
    nothing = sp.csc_array((6, 3 * HALF))
    for X in (nothing, nothing.tocsr()):
        with pytest.raises(ValueError, match="columns of X are constant"):
            MMFS(2).fit(X, [0, 1] * 3)


def test_only_where_it_pays():
    rng = np.random.default_rng(0)
    small = sp.csc_array((5, 100))
    dense = rng.standard_normal((5, 2 * HALF))
    full = sp.csc_array(dense)
    for X in (small, dense, full, full.tocsr()):
        source = as_source(X)
        rest, left = source.without_empty()
        assert rest is source and left is None
    half = full.copy()
    half[:, np.arange(0, HALF + 2)] = 0
    half.eliminate_zeros()
    source, left = as_source(half).without_empty()
    rest = source.X
    assert left.tolist() == list(range(HALF + 2, 2 * HALF))
    assert np.shares_memory(rest.data, half.data) and np.shares_memory(rest.indices, half.indices)
    np.testing.assert_array_equal(rest.toarray(), dense[:, left])


def test_explanations_after_the_fit(data):
    X, y, _, used = data
    selector = MMFS(4).fit(X, y)
    table = selector.explain(X, n_dropped=3)
    assert len(table) == 7 and set(table.index) <= set(used) | {str(j) for j in used}
