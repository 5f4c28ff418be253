"""The paper's own sets: at least its accuracy. Skipped where the data are not at hand."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from mmfs import MMFS


def classifier():
    return LinearSVC(C=1, fit_intercept=False, tol=0.1, random_state=0)


def test_mnist_3_versus_8(shared_data):
    data = shared_data("mnist_3v8")
    train = data["split"] == 0
    X, y = data["X"], data["y"]
    J = MMFS(100).fit(X[train], y[train]).indices_
    scaler = StandardScaler().fit(X[train][:, J])
    model = classifier().fit(scaler.transform(X[train][:, J]), y[train])
    assert model.score(scaler.transform(X[~train][:, J]), y[~train]) >= 0.9606


def test_leukemia_leave_one_out(shared_data):
    data = shared_data("leukemia_golub")
    X, y = data["X"].astype(float), data["y"]
    right = 0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        J = MMFS(14, gamma=0.01).fit(X[rest], y[rest]).indices_
        scaler = StandardScaler().fit(X[rest][:, J])
        model = classifier().fit(scaler.transform(X[rest][:, J]), y[rest])
        right += model.predict(scaler.transform(X[[i]][:, J]))[0] == y[i]
    assert right / len(y) >= 0.9167


@pytest.mark.parametrize("name", ["leukemia_golub", "colon_alon", "srbct_khan", "arcene"])
def test_certificates_on_ill_conditioned_data(shared_data, name):
    data = shared_data(name)
    for k in (1, 10, 100):
        for kernel in ("aligned", "poly2"):
            selector = MMFS(k, kernel=kernel).fit(data["X"], data["y"])
            assert len(set(selector.indices_)) == k
            assert selector.gap_ <= selector.tol
