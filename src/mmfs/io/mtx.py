"""Matrix Market files, which have a line of kinds, one of sizes, and then one per entry."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from mmfs.io.arrays import matrix
from mmfs.io.outputs import open_output
from mmfs.io.streams import FileProblem, file_problems, open_stream
from mmfs.io.table import Table, Wanted
from mmfs.optional import require
from mmfs.progress import Progress

KIND = "Matrix Market file"
TYPES = {"real": np.float64, "integer": np.int64, "pattern": None}
MIRRORED = {"general": 0, "symmetric": 1, "skew-symmetric": -1}

# Rows for each entry, at most, unless the entries are few: each takes memory, also if it is empty.
MOST_EMPTY, FEW_ENTRIES = 100, 100_000


def read_mtx(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """Through pandas: SciPy's own reader does not survive damaged files."""
    with file_problems(path, KIND), open_stream(path, progress) as stream:
        words = stream.file.readline().decode("ascii", "replace").lower().split()
        if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
            raise FileProblem(f"{path} is not a {KIND}, by its first line.")
        layout, field, symmetry = words[2:]
        known = field in TYPES and symmetry in MIRRORED and layout in ("coordinate", "array")
        if not known or (layout == "array" and (symmetry != "general" or field == "pattern")):
            raise FileProblem(f"{path} is a {KIND} of a kind that is not read: {' '.join(words)}.")
        lines = (line for line in stream.file if line.strip() and not line.startswith(b"%"))
        sizes = [int(word) for word in next(lines).split()]
        if len(sizes) != (3 if layout == "coordinate" else 2) or min(sizes) < 0:
            raise FileProblem(f"{path} has {len(sizes)} sizes in its line of sizes.")
        if layout == "coordinate" and sizes[0] > MOST_EMPTY * max(sizes[2], FEW_ENTRIES):
            raise FileProblem(
                f"{path} says that it has {sizes[0]:,} rows, but only {sizes[2]:,} entries; if so, "
                "leave out the empty rows."
            )
        if layout == "array":
            values = _lines(stream.file, path, sizes[0] * sizes[1], [TYPES[field]])
            X = values[0].to_numpy().reshape(sizes[:2], order="F")
        else:
            X = _sparse(stream.file, path, sizes, TYPES[field], MIRRORED[symmetry])
        return Table(matrix(X, path), numbered_from=1)


def _sparse(file: Any, path: Path, sizes: list[int], kind: Any, mirrored: int) -> sp.csr_array:
    kinds = [np.int64, np.int64, *([] if kind is None else [kind])]
    entries = _lines(file, path, sizes[2], kinds)
    i, j = (entries[column].to_numpy() - 1 for column in (0, 1))
    values = np.ones(len(i)) if kind is None else entries[2].to_numpy()
    if mirrored:
        off = i != j
        values = np.concatenate([values, mirrored * values[off]])
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
    return sp.csr_array((values, (i, j)), shape=tuple(sizes[:2]))


def _lines(file: Any, path: Path, n: int, kinds: list[Any]) -> Any:
    """The columns of the lines that are left, of which there must be n."""
    pandas = require("pandas", "explain")
    if n == 0:
        return pandas.DataFrame({i: np.empty(0, kind) for i, kind in enumerate(kinds)})
    options = {"sep": r"\s+", "header": None, "na_filter": False, "float_precision": "round_trip"}
    found = pandas.read_csv(file, dtype=dict(enumerate(kinds)), **options)
    if found.shape != (n, len(kinds)):
        raise FileProblem(
            f"{path} has {found.shape[0]:,} lines of {found.shape[1]} numbers, but says that it "
            f"has {n:,} of {len(kinds)}."
        )
    return found


def write_mtx(table: Table, path: Path, compression: str) -> None:
    X = table.X.astype(np.int8) if table.X.dtype == bool else table.X
    with open_output(path, compression) as file:
        scipy.io.mmwrite(file, X, symmetry="general")
