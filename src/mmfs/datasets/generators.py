"""Generated problems: every column's part in them is known."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

Array = np.ndarray


class Planted(NamedTuple):
    X: Array
    y: Array
    names: Array  # what each column is: "signal 3", "mirror of 3", "noise 17", ...


def make_planted(
    n_rows: int = 400, n_signals: int = 6, n_noise: int = 40, random_state: int = 0
) -> Planted:
    """Signals that decide y together, with redundant versions of them, and noise.

    Of every signal there is either an exact copy in another unit, a mirror image, or a noisy
    copy, in turn; one column is constant. The columns are shuffled.
    """
    rng = np.random.default_rng(random_state)
    signals = rng.standard_normal((n_rows, n_signals))
    weights = np.linspace(1.0, 0.6, n_signals) * rng.choice([-1, 1], n_signals)
    latent = signals @ weights + 0.5 * rng.standard_normal(n_rows)
    y = np.where(latent > 0, "case", "control")

    columns = {f"signal {i + 1}": signals[:, i] for i in range(n_signals)}
    for i in range(n_signals):
        x, noise = signals[:, i], rng.standard_normal(n_rows)
        name, column = [
            (f"copy of {i + 1}", 2.54 * x + 1.0),
            (f"mirror of {i + 1}", -x + 0.05 * noise),
            (f"noisy copy of {i + 1}", x + 0.4 * noise),
        ][i % 3]
        columns[name] = column
    columns |= {f"noise {i + 1}": rng.standard_normal(n_rows) for i in range(n_noise)}
    columns["constant"] = np.ones(n_rows)
    names = list(columns)
    rng.shuffle(names)
    return Planted(np.column_stack([columns[name] for name in names]), y, np.array(names))


def make_nonlinear(
    n_rows: int = 1500, n_columns: int = 2000, n_signals: int = 10, random_state: int = 0
) -> tuple[Array, Array, Array]:
    """X, a real y, and the columns that y depends on, in ways that no correlation shows.

    Through squares, absolute values and sines of a phase that makes them even, in turn.
    """
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((n_rows, n_columns))
    signals = rng.choice(n_columns, n_signals, replace=False)
    y = 0.3 * rng.standard_normal(n_rows)
    for i, j in enumerate(signals):
        x = X[:, j]
        part = [x**2, np.abs(x), np.sin(2 * x + np.pi / 2)][i % 3]
        y += (part - part.mean()) / part.std()
    return X, y, signals


def make_wide_sparse(
    n_rows: int = 20_000,
    n_columns: int = 2_000_000,
    n_stored: int = 50_000_000,
    n_signals: int = 100,
    random_state: int = 0,
) -> tuple[sp.csc_array, Array, Array]:
    """Text-like data: X (CSC, few common and many rare columns), y, and the columns that decide y.

    The arrays are built in place: no more memory is used than a few times that of X.
    """
    rng = np.random.default_rng(random_state)
    popularity = 1.0 / (np.arange(n_columns) + 50.0) ** 0.8
    popularity = np.minimum(popularity / popularity.sum() * n_stored, 0.3 * n_rows)
    stored = rng.poisson(popularity * (n_stored / popularity.sum()))
    rng.shuffle(stored)
    indptr = np.concatenate([[0], np.cumsum(stored)]).astype(np.int64)

    # Row numbers of a column rise by random gaps whose mean spreads them over all rows.
    widest = np.repeat(np.maximum(n_rows // np.maximum(stored, 1), 1), stored)
    gaps = (rng.random(indptr[-1], dtype=np.float32) * widest).astype(np.int64) + 1
    del widest
    np.cumsum(gaps, out=gaps)
    begins = np.concatenate([[0], gaps])[indptr[:-1]]
    gaps -= np.repeat(begins, stored) + 1
    indices = gaps.astype(np.int32)
    del gaps
    data = rng.random(indptr[-1]) + 0.1
    X = sp.csc_array((data, indices, indptr), shape=(n_rows, n_columns))

    common = np.argsort(-stored, kind="stable")[: 30 * n_signals]
    signals = np.sort(rng.choice(common, n_signals, replace=False))
    latent = X[:, signals] @ rng.standard_normal(n_signals)
    latent += 0.7 * latent.std() * rng.standard_normal(n_rows)
    return X, (latent > np.median(latent)).astype(np.int64), signals
