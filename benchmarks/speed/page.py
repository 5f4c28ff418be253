"""The page about speed: nothing on it is typed, all comes from the stored results."""

import statistics
from pathlib import Path

from benchmarks.pages import Page, listed, machines, table
from benchmarks.results import read
from benchmarks.speed import STORED, figures, goals
from benchmarks.speed.figures import HEADLINES
from benchmarks.speed.filters import F_CLASSIF, READ
from benchmarks.speed.goals import HUNDRED
from benchmarks.speed.runs import Runs, adjusted, busy

PARTS = ("filters", "adjusted", "busy", "descent", "optimum", "tasks", "growth", "latency")


def _runs(results: Path) -> str:
    """When every run was made, and on which processors."""
    made: dict[str, list[tuple[str, str]]] = {}
    for part in PARTS:
        for row in read(part, results):
            made.setdefault(row["run"], []).append((row["made_at"], row["made_on"]))
    lines = []
    for run, here in made.items():
        when, where = zip(*here, strict=True)
        lines.append(f"* run {run}, {min(when)} to {max(when)}: {', '.join(sorted(set(where)))}")
    return "\n".join(lines)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}" if value >= 0.01 else f"{1e3 * value:.2g} ms"


def _headlines(results: Path) -> str:
    """Ten cases beside a filter, the memory, and the fastest peer that selects jointly."""
    runs, peers, lines = Runs("filters", results), Runs("tasks", results), []
    for case in HEADLINES:
        ours = (case, HUNDRED, "")
        if ours not in runs.keys:
            continue
        filtered = runs.ratios(ours, (case, F_CLASSIF, ""))
        reads = runs.ratios(ours, (case, READ, ""))
        peer = peers.fastest_other(case, "100", "MMFS")
        told = f"{peer[0]:.3g} times as long ({peer[1]})" if peer else ""
        lines.append([case, _seconds(runs.seconds(ours)), f"{max(filtered):.2g}",
                      f"{max(reads):.3g}", told])  # fmt: skip
    heads = ["data", "seconds", "times `SelectKBest(f_classif)`", "reads of the data",
             "the fastest peer for the same task"]  # fmt: skip
    return table(heads, lines)


def _filters(results: Path) -> str:
    """Of every case, seconds, and as multiples of one read and of f_classif."""
    runs, text = Runs("filters", results), []
    heads = ["", "seconds", "reads", "of f_classif", "page faults", "scans", "rounds", "support",
             "gap", "signals found"]  # fmt: skip
    for case in dict.fromkeys(case for case, _, _ in runs.keys):
        lines = []
        for what in (known for known in runs.keys if known[0] == case):
            row, seconds = runs.row(what), runs.seconds(what)
            if seconds is None:
                lines.append([what[1], row["problem"], *[""] * 8])
                continue
            units = (runs.ratios(what, (case, unit, "")) for unit in (READ, F_CLASSIF))
            reads, filtered = (f"{max(found):.3g}" for found in units)
            more = [row[name] for name in ("scans", "rounds", "support", "gap", "found")]
            lines.append([what[1], f"{seconds:.4g}", reads, filtered, row["faults"], *more])
        text.append(f"**{case}**\n\n{table(heads, lines)}\n")
    return "\n".join(text)


def _busy(results: Path) -> str:
    lines = [[case, f"{max(found):.2f}"] for case, found in busy(results)]
    return table(["100 features of", "times as long as alone"], lines)


def _adjusted(results: Path) -> str:
    lines = [[case, name, f"{max(found):.2f}"] for case, name, found in adjusted(results)]
    return table(["100 features of", "with", "times as long as plain"], lines)


def _by_number(part: str, columns: list[str]):
    """A table of one part, the fastest contender of every case and K in bold."""

    def make(results: Path) -> str:
        runs = Runs(part, results)
        seconds, lines = {what: runs.seconds(what) for what in runs.keys}, []
        for what in runs.keys:
            case, name, k = what
            same = [s for (c, _, n), s in seconds.items() if (c, n) == (case, k) and s is not None]
            row, value = runs.row(what), seconds[what]
            cell = row["problem"] if value is None else f"{value:.4g}"
            if value is not None and value == min(same):
                cell = f"**{cell}**"
            lines.append([case, k, name, cell, *(row[column] for column in columns)])
        return table(["data", "K", "", "seconds", *columns], lines)

    return make


def _growth(results: Path) -> str:
    """Medians of seconds, and the largest extra memory."""
    rows, lines = read("growth", results), []
    names = ["stored", "columns", "seconds", "read", "two_threads", "read_two"]
    for study, size in dict.fromkeys((row["study"], row["size"]) for row in rows):
        same = [row for row in rows if (row["study"], row["size"]) == (study, size)]
        told = [
            f"{statistics.median(float(row[name]) for row in same):.4g}" if same[0][name] else ""
            for name in names[2:]
        ]
        extra = max((row["extra"] for row in same), key=lambda x: float(x or 0))
        lines.append([study, size, *(same[0][name] for name in names[:2]), *told, extra])
    heads = ["study", "size", "entries", "columns", "seconds", "one read", "by two threads",
             "one read by two", "extra memory"]  # fmt: skip
    return table(heads, lines)


def _latency(results: Path) -> str:
    rows, lines = read("latency", results), []
    for case, what in dict.fromkeys((row["case"], row["what"]) for row in rows):
        slowest = max(float(row["seconds"]) for row in rows if row["what"] == what)
        lines.append([f"{case}, {what}", f"{slowest:.3g}"])
    return table(["", "seconds"], lines)


GAPS = {
    "runs": ("", _runs),
    "machine": ("", machines),
    "headlines": ("filters", _headlines),
    "goals": ("", lambda results: listed(goals.of(results))),
    "filters": ("filters", _filters),
    "adjusted": ("adjusted", _adjusted),
    "busy": ("busy", _busy),
    "descent": ("descent", _by_number("descent", ["passes", "gap"])),
    "optimum": ("optimum", _by_number("optimum", ["set_up", "b"])),
    "tasks": ("tasks", _by_number("tasks", ["features", "found", "accuracy"])),
    "growth": ("growth", _growth),
    "latency": ("latency", _latency),
}
PAGE = Page(
    stored=STORED,
    text=Path(__file__).with_name("page.md"),
    page=Path(__file__).parents[2] / "docs" / "speed.md",
    gaps=GAPS,
    figures=figures.FIGURES,
    goals=goals.of,
)
