"""Files: how fast they are read, and in how much memory.

    python -m benchmarks.files svmlight [MB]     against scikit-learn's reader, 1,000 MB by default
    python -m benchmarks.files parquet           50,000 columns
    python -m benchmarks.files enron DATA        `mmfs select` on 3 million columns, end to end

DATA is the folder of benchmark sets. Each prints "pass" or "SHORT" against its goals and ends with
status 1 if any falls short. Times are medians of interleaved runs; only their ratios mean much.
Memory is the peak of a process of its own.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.measure import goal, seconds_of
from mmfs.io import Table, read_svmlight, write_table


def peak_of(script, *words):
    """Peak memory in bytes of a Python process that runs a script, beyond its imports."""
    head = (
        "import pathlib, sys, tempfile\n"
        "from mmfs.io import read_svmlight, read_table\n"
        "with tempfile.TemporaryDirectory() as folder:  # what compiled code takes, once\n"
        "    path = pathlib.Path(folder, 'tiny.svm')\n"
        "    path.write_text('1 1:1\\n')\n"
        "    read_svmlight(path), read_svmlight(path, layout='csc')\n"
        "def peak():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('VmHWM'))\n"
    )
    text = f"{head}before = peak()\n{script}\nprint(1024 * (peak() - before))"
    done = subprocess.run([sys.executable, "-c", text, *words], capture_output=True, check=True)
    return int(done.stdout.split()[-1])


def write_svm(path, megabytes, digits):
    """A power law of columns, some 150 to a row, as in text."""
    rng = np.random.default_rng(0)
    lines, size = [], 0
    while size < 20e6:
        columns = np.unique((rng.pareto(1.0, 150) * 5000).astype(int) % 3_000_000 + 1)
        values = rng.standard_normal(len(columns))
        entries = " ".join(f"{j}:{v:.{digits}g}" for j, v in zip(columns, values, strict=True))
        lines.append(f"{rng.choice([-1, 1])} {entries}\n")
        size += len(lines[-1])
    text = "".join(lines)
    with path.open("w") as file:
        for _ in range(max(1, round(megabytes * 1e6 / len(text)))):
            file.write(text)


def svmlight(argument):
    megabytes, good = float(argument or 1000), True
    for digits in (6, 17):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "large.svm")
            write_svm(path, megabytes, digits)
            size = path.stat().st_size
            runs = {
                "csr": lambda path=path: read_svmlight(path),
                "csc": lambda path=path: read_svmlight(path, layout="csc"),
                "sklearn": lambda path=path: load_svmlight_file(str(path)),
            }
            seconds = {name: [] for name in runs}
            for turn in range(3):
                for name, run in runs.items():
                    if name == "sklearn" and turn == 2:
                        continue
                    took, (X, y, *_) = seconds_of(run)
                    seconds[name].append(took)
                    if name == "csr":
                        ours = X, y
                    elif name == "sklearn" and turn == 0:
                        same = all(
                            np.array_equal(getattr(X, part), getattr(ours[0], part))
                            for part in ("indptr", "indices", "data")
                        ) and np.array_equal(y, ours[1])
                    del X, y
            stored = sum(getattr(ours[0], part).nbytes for part in ("data", "indices", "indptr"))
            times = {name: statistics.median(some) for name, some in seconds.items()}
            print(f"{size / 1e6:,.0f} MB, {digits} digits, {ours[0].nnz:,} entries")
            for name, took in times.items():
                print(f"  {name}: {took:.2f} s, {size / took / 1e6:,.0f} MB/s")
            good &= goal("same as scikit-learn, bit for bit", int(same), 1, at_least=True)
            good &= goal("scikit-learn / rows", times["sklearn"] / times["csr"], 5, at_least=True)
            good &= goal(
                "scikit-learn / columns", times["sklearn"] / times["csc"], 2, at_least=True
            )
            del ours
            for layout in ("csr", "csc"):
                script = f"kept = read_svmlight(sys.argv[1], layout='{layout}')"
                extra = peak_of(script, str(path)) - stored
                words = f"MB of memory beyond the result's {stored / 1e6:,.0f}, {layout}"
                good &= goal(words, extra / 1e6, 200)
    return good


def parquet(_):
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "wide.parquet")
        X = rng.standard_normal((2_000, 50_000)).astype(np.float32)
        names = np.array([f"gene {j}" for j in range(50_000)])
        write_table(Table(X, np.arange(2_000) % 2, names, target_name="y"), path)
        size = X.nbytes
        took = seconds_of(lambda: peak_of("", ""))[0]
        del X
        start = time.perf_counter()
        peak = peak_of("kept = read_table(sys.argv[1], target='y')", str(path))
        print(f"50,000 columns, {size / 1e6:,.0f} MB: {time.perf_counter() - start - took:.1f} s")
        few = peak_of("kept = read_table(sys.argv[1], target='y', include=['gene 1?'])", str(path))
        print(f"ten columns of it: {few / 1e6:,.0f} MB, most of that for names and metadata")
        return goal("peak memory / size of the matrix", peak / size, 2)


def enron(folder):
    data = Path(folder)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "enron.svm")
        target = f"{data / 'enron123_word13_labels.npz'}:y"
        mmfs = [sys.executable, "-m", "mmfs"]
        source = str(data / "enron123_word13.npz")
        subprocess.run([*mmfs, "convert", source, str(path), "-t", target], check=True)
        reduced, page = Path(scratch, "small.svm"), Path(scratch, "page.html")
        print(f"{path.stat().st_size / 1e6:,.0f} MB of text")
        for words in (["-k", "20"], ["-k", "100", "-o", str(reduced), "--report", str(page)]):
            command = [*mmfs, "select", str(path), *words]
            took, _ = seconds_of(
                lambda command=command: subprocess.run(
                    command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
            print(
                f"mmfs select {' '.join(words[:2])}: {took:.1f} s, peak so far {peak / 1e9:.2f} GB"
            )
        return goal("peak memory / size of the text", peak / path.stat().st_size, 15)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("which", choices=("svmlight", "parquet", "enron"))
    parser.add_argument("argument", nargs="?")
    arguments = parser.parse_args()
    run = {"svmlight": svmlight, "parquet": parquet, "enron": enron}[arguments.which]
    sys.exit(not run(arguments.argument))
