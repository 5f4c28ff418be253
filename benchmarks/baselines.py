"""The methods of comparison on three million sparse columns: time and peak memory.

    python -m benchmarks.baselines DATA

DATA is the folder of benchmark sets. Each method has a process of its own; it prints "pass" or
"SHORT" (4 GB, and only FCBF and QPFS may refuse) and ends with status 1 if any falls short.
Accuracy is the matter of `benchmarks.accuracy`.
"""

import argparse
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mmfs import FCBF, FGM, GDM, MMFS, MRMR, QPFS, SVMRFE, MaxRel

GIGABYTES = 4.0

SCALE = [
    MMFS(50),
    MaxRel(50),
    MRMR(50),
    MRMR(50, criterion="FCQ"),
    FGM(50),
    GDM(50),
    SVMRFE(50),
    SVMRFE(50, step=0.5),
    FCBF(50),
    FCBF(delta=0.01),
    QPFS(50),
    QPFS(50, nystrom=1e-5),
]


def scale(folder: Path) -> bool:
    print(f"{'':66s}{'seconds':>8s}{'peak GB':>9s}{'features':>10s}")
    passed = True
    for i, selector in enumerate(SCALE):
        command = [sys.executable, "-m", "benchmarks.baselines", str(folder), "--one", str(i)]
        done = subprocess.run(command, capture_output=True, text=True)
        enough = done.returncode == 0 and float(done.stdout.split()[1]) < GIGABYTES
        if "refused" in done.stdout:
            enough &= isinstance(selector, FCBF | QPFS)
        passed &= enough
        answer = done.stdout.rstrip() or done.stderr.strip()[-300:]
        print(f"{name(selector):66s}{answer} {'pass' if enough else 'SHORT'}", flush=True)
    return passed


def one(folder: Path, i: int) -> None:
    X = sp.load_npz(folder / "enron123_word13.npz")
    with np.load(folder / "enron123_word13_labels.npz") as labels:
        y = labels["y"]
    start = time.perf_counter()
    try:
        found = f"{len(SCALE[i].fit(X, y).indices_):10d}"
    except ValueError as refusal:
        found = f"  refused: {refusal}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{time.perf_counter() - start:8.1f}{peak:9.2f}{found}")


def name(selector: object) -> str:
    return " ".join(str(selector).split())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.one is not None:
        one(arguments.folder, arguments.one)
    else:
        sys.exit(0 if scale(arguments.folder) else 1)
