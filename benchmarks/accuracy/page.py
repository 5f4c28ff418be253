"""The page about the reproduction: nothing on it is typed, all comes from the stored results."""

from pathlib import Path

import numpy as np
from scipy.stats import binomtest, t

from benchmarks.accuracy import STORED, counts, figures, goals, variants
from benchmarks.accuracy.methods import DEFAULT, TUNED
from benchmarks.accuracy.protocol import TASKS
from benchmarks.accuracy.tables import best_gamma, curve, nested
from benchmarks.pages import Page, listed, machines, table
from benchmarks.results import read

TEST_TO_TRAIN = 0.2 / 0.8  # rows of a random split

# The paper's Table 1 (training and test rows, features, non-zeros per row) and Table 2.
TABLE_1 = {
    "Leukemia": "72 | - | 7,129 | 7,129",
    "RAOA": "31 | - | 18,432 | 18,422",
    "RAC": "33 | - | 48,701 | 48,701",
    "MNIST": "11,982 | 1,984 | 752 | 752",
    "REAL-SIM": "57,848 | 14,461 | 20,958 | 51.5",
    "Webspam": "80,000 | 70,000 | 8,355,099 | 3,730",
    "Kddb": "100,000 | 748,401 | 29,889,813 | 30",
}
TABLE_2 = {
    "Leukemia": {"FCBF": (90.28, 37), "QPFS": (87.50, 45), "FGM": (87.5, 2), "GDM": (84.72, 2),
                 TUNED: (91.67, 6)},
    "RAOA": {"FCBF": (74.19, 2), "QPFS-N": (67.75, 6), "FGM": (67.75, 2), "GDM": (54.84, 2),
             TUNED: (83.87, 2)},
    "RAC": {"FCBF": (48.48, 12), "QPFS-N": (96.97, 75), "FGM": (100.0, 3), "GDM": (87.88, 3),
            TUNED: (100.0, 2)},
    "MNIST": {"FCBF": (91.07, 19), "QPFS": (96.06, 94), "FGM": (96.21, 99), "GDM": (96.67, 77),
              TUNED: (96.06, 83)},
    "REAL-SIM": {"FGM": (90.03, 90), "GDM": (89.48, 100), TUNED: (90.19, 100)},
    "Webspam": {"FGM": (95.91, 200), "GDM": (96.80, 200), TUNED: (96.79, 200)},
}  # fmt: skip
PAPERS = ("FCBF", "QPFS", "QPFS-N", "FGM", "GDM", TUNED)


def _table_1(results):
    heads = ["paper", "rows", "test", "features", "non-zeros", "here", "rows", "test", "features",
             "that vary", "non-zeros"]  # fmt: skip
    here = {row["paper"]: row for row in read("datasets", results)}
    rows = []
    for paper, words in TABLE_1.items():
        row = here.get(paper)
        own = ["-"] * 6
        if row:
            own = [row["task"], f"{int(row['rows']):,}", row["test"] or "-"]
            own += [f"{int(row[c]):,}" for c in ("features", "varying")] + [row["per_row"]]
        rows.append([paper, *words.split(" | "), *own])
    return table(heads, rows)


def best_of(row) -> tuple[float, int]:
    numbers, shares = curve(row)
    at = int(np.argmax(shares))
    return float(shares[at]), int(numbers[at])


def interval(row, correct: int, deviation: float | None) -> str:
    """95 %: of a proportion; or over random splits, which share rows (Nadeau and Bengio 2003)."""
    n_test = int(row["n_test"])
    if deviation is not None:
        n = _splits(row)
        half = t.ppf(0.975, n - 1) * deviation * np.sqrt(1 / n + TEST_TO_TRAIN)
        middle = 100 * correct / n_test
        return f"{middle - half:.1f} to {middle + half:.1f}"
    low, high = binomtest(correct, n_test).proportion_ci(method="wilson")
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _splits(row) -> int:
    """Random splits, or 0."""
    words = next(task for task in TASKS if task.name == row["task"]).split.split()
    return int(words[0]) if words[-1] == "random" else 0


def _best_interval(row) -> str:
    at = int(np.argmax(curve(row)[1]))
    deviation = float(row["deviation"].split()[at]) if row["deviation"] else None
    return interval(row, int(row["correct"].split()[at]), deviation)


def _inside_interval(row) -> str:
    right = [fold.correct for fold in nested(row)]
    if not right:
        return ""
    share = 100 * np.array(right) * len(right) / int(row["n_test"])  # test parts are equally large
    return interval(row, sum(right), float(share.std(ddof=1)) if _splits(row) else None)


def _table_2(results):
    rows = read("accuracy", results)
    heads = ["data", "", *PAPERS, "MMFS, default"]
    lines = []
    for task in TASKS:
        here = {r["method"]: r for r in best_gamma([r for r in rows if r["task"] == task.name])}
        if not here:
            continue
        paper = TABLE_2.get(task.paper, {})
        said = [f"{paper[m][0]:.2f} @ {paper[m][1]}" if m in paper else "-" for m in PAPERS]
        columns = [here.get(m) for m in (*PAPERS, DEFAULT.name)]
        lines.append([task.paper, "paper", *_best_in_bold(said), ""])
        lines.append([task.name, "best K on the test data", *_best_in_bold(map(_cell, columns))])
        lines.append(["", "K chosen inside", *_best_in_bold(map(_inside, columns))])
    return table(heads, lines)


def _best_in_bold(cells):
    """Cells of accuracy @ number, those with the highest accuracy in bold."""
    cells = list(cells)
    shares = {cell: float(cell.split()[0]) for cell in cells if cell != "-"}
    highest = max(shares.values(), default=None)
    return [f"**{cell}**" if shares.get(cell, -1) == highest else cell for cell in cells]


def _cell(row):
    if row is None or row["problem"]:
        return "-"
    share, k = best_of(row)
    return f"{share:.2f} @ {k}"


def _inside(row):
    if row is None or row["problem"] or not row["nested_correct"]:
        return "-"
    folds = nested(row)
    share = 100 * sum(fold.correct for fold in folds) / int(row["n_test"])
    return f"{share:.2f} @ {np.median([fold.number for fold in folds]):g}"


def _everyone(results):
    """Of each data set all methods, with intervals."""
    rows, text = read("accuracy", results), []
    for task in TASKS:
        here = best_gamma([row for row in rows if row["task"] == task.name])
        if not here:
            continue
        known = next(row for row in here if not row["problem"])
        text.append(
            f"**{task.name}** ({task.split} split{'s' if 'random' in task.split else ''}; the "
            f"larger class alone: {known['majority']} %)\n"
        )
        heads = ["method", "best @ K", "95 %", "K chosen inside @ median K", "95 %", "seconds"]
        lines = []
        for row in here:
            if row["problem"]:
                lines.append([row["method"], row["problem"], "", "", "", ""])
                continue
            lines.append([row["method"], _cell(row), _best_interval(row), _inside(row),
                          _inside_interval(row), row["seconds"]])  # fmt: skip
        text.append(table(heads, lines) + "\n")
    return "\n".join(text)


def _parameters(results):
    said = {row["method"]: row["parameters"] for row in read("accuracy", results)}
    return table(["method", "parameters"], [[name, f"`{words}`"] for name, words in said.items()])


def _variants(results):
    rows = read("variants", results)
    found = variants.means(rows)
    order = [m.name for m in variants.METHODS if m.name in found]
    heads = ["method", "sets", "mean", "default on these", "difference", "s.e.",
             *(f"at K = {k}" for k in variants.NUMBERS)]  # fmt: skip
    lines = []
    for name in order:
        default, mean, spread, n = variants.against_default(found, name)
        both = [one for one in found[DEFAULT.name] if one in found[name]]
        by_number = np.mean([found[name][one] - found[DEFAULT.name][one] for one in both], axis=0)
        if name == DEFAULT.name:
            own = np.mean(list(found[name].values()), axis=0)
            lines.append([f"**{name}**", n, f"**{mean:.2f}**", "", "", "",
                          *(f"{v:.1f}" for v in own)])  # fmt: skip
            continue
        lines.append([name, n, f"{mean:.2f}", f"{default:.2f}", f"{mean - default:+.2f}",
                      f"{spread:.2f}", *(f"{v:+.1f}" for v in by_number)])  # fmt: skip
    sets = table(
        ["set", *(n for n in order if n in goals.SHOWN)],
        [
            [name, *(f"{found[m][name].mean():.1f}" if name in found[m] else "-"
                     for m in order if m in goals.SHOWN)]
            for name in variants.SUITE
            if name in found[DEFAULT.name]
        ],
    )  # fmt: skip
    return f"{table(heads, lines)}\n\nSet by set, the mean over K:\n\n{sets}"


def _counts(results):
    rows = read("counts", results)
    heads = ["set", "method", *counts.PREPARED]
    lines = []
    for name, method in dict.fromkeys((row["set"], row["method"]) for row in rows):
        here = [row for row in rows if (row["set"], row["method"]) == (name, method)]
        shares = [
            variants.means([row for row in here if row["prepared"] == prepared])[method][name]
            for prepared in counts.PREPARED
        ]
        lines.append([name, method, *(f"{share.mean():.1f}" for share in shares)])
    return table(heads, lines)


def _times(results):
    rows = read("times", results)
    sets = list(dict.fromkeys(row["set"] for row in rows))
    methods = dict.fromkeys(row["method"] for row in rows)
    known = {(r["set"], r["method"]): r for r in rows if r["K"] == "100"}

    def cell(name, method):
        row = known.get((name, method))
        if row is None:
            return "-"
        if row["problem"]:
            return row["problem"]
        times = float(row["seconds"]) / float(known[name, DEFAULT.name]["seconds"])
        fewer = "" if row["found"] == "100" else f", {row['found']} features"
        return f"{float(row['seconds']):.3g} ({times:.3g}{fewer})"

    return table(["method", *sets], [[m, *(cell(name, m) for name in sets)] for m in methods])


def _scale(results):
    heads = ["shape", "rows", "columns", "stored", "data GB", "method", "seconds", "peak GB",
             "signals found"]  # fmt: skip
    lines = []
    for row in read("scale", results):
        if row["problem"]:
            lines.append([row["shape"], "", "", "", "", row["method"], row["problem"], "", ""])
            continue
        sizes = [f"{int(row[c]):,}" for c in ("rows", "columns", "stored")]
        lines.append([row["shape"], *sizes, row["data_gb"], row["method"], row["seconds"],
                      row["peak_gb"], f"{100 * float(row['found']):.0f} %"])  # fmt: skip
    return table(heads, lines)


GAPS = {
    "machine": ("", machines),
    "goals": ("", lambda results: listed(goals.of(results))),
    "table 1": ("datasets", _table_1),
    "table 2": ("accuracy", _table_2),
    "everyone": ("accuracy", _everyone),
    "parameters": ("accuracy", _parameters),
    "variants": ("variants", _variants),
    "counts": ("counts", _counts),
    "times": ("times", _times),
    "scale": ("scale", _scale),
}
PAGE = Page(
    stored=STORED,
    text=Path(__file__).with_name("page.md"),
    page=Path(__file__).parents[2] / "docs" / "reproduction.md",
    gaps=GAPS,
    figures=figures.FIGURES,
    goals=goals.of,
)
