"""Scans of dense data: sums over the rows of every column, in one reading, nothing converted.

Where rows are stored together, eight of them at a time are added to the sums of their columns, so
that these are loaded and stored for every eighth row only.
"""

import numpy as np
from numba import njit

# What the compiler may do to sums: reorder them, but not forget about NaN and infinity.
ANY_ORDER = {"reassoc", "contract", "nsz"}

# Rows that are combined before they are multiplied with: the cache holds them.
ROWS_COMBINED = 32


@njit(cache=True, nogil=True)
def _eight(v, i, stop):
    """v[i : i + 8], with zeros from `stop` on."""
    n = stop - i
    return (
        v[i], v[i + 1] if n > 1 else 0.0, v[i + 2] if n > 2 else 0.0, v[i + 3] if n > 3 else 0.0,
        v[i + 4] if n > 4 else 0.0, v[i + 5] if n > 5 else 0.0, v[i + 6] if n > 6 else 0.0,
        v[i + 7] if n > 7 else 0.0,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _rows(X, i, stop, first, last):
    """Rows i..i + 8 of X, the last one again from `stop` on."""
    n = stop - 1
    return (
        X[i, first:last], X[min(i + 1, n), first:last], X[min(i + 2, n), first:last],
        X[min(i + 3, n), first:last], X[min(i + 4, n), first:last], X[min(i + 5, n), first:last],
        X[min(i + 6, n), first:last], X[min(i + 7, n), first:last],
    )  # fmt: skip


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def sums_by_rows(X, V, origin, start, stop, first, last, out):
    """out = sum_i V_i0 (x_ij - o_j)^2 and V'(x_j - o_j), over rows start..stop, a row each.

    For columns first..last; the first column of V, which has two or more, holds the weights.
    """
    out[:] = 0.0
    squares, totals, products, o = out[0], out[1], out[2], origin[first:last]
    for i in range(start, stop, 8):
        s, t, u, w, x, y, z, a = _rows(X, i, stop, first, last)
        W, v = _eight(V[:, 0], i, stop), _eight(V[:, 1], i, stop)
        for j in range(last - first):
            d = (s[j] - o[j], t[j] - o[j], u[j] - o[j], w[j] - o[j],
                 x[j] - o[j], y[j] - o[j], z[j] - o[j], a[j] - o[j])  # fmt: skip
            e = (W[0] * d[0], W[1] * d[1], W[2] * d[2], W[3] * d[3],
                 W[4] * d[4], W[5] * d[5], W[6] * d[6], W[7] * d[7])  # fmt: skip
            totals[j] += e[0] + e[1] + e[2] + e[3] + e[4] + e[5] + e[6] + e[7]
            squares[j] += _inner(e, d)
            products[j] += _inner(v, d)
    zero = start - start  # not a literal: one signature
    _add_products(X, V, zero + 2, origin, start, stop, first, last, out)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def products_by_rows(X, V, origin, start, stop, first, last, out):
    """out = V'(x_j - o_j) over rows start..stop, a row for each vector, for columns first..last."""
    out[:] = 0.0
    _add_products(X, V, start - start, origin, start, stop, first, last, out)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def combined_products_by_rows(X, J, weights, center, origin, start, stop, out):
    """The same with V = (X_J - m_J) weights less its mean, one vector, made of each row on the way.

    m_j is the `center` of column j, so that (x_j - o_j)'1 is known.
    """
    out[:] = 0.0
    V, total, zero = np.empty((ROWS_COMBINED, 1)), 0.0, start - start
    for begin in range(start, stop, ROWS_COMBINED):
        rows = X[begin : min(begin + ROWS_COMBINED, stop)]
        combine(rows, J, center, weights, V)
        total += V[: len(rows), 0].sum()
        _add_products(rows, V, zero, origin, zero, len(rows), zero, X.shape[1], out)
    for j in range(X.shape[1]):
        out[0, j] -= total * (center[j] - origin[j])


@njit(cache=True, nogil=True, fastmath=False)
def combine(X, J, center, weights, out):
    """out = (X_J - m_J) weights, for one vector; in two sums, which need not wait for each other.

    Told that sums may be reordered, as it is by a caller unless this says no, the compiler would
    use gather instructions, which are several times slower.
    """
    for i in range(len(X)):
        x, p, q = X[i], 0.0, 0.0
        for c in range(0, len(J) - 1, 2):
            j, k = np.uint64(J[c]), np.uint64(J[c + 1])
            p += weights[c] * (x[j] - center[j])
            q += weights[c + 1] * (x[k] - center[k])
        if len(J) % 2:
            p += weights[-1] * (x[J[-1]] - center[J[-1]])
        out[i, 0] = p + q


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _inner(v, d):
    return (v[0] * d[0] + v[1] * d[1] + v[2] * d[2] + v[3] * d[3]
            + v[4] * d[4] + v[5] * d[5] + v[6] * d[6] + v[7] * d[7])  # fmt: skip


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _add_products(X, V, begin, origin, start, stop, first, last, out):
    """Add those with the vectors from `begin` on to the last rows of `out`, one for each."""
    o, before = origin[first:last], len(out) - V.shape[1]
    for i in range(start, stop, 8):
        s, t, u, w, x, y, z, a = _rows(X, i, stop, first, last)
        for e in range(begin, V.shape[1]):
            v, sums = _eight(V[:, e], i, stop), out[before + e]
            for j in range(last - first):
                d = (s[j] - o[j], t[j] - o[j], u[j] - o[j], w[j] - o[j],
                     x[j] - o[j], y[j] - o[j], z[j] - o[j], a[j] - o[j])  # fmt: skip
                sums[j] += _inner(v, d)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def sums_by_columns(X, V, origin, start, stop, first, last, out):
    """As `sums_by_rows`, where X holds a column of the data in each row, and V a vector."""
    w, v = V[0, start:stop], V[1, start:stop]
    for j in range(first, last):
        x, o, square, total, product = X[j, start:stop], origin[j], 0.0, 0.0, 0.0
        for i in range(stop - start):
            a = x[i] - o
            wa = w[i] * a
            square += wa * a
            total += wa
            product += v[i] * a
        out[0, j - first], out[1, j - first], out[2, j - first] = square, total, product
    if len(V) > 2:
        products_by_columns(X, V[2:], origin, start, stop, first, last, out[3:])


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def products_by_columns(X, V, origin, start, stop, first, last, out):
    """As `products_by_rows`, where X holds a column of the data in each row, and V a vector."""
    for j in range(first, last):
        x, o = X[j, start:stop], origin[j]
        for e in range(len(V)):
            v, product = V[e, start:stop], 0.0
            for i in range(stop - start):
                product += v[i] * (x[i] - o)
            out[e, j - first] = product


@njit(cache=True, nogil=True)
def pick(X, J, center, scale, start, stop, out):
    """Rows start..stop of the columns J, less their centers, scaled."""
    for i in range(start, stop):
        x, row = X[i], out[i - start]
        for c in range(len(J)):
            row[c] = (x[J[c]] - center[c]) * scale[c]


# --- the same scans where values are missing ----------------------------------------------------


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def holed_sums_by_rows(X, V, origin, start, stop, first, last, out):
    """As `sums_by_rows` of what is there; then how many values are missing, and their V."""
    out[:] = 0.0
    n, o = 1 + V.shape[1], origin[first:last]
    for i in range(start, stop):
        x = X[i, first:last]
        for e in range(V.shape[1]):
            v, sums, lost = V[i, e], out[1 + e], out[n + 1 + e]
            for j in range(last - first):
                there = x[j] == x[j]
                sums[j] += v * (x[j] - o[j] if there else 0.0)
                lost[j] += 0.0 if there else v
        squares, missing, w = out[0], out[n], V[i, 0]
        for j in range(last - first):
            d = x[j] - o[j] if x[j] == x[j] else 0.0
            squares[j] += w * d * d
            missing[j] += 0.0 if x[j] == x[j] else 1.0


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def holed_products_by_rows(X, V, origin, fill, start, stop, first, last, out):
    """As `products_by_rows`, with `fill` in place of what is missing."""
    out[:] = 0.0
    o, f = origin[first:last], fill[first:last]
    for i in range(start, stop, 8):
        s, t, u, w, x, y, z, a = _rows(X, i, stop, first, last)
        for e in range(V.shape[1]):
            v, sums = _eight(V[:, e], i, stop), out[e]
            for j in range(last - first):
                p, m = o[j], f[j]
                d = ((s[j] if s[j] == s[j] else m) - p, (t[j] if t[j] == t[j] else m) - p,
                     (u[j] if u[j] == u[j] else m) - p, (w[j] if w[j] == w[j] else m) - p,
                     (x[j] if x[j] == x[j] else m) - p, (y[j] if y[j] == y[j] else m) - p,
                     (z[j] if z[j] == z[j] else m) - p,
                     (a[j] if a[j] == a[j] else m) - p)  # fmt: skip
                sums[j] += _inner(v, d)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def holed_sums_by_columns(X, V, origin, start, stop, first, last, out):
    """As `holed_sums_by_rows`, where X holds a column of the data in each row, and V a vector."""
    n = 1 + len(V)
    for j in range(first, last):
        x, o, square, missing = X[j, start:stop], origin[j], 0.0, 0.0
        for i in range(stop - start):
            d = x[i] - o if x[i] == x[i] else 0.0
            square += V[0, start + i] * d * d
            missing += 0.0 if x[i] == x[i] else 1.0
        out[0, j - first], out[n, j - first] = square, missing
        for e in range(len(V)):
            v, product, lost = V[e, start:stop], 0.0, 0.0
            for i in range(stop - start):
                product += v[i] * (x[i] - o if x[i] == x[i] else 0.0)
                lost += 0.0 if x[i] == x[i] else v[i]
            out[1 + e, j - first], out[n + 1 + e, j - first] = product, lost


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def holed_products_by_columns(X, V, origin, fill, start, stop, first, last, out):
    """As `holed_products_by_rows`, where X holds a column in each row, and V a vector."""
    for j in range(first, last):
        x, o, f = X[j, start:stop], origin[j], fill[j]
        for e in range(len(V)):
            v, product = V[e, start:stop], 0.0
            for i in range(stop - start):
                product += v[i] * ((x[i] if x[i] == x[i] else f) - o)
            out[e, j - first] = product
