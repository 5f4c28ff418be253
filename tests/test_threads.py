"""BLAS has one thread while it works on small tiles, and its own again afterwards."""

import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mmfs import MMFS, mmfs_path
from mmfs.threads import one_thread


def blas_threads():
    return {some["num_threads"] for some in threadpool_info() if some["user_api"] == "blas"}


def test_threads_are_given_back_also_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        assert one_thread(blas_threads)() == {1}
        with pytest.raises(ZeroDivisionError):
            one_thread(lambda: 1 / 0)()
        assert blas_threads() == {2}


@pytest.mark.parametrize("run", [lambda X, y: MMFS(5).fit(X, y), mmfs_path])
def test_solvers_work_with_one(run, monkeypatch):
    solvers, seen = sys.modules["mmfs.solvers.exact"], []
    homotopy = solvers.homotopy
    monkeypatch.setattr(
        solvers, "homotopy", lambda *how: (seen.append(blas_threads()), homotopy(*how))[1]
    )
    X = np.random.default_rng(0).standard_normal((50, 300))
    with threadpool_limits(2, user_api="blas"):
        run(X, X[:, 0] + X[:, 1] > 0)
        assert blas_threads() == {2}
    assert seen and set.union(*seen) == {1}
