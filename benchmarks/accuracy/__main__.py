"""Makes the paper's tables and figures again, and the page about them.

    python -m benchmarks.accuracy                       all, from data to docs/reproduction.md
    python -m benchmarks.accuracy accuracy variants     some parts
    python -m benchmarks.accuracy --quick --out FOLDER  a small version of all, in two minutes

Data sets are looked for in --data (or MMFS_DATA). Results are written part by part; what is there
already is kept, so that a run that was stopped goes on (--again starts anew). The peers that take
part come with `pip install 'mmfs[bench]'`.
"""

import argparse
import os
import sys
from pathlib import Path

# One thread for every small matrix product: two processes share the machine.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from benchmarks.accuracy import STORED, counts, scale, surface, tables, times, variants  # noqa: E402
from benchmarks.accuracy.page import PAGE  # noqa: E402

PARTS = {module.PART: module for module in (tables, variants, counts, surface, times, scale)}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}, page; all if none")
    parser.add_argument("--data", type=Path, default=os.environ.get("MMFS_DATA"))
    parser.add_argument("--out", type=Path, default=STORED, help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="a small version, for a check")
    parser.add_argument("--again", action="store_true", help="forget earlier results of the parts")
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part not in [*PARTS, "page"]:
            parser.error(f"there is no part {part!r}; parts are {', '.join(PARTS)}, page")
    if arguments.data is None and arguments.parts != ["page"]:
        parser.error("say where the data sets are: --data FOLDER, or MMFS_DATA")
    if arguments.quick and arguments.out == STORED:
        parser.error("--quick needs a folder of its own: --out FOLDER")
    for part, module in PARTS.items():
        if arguments.parts and part not in arguments.parts:
            continue  # "page" alone: only the page is written again
        if arguments.again:
            (arguments.out / f"{part}.csv").unlink(missing_ok=True)
        print(f"== {part}", flush=True)
        module.run(Path(arguments.data), arguments.out, arguments.quick)
    return 0 if PAGE.write(arguments.out, check=not arguments.quick) else 1


if __name__ == "__main__":
    sys.exit(main())
