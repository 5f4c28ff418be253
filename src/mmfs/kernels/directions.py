"""Where among the outputs of a target each column points."""

import numpy as np

Array = np.ndarray

# A correlation with the target below this is rounding error: it points nowhere.
NOWHERE = 1e-12


def directions(products: Array) -> Array:
    """Unit vectors along the rows of F'Y, where among the outputs each column points; or zero."""
    if products.shape[1] == 1:
        return np.where(np.abs(products) > NOWHERE, np.sign(products), 0.0)
    norms = np.linalg.norm(products, axis=1)
    known = norms > NOWHERE
    U = products / np.where(known, norms, 1.0)[:, None]
    U[~known] = 0.0
    return U


def nowhere(U: Array) -> Array:
    """Which columns point nowhere."""
    return np.logical_not(U.any(axis=1))


def with_own_output(U: Array) -> Array:
    """Directions in which columns that point nowhere, if there are any, have an output."""
    alone = nowhere(U)
    return np.column_stack([U, alone]) if alone.any() else U
