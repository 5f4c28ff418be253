"""A Dask cluster on this machine: seconds, and what goes over its connections, by workers."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.data import N_SIGNALS, parts, signals_of
from mmfs import MMFS, open_store, write_store

PART = "workers"
K, TURNS = 100, 3

# Rows, columns, entries per row; bytes of a block; workers (0: this process, without Dask).
CASES = [
    ((100_000, 2_000_000, 800), 1 << 26, (0, 1, 2, 4)),
    ((100_000, 2_000_000, 800), 1 << 23, (1, 2)),
    ((100_000, 2_000_000, 200), 1 << 25, (0, 1, 2)),
    ((100_000, 8_000_000, 200), 1 << 25, (1, 2)),
    ((20_000, 2_000_000, 2_000), 1 << 25, (1, 2)),
]
QUICK = [((2_000, 20_000, 100), 1 << 19, (0, 1))]


def measure(folder: Path, quick: bool) -> list[dict[str, Any]]:
    path, rows = folder / "blocks", []
    for shape, block, workers in QUICK if quick else CASES:
        write_store(path, parts(*shape), force=True)
        for n in workers:
            command = [sys.executable, "-m", "benchmarks.scale.workers", str(path), str(block)]
            answer = subprocess.run([*command, str(n)], capture_output=True, text=True, check=True)
            rows.append({"workers": n, **json.loads(answer.stdout.splitlines()[-1])})
            print(rows[-1], flush=True)
    shutil.rmtree(path)
    return rows


def _moved(client: Any) -> dict[str, int]:
    """Bytes that workers have sent, to the client and to each other."""

    def sent(dask_worker: Any) -> tuple[int, int]:
        log = dask_worker.transfer_outgoing_log
        here = sum(some["total"] for some in log if not str(some["who"]).startswith("tcp"))
        return here, sum(some["total"] for some in log) - here

    both = client.run(sent).values()
    return {"to_client": sum(a for a, _ in both), "to_workers": sum(b for _, b in both)}


def _fit(path: Path, block: int, n_workers: int) -> dict[str, Any]:
    store = open_store(path)
    size = {"rows": store.shape[0], "columns": store.shape[1], "entries": store.nnz,
            "gigabytes": store.nbytes / 1e9}  # fmt: skip
    if n_workers == 0:
        MMFS(K).fit(store)
        start = time.perf_counter()
        fit = MMFS(K).fit(store)
        seconds = time.perf_counter() - start
        moved = {"bytes_to_client": 0, "bytes_to_workers": 0}
        return size | {"blocks": 1, "load": 0.0, "seconds": seconds, **_found(fit), **moved}
    from distributed import Client, wait

    with Client(
        n_workers=n_workers, threads_per_worker=1, memory_limit=0, dashboard_address=":0"
    ) as client:
        start = time.perf_counter()
        X = store.to_dask(block).persist()
        wait(X)
        load = time.perf_counter() - start
        MMFS(K).fit(X, store.y)  # compile
        before, times = _moved(client), []
        for _ in range(TURNS):
            start = time.perf_counter()
            fit = MMFS(K).fit(X, store.y)
            times.append(time.perf_counter() - start)
        seconds, after = float(np.median(times)), _moved(client)
    moved = {f"bytes_{name}": (after[name] - before[name]) // TURNS for name in before}
    return size | {
        "blocks": X.npartitions,
        "load": load,
        "seconds": seconds,
        **_found(fit),
        **moved,
    }


def _found(fit: MMFS) -> dict[str, Any]:
    found = len(np.intersect1d(fit.indices_, signals_of(fit.n_features_in_))) / N_SIGNALS
    return {"passes": fit.n_scans_, "rounds": fit.n_iter_, "gap": fit.gap_, "signals_found": found}


if __name__ == "__main__":
    print(json.dumps(_fit(Path(sys.argv[1]), *map(int, sys.argv[2:]))))
