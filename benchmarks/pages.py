"""Pages that are generated: a text with gaps, filled from stored results."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.results import made_on

# What fills a gap of a text, and from which part of the results ("": from whatever there is).
Gap = tuple[str, Callable[[Path], str]]


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
