"""The figures."""

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.speed.filters import F_CLASSIF, ONE_GAMMA, READ

COLOURS = {
    ONE_GAMMA: "#bde0c8", "MMFS, 10 features": "#95d5b2", "MMFS, 100 features": "#2d9d6f",
    "MMFS, 1000 features": "#0b6e4f", F_CLASSIF: "#d1495b", "chi2": "#edae49",
}  # fmt: skip


def _filters(rows):
    cases = list(dict.fromkeys(row["case"] for row in rows))
    known = {(r["case"], r["contender"]): float(r["seconds"]) for r in rows if r["seconds"]}
    figure, ax = plt.subplots(figsize=(9, 0.62 * len(cases) + 1))
    height = 0.8 / len(COLOURS)
    for i, (name, colour) in enumerate(COLOURS.items()):
        here = [(y, known[case, name] / known[case, READ]) for y, case in enumerate(cases)
                if (case, name) in known]  # fmt: skip
        if here:
            places, reads = np.array(here).T
            ax.barh(places + (i - 2.5) * height, reads, height, color=colour, label=name)
    ax.set(xscale="log", xlabel="multiples of one read of the data", yticks=range(len(cases)))
    ax.set_xlim(left=1)
    ax.set_yticklabels(cases)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=3)
    return figure


def _growth(rows):
    points = np.array([
        (float(r["stored"]), float(r["seconds"]), float(r["read"]))
        for r in rows if r["study"] == "entries"
    ])  # fmt: skip
    points = points.reshape(-1, 3)
    figure, ax = plt.subplots(figsize=(5, 3.4))
    ax.loglog(points[:, 0], points[:, 1], "o-", color="#0b6e4f", label="MMFS, 100 features")
    ax.loglog(points[:, 0], points[:, 2], "o-", color="#999999", label="one read")
    ax.set_xticks(points[:, 0], [f"{n / 1e6:.3g}" for n in points[:, 0]])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="millions of stored entries", ylabel="seconds")
    ax.legend()
    return figure


FIGURES = {"filters": _filters, "growth": _growth}
