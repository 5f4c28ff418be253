"""Similarities of sparse columns.

By rows: sums that follow each other are then different ones, and need not wait. Places without a
sign need no check.
"""

import numpy as np
from numba import njit

# Similarities that are worked on at a time: a cache of one core holds them.
GRAM_BLOCK = 1 << 17


@njit(cache=True, nogil=True)
def sparse_gram(rows, numbers, values, other_rows, other_numbers, other_values, p, other_p, out):
    """out[i, j] = a_i'b_j - p_a[i] p_b[j], for A and B by compressed rows; a few i at a time."""
    one, at, (n, n_other) = np.uint64(1), rows[:-1].astype(np.uint64), out.shape
    width = max(GRAM_BLOCK // n_other, 1)
    for first in range(0, n, width):
        last = min(first + width, n)
        out[first:last] = 0.0
        for row in range(len(at)):
            a, end = at[row], np.uint64(rows[row + 1])
            begin, stop = np.uint64(other_rows[row]), np.uint64(other_rows[row + 1])
            while a < end and numbers[a] < last:
                x, sums, b = values[a], out[numbers[a]], begin
                while b < stop:
                    sums[np.uint64(other_numbers[b])] += x * other_values[b]
                    b += one
                a += one
            at[row] = a
    for i in range(n):
        for j in range(n_other):
            out[i, j] -= p[i] * other_p[j]


@njit(cache=True, nogil=True)
def sparse_self_gram(indptr, indices, data, n_rows, p, start, out):
    """out[i, j] = a_i'a_j - p[i] p[j], for A by compressed columns; i counts from `start` on.

    A block of columns at a time is entered into rows, and meets there what has been entered so far:
    half of the work.
    """
    n, one, begins = len(p), np.uint64(1), np.zeros(n_rows + 1, dtype=np.uint64)
    for k in range(len(indices)):
        begins[np.uint64(indices[k]) + one] += one
    begins = np.cumsum(begins)
    ends, at = begins.copy(), begins.copy()  # of what was entered, and in blocks before
    numbers, values = np.empty(len(indices), dtype=np.uint32), np.empty(len(indices))
    width = max(GRAM_BLOCK // n, n_rows * n // (4 * len(indices) + 1), 1)  # rows visited, entries
    first, last, zero = start - start, start, np.uint64(start)  # the first block meets nothing
    while first < n:
        for j in range(first, last):
            for k in range(indptr[j], indptr[j + 1]):
                i = np.uint64(indices[k])
                numbers[ends[i]], values[ends[i]] = j, data[k]
                ends[i] += one
        if first >= start:
            out[first - start : last - start] = 0.0
            for row in range(n_rows):
                a, end = at[row], ends[row]
                while a < end:
                    x, sums, b = values[a], out[np.uint64(numbers[a]) - zero], begins[row]
                    while b <= a:
                        sums[numbers[b]] += x * values[b]
                        b += one
                    a += one
        at[:] = ends
        first, last = last, min(last + width, n)
    for j in range(start, n):
        sums = out[j - start]
        for before in range(j + 1):
            sums[before] -= p[before] * p[j]
            if before >= start:
                out[before - start, j] = sums[before]
