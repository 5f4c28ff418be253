"""What was measured several times, in different processes and at different hours.

Ratios are taken within a run, and the least favourable of all runs is the one that is published.
"""

import statistics
from collections.abc import Iterator
from pathlib import Path

from benchmarks.results import read
from benchmarks.speed.adjusted import PLAIN
from benchmarks.speed.busy import ALONE, BESIDE
from benchmarks.speed.filters import FIRST, FURTHER

Key = tuple[str, str, str]  # case, contender, number of features ("" where that is no question)


def key(row: dict) -> Key:
    return row["case"], row["contender"], row.get("K", "")


class Runs:
    """Of one part: the rows, and the seconds of everything that could be measured, run by run."""

    def __init__(self, part: str, results: Path) -> None:
        self.rows = read(part, results)
        self.known: dict[str, dict[Key, float]] = {}
        for row in self.rows:
            if row["seconds"]:
                self.known.setdefault(row["run"], {})[key(row)] = float(row["seconds"])

    @property
    def keys(self) -> list[Key]:
        """In order, each once."""
        return list(dict.fromkeys(map(key, self.rows)))

    def ratios(self, one: Key, other: Key) -> list[float]:
        """Of the seconds of one to those of another, in every run that has both."""
        runs = self.known.values()
        return [known[one] / known[other] for known in runs if one in known and other in known]

    def seconds(self, what: Key) -> float | None:
        """The median of the runs."""
        found = [known[what] for known in self.known.values() if what in known]
        return statistics.median(found) if found else None

    def row(self, what: Key) -> dict:
        """That of the first run: what has nothing to do with time is the same in all."""
        return next(row for row in self.rows if key(row) == what)

    def fastest_other(self, case: str, number: str, own: str) -> tuple[float, str] | None:
        """The least favourable seconds of the fastest other contender, in those of our own."""
        ours, found = (case, own, number), []
        for known in self.known.values():
            others = [k for k in known if k[0] == case and k[2] == number and k != ours]
            if ours in known and others:
                best = min(others, key=known.__getitem__)
                found.append((known[best] / known[ours], best[1]))
        return min(found, default=None)

    def beyond_scans(self, what: Key) -> list[float]:
        """Seconds besides its scans, in every run."""
        case, n_scans = what[0], int(self.row(what)["scans"] or 0)
        return [
            known[what] - known[case, FIRST, ""] - (n_scans - 1) * known[case, FURTHER, ""]
            for known in self.known.values()
            if what in known
        ]


def busy(results: Path) -> Iterator[tuple[str, list[float]]]:
    """Of every case how many times longer a fit takes beside a busy process."""
    runs = Runs("busy", results)
    for case in dict.fromkeys(case for case, _, _ in runs.keys):
        yield case, runs.ratios((case, BESIDE, ""), (case, ALONE, ""))


def adjusted(results: Path) -> Iterator[tuple[str, str, list[float]]]:
    """Of every case and what was added to it how many times longer a fit takes than without."""
    runs = Runs("adjusted", results)
    for case, name, _ in runs.keys:
        if name != PLAIN:
            yield case, name, runs.ratios((case, name, ""), (case, PLAIN, ""))
