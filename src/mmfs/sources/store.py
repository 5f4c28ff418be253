"""A column store: a folder of plain .npy files, mapped into memory and read where they lie.

    indptr.npy      where the entries of each column begin (int64), and where the last end
    indices.npy     their row numbers (int32), rising in each column
    data.npy        their values (float32 or float64)
    checksums.npy   CRC-32 of every CHECKED entries: row numbers, then values
    header.json     format, version, shape, and the size and checksum of every file

and, where there are any, y.npy, groups.npy and the bytes and ends of feature_names and row_names.
The entries are checked against their checksums while they are first read, all else when opened.
"""

import json
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from mmfs._compiled import scans
from mmfs.optional import require
from mmfs.sources.base import Array, Elsewhere
from mmfs.sources.compressed import CompressedColumns, Entries
from mmfs.sources.empty import filled
from mmfs.sources.store_rows import StoreRows

FORMAT, VERSION = "mmfs column store", 1
HEADER = "header.json"
ENTRIES = ("indices", "data")

# Entries with one checksum.
CHECKED = 1 << 20


# Bytes of a header, at most; types of labels.
LARGEST_HEADER, KINDS = 1 << 20, "biufU"

# Entries that take a worker as long as what else there is to do for a column.
AS_ENTRIES = 10


class StoreProblem(ValueError):
    """A folder that is not a column store, or not whole."""


class Texts(Sequence):
    """Many texts in two arrays: their bytes, and where each ends."""

    dtype = np.dtype(object)

    def __init__(self, letters: Array, ends: Array) -> None:
        self.letters, self.ends = letters, ends

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, where: int) -> str: ...
    @overload
    def __getitem__(self, where: Any) -> Any: ...
    def __getitem__(self, where: Any) -> Any:
        if not isinstance(where, int | np.integer):
            return np.array([self[int(j)] for j in np.arange(len(self))[where]], dtype=object)
        j = range(len(self))[where]
        start = int(self.ends[j - 1]) if j else 0
        letters = self.letters[start : int(self.ends[j])].tobytes()
        try:
            return letters.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return letters.decode("utf-8", "replace")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array([self[j] for j in range(len(self))], dtype=object)


class Store(Elsewhere, CompressedColumns):
    """A column store, opened for reading by `open_store`.

    Selectors take it as X. `store[:, J]` brings columns into memory as a SciPy array; `store.y`,
    `store.groups`, `store.feature_names` and `store.row_names` are None if they were not stored.
    """

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path, self._header = path, header
        self._whole: Store | None = None  # where empty columns were left out
        (n_rows, n_columns), n_entries = header["shape"], header["entries"]
        self.shape: tuple[int, int] = (n_rows, n_columns)
        self.indptr = self._array("indptr", (np.int64,), n_columns + 1)
        if self.indptr[0] != 0 or not _rises(self.indptr, n_entries):
            raise self._damaged("indptr")
        self.indices = self._array("indices", (np.int32,), n_entries)
        self.data = self._array("data", (np.float32, np.float64), n_entries)
        self.checksums = self._array("checksums", (np.uint32,), -(-n_entries // CHECKED))
        self._right = np.zeros(len(self.checksums), dtype=bool)  # those that have been compared
        self.y: Array | None = self._labels("y")
        self.groups: Array | None = self._labels("groups")
        self.feature_names = self._texts("feature_names", n_columns)
        self.row_names = self._texts("row_names", n_rows)
        self.target_name: str | None = header.get("target_name")
        self.numbered_from: int = header["numbered_from"]

    def __repr__(self) -> str:
        return f"the column store {self.path}"

    @property
    def checksum(self) -> int:
        """Of the header, which has those of all files."""
        return self._header["checksum"]

    @property
    def nnz(self) -> int:
        return len(self.indices)

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.indptr, self.indices, self.data

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def nbytes(self) -> int:
        """Bytes that a scan reads."""
        return int(self.indptr.nbytes + self.indices.nbytes + self.data.nbytes)

    def select_rows(self, rows: Array) -> StoreRows:
        return StoreRows(self, rows)

    def _entries(self, start: int, stop: int) -> Entries:
        (self._whole or self).check(int(self.indptr[start]), int(self.indptr[stop]))
        return self.arrays, start, stop

    def __reduce__(self) -> Any:
        opened = open_store if self._whole is None else _without_empty
        return opened, (self.path.absolute(),)

    def fetch(self, J: Array, n_jobs: int | None = None) -> sp.csc_array:
        ends = np.append(0, np.cumsum(self.indptr[J + 1] - self.indptr[J]))
        kind = np.int32 if ends[-1] < 2**31 else np.int64  # SciPy has one type for both
        indices, data = np.empty(ends[-1], dtype=kind), np.empty(ends[-1], dtype=self.dtype)
        stretches = [0, *(np.flatnonzero(np.diff(J) != 1) + 1).tolist(), len(J)]
        for a, b in pairwise(stretches if len(J) else []):  # of columns that follow each other
            here, there = (
                slice(ends[a], ends[b]),
                slice(self.indptr[J[a]], self.indptr[J[b - 1] + 1]),
            )
            (self._whole or self).check(int(there.start), int(there.stop))
            indices[here], data[here] = self.indices[there], self.data[there]
        out = sp.csc_array((data, indices, ends.astype(kind)), shape=(self.shape[0], len(J)))
        out.has_sorted_indices = out.has_canonical_format = True
        return out

    def to_dask(self, block: int = 1 << 26) -> Any:
        """A Dask array of sparse blocks of columns, which workers read from the store themselves.

        The folder must be there for them under the same name; a block has about `block` bytes.
        """
        dask, array = (require(name, "dask", "to_dask()") for name in ("dask", "dask.array"))
        n_entries = max(1, block // (self.indices.itemsize + self.data.itemsize))
        work = self.indptr + AS_ENTRIES * np.arange(self.shape[1] + 1)
        cuts = np.searchsorted(work, np.arange(n_entries, work[-1], n_entries))
        ends = np.unique([0, *cuts, self.shape[1]]).tolist()
        load, meta = dask.delayed(_load, pure=True), sp.csc_array((0, 0), dtype=self.dtype)
        what = (str(self.path.resolve()), self.checksum)
        blocks = [
            array.from_delayed(load(*what, a, b), (self.shape[0], b - a), meta=meta)
            for a, b in pairwise(ends)
        ]
        return array.concatenate(blocks, axis=1)

    def without_empty(self) -> tuple["Store", Array | None]:
        left, begins = filled(self.indptr)
        if left is None:
            return self, None
        fewer = object.__new__(Store)  # a copy, without opening it again
        vars(fewer).update(vars(self))
        fewer.indptr, fewer.shape = begins, (self.shape[0], len(left))
        fewer.feature_names, fewer._whole = None, self
        return fewer, left

    def check(self, start: int = 0, stop: int | None = None) -> None:
        """Compare the portions of a range of entries with their checksums, once each."""
        stop = self.nnz if stop is None else stop
        for portion in range(start // CHECKED, -(-stop // CHECKED)):
            if self._right[portion]:
                continue
            first = portion * CHECKED
            wrong = np.searchsorted(self.indptr, first, side="right") - 1
            if checksum_of(self.indices, self.data, portion) == self.checksums[portion]:
                last = min(first + CHECKED, self.nnz)
                wrong = scans.csc_wrong_column(
                    self.indptr, self.indices, self.shape[0], first, last
                )
            if wrong >= 0:
                raise StoreProblem(
                    f"{self.path} is damaged: entries from column {wrong:,} on are not what was "
                    "written; convert the data again."
                )
            self._right[portion] = True

    def _array(self, name: str, kinds: tuple[Any, ...] = (), length: int | None = None) -> Array:
        """A file, mapped into memory; all but the entries are compared with their checksums.

        It must hold a vector of one of the kinds, of a length, where these are told.
        """
        file, known = self.path / f"{name}.npy", self._header["files"].get(name)
        if not file.is_file():
            raise StoreProblem(f"{file} is missing; convert the data again.")
        if known is None:
            raise self._damaged(name)
        if (size := file.stat().st_size) != known["bytes"]:
            raise StoreProblem(
                f"{file} has {size:,} bytes instead of {known['bytes']:,}; convert the data again."
            )
        if name not in ENTRIES and file_checksum(file) != known.get("checksum"):
            raise self._damaged(name)
        try:
            found = np.load(file, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        except Exception:  # whatever a parser may say to bytes that make no sense
            raise self._damaged(name) from None
        if (kinds and found.dtype not in kinds) or (
            length is not None and found.shape != (length,)
        ):
            raise self._damaged(name)
        return found

    def _labels(self, name: str) -> Array | None:
        if name not in self._header["files"]:
            return None
        found = self._array(name)
        if found.ndim not in (1, 2) or len(found) != self.shape[0] or found.dtype.kind not in KINDS:
            raise self._damaged(name)
        return found

    def _texts(self, name: str, n: int) -> Texts | None:
        if f"{name}_ends" not in self._header["files"]:
            return None
        letters = self._array(f"{name}_bytes", (np.uint8,))
        ends = self._array(f"{name}_ends", (np.int64,), n)
        if letters.ndim != 1 or ends[0] < 0 or not _rises(ends, len(letters)):
            raise self._damaged(f"{name}_ends")
        return Texts(letters, ends)

    def _damaged(self, name: str) -> StoreProblem:
        return StoreProblem(f"{self.path / name}.npy is damaged; convert the data again.")


def _rises(ends: Array, last: int) -> bool:
    """Whether numbers never fall, and end with the last; a portion at a time."""
    if len(ends) == 0 or ends[-1] != last:
        return False
    parts = (ends[start : start + CHECKED + 1] for start in range(0, len(ends), CHECKED))
    return not any((part[1:] < part[:-1]).any() for part in parts)


def file_checksum(file: Path) -> int:
    return zlib.crc32(np.memmap(file, dtype=np.uint8, mode="r")) if file.stat().st_size else 0


def checksum_of(indices: Array, data: Array, portion: int) -> int:
    part = slice(portion * CHECKED, (portion + 1) * CHECKED)
    return zlib.crc32(np.ascontiguousarray(data[part]), zlib.crc32(indices[part]))


def header_checksum(header: dict[str, Any]) -> int:
    rest = {key: value for key, value in header.items() if key != "checksum"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


def is_store(path: Path) -> bool:
    return (path / HEADER).is_file()


def open_store(path: Any) -> Store:
    """Open a column store, a folder that `mmfs.write_store` or `mmfs convert` made.

    Parameters
    ----------
    path : str or Path
        The folder.

    Returns
    -------
    Store
        With `shape`, `y`, `groups`, `feature_names`; to be passed to `fit` as X. `store[:, J]`
        loads columns as a SciPy array.
    """
    path = Path(path)
    file = path / HEADER
    try:
        if file.stat().st_size > LARGEST_HEADER:
            raise ValueError
        header = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreProblem(
            f"{path} is not a column store: there is no {file}; mmfs convert makes one."
        ) from None
    except NotADirectoryError:
        raise StoreProblem(
            f"{path} is a file, not a column store; mmfs convert makes one of it."
        ) from None
    except (ValueError, RecursionError):  # no JSON, no text, too long a number, too deep
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise StoreProblem(f"{file} is not the header of a column store; convert the data again.")
    if header.get("version") != VERSION:
        raise StoreProblem(
            f"{path} is a column store of version {header.get('version')!r}, but this mmfs reads "
            f"version {VERSION}; convert the data again, or use the mmfs that wrote it."
        )
    if header.get("checksum") != header_checksum(header) or not _makes_sense(header):
        raise StoreProblem(f"{file} is damaged; convert the data again.")
    return Store(path, header)


def _without_empty(path: Path) -> Store:
    return open_store(path).without_empty()[0]


def _makes_sense(header: dict[str, Any]) -> bool:
    """Whether all that is read of a header is of the right type and in range."""

    def whole(value: Any, least: int, most: int = 2**62) -> bool:
        return type(value) is int and least <= value <= most

    shape, files = header.get("shape"), header.get("files")
    return (
        isinstance(shape, list)
        and len(shape) == 2
        and whole(shape[0], 1, 2**31 - 1)
        and whole(shape[1], 1)
        and whole(header.get("entries"), 0)
        and whole(header.get("numbered_from"), 0)
        and isinstance(header.get("target_name"), str | None)
        and isinstance(files, dict)
        and all(isinstance(file, dict) and whole(file.get("bytes"), 0) for file in files.values())
    )


def _load(path: str, checksum: int, start: int, stop: int) -> sp.csc_array:
    """A block of columns, on a worker."""
    return _opened(path, checksum).fetch(np.arange(start, stop))


@lru_cache(maxsize=2)
def _opened(path: str, checksum: int) -> Store:
    store = open_store(path)
    if store.checksum != checksum:
        raise StoreProblem(f"{path} was replaced since this array was made of it; make it again.")
    return store
