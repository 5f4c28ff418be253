"""What is asked of speed and memory, computed from the stored results."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Goal, at_least, at_most
from benchmarks.results import read
from benchmarks.speed.filters import F_CLASSIF, NUMBERS, ONE_GAMMA, READ

# Of the time of f_classif, at most; where columns are sparse, where rows are, and for dense data.
OF_FILTER = {"columns": 0.10, "rows": 0.20, "dense": 1.0}
READS = {ONE_GAMMA: 10.0, "MMFS, 100 features": 20.0}
FLAT = 1.25  # of time, from no empty column to ten times as many as are in use
EXTRA = {"csc": 0.35, "dense": 0.35, "csr": 1.1}
SOON = {"first fit, nothing compiled": 6.0, "first fit, compiled before": 0.6, "later fits": 0.010}


def of(results: Path) -> list[Goal]:
    studies = (_filters, _reads, _descent, _others, _growth, _latency)
    return [goal for study in studies for goal in study(results)]


def storage(case: str) -> str:
    if case.startswith("dense") or case in ("leukemia", "rac_gse55457", "arcene", "mnist_3v8"):
        return "dense"
    return "rows" if "rows" in case else "columns"


def _seconds(part: str, results: Path, *keys: str) -> dict:
    """Seconds by case, contender and further keys."""
    return {
        tuple(row[key] for key in ("case", "contender", *keys)): float(row["seconds"])
        for row in read(part, results)
        if row["seconds"]
    }


def _filters(results: Path) -> Iterator[Goal]:
    known = _seconds("filters", results)
    for case in dict.fromkeys(case for case, _ in known):
        limit = OF_FILTER[storage(case)]
        for name in (*(f"MMFS, {k} features" for k in NUMBERS), ONE_GAMMA):
            if (case, name) in known and (case, F_CLASSIF) in known:
                ratio = known[case, name] / known[case, F_CLASSIF]
                yield at_most(f"{case}: {name} / f_classif", ratio, limit)


def _reads(results: Path) -> Iterator[Goal]:
    known = _seconds("filters", results)
    for case in dict.fromkeys(case for case, _ in known):
        if storage(case) == "columns":
            for name, limit in READS.items():
                if (case, name) in known:
                    yield at_most(
                        f"{case}: {name} / one read of the arrays",
                        known[case, name] / known[case, READ],
                        limit,
                    )


def _descent(results: Path) -> Iterator[Goal]:
    known = _seconds("descent", results, "K")
    for (case, solver, k), seconds in known.items():
        if solver == "dcd" and (case, "working_set", k) in known:
            limit = 1.0 if storage(case) == "dense" else 8.0
            ratio = seconds / known[case, "working_set", k]
            yield at_least(f"{case}, {k} features: descent over all columns / MMFS", ratio, limit)


def _others(results: Path) -> Iterator[Goal]:
    """The best solver of the same problem, and the fastest peer at the same task."""
    compared = {"optimum": ("the best other solver", 3.0), "tasks": ("the fastest peer", 1.0)}
    for part, (who, times) in compared.items():
        known = _seconds(part, results, "K")
        for case, k in dict.fromkeys((case, k) for case, _, k in known):
            here = {name: t for (c, name, n), t in known.items() if (c, n) == (case, k)}
            own = here.pop("MMFS", None)
            if own and here:
                best = min(here, key=here.__getitem__)
                limit = 1.0 if storage(case) == "dense" else times
                words = f"{case}, {k} features: {who} ({best}) / MMFS"
                yield at_least(words, here[best] / own, limit)


def slope(results: Path) -> float:
    """Of log seconds over log entries."""
    points = [
        (float(row["stored"]), float(row["seconds"]))
        for row in read("growth", results)
        if row["study"] == "entries"
    ]
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0])


def _growth(results: Path) -> Iterator[Goal]:
    rows = {(row["study"], row["size"]): row for row in read("growth", results)}
    if sum(study == "entries" for study, _ in rows) > 1:
        yield at_most("slope of log seconds over log entries", slope(results), 1.05)
    empty = {int(size): float(row["seconds"]) for (study, size), row in rows.items()
             if study == "empty"}  # fmt: skip
    if len(empty) > 1 and 0 in empty:
        words = f"seconds with {max(empty):,} more columns that are empty / without"
        yield at_most(words, empty[max(empty)] / empty[0], FLAT)
    for form, limit in EXTRA.items():
        if row := rows.get(("memory", form)):
            yield at_most(f"peak of extra memory / data, {form}", float(row["extra"]), limit)
    for form in ("csc", "csr", "dense"):
        if row := rows.get(("threads", form)):
            floor = float(row["read"]) / float(row["read_two"])
            words = f"a pass by two threads, times faster, {form} (one read: {floor:.2f})"
            yield at_least(words, float(row["seconds"]) / float(row["two_threads"]), 1.6)


def _latency(results: Path) -> Iterator[Goal]:
    for row in read("latency", results):
        yield at_most(f"{row['case']}, {row['what']}, seconds", float(row["seconds"]),
                      SOON[row["what"]])  # fmt: skip
