"""What can only be seen from outside: imports, caches, threads, interruption, memory."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import exits
from mmfs import MMFS, MRMR
from mmfs._compiled import active_set, counting, descent, scans, vectors
from mmfs.datasets import make_wide_sparse

pytestmark = pytest.mark.slow


def run(code, **environment):
    """The last line that a new Python process prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1]


COMPILED = """
    from numba.core.dispatcher import Dispatcher
    from mmfs._compiled import active_set, counting, descent, scans, vectors
    kernels = [
        k
        for m in (active_set, counting, descent, scans, vectors)
        for k in vars(m).values()
        if isinstance(k, Dispatcher)
    ]
"""


def test_import_compiles_nothing_and_needs_no_extra():
    answer = run(f"""
    import sys
    import numba, sklearn.feature_selection
    before = {{name.split(".")[0] for name in sys.modules}}
    import mmfs
    {COMPILED}
    new = {{name.split(".")[0] for name in sys.modules}} - before
    print(sum(len(k.signatures) for k in kernels), len(kernels) > 5, new)
    """)
    assert answer == "0 True {'mmfs'}"


FIRST_FIT = f"""
    import time
    import numpy as np, scipy.sparse as sp
    import mmfs
    {COMPILED}
    X = sp.random_array((50, 200), density=0.2, rng=np.random.default_rng(0), format="csc")
    start = time.perf_counter()
    mmfs.MMFS(5).fit(X, np.arange(50) % 2)
    seconds = time.perf_counter() - start
    hits = sum(sum(k.stats.cache_hits.values()) for k in kernels)
    misses = sum(sum(k.stats.cache_misses.values()) for k in kernels)
    print(seconds, hits, misses)
"""


def test_a_second_process_uses_the_cache(tmp_path):
    cold = run(FIRST_FIT, NUMBA_CACHE_DIR=str(tmp_path)).split()
    warm = run(FIRST_FIT, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert int(cold[1]) == 0 and int(cold[2]) > 0
    assert int(warm[1]) > 0 and int(warm[2]) == 0
    assert float(warm[0]) < min(1.0, float(cold[0]) / 2)


def test_two_threads_may_fit_at_once(small):
    X, y = small
    jobs = [np.asarray(X), sp.csc_array(X), sp.csr_array(X)] * 8
    with ThreadPoolExecutor(4) as pool:
        fits = list(pool.map(lambda Z: MMFS(5, n_jobs=2).fit(Z, y).indices_.tolist(), jobs))
    assert all(fit == fits[0] for fit in fits)


def test_compiled_signatures_stay_few():
    """One per storage and type in use: float64 inputs add a single signature to each loop."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 40)), np.arange(30) % 2
    loops = (
        scans.csc_sums, scans.csc_several, scans.csr_sums, descent.dcd, active_set.newton,
        active_set.homotopy, vectors.gather, counting.csc_states,
    )  # fmt: skip
    before = [len(loop.signatures) for loop in loops]
    for storage in (np.asarray, sp.csc_array, sp.csc_matrix, sp.csr_array):
        for options in ({}, {"gamma": 1}, {"gamma": np.float32(0.5)}, {"C": np.inf}, {"C": 2},
                        {"kernel": "poly2"}, {"kernel": "linear"}):  # fmt: skip
            MMFS(5, **options).fit(storage(X), y)
        for discretize in ("three_states", "equal_frequency"):
            MRMR(3, discretize=discretize).fit(storage(X), y)
    for loop, count in zip(loops, before, strict=True):
        assert len(loop.signatures) <= count + 1


def test_ctrl_c_returns_promptly():
    """A plain descent that would take many minutes ends within seconds of the signal."""
    code = """
    import numpy as np
    from mmfs import MMFS
    X = np.random.default_rng(0).standard_normal((300, 20000))
    y = np.random.default_rng(1).standard_normal(300)
    MMFS(5, gamma=1.0, solver="dcd").fit(X[:, :50], y)
    print("ready", flush=True)
    try:
        MMFS(5, gamma=1e-7, solver="dcd", tol=1e-12, max_iter=10**9).fit(X, y)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline().strip() == "ready"
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        assert process.stdout.readline().strip() == "interrupted"
        assert time.monotonic() - start < 5
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def extra_memory(n_columns, n_stored):
    """Peak resident memory during a fit beyond that before it, as a fraction of X."""
    code = f"""
    import threading, time
    import psutil
    from mmfs import MMFS
    from mmfs.datasets import make_wide_sparse
    small, y, _ = make_wide_sparse(2_000, 2_000, 20_000)
    MMFS(100).fit(small, y)  # compile first
    X, y, _ = make_wide_sparse(20_000, {n_columns}, {n_stored})
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    process, peak, done = psutil.Process(), 0, False
    def watch():
        global peak
        while not done:
            peak = max(peak, process.memory_info().rss)
            time.sleep(0.002)
    before = process.memory_info().rss
    thread = threading.Thread(target=watch)
    thread.start()
    MMFS(100).fit(X, y)
    done = True
    thread.join()
    print((peak - before) / size)
    """
    return float(run(code))


def test_memory_stays_under_half_of_two_million_columns():
    assert extra_memory(2_000_000, 50_000_000) < 0.5


def test_centred_sparse_equals_standardised_dense():
    X, y, signals = make_wide_sparse(500, 5_000, 100_000, n_signals=20)
    dense = X.toarray()
    dense -= dense.mean(axis=0)
    norms = np.linalg.norm(dense, axis=0)
    dense /= np.where(norms > 0, norms, 1)
    a, b = MMFS(50, gamma=0.01).fit(X, y), MMFS(50, gamma=0.01).fit(dense, y)
    np.testing.assert_allclose(a.alpha_, b.alpha_, atol=1e-8)
    np.testing.assert_allclose(a.relevance_, b.relevance_, atol=1e-8)
    np.testing.assert_allclose(a.gradient_, b.gradient_, atol=1e-8)
    assert len(set(signals) & set(a.indices_)) >= 5


def test_processes_that_did_their_work_exit_with_0(tmp_path):
    """Several at once, so that a thread that outlives the interpreter has a chance to show."""
    exits.prepare(tmp_path)
    for name in ("info", "read_table of csv", "read_table of csv.zst"):
        command = exits.commands()[name]
        assert exits.failures(tmp_path, command, runs=12, at_once=4) == [], name
