"""The benchmark of speed: its clock, its goals, its page, and a small run of it."""

import csv
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.measure import forget_peak, peak_gigabytes
from benchmarks.results import read
from benchmarks.speed import STORED, goals
from benchmarks.speed.__main__ import PARTS
from benchmarks.speed.adjusted import COVARIATES, MISSING, PLAIN
from benchmarks.speed.busy import ALONE, BESIDE
from benchmarks.speed.filters import F_CLASSIF, FIRST, FURTHER, NUMBERS, ONE_GAMMA, READ
from benchmarks.speed.page import PAGE
from benchmarks.speed.timing import Timed, Unable, in_turns, row

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def test_competitors_take_turns_after_one_that_does_not_count():
    called = []

    def contender(name, seconds):
        def run():
            called.append(name)
            time.sleep(seconds)
            return name

        return run

    def fails():
        raise KeyError("no such thing")

    found = in_turns(
        {"a": contender("a", 0), "slow": contender("slow", 0.05), "b": contender("b", 0),
         "fails": fails, "unable": Unable("no")},
        turns=2, patience=0.04,
    )  # fmt: skip
    assert called == ["a", "slow", "b", "a", "b", "a", "b"]
    assert found["a"].turns == 2 and found["b"].result == "b"
    assert found["slow"].turns == 1 and found["slow"].seconds >= 0.05
    assert found["unable"] == Unable("no") and "no such thing" in found["fails"].reason
    line = row("case", "a", Timed(0.5, 3, None), K=10)
    assert (line["seconds"], line["K"], line["problem"]) == ("0.5", 10, "")
    assert row("case", "b", Unable("no"), K=10)["K"] == 10


def test_one_that_does_not_end_is_not_waited_for():
    contenders = {"never": lambda: time.sleep(100), "fails": lambda: 1 / 0, "soon": lambda: 7}
    found = in_turns(contenders, turns=1, limit=0.5)
    assert found["never"] == Unable("did not end within 0.5 s")
    assert found["fails"] == Unable("division by zero") and found["soon"].result == 7


def test_the_peak_of_memory_can_be_forgotten():
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("this system cannot forget a peak")
    block = bytearray(300_000_000)
    assert peak_gigabytes() > 0.3
    high = peak_gigabytes()
    del block
    forget_peak()
    assert peak_gigabytes() < high - 0.2


def written(folder, ours, theirs):
    """Results in which everything of ours takes so many seconds, and of others so many."""
    made = {"run": "1", "made_for": "", "made_at": "today", "made_on": "here"}

    def save(part, rows):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=[*rows[0], *made])
            writer.writeheader()
            writer.writerows(row | made for row in rows)

    own = {ONE_GAMMA: ours} | {f"MMFS, {k} features": ours for k in NUMBERS}
    others = {READ: theirs, F_CLASSIF: theirs, FIRST: 1e-3, FURTHER: 0}
    known = {"scans": 1, "rounds": "", "support": "", "gap": "", "found": ""}
    save("filters", [
        row(case, name, Timed(seconds, 1, None), **known)
        for case in ("sparse columns", "sparse rows", "leukemia")
        for name, seconds in (others | own).items()
    ])  # fmt: skip
    save("adjusted", [
        row("power law, columns", name, Timed(seconds, 1, None))
        for name, seconds in {PLAIN: theirs, COVARIATES: ours, MISSING: ours}.items()
    ])  # fmt: skip
    save("busy", [
        row("mnist_3v8", name, Timed(seconds, 1, None))
        for name, seconds in {ALONE: theirs, BESIDE: ours}.items()
    ])  # fmt: skip
    for part, other in {"descent": "dcd", "optimum": "celer", "tasks": "fastcan"}.items():
        name = "working_set" if part == "descent" else "MMFS"
        more = {"K": 10, "passes": "", "gap": "", "b": "", "set_up": "", "features": "",
                "found": "", "accuracy": ""}  # fmt: skip
        save(part, [row("enron", name, Timed(ours, 1, None), **more),
                    row("enron", other, Timed(theirs, 1, None), **more)])  # fmt: skip
    base = dict.fromkeys(
        ("study", "size", "stored", "columns", "seconds", "read", "extra", "two_threads"), ""
    ) | {"read_two": ""}
    steep = 1.0 if ours < theirs else 2.0
    save("growth", [
        *(base | {"study": "entries", "size": n, "stored": n, "seconds": n**steep, "read": n}
          for n in (10, 100)),
        *(base | {"study": "empty", "size": n, "seconds": 1 + (steep - 1) * n}
          for n in (0, 27_000_000)),
        *(base | {"study": "rows", "size": n, "seconds": n ** (steep - 1)}
          for n in (10_000, 1_000_000)),
        base | {"study": "many", "size": 10_000, "seconds": ours},
        *(base | {"study": "memory", "size": form, "extra": ours} for form in goals.EXTRA),
        *(base | {"study": "threads", "size": form, "seconds": theirs, "two_threads": ours,
                  "read": 1, "read_two": 1} for form in ("csc", "csr", "dense")),
    ])  # fmt: skip
    save("latency", [
        {"case": "small", "what": what, "seconds": ours}
        for limit in goals.SOON.items() for what in (limit[0], limit[1][1])
    ])  # fmt: skip


def test_goals_can_be_met_and_missed(tmp_path):
    for name, ours, theirs in (("fast", 0.001, 1.0), ("slow", 100.0, 1.0)):
        folder = tmp_path / name
        folder.mkdir()
        written(folder, ours, theirs)
        reached = goals.of(folder)
        assert len(reached) > 20
        assert {goal.met for goal in reached} == {name == "fast"}, [
            goal.line() for goal in reached if goal.met != (name == "fast")
        ]
        assert "<!--" not in PAGE.render(folder).replace("<!-- machine -->", "")


@pytest.mark.parametrize("part", PARTS)
def test_every_case_has_been_measured(part):
    assert {row["made_for"] for row in read(part, STORED)} == set(PARTS[part].CASES)


def test_the_page_says_what_the_results_say():
    assert PAGE.page.read_text() == PAGE.render(STORED), "run: python -m benchmarks.speed page"


def test_a_small_run(tmp_path):
    command = [sys.executable, "-m", "benchmarks.speed", "descent", "--quick"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    solvers = {(r["case"], r["contender"], r["K"]) for r in read("descent", tmp_path) if r["gap"]}
    assert len(solvers) == 12 and "Beside the paper's descent" in (tmp_path / "page.md").read_text()


def test_wrong_words():
    command = [sys.executable, "-m", "benchmarks.speed", "filter"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and "there is no part 'filter'" in done.stderr
