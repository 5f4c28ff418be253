"""Scans of sparse data: sums over the stored entries of every column.

X has M rows and N columns. Entries are taken less the origin of their column, which is not zero
only where a column has all of its entries: so what is not stored is zero in every sum.
"""

import numpy as np
from numba import njit

# What `csc_sums` and `csr_sums` return where values are missing that they have no place to note.
HOLES = 3


@njit(cache=True, nogil=True)
def csc_sums(indptr, indices, data, weights, v, row, start, stop, origin, sums, holes):
    """Of columns start..stop an origin o_j, and sums_j = (x_j - o_j)'W (x_j - o_j), w and v.

    W holds the `weights` w of the rows, of which there are none if all weigh 1. The origin of a
    column with all of its entries is that in `row`, unless that is -1. Missing values, NaN, are
    left out, and told in `holes`: how many, and their w and v. Returns 0 when row numbers are not
    strictly increasing and in range, and HOLES where some are missing and `holes` is empty.
    """
    n_rows, equal, one, end = len(v), len(weights) == 0, np.uint64(1), np.uint64(indptr[start])
    for j in range(start, stop):
        begin, end, p = end, np.uint64(indptr[j + 1]), j - start
        full = row >= 0 and end - begin == np.uint64(n_rows)
        k, o = begin, float(data[begin + np.uint64(row)]) if full else 0.0
        square, total, product, previous = 0.0, 0.0, 0.0, np.int64(-1)
        while k < end:
            i = np.int64(indices[k])
            if i <= previous or i >= n_rows:
                return 0
            previous, at = i, np.uint64(i)  # a place without a sign needs no check
            x = float(data[k]) - o
            weighted = x if equal else weights[at] * x
            square += weighted * x
            total += weighted
            product += x * v[at]
            k += one
        if square != square:  # once more, beside what is missing
            if len(holes) == 0:
                return HOLES
            k, o, square, total, product = begin, 0.0, 0.0, 0.0, 0.0
            n, lost, of_lost = 0.0, 0.0, 0.0
            while k < end:
                at, x = np.uint64(indices[k]), float(data[k])
                w = 1.0 if equal else weights[at]
                if x != x:
                    n += 1.0
                    lost += w
                    of_lost += v[at]
                else:
                    if full and w > 0.0:
                        o, full = x, False
                    x -= o
                    square += w * x * x
                    total += w * x
                    product += x * v[at]
                k += one
            holes[p, 0], holes[p, 1], holes[p, 2] = n, lost, of_lost
        origin[p], sums[p, 0], sums[p, 1], sums[p, 2] = o, square, total, product
    return 1


# Vectors that columns are multiplied with at once: as many sums as stay in registers.
LANES = 6


@njit(cache=True, nogil=True)
def csc_sums_several(indptr, indices, data, V, q, row, start, stop, origin, sums, holes):
    """As `csc_sums` for q vectors, up to LANES: V holds weights, these, and zeros.

    Its rows fill a line of the cache, and all sums are made in one reading.
    """
    n_rows, one, end = len(V), np.uint64(1), np.uint64(indptr[start])
    for j in range(start, stop):
        begin, end, p = end, np.uint64(indptr[j + 1]), j - start
        full = row >= 0 and end - begin == np.uint64(n_rows)
        o = float(data[begin + np.uint64(row)]) if full else 0.0
        k, previous = begin, np.int64(-1)
        square, total, a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        while k < end:
            i = np.int64(indices[k])
            if i <= previous or i >= n_rows:
                return 0
            previous, v, x = i, V[np.uint64(i)], float(data[k]) - o
            square += v[0] * x * x
            total += v[0] * x
            a += x * v[1]
            b += x * v[2]
            c += x * v[3]
            d += x * v[4]
            e += x * v[5]
            f += x * v[6]
            k += one
        known = (a, b, c, d, e, f)
        sums[p, 0], sums[p, 1] = square, total
        for t in range(q):
            sums[p, 2 + t] = known[t]
        if square != square:  # once more, beside what is missing
            if len(holes) == 0:
                return HOLES
            o, sums[p] = 0.0, 0.0
            for place in range(indptr[j], indptr[j + 1]):
                v, x = V[indices[place]], float(data[place])
                if x != x:
                    holes[p, 0] += 1.0
                    for t in range(1 + q):
                        holes[p, 1 + t] += v[t]
                    continue
                if full and v[0] > 0.0:
                    o, full = x, False
                x -= o
                sums[p, 0] += v[0] * x * x
                for t in range(1 + q):
                    sums[p, 1 + t] += v[t] * x
        origin[p] = o
    return 1


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


@njit(cache=True, nogil=True, fastmath=False)
def csc_dots(indptr, indices, data, v, origin, fill, start, J, out):
    """out_j = (x_j - o_j)'v for the columns J, or as many as fit into `out` from `start` on.

    `fill` stands for missing values, if there are any.

    Two sums, so that one need not wait for the other; left to itself, the compiler would use
    gather instructions, which are several times slower. Places without a sign need no check.
    """
    one, two, some = np.uint64(1), np.uint64(2), len(J) > 0
    for c in range(len(out)):
        j = J[c] if some else start + c
        k, end = np.uint64(indptr[j]), np.uint64(indptr[j + 1])
        o, a, b = origin[c], 0.0, 0.0
        while k + two <= end:
            a += (float(data[k]) - o) * v[np.uint64(indices[k])]
            b += (float(data[k + one]) - o) * v[np.uint64(indices[k + one])]
            k += two
        if k < end:
            a += (float(data[k]) - o) * v[np.uint64(indices[k])]
        out[c] = a + b
        if out[c] != out[c] and len(fill):
            out[c] = 0.0
            for place in range(indptr[j], indptr[j + 1]):
                x = float(data[place])
                out[c] += ((fill[c] if x != x else x) - o) * v[indices[place]]


@njit(cache=True, nogil=True)
def csc_several(indptr, indices, data, V, q, origin, fill, start, J, first, out, holes):
    """out_j[first:] = V'(x_j - o_j) for q vectors, with zeros up to LANES; columns as `csc_dots`.

    Missing values are left out and their V told in `holes`, from `first` on too, if there is room.
    """
    one, some = np.uint64(1), len(J) > 0
    for lane in range(0, q, LANES):
        last = min(lane + LANES, q)
        for p in range(len(out)):
            j = J[p] if some else start + p
            k, end, o = np.uint64(indptr[j]), np.uint64(indptr[j + 1]), origin[p]
            a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            while k < end:
                x, v = float(data[k]) - o, V[np.uint64(indices[k])]
                a += x * v[lane]
                b += x * v[lane + 1]
                c += x * v[lane + 2]
                d += x * v[lane + 3]
                e += x * v[lane + 4]
                f += x * v[lane + 5]
                k += one
            if a != a:  # once more, beside what is missing
                a, b, c, d, e, f = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for place in range(indptr[j], indptr[j + 1]):
                    x, v = float(data[place]), V[indices[place]]
                    if x != x:
                        for t in range(lane, last if len(holes) else lane):
                            holes[p, first + t] += v[t]
                        if len(fill) == 0:
                            continue
                        x = fill[p]
                    x -= o
                    a += x * v[lane]
                    b += x * v[lane + 1]
                    c += x * v[lane + 2]
                    d += x * v[lane + 3]
                    e += x * v[lane + 4]
                    f += x * v[lane + 5]
            sums = (a, b, c, d, e, f)
            for t in range(lane, last):
                out[p, first + t] = sums[t - lane]


# --- the same scans of compressed rows ----------------------------------------------------------
#
# A block of columns at a time: what is summed up for them stays in the cache, while every row goes
# on from where it was.

# Sums of a block, at least; and entries that a row should have in it, to be worth a visit.
COLUMN_BLOCK, VISIT = 3 << 19, 16


@njit(cache=True, nogil=True)
def _block(indptr, n_columns, n_sums):
    """Columns of a block, with n_sums each."""
    n_rows, n_entries = len(indptr) - 1, max(indptr[-1], 1)
    return max(COLUMN_BLOCK // n_sums, min(n_columns, VISIT * n_rows * n_columns // n_entries), 1)


@njit(cache=True, nogil=True)
def _row_starts(indptr, indices, column):
    """In every row the place of its first entry in `column` or beyond."""
    at = indptr[:-1].copy()
    if column > 0:
        for i in range(len(at)):
            at[i] += np.searchsorted(indices[at[i] : indptr[i + 1]], column)
    return at


@njit(cache=True, nogil=True)
def csr_full(indptr, indices, data, chosen):
    """Columns that have an entry in every row, and that in the row chosen."""
    n_rows, found = len(indptr) - 1, indices[indptr[0] : indptr[1]].astype(np.int64)
    n = len(found)
    for i in range(1, n_rows):
        k, end, left = indptr[i], indptr[i + 1], 0
        for c in range(n):  # both in order: go along
            while k < end and indices[k] < found[c]:
                k += 1
            if k < end and indices[k] == found[c]:
                found[left] = found[c]
                left += 1
        n = left
        if n == 0:
            break
    values, row = np.zeros(n), indices[indptr[chosen] : indptr[chosen + 1]]
    for c in range(n):
        k = np.searchsorted(row, found[c])
        if k < len(row):  # as it is where rows are in order
            values[c] = data[indptr[chosen] + k]
    return found[:n], values


# What is left of the square of a column, at least, when its mean is taken out of sums about zero:
# three digits are lost then. And what `csr_sums` returns where less is left.
SHARE_LEFT, FAR = 1e-3, 2


@njit(cache=True, nogil=True)
def csr_sums(indptr, indices, data, weights, v, V, origin, start, stop, n_columns, sums, holes):
    """As `csc_sums`, with origins given, or none, and then about zero.

    Returns 0 when rows are not in order and in range, FAR when zero was far from a column, and
    HOLES as that does.
    """
    n_rows, one, equal = len(v), np.uint64(1), len(weights) == 0
    plain, returned = len(origin) == 0 and V.shape[1] == 0, 1
    total = float(n_rows) if equal else weights.sum()
    at, block = _row_starts(indptr, indices, start), _block(indptr, n_columns, sums.shape[1])
    for first in range(start, stop, block):
        last = min(first + block, stop)
        sums[first - start : last - start] = 0.0
        for i in range(n_rows):
            k, end, previous = np.uint64(at[i]), np.uint64(indptr[i + 1]), np.int64(first - 1)
            w, y = 1.0 if equal else weights[i], v[i]
            while k < end:
                j = np.int64(indices[k])
                if j >= last:
                    break
                if j <= previous:
                    return 0
                previous, x, p = j, float(data[k]), np.uint64(j - start)
                if x != x:
                    if len(holes) == 0:
                        return HOLES
                    holes[p, 0] += 1.0
                    holes[p, 1] += w
                    holes[p, 2] += y
                    for c in range(V.shape[1]):
                        holes[p, 3 + c] += V[i, c]
                    k += one
                    continue
                if not plain:
                    x -= origin[p] if len(origin) else 0.0
                    for c in range(V.shape[1]):
                        sums[p, 3 + c] += V[i, c] * x
                weighted = w * x
                sums[p, 0] += weighted * x
                sums[p, 1] += weighted
                sums[p, 2] += y * x
                k += one
            at[i] = k
        if len(origin) == 0:
            for place in range(first - start, last - start):
                there = total - holes[place, 1] if len(holes) else total
                if sums[place, 1] ** 2 > (1 - SHARE_LEFT) * there * sums[place, 0]:
                    returned = FAR
    ends = indptr[1:] if stop == n_columns else _row_starts(indptr, indices, stop)
    return returned if np.all(at == ends) else 0  # every entry was read, by this range or another


@njit(cache=True, nogil=True)
def csr_products(indptr, indices, data, V, origin, fill, start, stop, n_columns, out):
    """out_j = V'(x_j - o_j) for columns start..stop and one vector or several, those of V."""
    (n_rows, q), one, alone, holes = V.shape, np.uint64(1), out.reshape(-1), len(fill) > 0
    plain = q == 1 and not np.any(origin != 0.0)
    if plain and holes and stop - start == n_columns:
        alone[:] = 0.0
        k = np.uint64(indptr[0])
        for i in range(n_rows):
            end, v = np.uint64(indptr[i + 1]), V[i, 0]
            while k < end:
                x, j = float(data[k]), np.uint64(indices[k])
                if x != x:
                    x = fill[j]
                alone[j] += x * v
                k += one
        return
    if plain and stop - start == n_columns:
        alone[:] = 0.0
        k = np.uint64(indptr[0])
        for i in range(n_rows):
            end, v = np.uint64(indptr[i + 1]), V[i, 0]
            while k < end:
                alone[np.uint64(indices[k])] += float(data[k]) * v
                k += one
        return
    at, block = _row_starts(indptr, indices, start), _block(indptr, n_columns, q)
    for first in range(start, stop, block):
        last = min(first + block, stop)
        out[first - start : last - start] = 0.0
        for i in range(n_rows):
            k, end, v = np.uint64(at[i]), np.uint64(indptr[i + 1]), V[i, 0]
            while k < end and indices[k] < last:
                j, x = np.uint64(indices[k] - start), float(data[k])
                if holes and x != x:
                    x = fill[j]
                if plain:
                    alone[j] += x * v
                else:
                    for c in range(q):
                        out[j, c] += (x - origin[j]) * V[i, c]
                k += one
            at[i] = k


@njit(cache=True, nogil=True)
def csr_take(indptr, indices, data, J, wanted, start, stop):
    """Of rows start..stop the columns J, in order, for which `wanted` is 1: compressed rows."""
    ends, n, one = np.zeros(stop - start + 1, dtype=np.int64), np.uint64(0), np.uint64(1)
    found = np.empty(indptr[stop] - indptr[start], dtype=np.uint64)  # mostly never touched
    k, last = np.uint64(indptr[start]), np.uint64(indptr[stop])
    while k < last:
        found[n] = k  # and again, unless it is wanted: no branch, and no visit to each row
        n += np.uint64(wanted[np.uint64(indices[k])])
        k += one
    columns, values, i = np.empty(n, dtype=np.int32), np.empty(n), start
    for c in range(n):
        while np.uint64(indptr[i + 1]) <= found[c]:
            i += 1
            ends[i - start] = c
        columns[c], values[c] = np.searchsorted(J, indices[found[c]]), data[found[c]]
    ends[i - start + 1 :] = n
    return values, columns, ends
