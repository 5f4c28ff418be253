"""A fair clock: everything is warmed up, competitors take turns, medians count.

What a page fault costs differs tenfold between machines. So memory that was freed stays mapped
(`MAPPED`), and who still has page faults is told: `faults`, those that need no disk.
"""

import multiprocessing
import resource
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.measure import seconds_of

# For the environment of a process, where memory is the C library of GNU's.
MAPPED = {
    "MALLOC_MMAP_MAX_": "0",  # nothing is mapped on its own, and so unmapped when it is freed
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),  # and nothing is given back
    "MALLOC_TOP_PAD_": str(1 << 30),  # but asked for in large pieces
    "MALLOC_ARENA_MAX": "1",  # by all threads together
}


class Timed(NamedTuple):
    seconds: float
    turns: int
    result: Any  # of the last turn
    faults: int = 0


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
    samples: dict[str, list[tuple[float, int]]] = {}
    for name, run in contenders.items():
        if isinstance(run, Unable):
            found[name] = run
            continue
        if limit and not _ends_within(limit, run):
            found[name] = Unable(f"did not end within {limit:g} s")
            continue
        try:
            seconds, faults, result = _run(run)
        except Exception as error:  # whatever a peer raises, the others go on
            found[name] = Unable((str(error).splitlines() or [type(error).__name__])[0][:200])
            continue
        found[name] = Timed(seconds, 1, result, faults)
        if seconds <= patience:
            samples[name] = []
    for _ in range(turns):
        for name, taken in samples.items():
            run = contenders[name]
            assert not isinstance(run, Unable)
            seconds, faults, result = _run(run)
            taken.append((seconds, faults))
            medians = [statistics.median(values) for values in zip(*taken, strict=True)]
            found[name] = Timed(medians[0], len(taken), result, int(medians[1]))
    return found


def _run(run: Callable[[], Any]) -> tuple[float, int, Any]:
    """Its seconds, page faults and result."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    seconds, result = seconds_of(run)
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, result


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
    known = {"seconds": "", "turns": "", "faults": "", "problem": ""}
    if isinstance(timed, Unable):
        known["problem"] = timed.reason
    else:
        known |= {"seconds": f"{timed.seconds:.5g}", "turns": str(timed.turns)}
        known["faults"] = str(timed.faults)
    return {"case": case, "contender": name} | known | more
