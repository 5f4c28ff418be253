"""A fair clock: everything is warmed up, competitors take turns, medians count."""

import signal
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
    contenders: dict[str, Contender], turns: int = 5, patience: float = 60.0, limit: int = 180
) -> dict[str, Timed | Unable]:
    """Of each contender the median of so many turns, after one that does not count.

    One whose first turn takes longer than `patience` is not asked again; that turn counts then. It
    is stopped after `limit` seconds.
    """
    found: dict[str, Timed | Unable] = {}
    samples: dict[str, list[float]] = {}
    for name, run in contenders.items():
        if isinstance(run, Unable):
            found[name] = run
            continue
        try:
            seconds, result = _stopped_after(limit, run)
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


def _stopped_after(limit: int, run: Callable[[], Any]) -> tuple[float, Any]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"stopped after {limit} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        return seconds_of(run)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def row(case: str, name: str, timed: Timed | Unable, **more: Any) -> dict:
    """A line of the results."""
    known = {"seconds": "", "turns": "", "problem": ""}
    if isinstance(timed, Unable):
        known["problem"] = timed.reason
    else:
        known |= {"seconds": f"{timed.seconds:.5g}", "turns": str(timed.turns)}
    return {"case": case, "contender": name} | known | more
