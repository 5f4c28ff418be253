"""The smallest of many numbers, in order."""

import numpy as np

from mmfs._compiled.vectors import gather

Array = np.ndarray


class Limit:
    """Below it are the n smallest values of many blocks: what one of them has spares others work.

    Only work: blocks that do not know what others found tell more than is needed.
    """

    value = np.inf

    def lower(self, value: float) -> None:
        self.value = min(self.value, value)


def in_order(values: Array, n: int, below: float = np.inf) -> Array:
    """Positions of the n smallest values below a limit, in order, ties by position.

    One pass: whenever many too many have been found, the n smallest of them set the limit.
    """
    values, start, n_found = np.ascontiguousarray(values, dtype=np.float64), 0, 0
    found = np.empty(min(4 * n + 1000, len(values)), dtype=np.int64)
    while start < len(values):
        start, n_found = gather(values, start, float(below), found, n_found)
        if n_found > n > 0:
            here = values[found[:n_found]]
            below = np.partition(here, n - 1)[n - 1]
            kept = np.flatnonzero(here <= below)
            if len(kept) > n:  # ties
                kept = np.sort(kept[np.argsort(here[kept], kind="stable")[:n]])
            found[:n], n_found = found[kept], n
    positions = found[: min(n, n_found)]
    return positions[np.argsort(values[positions], kind="stable")]
