"""One pass over numbers that every column has."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def standardise(
    about, sums, weight, centered, d, limits, center, inverse, origin, explained, products,
    relevance,
):  # fmt: skip
    """From sums of columns about some origin to what is known of each: `columns.standardise`.

    `sums` holds for each column its square, its total, d products with covariates, and products
    with the target. `limits`: the mean beyond which a column is far from zero, beside what varies;
    what is rounding error beside the mean and beside covariates; the least square; and the digits
    of a relevance, as a power of ten.
    """
    far, of_mean, of_covariates, smallest, digits = limits
    q, share = products.shape[1], 1.0 / weight
    for j in range(len(sums)):
        square, total = sums[j, 0], sums[j, 1]
        left, mean, noise = square, 0.0, 0.0
        if centered:
            mean = about[j] + total * share
            left -= total * total * share
            noise = of_mean * (left + weight * mean * mean)
        is_far = mean * mean > far * far * left
        if d > 0:
            noise = max(noise, of_covariates * left)
            for c in range(2, 2 + d):
                left -= sums[j, c] * sums[j, c]
        scale = 1.0 / np.sqrt(left) if left > noise else 0.0
        if not np.isfinite(left) or (square < smallest and total != 0.0):
            scale = np.nan
        r = 0.0
        for c in range(q):
            p = sums[j, 2 + d + c] * scale
            products[j, c] = p
            r += p * p
        r = abs(products[j, 0]) if q == 1 else np.sqrt(r)
        r = min(r, 1.0) if r == r else r
        center[j], inverse[j] = mean, scale
        if d > 0:
            explained[j] = max(square - left - (total * total * share if centered else 0.0), 0.0)
        origin[j] = mean if is_far and scale > 0.0 else 0.0
        relevance[j] = -np.inf if scale == 0.0 else np.rint(r * digits) * (1.0 / digits)


@njit(cache=True, nogil=True)
def fill_holes(sums, holes, total, missing):
    """Sums of columns as if the mean of what is there, of all weights `total`, filled their holes.

    In place; `missing` is told how many there are.
    """
    for j in range(len(sums)):
        missing[j] = np.int64(holes[j, 0])
        there = total - holes[j, 1]
        if missing[j] > 0 and there > 0.0:
            mean = sums[j, 1] / there
            sums[j, 0] += mean * mean * holes[j, 1]
            for c in range(1, sums.shape[1]):
                sums[j, c] += mean * holes[j, c]


@njit(cache=True, nogil=True)
def turn(values, products, nowhere):
    """values_j, a row each, times the sign of product j, or 0 if that is nearly 0; in place."""
    for j in range(len(values)):
        p = products[j, 0]
        sign = (1.0 if p > nowhere else 0.0) - (1.0 if p < -nowhere else 0.0)
        for t in range(values.shape[1]):
            values[j, t] *= sign


@njit(cache=True, nogil=True)
def gradients(values, relevance, tau, b, out):
    """out = b + values - tau relevance, for values in one column."""
    for j in range(len(out)):
        out[j] = b + values[j, 0] - tau * relevance[j]


@njit(cache=True, nogil=True)
def gather(values, start, below, found, n_found):
    """Add positions from `start` on with values below a limit to `found`, as long as there is room.

    Returns where it ended, and how many have been found.
    """
    for j in range(start, len(values)):
        if values[j] < below:
            if n_found == len(found):
                return j, n_found
            found[n_found] = j
            n_found += 1
    return len(values), n_found


@njit(cache=True, nogil=True)
def places_of_filled(indptr, left, begins):
    """Compressed columns with entries, and where they begin, as long as there is room for one more.

    Returns how many there are.
    """
    n, room = 0, len(left) - 1
    for j in range(len(indptr) - 1):
        left[n], begins[n] = j, indptr[j]  # and again, unless it has entries: no branch
        n += indptr[j + 1] != indptr[j]
        if n > room:
            break
    return n


@njit(cache=True, nogil=True)
def in_doubt(
    known, before, products, relevance, inverse, center, origin, explained, entries, near, b, tau,
    rounding,
):  # fmt: skip
    """Columns whose gradient may be negative, by what is known of weights that are `near`.

    And those that are `known`, which are in order. sum_i |f_ij| is at most the root of
    entries |W^1/2 x_j|^2 / s_j^2. `rounding` is the relative error of what is known.
    """
    c, d, norm, largest, weight = near
    found, n, q = np.empty(len(before) + 1, dtype=np.int64), 0, products.shape[1]
    passed, next_one = 0, known[0] if len(known) else -1
    largest *= largest
    for j in range(len(before)):
        along = abs(products[j, 0])
        if q > 1:
            along *= along
            for k in range(1, q):
                along += products[j, k] * products[j, k]
            along = np.sqrt(along)
        shared, towards = c * before[j], d * along
        least = b - tau * relevance[j] + shared + towards
        least -= rounding * (b + abs(shared) + abs(towards))
        m = (center[j] - origin[j]) * inverse[j]
        square = 1.0 + weight * m * m
        if len(explained):
            square += explained[j] * inverse[j] * inverse[j]
        far = (least >= norm) | ((least > 0.0) & (least * least >= largest * entries[j] * square))
        if j == next_one:
            passed, far = passed + 1, False
            next_one = known[passed] if passed < len(known) else -1
        found[n] = j  # and again, unless it is in doubt: no branch
        n += 1 - far
    return found[:n]
