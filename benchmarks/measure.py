"""What the benchmarks share: the clock, and goals."""

import resource
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A figure of stored results, and where it should be."""

    words: str
    value: float
    limit: float
    met: bool

    def line(self) -> str:
        verdict = "pass" if self.met else "SHORT"
        return f"{verdict}: {self.words}: {self.value:.4g} (limit {self.limit:.4g})"


def seconds_of(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def goal(words, value, limit, at_least=False):
    """Print whether a figure is where it should be; True if it is."""
    good = value >= limit if at_least else value <= limit
    sign = ">=" if at_least else "<="
    print(f"{'pass' if good else 'SHORT'}: {words} = {value:.3g} ({sign} {limit:g})")
    return good


def peak_gigabytes():
    """Of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
