"""Kernel matrices between the rows of small blocks, one for every column and block.

Of a symmetric B x B matrix the T = B (B + 1) / 2 entries a <= b are kept, those off the diagonal
times sqrt(2): products of what is kept are products of the matrices.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def informative(values, rows, least, out):
    """out[j, k]: whether column j, a row of `values`, varies by at least `least` in block k."""
    for j in range(values.shape[0]):
        for k in range(rows.shape[0]):
            low = high = values[j, rows[k, 0]]
            for a in range(1, rows.shape[1]):
                low, high = min(low, values[j, rows[k, a]]), max(high, values[j, rows[k, a]])
            out[j, k] = high - low >= least


@njit(cache=True, nogil=True)
def exponents(values, rows, out):
    """out[j, k, ab] = -(x_a - x_b)^2 / 2 for the rows a <= b of block k."""
    x = np.empty(rows.shape[1])
    for j in range(values.shape[0]):
        for k in range(rows.shape[0]):
            for a in range(rows.shape[1]):
                x[a] = values[j, rows[k, a]]
            entry = 0
            for a in range(rows.shape[1]):
                for b in range(a, rows.shape[1]):
                    out[j, k, entry] = -0.5 * (x[a] - x[b]) ** 2
                    entry += 1


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def centre(K, keep, size):
    """Centre the matrices K[j, k] and scale them to unit norm, in place; zero where not kept."""
    means = np.empty(size)
    root = np.sqrt(2.0)
    for j in range(K.shape[0]):
        for k in range(K.shape[1]):
            block = K[j, k]
            if not keep[j, k]:
                block[:] = 0.0
                continue
            means[:] = 0.0
            row = 0  # where the entries (a, a), (a, a + 1), ... begin
            for a in range(size):
                total = 0.0
                for b in range(size - a):
                    means[a + b] += block[row + b]
                    total += block[row + b]
                means[a] += total - block[row]
                row += size - a
            means /= size
            means -= means.sum() / size / 2
            squares = 0.0
            row = 0
            for a in range(size):
                diagonal = block[row] - 2.0 * means[a]
                for b in range(size - a):
                    block[row + b] = root * (block[row + b] - means[a] - means[a + b])
                    squares += block[row + b] * block[row + b]
                squares -= diagonal * diagonal
                block[row] = diagonal
                row += size - a
            block /= np.sqrt(squares)
