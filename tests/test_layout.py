"""The shape of the code: imports go one way, files stay readable."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "mmfs"

# A room may use those to its left.
ROOMS = [
    ["_compiled", "optional", "warn"],
    ["order", "settings", "sources"],
    ["columns"],
    ["discretize", "hsic", "target"],
    ["relevance", "kernels"],
    ["problem"],
    ["certify_path"],
    ["solvers"],
    ["validation"],
    ["base", "prepare"],
    ["fit"],
    ["explain"],
    ["selector", "baselines"],
    ["model_selection"],
    ["compare"],
    ["plots"],
    ["io"],
    ["datasets"],
    ["report"],
    ["demo"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "mmfs":
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


def test_files_are_short():
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path.name


def test_no_compiled_file_imports_another():
    """Numba's cache on disk would give old answers after an edit of the one that is imported."""
    files = list((SOURCE / "_compiled").glob("*.py"))
    assert len(files) > 5
    for path in files:
        assert not list(imported_rooms(path)), path.name
