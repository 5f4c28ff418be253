"""The terminal: progress and sentences on stderr, results on stdout."""

import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from mmfs.errors import InputError, Parameter
from mmfs.report import shown

# Exit codes; that of wrong usage is typer's.
REFUSED, UNEXPECTED, INTERRUPTED = 1, 3, 130

# What parameters are called here, where they are not called --name.
OPTIONS = {"n_features_to_select": "-k", "n_features": "-k", "n_jobs": "--jobs"}

# Parameters that no command has.
UNKNOWN = {"max_iter", "solver", "relevance_scale", "keep_scores"}

# Work shorter than this shows no progress.
PATIENCE = 1.0

# Headings of columns that hold words.
WORDS = {"direction", "higher in", "makes redundant", "enters", "why", "value", ""}

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)


class Reporter:
    """Shows how far work has come, if someone is looking."""

    def __init__(self, quiet: bool) -> None:
        self._shown = not quiet and err.is_terminal
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._start = time.monotonic()

    def __call__(self, text: str, done: float | None, total: float | None) -> None:
        if not self._shown or time.monotonic() - self._start < PATIENCE:
            return
        if self._bar is None:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TaskProgressColumn(),
            )
            self._bar = Progress(*columns, console=err, transient=True)
            self._task = self._bar.add_task("")
            self._bar.start()
        assert self._task is not None
        self._bar.update(self._task, description=shown(text), completed=done or 0, total=total)

    @property
    def function(self) -> Any:
        """As a plain function, which copying a selector leaves as it is."""
        return lambda text, done, total: self(text, done, total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def say(text: str) -> None:
    """A sentence of the result; the terminal breaks its lines."""
    out.print("\n".join(map(shown, text.split("\n"))), soft_wrap=True)


def wrote(*paths: Any) -> None:
    for path in paths:
        if path is not None:
            note(f"wrote {path}")


def note_assumed(assumed: Sequence[str]) -> None:
    """Say what was taken for granted in reading."""
    if assumed:
        note(f"note: {'; '.join(assumed)}.")


def note_lost(path: Any, lost: list[str]) -> None:
    """Say what a format could not hold."""
    if lost:
        words = lost[0] if len(lost) == 1 else f"{', '.join(lost[:-1])} or {lost[-1]}"
        note(f"note: {path} does not hold {words}.")


def note(text: str) -> None:
    """A remark that is not part of the result."""
    err.print(f"mmfs: {shown(text)}", soft_wrap=True)


@contextmanager
def one_sentence(quiet: bool, debug: bool) -> Iterator[Reporter]:
    """Run a command: errors become one sentence and an exit code, warnings become notes."""
    report = Reporter(quiet)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("once")
            warnings.showwarning = lambda message, *_, **__: note(f"note: {message}")
            yield report
    except KeyboardInterrupt:
        report.close()
        note("interrupted.")
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        report.close()
        if debug:
            traceback.print_exc()
        raise SystemExit(_said(error, debug)) from None
    finally:
        report.close()


def _said(error: Exception, debug: bool) -> int:
    if isinstance(error, MemoryError):
        note("the data do not fit into memory; include fewer columns, or use a larger machine.")
        return REFUSED
    parts = error.args if isinstance(error, InputError) else (str(error),)
    text = "".join(as_option(part) if isinstance(part, Parameter) else str(part) for part in parts)
    text = " ".join(text.split()) or type(error).__name__
    if isinstance(error, ValueError | ImportError | OSError):
        note(text)
        return REFUSED
    hint = "" if debug else " Run it again with --debug for details."
    note(f"unexpected {type(error).__name__}: {text}. This is a defect of mmfs.{hint}")
    return UNEXPECTED


def as_option(parameter: Parameter) -> str:
    name, value = parameter
    if name in UNKNOWN:
        return str(parameter)
    option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
    if value is False:
        return f"--no-{name}"
    return option if value in (None, True) else f"{option} {value}"


def table_of(headings: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> Table:
    """Words to the left, numbers to the right; names are shown as they are."""
    made = Table(title=title or None, title_justify="left")
    for heading in headings:
        if heading in ("feature", "method"):  # names are not broken, if that can be
            made.add_column(heading, no_wrap=True, overflow="ellipsis")
        else:
            side: Any = "left" if heading in WORDS else "right"
            made.add_column(heading, justify=side, overflow="fold")
    for row in rows:
        made.add_row(*(Text(shown(cell)) for cell in row))
    return made
