"""The figures."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.accuracy.methods import TUNED
from benchmarks.accuracy.protocol import TASKS
from benchmarks.accuracy.tables import best_gamma, curve

COLOURS = {
    "MMFS": "#0b6e4f", TUNED: "#7fb069", "FCBF": "#b0b0b0", "QPFS": "#8d6a9f", "QPFS-N": "#c5a3d0",
    "FGM": "#d1495b", "GDM": "#edae49", "MaxRel": "#66a3c7", "mRMR": "#30638e",
    "mRMR (correlations)": "#30638e", "SVM-RFE": "#6d597a", "L1-SVM": "#222222",
}  # fmt: skip
DRAWN = [name for name in COLOURS if name != "mRMR (correlations)"]


def _accuracy(rows):
    tasks = [task for task in TASKS if any(row["task"] == task.name for row in rows)]
    figure, axes = plt.subplots(
        -(-len(tasks) // 3), 3, figsize=(11, 3.4 * -(-len(tasks) // 3)), squeeze=False
    )
    for ax, task in zip(axes.ravel(), tasks, strict=False):
        here = best_gamma([row for row in rows if row["task"] == task.name and not row["problem"]])
        for row in here:
            if row["method"] in DRAWN:
                ours = row["method"] == "MMFS"
                ax.plot(*curve(row), color=COLOURS[row["method"]], lw=2.2 if ours else 1.1,
                        label=row["method"], zorder=3 if ours else 2)  # fmt: skip
        ax.axhline(float(here[0]["majority"]), color="#999999", ls=":", lw=1)
        ax.set(title=f"{task.name} ({task.paper})", xlabel="features", ylabel="accuracy, %")
    for ax in axes.ravel()[len(tasks) :]:
        ax.axis("off")
    handles = {name: h for ax in axes.ravel() for h, name in zip(*ax.get_legend_handles_labels(),
                                                                strict=True)}  # fmt: skip
    figure.legend(handles.values(), handles, loc="upper center", ncols=6, bbox_to_anchor=(0.5, 0))
    figure.tight_layout()
    return figure


def _times(rows):
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = plt.subplots(1, len(sets), figsize=(4.6 * len(sets), 4.6), squeeze=False)
    for ax, name in zip(axes[0], sets, strict=True):
        methods, ends = dict.fromkeys(row["method"] for row in rows), {}
        for i, method in enumerate(methods):
            points = [
                (int(row["K"]), float(row["seconds"]))
                for row in rows
                if row["set"] == name and row["method"] == method and row["seconds"]
            ]
            if not points:
                continue
            ours = method == "MMFS"
            colour = COLOURS.get(method, plt.colormaps["tab20"](i % 20))
            ax.plot(*zip(*points, strict=True), color=colour, lw=2.4 if ours else 1,
                    marker="o", ms=3, zorder=3 if ours else 2)  # fmt: skip
            ends[method] = (*points[-1], colour)
        heights = _apart(np.log10([y for _, y, _ in ends.values()]))
        for (method, (x, _, colour)), height in zip(ends.items(), heights, strict=True):
            ax.annotate(method, (x, 10**height), xytext=(4, 0), textcoords="offset points",
                        color=colour, fontsize=7, va="center")  # fmt: skip
        ax.set(title=name, xlabel="features", ylabel="seconds", xscale="log", yscale="log")
        ax.set_xticks([5, 10, 20, 50, 100], labels=["5", "10", "20", "50", "100"])
        ax.minorticks_off()
    figure.tight_layout()
    return figure


def _apart(heights):
    """Moved up where labels would cover each other."""
    order, moved = np.argsort(heights), heights.copy()
    for lower, upper in pairwise(order):
        moved[upper] = max(moved[upper], moved[lower] + 0.03 * np.ptp(heights))
    return moved


def _surface(rows):
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    figure, axes = plt.subplots(1, len(kernels), figsize=(5 * len(kernels), 3.8), squeeze=False)
    for ax, kernel in zip(axes[0], kernels, strict=True):
        here = [row for row in rows if row["kernel"] == kernel]
        gammas = list(dict.fromkeys(row["gamma"] for row in here))
        numbers = list(dict.fromkeys(row["K"] for row in here))
        shares = np.array([100 * int(row["correct"]) / int(row["n_test"]) for row in here])
        image = ax.imshow(shares.reshape(len(gammas), -1), aspect="auto", origin="lower",
                          cmap="viridis", vmin=60, vmax=100)  # fmt: skip
        ax.grid(False)
        ax.set_xticks(range(len(numbers)), labels=numbers)
        ax.set_yticks(range(len(gammas)), labels=[f"{float(g):.1e}" for g in gammas])
        ax.set(title=f"kernel {kernel}", xlabel="features", ylabel="gamma (unit norm)")
        figure.colorbar(image, ax=ax, label="accuracy, %")
    figure.tight_layout()
    return figure


FIGURES = {"accuracy": _accuracy, "times": _times, "surface": _surface}
