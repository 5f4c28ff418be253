"""Data larger than memory, and larger than one machine: measured, and planned.

    python -m benchmarks.scale                         all, to docs/scaling.md
    python -m benchmarks.scale store workers           some parts
    python -m benchmarks.scale --quick --out FOLDER    a small version of all

Some twenty gigabytes of disk are needed in --work for a while. Leave the machine alone meanwhile.
"""

import os
import sys
import tempfile
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from benchmarks.pages import parsed, parser_of  # noqa: E402
from benchmarks.results import save  # noqa: E402
from benchmarks.scale import STORED, passes, store, workers  # noqa: E402
from benchmarks.scale.page import PAGE  # noqa: E402

PARTS = {module.PART: module for module in (passes, workers, store)}


def main() -> int:
    parser = parser_of(__doc__, PARTS, STORED)
    parser.add_argument("--work", type=Path, help="folder for the data, removed in the end")
    arguments = parsed(parser, PARTS, STORED)
    for part, module in PARTS.items():
        if not arguments.parts or part in arguments.parts:
            with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
                save(_even(module.measure(Path(folder), arguments.quick)), part, arguments.out)
    return 0 if PAGE.write(arguments.out, check=not arguments.quick) else 1


def _even(rows: list[dict]) -> list[dict]:
    """All rows with the fields of all, and numbers to four digits."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: _short(row.get(name, "")) for name in names} for row in rows]


def _short(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
