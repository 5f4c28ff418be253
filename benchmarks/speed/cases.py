"""The data of the benchmark: generated ones of several shapes, and real ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets import load
from mmfs.datasets import make_kddb_shaped, make_webspam_shaped, make_wide_sparse


class Case(NamedTuple):
    X: Any
    y: np.ndarray
    signals: np.ndarray  # columns that decide y; empty where they are not known

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.X)

    def arrays(self) -> list[np.ndarray]:
        """What one read of the data reads."""
        return [self.X.data, self.X.indices] if self.sparse else [self.X]

    def gigabytes(self) -> float:
        whole = [*self.arrays(), self.X.indptr] if self.sparse else self.arrays()
        return sum(array.nbytes for array in whole) / 1e9


def dense(n_rows: int, n_columns: int, n_signals: int = 50, dtype: type = np.float64) -> Case:
    """Half of the columns go together in groups of five; signals are spread over them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    for j in range(0, n_columns // 2, 5):
        X[:, j : j + 5] += X[:, [j]]
    signals = rng.choice(n_columns, min(n_signals, n_columns // 10), replace=False)
    latent = X[:, signals] @ rng.choice([-1.0, 1.0], len(signals))
    y = latent + latent.std() * rng.standard_normal(n_rows) > 0
    return Case(X.astype(dtype, copy=False), y.astype(np.int64), signals)


def _power_law(scale: float, form: str) -> Case:
    """As sparse data mostly are: single precision, 32-bit indices, a long tail of rare columns."""
    size = int(2_000_000 * scale), int(20_000_000 * scale)
    X, y, signals = make_wide_sparse(20_000, *size, exponent=0.9)
    arrays = X.data.astype(np.float32), X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Case(sp.csc_array(arrays, shape=X.shape).asformat(form), y, signals)


def _wide(scale: float, form: str) -> Case:
    X, y, signals = make_wide_sparse(20_000, int(2_000_000 * scale), int(59_000_000 * scale))
    return Case(X.asformat(form), y, signals)


def _shaped(make: Callable[..., Any], scale: float) -> Case:
    data = make(scale)
    return Case(data.X, data.y, data.signals)


def _real(name: str, folder: Path | None, form: str | None = None) -> Case:
    data = load(name, folder, download=False)
    return Case(data.X.asformat(form) if form else data.X, data.y, np.empty(0, dtype=int))


GENERATED: dict[str, Callable[[float], Case]] = {
    "dense, 100,000 x 1,000": lambda scale: dense(int(100_000 * scale), 1_000),
    "dense, 100 x 50,000": lambda scale: dense(100, int(50_000 * scale)),
    "dense, 1,000 x 20,000": lambda scale: dense(1_000, int(20_000 * scale)),
    "dense, 1,000 x 20,000, single": lambda scale: dense(
        1_000, int(20_000 * scale), dtype=np.float32
    ),
    "power law, columns": lambda scale: _power_law(scale, "csc"),
    "power law, rows": lambda scale: _power_law(scale, "csr"),
    "sparse columns": lambda scale: _wide(scale, "csc"),
    "sparse rows": lambda scale: _wide(scale, "csr"),
    "shaped as kddb": lambda scale: _shaped(make_kddb_shaped, scale),
    "webspam, a quarter": lambda scale: _shaped(make_webspam_shaped, 0.25 * scale),
}
REAL: dict[str, Callable[[Path | None], Case]] = {
    "leukemia": lambda folder: _real("leukemia", folder),
    "rac_gse55457": lambda folder: _real("rac_gse55457", folder),
    "arcene": lambda folder: _real("arcene", folder),
    "colon": lambda folder: _real("colon", folder),
    "mnist_3v8": lambda folder: _real("mnist_3v8", folder),
    "news20": lambda folder: _real("news20", folder, "csc"),
    "enron": lambda folder: _real("enron", folder, "csc"),
    "enron, rows": lambda folder: _real("enron", folder, "csr"),
}


def make(name: str, folder: Path | None, quick: bool = False) -> Case:
    """A case by name; a quick one is small."""
    if name in REAL:
        return REAL[name](folder)
    return GENERATED[name](0.02 if quick else 1.0)
