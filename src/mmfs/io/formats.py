"""Files of every kind: how each is read and written."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mmfs.io import arrays, arrow, csv, hdf, mtx
from mmfs.io.chunks import (
    Parts,
    npy_parts,
    npz_parts,
    parquet_parts,
    svmlight_parts,
    text_parts,
)
from mmfs.io.outputs import Outputs
from mmfs.io.streams import FileProblem, split_compression
from mmfs.io.svmlight import read_svmlight, write_svmlight
from mmfs.io.table import Table, Wanted, without_formulas
from mmfs.progress import Progress
from mmfs.sources import Elsewhere, Mixed, is_store, open_store

Array = np.ndarray
Reader = Callable[[Path, Wanted, Progress | None], Table]
Writer = Callable[[Table, Path, str], None]


# Formats whose columns have a type each.
OF_COLUMNS = ("csv", "tsv", "parquet", "arrow")


class Format(NamedTuple):
    extensions: tuple[str, ...]
    read: Reader
    write: Writer
    compressed: bool = False  # may be
    labelled: bool = True  # holds the target
    named: bool = True  # features, rows and target have names in it
    # Reads single columns: one or two that are called so, and some that may name the rows.
    columns: Callable[[Path, str, str | None], dict[str, list]] | None = None
    # Reads some rows at a time; None, or an answer of None: the whole file at once.
    parts: Callable[[Path, Wanted, Progress | None], Parts | None] | None = None


def _read_svm(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    X, y, groups, first = read_svmlight(path, progress=progress)
    return Table(X, csv.as_labels(y), groups=groups, numbered_from=first)


FORMATS = {
    "csv": Format(
        (".csv",), csv.read_text, partial(csv.write_text, separator=","), compressed=True,
        columns=csv.text_columns, parts=text_parts,
    ),
    "tsv": Format(
        (".tsv", ".tab", ".txt"), csv.read_text, partial(csv.write_text, separator="\t"),
        compressed=True, columns=csv.text_columns, parts=text_parts,
    ),
    "parquet": Format(
        (".parquet", ".pq"), partial(arrow.read_wanted, "Parquet"), arrow.write_parquet,
        columns=partial(arrow.read_some, "Parquet"), parts=parquet_parts,
    ),
    "arrow": Format(
        (".arrow", ".feather", ".ipc"), partial(arrow.read_wanted, "Arrow"), arrow.write_arrow,
        columns=partial(arrow.read_some, "Arrow"),
    ),
    "svmlight": Format(
        (".svm", ".svmlight", ".libsvm"), _read_svm, write_svmlight, compressed=True, named=False,
        parts=svmlight_parts,
    ),
    "npy": Format(
        (".npy",), arrays.read_npy, arrays.write_npy, labelled=False, named=False, parts=npy_parts
    ),
    "npz": Format((".npz",), arrays.read_npz, arrays.write_npz, parts=npz_parts),
    "mtx": Format(
        (".mtx",), mtx.read_mtx, mtx.write_mtx, compressed=True, labelled=False, named=False
    ),
    "h5ad": Format((".h5ad",), hdf.read_h5ad, hdf.write_h5ad),
}  # fmt: skip


def _read_store(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    store = open_store(path)
    names = ("y", "feature_names", "row_names", "target_name", "groups", "numbered_from")
    return Table(store, *(getattr(store, name) for name in names))


def _not_a_file(table: Table, path: Path, compression: str) -> None:
    raise FileProblem(f"{path} would be a column store, which mmfs convert makes; name a file.")


STORE = Format((".store", ""), _read_store, _not_a_file)


def format_of(path: Path, name: str | None = None) -> Format:
    """By its name if given, else by the extension of the file; a folder is a column store."""
    extension, compression = split_compression(path)
    folder = path.is_dir() and (extension in STORE.extensions or is_store(path))
    if name == "store" or (name is None and folder):
        return STORE
    if name is not None:
        if name not in FORMATS:
            raise FileProblem(f"there is no format {name!r}; formats are {', '.join(FORMATS)}.")
        found = FORMATS[name]
    else:
        known = [one for one in FORMATS.values() if extension in one.extensions]
        if extension in (".xlsx", ".xls", ".ods"):
            raise FileProblem(f"{path} is a spreadsheet; save it as CSV.")
        if extension in (".h5", ".hdf5"):
            raise FileProblem(
                f"{path} is HDF5, which does not say what is data in it; save it as .h5ad or .npz."
            )
        if not known:
            raise FileProblem(
                f"the name of {path} does not tell its format; let it end in "
                f"{', '.join(one.extensions[0] for one in FORMATS.values())}."
            )
        found = known[0]
    if compression and not found.compressed:
        raise FileProblem(f"{path} cannot be compressed as a whole; leave out {compression}.")
    return found


def write_table(
    table: Table,
    path: Any,
    *,
    format: str | None = None,
    force: bool = False,
    escape_formulas: bool = False,
) -> list[str]:
    """Write a table; returns what of it the format could not hold, in words.

    The file appears whole or not at all, and replaces another only if `force` is true. With
    `escape_formulas`, texts in CSV and TSV files that a spreadsheet would run, since they start
    with = + - or @, are written with ' before them.
    """
    with Outputs(force) as outputs:
        return stage_table(table, Path(path), outputs, format, escape_formulas)


def stage_table(
    table: Table,
    path: Path,
    outputs: Outputs,
    format: str | None = None,
    escape_formulas: bool = False,
) -> list[str]:
    kind = format_of(path, format)
    if escape_formulas and kind in (FORMATS["csv"], FORMATS["tsv"]):
        table = without_formulas(table)
    if isinstance(table.X, Mixed) and kind not in [FORMATS[name] for name in OF_COLUMNS]:
        raise FileProblem(
            f"{path} cannot hold columns of categories; write .csv, .tsv, .parquet or .arrow."
        )
    if isinstance(table.X, Elsewhere):
        table = replace(table, X=table.X[:, :])
    kind.write(table, outputs.stage(path), split_compression(path)[1])
    held = {
        "the target": kind.labelled or table.y is None,
        "the names of the features": kind.named or table.feature_names is None,
        "the names of the rows": kind.named or table.row_names is None,
        "the groups": kind is FORMATS["svmlight"] or table.groups is None,
        "the weights": table.weights is None,
        "the covariates": table.covariates is None,
    }
    return [what for what, is_held in held.items() if not is_held]
