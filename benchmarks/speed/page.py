"""The page about speed: nothing on it is typed, all comes from the stored results."""

from pathlib import Path

from benchmarks.pages import Page, listed, machines, table
from benchmarks.results import read
from benchmarks.speed import STORED, figures, goals
from benchmarks.speed.filters import F_CLASSIF, READ


def _filters(results):
    """Of every case, seconds, and as multiples of one read and of f_classif."""
    rows, text = read("filters", results), []
    for case in dict.fromkeys(row["case"] for row in rows):
        here = [row for row in rows if row["case"] == case]
        known = {row["contender"]: float(row["seconds"]) for row in here if row["seconds"]}
        lines = []
        for row in here:
            if row["problem"]:
                lines.append([row["contender"], row["problem"], *[""] * 7])
                continue
            seconds = known[row["contender"]]
            lines.append([
                row["contender"], f"{seconds:.4g}", f"{seconds / known[READ]:.1f}",
                f"{seconds / known[F_CLASSIF]:.3f}" if F_CLASSIF in known else "",
                row["passes"], row["rounds"], row["support"], row["gap"], row["found"],
            ])  # fmt: skip
        heads = ["", "seconds", "reads", "of f_classif", "passes", "rounds", "support", "gap",
                 "signals found"]  # fmt: skip
        text.append(f"**{case}**\n\n{table(heads, lines)}\n")
    return "\n".join(text)


def _by_number(part, columns):
    """A table of one part, the fastest contender of every case and K in bold."""

    def make(results):
        rows = read(part, results)
        lines = []
        for row in rows:
            same = [float(r["seconds"]) for r in rows
                    if (r["case"], r["K"]) == (row["case"], row["K"]) and r["seconds"]]  # fmt: skip
            cell = row["problem"] or f"{float(row['seconds']):.4g}"
            if row["seconds"] and float(row["seconds"]) == min(same):
                cell = f"**{cell}**"
            cells = [row[column] for column in columns]
            lines.append([row["case"], row["K"], row["contender"], cell, *cells])
        return table(["case", "K", "", "seconds", *columns], lines)

    return make


def _growth(results):
    heads = ["study", "size", "columns", "seconds", "seconds of one read", "two threads",
             "one read by two", "extra memory"]  # fmt: skip
    names = ["study", "size", "columns", "seconds", "read", "two_threads", "read_two", "extra"]
    return table(heads, [[row[name] for name in names] for row in read("growth", results)])


def _latency(results):
    rows = read("latency", results)
    return table(["", "seconds"], [[f"{r['case']}, {r['what']}", r["seconds"]] for r in rows])


GAPS = {
    "machine": ("", machines),
    "goals": ("", lambda results: listed(goals.of(results))),
    "filters": ("filters", _filters),
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
