"""Explanations: the numbers are those of the problem, the words fit the numbers."""

import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mmfs import MMFS, SelectionDisplay
from mmfs.datasets import make_planted
from mmfs.hsic import HSIC
from mmfs.report.page import relevance_caption
from mmfs.report.record import made_redundant
from mmfs.solvers.qp import solve_dual
from tests.conftest import DATA
from tests.reference.explicit import class_basis, similarity, standardised

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def planted():
    X, y, names = make_planted()
    return pd.DataFrame(X, columns=names), y


def explained(selector, X):
    """A frame of all columns, and what the problem says among the selected ones: Q, r and w."""
    return selector.explain(X, list(range(np.shape(X)[1])))


@pytest.mark.parametrize("kernel", ["aligned", "linear", "poly2", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("k", [3, 8, 30])
def test_terms_are_those_of_the_selection(planted, kernel, classes, k):
    """Weights are found again among the selected features, as a QP library finds them."""
    X, y = planted
    if classes == 3:
        y = np.where(X["signal 1"] > 1, "other", y)
    selector = MMFS(k, kernel=kernel, theta=0.4).fit(X, y)
    frame, kept = explained(selector, X), selector.indices_
    F, Y = standardised(X), class_basis(y)
    Q, r, tau = similarity(F, Y, kernel), np.linalg.norm(F.T @ Y, axis=1), 0.4 / 0.6
    among, _ = solve_dual(Q[np.ix_(kept, kept)], tau * r[kept], 1.0, selector.gamma_, 500)
    np.testing.assert_allclose(selector.weights_, among, atol=1e-5)
    w = np.zeros(len(r))
    w[kept] = selector.weights_
    usable = np.flatnonzero(np.ptp(np.asarray(X), axis=0) > 0)
    np.testing.assert_allclose(frame["relevance"].iloc[usable], r[usable], atol=1e-9)
    others = Q @ w - np.diagonal(Q) * w
    np.testing.assert_allclose(frame["redundancy"].iloc[usable], others[usable], atol=1e-9)
    np.testing.assert_allclose(frame["weight"], w)
    margin = Q @ w + selector.gamma_ * w.sum() - tau * r
    np.testing.assert_allclose(frame["margin"].iloc[usable], margin[usable], atol=1e-8)
    for i in usable:
        terms = frame["causes"].iloc[i]
        assert sum(terms.values()) == pytest.approx(frame["redundancy"].iloc[i])
        assert list(terms.values()) == sorted(terms.values(), reverse=True)
        for name, term in terms.items():
            j = X.columns.get_loc(name)
            assert j != i and j in kept and term == pytest.approx(w[j] * Q[i, j])


def test_weights_of_a_whole_support_are_those_of_the_joint_solution(planted):
    X, y = planted
    for options in ({"gamma": 0.1}, {"formulation": "constrained"}):
        selector = MMFS(**options).fit(X, y)
        np.testing.assert_array_equal(selector.weights_, selector.alpha_[selector.indices_])
        assert selector._record.b == selector.b_
    few = MMFS(3, formulation="constrained", C=0.2).fit(X, y)  # three cannot reach a sum of 1
    assert few.weights_.sum() == pytest.approx(1) and few.alpha_.max() <= 0.2


OPTIONS = [
    {}, {"kernel": "linear"}, {"kernel": "poly2"}, {"kernel": "rbf"}, {"gamma": 0.01}, {"C": 0.05},
    {"theta": 0.7, "C": np.inf}, {"formulation": "constrained"}, {"rank": "alpha"},
    {"rank": "path"}, {"relevance": "mutual_info"}, {"kernel": "hsic", "relevance": "hsic"},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("k", [2, 8, 40, None])
def test_every_cause_is_selected_and_every_caption_holds(planted, options, k):
    X, y = planted
    selector = MMFS(k, **options).fit(X, y)
    display = SelectionDisplay.from_estimator(selector, X, plot=False)
    frame, b, tau = display.frame, display.b, display.tau
    kept = set(X.columns[selector.indices_])
    for row in frame.itertuples():
        assert set(row.causes) <= kept - {row.Index}
        reason = row.why.partition(", all but")[0]
        named = re.findall(r"(?:with|as|,) ([^,(]+?)(?: \(|$)", reason)
        if row.why.startswith(("redundant with", "the same as")):
            assert named and set(named) <= kept
    caption = relevance_caption(display)
    line, tol = tau * frame["relevance"] - b, 1e-4 * tau
    below, chosen = frame["redundancy"] < line - tol, frame["selected"]
    heavy, ahead = frame["weight"] > 0, ~chosen & (frame["margin"] < -1e-5 * tau)
    assert (frame["redundancy"] < line + tol)[heavy].all()
    assert not below[chosen & ~heavy].any() and not below[~chosen & ~ahead].any()
    assert (frame["redundancy"] < line)[ahead].all()
    assert (f"{ahead.sum()} dropped ones are below" in caption) == ahead.any()
    assert (f"{(chosen & ~heavy).sum()} selected without a weight" in caption) == (
        chosen & ~heavy
    ).any()
    assert ("dropped ones are above it" in caption.lower()) == (~chosen & ~ahead).any()
    made = made_redundant(frame)
    assert set(made) == kept
    for dropped in made.values():
        assert not kept & set(dropped)


def test_every_cause_is_selected_in_real_text(shared_data):
    file = DATA / "pcmac.npz"
    if not file.exists():
        pytest.skip(f"benchmark data not found: {file.name} (set MMFS_DATA to its folder)")
    X = sp.csc_array(sp.load_npz(file))
    y = np.load(DATA / "pcmac_labels.npz")["y"]
    selector = MMFS(50).fit(X, y)
    frame = selector.explain(X, n_dropped=200)
    kept = set(selector.indices_.tolist())
    assert all(set(causes) <= kept for causes in frame["causes"])
    reasons = frame["why"][~frame["selected"]].str.extract(r"^(\w+)")[0].value_counts()
    assert reasons["redundant"] > 20
    assert set(reasons.index) <= {"redundant", "too", "next", "the"}


def test_selected_ones_and_the_most_relevant_dropped_ones_by_default(planted):
    X, y = planted
    selector = MMFS(6).fit(X, y)
    frame = selector.explain(X, n_dropped=4)
    assert frame.index[:6].tolist() == X.columns[selector.indices_].tolist()
    assert frame["rank"].tolist()[:6] == [1, 2, 3, 4, 5, 6] and frame["rank"][6:].isna().all()
    assert frame["selected"].tolist() == [True] * 6 + [False] * 4
    rest = selector.relevance_.copy()
    rest[selector.indices_] = 0
    expected = X.columns[np.argsort(-np.round(rest, 9), kind="stable")[:4]]  # copies too
    assert frame.index[6:].tolist() == expected.tolist()


def test_words(planted):
    X, y = planted
    selector = MMFS(6).fit(X, y)
    why = selector.explain(X, list(X.columns))["why"]
    assert why["signal 3"] == "selected: relevance 0.33, 0.33 beyond the others"
    assert why["noisy copy of 3"].startswith("redundant with signal 3 (0.2")
    assert why["signal 1"] == "the same as copy of 1"
    assert why["constant"] == "constant"
    assert re.fullmatch(
        r"redundant with signal 2 \(0\.3\d?\), all but 0\.0\d+ of its relevance", why["mirror of 2"]
    )
    lowest = X.columns[np.argmin(np.where(selector.relevance_ > 0, selector.relevance_, 1))]
    assert re.match(r"too little relevance: 0\.00\d, where 0\.05\d is needed", why[lowest])
    beyond = MMFS(30, gamma=0.5).fit(X, y)
    assert "selected to make up the number asked for" in set(beyond.explain(X)["why"])


@pytest.mark.parametrize("store", [np.asarray, sp.csc_array, sp.csr_array])
def test_numbers_of_columns_and_every_storage(planted, store):
    X, y = np.asarray(planted[0]), planted[1]
    selector = MMFS(6).fit(store(X), y)
    frame = selector.explain(store(X), [5, np.int64(7)])
    assert frame.index.tolist() == [5, 7]
    one = selector.explain(store(X), 5)
    assert one.index.tolist() == [5]
    pd.testing.assert_frame_equal(one, frame.iloc[:1])


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "hsic", "relevance": "hsic"},
        {"kernel": HSIC(None), "relevance": "hsic"},
        {"relevance": "mutual_info"},
        {"formulation": "constrained"},
        {"center": False},
        {"relevance": lambda X, y: np.abs(X.mean(axis=0))},
    ],
    ids=["hsic", "hsic of all rows", "mutual_info", "constrained", "uncentred", "function"],
)
def test_under_other_options(planted, options):
    X, y = planted
    selector = MMFS(5, **options).fit(X, y)
    frame = selector.explain(X, list(X.columns))
    np.testing.assert_allclose(frame["relevance"], selector.relevance_, atol=1e-12)
    whole = MMFS(**options, gamma="auto").fit(X, y)  # all of its support: the joint solution
    frame = whole.explain(X, list(X.columns))
    unselected = (frame["weight"] == 0).to_numpy()
    found, expected = frame["redundancy"][unselected], whole.redundancy_[unselected]
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(frame["margin"], whole.gradient_, atol=1e-8)


def test_precomputed_similarities(planted):
    X, y = planted
    data = MMFS(5, kernel="poly2").fit(X, y)
    Q = np.corrcoef(np.asarray(X.drop(columns="constant")).T) ** 2
    r = np.delete(data.relevance_, X.columns.get_loc("constant"))
    selector = MMFS(5, kernel="precomputed", relevance=r).fit(Q)
    frame = selector.explain(Q, 3)
    kept, w = selector.indices_, selector.weights_
    margin = Q[3, kept] @ w + selector.gamma_ * w.sum() - r[3]
    assert frame["margin"].iloc[0] == pytest.approx(margin)


def test_millions_of_columns_by_reading_a_few(monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 200_000), density=0.01, rng=rng, format="csc")
    y = X[:, [3]].toarray()[:, 0] + X[:, [5]].toarray()[:, 0] > 0
    selector = pickle.loads(pickle.dumps(MMFS(4).fit(X, y)))
    full = MMFS(4, keep_scores=True).fit(X, y)
    asked = [7, 150_000, *full.indices_]
    frame = selector.explain(X, asked)
    pd.testing.assert_frame_equal(frame, full.explain(X, asked))
    np.testing.assert_allclose(frame["relevance"], full.relevance_[asked], atol=1e-9)
    assert len(selector.explain(X)) == 14
    binned = MMFS(4, relevance="binned_mutual_info").fit(X, y)
    assert len(binned.explain(X)) == 14
    own = MMFS(4, relevance=rng.random(200_000)).fit(X, y)
    with pytest.raises(ValueError, match="fit with keep_scores=True"):
        own.explain(X)


MISTAKES = [
    ("sginal 3", r"there is no feature 'sginal 3'; did you mean 'signal 3'\?"),
    ("xyz", r"there is no feature 'xyz'\."),
    (53, r"there is no column 53; X has columns 0 to 52\."),
    (-1, r"there is no column -1"),
    ([1.5], r"features must be names or numbers of columns, got 1\.5\."),
    ([True], r"features must be names or numbers of columns, got True\."),
]


@pytest.mark.parametrize(("features", "sentence"), MISTAKES)
def test_mistakes(planted, features, sentence):
    selector = MMFS(6).fit(*planted)
    with pytest.raises(ValueError, match=sentence):
        selector.explain(planted[0], features)


def test_other_data_are_refused(planted):
    X, y = planted
    selector = MMFS(6).fit(X, y)
    with pytest.raises(ValueError, match="X has 399 rows, but the selector was fitted on 400"):
        selector.explain(X[1:])
    with pytest.raises(ValueError, match="not the data that the selector was fitted on"):
        selector.explain(X + np.random.default_rng(0).standard_normal(X.shape))
    unnamed = MMFS(6).fit(np.asarray(X), y)
    with pytest.raises(ValueError, match="columns of the data have no names"):
        unnamed.explain(np.asarray(X), "signal 3")


def test_without_pandas_the_remedy_is_named(planted, monkeypatch):
    selector = MMFS(6).fit(*planted)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'mmfs\[explain\]'"):
        selector.explain(np.asarray(planted[0]))


def test_many_small_causes_are_still_named():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((400, 60))
    X = np.hstack([Z, Z @ rng.random((60, 40)) + 3 * rng.standard_normal((400, 40))])
    frame = MMFS(gamma=0.001).fit(X, Z.sum(axis=1)).explain(X, n_dropped=40)
    redundant = frame["why"][frame["why"].str.startswith("redundant")]
    assert len(redundant) > 2 and redundant.str.match(r"redundant with \d+ \(0\.\d+\)").all()


def test_no_features_asked_for(planted):
    frame = MMFS(6).fit(*planted).explain(planted[0], [])
    assert len(frame) == 0 and "why" in frame.columns
    assert MMFS(6).fit(*planted).explain(planted[0], np.array(3)).shape[0] == 1
    mask = np.arange(53) % 10 == 0
    assert len(MMFS(6).fit(*planted).explain(planted[0], mask)) == 6
    with pytest.raises(ValueError, match="explain takes X, the data of the fit, and then"):
        MMFS(6).fit(*planted).explain("signal 3")
    with pytest.raises(ValueError, match="n_dropped must be a whole number"):
        MMFS(6).fit(*planted).explain(planted[0], n_dropped=-1)


@pytest.mark.parametrize("kernel", ["aligned", "linear", "poly2", "rbf", "hsic"])
@pytest.mark.parametrize("keep_scores", [True, False])
def test_the_same_rows_in_another_order_are_refused(planted, kernel, keep_scores):
    X, y = planted
    for k in (1, 5):
        selector = MMFS(k, kernel=kernel, keep_scores=keep_scores).fit(X, y)
        with pytest.raises(ValueError, match="pass the same rows in the same order"):
            selector.explain(X.sample(frac=1, random_state=0))


def test_a_dropped_column_that_was_replaced_is_seen(planted):
    X, y = planted
    selector = MMFS(3, gamma=1.0).fit(X, y)
    other = X.assign(**{"noise 5": X["signal 3"]})
    with pytest.raises(ValueError, match="not the data that the selector was fitted on"):
        selector.explain(other, ["noise 5"])


def test_later_changes_of_parameters_and_target_do_not_matter(planted):
    X, y = planted[0], np.where(planted[1] == "case", 1.0, 0.0) + 0.1
    selector = MMFS(4, kernel="poly2", keep_scores=False).fit(X, y)
    before = selector.explain(X)
    y[:] = y[::-1].copy()
    selector.set_params(theta=0.9, kernel="rbf", center=False)
    pd.testing.assert_frame_equal(selector.explain(X), before)


def test_dropped_ones_are_shown_however_many_are_selected():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 1500))
    frame = MMFS(1400).fit(X, rng.standard_normal(50)).explain(X)
    assert (~frame["selected"]).sum() == 10


def test_a_copy_among_given_similarities():
    Q = np.array([[1.0, 1, 0], [1, 1, 0], [0, 0, 4]])
    selector = MMFS(1, kernel="precomputed", relevance=[0.9, 0.8, 0.1], gamma=0.1).fit(Q)
    assert selector.explain(Q, 1)["why"].iloc[0] == "the same as 0"


def test_mutual_information_of_sparse_columns_is_found_again():
    """It is that of states, which a single column tells."""
    rng = np.random.default_rng(0)
    X = sp.random_array((80, 300), density=0.3, rng=rng, format="csc")
    y = X[:, [3]].toarray().ravel() > 0.2
    kept = MMFS(4, relevance="mutual_info", keep_scores=True).fit(X, y)
    other = MMFS(4, relevance="mutual_info", keep_scores=False).fit(X, y)
    frame = other.explain(X)
    np.testing.assert_allclose(frame["relevance"], kept.relevance_[frame.index.astype(int)])
