"""Files that appear whole or not at all."""

import errno
import gzip
import os
import secrets
import shutil
import signal
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mmfs.errors import Parameter
from mmfs.io.streams import OPENED_BY, FileProblem
from mmfs.optional import require

# Exit code after SIGTERM or SIGHUP.
TERMINATED = 143

FORCE = Parameter("force", True)


class OrderlyEnd:
    """While on, SIGTERM and SIGHUP end the program with its `finally`, for what is to be removed.

    Otherwise they end it at once, also where it is in the depths of a library.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def on(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # where signals cannot be set
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                self._before[number] = signal.signal(number, lambda *_: sys.exit(TERMINATED))

    def off(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())


class Outputs:
    """Files being written under temporary names; at the end of a `with` they get their own.

    If anything goes wrong before, none of them does, and the temporary ones are removed.
    """

    def __init__(self, force: bool = False) -> None:
        self._force = force
        self._staged: dict[Path, Path] = {}
        self._end = OrderlyEnd()

    def check(self, *paths: Path | None) -> None:
        """Refuse what cannot be written to, before any work is done for it."""
        for path in paths:
            if path is None:
                continue
            if not path.parent.is_dir():
                raise FileProblem(f"there is no folder {path.parent} to write {path.name} into.")
            if path.is_dir():
                raise FileProblem(f"{path} is a folder; name a file to write.")
            if path.exists() and not path.is_file():
                raise FileProblem(f"{path} is not a plain file; name one to write.")
            if path.exists() and not self._force:
                raise FileProblem(f"{path} exists; pass ", FORCE, " to replace it.")

    def stage(self, path: Path) -> Path:
        """A temporary file in the same folder, to be written instead of `path`."""
        self.check(path)
        path = path.resolve()  # a link stays, and points to the new file
        if path in self._staged:
            raise FileProblem(f"{path} is asked for twice; give each output its own name.")
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
        self._end.on()
        try:
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except OSError as error:
            raise FileProblem(f"{path} cannot be written ({error.strerror}).") from None
        self._staged[path] = temporary
        return temporary

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
            elif isinstance(error, OSError):
                self._blame(error)
        finally:
            for temporary in self._staged.values():
                temporary.unlink(missing_ok=True)
            self._end.off()

    def _blame(self, error: OSError) -> None:
        """Say so if the error is about one of the files being written."""
        for path, temporary in self._staged.items():
            full = shutil.disk_usage(path.parent).free == 0  # which NumPy does not say
            number = errno.ENOSPC if full else error.errno
            if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or error.filename == temporary:
                why = os.strerror(number or errno.EIO)
                raise FileProblem(f"{path} cannot be written ({why}).") from error

    def _rename(self) -> None:
        self.check(*self._staged)  # something may have come into being meanwhile
        for path, temporary in self._staged.items():
            if path.exists():
                temporary.chmod(path.stat().st_mode & 0o7777)
            with temporary.open("r+b") as file:
                os.fsync(file.fileno())
        for path, temporary in self._staged.items():
            temporary.replace(path)


def open_output(path: Path, compression: str) -> Any:
    """A binary file to write to, through a compressor if there is one."""
    if compression == ".gz":
        return gzip.GzipFile(path, "wb", mtime=0)
    if compression == ".zst":
        return require("pyarrow", "data").CompressedOutputStream(str(path), "zstd")
    return OPENED_BY.get(compression, open)(path, "wb")
