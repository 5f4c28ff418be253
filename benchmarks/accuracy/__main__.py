"""Makes the paper's tables and figures again, and the page about them.

    python -m benchmarks.accuracy                       all, from data to docs/reproduction.md
    python -m benchmarks.accuracy accuracy variants     some parts
    python -m benchmarks.accuracy --quick --out FOLDER  a small version of all, in two minutes

Data sets are looked for in --data (or MMFS_DATA). Results are written part by part; what is there
already is kept, so that a run that was stopped goes on (--again starts anew). The peers that take
part come with `pip install 'mmfs[bench]'`.
"""

import os
import sys
from pathlib import Path

# One thread for every small matrix product: two processes share the machine.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from benchmarks.accuracy import STORED, counts, scale, surface, tables, times, variants  # noqa: E402
from benchmarks.accuracy.page import PAGE  # noqa: E402
from benchmarks.pages import parsed, parser_of  # noqa: E402

PARTS = {module.PART: module for module in (tables, variants, counts, surface, times, scale)}


def main() -> int:
    parser = parser_of(__doc__, PARTS, STORED)
    arguments = parsed(parser, PARTS, STORED)
    if arguments.data is None and arguments.parts != ["page"]:
        parser.error("say where the data sets are: --data FOLDER, or MMFS_DATA")
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
