"""Displays hold what they show, and draw it."""

import numpy as np
import pytest
import scipy.sparse as sp

import mmfs
from mmfs import (
    MMFS,
    MMFSCV,
    ComparisonDisplay,
    PathDisplay,
    ScoresDisplay,
    SelectionDisplay,
    SimilarityDisplay,
    mmfs_path,
)

pytestmark = pytest.mark.slow

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture
def axes():
    from matplotlib import pyplot

    _, ax = pyplot.subplots()
    yield ax
    pyplot.close("all")


def words(ax):
    return {text.get_text() for text in ax.texts}


def test_selection(small, axes):
    X, y = small
    names = np.array([f"gene {j}" for j in range(X.shape[1])])
    selector = MMFS(5).fit(X, y)
    display = SelectionDisplay.from_estimator(selector, X, names=names, ax=axes)
    assert display.ax_ is axes and display.figure_ is axes.figure
    assert words(axes) == {f"gene {j}" for j in selector.indices_}
    kept = display.frame[display.frame["selected"]]
    drawn = axes.collections[1].get_offsets()
    np.testing.assert_allclose(drawn[:, 0], kept["relevance"])
    np.testing.assert_allclose(drawn[:, 1], kept["redundancy"])
    # beyond the margin, where tau * relevance = redundancy + b, by their own weight
    beyond = kept["relevance"] * display.tau - kept["redundancy"] - display.b
    np.testing.assert_allclose(beyond, kept["weight"], atol=1e-9)


@pytest.mark.parametrize("kernel", ["aligned", "poly2", "linear"])
def test_similarity_is_that_of_the_kernel(small, axes, kernel):
    X, y = small
    selector = MMFS(4, kernel=kernel).fit(X, y)
    display = SimilarityDisplay.from_estimator(selector, X, n_dropped=3, ax=axes)
    assert display.n_selected == 4 and len(display.names) == 7
    J = [int(name) for name in display.names]
    rho = np.corrcoef(X[:, J].T)
    sign = np.sign([np.corrcoef(X[:, j], y)[0, 1] for j in J])
    expected = {"aligned": rho * np.outer(sign, sign), "poly2": rho**2, "linear": rho}[kernel]
    np.testing.assert_allclose(display.similarities, expected, atol=1e-8)
    others = [j for j in selector._record.runners_up if j not in J[4:]]
    nearest = np.abs(np.corrcoef(X[:, [*J[:4], *others]].T)[:4, 4:]).max()
    assert np.abs(rho[:4, 4:]).max(axis=0).min() >= nearest - 1e-9


def test_sparse_data_with_names(small, axes):
    X, y = small
    X = sp.csc_array(np.where(X > 0, X, 0))
    selector = MMFS(3).fit(X, y)
    display = SelectionDisplay.from_estimator(selector, X, names="word {}".format, ax=axes)
    assert set(display.frame.index[:3]) == {f"word {j}" for j in selector.indices_}
    assert PathDisplay(mmfs_path(X, y, gammas=3), "word {}".format).name(4) == "word 4"


def test_path(small, axes):
    X, y = small
    display = PathDisplay.from_data(X, y, n_features_to_select=8, gammas=10, ax=axes)
    path = display.path
    assert len(axes.lines) == min(12, len(path.order))
    for line in axes.lines:
        j = int(line.get_label())
        np.testing.assert_array_equal(line.get_ydata(), path.alphas[[j]].toarray().ravel())
        np.testing.assert_array_equal(line.get_xdata(), path.gammas)
    over_C = PathDisplay.from_data(X, y, gamma=0.1, Cs=4)
    assert over_C.ax_.get_xlabel() == "C"


def test_scores(small, axes):
    X, y = small
    search = MMFSCV(n_features=[1, 4, 9], gammas=[1.0, 0.1], cv=3).fit(X, y)
    display = ScoresDisplay.from_estimator(search, ax=axes)
    results = search.cv_results_
    for n, mean in zip(display.n_features, display.mean, strict=True):
        assert mean == results["mean_test_score"][results["n_features"] == n].max()
    assert display.score_name == "accuracy" == axes.get_ylabel()
    assert display.chosen_score == search.best_score_
    assert ScoresDisplay(np.array([1, 2]), np.zeros(2), np.zeros(2)).chosen_score is None


def test_comparison(small, axes):
    X, y = small
    display = ComparisonDisplay.from_data(
        X, y, methods=["mmfs", "mrmr"], n_features=[2, 5], ax=axes
    )
    labels = [line.get_label() for line in axes.lines]
    assert labels == ["mmfs", "mrmr", "no features"]
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), display.comparison.mean("mrmr"))


def test_choosers_and_unfitted_selectors(small):
    X, y = small
    search = MMFSCV(n_features=[3], cv=2).fit(X, y)
    assert SelectionDisplay.from_estimator(search, X, plot=False).frame["selected"].sum() == 3
    from sklearn.exceptions import NotFittedError

    with pytest.raises(TypeError, match="shows the scores of an MMFSCV, got MMFS"):
        ScoresDisplay.from_estimator(MMFS())
    with pytest.raises(NotFittedError):
        SelectionDisplay.from_estimator(MMFS(), X)


def test_names_of_another_length_are_refused(small):
    X, y = small
    with pytest.raises(ValueError, match="there are 2 names for 40 columns"):
        MMFS(3).fit(X, y).explain(X, names=["a", "b"])


def test_progress_goes_to_a_function(small):
    X, y = small
    told = []
    MMFS(3, verbose=lambda *what: told.append(what)).fit(X, y)
    text, done, total = told[-1]
    assert "relative gap" in text and done == total == 4  # decades: tol is 1e-4
    told.clear()
    MMFSCV(n_features=[2], cv=3, verbose=lambda *what: told.append(what)).fit(X, y)
    assert [what[1:] for what in told if what[0].startswith("fold")] == [(1, 3), (2, 3), (3, 3)]


def test_public_names():
    assert all(hasattr(mmfs, name) for name in mmfs.__all__)
