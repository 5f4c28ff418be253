"""HSIC: against matrices written out, against pyHSICLasso, and on dependence no line can see."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

import mmfs.hsic
from mmfs import MMFS, MMFSCV, MaxRel
from mmfs.columns import Columns
from mmfs.datasets import make_nonlinear
from mmfs.hsic import HSIC, RowComparison
from tests.reference.hsic import delta, features, gaussian, of_column
from tests.test_selector import refused_by

pytestmark = pytest.mark.slow


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [MMFS(kernel="hsic", relevance="hsic"), MMFS(kernel=HSIC(10, 1), relevance="hsic", n_jobs=2)],
    expected_failed_checks=refused_by,
    xfail_strict=True,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def comparison(X, how):
    columns = Columns(X)
    columns.first_scan(np.zeros((X.shape[0], 1)))
    return RowComparison(columns, how), columns


@pytest.mark.parametrize("how", [HSIC(), HSIC(7, 2), HSIC(None), HSIC(20, 3, seed=5)], ids=str)
@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, sp.csr_array])
def test_products_are_those_of_the_matrices(how, store, monkeypatch):
    monkeypatch.setattr(mmfs.hsic, "COMPUTED_AT_ONCE", 2_000)  # several tiles and parts
    monkeypatch.setattr(mmfs.hsic, "HELD", 4_000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((61, 9)) * (rng.random((61, 9)) < 0.4)
    X[:, 8] = 0
    X[3, 8] = 1  # constant in most blocks
    where, _ = comparison(store(X), how)
    phi = np.column_stack([of_column(x, where.rows) for x in X.T])
    values = mmfs.hsic.unit_variance(X - X.mean(axis=0))
    np.testing.assert_allclose(where.gram(values, values), phi.T @ phi, atol=1e-10)
    np.testing.assert_allclose(
        where.gram(values[:3], values[3:]), phi.T[:3] @ phi[:, 3:], atol=1e-10
    )
    weights = rng.standard_normal((9, 2))
    W = where.combine(values, weights)
    np.testing.assert_allclose(where.project(W), phi.T @ (phi @ weights), atol=1e-10)


@pytest.mark.parametrize("kind", ["classes", "one output", "two outputs"])
def test_relevance_is_that_of_the_matrices(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    y = {
        "classes": rng.integers(0, 3, 100),
        "one output": X[:, 0] ** 2,
        "two outputs": np.linalg.qr(rng.standard_normal((100, 2)))[0],
    }[kind]
    selector = MMFS(2, kernel="hsic", relevance="hsic").fit(X, y)
    blocks = HSIC().rows(100)
    if kind == "classes":
        target = features(lambda rows: delta(y[rows]), blocks)
    else:
        if kind == "two outputs":  # made orthogonal after centring
            y = np.linalg.qr(y - y.mean(axis=0))[0]
        K = gaussian(y)
        target = features(lambda rows: K[np.ix_(rows, rows)], blocks)
    expected = [of_column(x, blocks) @ target for x in X.T]
    np.testing.assert_allclose(selector.relevance_, expected, atol=1e-10)
    assert ((0 <= selector.relevance_) & (selector.relevance_ <= 1)).all()


@given(st.integers(2, 200), st.one_of(st.none(), st.integers(3, 60)), st.integers(1, 4))
def test_blocks_use_every_row_in_every_shuffle(n_rows, size, n_shuffles):
    rows = HSIC(size, n_shuffles).rows(n_rows)
    n_blocks = 1 if size is None else max(1, n_rows // size)
    n_shuffles = n_shuffles if n_blocks > 1 else 1
    more = n_rows % n_blocks > 0  # then a last block that repeats some rows
    assert rows.shape == (n_shuffles * (n_blocks + more), n_rows // n_blocks)
    for shuffle in rows.reshape(n_shuffles, -1):
        assert set(shuffle.tolist()) == set(range(n_rows))
        assert len(set(shuffle[: n_blocks * rows.shape[1]])) == n_blocks * rows.shape[1]


@pytest.mark.parametrize("seed", range(3))
def test_ten_of_ten_where_no_line_sees_any(seed):
    """Relevant through squares, absolute values and sines only, among 2,000 columns."""
    X, y, signals = make_nonlinear(random_state=seed)
    assert X.shape == (1500, 2000) and len(signals) == 10
    found = MMFS(10, kernel="hsic", relevance="hsic", n_jobs=2).fit(X, y)
    assert set(found.indices_) == set(signals)
    assert not set(MMFS(10).fit(X, y).indices_) & set(signals)


def test_it_knows_how_many_there_are():
    X, y, signals = make_nonlinear(n_columns=300)
    found = MMFS(kernel="hsic", relevance="hsic").fit(X, y)
    assert set(found.indices_) >= set(signals) and len(found.indices_) <= 13
    noise = np.random.default_rng(0).standard_normal(1500)
    assert len(MMFS(kernel="hsic", relevance="hsic").fit(X, noise).indices_) <= 3


def test_redundancy_of_any_shape_is_seen():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 30))
    X[:, 20] = X[:, 0] ** 3 + 0.01 * rng.standard_normal(500)
    X[:, 21] = np.sign(X[:, 1]) * np.abs(X[:, 1]) ** 0.5
    y = np.abs(X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] ** 2
    kept = MMFS(3, kernel="hsic", relevance="hsic").fit(X, y).indices_
    assert {min(j, j % 20) for j in kept} == {0, 1, 2}


def test_agrees_with_pyhsiclasso():
    """The same weights at the same lambda, and so the same ranking; all rows compared."""
    pyHSICLasso = pytest.importorskip("pyHSICLasso")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 30))
    y = (X[:, 0] ** 2 + np.abs(X[:, 1]) + np.sin(X[:, 2]) > 1.5).astype(int) + 1
    for kind in ("classification", "regression"):
        other = pyHSICLasso.HSICLasso()
        other.input(X, y)
        getattr(other, kind)(8, B=0, M=1, n_jobs=1)
        beta = np.zeros(30)
        beta[other.get_index()] = other.beta[other.get_index()].ravel()
        residual = other.Xty.ravel() - other.X.T @ (other.X @ beta)
        level = residual[beta > 0].mean()  # lambda, where its path ended
        mine = MMFS(
            gamma=level / beta.sum(), kernel=HSIC(None), relevance="hsic", task=kind, C=np.inf,
            tol=1e-8,
        ).fit(X, y)  # fmt: skip
        np.testing.assert_allclose(mine.relevance_, other.Xty.ravel(), atol=1e-5)
        np.testing.assert_allclose(mine.alpha_, beta, atol=2e-4)
        assert mine.indices_[:8].tolist() == other.get_index()


def test_the_same_from_every_storage_and_any_number_of_threads():
    X, y, _ = make_nonlinear(200, 60)
    X[np.abs(X) < 0.5] = 0
    fits = [
        MMFS(8, kernel="hsic", relevance="hsic", n_jobs=n).fit(store(X), y)
        for store, n in ((np.asarray, 1), (np.asarray, 2), (sp.csc_array, 2), (sp.csr_array, 1))
    ]
    for other in fits[1:]:
        assert other.indices_.tolist() == fits[0].indices_.tolist()
        np.testing.assert_allclose(other.alpha_, fits[0].alpha_, atol=1e-10)


def test_rows_are_copied_into_columns_once(monkeypatch):
    X, y, _ = make_nonlinear(100, 20)
    copies = []
    tocsc = sp.csr_array.tocsc
    monkeypatch.setattr(sp.csr_array, "tocsc", lambda X, **how: copies.append(1) or tocsc(X, **how))
    rows = MMFS(kernel="hsic", relevance="hsic").fit(sp.csr_array(X), y)
    assert len(copies) == 1
    columns = MMFS(kernel="hsic", relevance="hsic").fit(sp.csc_array(X), y)
    assert rows.n_scans_ == columns.n_scans_ >= 3


def test_as_relevance_alone_and_in_other_selectors():
    X, y, signals = make_nonlinear(n_columns=200)
    assert len(set(MMFS(10, relevance="hsic").fit(X, y).indices_) & set(signals)) >= 9
    assert len(set(MaxRel(10, relevance="hsic").fit(X, y).indices_) & set(signals)) >= 9
    search = MMFSCV(n_features=[2, 5], cv=2, selector=MMFS(kernel="hsic", relevance="hsic"))
    assert set(search.fit(X, y).indices_) <= set(signals)


def test_mistakes():
    X, y, _ = make_nonlinear(40, 10)
    with pytest.raises(ValueError, match="center=False has no meaning with kernel='hsic'"):
        MMFS(3, kernel="hsic", center=False).fit(X, y)
    with pytest.raises(ValueError, match="block_size must be a whole number of at least 3 or None"):
        HSIC(block_size=2)
    for wrong in ({"n_shuffles": 0}, {"block_size": "x"}, {"block_size": 50.0}, {"seed": None}):
        with pytest.raises(ValueError, match="is not possible"):
            HSIC(**wrong)
    with pytest.raises(ValueError, match=r"one block of 5,001 rows .* set block_size"):
        HSIC(None).rows(5001)
    with pytest.raises(ValueError, match="needs the relevance of each feature as an array"):
        MMFS(3, kernel="precomputed", relevance="hsic").fit(np.eye(5))


def test_offsets_do_not_matter_to_relevance_without_centring():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X[:, 0] ** 2
    values = [
        MMFS(2, relevance="hsic", center=False).fit(X + offset, y).relevance_
        for offset in (0, 10, 1000)
    ]
    np.testing.assert_allclose(values[1:], [values[0], values[0]], atol=1e-8)


def test_details_for_kernel_and_relevance():
    X, y, _ = make_nonlinear(120, 30)
    for how in (HSIC(20), HSIC(None)):
        one = MMFS(5, kernel=how, relevance=how, keep_scores=False).fit(X, y)
        two = MMFS(5, kernel=how, relevance="hsic").fit(X, y)
        assert one.indices_.tolist() == two.indices_.tolist()
        np.testing.assert_allclose(one.explain(X)["relevance"], two.explain(X)["relevance"])
        MMFSCV(n_features=[3], cv=2, selector=MMFS(kernel=how, relevance=how)).fit(X, y)


def test_a_column_that_varies_in_one_row_is_like_itself():
    """Also in a row that is left over when blocks are cut."""
    for row in range(0, 205, 10):
        X = np.random.default_rng(0).standard_normal((205, 3))
        X[:, 0] = np.arange(205) == row
        selector = MMFS(1, kernel=HSIC(50, n_shuffles=1), C=np.inf, gamma=0.1).fit(X, X[:, 0] * 5.0)
        assert selector.alpha_[0] < 1 and selector.redundancy_[0] > 0.5
