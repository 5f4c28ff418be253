"""The figures."""

import statistics

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.speed.filters import F_CLASSIF, FIRST, READ

# The cases that readers see first, of every kind of data.
HEADLINES = [
    "power law, columns", "power law, rows", "shaped as kddb", "enron", "news20",
    "dense, 100,000 x 1,000", "dense, 1,000 x 20,000", "mnist_3v8", "arcene", "leukemia",
]  # fmt: skip
COLOURS = {
    FIRST: "#bbbbbb", F_CLASSIF: "#d1495b", "MMFS, 10 features": "#95d5b2",
    "MMFS, 100 features": "#0b6e4f",
}  # fmt: skip


def _medians(rows, *names):
    """Of the seconds of every run."""
    found = {}
    for row in rows:
        if row["seconds"]:
            found.setdefault(tuple(row[name] for name in names), []).append(float(row["seconds"]))
    return {key: statistics.median(values) for key, values in found.items()}


def _filters(rows):
    known = _medians(rows, "case", "contender")
    cases = [case for case in HEADLINES if (case, READ) in known]
    figure, ax = plt.subplots(figsize=(8, 0.42 * len(cases) + 1))
    height = 0.8 / len(COLOURS)
    for i, (name, colour) in enumerate(COLOURS.items()):
        reads = [known[case, name] / known[case, READ] for case in cases]
        places = np.arange(len(cases)) + (i - (len(COLOURS) - 1) / 2) * height
        ax.barh(places, reads, height, color=colour, label=name)
    ax.set(xscale="log", xlabel="multiples of one read of the data", yticks=range(len(cases)))
    ax.set_xlim(left=0.5)
    ax.set_yticklabels(cases)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, -0.12), ncols=4)
    return figure


def _growth(rows):
    here = [row for row in rows if row["study"] == "entries"]
    seconds = _medians(here, "stored")
    reads = _medians([row | {"seconds": row["read"]} for row in here], "stored")
    entries = np.array([float(stored) for (stored,) in seconds])
    figure, ax = plt.subplots(figsize=(5, 3.4))
    ax.loglog(entries, list(seconds.values()), "o-", color="#0b6e4f", label="MMFS, 100 features")
    ax.loglog(entries, list(reads.values()), "o-", color="#999999", label="one read")
    ax.set_xticks(entries, [f"{n / 1e6:.3g}" for n in entries])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="millions of stored entries", ylabel="seconds")
    ax.legend()
    return figure


FIGURES = {"filters": _filters, "growth": _growth}
