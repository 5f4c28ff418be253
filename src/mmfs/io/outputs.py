"""Files that appear whole or not at all."""

import bz2
import errno
import gzip
import lzma
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mmfs.io.streams import FileProblem, needed


class Outputs:
    """Files being written under temporary names; at the end of a `with` they get their own.

    If anything goes wrong before, none of them does, and the temporary ones are removed.
    """

    def __init__(self, force: bool = False) -> None:
        self._force = force
        self._staged: dict[Path, Path] = {}

    def check(self, path: Path) -> None:
        """Refuse a path that cannot be written to, before any work is done for it."""
        if not path.parent.is_dir():
            raise FileProblem(f"there is no folder {path.parent} to write {path.name} into.")
        if path.is_dir():
            raise FileProblem(f"{path} is a folder; name a file to write.")
        if path.exists() and not self._force:
            raise FileProblem(f"{path} exists; pass force (--force) to replace it.")

    def stage(self, path: Path) -> Path:
        """A temporary file in the same folder, to be written instead of `path`."""
        self.check(path)
        if path in self._staged:
            raise FileProblem(f"{path} is asked for twice; give each output its own name.")
        try:
            handle, name = tempfile.mkstemp(
                prefix=f".{path.name}.", suffix=".part", dir=path.parent
            )
        except OSError as error:
            raise FileProblem(f"{path} cannot be written ({error.strerror}).") from None
        os.close(handle)
        self._staged[path] = Path(name)
        return Path(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._rename()
            elif isinstance(error, OSError) and self._staged:
                path = list(self._staged)[-1]
                raise FileProblem(f"{path} cannot be written ({_reason(error, path)}).") from error
        finally:
            for temporary in self._staged.values():
                temporary.unlink(missing_ok=True)

    def _rename(self) -> None:
        for path in self._staged:
            self.check(path)  # it may have come into being meanwhile
        mask = os.umask(0)
        os.umask(mask)
        for path, temporary in self._staged.items():
            temporary.chmod(0o666 & ~mask)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)


def _reason(error: OSError, path: Path) -> str:
    if shutil.disk_usage(path.parent).free == 0:  # which NumPy does not say
        return os.strerror(errno.ENOSPC)
    return os.strerror(error.errno) if error.errno else str(error)


def open_output(path: Path, compression: str) -> Any:
    """A binary file to write to, through a compressor if there is one."""
    if compression == ".gz":
        return gzip.GzipFile(path, "wb", mtime=0)
    if compression == ".xz":
        return lzma.open(path, "wb")
    if compression == ".bz2":
        return bz2.open(path, "wb")
    if compression == ".zst":
        return needed("pyarrow", "data").CompressedOutputStream(str(path), "zstd")
    return path.open("wb")
