"""The page about scaling: nothing on it is typed, all comes from the stored results."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.measure import Goal, at_least, at_most
from benchmarks.pages import Page, listed, machines, table
from benchmarks.results import made_on, read
from benchmarks.scale import STORED
from benchmarks.scale.model import (
    FUTURE,
    WORKERS,
    Model,
    Network,
    case_of,
    fitted,
    future,
    memory,
    planned,
    sent,
)


def model_of(results: Path) -> Model:
    cores = int(made_on("workers", results)["cores"])
    return fitted(read("passes", results), read("workers", results), cores)


def _by_workers(results: Path) -> list[dict]:
    return [row for row in read("workers", results) if int(row["workers"]) > 0]


def _rate(row: dict) -> float:
    return float(row["gigabytes"]) * float(row.get("passes") or 1) / float(row["seconds"])


def goals(results: Path) -> list[Goal]:
    out = []
    if (results / "store.csv").exists():
        rows = {row["what"]: row for row in read("store", results)}
        cold, fit = rows["read once, from disk"], rows["fit, from disk"]
        out += [
            at_least("gigabytes of the store", float(fit["gigabytes"]), 6),
            at_most("own memory of a fit, GB", float(fit["own_gb"]), 1),
            at_least("throughput of a fit / of reading once", _rate(fit) / _rate(cold), 0.6),
            at_most("difference from the weights in memory",
                    float(rows["as in memory"]["difference"]), 1e-9),
        ]  # fmt: skip
    if (results / "workers.csv").exists():
        longest = max(
            float(row["bytes_to_client"]) / (8 * float(row["columns"]))
            for row in _by_workers(results)
        )
        out.append(at_most("bytes to the client / those of a number per column", longest, 1))
        if (results / "passes.csv").exists():
            out.append(at_most("largest error of the model, factor", _worst(results), 1.5))
    return out


def _worst(results: Path) -> float:
    model = model_of(results)
    off = [abs(np.log(model.costs(case_of(row)).seconds / float(row["seconds"])))
           for row in _by_workers(results)]  # fmt: skip
    return float(np.exp(max(off)))


def _store(results: Path) -> str:
    heads = ["", "seconds", "gigabytes", "own memory, GB", "passes", "throughput, GB/s",
             "signals found"]  # fmt: skip
    lines = []
    for row in read("store", results):
        rate = "" if row["what"].startswith(("write", "as")) else f"{_rate(row):.2f}"
        lines.append([row["what"], row["seconds"], row["gigabytes"], row["own_gb"], row["passes"],
                      rate, row["signals_found"]])  # fmt: skip
    return table(heads, lines)


def _workers(results: Path) -> str:
    heads = ["rows", "columns", "entries", "blocks", "workers", "seconds", "model", "rounds",
             "MB out a round", "MB back a round", "MB between workers", "gap"]  # fmt: skip
    model, lines = model_of(results), []
    for row in read("workers", results):
        alone = int(row["workers"]) == 0
        guess = "" if alone else f"{model.costs(case_of(row)).seconds:.2f}"
        back = float(row["bytes_to_client"]) / float(row["rounds"])
        bytes_ = (8 * float(row["rows"]), back, float(row["bytes_to_workers"]))
        moved = [f"{some / 1e6:.1f}" for some in bytes_]
        size = [f"{int(row[name]):,}" for name in ("rows", "columns", "entries")]
        lines.append([*size, "" if alone else row["blocks"], row["workers"],
                      f"{float(row['seconds']):.2f}", guess, row["rounds"],
                      *([""] * 3 if alone else moved), row["gap"]])  # fmt: skip
    return table(heads, lines)


def _passes(results: Path) -> str:
    lines = [[f"{int(row['rows']):,}", f"{float(row['first']):.1f}", f"{float(row['further']):.1f}"]
             for row in read("passes", results)]  # fmt: skip
    return table(["rows", "first pass, ns per entry", "further pass"], lines)


def _model(results: Path) -> str:
    a, b, c, d = model_of(results).weights
    return table(
        ["", ""],
        [["of the scans' time", f"{a:.2f}"], ["for a column", f"{1e9 * b:.0f} ns"],
         ["for a task", f"{1e3 * c:.2f} ms"], ["for all else", f"{d:.2f} s"],
         ["largest error", f"factor {_worst(results):.2f}"]],
    )  # fmt: skip


def _future(results: Path) -> str:
    model, lines = model_of(results), []
    for name, per_row in FUTURE.items():
        for workers in WORKERS:
            case = future(per_row, workers)
            costs = planned(model, case, Network())
            lines.append([name, workers, f"{memory(case) / 1e9:.1f}", f"{costs.seconds:.0f}",
                          *(f"{part:.1f}" for part in costs), costs.largest])  # fmt: skip
    heads = ["", "workers", "GB each", "seconds", "entries", "columns", "tasks", "rest", "network",
             "most"]  # fmt: skip
    return table(heads, lines)


def _star(results: Path) -> str:
    case = future(300, WORKERS[-1])
    return f"{sent(case, tree=False) / Network().bandwidth / 60:.0f} minutes"


def _figure(rows: list[dict]) -> plt.Figure:
    del rows  # those of the model are looked up
    model = model_of(STORED)
    figure, axes = plt.subplots(1, len(FUTURE), figsize=(9, 3.4), sharey=True)
    workers = np.unique(np.geomspace(16, 1000, 25).astype(int))
    parts = {"entries": "#0b6e4f", "columns": "#95d5b2", "tasks": "#d1495b", "network": "#edae49",
             "rest": "#999999"}  # fmt: skip
    for ax, (name, per_row) in zip(axes, FUTURE.items(), strict=True):
        costs = [planned(model, future(per_row, int(n)), Network()) for n in workers]
        for part, colour in parts.items():
            ax.loglog(workers, [getattr(c, part) for c in costs], color=colour, label=part)
        ax.loglog(workers, [c.seconds for c in costs], color="black", lw=2, label="all")
        ax.set(title=name, xlabel="workers", ylim=(0.1, None))
        ax.set_xticks(WORKERS, [str(n) for n in WORKERS])
        ax.set_xticks([], minor=True)
    axes[0].set_ylabel("seconds")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


GAPS = {
    "machine": ("", machines),
    "goals": ("", lambda results: listed(goals(results))),
    "store": ("store", _store),
    "workers": ("workers", _workers),
    "passes": ("passes", _passes),
    "model": ("workers", _model),
    "future": ("workers", _future),
    "star": ("workers", _star),
}
PAGE = Page(
    stored=STORED,
    text=Path(__file__).with_name("page.md"),
    page=Path(__file__).parents[2] / "docs" / "scaling.md",
    gaps=GAPS,
    figures={"workers": _figure},
    goals=goals,
)
