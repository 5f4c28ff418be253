"""Active-set steps on a Gram matrix Q: Cholesky updates, Newton steps in a box, the path in b.

These share one file: Numba's cache on disk does not see an edit in another one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

# --- Cholesky factor L of Q_ff, updated by a row more or less ------------------------------------
#
# For matrices too small for a threaded BLAS, whose threads would spend more time meeting than
# computing.

# Relative pivot tolerance: a row with a smaller pivot depends on those before it.
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


# --- Newton steps within a box ------------------------------------------------------------------
#
#     min over 0 <= alpha <= C of  1/2 alpha'Q alpha - r'alpha
#
# The first n of `free` are the coordinates that move.


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
def newton(Q, r, C, alpha, L):
    """From an alpha inside the box to the least on its face, or on a smaller one; in place.

    A coordinate that meets its bound stays there; it ends when a whole step fits. L is the factor
    of Q where all of alpha is free, or it has no rows, and is found here.
    """
    n_all, n, free = len(r), len(L), np.arange(len(r))
    if n == 0:
        L = np.empty((n_all, n_all))
    for j in range(n, n_all):
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


# --- homotopy: alpha as a function of b ----------------------------------------------------------
#
#     min over 0 <= alpha <= C of  1/2 alpha'Q alpha - (r - b)'alpha
#
# is piecewise linear in b (non-negative least angle regression, with an upper bound). `left` =
# r - Q alpha is the relevance that each column has left: b for the free columns (0 < alpha < C),
# at most b where alpha = 0, at least b where alpha = C. As b falls by t, the free alpha rise by t v
# with Q_ff v = 1, until a column becomes free or is free no more: a knot. The Cholesky factor L of
# Q_ff follows by a row more or less.

ZERO, FREE, FULL = 0, 1, 2

# A column that does not come nearer to b by more than this per step never meets it; and one with
# less of the largest alpha than this has no weight.
PARALLEL, NOTHING = 1e-12, 2e-9


class Enough(NamedTuple):
    """n support columns where b <= level, or `most` of them; but gamma is at most `highest`.

    And b at least `lowest`.
    """

    n: int
    level: float
    most: float
    lowest: float
    highest: float


@njit(cache=True, nogil=True)
def _to_column(left, place, b, step, t):
    """How far b can fall, at most by t, and the column that becomes free there, or -1."""
    first = -1
    for j in range(len(step)):
        if place[j] == FREE:
            continue
        sign = 1.0 if place[j] == ZERO else -1.0
        nearer, room = sign * (1.0 - step[j]), sign * (b - left[j])
        if nearer > PARALLEL and room < t * nearer:
            t, first = max(room, 0.0) / nearer, j
    return t, first


@njit(cache=True, nogil=True)
def _times(Q, free, n_free, v):
    """Q v, for v over the free columns."""
    out = np.zeros(len(Q))
    for k in range(n_free):
        weight, row = v[k], Q[free[k]]
        for j in range(len(out)):
            out[j] += weight * row[j]
    return out


@njit(cache=True, nogil=True)
def _weights(alpha, free, n_free, v, t):
    """Of the free alpha, how many have a weight after t."""
    largest, n = 0.0, 0
    for weight in alpha:
        largest = max(largest, weight)
    for k in range(n_free):
        n += alpha[free[k]] + t * v[k] > NOTHING * largest
    return n


@njit(cache=True, nogil=True)
def _to_enough(alpha, free, b, n_free, n_other, v, jump, t, enough, precision):
    """How far to go until there is enough, infinity if that is not before the next knot, at t.

    A column has entered when gamma = b / s has fallen by `precision`, or half-way to that knot.
    """
    if t <= PARALLEL * b:  # several columns enter at once
        return np.inf
    s, rise, falls = 0.0, jump, 1.0 if jump == 0.0 else 0.0
    for weight in alpha:
        s += weight
    for weight in v:
        rise += weight
    if rise <= 0.0:  # as only rounding errors make it
        return np.inf
    low_enough = max((b - enough.highest * s) / (falls + enough.highest * rise), 0.0)
    entered = precision * b * s / (falls * s + (1.0 - precision) * b * rise)
    near = max(min(entered, t / 2), low_enough)
    if near >= t:
        return np.inf
    if t == np.inf and jump != 0.0:  # more and more of the same
        return near
    n_support = n_other + _weights(alpha, free, n_free, v, near)
    if n_support < enough.n:
        return np.inf
    if b <= enough.level or n_support >= enough.most:
        return near
    return max(b - enough.level, low_enough) if jump == 0.0 else np.inf


@njit(cache=True, nogil=True)
def homotopy(Q, r, C, b, enough, precision, max_free, max_knots):
    """From b = the largest r, where alpha = 0, until there is enough.

    Returns alpha, b, whether there is enough (or can be no more), and whether it ended at all: not
    so with more than max_free free columns, with more than max_knots knots, or if it turns in
    circles where several columns enter at once.
    """
    n, alpha = len(r), np.zeros(len(r))
    place, free = np.zeros(n, dtype=np.int8), np.empty(n, dtype=np.int64)
    left, L = r.copy(), np.empty((max_free + 1, max_free + 1))
    n_free, n_full, still = len(r) - n, 0, 0  # not a literal: one compiled signature
    entering = n_free - 1
    for _ in range(max_knots):
        if n_free >= max_free:
            break
        # Where alpha goes: with b; or, where the entering column depends on the free ones, along
        # the direction in which nothing changes but s, until one of them meets a bound.
        jump = 0.0
        if entering >= 0:
            if enter(L, n_free, Q, free, entering):
                free[n_free], place[entering] = entering, FREE
                n_free, entering = n_free + 1, -1
            else:
                jump = 1.0 if place[entering] == ZERO else -1.0
        if jump == 0.0:
            v = np.ones(n_free)
            forward(L, n_free, v)
        else:
            v = np.empty(n_free)
            for k in range(n_free):
                v[k] = -jump * L[n_free, k]
        backward(L, n_free, v)

        # The next knot.
        t, blocked = to_bound(alpha, C, free, n_free, v)
        if jump == 0.0:
            step = _times(Q, free, n_free, v)
            t, next_one = _to_column(left, place, b, step, t)
        else:
            step, next_one = np.zeros(0), -1
            room = C - alpha[entering] if jump > 0.0 else alpha[entering]
            if room < t:
                t, blocked = room, n_free

        # The end may come before it.
        n_other = n_full + (jump != 0.0)
        until = _to_enough(alpha, free, b, n_free, n_other, v, jump, t, enough, precision)
        stop = min(until, b - enough.lowest) if jump == 0.0 else until
        ends, reached, t = stop <= t, until <= stop, min(stop, t)
        still = still + 1 if t == 0.0 else 0
        if still > n:
            break
        move(alpha, C, free, n_free, v, t)
        if jump == 0.0:
            b -= t
            for j in range(n):
                left[j] -= t * step[j]
        else:
            alpha[entering] += t * jump
        if ends:
            # Free of the rounding errors of many knots.
            v = rest(Q, r, alpha, free, n_free)
            for k in range(n_free):
                v[k] -= b
            forward(L, n_free, v)
            backward(L, n_free, v)
            move(alpha, C, free, n_free, v, 1.0)
            return alpha, b, reached, True
        if next_one >= 0:
            entering = next_one
            n_full -= place[entering] == FULL
            continue
        if blocked < n_free:
            j, full = free[blocked], v[blocked] > 0.0
            leave(L, n_free, free, blocked)
            n_free -= 1
        else:
            j, full, entering = entering, jump > 0.0, -1
        alpha[j], place[j] = (C, FULL) if full else (0.0, ZERO)
        n_full += full
    return alpha, b, False, False
