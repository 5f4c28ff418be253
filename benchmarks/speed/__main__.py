"""How fast is it? Ratios within one run, against floors, filters, solvers and peers.

    python -m benchmarks.speed                         all, to docs/speed.md
    python -m benchmarks.speed filters growth          some parts
    python -m benchmarks.speed --runs 5                so many times, if they were not measured yet
    python -m benchmarks.speed --quick --out FOLDER    a small version of all

Real data sets are looked for in --data (or MMFS_DATA). Every case has a process of its own; within
it competitors take turns, in memory that stays mapped. What is there already is kept (--again
starts anew). All cases are measured before any is measured again, and the least favourable run
counts, so that another run at another hour makes the page more honest. The peers come with
`pip install 'mmfs[peers]'`. Leave the machine alone meanwhile.
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime

from benchmarks.pages import parsed, parser_of
from benchmarks.results import machine, read, save
from benchmarks.speed import (
    STORED,
    adjusted,
    busy,
    descent,
    filters,
    growth,
    latency,
    optimum,
    tasks,
)
from benchmarks.speed.page import PAGE
from benchmarks.speed.timing import MAPPED

MODULES = (filters, adjusted, busy, descent, optimum, tasks, growth, latency)
PARTS = {module.PART: module for module in MODULES}
FEW = {
    "filters": 3,
    "adjusted": 1,
    "busy": 1,
    "descent": 2,
    "optimum": 2,
    "tasks": 1,
}  # cases of a quick run

# One thread, of matrix products too, unless a part is about that.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> int:
    parser = parser_of(__doc__, PARTS, STORED)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=1, help="of every case, each in a process")
    arguments = parsed(parser, PARTS, STORED)
    if arguments.case:
        found = PARTS[arguments.parts[0]].rows(arguments.case, arguments.data, arguments.quick)
        print(json.dumps(found))
        return 0
    whole = True
    for run in range(1, arguments.runs + 1):
        for part in PARTS:
            if not arguments.parts or part in arguments.parts:
                whole &= _measure(part, run, arguments)
        arguments.again = False
    return 0 if PAGE.write(arguments.out, check=not arguments.quick) and whole else 1


def _measure(part: str, run: int, arguments: argparse.Namespace) -> bool:
    """Whether every case could be measured."""
    cases, whole = PARTS[part].CASES, True
    rows = [] if arguments.again else read(part, arguments.out)
    done = {row["made_for"] for row in rows if row["run"] == str(run)}
    for case in cases[: FEW.get(part)] if arguments.quick else cases:
        if case in done:
            continue
        command = [sys.executable, "-m", "benchmarks.speed", part, "--case", case]
        command += ["--out", str(arguments.out)]
        command += ["--quick"] if arguments.quick else []
        command += ["--data", str(arguments.data)] if arguments.data else []
        answer = subprocess.run(command, capture_output=True, text=True, env=_around(part, case))
        if answer.returncode:
            said = answer.stderr.strip().splitlines() or ["killed"]
            print(f"{part}, {case}, run {run}: {said[-1]}", flush=True)
            whole = False
            continue
        made = {"run": str(run), "made_for": case, "made_at": f"{datetime.now(UTC):%F %R} UTC"}
        made["made_on"] = machine()["processor"]
        new = [row | made for row in json.loads(answer.stdout.splitlines()[-1])]
        rows = sorted(rows + new, key=lambda row: (cases.index(row["made_for"]), int(row["run"])))
        save(rows, part, arguments.out)
        for row in new:
            print(
                ", ".join(str(v) for k, v in row.items() if v != "" and k not in made), flush=True
            )
    return whole


def _around(part: str, case: str) -> dict[str, str]:
    """The environment that a case is measured in."""
    as_it_comes = part == "latency" or case.startswith("memory")
    return os.environ | ({} if as_it_comes else MAPPED) | ({} if part == "busy" else ONE_THREAD)


if __name__ == "__main__":
    sys.exit(main())
