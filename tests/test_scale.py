"""The benchmark of scale: its model, its goals, its page, and a small run of it."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.results import read
from benchmarks.scale import STORED
from benchmarks.scale.__main__ import PARTS
from benchmarks.scale.model import Case, Network, case_of, fitted, future, memory, planned, sent
from benchmarks.scale.page import PAGE, goals, model_of
from mmfs.io import checksum

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def by_workers():
    return [row for row in read("workers", STORED) if int(row["workers"]) > 0]


def test_the_model_agrees_with_what_was_measured():
    model = model_of(STORED)
    for row in by_workers():
        ratio = model.costs(case_of(row)).seconds / float(row["seconds"])
        assert 1 / 1.5 < ratio < 1.5, row


def test_the_model_foretells_what_it_was_not_fitted_to():
    rows, passes, cores = by_workers(), read("passes", STORED), model_of(STORED).cores
    off = []
    for row in rows:
        others = [other for other in rows if other is not row]
        foretold = fitted(passes, others, cores).costs(case_of(row)).seconds
        off.append(abs(np.log(foretold / float(row["seconds"]))))
    assert np.exp(np.median(off)) < 1.3 and np.exp(max(off)) < 2.5


def test_a_fit_finds_the_weights_it_was_made_from():
    passes = [{"rows": 1e4, "first": 2, "further": 1}, {"rows": 1e7, "first": 20, "further": 10}]
    weights = np.array([1.3, 5e-8, 2e-3, 0.4])
    rows = []
    for k in range(8):
        case = Case(10.0 ** (4 + k % 4), 1e6 * (1 + k % 3), 1e8 / (1 + k), 10 + 7 * k, 1 + k % 2)
        model = fitted(passes, [dict(case._asdict(), seconds=1)], 2)._replace(weights=weights)
        rows.append(dict(case._asdict(), seconds=model.costs(case).seconds))
    np.testing.assert_allclose(fitted(passes, rows, 2).weights, weights, rtol=1e-6)
    assert fitted(passes, rows, 2).nanoseconds(1e4, 1) == 3


def test_the_plan_moves_as_it_should():
    model = model_of(STORED)
    costs = [planned(model, future(300, n), Network()) for n in (16, 64, 250, 1000)]
    assert all(a.entries > b.entries for a, b in pairwise(costs))
    assert all(a.tasks < b.tasks for a, b in pairwise(costs))
    dense = [planned(model, future(3_000, n), Network()) for n in (16, 1000)]
    assert dense[0].largest == "entries" and dense[1].largest == "tasks"
    assert dense[0].entries == pytest.approx(10 * costs[0].entries)
    assert costs[-1].seconds == pytest.approx(sum(costs[-1]))
    few, many = future(300, 16), future(300, 1000)
    assert memory(few) > memory(many) > 8 * 1e7
    assert sent(many, tree=False) > 50 * sent(many)
    assert sent(many) > sent(few)


def test_page_and_figures_are_those_of_the_results():
    assert PAGE.page.read_text() == PAGE.render(STORED)
    for part in PAGE.figures:
        figure = (PAGE.page.with_suffix("") / f"{part}.svg").read_text()
        assert checksum(STORED / f"{part}.csv") in figure
    assert {path.stem for path in STORED.glob("*.csv")} == set(PARTS)


def test_goals_fail_on_spoilt_results(tmp_path):
    for path in STORED.iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    assert all(goal.met for goal in goals(tmp_path))
    lines = (tmp_path / "store.csv").read_text().splitlines()
    heads = lines[0].split(",")
    for what, column, value in (
        ("fit, from disk", "seconds", "1e4"), ("fit, from disk", "own_gb", "3"),
        ("as in memory", "difference", "0.1"),
    ):  # fmt: skip
        spoilt = []
        for row in read("store", STORED):
            row[column] = value if row["what"] == what else row[column]
            spoilt.append(",".join(f'"{row[head]}"' for head in heads))
        (tmp_path / "store.csv").write_text("\n".join([lines[0], *spoilt]) + "\n")
        assert sum(not goal.met for goal in goals(tmp_path)) == 1, column


@pytest.mark.skipif(sys.platform != "linux", reason="memory is watched as Linux tells it")
def test_a_small_run(tmp_path):
    command = [sys.executable, "-m", "benchmarks.scale", "--quick", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [*command, "--work", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = {row["what"]: row for row in read("store", tmp_path / "out")}
    assert float(rows["as in memory"]["difference"]) < 1e-9
    assert float(rows["fit"]["signals_found"]) > 0.9
    assert "# Larger than memory" in (tmp_path / "out" / "page.md").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
