"""What all methods of comparison promise alike."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import mmfs
from mmfs import FCBF, FGM, GDM, MMFS, MRMR, QPFS, SVMRFE, MaxRel
from mmfs.base import Selector
from mmfs.datasets import make_wide_sparse

pytestmark = pytest.mark.slow

METHODS = [MaxRel, MRMR, FCBF, QPFS, FGM, GDM, SVMRFE]
VARIANTS = [
    *(method() for method in METHODS),
    MaxRel(0.5, relevance="mutual_info"),
    MaxRel(1, relevance="binned_mutual_info", n_jobs=2),
    MRMR(1, criterion="MIQ", discretize="equal_frequency"),
    MRMR(0.5, criterion="FCD"),
    MRMR(criterion="FCQ"),
    FCBF(delta="auto", discretize="mdl"),
    FCBF(1),
    QPFS(1, discretize="mdl"),
    QPFS(1, discretize="nonzero", nystrom=1.0),
    QPFS(similarity="correlation", theta=0.5),
    QPFS(nystrom=0.5),
    FGM(1, B=1, center=False),
    GDM(1, delta=0.5, max_rounds=3),
    SVMRFE(1, step=1),
    SVMRFE(step=0.5),
]
NOT_PSD = "ignore:the similarities are not positive semi-definite"


@pytest.mark.filterwarnings("ignore:No features were selected", NOT_PSD)
@pytest.mark.filterwarnings("ignore:discretize='.*' leaves every column of X with one state")
@parametrize_with_checks(VARIANTS)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_every_method_is_exported():
    assert {method.__name__ for method in METHODS} < set(mmfs.__all__)
    assert all(issubclass(method, Selector) for method in [MMFS, *METHODS])


@pytest.mark.parametrize("method", METHODS)
def test_exactly_as_many_as_asked_for_and_none_constant(small, method):
    X, y = small
    for k in (1, 2, 5):
        selector = method(k).fit(X, y)
        assert len(set(selector.indices_.tolist())) == k
        assert 12 not in selector.indices_  # constant
        assert np.array_equal(np.flatnonzero(selector.support_), np.sort(selector.indices_))
        assert np.isnan(selector.scores_[12]) and np.isfinite(selector.scores_[:12]).all()
        assert selector.transform(X).shape == (120, k)
    assert 1 <= len(method().fit(X, y).indices_) <= 39


@pytest.mark.parametrize("method", [MaxRel, MRMR, QPFS, FGM, SVMRFE])
def test_all_columns_can_be_ranked(small, method):
    X, y = small
    assert sorted(method(39).fit(X, y).indices_) == [*range(12), *range(13, 40)]
    assert len(method(0.5).fit(X, y).indices_) == 20


@pytest.mark.parametrize("method", [MaxRel, MRMR, FCBF, FGM, GDM])
def test_fewer_features_are_the_first_of_more(small, method):
    X, y = small
    long = method(6).fit(X, y).indices_
    for k in (1, 3, 5):
        assert method(k).fit(X, y).indices_.tolist() == long[:k].tolist()


# Nearest neighbours are for dense data only; sparse data have the binned estimate.
@pytest.mark.parametrize(
    "selector", [v for v in VARIANTS if "'mutual_info'" not in str(v)], ids=str
)
@pytest.mark.filterwarnings(NOT_PSD)
def test_every_storage_gives_the_same_selection(small, selector):
    X, y = small
    X = np.where(np.abs(X) > np.median(np.abs(X), axis=0), X, 0)
    dense = clone(selector).fit(X, y)
    for storage in (np.asfortranarray, sp.csc_array, sp.csr_array, sp.csr_matrix, sp.coo_array):
        other = clone(selector).fit(storage(X), y)
        assert other.indices_.tolist() == dense.indices_.tolist()
        rtol = 1e-3 if isinstance(selector, SVMRFE) else 1e-6  # liblinear's own tolerance is 0.1
        np.testing.assert_allclose(other.scores_, dense.scores_, rtol=rtol, atol=1e-9)
    again = clone(selector).set_params(n_jobs=2).fit(X, y)
    assert again.indices_.tolist() == dense.indices_.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_labels_and_frames_of_any_kind(small, method):
    X, y = small
    plain = method(4).fit(X, y)
    names = [f"g{j}" for j in range(40)]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        selector = method(4).fit(frame, np.where(y == 1, "sick", "well"))
        assert sorted(selector.get_feature_names_out()) == sorted(f"g{j}" for j in plain.indices_)
    # Two classes the other way round, and four of them.
    assert method(4).fit(X, 1 - y).indices_.tolist() == plain.indices_.tolist()
    assert len(method(4).fit(X, np.arange(120) % 2 + 2 * y).indices_) == 4


@pytest.mark.parametrize("method", METHODS)
def test_in_a_pipeline_and_through_pickle(small, method):
    X, y = small
    model = make_pipeline(method(5), LogisticRegression(max_iter=10**4)).fit(X, y)
    assert model.score(X, y) > 0.8
    again = pickle.loads(pickle.dumps(model[0]))
    assert again.indices_.tolist() == model[0].indices_.tolist()


def with_copies(shifts):
    """Twelve columns, the first few shifted between the classes, and two copies of column 0."""
    rng = np.random.default_rng(1)
    y = np.tile([0, 1], 150)
    X = rng.standard_normal((300, 12))
    X[:, : len(shifts)] += np.outer(y, shifts)
    return np.column_stack([X, 3 * X[:, 0] + 1, X[:, 0] + 1e-3 * rng.standard_normal(300)]), y


@pytest.mark.parametrize(
    "selector", [MRMR(4), MRMR(4, criterion="MIQ"), FCBF(4), QPFS(4), GDM(4)], ids=str
)
def test_a_copy_is_not_taken_early(selector):
    """Column 0 is the best; its copies come after all other signals, if at all."""
    X, y = with_copies([2.0, 1.4, 1.2, 1.0])
    early = selector.fit(X, y).indices_.tolist()
    assert len({0, 12, 13} & set(early)) == 1
    assert len(set(MaxRel(4).fit(X, y).indices_.tolist()) & {0, 12, 13}) == 3


def test_quotients_of_f_pass_over_copies_unless_their_f_is_far_ahead():
    """F grows with the square of the shift, the redundancy it is divided by stays below 1."""
    for shifts, copies in (([1.0, 0.95, 0.95, 0.95], 1), ([2.0, 1.4, 1.2, 1.0], 3)):
        X, y = with_copies(shifts)
        early = MRMR(4, criterion="FCQ").fit(X, y).indices_.tolist()
        assert len({0, 12, 13} & set(early)) == copies


@pytest.mark.parametrize("method", [MaxRel, MRMR, FCBF, QPFS])
def test_real_targets(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 15))
    y = X[:, 3] - X[:, 7] + 0.1 * rng.standard_normal(400)
    assert set(method(2).fit(X, y).indices_.tolist()) == {3, 7}


@pytest.mark.parametrize("method", [FGM, GDM, SVMRFE])
def test_methods_for_classes_say_so(method):
    X = np.random.default_rng(0).standard_normal((40, 3))
    for y in (X[:, 0], np.round(X[:, 0], 1), X[:, :2]):
        with pytest.raises(ValueError, match=r"for one column of classes, but y holds quantities"):
            method().fit(X, y)
    with pytest.raises(ValueError, match=r"y has another label in every row; pass classes"):
        method().fit(X, np.arange(40))


@pytest.mark.parametrize(
    "selector", [MaxRel(2), MRMR(2, criterion="FCQ"), QPFS(2, similarity="correlation")]
)
def test_several_outputs(selector):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 9))
    assert set(selector.fit(X, X[:, [2, 5]] + 0.1).indices_.tolist()) == {2, 5}


@pytest.mark.parametrize("selector", [MRMR(2), FCBF(2), QPFS(2)])
def test_mutual_information_is_for_one_output(selector):
    X = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.raises(ValueError, match="one output here; pass one column of y"):
        selector.fit(X, X[:, :2])


def test_wide_data_leave_a_small_selector():
    X, y, _ = make_wide_sparse(500, 200_000, 400_000)
    for selector in (MaxRel(20), MRMR(5), FCBF(5), FGM(10), GDM(10), SVMRFE(20, step=0.5)):
        selector.fit(X, y)
        assert len(pickle.dumps(selector)) < 20_000
        with pytest.raises(
            AttributeError, match=r"scores_ was not kept for 200,000 columns; fit with"
        ):
            selector.scores_  # noqa: B018 - the descriptor is what is tested


PARAMETERS = [
    (MaxRel(0), r"n_features_to_select must be a whole number of at least 1"),
    (MaxRel(relevance="chi2"), r"relevance must be one of 'correlation', .* got 'chi2'\."),
    (MRMR(criterion="mid"), r"criterion must be one of 'MID', 'MIQ', 'FCD', 'FCQ', got 'mid'\."),
    (MRMR(discretize="sqrt"), r"discretize must be one of 'three_states', .* got 'sqrt'\."),
    (MRMR(7), r"=7 is more than the 6 usable columns; ask for at most 6"),
    (FCBF(delta=-1), r"delta must be 'auto' or a number in \[0, 1\), got -1\."),
    (FCBF(delta=0.99), r"no column has a symmetrical uncertainty of delta=0\.99 .* largest is 0\."),
    (QPFS(similarity="rbf"), r"similarity must be one of 'mi', 'correlation', got 'rbf'\."),
    (QPFS(theta=1), r"theta must be 'auto' or a number between 0 and 1, got 1\."),
    (QPFS(nystrom=2), r"nystrom must be None or a fraction in \(0, 1\], got 2\."),
    (QPFS(tol=0), r"tol must be a positive number, got 0\."),
    (FGM(B=0), r"B must be a whole number >= 1, got 0\."),
    (FGM(C=0), r"C must be a number from 1e-10 to 1e10, got 0\."),
    (GDM(C=np.inf), r"C must be a number from 1e-10 to 1e10, got inf\."),
    (FGM(max_rounds=0), r"max_rounds must be None or a whole number >= 1, got 0\."),
    (GDM(delta=0), r"delta must be a number in \(0, 1\], got 0\."),
    (SVMRFE(step=0), r"step must be a whole number of at least 1 or a fraction in \(0, 1\), got 0"),
    (SVMRFE(step=1.0), r"step must be .* got 1\.0"),
    (SVMRFE(C=-1), r"C must be a number from 1e-10 to 1e10, got -1\."),
    (SVMRFE(tol=np.inf), r"tol must be a positive number, got inf\."),
]


@pytest.mark.parametrize(("selector", "sentence"), PARAMETERS)
def test_parameters(selector, sentence):
    X = np.random.default_rng(0).standard_normal((20, 6))
    with pytest.raises(ValueError, match=sentence) as caught:
        selector.fit(X, np.arange(20) % 2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
def test_bad_data_are_refused_as_elsewhere(method):
    X = np.random.default_rng(0).standard_normal((20, 6))
    y = np.arange(20) % 2
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="X has NaN in row 3, column 2"):
        method().fit(broken, y)
    with pytest.raises(ValueError, match="all 6 columns of X are constant"):
        method().fit(np.ones((20, 6)), y)
    with pytest.raises(ValueError, match="y has only one class"):
        method().fit(X, np.zeros(20))


@pytest.mark.parametrize("method", METHODS)
def test_a_failed_fit_changes_nothing(small, method):
    X, y = small
    selector = method(3)
    with pytest.raises(ValueError):
        selector.fit(np.ones((20, 6)), np.arange(20) % 2)
    with pytest.raises(NotFittedError):
        selector.get_support()
    before = dict(vars(selector.fit(pd.DataFrame(X).add_prefix("g"), y)))
    with pytest.raises(ValueError):
        selector.fit(np.ones((20, 6)), np.arange(20) % 2)
    assert vars(selector).keys() == before.keys()
    assert all(vars(selector)[name] is value for name, value in before.items())
    assert selector.get_support().sum() == 3


@pytest.mark.parametrize(
    "selector",
    [MaxRel(4), MRMR(4, criterion="FCQ"), FGM(4), GDM(1), SVMRFE(4, step=1), QPFS(4)],
    ids=str,
)
def test_of_equal_columns_the_first_is_taken(selector):
    """Thirty-three copies, some mirrored or in other units: rounding must not decide."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal(40)
        y = (x + 0.5 * rng.standard_normal(40) > 0).astype(int)
        X = np.outer(x, [*([1.0] * 16), -1, 4, 0.5, *([1.0] * 14)])
        for storage in (np.asarray, np.asfortranarray, sp.csc_array, sp.csr_array):
            first = clone(selector).fit(storage(X), y).indices_
            assert first.tolist() == [0, 1, 2, 3][: len(first)]


@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter(small, method):
    X, y = small
    plain = method(5).fit(X, y).indices_.tolist()
    for scale in (2.0**-300, 2.0**300):
        assert method(5).fit(scale * X, y).indices_.tolist() == plain
