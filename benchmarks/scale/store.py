"""A column store larger than the memory it is worked on with.

Made from parts, and fitted in a process of its own, whose memory is watched: that which is its own
(RssAnon), without pages of files that the system keeps as long as it likes. Before the first fit
the files are taken out of the system's memory.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.scale.data import N_SIGNALS, parts, signals_of
from mmfs import MMFS, open_store, write_store

PART = "store"
SHAPE, QUICK = (250_000, 2_000_000, 3_200), (2_000, 20_000, 100)
K = 100
TURNS = ("read once, from disk", "fit, from disk", "read once", "fit", "fit, two threads")


def measure(folder: Path, quick: bool) -> list[dict[str, Any]]:
    shape = QUICK if quick else SHAPE
    path = folder / "store"
    rows = [_watched("write", path, *shape)]
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in TURNS}
    for _ in range(1 if quick else 3):  # by turns: what a disk gives changes from minute to minute
        for name, found in turns.items():
            found.append(_watched(name, path, cold="from disk" in name))
    for found in turns.values():
        rows.append(sorted(found, key=lambda row: row["seconds"])[len(found) // 2])
    small = folder / "small"
    rows += [_watched("write a copy of some rows", small, shape[0] // 40, *shape[1:])]
    rows += [_watched("as in memory", small)]
    shutil.rmtree(path)
    shutil.rmtree(small)
    return rows


def _watched(what: str, path: Path, *shape: int, cold: bool = False) -> dict[str, Any]:
    if cold:
        for file in path.iterdir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    command = [sys.executable, "-m", "benchmarks.scale.store", what, str(path), *map(str, shape)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    row = {"what": what, **json.loads(answer.stdout.splitlines()[-1])}
    print(row, flush=True)
    return row


def _own_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


def _work(what: str, path: Path, shape: list[int]) -> dict[str, Any]:
    if what.startswith("write"):
        store = write_store(path, parts(shape[0], shape[1], shape[2]), target_name="y")
        return {"gigabytes": store.nbytes / 1e9, "entries": store.nnz}
    if what.startswith("read once"):
        size = 0
        for file in path.glob("*.npy"):
            with file.open("rb", buffering=0) as opened:
                while block := opened.read(1 << 23):
                    size += len(block)
        return {"gigabytes": size / 1e9}
    store = open_store(path)
    if what == "as in memory":
        X = sp.csc_array(store[:, :])
        there, here = MMFS(K).fit(store), MMFS(K).fit(X, store.y)
        same = np.array_equal(there.indices_, here.indices_)
        return {"gigabytes": store.nbytes / 1e9, "same": same,
                "difference": float(np.abs(there.alpha_ - here.alpha_).max())}  # fmt: skip
    fit = MMFS(K, n_jobs=2 if "two" in what else None).fit(store)
    found = len(np.intersect1d(fit.indices_, signals_of(store.shape[1]))) / N_SIGNALS
    return {"gigabytes": store.nbytes / 1e9, "passes": fit.n_scans_, "gap": fit.gap_,
            "signals_found": found}  # fmt: skip


def main() -> None:
    what, path, *shape = sys.argv[1:]
    rng = np.random.default_rng(0)  # compile outside the clock
    warm = Path(path).with_name("warm")
    MMFS(2).fit(write_store(warm, rng.random((50, 20)), rng.integers(0, 2, 50)))
    shutil.rmtree(warm)
    before, peak, done = _own_memory(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], _own_memory())

    watching = threading.Thread(target=watch)
    watching.start()
    start = time.perf_counter()
    found = _work(what, Path(path), list(map(int, shape)))
    seconds = time.perf_counter() - start
    done.set()
    watching.join()
    memory = {"own_gb": peak[0] / 1e9, "own_gb_before": before / 1e9}
    print(json.dumps({"seconds": seconds, **memory, **found}))


if __name__ == "__main__":
    main()
