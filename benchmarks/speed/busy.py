"""What another process that keeps a core busy costs, where matrix products might use all cores."""

import subprocess
import sys
from pathlib import Path

from benchmarks.speed.cases import make
from benchmarks.speed.timing import Contender, in_turns, row
from mmfs import MMFS

PART = "busy"
CASES = [
    "dense, 1,000 x 20,000, single",
    "dense, 1,000 x 20,000",
    "dense, 100,000 x 1,000",
    "mnist_3v8",
    "arcene",
]
ALONE, BESIDE = "alone", "beside a busy process"


def rows(name: str, folder: Path | None, quick: bool) -> list[dict]:
    case = make(name, folder, quick)
    fit: dict[str, Contender] = {"MMFS": lambda: MMFS(100).fit(case.X, case.y)}
    found = {ALONE: in_turns(fit, turns=5)["MMFS"]}
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        found[BESIDE] = in_turns(fit, turns=5)["MMFS"]
    finally:
        other.kill()
        other.wait()
    return [row(name, contender, timed) for contender, timed in found.items()]
