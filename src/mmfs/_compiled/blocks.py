"""Kernel matrices between the rows of small blocks, for pairs of a column and a block.

Of a symmetric B x B matrix the T = B (B + 1) / 2 entries a <= b are kept, those off the diagonal
times sqrt(2): products of what is kept are products of the matrices.
"""

import numpy as np
from numba import njit

REORDER = {"reassoc", "contract", "nsz"}


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
def exponents(values, rows, columns, blocks, out):
    """out[p, ab] = -(x_a - x_b)^2 / 2 for the rows a <= b, the column and the block of pair p."""
    x = np.empty(rows.shape[1])
    for p in range(len(columns)):
        for a in range(rows.shape[1]):
            x[a] = values[columns[p], rows[blocks[p], a]]
        entry = 0
        for a in range(rows.shape[1]):
            for b in range(a, rows.shape[1]):
                out[p, entry] = -0.5 * (x[a] - x[b]) ** 2
                entry += 1


@njit(cache=True, nogil=True, fastmath=REORDER)
def centre(K, size):
    """Centre the matrices K[p] and scale them to unit norm, in place."""
    means = np.empty(size)
    root = np.sqrt(2.0)
    for p in range(len(K)):
        block = K[p]
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


@njit(cache=True, nogil=True, fastmath=REORDER)
def add_products(K, columns, blocks, W, out):
    """out[j, t] += K[p]'W[k, t] for every pair p of a column j and a block k."""
    for p in range(len(K)):
        for t in range(W.shape[1]):
            total = 0.0
            for entry in range(K.shape[1]):
                total += K[p, entry] * W[blocks[p], t, entry]
            out[columns[p], t] += total
