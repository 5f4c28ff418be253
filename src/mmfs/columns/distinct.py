"""Finding columns that are the same once standardised, by two random projections of each.

Columns that differ agree in both projections, to within rounding, with a chance of about
N^2 TOLERANCE^2: never, in practice. A copy with another unit or offset counts as the same.
"""

import numpy as np

from mmfs._compiled.vectors import mark_repeats

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
    out = ~among
    mark_repeats(fingerprints, r, TOLERANCE, mirrors, out)
    return out
