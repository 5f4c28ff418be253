"""Pages that are generated: a text with gaps, filled from stored results, and figures."""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

from benchmarks.measure import Goal
from benchmarks.results import made_on, read
from mmfs.io import checksum

STYLE = {
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    "svg.hashsalt": "mmfs", "axes.grid": True, "grid.color": "#eeeeee", "axes.axisbelow": True,
}  # fmt: skip

# What fills a gap of a text, and from which part of the results ("": from whatever there is).
Gap = tuple[str, Callable[[Path], str]]


@dataclass(frozen=True)
class Page:
    """A page of the documentation, of the results in one folder."""

    stored: Path
    text: Path
    page: Path  # with its figures in the folder beside it that has its name
    gaps: Mapping[str, Gap]
    figures: Mapping[str, Callable[[list[dict]], Any]]
    goals: Callable[[Path], list[Goal]]

    def render(self, results: Path) -> str:
        return fill(self.text, results, self.gaps)

    def write(self, results: Path, check: bool) -> bool:
        """Write page and figures; with `check`, print the goals and tell whether all are met.

        Those of other results than the stored ones go to the folder of these results.
        """
        page, pictures = results / "page.md", results
        if results == self.stored:
            page, pictures = self.page, self.page.with_suffix("")
        page.write_text(self.render(results))
        self.draw(results, pictures)
        reached = self.goals(results) if check else []
        for goal in reached:
            print(goal.line())
        return all(goal.met for goal in reached)

    def draw(self, results: Path, to: Path) -> None:
        """All figures that there are results for; each holds the checksum of its results."""
        to.mkdir(parents=True, exist_ok=True)
        for part, figure in self.figures.items():
            if (results / f"{part}.csv").exists():
                with plt.rc_context(STYLE):
                    drawn = figure(read(part, results))
                    about = {"Date": None, "Description": checksum(results / f"{part}.csv")}
                    drawn.savefig(to / f"{part}.svg", metadata=about, bbox_inches="tight")
                    plt.close(drawn)


def parser_of(doc: str, parts: Iterable[str], stored: Path) -> argparse.ArgumentParser:
    """The arguments that a benchmark with parts, results and a page has."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(parts)}, page; all if none")
    parser.add_argument("--data", type=Path, default=os.environ.get("MMFS_DATA"))
    parser.add_argument("--out", type=Path, default=stored, help="folder of the results")
    parser.add_argument("--quick", action="store_true", help="a small version, for a check")
    parser.add_argument("--again", action="store_true", help="forget earlier results of the parts")
    return parser


def parsed(
    parser: argparse.ArgumentParser, parts: Iterable[str], stored: Path
) -> argparse.Namespace:
    arguments = parser.parse_args()
    for part in arguments.parts:
        if part not in [*parts, "page"]:
            parser.error(f"there is no part {part!r}; parts are {', '.join(parts)}, page")
    if arguments.quick and arguments.out == stored:
        parser.error("--quick needs a folder of its own: --out FOLDER")
    return arguments


def listed(goals: list[Goal]) -> str:
    return "\n".join(f"* {goal.line()}" for goal in goals)


def fill(text: Path, results: Path, gaps: Mapping[str, Gap]) -> str:
    """The text with its gaps filled; sections whose results are not there are left out."""
    filled = ""
    for section in re.split(r"(?=^## )", text.read_text(), flags=re.MULTILINE):
        parts = set(re.findall(r"\w+/(\w+)\.svg", section))
        parts |= {part for name, (part, _) in gaps.items() if f"<!-- {name} -->" in section}
        if not all((results / f"{part}.csv").exists() for part in parts - {""}):
            continue
        for name, (_, make) in gaps.items():
            if f"<!-- {name} -->" in section:
                section = section.replace(f"<!-- {name} -->", make(results))
        filled += section
    return filled.rstrip("\n") + "\n"


def table(heads, rows) -> str:
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    lines += [" | ".join(str(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def machines(results: Path) -> str:
    """What every part was made on; those made alike together."""
    alike: dict[str, list[str]] = {}
    for path in sorted(results.glob("*.json")):
        made = made_on(path.stem, results)
        versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
        computer = f"{made['system']}, {made['processor']}, {made['cores']} cores"
        words = f"{computer}, {made['memory_gb']} GB; {versions}"
        alike.setdefault(words, []).append(path.stem)
    return "; ".join(f"({', '.join(parts)}) {words}" for words, parts in alike.items()) + "."
