"""Finding columns that are the same once standardised, by two random projections of each.

Columns that differ agree in both projections, to within rounding, with a chance of about
N^2 TOLERANCE^2: never, in practice. A copy with another unit or offset counts as the same.
"""

import numpy as np

Array = np.ndarray

TOLERANCE = 1e-11


def fingerprint_vectors(n_rows: int) -> Array:
    """Two fixed random vectors of unit norm and zero mean; F'(them) are the fingerprints."""
    V = np.random.default_rng(0).standard_normal((n_rows, 2))
    V -= V.mean(axis=0)
    return V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)


def repeats(fingerprints: Array, r: Array, among: Array, mirrors: bool) -> Array:
    """True for a column that is the same as one with a lower index, with the same relevance.

    Only columns where the mask `among` is True are looked at. With `mirrors`, a column and its
    mirror image are the same too.
    """
    out = np.zeros(len(r), dtype=bool)
    J = np.flatnonzero(among)
    if len(J) < 2:
        return out
    first, second = fingerprints[J, 0], fingerprints[J, 1]
    if mirrors:
        np.multiply(second, np.sign(first), out=second)
        np.abs(first, out=first)
    order = np.argsort(first)
    same = np.diff(first[order]) <= TOLERANCE
    near = np.flatnonzero(same)  # few: the other keys are compared for these alone
    left, right = order[near], order[near + 1]
    same[near] = np.abs(second[left] - second[right]) <= TOLERANCE
    same[near] &= np.abs(r[J[left]] - r[J[right]]) <= TOLERANCE * (1 + r[J[left]])
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    members = J[order]
    keep = np.minimum.reduceat(members, starts)
    out[members] = True
    out[keep] = False
    return out
