"""Files as streams of bytes, compressed or not, read with progress."""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mmfs.errors import InputError
from mmfs.optional import require
from mmfs.progress import Progress
from mmfs.sources.store import HEADER

# What opens compressed files, but those in .zst.
OPENED_BY: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
BUFFER = 1 << 20


class FileProblem(InputError):
    """A file that cannot be read or written as it should be: what, where, what to do."""


def split_compression(path: Path) -> tuple[str, str]:
    """The extension that tells the format, and that of the compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in (*OPENED_BY, ".zst") else ""
    return suffixes[-1] if suffixes else "", compression


class Stream(NamedTuple):
    """A file being read, and as it is decompressed."""

    raw: "_Counted"
    file: Any

    @property
    def share(self) -> float:
        """Of the file, that has been read."""
        return self.raw.tell() / max(self.raw.size, 1)


@contextmanager
def open_stream(path: Path, progress: Progress | None = None) -> Iterator[Stream]:
    """The bytes of a file, decompressed. Errors of the file become one sentence."""
    with file_problems(path, errors=()), _Counted(path, progress) as raw:
        yield Stream(raw, _decompressed(raw, split_compression(path)[1]))


@contextmanager
def file_problems(
    path: Path, kind: str = "", errors: tuple[type[Exception], ...] = (Exception,)
) -> Iterator[None]:
    """What can be wrong with a file, said in one sentence; `errors` mean it is not of its kind."""
    try:
        if path.is_dir():
            raise FileProblem(f"{path} is a folder, not a file.")
        if path.exists() and not path.is_file():
            raise FileProblem(f"{path} is not a plain file; copy what it gives into one.")
        if path.stat().st_size == 0:
            raise FileProblem(f"{path} is empty.")
        yield
    except (FileProblem, ImportError, MemoryError):
        raise
    except FileNotFoundError:
        raise FileProblem(f"there is no file {path}.") from None
    except PermissionError:
        raise FileProblem(f"{path} may not be read; change its permissions.") from None
    except EOFError:
        raise FileProblem(f"{path} is cut short; copy or download it again.") from None
    except errors as error:
        if "pickle" in str(error).lower():
            raise FileProblem(
                f"{path} holds Python objects, which are not loaded since they could run code; "
                "save it as numbers and text."
            ) from None
        raise FileProblem(f"{path} cannot be read as {kind} ({_first_line(error)}).") from error
    except (OSError, lzma.LZMAError, zlib.error, UnicodeDecodeError) as error:
        raise FileProblem(
            f"{path} is damaged ({_first_line(error)}); copy or download it again."
        ) from None


def checksum(path: Path, algorithm: str = "sha256") -> str:
    """Of a file; of a column store that of its header, which has those of its files."""
    path = path / HEADER if path.is_dir() else path
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


class _Counted(io.FileIO):
    """A file that says how far it has been read."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        super().__init__(path, "rb")
        self.size = os.fstat(self.fileno()).st_size
        self._progress = progress

    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        if self._progress:
            self._progress("reading", self.tell(), self.size)
        return n


def _decompressed(raw: _Counted, compression: str) -> Any:
    file = io.BufferedReader(raw, BUFFER)
    if compression == ".zst":
        pyarrow = require("pyarrow", "data")
        unpacked = pyarrow.CompressedInputStream(pyarrow.PythonFile(file), "zstd")
        return io.BufferedReader(unpacked, BUFFER)
    return OPENED_BY[compression](file) if compression else file
