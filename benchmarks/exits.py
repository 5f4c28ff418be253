"""Does every command that did its work exit with 0? Each short one many times, several at once.

    python -m benchmarks.exits [runs, default 200] [at once, default 4] [names of commands ...]

A thread that outlives the interpreter aborts one run in ten or one in a hundred, and only where
processes compete for the processor; so this counts.
"""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

MMFS = (sys.executable, "-m", "mmfs")
FORMATS = ("csv", "csv.gz", "csv.zst", "parquet", "arrow")
SCRIPT = """
from mmfs.io import read_table
table = read_table("planted.{0}", target="group")
print(table.X.shape)
"""
WRITING = """
from mmfs.io import read_table, write_table
write_table(read_table("planted.csv", target="group"), "written-{1}.{0}", force=True)
"""


def commands() -> dict[str, tuple[str, ...]]:
    """By name; `{number}` in a word is replaced by the number of the run."""
    labelled = ("planted.csv", "--target", "group")
    found: dict[str, tuple[str, ...]] = {
        "demo": (*MMFS, "demo"),
        "info": (*MMFS, "info", *labelled),
        "info transposed": (*MMFS, "info", "turned.csv", "--transpose"),
        "select, target of another file": (*MMFS, "select", "rows.csv", "-t", "clinic.csv:group"),
        "select --stream": (*MMFS, "select", *labelled, "-k", "6", "--stream"),
        "select from a store": (*MMFS, "select", "store", "-k", "6"),
        "select -o --report": (
            *MMFS, "select", *labelled, "-k", "6", "-o", "small-{number}.csv", "--report",
            "report-{number}.html",
        ),
        "explain": (*MMFS, "explain", labelled[0], "signal 1", *labelled[1:], "-k", "6"),
        "convert to parquet": (
            *MMFS, "convert", *labelled[:1], "made-{number}.parquet", *labelled[1:],
        ),
        "convert to a store": (*MMFS, "convert", *labelled[:1], "made-{number}", *labelled[1:]),
    }  # fmt: skip
    for kind in FORMATS:
        found[f"read_table of {kind}"] = (sys.executable, "-c", SCRIPT.format(kind))
    for kind in ("csv", "parquet"):
        found[f"write_table of {kind}"] = (sys.executable, "-c", WRITING.format(kind, "{number}"))
    return found


def prepare(folder: Path) -> None:
    """The files that the commands read."""

    def run(*words: str) -> None:
        subprocess.run([*MMFS, *words], cwd=folder, check=True, capture_output=True)

    run("demo", "-o", "planted.csv")
    for kind in FORMATS[1:]:
        run("convert", "planted.csv", f"planted.{kind}", "--target", "group")
    run("convert", "planted.csv", "store", "--target", "group")
    lines = (folder / "planted.csv").read_text().splitlines()
    cells = [line.split(",") for line in lines]
    turned = [[f"row {i}", *column[:-1]] for i, column in enumerate(zip(*cells, strict=True))]
    (folder / "turned.csv").write_text("\n".join(",".join(row) for row in turned[:-1]))
    ids = ["id", *(f"patient {i}" for i in range(len(lines) - 1))]
    rows = [",".join([name, *row[:-1]]) for name, row in zip(ids, cells, strict=True)]
    labels = [f"{name},{row[-1]}" for name, row in zip(ids, cells, strict=True)]
    (folder / "rows.csv").write_text("\n".join(rows))
    (folder / "clinic.csv").write_text("\n".join([labels[0], *reversed(labels[1:])]))


def once(folder: Path, words: tuple[str, ...], number: int) -> str:
    """What was wrong with a run, or nothing."""
    words = tuple(word.replace("{number}", str(number)) for word in words)
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)
    return "" if done.returncode == 0 else f"{done.returncode}: {done.stderr.strip()[-200:]}"


def failures(folder: Path, words: tuple[str, ...], runs: int, at_once: int) -> list[str]:
    with ThreadPoolExecutor(at_once) as pool:
        return [wrong for wrong in pool.map(partial(once, folder, words), range(runs)) if wrong]


def main() -> None:
    words = (*sys.argv[1:], *("200", "4")[len(sys.argv) - 1 :])
    runs, at_once, names = int(words[0]), int(words[1]), words[2:]
    total = 0
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for command, words in commands().items():
            if names and command not in names:
                continue
            wrong = failures(Path(name), words, runs, at_once)
            total += len(wrong)
            print(f"{len(wrong):4d} of {runs} failed: {command} {wrong[:1] or ''}", flush=True)
    print(f"{total} failures in all")
    sys.exit(total > 0)


if __name__ == "__main__":
    main()
