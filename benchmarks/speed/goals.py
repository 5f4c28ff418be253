"""What is asked of speed and memory, computed from the stored results: see `runs`."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Goal, at_least, at_most
from benchmarks.results import read
from benchmarks.speed import latency
from benchmarks.speed.adjusted import COVARIATES, MISSING
from benchmarks.speed.filters import F_CLASSIF, FIRST, FURTHER, ONE_GAMMA, READ
from benchmarks.speed.runs import Runs, adjusted, busy

HUNDRED, THOUSAND = "MMFS, 100 features", "MMFS, 1000 features"
DOUBLE, SINGLE = "dense, 1,000 x 20,000", "dense, 1,000 x 20,000, single"

# Of the time of f_classif, and of one read of the arrays, at most.
OF_F_CLASSIF = [
    ("power law, columns", HUNDRED, 0.25), ("sparse columns", HUNDRED, 0.15),
    ("shaped as kddb", HUNDRED, 0.10), ("power law, rows", HUNDRED, 0.60),
    ("sparse rows", HUNDRED, 0.45), (DOUBLE, HUNDRED, 0.6), (SINGLE, HUNDRED, 0.6),
    ("dense, 100,000 x 1,000", HUNDRED, 0.7), ("mnist_3v8", HUNDRED, 3.0),
    ("news20", HUNDRED, 1.0), ("enron", HUNDRED, 0.35), ("leukemia", THOUSAND, 10.0),
    ("arcene", THOUSAND, 10.0), ("colon", THOUSAND, 10.0), (DOUBLE, THOUSAND, 1.5),
]  # fmt: skip
READS = [
    ("power law, columns", HUNDRED, 10.0), ("power law, columns", ONE_GAMMA, 8.0),
    ("power law, rows", HUNDRED, 24.0),
]  # fmt: skip

# Milliseconds besides the scans, at most, for so many features of small data.
SMALL, BEYOND = ("leukemia", "arcene", "colon"), {"10": 5.0, "50": 10.0}

# Times of the plain fit, at most, with what data bring.
ADJUSTED = {
    ("power law, columns", COVARIATES): 1.4,
    ("power law, columns", MISSING): 1.6,
}

BUSY = 1.5  # times longer beside a busy process
FLAT, STEEP = 1.25, 1.05  # with ten times more empty columns; slope over entries, in logarithms
MANY_ROWS = 2.0  # times longer for as many entries in a hundred times as many rows
THREADS = 0.85  # of what one read gains by two threads
SECONDS = 10.0  # for 10,000 features of two million columns
EXTRA = {"csc": 0.15, "dense": 0.15, "csr": 0.35}  # memory, as a share of the data

# How many times faster than the fastest other, at least: at the same optimum, the same task, and
# than descent over all columns.
OPTIMUM = {"news20": 2.0, "enron": 3.0, "webspam, a quarter": 3.0}
TASK = {"news20": 2.0}

# Seconds, and what nothing that builds on scikit-learn and Numba can be sooner than.
SOON = {
    latency.COLD: (4.0, latency.FIRST_FLOOR), latency.IMPORT: (0.7, latency.IMPORT_FLOOR),
    latency.FIRST: (0.15, latency.FIRST_FLOOR),
}  # fmt: skip


def of(results: Path) -> list[Goal]:
    studies = (_filters, _small, _adjusted, _busy, _descent, _others, _growth, _threads, _latency)
    return [goal for study in studies for goal in study(results)]


def _filters(results: Path) -> Iterator[Goal]:
    runs = Runs("filters", results)
    for asked, other, words in ((OF_F_CLASSIF, F_CLASSIF, F_CLASSIF), (READS, READ, "one read")):
        for case, name, limit in asked:
            unit = (case, other, "")
            if found := runs.ratios((case, name, ""), unit):
                scans = [runs.ratios((case, scan, ""), unit) for scan in (FIRST, FURTHER)]
                floor = min(map(sum, zip(*scans, strict=True)))
                yield at_most(
                    f"{case}: {name} / {words} (a first and a certifying scan: {floor:.3g})",
                    max(found), limit,
                )  # fmt: skip
    found = [
        known[SINGLE, HUNDRED, ""] / known[DOUBLE, HUNDRED, ""]
        for known in runs.known.values()
        if (SINGLE, HUNDRED, "") in known and (DOUBLE, HUNDRED, "") in known
    ]
    if found:
        yield at_most(f"{DOUBLE}: single precision / double, 100 features", max(found), 1.0)


def _small(results: Path) -> Iterator[Goal]:
    runs = Runs("filters", results)
    for case in SMALL:
        for k, limit in BEYOND.items():
            what = (case, f"MMFS, {k} features", "")
            if what in runs.keys:
                slowest = 1e3 * max(runs.beyond_scans(what))
                yield at_most(f"{case}: {k} features, milliseconds beyond scans", slowest, limit)


def _adjusted(results: Path) -> Iterator[Goal]:
    for case, name, found in adjusted(results):
        if (case, name) in ADJUSTED:
            yield at_most(f"{case}: {name} / plain", max(found), ADJUSTED[case, name])


def _busy(results: Path) -> Iterator[Goal]:
    for case, found in busy(results):
        yield at_most(f"{case}: beside a busy process / alone", max(found), BUSY)


def _descent(results: Path) -> Iterator[Goal]:
    runs = Runs("descent", results)
    for case, name, k in runs.keys:
        if name == "dcd" and (found := runs.ratios((case, name, k), (case, "working_set", k))):
            yield at_least(
                f"{case}, {k} features: descent over all columns / MMFS", min(found), 1.0
            )


def _others(results: Path) -> Iterator[Goal]:
    """The best solver of the same problem, and the fastest peer at the same task."""
    compared = {"optimum": ("the best other solver", OPTIMUM), "tasks": ("the fastest peer", TASK)}
    for part, (who, limits) in compared.items():
        runs = Runs(part, results)
        for case, k in dict.fromkeys((case, k) for case, _, k in runs.keys):
            if found := runs.fastest_other(case, k, "MMFS"):
                words = f"{case}, {k} features: {who} ({found[1]}) / MMFS"
                yield at_least(words, found[0], limits.get(case, 1.0))


def _studies(results: Path) -> list[dict[tuple[str, str], dict]]:
    """Rows of every run by study and size."""
    rows = read("growth", results)
    runs = dict.fromkeys(row["run"] for row in rows)
    return [{(r["study"], r["size"]): r for r in rows if r["run"] == run} for run in runs]


def slope(rows: dict[tuple[str, str], dict]) -> float:
    """Of log seconds over log entries."""
    points = [
        (float(row["stored"]), float(row["seconds"]))
        for (study, _), row in rows.items()
        if study == "entries"
    ]
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0]) if len(points) > 1 else np.nan


def _growth(results: Path) -> Iterator[Goal]:
    runs = _studies(results)

    def worst(study: str, size: str, per: str | None = None, what: str = "seconds") -> float:
        """The largest of a study, alone or beside that of another size."""
        wanted = [(study, size), (study, per)] if per else [(study, size)]
        here = [rows for rows in runs if all(one in rows for one in wanted)]
        return max(
            (float(rows[study, size][what]) / (float(rows[study, per][what]) if per else 1.0)
             for rows in here),
            default=np.nan,
        )  # fmt: skip

    found = [
        at_most("slope of log seconds over log entries", max(map(slope, runs), default=np.nan),
                STEEP),
        at_most("seconds with 27,000,000 more columns that are empty / without",
                worst("empty", "27000000", "0"), FLAT),
        at_most("a first scan of as many entries in 1,000,000 rows / in 10,000",
                worst("rows", "1000000", "10000"), MANY_ROWS),
        at_most("10,000 of 2,000,000 sparse columns, seconds", worst("many", "10000"), SECONDS),
        *(at_most(f"peak of extra memory / data, {form}", worst("memory", form, what="extra"),
                  limit) for form, limit in EXTRA.items()),
    ]  # fmt: skip
    yield from (goal for goal in found if not np.isnan(goal.value))


def _threads(results: Path) -> Iterator[Goal]:
    for form in ("csc", "csr", "dense"):
        found = []
        for rows in _studies(results):
            if row := rows.get(("threads", form)):
                names = ("seconds", "two_threads", "read", "read_two")
                one, two, read_one, read_two = (float(row[name]) for name in names)
                found.append((one / two / (read_one / read_two), two / read_two))
        if found:
            share, reads = min(found)
            words = f"{form}: gain by two threads / that of one read"
            yield at_least(f"{words} (a pass by two is {reads:.2f} reads by two)", share, THREADS)


def _latency(results: Path) -> Iterator[Goal]:
    rows = read("latency", results)
    for what, (limit, floor) in SOON.items():
        found = {
            word: [float(row["seconds"]) for row in rows if row["what"] == word]
            for word in (what, floor)
        }
        if found[what]:
            words = f"{what}, seconds ({floor}: {min(found[floor], default=np.nan):.2f})"
            yield at_most(words, max(found[what]), limit)
