"""A fair clock: everything is warmed up, competitors take turns, medians count."""

import multiprocessing
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.measure import seconds_of


class Timed(NamedTuple):
    seconds: float
    turns: int
    result: Any  # of the last turn


class Unable(NamedTuple):
    """Why a contender does not take part."""

    reason: str


Contender = Callable[[], Any] | Unable


def in_turns(
    contenders: dict[str, Contender],
    turns: int = 5,
    patience: float = 30.0,
    limit: float | None = None,
) -> dict[str, Timed | Unable]:
    """Of each contender the median of so many turns, after one that does not count.

    One whose first turn takes longer than `patience` is not asked again; that turn counts then. One
    that would take longer than `limit` seconds is not asked at all.
    """
    found: dict[str, Timed | Unable] = {}
    samples: dict[str, list[float]] = {}
    for name, run in contenders.items():
        if isinstance(run, Unable):
            found[name] = run
            continue
        if limit and not _ends_within(limit, run):
            found[name] = Unable(f"did not end within {limit:g} s")
            continue
        try:
            seconds, result = seconds_of(run)
        except Exception as error:  # whatever a peer raises, the others go on
            found[name] = Unable((str(error).splitlines() or [type(error).__name__])[0][:200])
            continue
        found[name] = Timed(seconds, 1, result)
        if seconds <= patience:
            samples[name] = []
    for _ in range(turns):
        for name, taken in samples.items():
            run = contenders[name]
            assert not isinstance(run, Unable)
            seconds, result = seconds_of(run)
            taken.append(seconds)
            found[name] = Timed(statistics.median(taken), len(taken), result)
    return found


def _ends_within(limit: float, run: Callable[[], Any]) -> bool:
    """Whether a copy of this process would be done with it in so many seconds.

    A copy has none of the threads that the process has started: it should not have run before.
    """
    child = multiprocessing.get_context("fork").Process(target=run)
    child.start()
    child.join(limit)
    ended = child.exitcode is not None and child.exitcode >= 0
    child.kill()
    child.join()
    return ended


def row(case: str, name: str, timed: Timed | Unable, **more: Any) -> dict:
    """A line of the results."""
    known = {"seconds": "", "turns": "", "problem": ""}
    if isinstance(timed, Unable):
        known["problem"] = timed.reason
    else:
        known |= {"seconds": f"{timed.seconds:.5g}", "turns": str(timed.turns)}
    return {"case": case, "contender": name} | known | more
