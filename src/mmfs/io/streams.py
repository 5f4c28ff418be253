"""Files as streams of bytes, compressed or not, read with progress."""

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

# Told what goes on, how much of it is done, and how much there is.
Progress = Callable[[str, float, float], None]

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")


class FileProblem(ValueError):
    """A file that cannot be read or written as it should be: what, where, what to do."""


def split_compression(path: Path) -> tuple[str, str]:
    """The extension that tells the format, and that of the compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    return suffixes[-1] if suffixes else "", compression


class Stream:
    """A file being read; knows which share of it has been."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        self._raw = _Counted(path, progress)
        self._bytes = _decompressed(self._raw, split_compression(path)[1])

    def read(self, size: int) -> bytes:
        return self._bytes.read(size)

    @property
    def file(self) -> Any:
        return self._bytes

    @property
    def share(self) -> float:
        return self._raw.tell() / max(self._raw.size, 1)


@contextmanager
def open_stream(path: Path, progress: Progress | None = None) -> Iterator[Stream]:
    """The bytes of a file, decompressed. Errors of the file become one sentence."""
    with file_problems(path):
        stream = Stream(path, progress)
        try:
            yield stream
        finally:
            stream._raw.close()


@contextmanager
def file_problems(path: Path) -> Iterator[None]:
    """What can be wrong with a file, said in one sentence."""
    try:
        yield
    except FileNotFoundError:
        raise FileProblem(f"there is no file {path}.") from None
    except IsADirectoryError:
        raise FileProblem(f"{path} is a folder, not a file.") from None
    except PermissionError:
        raise FileProblem(f"{path} may not be read; change its permissions.") from None
    except EOFError:
        raise FileProblem(f"{path} is cut short; copy or download it again.") from None
    except (OSError, lzma.LZMAError, zlib.error, UnicodeDecodeError) as error:
        raise FileProblem(f"{path} is damaged ({error}); copy or download it again.") from None


class _Counted(io.FileIO):
    """A file that says how far it has been read."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        super().__init__(path, "rb")
        self.size = os.fstat(self.fileno()).st_size
        if self.size == 0:
            self.close()
            raise FileProblem(f"{path} is empty.")
        self._progress = progress

    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        if self._progress:
            self._progress("reading", self.tell(), self.size)
        return n


def _decompressed(raw: _Counted, compression: str) -> BinaryIO | Any:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=io.BufferedReader(raw, 1 << 20))
    if compression == ".xz":
        return lzma.LZMAFile(io.BufferedReader(raw, 1 << 20))
    if compression == ".bz2":
        return bz2.BZ2File(io.BufferedReader(raw, 1 << 20))
    if compression == ".zst":
        pyarrow = needed("pyarrow", "data")
        decompressor = pyarrow.CompressedInputStream(pyarrow.PythonFile(raw), "zstd")
        return io.BufferedReader(decompressor, 1 << 20)
    return io.BufferedReader(raw, 1 << 20)


def needed(module: str, extra: str) -> Any:
    """An optional library, or one sentence that says how to install it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(
            f"this kind of file needs {module.split('.')[0]}: pip install 'mmfs[{extra}]'."
        ) from None
