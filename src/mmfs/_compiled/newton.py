"""Newton steps within a box, for

min over 0 <= alpha <= C of  1/2 alpha'Q alpha - r'alpha
"""

import numpy as np
from numba import njit

from mmfs._compiled.cholesky import backward, enter, forward, inner, leave


@njit(cache=True, nogil=True)
def _rest(Q, r, alpha, free, n):
    """r - Q alpha of the free coordinates, the first n of `free`: the negated gradient."""
    out = np.empty(n)
    for k in range(n):
        out[k] = r[free[k]] - inner(Q[free[k]], alpha, len(alpha))
    return out


@njit(cache=True, nogil=True)
def _move(alpha, C, free, n, step, length):
    """alpha += length step, or as far as the box allows; the place of what stops it, or -1."""
    blocked = -1
    for k in range(n):
        room = alpha[free[k]] if step[k] < 0.0 else C - alpha[free[k]]
        if step[k] != 0.0 and length * abs(step[k]) > room:
            length, blocked = room / abs(step[k]), k
    if length == np.inf:
        return blocked
    for k in range(n):
        alpha[free[k]] = min(max(alpha[free[k]] + length * step[k], 0.0), C)
    if blocked >= 0:
        alpha[free[blocked]] = 0.0 if step[blocked] < 0.0 else C
    return blocked


@njit(cache=True, nogil=True)
def newton(Q, r, C, alpha):
    """From an alpha inside the box to the least on its face, or on a smaller one; in place.

    A coordinate that meets its bound stays there; it ends when a whole step fits.
    """
    n_all = len(r)
    L, free, n = np.empty((n_all, n_all)), np.empty(n_all, dtype=np.int64), 0
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
            if inner(step, _rest(Q, r, alpha, free, n + 1), n + 1) < 0.0:
                for k in range(n + 1):
                    step[k] = -step[k]
            blocked = _move(alpha, C, free, n + 1, step, np.inf)
            if blocked < 0:
                return
            if blocked < n:
                leave(L, n, free, blocked)
                n -= 1
    while n > 0:
        step = _rest(Q, r, alpha, free, n)
        forward(L, n, step)
        backward(L, n, step)
        blocked = _move(alpha, C, free, n, step, 1.0)
        if blocked < 0:
            return
        leave(L, n, free, blocked)
        n -= 1
