"""What the benchmarks share: the clock, the peak of memory, and goals."""

import resource
import time
from dataclasses import dataclass
from pathlib import Path


def seconds_of(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def peak_gigabytes() -> float:
    """Of this process so far, or since `forget_peak`."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1]) / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def forget_peak() -> None:
    """Peaks count from here, where the system knows how."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists():
        switch.write_text("5")


@dataclass(frozen=True)
class Goal:
    """A figure, and where it should be."""

    words: str
    value: float
    limit: float
    met: bool

    def line(self) -> str:
        verdict = "pass" if self.met else "SHORT"
        return f"{verdict}: {self.words}: {self.value:.4g} (limit {self.limit:.4g})"


def at_most(words: str, value: float, limit: float) -> Goal:
    return Goal(words, value, limit, value <= limit)


def at_least(words: str, value: float, limit: float) -> Goal:
    return Goal(words, value, limit, value >= limit)


def goal(words: str, value: float, limit: float, at_least: bool = False) -> bool:
    """Print whether a figure is where it should be; True if it is."""
    reached = Goal(words, value, limit, value >= limit if at_least else value <= limit)
    print(reached.line())
    return reached.met
