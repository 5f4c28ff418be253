"""Sparse data of any size, some rows at a time: the same for the same seed."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

N_SIGNALS = 50


def signals_of(n_columns: int) -> np.ndarray:
    """Columns that decide y: among those that are not rare."""
    return np.random.default_rng(1).choice(n_columns // 20, N_SIGNALS, replace=False)


def parts(
    n_rows: int, n_columns: int, per_row: int, height: int = 2_500, seed: int = 0
) -> Iterator[tuple[sp.csr_array, np.ndarray]]:
    """X and y: few columns have most of the entries, as words do in texts."""
    weights = np.zeros(n_columns)
    weights[signals_of(n_columns)] = 1.0
    for number, start in enumerate(range(0, n_rows, height)):
        n = min(height, n_rows - start)
        rng = np.random.default_rng((seed, number))
        columns = (rng.random((n, per_row), dtype=np.float32) ** 3 * n_columns).astype(np.int32)
        columns.sort(axis=1)
        data = rng.random(columns.size, dtype=np.float32)
        X = sp.csr_array((data, columns.ravel(), np.arange(0, columns.size + 1, per_row)),
                         shape=(n, n_columns))  # fmt: skip
        X.sum_duplicates()
        latent = X @ weights
        yield X, (latent + 0.3 * rng.standard_normal(n) > np.median(latent)).astype(np.int64)
