"""How soon: import, the first fit of a process without and with compiled code on disk, later ones.

Beside them what no package that builds on scikit-learn and Numba can be sooner than.
"""

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

FLOORS = """
import json, time
start = time.perf_counter()
import sklearn.feature_selection
import numba
imported = time.perf_counter()
import numpy as np
@numba.njit(cache=True)
def total(x):
    s = 0.0
    for value in x:
        s += value
    return s
x = np.ones(3)
defined = time.perf_counter()
total(x)
print(json.dumps([imported - start, time.perf_counter() - defined]))
"""

ONE = """
import json, time
start = time.perf_counter()
from mmfs import MMFS
seconds = [time.perf_counter() - start]
import numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal((72, 7129))
y = X[:, :5].sum(axis=1) > 0
for _ in range(12):
    start = time.perf_counter()
    MMFS(10).fit(X, y)
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""

IMPORT, IMPORT_FLOOR = "import", "import of scikit-learn and Numba alone"
COLD = "first fit, nothing compiled"
FIRST, FIRST_FLOOR = "first fit, compiled before", "first call of one compiled function by Numba"
LATER = "later fits"


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    found: dict[str, list[float]] = {}

    def note(**seconds: float) -> None:
        for what, value in seconds.items():
            found.setdefault(what, []).append(value)

    for _ in range(1 if quick else TURNS):
        with tempfile.TemporaryDirectory() as cache:
            note(**{COLD: _process(ONE, cache)[1]})
            imported, first, *later = _process(ONE, cache)
            note(**{IMPORT: imported, FIRST: first, LATER: statistics.median(later[1:])})
            _process(FLOORS, cache)
            imported, first = _process(FLOORS, cache)
            note(**{IMPORT_FLOOR: imported, FIRST_FLOOR: first})
    order = (IMPORT, IMPORT_FLOOR, COLD, FIRST, FIRST_FLOOR, LATER)
    return [
        {"case": name, "what": what, "seconds": f"{statistics.median(found[what]):.5g}"}
        for what in order
    ]


def _process(code: str, cache: str) -> list[float]:
    script = Path(cache) / "script.py"  # Numba keeps what it compiles of files alone
    script.write_text(code)
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment, check=True
    )
    return json.loads(done.stdout)
