"""Columns that are the same once standardised, told by two random projections of each.

Columns that differ agree in both projections, to within rounding, with a chance of about
n^2 TOLERANCE^2: never, in practice. A copy with another unit or offset counts as the same.
"""

from functools import lru_cache

import numpy as np

from mmfs.columns import Block

Array = np.ndarray

# By how much projections of columns of unit norm may differ through rounding.
TOLERANCE = 1e-11

# Relevances that differ by less, relatively, are equal.
EQUAL = 1e-9

# Relevances of columns that are the same differ by less.
SAME_RELEVANCE = 1e-10


@lru_cache(maxsize=2)
def fingerprint_vectors(n_rows: int) -> Array:
    """Two fixed random vectors of unit norm; F'(them) are the fingerprints of columns."""
    V = np.random.default_rng(0).standard_normal((n_rows, 2))
    return V / np.linalg.norm(V, axis=0)


def fingerprints(block: Block) -> Array:
    """n x 2 numbers that only columns which are the same share."""
    return block.products(block.adjustment.residual(fingerprint_vectors(block.n_rows)))


def near_another(values: Array, distance: float) -> Array:
    """Mask of the values that another one is near."""
    order = np.argsort(values, kind="stable")
    near = np.diff(values[order]) <= distance
    out = np.zeros(len(values), dtype=bool)
    out[order[1:][near]] = True
    out[order[:-1][near]] = True
    return out


def representatives(keys: Array, r: Array, J: Array, mirrors: bool) -> Array:
    """For each column the place of the one that stands for it: its own, unless it is a copy.

    `keys` are fingerprints, r relevances, J column numbers. Of columns that are the same the most
    relevant stands for all, and of those the first. With `mirrors`, a column and its mirror image
    are the same too.
    """
    if mirrors:
        keys = keys * np.where(keys[:, :1] < 0, -1.0, 1.0)
    # Equal first keys are neighbours; among those, equal second ones.
    group = np.zeros(len(keys), dtype=np.int64)
    for key in keys.T:
        order = np.lexsort((key, group))
        apart = (np.diff(key[order]) > TOLERANCE) | (np.diff(group[order]) != 0)
        group[order] = np.append(0, np.cumsum(apart))[: len(keys)]
    order = np.lexsort((J, -r, group))
    starts = np.flatnonzero(np.append(True, np.diff(group[order]) != 0)[: len(keys)])
    sizes = np.diff(np.append(starts, len(keys)))
    out = np.arange(len(keys))
    for start, size in zip(starts[sizes > 1], sizes[sizes > 1], strict=True):
        same = order[start : start + size]
        best = same[r[same] >= (1 - EQUAL) * r[same[0]]]
        out[same] = best[np.argmin(J[best])]
    return out


def repeated(keys: Array, r: Array, J: Array, mirrors: bool) -> Array:
    """Mask of the columns for which another one stands."""
    return representatives(keys, r, J, mirrors) != np.arange(len(J))


def standing(block: Block, r: Array, J: Array, mirrors: bool, agree: bool) -> Array:
    """As `representatives`, of fetched columns.

    Where columns that are the same `agree` in r, only those that do so have to be compared.
    """
    out = np.arange(len(J))
    suspects = np.flatnonzero(near_another(r, SAME_RELEVANCE)) if agree else out
    if len(suspects):
        keys = fingerprints(block.only(suspects))
        out[suspects] = suspects[representatives(keys, r[suspects], J[suspects], mirrors)]
    return out


def repeated_among(usable: Array, keys: Array, r: Array, mirrors: bool) -> Array:
    """Mask of all columns: those that are usable, and for which another one stands."""
    J, out = np.flatnonzero(usable), np.zeros(len(r), dtype=bool)
    out[J] = repeated(keys[J], r[J], J, mirrors)
    return out
