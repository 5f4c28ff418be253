"""Passes over sparse data.

X has M rows and N columns; x_j is a stored column with mean mu_j and scale 1 / inverse_j, and
f_j = (x_j - mu_j) * inverse_j its standardised form. F is the matrix of all f_j.
"""

import numpy as np
from numba import njit

# Sums of squares below this have lost precision.
SMALLEST = 1e-280


@njit(cache=True, nogil=True)
def _standardise(n_rows, stored, shift, total, squares, center):
    """Mean and inverse scale of a column from the sums of (x - shift) over its stored entries.

    `shift` is one of the column's own values, so the subtraction loses at most a factor M. The
    inverse is 0 for a constant column and NaN for one that holds NaN, infinity, or numbers whose
    squares leave the range of double precision.
    """
    absent = n_rows - stored
    total -= absent * shift
    squares += absent * shift * shift
    if center:
        mean = shift + total / n_rows
        spread = squares - total * total / n_rows
        noise = 1e-24 * (spread + n_rows * mean * mean)
    else:
        mean, spread, noise = 0.0, squares, 0.0
    if not np.isfinite(spread) or (squares < SMALLEST and total != 0.0):
        return mean, np.nan
    return mean, 1.0 / np.sqrt(spread) if spread > noise else 0.0


@njit(cache=True, nogil=True)
def csc_moments(indptr, indices, data, V, center, start, stop, mean, inverse, products):
    """mean, inverse scale and F'V of columns start..stop; V has zero column sums, and 4 or more.

    Returns False when a column's row numbers are not strictly increasing and in range.
    """
    n_rows, q = V.shape
    sums = np.empty(q)
    for j in range(start, stop):
        first, last = indptr[j], indptr[j + 1]
        shift = float(data[first]) if center and first < last else 0.0
        total, squares, previous = 0.0, 0.0, -1
        a, b, c, d = 0.0, 0.0, 0.0, 0.0  # most data have no more products; these stay in registers
        sums[:] = 0.0
        for k in range(first, last):
            i = indices[k]
            if i <= previous or i >= n_rows:
                return False
            previous = i
            x = float(data[k])
            total += x - shift
            squares += (x - shift) * (x - shift)
            a += x * V[i, 0]
            b += x * V[i, 1]
            c += x * V[i, 2]
            d += x * V[i, 3]
            for e in range(4, q):
                sums[e] += x * V[i, e]
        sums[0], sums[1], sums[2], sums[3] = a, b, c, d
        mean[j], inverse[j] = _standardise(n_rows, last - first, shift, total, squares, center)
        for e in range(products.shape[1]):
            products[j, e] = sums[e] * inverse[j]
    return True


@njit(cache=True, nogil=True)
def csc_wrong_column(indptr, indices, n_rows, start, stop):
    """The first column with an entry among start..stop that is not in a row, or not behind the
    entry before it; -1 if there is none."""
    j = np.searchsorted(indptr, start, side="right") - 1
    previous = indices[start - 1] if start > indptr[j] else -1
    for k in range(start, stop):
        while k == indptr[j + 1]:
            j, previous = j + 1, -1
        i = indices[k]
        if i <= previous or i >= n_rows:
            return j
        previous = i
    return -1


@njit(cache=True, nogil=True)
def _origin(mean, inverse, far):
    """What to subtract from the entries of a column before they are multiplied.

    Its mean where that is far from zero, so that digits would be lost if it were subtracted from
    the product: such a column has all of its entries. Else nothing.
    """
    return mean if abs(mean) * inverse > far else 0.0


@njit(cache=True, nogil=True)
def csc_dots(indptr, indices, data, v, mean, inverse, far, start, stop, out):
    """out_j = f_j'v for columns start..stop and one vector v.

    Two sums, so that one need not wait for the other; left to itself, the compiler would use
    gather instructions, which are several times slower. Places without a sign need no check.
    """
    total, one, two = v.sum(), np.uint64(1), np.uint64(2)
    for j in range(start, stop):
        k, end = np.uint64(indptr[j]), np.uint64(indptr[j + 1])
        origin = _origin(mean[j], inverse[j], far)
        a, b = 0.0, 0.0
        while k + two <= end:
            a += (float(data[k]) - origin) * v[np.uint64(indices[k])]
            b += (float(data[k + one]) - origin) * v[np.uint64(indices[k + one])]
            k += two
        if k < end:
            a += (float(data[k]) - origin) * v[np.uint64(indices[k])]
        out[j] = (a + b - (mean[j] - origin) * total) * inverse[j]


@njit(cache=True, nogil=True)
def csc_products(indptr, indices, data, V, mean, inverse, far, start, stop, out):
    """out_j = V'f_j for columns start..stop and one vector or several, the columns of V."""
    q = V.shape[1]
    if q == 1:
        return csc_dots(indptr, indices, data, V[:, 0], mean, inverse, far, start, stop, out[:, 0])
    totals = V.sum(axis=0)
    for j in range(start, stop):
        origin = _origin(mean[j], inverse[j], far)
        out[j] = -(mean[j] - origin) * totals
        for k in range(indptr[j], indptr[j + 1]):
            x, i = float(data[k]) - origin, indices[k]
            for c in range(q):
                out[j, c] += x * V[i, c]
        out[j] *= inverse[j]


# --- the same passes over sparse rows -----------------------------------------------------------
#
# A block of columns at a time: what is summed up for them stays in the cache, while every row goes
# on from where it was.

# Sums of a block, at least; and entries that a row should have in it, to be worth a visit.
BLOCK, VISIT = 1 << 19, 16


@njit(cache=True, nogil=True)
def _block(indptr, n_columns, n_sums):
    """Columns of a block, with n_sums each."""
    n_rows, n_entries = len(indptr) - 1, max(indptr[-1], 1)
    return max(BLOCK // n_sums, min(n_columns, VISIT * n_rows * n_columns // n_entries), 1)


@njit(cache=True, nogil=True)
def _up_to(indptr, indices, at, i, column):
    """In row i the place of the first entry at at[i] or beyond that is in `column` or beyond."""
    return at[i] + np.searchsorted(indices[at[i] : indptr[i + 1]], column)


@njit(cache=True, nogil=True)
def _row_starts(indptr, indices, column):
    """In every row the place of its first entry in `column` or beyond."""
    at = indptr[:-1].copy()
    if column > 0:
        for i in range(len(at)):
            at[i] = _up_to(indptr, indices, at, i, column)
    return at


@njit(cache=True, nogil=True)
def csr_moments(indptr, indices, data, V, center, start, stop, mean, inverse, products):
    """mean, inverse scale and F'V of columns start..stop; V has zero column sums, and 4 or more.

    Returns False when a row's column numbers are not strictly increasing and in range.
    """
    n_rows, q = V.shape
    at, block = _row_starts(indptr, indices, start), _block(indptr, len(mean), 4 + q)
    for first in range(start, stop, block):
        last = min(first + block, stop)
        sums = np.zeros((last - first, 4 + q))  # shift, stored, sum, squares, x_j'V ...
        for i in range(n_rows):
            end, previous = _up_to(indptr, indices, at, i, last), first - 1
            a, b, c, d = V[i, 0], V[i, 1], V[i, 2], V[i, 3]
            for k in range(at[i], end):
                j = indices[k]
                if j <= previous or j >= last:
                    return False
                previous = j
                x, j = float(data[k]), j - first
                if center and sums[j, 1] == 0.0:
                    sums[j, 0] = x
                shifted = x - sums[j, 0]
                sums[j, 1] += 1.0
                sums[j, 2] += shifted
                sums[j, 3] += shifted * shifted
                sums[j, 4] += x * a
                sums[j, 5] += x * b
                sums[j, 6] += x * c
                sums[j, 7] += x * d
                for e in range(4, q):
                    sums[j, 4 + e] += x * V[i, e]
            at[i] = end
        for j in range(first, last):
            shift, stored, total, squares = sums[j - first, :4]
            mean[j], inverse[j] = _standardise(n_rows, stored, shift, total, squares, center)
            for c in range(products.shape[1]):
                products[j, c] = sums[j - first, 4 + c] * inverse[j]
    ends = indptr[1:] if stop == len(mean) else _row_starts(indptr, indices, stop)
    return np.all(at == ends)  # so every entry was read, by this range or another


@njit(cache=True, nogil=True)
def csr_products(indptr, indices, data, V, mean, inverse, far, start, stop, out):
    """out_j = V'f_j for columns start..stop and one vector or several, the columns of V."""
    n_rows, q = V.shape
    at, totals = _row_starts(indptr, indices, start), V.sum(axis=0)
    block = _block(indptr, len(mean), q)
    origin = np.empty(min(block, stop - start))
    for first in range(start, stop, block):
        last, offset = min(first + block, stop), False
        out[first:last] = 0.0
        for j in range(first, last):
            origin[j - first] = _origin(mean[j], inverse[j], far)
            offset = offset or origin[j - first] != 0.0
        for i in range(n_rows):
            end = _up_to(indptr, indices, at, i, last)
            if q == 1 and not offset:
                for k in range(at[i], end):
                    out[indices[k], 0] += float(data[k]) * V[i, 0]
            else:
                for k in range(at[i], end):
                    x, j = float(data[k]), indices[k]
                    if offset:
                        x -= origin[j - first]
                    for c in range(q):
                        out[j, c] += x * V[i, c]
            at[i] = end
        for j in range(first, last):
            shift = mean[j] - origin[j - first]
            for c in range(q):
                out[j, c] = (out[j, c] - shift * totals[c]) * inverse[j]


@njit(cache=True, nogil=True)
def csr_take(indptr, indices, data, J, wanted, start, stop):
    """Of rows start..stop the columns J, which rise: compressed rows; bit j of `wanted` is set."""
    ends, n = np.zeros(stop - start + 1, dtype=np.int64), 0
    found = np.empty(indptr[stop] - indptr[start], dtype=np.int64)  # mostly never touched
    for i in range(start, stop):
        for k in range(indptr[i], indptr[i + 1]):
            found[n] = k  # and again, unless it is wanted: no branch
            n += (wanted[indices[k] >> 3] >> (indices[k] & 7)) & 1
        ends[i - start + 1] = n
    columns, values = np.empty(n, dtype=np.int32), np.empty(n)
    for k in range(n):
        columns[k], values[k] = np.searchsorted(J, indices[found[k]]), data[found[k]]
    return values, columns, ends


@njit(cache=True, nogil=True)
def sparse_gram(rows, row_indices, row_data, columns, column_indices, column_data, a, b, out):
    """out[j, i] = the correlation of column i of A, by compressed rows, and j of B, by columns.

    a and b are their means and inverse scales.
    """
    n_rows, (a_mean, a_inverse), (b_mean, b_inverse) = len(rows) - 1, a, b
    for j in range(out.shape[0]):
        out[j] = 0.0
        for k in range(columns[j], columns[j + 1]):
            row, x = column_indices[k], column_data[k]
            for n in range(rows[row], rows[row + 1]):
                out[j, row_indices[n]] += x * row_data[n]
        for i in range(out.shape[1]):
            out[j, i] = (out[j, i] - n_rows * b_mean[j] * a_mean[i]) * b_inverse[j] * a_inverse[i]
