"""One pass over numbers that every column has."""

import numpy as np
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


# A key between -1 and 1 is sorted by its first 33 bits, packed with a column number of 31.
DIGITS, BITS, NUMBER, COLUMN = 3, 11, np.uint64(31), np.uint64((1 << 31) - 1)


@njit(cache=True, nogil=True)
def mark_repeats(keys, r, tolerance, mirrors, out):
    """out[j] = True for column j if another column, which stands for it, has the same keys.

    Keys are two numbers, the same if they differ by at most `tolerance` (less than 1e-10); with
    `mirrors` also if both are negated. Columns where out[j] is True beforehand are not looked at,
    and come out as False. Of the same the most relevant stands for all, and of those the first.
    """
    packed = _by_first_key(keys, mirrors, out)
    for k in range(len(out)):
        out[k] = False
    standing = np.empty(len(packed), dtype=np.int64)
    for place in range(len(packed)):
        cell, j = packed[place] >> NUMBER, np.int64(packed[place] & COLUMN)
        standing[place] = j
        back = place - 1
        while back >= 0 and packed[back] >> NUMBER >= cell - np.uint64(cell > 0):
            i = np.int64(packed[back] & COLUMN)
            side = -1.0 if mirrors and keys[i, 0] * keys[j, 0] < 0.0 else 1.0
            a, b = keys[i, 0] - side * keys[j, 0], keys[i, 1] - side * keys[j, 1]
            if abs(a) <= tolerance and abs(b) <= tolerance:
                other = standing[back]
                equal = abs(r[j] - r[other]) <= 1e-9 * r[other]
                if (j < other) if equal else (r[j] > r[other]):
                    out[other] = True
                else:
                    out[j] = True
                    standing[place] = other
                break
            back -= 1


@njit(cache=True, nogil=True)
def _by_first_key(keys, mirrors, without):
    """Columns, without some, in the order of their first key, to 33 bits: a radix sort."""
    n = 0
    for j in range(len(without)):
        n += not without[j]
    packed, spare = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
    counts = np.zeros((DIGITS, 1 << BITS), dtype=np.int64)
    mask = np.uint64((1 << BITS) - 1)
    k = 0
    for j in range(len(without)):
        if without[j]:
            continue
        key = abs(keys[j, 0]) if mirrors else keys[j, 0]
        a = min(max((key + 1.0) / 2, 0.0), 1.0)
        packed[k] = np.uint64(a * ((1 << DIGITS * BITS) - 1)) << NUMBER | np.uint64(j)
        for digit in range(DIGITS):
            counts[digit, (packed[k] >> (NUMBER + np.uint64(BITS * digit))) & mask] += 1
        k += 1
    for digit in range(DIGITS):
        start = 0
        for bucket in range(1 << BITS):
            size = counts[digit, bucket]
            counts[digit, bucket] = start
            start += size
        shift = NUMBER + np.uint64(BITS * digit)
        for k in range(n):
            bucket = (packed[k] >> shift) & mask
            spare[counts[digit, bucket]] = packed[k]
            counts[digit, bucket] += 1
        packed, spare = spare, packed
    return packed
