"""Data that are not in memory, made from data that are."""

import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from mmfs import RowStream, write_store


def stored(X):
    path = Path(tempfile.mkdtemp(), "store")
    return write_store(path, X, memory=1 << 14)


def rows_of_store(X):
    """Every other row of a store, so that they are X."""
    X = sp.csr_array(X)
    order = np.repeat(np.arange(X.shape[0]), 2)
    twice = X[order]
    row = np.repeat(np.arange(len(order)), np.diff(twice.indptr))
    twice.data[row % 2 == 1] = 7.0
    return stored(twice)[np.arange(0, len(order), 2)]


def by_rows(X, height=7):
    return RowStream(lambda: (X[a : a + height] for a in range(0, X.shape[0], height)), X.shape)


ELSEWHERE = {
    "store": stored,
    "rows_of_store": rows_of_store,
    "dense_rows": by_rows,
    "csr_rows": lambda X: by_rows(sp.csr_array(X)),
    "csc_rows": lambda X: by_rows(sp.csc_array(X)),
    "rows_of_rows": lambda X: by_rows(np.repeat(X, 2, axis=0))[::2],
}
