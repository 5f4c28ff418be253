"""How soon: the first fit of a process, without and with compiled code on disk, and a later one."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PART = "latency"
CASES = ["72 x 7,129"]
TURNS = 5

ONE = """
import json, time
import numpy as np
from mmfs import MMFS
rng = np.random.default_rng(0)
X = rng.standard_normal((72, 7129))
y = X[:, :5].sum(axis=1) > 0
seconds = []
for _ in range(12):
    start = time.perf_counter()
    MMFS(10).fit(X, y)
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    cold, first, later = [], [], []
    for _ in range(1 if quick else TURNS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(_process(cache)[0])
            seconds = _process(cache)
            first.append(seconds[0])
            later.append(statistics.median(seconds[2:]))
    found = {
        "first fit, nothing compiled": statistics.median(cold),
        "first fit, compiled before": statistics.median(first),
        "later fits": statistics.median(later),
    }
    return [{"case": name, "what": what, "seconds": f"{s:.5g}"} for what, s in found.items()]


def _process(cache: str) -> list[float]:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", ONE], capture_output=True, text=True, env=environment, check=True
    )
    return json.loads(done.stdout)
