"""Progress of long work: one kind of callback, told what goes on, how much is done, of how much."""

import sys
from collections.abc import Callable
from typing import Any

Progress = Callable[[str, float | None, float | None], None]


def progress_of(verbose: Any) -> Progress | None:
    """What a parameter `verbose` asks for: a function is told, other values mean stderr, or not."""
    if callable(verbose):
        return verbose
    return _to_stderr if verbose else None


def _to_stderr(text: str, done: float | None, total: float | None) -> None:
    print(f"mmfs: {text}", file=sys.stderr)
