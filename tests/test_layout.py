"""The shape of the code: imports go one way, files stay readable."""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from mmfs import MMFS, MMFSCV, MMFSIC, MRMR, StabilitySelector
from mmfs.base import Selector
from mmfs.errors import Parameter

SOURCE = Path(__file__).parents[1] / "src" / "mmfs"

# A room may use those to its left.
ROOMS = [
    ["_compiled", "errors", "optional", "progress", "threads", "warn"],
    ["order", "settings", "sources", "survival"],
    ["columns"],
    ["discretize", "hsic", "target"],
    ["relevance", "kernels"],
    ["problem"],
    ["certify_path"],
    ["solvers"],
    ["names"],
    ["frames"],
    ["validation"],
    ["per_row"],
    ["features"],
    ["base"],
    ["prepared"],
    ["prepare"],
    ["fit"],
    ["explain", "selection_path"],
    ["selector", "baselines"],
    ["model_selection"],
    ["compare"],
    ["plots"],
    ["io"],
    ["datasets"],
    ["report"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def diagram():
    """The rooms, the highest first, each with the first line that it says of itself."""
    lines = []
    for level, rooms in reversed(list(enumerate(ROOMS))):
        for room in rooms:
            path = SOURCE / f"{room}.py"
            path = path if path.exists() else SOURCE / room / "__init__.py"
            said = ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]
            lines.append(f"{level:2d}  {room:16s}{said}")
    return "\n".join(lines)


def test_the_diagram_of_the_rooms_is_that_of_the_code():
    page = (SOURCE.parents[1] / "docs" / "architecture.md").read_text()
    assert diagram() in page


def test_parameters_in_sentences_are_options_or_known_to_be_none():
    from typer.main import get_command

    from mmfs.cli import app
    from mmfs.cli.console import UNKNOWN, as_option

    commands = get_command(app).commands.values()
    options = {name for command in commands for one in command.params for name in one.opts}
    named = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Parameter":
                name = node.args[0]
                named |= {name.value} if isinstance(name, ast.Constant) else {"kernel", "tol"}
    assert len(named) > 10
    assert not {as_option(Parameter(name)) for name in named - UNKNOWN} - options


def test_the_library_does_not_speak_of_options():
    for path in SOURCE.rglob("*.py"):
        if path.parent.name != "cli":
            assert not re.search(r"[( ]--[a-z]", path.read_text()), path.name


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("mmfs."))
        elif isinstance(node, ast.ImportFrom) and node.module == "mmfs":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mmfs."):
            yield node.module.split(".")[1]


def test_imports_go_one_way():
    checked = 0
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for other in imported_rooms(path):
            if other not in LEVEL:  # a public name: for those who only use the package
                assert room == "cli", f"{path.name} imports {other}"
                continue
            assert LEVEL[other] < LEVEL[room] or other == room, f"{path.name} imports {other}"
            checked += 1
    assert checked > 20


def test_solvers_know_similarities_and_no_data():
    """What a solver may use of the data is in `Similarity`, and in nothing below it."""
    checked = 0
    for path in (SOURCE / "solvers").glob("*.py"):
        rooms = set(imported_rooms(path))
        assert not rooms & {"columns", "sources", "hsic", "target", "relevance"}, path.name
        checked += "kernels" in rooms
    assert checked > 3


def test_files_are_short():
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path.name


def test_no_compiled_file_imports_another():
    """Numba's cache on disk would give old answers after an edit of the one that is imported."""
    files = list((SOURCE / "_compiled").glob("*.py"))
    assert len(files) > 5
    for path in files:
        assert not list(imported_rooms(path)), path.name


def room_of(filename):
    path = Path(filename)
    return path.relative_to(SOURCE).parts[0].removesuffix(".py") if SOURCE in path.parents else None


@pytest.mark.slow
def test_no_room_calls_the_selector_that_called_it():
    """Rooms below get settings and give a record back."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 300))
    y = X[:, 0] + X[:, 1] > 0
    upward, n_calls = set(), 0

    def watch(frame, event, _):
        nonlocal n_calls
        if event != "call" or frame.f_back is None:
            return
        room, caller = room_of(frame.f_code.co_filename), room_of(frame.f_back.f_code.co_filename)
        if room is None or caller is None:
            return
        n_calls += 1
        called, by = frame.f_locals.get("self"), frame.f_back.f_locals.get("self")
        if not isinstance(called, Selector) or called is by:
            return
        if LEVEL[caller] < LEVEL[type(called).__module__.split(".")[1]]:
            upward.add((caller, frame.f_code.co_name))

    fits = (
        MMFS(5, verbose=1).fit, MMFS(5, rank="path").fit, MMFS(5).fit_path,
        MMFS(5, kernel="poly2").fit, MMFS(5, verbose=lambda *_: None).fit,
        MMFSIC().fit, MMFSCV(n_features=[2, 4], cv=2).fit,
        StabilitySelector(MMFS(3), n_pairs=2, n_features_per_half=3).fit, MRMR(4).fit,
    )  # fmt: skip
    sys.setprofile(watch)
    try:
        for fit in fits:
            fit(X, y)
    finally:
        sys.setprofile(None)
    assert n_calls > 1000 and not upward


def test_the_name_of_a_constant_means_one_thing():
    where = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [name for t in targets for name in getattr(t, "elts", [t])]
            for name in names:
                if isinstance(name, ast.Name) and name.id.isupper():
                    where.setdefault(name.id, []).append(path.relative_to(SOURCE).as_posix())
    assert len(where) > 100
    assert {name: files for name, files in where.items() if len(files) > 1} == {}
