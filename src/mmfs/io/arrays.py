"""NumPy's .npy and .npz, and SciPy's sparse .npz."""

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.io.arrow import dense_block
from mmfs.io.streams import FileProblem, file_problems, open_stream
from mmfs.io.table import Table, Wanted, position
from mmfs.progress import Progress

Array = np.ndarray

# Bytes of an array's header, at most; and how many times smaller packing can make an array.
LONGEST_HEADER, MOST_PACKED = 1 << 16, 1100


def array_header(file: Any, size: int) -> tuple[tuple[int, ...], np.dtype]:
    """Read shape and type of an array, which has `size` bytes in all; leave the file behind them.

    Nothing is set aside for an array that cannot be there.
    """
    begin = file.read(8)
    if begin[:6] != b"\x93NUMPY" or begin[6:] not in (b"\x01\x00", b"\x02\x00"):
        raise ValueError("it does not begin as an array")
    long = begin[6] == 2
    length = file.read(4 if long else 2)
    n_bytes = int.from_bytes(length, "little")
    if n_bytes > min(size, LONGEST_HEADER):
        raise ValueError("its header is longer than the file")
    read = getattr(np.lib.format, f"read_array_header_{begin[6]}_0")
    shape, _, dtype = read(io.BytesIO(length + file.read(n_bytes)))
    if dtype.hasobject:
        raise ValueError("pickled objects")
    left = size - 8 - len(length) - n_bytes
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > left:
        raise ValueError(f"it says that it has the shape {shape}, but has {left:,} bytes")
    return shape, dtype


class Archive:
    """The arrays in an .npz file, each checked before it is read."""

    def __init__(self, file: Any, size: int) -> None:
        self._zip, self._size = zipfile.ZipFile(file), size
        file.seek(0)
        self._arrays = np.load(file, allow_pickle=False)
        self.files: list[str] = self._arrays.files

    def header(self, name: str) -> tuple[tuple[int, ...], np.dtype]:
        member = self._zip.getinfo(f"{name}.npy")
        packed = member.compress_size
        if packed > self._size or member.file_size > MOST_PACKED * packed:
            raise ValueError(f"{name} is larger than the file")
        with self._zip.open(member) as file:
            return array_header(file, member.file_size)

    def __getitem__(self, name: str) -> Array:
        self.header(name)
        return self._arrays[name]

    def is_matrix(self, name: str) -> bool:
        try:
            return len(self.header(name)[0]) == 2
        except (ValueError, KeyError):  # not an array of numbers or text
            return False


def read_npy(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """A matrix, mapped into memory rather than read."""
    return Table(matrix(read_array(path), path))


def read_array(path: Path) -> Array:
    with file_problems(path, "NumPy file"):
        with path.open("rb") as file:
            if file.read(2) == b"PK":
                raise FileProblem(f"{path} is an archive of several arrays; call it .npz.")
            file.seek(0)
            array_header(file, path.stat().st_size)
        return np.load(path, mmap_mode="r", allow_pickle=False)


def read_npz(path: Path, wanted: Wanted, progress: Progress | None) -> Table:
    """X, or a sparse matrix as SciPy saves it, with y, feature_names and row_names if there."""
    with open_stream(path, progress) as stream, file_problems(path, "NumPy file"):
        if stream.file.peek(6)[:6] == b"\x93NUMPY":
            raise FileProblem(f"{path} is a single array; call it .npy.")
        parts = Archive(stream.file, path.stat().st_size)
        if not wanted.features:
            X: Any = None
        elif "indptr" in parts.files:
            X = _sparse(parts, stream.file)
        else:
            found = ["X"] if "X" in parts.files else [*filter(parts.is_matrix, parts.files)]
            if len(found) != 1:
                raise FileProblem(
                    f"{path} has {len(found)} matrices; call the one with the data X."
                )
            X = parts[found[0]]
        return with_parts(X, parts, wanted, path)


def _sparse(parts: Archive, file: Any) -> Any:
    """A matrix as SciPy saves it."""
    for name in {"data", "indices", "indptr", "shape", "format", "row", "col"} & set(parts.files):
        parts.header(name)
    file.seek(0)
    return sp.load_npz(file)


def with_parts(X: Any, parts: Archive, wanted: Wanted, path: Path, shape: Any = None) -> Table:
    """A table from what an archive holds; of X perhaps its shape alone."""
    names = parts.files
    target = wanted.target or ("y" if "y" in names else None)

    def labels(name: str | None) -> Array | None:
        if name is None:
            return None
        position(name, names, f"part of {path} called")
        values = np.asarray(parts[name])
        if values.ndim not in (1, 2) or values.dtype.kind not in "biufSUO":
            raise FileProblem(f"{name!r} in {path} is not a column of labels or numbers.")
        return as_text(values) if values.dtype.kind in "SO" else values

    def text(name: str) -> Array | None:
        return as_text(parts[name]) if name in names else None

    y, groups = labels(target), labels(wanted.groups)
    rows = text("row_names") if "row_names" in names else text("sample_ids")
    if not wanted.features:
        return Table(X, y, None, rows, target, groups)
    if wanted.target is None and "target_name" in names:
        target = as_text(parts["target_name"])[0]
    X, names_of = X if shape else matrix(X, path), text("feature_names")
    checked = ((names_of, 1, "feature_names"), (rows, 0, "row_names"), (y, 0, target))
    for found, axis, what in checked:
        n = (shape or X.shape)[axis]
        if found is not None and len(found) != n:
            kind = ("rows", "columns")[axis]
            raise FileProblem(f"{path} has {len(found):,} {what} for {n:,} {kind}.")
    return Table(X, y, names_of, rows, target, groups)


def as_text(values: Any) -> Array:
    def one(value: Any) -> str:
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    return np.array([one(value) for value in np.ravel(values).tolist()], dtype=object)


def matrix(X: Any, path: Path | str) -> Any:
    """Checked to be a matrix of numbers, in a layout that selectors take."""
    if X.ndim != 2:
        raise FileProblem(f"{path} holds an array of {X.ndim} dimensions, not a matrix.")
    if X.dtype.kind not in "biuf":
        raise FileProblem(f"{path} holds values of type {X.dtype}, not numbers.")
    kind = X.dtype.newbyteorder("=")
    if kind.itemsize > 8 or kind == np.float16:  # longer and shorter ones than most programs know
        kind = np.dtype(np.float64 if kind.itemsize > 8 else np.float32)
    if not sp.issparse(X):
        return X.astype(kind, copy=False)
    try:
        if hasattr(X, "indptr"):  # before anything is done with it
            _check_ends(X)
            X.check_format(full_check=True)
        X = sp.csc_array(X) if X.format == "csc" else sp.csr_array(X)
    except ValueError as error:
        raise FileProblem(f"{path} is damaged ({error}); write it again.") from None
    return X.astype(kind, copy=False)


def _check_ends(X: Any) -> None:
    """Which SciPy does not do if the last of them is 0."""
    ends = X.indptr
    if ends[0] != 0 or (ends[1:] < ends[:-1]).any() or ends[-1] > len(X.indices):
        raise ValueError("index pointers do not rise to the number of entries")


def write_npy(table: Table, path: Path, compression: str) -> None:
    with path.open("wb") as file:
        np.save(file, dense_block(table.X), allow_pickle=False)


def write_npz(table: Table, path: Path, compression: str) -> None:
    labels = {name: getattr(table, name) for name in ("y", "feature_names", "row_names")}
    parts: dict[str, Any] = {name: plain(some) for name, some in labels.items() if some is not None}
    if table.target_name is not None:
        parts["target_name"] = np.array(table.target_name)
    if isinstance(table.X, np.ndarray):
        parts["X"] = table.X
    else:
        parts |= {name: getattr(table.X, name) for name in ("data", "indices", "indptr", "shape")}
        parts["format"] = np.array(table.X.format.encode("ascii"))
    with path.open("wb") as file:
        np.savez(file, **parts)


def plain(y: Array) -> Array:
    """Labels without objects among them."""
    return np.array([str(label) for label in y]) if y.dtype.kind == "O" else y
