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


class Wide(NamedTuple):
    X: sp.csc_array
    y: Array
    signals: Array  # columns that decide y
    copies: Array  # of each signal, a column that is nearly the same

    def found(self, columns: Array) -> float:
        """The share of signals that are among `columns` themselves or through their copy."""
        return float((np.isin(self.signals, columns) | np.isin(self.copies, columns)).mean())


def make_webspam_shaped(scale: float = 1.0, n_signals: int = 100, random_state: int = 0) -> Wide:
    """As large and as sparse as the paper's webspam: 80,000 x 8,355,099 with 3,730 per row.

    A smaller `scale` makes rows and columns fewer by that factor. Values are positive, single
    precision; few columns are common, most are rare. y follows from `n_signals` columns, each of
    which has a near copy.
    """
    return _shaped(80_000, 8_355_099, 3_730, 1.0, scale, n_signals, random_state)


def make_kddb_shaped(scale: float = 1.0, n_signals: int = 100, random_state: int = 0) -> Wide:
    """As large and as sparse as the paper's kddb: 100,000 x 29,889,813 with 30 per row.

    As `make_webspam_shaped`, but nine of ten columns are empty, and the values are all 1.
    """
    return _shaped(100_000, 29_889_813, 30, 0.1, scale, n_signals, random_state)


def _shaped(
    n_rows: int,
    n_columns: int,
    per_row: int,
    in_use: float,
    scale: float,
    n_signals: int,
    random_state: int,
) -> Wide:
    n_rows, n_columns = max(int(scale * n_rows), 20), max(int(scale * n_columns), 4 * per_row)
    rng = np.random.default_rng(random_state)
    n_stored = _power_law(max(int(in_use * n_columns), 3 * per_row), n_rows * per_row, n_rows, rng)
    n_stored = np.concatenate([n_stored, np.zeros(n_columns - len(n_stored), dtype=np.int64)])
    rng.shuffle(n_stored)

    # Signals are common, but not too common, columns; the next in size is made a copy of each.
    by_size = np.argsort(-n_stored, kind="stable")
    begin = max(1, int(np.searchsorted(-n_stored[by_size], -n_rows / 4)))
    pairs = by_size[begin : begin + 6 * n_signals].reshape(-1, 2)
    signals, copies = rng.permutation(pairs)[:n_signals].T
    n_stored[by_size[0]] -= (n_stored[signals] - n_stored[copies]).sum()
    n_stored[copies] = n_stored[signals]

    indptr = np.concatenate([[0], np.cumsum(n_stored)])
    indices = np.empty(indptr[-1], dtype=np.int32)
    _scatter(indptr, n_rows, indices, rng)
    for signal, copy in zip(signals, copies, strict=True):
        own = indices[indptr[signal] : indptr[signal + 1]]
        indices[indptr[copy] : indptr[copy + 1]] = _nearly(own, n_rows, rng)
    data = np.ones(len(indices), dtype=np.float32)
    if in_use == 1.0:
        rng.random(out=data, dtype=np.float32)
        data += np.float32(0.5)
        for signal, copy in zip(signals, copies, strict=True):
            data[indptr[copy] : indptr[copy + 1]] = data[indptr[signal] : indptr[signal + 1]]
    X = sp.csc_array((data, indices, indptr.astype(np.int32)), shape=(n_rows, n_columns))
    X.has_sorted_indices = X.has_canonical_format = True
    return Wide(X, _decided_by(X, signals, rng), signals, copies)


def _power_law(
    n_columns: int, n_stored: int, n_rows: int, rng: np.random.Generator, exponent: float = 0.8
) -> Array:
    """Entries per column, of that sum: few columns have many, none more than 0.3 of the rows."""
    popularity = 1.0 / (np.arange(n_columns) + 50.0) ** exponent
    most = 0.3 * n_rows
    if n_stored > most * n_columns:
        raise ValueError(
            f"{n_stored:,} entries are too many for {n_rows:,} rows and {n_columns:,} columns in "
            "use; make them more, or the entries fewer."
        )
    expected = np.minimum(popularity / popularity.sum() * n_stored, most)
    while (missing := n_stored - expected.sum()) > 0.5 and (expected < most).any():
        free = expected < most
        expected[free] = np.minimum(expected[free] * (1 + missing / expected[free].sum()), most)
    ends = np.minimum(np.round(np.cumsum(expected) + rng.random()), n_stored).astype(np.int64)
    ends[-1] = n_stored
    return np.diff(ends, prepend=0)


def _scatter(indptr: Array, n_rows: int, indices: Array, rng: np.random.Generator) -> None:
    """Rows of every column's entries, rising: one at random from each of as many strata."""
    block = 1 << 22
    begin = 0
    while begin < len(indptr) - 1:
        end = int(np.searchsorted(indptr, indptr[begin] + block, side="right")) - 1
        end = max(end, begin + 1)
        first, last = indptr[begin], indptr[end]
        n_stored = np.diff(indptr[begin : end + 1])
        turn = np.arange(first, last) - np.repeat(indptr[begin:end], n_stored)
        among = np.repeat(n_stored, n_stored)
        low, high = turn * n_rows // among, (turn + 1) * n_rows // among
        indices[first:last] = low + (rng.random(last - first) * (high - low)).astype(np.int64)
        begin = end


def _nearly(rows: Array, n_rows: int, rng: np.random.Generator) -> Array:
    """As many rows, nine of ten the same."""
    kept = rng.permutation(rows)[: len(rows) - len(rows) // 10]
    others = np.setdiff1d(rng.choice(n_rows, min(3 * len(rows), n_rows), replace=False), rows)
    return np.sort(np.concatenate([kept, others[: len(rows) - len(kept)]]))


def _decided_by(X: sp.csc_array, signals: Array, rng: np.random.Generator) -> Array:
    """1 where a weighted sum of the columns and noise is above its median, else 0."""
    latent = X[:, signals] @ (rng.choice([-1, 1], len(signals)) * rng.uniform(1, 2, len(signals)))
    latent += 0.7 * latent.std() * rng.standard_normal(X.shape[0])
    return (latent > np.median(latent)).astype(np.int64)


def make_wide_sparse(
    n_rows: int = 20_000,
    n_columns: int = 2_000_000,
    n_stored: int = 50_000_000,
    n_signals: int = 100,
    random_state: int = 0,
    exponent: float = 0.8,
) -> tuple[sp.csc_array, Array, Array]:
    """Text-like data: X (CSC, few common and many rare columns), y, and the columns that decide y.

    How many entries a column has falls with its rank by a power law of that exponent. The arrays
    are built in place: no more memory is used than a few times that of X.
    """
    rng = np.random.default_rng(random_state)
    in_column = _power_law(n_columns, n_stored, n_rows, rng, exponent)
    rng.shuffle(in_column)
    indptr = np.concatenate([[0], np.cumsum(in_column)])
    indices = np.empty(n_stored, dtype=np.int32)
    _scatter(indptr, n_rows, indices, rng)
    X = sp.csc_array((rng.random(n_stored) + 0.1, indices, indptr), shape=(n_rows, n_columns))
    common = np.argsort(-in_column, kind="stable")[: 30 * n_signals]
    signals = np.sort(rng.choice(common, n_signals, replace=False))
    return X, _decided_by(X, signals, rng), signals
