"""Newton steps within a box, for

    min over 0 <= alpha <= C of  1/2 alpha'Q alpha - r'alpha

The first n of `free` are the coordinates that move.
"""

import numpy as np
from numba import njit

from mmfs._compiled.cholesky import backward, enter, forward, inner, leave


@njit(cache=True, nogil=True)
def rest(Q, r, alpha, free, n):
    """r - Q alpha: the negated gradient."""
    out = np.empty(n)
    for k in range(n):
        out[k] = r[free[k]] - inner(Q[free[k]], alpha, len(alpha))
    return out


@njit(cache=True, nogil=True)
def to_bound(alpha, C, free, n, step):
    """How far alpha can go along a step, and the place of what then meets its bound, or -1."""
    length, first = np.inf, -1
    for k in range(n):
        room = alpha[free[k]] if step[k] < 0.0 else C - alpha[free[k]]
        if step[k] != 0.0 and room < length * abs(step[k]):
            length, first = max(room, 0.0) / abs(step[k]), k
    return length, first


@njit(cache=True, nogil=True)
def move(alpha, C, free, n, step, length):
    for k in range(n):
        alpha[free[k]] = min(max(alpha[free[k]] + length * step[k], 0.0), C)


@njit(cache=True, nogil=True)
def newton(Q, r, C, alpha):
    """From an alpha inside the box to the least on its face, or on a smaller one; in place.

    A coordinate that meets its bound stays there; it ends when a whole step fits.
    """
    n_all = len(r)
    L, free = np.empty((n_all, n_all)), np.empty(n_all, dtype=np.int64)
    n = len(r) - n_all  # not a literal: one compiled signature
    for j in range(n_all):
        # If coordinate j depends on those before it, go along the direction in which nothing
        # changes but r'alpha, to the next bound.
        while 0.0 < alpha[j] < C:
            free[n] = j
            if enter(L, n, Q, free, j):
                n += 1
                break
            step = np.empty(n + 1)
            for k in range(n):
                step[k] = -L[n, k]
            backward(L, n, step)
            step[n] = 1.0
            if inner(step, rest(Q, r, alpha, free, n + 1), n + 1) < 0.0:
                for k in range(n + 1):
                    step[k] = -step[k]
            length, blocked = to_bound(alpha, C, free, n + 1, step)
            if blocked < 0:
                return
            move(alpha, C, free, n + 1, step, length)
            alpha[free[blocked]] = 0.0 if step[blocked] < 0.0 else C
            if blocked < n:
                leave(L, n, free, blocked)
                n -= 1
    while n > 0:
        step = rest(Q, r, alpha, free, n)
        forward(L, n, step)
        backward(L, n, step)
        length, blocked = to_bound(alpha, C, free, n, step)
        move(alpha, C, free, n, step, min(length, 1.0))
        if length >= 1.0:
            return
        alpha[free[blocked]] = 0.0 if step[blocked] < 0.0 else C
        leave(L, n, free, blocked)
        n -= 1
