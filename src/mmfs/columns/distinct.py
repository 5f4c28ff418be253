"""Finding columns that are the same once standardised, by two random projections of each.

Columns that differ agree in both projections, to within rounding, with a chance of about
N^2 TOLERANCE^2: never, in practice. A copy with another unit or offset counts as the same.
"""

import numpy as np

Array = np.ndarray

TOLERANCE = 1e-11


def fingerprint_vectors(n_rows: int, center: bool) -> Array:
    """Two fixed random vectors of unit norm; F'(them) are the fingerprints.

    Of zero mean where columns are centred, as `Columns.moments` asks for.
    """
    V = np.random.default_rng(0).standard_normal((n_rows, 2))
    if center:
        V -= V.mean(axis=0)
    return V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)


def repeats(fingerprints: Array, r: Array, among: Array, mirrors: bool) -> Array:
    """True for a column that is the same as another one, which stands for it.

    That is the first, or the first of the most relevant if their relevances r differ. Only columns
    where the mask `among` is True are looked at. With `mirrors`, a column and its mirror image
    are the same too.
    """
    first, second = fingerprints[:, 0].copy(), fingerprints[:, 1].copy()
    if mirrors:
        second *= np.sign(first)
        np.abs(first, out=first)
    first[~among] = np.arange(2, 2 + np.count_nonzero(~among))  # near nothing
    order = np.argsort(first)
    near = np.flatnonzero(np.diff(first[order]) <= TOLERANCE)
    left, right = order[near], order[near + 1]
    same = np.abs(second[left] - second[right]) <= TOLERANCE
    near, left, right = near[same], left[same], right[same]

    out = np.zeros(len(r), dtype=bool)
    if len(near) == 0:
        return out
    # Pairs of neighbours that follow one another form a group.
    starts = np.flatnonzero(np.diff(near, prepend=-2) > 1)
    members = np.insert(right, starts, left[starts])
    starts += np.arange(len(starts))
    best = np.maximum.reduceat(r[members], starts)
    sizes = np.diff(starts, append=len(members))
    relevant = r[members] >= np.repeat(best, sizes) * (1 - 1e-9)
    out[members] = True
    out[np.minimum.reduceat(np.where(relevant, members, len(r)), starts)] = False
    return out
