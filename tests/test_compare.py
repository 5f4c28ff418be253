"""Methods compared, and plots."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from mmfs import MMFS, MRMR, compare
from mmfs.compare import METHODS

pytestmark = pytest.mark.slow


def test_scores_are_those_of_selecting_in_each_fold(small):
    X, y = small
    result = compare(X, y, methods=["mmfs", "mrmr", "f_test"], n_features=[3, 8], cv=4)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(X, y)):
        for i, k in enumerate((3, 8)):
            for name, selector in (("mmfs", MMFS(k)), ("mrmr", MRMR(k))):
                J = np.sort(selector.fit(X[train], y[train]).indices_)
                svm = LinearSVC(C=1.0, dual="auto", max_iter=10_000, random_state=0)
                model = make_pipeline(StandardScaler(), svm).fit(X[train][:, J], y[train])
                assert result.scores[name][fold, i] == model.score(X[test][:, J], y[test])
    assert result.baseline == pytest.approx(max(np.mean(y), 1 - np.mean(y)), abs=0.02)
    assert (result.seconds["mmfs"] > 0).all()


@pytest.mark.filterwarnings("ignore:fcbf, fold 1. FCBF keeps")
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csc_array])
def test_every_method_takes_part(small, storage):
    X, y = small
    X = storage(np.abs(np.where(np.abs(X) > np.median(np.abs(X)), X, 0)))
    result = compare(X, y, methods=list(METHODS), n_features=[2, 5], cv=2)
    assert result.problems == {} and set(result.scores) == set(METHODS)
    for scores in result.scores.values():
        assert np.isfinite(scores).all() and (scores <= 1).all()
    frame = result.to_frame()
    assert len(frame) == 2 * len(METHODS) and (frame["error"] >= 0).all()


@pytest.mark.filterwarnings("ignore:FCBF keeps")
def test_nested_methods_are_nested(small):
    """What a longer ranking starts with is what is selected for a smaller number."""
    from mmfs.per_row import PLAIN
    from mmfs.target import encode_target

    X, y = np.abs(small[0]), small[1]
    target = encode_target(y)
    for name, method in METHODS.items():
        if method.nested:
            longest = method.rank(target, X, y, PLAIN, 12)
            for k in (1, 4, 9):
                found = method.rank(target, X, y, PLAIN, k)
                np.testing.assert_array_equal(found, longest[:k], err_msg=name)


def test_quantities(small):
    X, _ = small
    y = X[:, 0] - X[:, 1] + 0.1 * np.random.default_rng(0).standard_normal(len(X))
    result = compare(X, y, n_features=[2])
    assert result.score_name == "R2" and result.mean("mmfs")[0] > 0.5
    assert set(result.scores) == {"mmfs", "mrmr", "fcbf", "f_test"}
    methods = ["mmfs", "svmrfe", "l1_svm", "chi2", "fgm", "gdm"]
    asked = compare(X, y, methods=methods, n_features=[2], cv=2)
    assert "it is for classes" in asked.problems["chi2"]
    assert set(asked.problems) == {"svmrfe", "l1_svm", "chi2", "fgm", "gdm"}


def test_unsuitable_methods_say_why_and_others_go_on(small):
    X, y = small
    result = compare(X, y, methods=["chi2", "mmfs"], n_features=[2], cv=2)
    assert "non-negative" in result.problems["chi2"] and list(result.scores) == ["mmfs"]
    assert "chi2" not in compare(X, y, n_features=[2], cv=2).problems


def test_other_estimators_scores_and_progress(small):
    X, y = small
    told = []
    result = compare(
        X, y, methods=["mmfs"], n_features=[3], cv=2, estimator=LogisticRegression(max_iter=1000),
        scoring="roc_auc", progress=lambda *what: told.append(what),
    )  # fmt: skip
    assert result.score_name == "roc_auc" and result.baseline == 0.5
    assert told == [("mmfs, fold 1 of 2", 0, 2), ("mmfs, fold 2 of 2", 1, 2)]


def test_bad_requests(small):
    X, y = small
    with pytest.raises(ValueError, match="there is no method 'magic'; methods are mmfs"):
        compare(X, y, methods=["magic"])
    for methods in ([], "mmfs"):
        with pytest.raises(ValueError, match="methods must be a list of names"):
            compare(X, y, methods=methods)
    with pytest.raises(ValueError, match="goes up to 99, but X has 39 columns that are not"):
        compare(X, y, n_features=[99])
    with pytest.raises(ValueError, match="whole numbers of at least 1"):
        compare(X, y, n_features=[0])
    with pytest.raises(ValueError, match="cannot be found again"):
        compare(X, y, selector=MMFS(relevance=np.ones(X.shape[1])))
    with pytest.raises(ValueError, match="one target"):
        compare(X, X[:, :2], selector=MMFS(task="regression"))


def test_noise_is_not_made_predictive():
    """Selection outside the folds would give an accuracy near 1 here."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 1500)), np.arange(80) % 2
    result = compare(X, y, methods=["mmfs", "f_test", "l1_svm"], n_features=[10])
    assert all(scores.mean() < 0.75 for scores in result.scores.values())
