"""Dual coordinate descent and Newton steps for

    min over 0 <= alpha <= C of  1/2 alpha'Q alpha + (gamma/2) s^2 - r'alpha,   s = 1'alpha

Only box constraints, hence one coordinate at a time (Hsieh et al. 2008, with its shrinking). The
loop is written once; where (Q alpha)_j comes from depends on what X is:

    Gram     state[:, 0] = Q alpha itself, O(n) per changed coordinate
    Csc      state = sum_j alpha_j inverse_j (x_j - o_j) u_j'  (M x q) and its column sums; O(nnz_j)
             per coordinate: f_j'w = ((x_j - o_j)'state - (mu_j - o_j) sums) inverse_j, where the
             origin o_j is mu_j for a column far from zero, which has all of its entries, else 0
    Dense    the same, with o_j = mu_j for all columns

u_j (row j of U) is the direction column j points to among the q outputs of the target: +1 or -1
when q = 1, always 1 for the linear kernel.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload


class Gram(NamedTuple):
    Q: np.ndarray


class Csc(NamedTuple):
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    origin: np.ndarray
    mean: np.ndarray  # less the origin
    inverse: np.ndarray
    U: np.ndarray


class Dense(NamedTuple):
    columns: np.ndarray  # N x M: one column of the data per row
    mean: np.ndarray
    inverse: np.ndarray
    U: np.ndarray


def _gram_dot(X, j, state, sums):
    return state[j, 0]


def _csc_dot(X, j, state, sums):
    dot = 0.0
    for c in range(len(sums)):
        part = -X.mean[j] * sums[c]
        for k in range(X.indptr[j], X.indptr[j + 1]):
            part += (X.data[k] - X.origin[j]) * state[X.indices[k], c]
        dot += part * X.U[j, c]
    return dot * X.inverse[j]


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _inner(x, mean, w):
    """(x - mean)'w"""
    total = 0.0
    for i in range(len(w)):
        total += (x[i] - mean) * w[i]
    return total


def _dense_dot(X, j, state, sums):
    if state.shape[1] == 1:  # known to have no gaps, and so quicker
        return _inner(X.columns[j], X.mean[j], state.reshape(-1)) * X.U[j, 0] * X.inverse[j]
    dot = 0.0
    for c in range(state.shape[1]):
        part = 0.0
        for i in range(state.shape[0]):
            part += (X.columns[j, i] - X.mean[j]) * state[i, c]
        dot += part * X.U[j, c]
    return dot * X.inverse[j]


def _gram_add(X, j, step, state, sums):
    products, row = state.reshape(-1), X.Q[j]  # known to have no gaps
    for i in range(len(products)):
        products[i] += step * row[i]


def _csc_add(X, j, step, state, sums):
    for c in range(state.shape[1]):
        weight = step * X.inverse[j] * X.U[j, c]
        sums[c] += weight * X.mean[j] * state.shape[0]
        for k in range(X.indptr[j], X.indptr[j + 1]):
            state[X.indices[k], c] += weight * (X.data[k] - X.origin[j])


def _dense_add(X, j, step, state, sums):
    for c in range(state.shape[1]):
        weight = step * X.inverse[j] * X.U[j, c]
        for i in range(state.shape[0]):
            state[i, c] += weight * (X.columns[j, i] - X.mean[j])


_DOT = {Gram: _gram_dot, Csc: _csc_dot, Dense: _dense_dot}
_ADD = {Gram: _gram_add, Csc: _csc_add, Dense: _dense_add}


def _dot(X, j, state, sums):  # (Q alpha)_j
    return _DOT[type(X)](X, j, state, sums)


def _add(X, j, step, state, sums):  # alpha_j has changed by `step`
    _ADD[type(X)](X, j, step, state, sums)


@overload(_dot, inline="always")
def _dot_for(X, j, state, sums):
    return _DOT[X.instance_class]


@overload(_add, inline="always")
def _add_for(X, j, step, state, sums):
    return _ADD[X.instance_class]


@njit(cache=True, nogil=True)
def _shuffle(items, n, seed):
    """Fisher-Yates on items[:n] by a xorshift generator; `seed` (uint64, not 0) is updated."""
    x = seed[0]
    for k in range(n - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        other = np.int64(x % np.uint64(k + 1))
        items[k], items[other] = items[other], items[k]
    seed[0] = x


@njit(cache=True, nogil=True)
def dcd(X, r, diagonal, gamma, C, alpha, state, sums, active, shrink, seed, eps, max_passes):
    """Up to `max_passes` passes in place; returns (passes done, converged).

    `active` is a permutation of the columns to optimise; `shrink` = (number still active, upper,
    lower, s) carries the shrinking and s = 1'alpha from call to call. Converged means that the
    projected gradient over *all* columns, not only the active ones, spans at most eps.
    """
    n = len(active)
    n_active, upper, lower, s = int(shrink[0]), shrink[1], shrink[2], shrink[3]
    converged = False
    passes = 0
    while passes < max_passes and not converged:
        passes += 1
        _shuffle(active, n_active, seed)
        highest, lowest = 0.0, 0.0
        k = 0
        while k < n_active:
            j = active[k]
            a = alpha[j]
            G = _dot(X, j, state, sums) + gamma * s - r[j]
            if (a <= 0.0 and G > upper) or (a >= C and G < lower):
                n_active -= 1
                active[k], active[n_active] = active[n_active], j
                continue
            k += 1
            projected = min(G, 0.0) if a <= 0.0 else (max(G, 0.0) if a >= C else G)
            highest, lowest = max(highest, projected), min(lowest, projected)
            if projected != 0.0:
                alpha[j] = min(max(a - G / diagonal[j], 0.0), C)
                step = alpha[j] - a
                if step != 0.0:
                    s += step
                    _add(X, j, step, state, sums)
        if highest - lowest <= eps:
            converged = n_active == n
            n_active, upper, lower = n, np.inf, -np.inf
        else:
            upper = highest if highest > 0.0 else np.inf
            lower = lowest if lowest < 0.0 else -np.inf
    shrink[0], shrink[1], shrink[2], shrink[3] = n_active, upper, lower, s
    return passes, converged
