"""Columns as discrete variables: counting their states, and cutting them into states.

The state of a value is the number of its column's cuts that lie below it. Sparse columns are read
as they are stored: what is absent is zero, and counted by subtraction.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _state(x, cuts, j):
    state = 0
    for k in range(cuts.shape[1]):
        state += x > cuts[j, k]
    return state


@njit(cache=True, nogil=True)
def all_absent(cuts, sizes, counts):
    """counts[j, state, c, label] of columns with these cuts as if every entry were zero."""
    for j in range(len(counts)):
        absent = _state(0.0, cuts, j)
        for state in range(counts.shape[1]):
            for c in range(counts.shape[2]):
                for label in range(counts.shape[3]):
                    counts[j, state, c, label] = sizes[c, label] if state == absent else 0


@njit(cache=True, nogil=True)
def csc_states(indptr, indices, data, cuts, labels, sizes, start, stop, counts):
    """counts[j, state, c, label] of columns start..stop, with their cuts; sizes: of all rows."""
    all_absent(cuts, sizes, counts)
    for j in range(stop - start):
        absent = _state(0.0, cuts, j)
        for k in range(indptr[start + j], indptr[start + j + 1]):
            _move(counts, j, absent, _state(data[k], cuts, j), labels, indices[k])


@njit(cache=True, nogil=True)
def csr_states(indptr, indices, data, cuts, labels, start, stop, first, counts):
    """The same from rows start..stop, for counts that were `all_absent`."""
    for i in range(start, stop):
        if labels[i].max() < 0:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if first <= j < first + len(counts):
                absent, state = _state(0.0, cuts, j), _state(data[k], cuts, j)
                _move(counts, j - first, absent, state, labels, i)


@njit(cache=True, nogil=True)
def _move(counts, j, absent, state, labels, i):
    """Row i out of the state that zeros are in, for the labels it has."""
    if state != absent:
        for c in range(labels.shape[1]):
            label = labels[i, c]
            if label >= 0:
                counts[j, absent, c, label] -= 1
                counts[j, state, c, label] += 1


@njit(cache=True, nogil=True)
def information(counts, totals, sizes, common, xlogx, info):
    """info[j, c] = I(column j; labelling c) in nats.

    counts[j, state, c, label] leave out the label common[c]; totals[j, state] and sizes[c, label]
    count all rows. `xlogx[n]` = n log n makes up every entropy, so no logarithm is taken here.
    """
    n_columns, n_states, n_labellings, n_labels = counts.shape
    n_rows = len(xlogx) - 1
    for c in range(n_labellings):
        labelled = 0.0
        for label in range(n_labels):
            labelled += xlogx[sizes[c, label]]
        for j in range(n_columns):
            joint, alone = 0.0, 0.0
            for state in range(n_states):
                rest = totals[j, state]
                alone += xlogx[rest]
                for label in range(n_labels):
                    if label != common[c]:
                        n = counts[j, state, c, label]
                        rest -= n
                        joint += xlogx[n]
                joint += xlogx[rest]
            info[j, c] = max(0.0, ((joint - alone) - (labelled - xlogx[n_rows])) / n_rows)


@njit(cache=True, nogil=True)
def quantile_cuts(indptr, data, n_rows, cuts):
    """cuts[j]: the values of column j at equally spaced ranks."""
    n_states = cuts.shape[1] + 1
    for j in range(len(indptr) - 1):
        values = np.sort(data[indptr[j] : indptr[j + 1]])
        absent = n_rows - len(values)
        negative = np.searchsorted(values, 0.0)
        for k in range(1, n_states):
            rank = (k * n_rows + n_states - 1) // n_states - 1
            cut = _ranked(values, absent, negative, rank)
            if cut == _ranked(values, absent, negative, n_rows - 1):
                # Nothing lies above the largest value: cut just below it.
                rank = np.searchsorted(values, cut) + (absent if cut > 0.0 else 0) - 1
                cut = _ranked(values, absent, negative, max(rank, 0))
            cuts[j, k - 1] = cut


@njit(cache=True, nogil=True)
def _ranked(values, absent, negative, rank):
    """The value of that rank among sorted values and absent zeros."""
    if rank < negative:
        return values[rank]
    return 0.0 if rank < negative + absent else values[rank - absent]


@njit(cache=True, nogil=True)
def description_length_cuts(indptr, indices, data, labels, sizes, xlogx, cuts):
    """cuts[j]: those that pay for themselves (Fayyad and Irani 1993), the rest stay infinite.

    A segment is cut where that leaves the least entropy of the labels, if the gain exceeds what
    it takes to describe the cut; then so are its two parts, coarse cuts first.
    """
    most = cuts.shape[1]
    segments = np.empty((2 * most + 2, 2), dtype=np.int64)
    found = np.empty(most)
    for j in range(len(indptr) - 1):
        values, below = _profile(
            data[indptr[j] : indptr[j + 1]], indices[indptr[j] : indptr[j + 1]], labels, sizes
        )
        segments[0] = 0, len(values)
        n_segments, n_cuts, current = 1, 0, 0
        while current < n_segments and n_cuts < most:
            first, last = segments[current]
            current += 1
            middle = _cut(below, first, last, xlogx)
            if middle > 0:
                found[n_cuts] = values[middle - 1]
                n_cuts += 1
                segments[n_segments] = first, middle
                segments[n_segments + 1] = middle, last
                n_segments += 2
        cuts[j, :n_cuts] = np.sort(found[:n_cuts])


@njit(cache=True, nogil=True)
def _profile(stored, rows, labels, sizes):
    """The distinct values of a column; below[v, label]: rows with one of the first v values."""
    n_labels = len(sizes)
    order = np.argsort(stored)
    values = np.empty(len(stored) + 1)
    below = np.zeros((len(stored) + 2, n_labels), dtype=np.int64)
    absent = sizes.copy()
    for k in order:
        absent[labels[rows[k]]] -= 1
    n, zeros_due = 0, absent.sum() > 0
    for position in range(len(stored) + 1):
        end = position == len(stored)
        x = 0.0 if end else float(stored[order[position]])
        if zeros_due and (end or x >= 0.0):
            values[n] = 0.0
            below[n + 1] = below[n] + absent
            n += 1
            zeros_due = False
        if end:
            break
        if n == 0 or values[n - 1] != x:
            values[n] = x
            below[n + 1] = below[n]
            n += 1
        below[n, labels[rows[order[position]]]] += 1
    return values[:n], below[: n + 1]


@njit(cache=True, nogil=True)
def _cut(below, first, last, xlogx):
    """Where to cut the values first..last, or 0 if no cut pays."""
    whole, n_classes = _disorder(below, first, last, xlogx)
    best, least = 0, np.inf
    for middle in range(first + 1, last):
        left, _ = _disorder(below, first, middle, xlogx)
        right, _ = _disorder(below, middle, last, xlogx)
        if left + right < least:
            best, least = middle, left + right
    if best == 0:
        return 0
    left, left_classes = _disorder(below, first, best, xlogx)
    right, right_classes = _disorder(below, best, last, xlogx)
    n = (below[last] - below[first]).sum()
    n_left = (below[best] - below[first]).sum()
    # The 3^k - 2 ways in which k classes can fall on two sides, and how well each side tells them.
    sides = n_classes * np.log(3.0) + np.log1p(-2.0 * 3.0**-n_classes)
    cost = sides - (
        n_classes * whole / n - left_classes * left / n_left - right_classes * right / (n - n_left)
    )
    return best if whole - least > np.log(n - 1.0) + cost else 0


@njit(cache=True, nogil=True)
def _disorder(below, first, last, xlogx):
    """Rows times entropy of their labels, and how many labels there are."""
    total, inside, n_classes = 0, 0.0, 0
    for label in range(below.shape[1]):
        n = below[last, label] - below[first, label]
        total += n
        inside += xlogx[n]
        n_classes += n > 0
    return xlogx[total] - inside, n_classes
