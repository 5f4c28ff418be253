"""Dask: every chunking gives the answer of data in memory; workers keep their blocks."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mmfs import (
    FCBF,
    FGM,
    GDM,
    MMFS,
    MMFSCV,
    MRMR,
    QPFS,
    SVMRFE,
    MaxRel,
    StabilitySelector,
    write_store,
)
from mmfs.columns import Columns
from mmfs.solvers import tuning
from mmfs.sources import DaskData
from tests.test_store import example

pytestmark = pytest.mark.slow

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

CHUNKS = {"whole": (90, 60), "rows": (20, 60), "columns": (90, 13), "both": (31, 17)}
FORMS = {"dense": np.asarray, "csr": sp.csr_matrix, "csc": sp.csc_array}


def chunked(X, chunks="both", form="dense"):
    return da.from_array(X, chunks=CHUNKS[chunks]).map_blocks(FORMS[form])


def agree(found, known, tol=1e-10, copies=True):
    assert found.indices_.tolist() == known.indices_.tolist()
    if hasattr(known, "alpha_"):
        np.testing.assert_allclose(found.alpha_, known.alpha_, atol=tol)
        assert found.gap_ <= 1e-4 and found.n_constant_ == known.n_constant_
        assert not copies or found.n_duplicate_ == known.n_duplicate_


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chunks", CHUNKS)
def test_every_chunking_gives_the_same(chunks, form):
    X, y = example()
    data = chunked(X, chunks, form)
    here = X if form == "dense" else sp.csc_array(X)
    agree(MMFS(8).fit(data, y), MMFS(8).fit(here, y))
    agree(MMFS(8).fit(data, da.from_array(y)), MMFS(8).fit(here, y))
    classes = np.digitize(X[:, 2] + X[:, 20], [-0.3, 0.3])
    agree(MMFS(8, center=False).fit(data, classes), MMFS(8, center=False).fit(here, classes))


@pytest.mark.parametrize(
    "selector",
    [
        MMFS(8, kernel="poly2"), MMFS(5, relevance="binned_mutual_info"), MMFS(5, rank="path"),
        MMFS(30, gamma=0.01), MaxRel(6), MRMR(6), MRMR(6, criterion="FCQ"), FCBF(),
        FCBF(discretize="mdl"), QPFS(6), FGM(6), GDM(6), MMFSCV(n_features=[2, 5], cv=3),
        StabilitySelector(MMFS(5), n_pairs=5),
    ],
    ids=str,
)  # fmt: skip
def test_other_selectors_take_it_too(selector):
    X, y = example()
    known = selector.fit(sp.csc_array(X), y).indices_.tolist()
    assert selector.fit(chunked(X, form="csr"), y).indices_.tolist() == known


@pytest.mark.parametrize("chunks", ["rows", "columns", "both"])
@pytest.mark.parametrize("k", [8, 40, None, 0.05, 56])
@pytest.mark.parametrize(
    "how",
    [
        {}, {"kernel": "linear", "tol": 1e-10}, {"gamma": 0.01}, {"C": 0.05},
        {"formulation": "constrained"}, {"center": False},
    ],
    ids=str,
)  # fmt: skip
def test_few_columns_fetched_at_first(monkeypatch, how, k, chunks):
    """Solved among few columns, certified over all: also where those few do not suffice."""
    X, y = example()
    X[:, 33] = -X[:, 10]
    X[:, 34] = 1.0
    for target in (y, np.digitize(X[:, 2] + X[:, 20], [-0.3, 0.3])):
        known = MMFS(k, **how).fit(X, target)
        with monkeypatch.context() as patch:
            patch.setattr(tuning, "LEAST_ADDED", 5)
            patch.setattr(tuning, "FIRST", 1)
            found = MMFS(k, keep_scores=False, **how).fit(chunked(X, chunks), target)
        agree(found, known, 1e-6, copies=False)
        assert found.n_features_in_ == 60
        why, reasons = found.explain(chunked(X, chunks), n_dropped=0), known.explain(X, n_dropped=0)
        assert why.index.tolist() == reasons.index.tolist()
        for what in ("weight", "relevance", "redundancy", "margin"):
            np.testing.assert_allclose(why[what], reasons[what], atol=1e-6)


def test_scans_are_counted_alike_wherever_data_are(monkeypatch):
    """Two if the first columns fetched suffice; one more for every round of violators."""
    X, y = example()
    assert MMFS(8).fit(chunked(X), y).n_scans_ == MMFS(8).fit(X, y).n_scans_ == 2
    monkeypatch.setattr(tuning, "LEAST_ADDED", 5)
    few, here = MMFS(gamma=0.01).fit(chunked(X), y), MMFS(gamma=0.01).fit(X, y)
    assert few.n_scans_ == here.n_scans_ == few.n_iter_ + 1 > 3
    agree(few, here, 1e-6)


@pytest.mark.parametrize(
    "selector",
    [
        MMFS(5),
        MMFSCV(n_features=[2, 4], cv=2),
        StabilitySelector(n_features_per_half=2, n_pairs=2, threshold=0.6),
    ],
    ids=["MMFS", "MMFSCV", "StabilitySelector"],
)
@pytest.mark.filterwarnings("ignore:no feature was selected")
def test_nothing_of_length_N_comes_here(selector, monkeypatch):
    """What a scan, or a question, brings back does not grow with N."""
    sizes, y = [], np.arange(12) % 2

    def watched(name):
        method = getattr(DaskData, name)

        def watch(self, *given, **how):
            found = method(self, *given, **how)
            sizes.append(len(pickle.dumps(found)) if not hasattr(found[0], "dask") else 0)
            return found

        return watch

    def largest(n):
        X = np.random.default_rng(0).standard_normal((12, n), dtype=np.float32)
        with monkeypatch.context() as patch:
            for name in ("scan", "ask", "first_scan"):
                patch.setattr(DaskData, name, watched(name))
            data = da.from_array(X, chunks=(6, n // 8))
            found = clone(selector).fit(data, y)
        known = clone(selector).fit(X, y)
        assert found.indices_.tolist() == known.indices_.tolist()
        agree(
            *(getattr(some, "best_selector_", some) for some in (found, known)), 1e-6, copies=False
        )
        assert len(sizes) > 5
        size = max(sizes)
        sizes.clear()
        return size

    assert 0 < largest(80_000) < 1.1 * largest(20_000)
    if isinstance(selector, MMFS):
        assert largest(200_000) < 1.1 * largest(20_000)


def test_the_most_relevant_columns_are_those():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 800)), rng.standard_normal(30)
    X[:, 400] = 3.0  # constant
    X[:, 700] = X[:, 20]
    columns = Columns(DaskData(da.from_array(X, chunks=(10, 90))))
    columns.first_scan(((y - y.mean()) / np.linalg.norm(y - y.mean()))[:, None])
    r = np.array([abs(np.corrcoef(x, y)[0, 1]) if np.ptp(x) else -1 for x in X.T])
    for n in (1, 50, 300, 799, 900):
        found, relevance = columns.most_relevant(n)
        best = np.lexsort((np.arange(800), -np.round(r, 12)))[: min(n, 799)]
        assert found.tolist() == best.tolist()
        np.testing.assert_allclose(relevance, r[best], atol=1e-12)


def test_an_unfinished_solution_is_told_of_once():
    X, y = large()
    with pytest.warns(ConvergenceWarning) as caught:
        MMFS(5, max_iter=1, gamma=0.001).fit(da.from_array(X, chunks=(500, 400)), y)
    assert len(caught) == 1 and "solver='working_set' stopped" in str(caught[0].message)


def test_transform_names_and_frames():
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    X, y = example()
    frame = pandas.DataFrame(X, columns=[f"g{j}" for j in range(60)])
    data = frames.from_pandas(frame, npartitions=4)
    selector = MMFS(6).fit(data, y)
    known = MMFS(6).fit(frame, y)
    assert selector.get_feature_names_out().tolist() == known.get_feature_names_out().tolist()
    assert selector.transform(data).compute().equals(frame[known.get_feature_names_out()])
    out = MMFS(6).fit(chunked(X), y).transform(chunked(X))
    np.testing.assert_array_equal(out.compute(), X[:, np.sort(known.indices_)])


def test_empty_blocks_and_columns_of_several_types():
    X, y = example()
    known = MMFS(8).fit(X, y)
    agree(MMFS(8).fit(da.from_array(X, chunks=((0, 40, 0, 50), (20, 0, 40))), y), known)
    keep = np.arange(90) >= 35
    data = chunked(X)[da.from_array(keep, chunks=31)]
    agree(MMFS(8).fit(data, y[keep]), MMFS(8).fit(X[keep], y[keep]))
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame(X, columns=[f"g{j}" for j in range(60)])
    frame["g4"] = frame.g4 > 0
    agree(MMFS(8).fit(frames.from_pandas(frame, npartitions=3), y), MMFS(8).fit(frame, y))
    frame["words"] = "some"
    with pytest.raises(ValueError, match="in column 'words'; encode it"):
        MMFS(8).fit(frames.from_pandas(frame, npartitions=3), y)
    with pytest.raises(ValueError, match="X has 5 rows and 0 columns"):
        MMFS(8).fit(da.ones((5, 0)), y[:5])


def test_mistakes_get_one_sentence():
    X, y = example()
    with pytest.raises(ValueError, match="needs X in memory"):
        SVMRFE(3).fit(chunked(X), y)
    with pytest.raises(ValueError, match="this needs single columns again and again"):
        MMFS(3, solver="dcd").fit(chunked(X), y)
    with pytest.raises(ValueError, match="3 dimensions, not a matrix"):
        MMFS(3).fit(da.zeros((3, 4, 5)), y)
    with pytest.raises(ValueError, match="values of type"):
        MMFS(3).fit(chunked(X).astype(str), y)
    with pytest.raises(ValueError, match="has 90"):
        MMFS(3).fit(chunked(X), y[:80])
    with pytest.raises(ValueError, match="all 60 columns of X are constant"):
        MMFS(3).fit(chunked(np.ones((90, 60))), y)
    with pytest.raises(ValueError, match="n_features_to_select=61 is more than"):
        MMFS(61).fit(chunked(X), y)
    with pytest.raises(ValueError, match="n_features_to_select must be"):
        MMFS("many").fit(chunked(X), y)
    X[3, 4] = np.inf
    with pytest.raises(ValueError, match="infinity in row 3, column 4"):
        MMFS(3).fit(chunked(X), y)


# --- a cluster ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def large(seed=0):
    """Larger than anything that a fit should bring here: 8 MB."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((500, 2000))
    y = (X[:, :8].sum(axis=1) + rng.standard_normal(500) > 0).astype(int)
    return X, y


def sent_to_client(client):
    """Bytes of results that workers sent to the client."""

    def log(dask_worker):
        return [
            entry["total"] for entry in dask_worker.transfer_outgoing_log
            if not str(entry["who"]).startswith("tcp")
        ]  # fmt: skip

    return sum(sum(sizes) for sizes in client.run(log).values())


def test_blocks_stay_with_the_workers(cluster):
    X, y = large()
    data = da.from_array(X, chunks=(250, 250)).persist()
    distributed.wait(data)
    before = sent_to_client(cluster)
    known = MMFS(10).fit(X, y)
    agree(MMFS(10).fit(data, y), known)
    moved = sent_to_client(cluster) - before
    n_taken = 2 * 150 + 400  # columns brought here, and a few numbers of each of the 2,000
    assert 0 < moved < 8 * (500 * n_taken + 2000 * 20) < X.nbytes / 2

    before = sent_to_client(cluster)
    agree(MMFS(10, keep_scores=False).fit(data, y), known)
    fetched = 8 * 500 * (known.n_iter_ * 150 + 50)
    assert 0 < sent_to_client(cluster) - before < fetched


def test_from_a_store(cluster, tmp_path):
    X, y = example()
    store = write_store(tmp_path / "s", X, y)
    data = store.to_dask(block=2000)
    assert data.npartitions > 5
    agree(MMFS(8).fit(data, y), MMFS(8).fit(store))


@pytest.mark.parametrize("by", ["--workers", "--scheduler"])
def test_on_the_command_line(cluster, tmp_path, by):
    X, y = example()
    store = write_store(tmp_path / "s", X, y)
    where = "2" if by == "--workers" else cluster.scheduler.address
    command = [sys.executable, "-m", "mmfs", "select", str(store.path), "-k", "8", "--json", "-q"]
    done = subprocess.run([*command, by, where], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    chosen = [int(row["feature"]) for row in json.loads(done.stdout)["selected"]]
    assert chosen == MMFS(8).fit(store).indices_.tolist()


def test_a_worker_that_dies_in_mid_fit(tmp_path):
    X, y = large(1)
    known = MMFS(10).fit(X, y)
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        data = da.from_array(X, chunks=(250, 200)).map_blocks(_slowly, dtype=float)
        pids = client.run(os.getpid)
        killed = []

        def kill():
            while not killed:
                time.sleep(0.02)
                if any(client.has_what().values()):
                    time.sleep(0.3)
                    victim = next(iter(pids.values()))
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)

        killer = threading.Thread(target=kill)
        killer.start()
        found = MMFS(10).fit(data, y)
        killer.join()
    assert killed
    agree(found, known)


def _slowly(block):
    time.sleep(0.05)
    return block


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("chunks", CHUNKS)
def test_weights_holes_covariates_and_more(chunks, form):
    X, y = example()
    rng = np.random.default_rng(0)
    X[(rng.random(X.shape) < 0.05) & (X != 0)] = np.nan
    data, here = chunked(X, chunks, form), X if form == "dense" else sp.csc_array(X)
    weights, Z = rng.uniform(0.5, 2, len(y)), rng.standard_normal((len(y), 2))
    how = {"sample_weight": weights, "covariates": Z}
    agree(MMFS(6).fit(data, y, **how), MMFS(6).fit(here, y, **how))
    counts = rng.integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    repeated = MMFS(6).fit(here[rows], y[rows])
    agree(MMFS(6).fit(data, y, sample_weight=counts), repeated, copies=False)
    known = MMFS(6, must_include=[3], exclude=[5], costs=np.arange(1.0, 61.0))
    agree(clone(known).fit(data, y), clone(known).fit(here, y))
    assert MMFS(6).fit(data, y).n_missing_ == np.isnan(X).sum()
