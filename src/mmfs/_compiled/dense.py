"""Scans of dense data: sums over the rows of every column, in one reading, nothing converted.

Where rows are stored together, four of them at a time are added to the sums of their columns, so
that these are loaded and stored for every fourth row only.
"""

from numba import njit

# What the compiler may do to sums: reorder them, but not forget about NaN and infinity.
ANY_ORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, inline="always")
def _four(V, c, i, stop):
    """V[i : i + 4, c], with zeros from `stop` on."""
    b = V[i + 1, c] if i + 1 < stop else 0.0
    return V[i, c], b, V[i + 2, c] if i + 2 < stop else 0.0, V[i + 3, c] if i + 3 < stop else 0.0


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def sums_by_rows(X, V, origin, start, stop, first, last, out):
    """out = sum_i V_i0 (x_ij - o_j)^2 and V'(x_j - o_j), over rows start..stop, a row each.

    For columns first..last; the first column of V, which has two or more, holds the weights.
    """
    out[:] = 0.0
    squares, totals, products, o = out[0], out[1], out[2], origin[first:last]
    for i in range(start, stop, 4):
        w0, w1, w2, w3 = _four(V, 0, i, stop)
        v0, v1, v2, v3 = _four(V, 1, i, stop)
        x0, x1 = X[i, first:last], X[min(i + 1, stop - 1), first:last]
        x2, x3 = X[min(i + 2, stop - 1), first:last], X[min(i + 3, stop - 1), first:last]
        for j in range(last - first):
            a, b, c, d = x0[j] - o[j], x1[j] - o[j], x2[j] - o[j], x3[j] - o[j]
            wa, wb, wc, wd = w0 * a, w1 * b, w2 * c, w3 * d
            squares[j] += wa * a + wb * b + wc * c + wd * d
            totals[j] += wa + wb + wc + wd
            products[j] += v0 * a + v1 * b + v2 * c + v3 * d
        for e in range(2, V.shape[1]):
            v0, v1, v2, v3 = _four(V, e, i, stop)
            more = out[1 + e]
            for j in range(last - first):
                a, b, c, d = x0[j] - o[j], x1[j] - o[j], x2[j] - o[j], x3[j] - o[j]
                more[j] += v0 * a + v1 * b + v2 * c + v3 * d


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def products_by_rows(X, V, origin, start, stop, first, last, out):
    """out = V'(x_j - o_j) over rows start..stop, a row for each vector, for columns first..last."""
    out[:] = 0.0
    o = origin[first:last]
    for i in range(start, stop, 4):
        x0, x1 = X[i, first:last], X[min(i + 1, stop - 1), first:last]
        x2, x3 = X[min(i + 2, stop - 1), first:last], X[min(i + 3, stop - 1), first:last]
        for e in range(V.shape[1]):
            v0, v1, v2, v3 = _four(V, e, i, stop)
            sums = out[e]
            for j in range(last - first):
                a, b, c, d = x0[j] - o[j], x1[j] - o[j], x2[j] - o[j], x3[j] - o[j]
                sums[j] += v0 * a + v1 * b + v2 * c + v3 * d


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
