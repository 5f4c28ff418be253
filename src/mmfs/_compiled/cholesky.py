"""A Cholesky factor L that follows its matrix by a row more or less.

For matrices too small for a threaded BLAS, whose threads would spend more time meeting than
computing.
"""

import numpy as np
from numba import njit

# A row with less of its own than this beside those before it depends on them.
DEPENDENT = 1e-10


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def inner(a, b, n):
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def forward(L, n, x):
    """x <- L^-1 x"""
    for i in range(n):
        x[i] = (x[i] - inner(L[i], x, i)) / L[i, i]


@njit(cache=True, nogil=True)
def backward(L, n, x):
    """x <- L'^-1 x"""
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@njit(cache=True, nogil=True)
def enter(L, n, Q, rows, j):
    """Row n of L: that of Q_jj beside the first n of `rows`; False if it depends on them."""
    row = L[n]
    for k in range(n):
        row[k] = Q[j, rows[k]]
    forward(L, n, row)
    pivot = Q[j, j] - inner(row, row, n)
    row[n] = np.sqrt(max(pivot, 0.0))
    return pivot > DEPENDENT * Q[j, j]


@njit(cache=True, nogil=True)
def leave(L, n, rows, p):
    """L and `rows` without their p-th, by Givens rotations."""
    c, s = np.empty(n), np.empty(n)
    for i in range(p, n - 1):
        rows[i], row = rows[i + 1], L[i]
        for k in range(i + 2):
            row[k] = L[i + 1, k]
        for k in range(p, i):
            a, b = row[k], row[k + 1]
            row[k], row[k + 1] = c[k] * a + s[k] * b, c[k] * b - s[k] * a
        size = np.hypot(row[i], row[i + 1])
        c[i], s[i] = row[i] / size, row[i + 1] / size
        row[i] = size
