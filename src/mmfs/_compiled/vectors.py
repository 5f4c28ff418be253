"""One pass over numbers that every column has."""

from numba import njit


@njit(cache=True, nogil=True)
def gather(values, start, below, found, n_found):
    """Add positions from `start` on with values below a limit to `found`, as long as there is room.

    Returns where it ended, and how many have been found.
    """
    for j in range(start, len(values)):
        if values[j] < below:
            if n_found == len(found):
                return j, n_found
            found[n_found] = j
            n_found += 1
    return len(values), n_found
