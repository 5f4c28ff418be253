"""How fast is it? Ratios within one run, against floors, filters, solvers and peers.

    python -m benchmarks.speed                         all, to docs/speed.md
    python -m benchmarks.speed filters growth          some parts
    python -m benchmarks.speed --quick --out FOLDER    a small version of all

Real data sets are looked for in --data (or MMFS_DATA). Every case has a process of its own; within
it competitors take turns. What is there already is kept (--again starts anew). The peers come with
`pip install 'mmfs[peers]'`. Leave the machine alone meanwhile.
"""

import argparse
import json
import os
import subprocess
import sys

# One thread, of matrix products too, unless a case is about threads.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from benchmarks.pages import parsed, parser_of  # noqa: E402
from benchmarks.results import in_one_line, read, save  # noqa: E402
from benchmarks.speed import (  # noqa: E402
    STORED,
    descent,
    filters,
    growth,
    latency,
    optimum,
    tasks,
)
from benchmarks.speed.page import PAGE  # noqa: E402

PARTS = {module.PART: module for module in (filters, descent, optimum, tasks, growth, latency)}
FEW = {"filters": 3, "descent": 2, "optimum": 2, "tasks": 1, "growth": None, "latency": None}


def main() -> int:
    parser = parser_of(__doc__, PARTS, STORED)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parsed(parser, PARTS, STORED)
    if arguments.case:
        found = PARTS[arguments.parts[0]].rows(arguments.case, arguments.data, arguments.quick)
        print(json.dumps(found))
        return 0
    whole = True
    for part, module in PARTS.items():
        if not arguments.parts or part in arguments.parts:
            whole &= _measure(part, module.CASES, arguments)
    return 0 if PAGE.write(arguments.out, check=not arguments.quick) and whole else 1


def _measure(part: str, cases: list[str], arguments: argparse.Namespace) -> bool:
    """Whether every case could be measured."""
    whole = True
    rows = [] if arguments.again else read(part, arguments.out)
    done = {row["made_for"] for row in rows}
    for case in cases[: FEW[part]] if arguments.quick else cases:
        if case in done:
            continue
        command = [sys.executable, "-m", "benchmarks.speed", part, "--case", case]
        command += ["--out", str(arguments.out)]
        command += ["--quick"] if arguments.quick else []
        command += ["--data", str(arguments.data)] if arguments.data else []
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode:
            said = answer.stderr.strip().splitlines() or ["killed"]
            print(f"{part}, {case}: {said[-1]}", flush=True)
            whole = False
            continue
        made = {"made_for": case, "made_on": in_one_line()}
        rows += [row | made for row in json.loads(answer.stdout.splitlines()[-1])]
        rows.sort(key=lambda row: cases.index(row["made_for"]))
        save(rows, part, arguments.out)
        for row in rows:
            if row["made_for"] == case:
                print(", ".join(str(v) for k, v in row.items() if v != "" and k not in made))
    return whole


if __name__ == "__main__":
    sys.exit(main())
