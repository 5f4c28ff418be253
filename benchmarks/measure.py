"""What the benchmarks share: the clock, and goals."""

import resource
import time


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
