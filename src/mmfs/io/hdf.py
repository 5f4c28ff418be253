"""AnnData's .h5ad, which is HDF5."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.io.arrays import MOST_PACKED, matrix, plain
from mmfs.io.streams import FileProblem, file_problems
from mmfs.io.table import Table, Wanted, position
from mmfs.optional import require
from mmfs.progress import Progress

BYTES_AT_ONCE = 1 << 26

# To look at what has no fixed size takes so many seconds, and one for so many bytes, at most.
PATIENCE_FACTOR, SPEED = 4, 1 << 20


def _loaded(item: Any, progress: Progress | None) -> Any:
    """A matrix; a sparse one is a group as in AnnData."""
    if not (hasattr(item, "keys") and {"data", "indices", "indptr"} <= set(item.keys())):
        return _in_blocks(item, progress)
    by_columns = str(item.attrs["encoding-type"]).startswith("csc")
    parts = [_in_blocks(item[name], progress) for name in ("data", "indices", "indptr")]
    kind = sp.csc_array if by_columns else sp.csr_array
    return kind(tuple(parts), shape=tuple(item.attrs["shape"]))


def _in_blocks(dataset: Any, progress: Progress | None) -> np.ndarray:
    held = dataset.id.get_storage_size() + BYTES_AT_ONCE // MOST_PACKED
    if dataset.nbytes > MOST_PACKED * held and not dataset.is_virtual:
        raise FileProblem(
            f"{dataset.file.filename} says that {dataset.name} has the shape {dataset.shape}, but "
            "holds little of it; copy or download it again."
        )
    values = np.empty(dataset.shape, dataset.dtype)
    step = max(1, BYTES_AT_ONCE // max(1, values[:1].nbytes))
    for start in range(0, len(values), step):
        if progress:
            progress("reading", start, len(values))
        values[start : start + step] = dataset[start : start + step]
    return values


def read_h5ad(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """X, names of var and obs, and a column of obs as the target."""
    read_elem = require("anndata.io", "anndata").read_elem
    with file_problems(path, "HDF5"), _opened(path) as file:
        if not {"X", "obs", "var"} <= set(file):
            raise FileProblem(f"{path} is not an AnnData file: it lacks X, obs or var.")
        obs, var = read_elem(file["obs"]), read_elem(file["var"])

        def labels(name: str | None) -> np.ndarray | None:
            if name is None:
                return None
            position(name, list(obs.columns), f"column of obs in {path} called")
            return np.asarray(obs[name])

        y, groups = labels(wanted.target), labels(wanted.groups)
        beside = {name: np.asarray(labels(name)) for name in wanted.beside}
        X = matrix(_loaded(file["X"], progress), path) if wanted.features else None
    names, rows = (np.asarray(frame.index, dtype=str) for frame in (var, obs))
    others = tuple(str(name) for name in obs.columns if name not in wanted.labels)
    return Table(X, y, names, rows, wanted.target, groups, left_out=others, beside=beside)


def write_h5ad(table: Table, path: Path, compression: str) -> None:
    anndata = require("anndata", "anndata")
    import pandas

    n_rows, n_columns = table.X.shape
    rows = table.row_names if table.row_names is not None else np.arange(n_rows).astype(str)
    names = [table.name(j) for j in range(n_columns)]
    obs = pandas.DataFrame(index=rows)
    if table.y is not None:
        obs[table.target_name or "target"] = plain(table.y)
    X = table.X
    if not isinstance(X, np.ndarray):
        X = sp.csc_matrix(X) if X.format == "csc" else sp.csr_matrix(X)
    anndata.AnnData(X, obs=obs, var=pandas.DataFrame(index=names)).write_h5ad(path)


def _opened(path: Path) -> Any:
    """Looked at in another process first: HDF5 does not come back from some damaged files."""
    h5py = require("h5py", "anndata")
    if sys.executable:  # none where Python is part of another program
        program = Path(__file__).with_name("_look_at_hdf.py")
        look = [sys.executable, "-P", str(program), str(path)]
        pipe = subprocess.PIPE
        with subprocess.Popen(look, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()  # it has started, however long that takes
            try:
                _, said = process.communicate(timeout=PATIENCE_FACTOR + path.stat().st_size / SPEED)
            except subprocess.TimeoutExpired:
                process.kill()
                raise FileProblem(f"{path} is damaged; copy or download it again.") from None
        if process.returncode:
            why = (said.strip().splitlines() or ["HDF5 crashes on it"])[-1]
            raise FileProblem(f"{path} cannot be read as HDF5 ({why.rstrip('.')}).")
    return h5py.File(path, "r")
