"""mmfs convert and mmfs info: files as such."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer

from mmfs import Store
from mmfs.cli.console import Reporter, note, note_assumed, note_lost, out, table_of
from mmfs.cli.options import Escape, Force
from mmfs.cli.source import OUTPUT, Source, option
from mmfs.io import STORE, FileProblem, Outputs, Table, convert_to_store, format_of, stage_table
from mmfs.sources import Mixed

To = Annotated[
    str | None,
    option("--to", help="Format to write, if the name does not tell it.", panel=OUTPUT),
]

Memory = Annotated[
    int,
    option("--memory", help="Megabytes to make a column store with (default 512).", panel=OUTPUT,
           min=1),
]  # fmt: skip


def convert(
    progress: Reporter,
    *,
    source: Source,
    output: Annotated[Path, typer.Argument(help="File or folder to write.", show_default=False)],
    to: To = None,
    memory: Memory = 512,
    escape: Escape = False,
    force: Force = False,
) -> None:
    """Write data in another format, or as a column store.

    A name without an extension, or ending in .store, is that of a column store: a folder for data
    larger than memory, from which every command but compare reads.

    Examples:

      mmfs convert genes.csv genes.parquet

      mmfs convert counts.mtx.gz counts.npz --transpose --names features.txt --target cells.txt

      mmfs convert huge.svm.gz huge --memory 2000
    """
    if to == "store" or (to is None and output.suffix in STORE.extensions):
        asked = source.asked(progress)
        store = convert_to_store(asked, output, force=force, memory=memory << 20)
        progress.close()
        note_assumed(asked.assumed)
        _wrote(output, store.shape)
        return
    with Outputs(force) as outputs:
        format_of(output, to)
        outputs.check(output)
        data = source.read(progress)
        lost = stage_table(data, output, outputs, to, escape)
    progress.close()
    note_assumed(data.assumed)
    note_lost(output, lost)
    _wrote(output, data.X.shape)


def _wrote(output: Path, shape: tuple[int, int]) -> None:
    note(f"wrote {output}: {shape[0]:,} instances, {shape[1]:,} features")


def info(progress: Reporter, *, source: Source) -> None:
    """Say what a file holds.

    Examples:

      mmfs info genes.csv --target diagnosis
    """
    source, why = replace(source, stream=False), ""
    try:
        data = source.read(progress)
    except FileProblem as problem:
        data, why = replace(source, numbers_only=True).read(progress), str(problem)
    progress.close()
    if why and data.left_out:
        note(f"note: {why}")
    out.print(table_of(("", "value"), _facts(source.data, data)))


def _facts(path: Path, data: Table) -> list[tuple[str, str]]:
    X = data.X
    n_rows, n_columns = X.shape
    by_columns = sp.issparse(X) or isinstance(X, Store)
    values, layout, n_missing = X.data if by_columns else X, "", 0
    if isinstance(X, Mixed):
        values, n_missing = X.numbers, X.n_unknown
        layout = f"{X.of_codes.sum():,} columns of categories; numbers "
    n_missing += _count(values, np.isnan) if values.dtype.kind == "f" else 0
    facts = [
        ("file", str(path)),
        ("instances", f"{n_rows:,}"),
        ("features", f"{n_columns:,}"),
        ("stored as", f"{layout}{_layout(X)}, {values.dtype}"),
        ("on disk" if isinstance(X, Store) else "in memory", f"{_bytes(X) / 1e6:,.1f} MB"),
    ]
    if by_columns:
        facts.append(("stored values", f"{X.nnz:,} ({X.nnz / n_rows:,.1f} per instance)"))
    facts.append(("missing values", f"{n_missing:,}"))
    if data.feature_names is not None:
        names = ", ".join(map(str, data.feature_names[:3]))
        facts.append(("names", names + (", ..." if n_columns > 3 else "")))
    else:
        last = n_columns - 1 + data.numbered_from
        facts.append(("names", f"none; columns are numbered {data.numbered_from} to {last:,}"))
    if data.row_names is not None:
        rows = ", ".join(map(str, data.row_names[:3]))
        facts.append(("names of rows", rows + (", ..." if n_rows > 3 else "")))
    if data.assumed:
        facts.append(("assumed", "; ".join(data.assumed)))
    if data.y is None:
        facts.append(("target", "none; name one with --target"))
    else:
        facts.append((f"target {data.target_name or ''}".strip(), _target(data.y)))
    return facts


def _layout(X: Any) -> str:
    if isinstance(X, Store):
        X.check()
        return "column store, all checksums right"
    return X.format.upper() if sp.issparse(X) else "dense"


def _target(y: np.ndarray) -> str:
    if y.ndim > 1:
        return f"{y.shape[1]} columns"
    values, counts = np.unique(y.astype(str) if y.dtype.kind == "O" else y, return_counts=True)
    if len(values) > 20:
        return f"{len(values):,} different values, from {values[0]} to {values[-1]}"
    return ", ".join(f"{value}: {count:,}" for value, count in zip(values, counts, strict=True))


def _count(values: Any, test: Any) -> int:
    """How many values pass a test, a few million at a time."""
    flat = values.reshape(-1, order="A") if values.ndim > 1 else values
    step = 1 << 22
    return sum(int(test(flat[i : i + step]).sum()) for i in range(0, len(flat), step))


def _bytes(X: Any) -> int:
    if isinstance(X, Mixed):
        return int(X.numbers.nbytes + X.codes.nbytes)
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes
