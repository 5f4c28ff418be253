"""Problems of the full size of webspam and kddb: seconds, memory, and planted signals found.

Every method runs in a process of its own, on the same arrays from disk.
"""

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_selection import chi2
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy.methods import l1_svm, univariate
from benchmarks.measure import peak_gigabytes, seconds_of
from benchmarks.results import read, save
from mmfs import FGM, MMFS
from mmfs.datasets import Wide, make_kddb_shaped, make_webspam_shaped

PART = "scale"
MAKERS = {"webspam": make_webspam_shaped, "kddb": make_kddb_shaped}
METHODS = ("MMFS", "chi2", "FGM", "L1-SVM")
N_SIGNALS, LIMIT = 100, 3600


def run(folder: Path, out: Path, quick: bool) -> None:
    rows = read(PART, out)
    done = {(row["shape"], row["method"]) for row in rows}
    for shape in MAKERS:
        methods = METHODS[:2] if quick else METHODS
        left = [method for method in methods if (shape, method) not in done]
        if not left:
            continue
        with tempfile.TemporaryDirectory() as arrays:
            made = _in_process("make", shape, "0.01" if quick else "1", arrays)
            if made["problem"]:
                raise RuntimeError(f"{shape} could not be made: {made['problem']}")
            for method in left:
                found = _in_process(method, shape, "", arrays)
                rows.append({"shape": shape, "method": method, **found})
                save(rows, PART, out)
                print(rows[-1], flush=True)


def _in_process(*words) -> dict:
    command = [sys.executable, "-m", "benchmarks.accuracy.scale", *words]
    nothing = dict.fromkeys(("rows", "columns", "stored", "data_gb", "seconds", "peak_gb"), "")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return nothing | {"found": "", "problem": f"more than {LIMIT} s"}
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["killed"])[-1]
        return nothing | {"found": "", "problem": said[:200]}
    return json.loads(done.stdout)


def _make(shape: str, scale: str, arrays: Path) -> dict:
    data = MAKERS[shape](float(scale), n_signals=N_SIGNALS)
    X = data.X
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    parts |= {"y": data.y, "signals": data.signals, "copies": data.copies}
    for name, part in parts.items():
        np.save(arrays / f"{name}.npy", part)
    return {"problem": ""}


def _select(method: str, arrays: Path) -> dict:
    part = {path.stem: np.load(path) for path in arrays.glob("*.npy")}
    X = sp.csc_array((part["data"], part["indices"], part["indptr"]), shape=tuple(part["shape"]))
    data = Wide(X, part["y"], part["signals"], part["copies"])
    ours = {"MMFS": MMFS(N_SIGNALS, n_jobs=-1), "FGM": FGM(N_SIGNALS, n_jobs=-1)}
    if method in ours:
        small = make_kddb_shaped(0.001)
        clone(ours[method]).set_params(n_features_to_select=5).fit(small.X, small.y)  # compiled
        seconds, J = seconds_of(lambda: ours[method].fit(X, data.y).indices_)
    elif method == "chi2":
        seconds, J = seconds_of(lambda: univariate(chi2)(X, data.y, N_SIGNALS, True))
    else:  # on columns of unit variance, as everywhere; the others see to that themselves
        scaled = StandardScaler(with_mean=False).fit_transform(X)
        seconds, J = seconds_of(lambda: l1_svm(scaled, data.y, N_SIGNALS, True))
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "stored": X.nnz,
        "data_gb": f"{stored / 1e9:.2f}",
        "seconds": f"{seconds:.4g}",
        "peak_gb": f"{peak_gigabytes():.2f}",
        "found": f"{data.found(J):.2f}",
        "problem": "",
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, shape, scale, arrays = sys.argv[1:]
    found = _make(shape, scale, Path(arrays)) if what == "make" else _select(what, Path(arrays))
    print(json.dumps(found))
