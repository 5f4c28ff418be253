"""BLAS has one thread while it works on small tiles, and its own again afterwards."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

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


def test_threads_are_given_back_by_fits_that_overlap():
    """One begins before another ends, and ends after it: from threads of their own."""
    before, began, ends = blas_threads(), (Event(), Event()), (Event(), Event())

    def work(n):
        began[n].set()
        assert ends[n].wait(10)

    with ThreadPoolExecutor(2) as pool:
        found = []
        for n in (0, 1):
            found.append(pool.submit(one_thread(work), n))
            assert began[n].wait(10)
        for n in (0, 1):
            ends[n].set()
            found[n].result()
    assert blas_threads() == before


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
