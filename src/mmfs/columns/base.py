"""What a place for data has to offer: four operations on standardised columns.

In memory these are `DenseColumns`, `CscColumns` and `CsrColumns`; data that are not in memory are
`Elsewhere`, and say themselves what their columns are.

Column j of the data, x_j, is standardised to f_j = (x_j - mean_j) * inverse_j: unit norm, and
zero mean unless `center=False`. It is never stored in that form. F is the matrix of all f_j.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs

Array = np.ndarray

# Vectors and states are handled this many numbers at a time: the cache holds them.
TILE = 1 << 17

# From this mean on, in norms of what varies around it, a product should not be centred afterwards:
# it would lose its digits.
OFFSET = 1e3


def is_far(mean: Any, inverse: Any, n_rows: int) -> Any:
    """Whether columns vary so little around their means that these are subtracted first.

    One entry of a sparse column that is not stored is as far from the mean as zero is; so no column
    that is far from zero, in the norm of what varies, lacks an entry.
    """
    return np.abs(mean) * inverse > far_from(n_rows)


def far_from(n_rows: int) -> float:
    """The mean, in norms of what varies around it, beyond which a column is far from zero."""
    return max(1.0, OFFSET / float(np.sqrt(n_rows)))


# Stored numbers that take longer to read than threads to start.
WORTH_THREADS = 1 << 22


class Block(Protocol):
    """A few columns brought here by `Columns.take`, enough to be worked on at leisure."""

    @property
    def stored(self) -> int:
        """Numbers that a product with all columns reads."""

    def gram(self, other: Self) -> Array:
        """F_self'F_other, the correlations between two sets of columns."""

    def combine(self, weights: Array) -> Array:
        """F weights, for weights with a row per column: a matrix of M rows."""

    def dense(self) -> Array:
        """The standardised columns themselves, M x n."""

    def operator(self) -> Any:
        """The same to multiply with, many times: A @ W and A.T @ V."""

    def join(self, other: Self) -> Self:
        """These columns followed by those of another block of the same data."""

    def only(self, mask: Array) -> Self:
        """The columns where a mask is True, or at some places."""


class Columns(ABC):
    """M x N data seen as N standardised columns; `moments` comes before all else."""

    def __init__(self, X: Any, *, center: bool = True, n_jobs: int | None = None) -> None:
        self.X = X
        self.shape: tuple[int, int] = X.shape
        self.center = center
        self.n_jobs = n_jobs
        self.n_passes = 0  # how often all of X was read
        self.mean = np.empty(0)
        self.inverse = np.empty(0)  # 1 / scale; 0 for a constant column, NaN for one not finite

    @abstractmethod
    def moments(self, V: Array) -> Array:
        """Find mean and scale of every column; return F'V for V (M x q).

        If columns are centred, those of V must be too.
        """

    @abstractmethod
    def project(self, V: Array) -> Array:
        """F'V (N x q) for a few vectors, the columns of V (M x q)."""

    @abstractmethod
    def take(self, J: Array) -> Block:
        """The columns J."""

    @abstractmethod
    def states(self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        """counts[j, state, c, label]: rows with that state of column j and label of labelling c.

        For columns start..stop, the first of which is j = 0. The state of a value is the number
        of its column's cuts (a row of `cuts`) below it; `labels` (M x L) holds several
        labellings, each of whole numbers below n_labels, or -1 for rows that are left out.
        """

    @property
    def columnwise(self) -> Any:
        """The same data, stored so that single columns are quickly read."""
        return self

    def correlations(self, J: Array) -> Array:
        """F'F_J: of every column with each of the columns J, which are made dense."""
        return self.project(self.take(J).dense())

    def values(self, J: Array) -> Array:
        """The columns J as they are, dense, in double precision."""
        X = self.X[:, J]
        return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)

    def _each(self, work: Callable[..., Any], tasks: Iterable[tuple]) -> list[Any]:
        """Do the tasks, in threads if `n_jobs` says so; how they are cut does not depend on it."""
        if effective_n_jobs(self.n_jobs) == 1 or self.X.size < WORTH_THREADS:
            return [work(*task) for task in tasks]
        threads = Parallel(n_jobs=self.n_jobs, prefer="threads")
        return threads(delayed(work)(*task) for task in tasks)


class Elsewhere(ABC):
    """Data that are not in memory, but on disk or on other machines, as selectors take them."""

    shape: tuple[int, int]
    feature_names: Any = None  # a sequence of text, or None

    @abstractmethod
    def columns(self, *, center: bool, n_jobs: int | None) -> Columns:
        """The columns, where they are."""

    @abstractmethod
    def load(self, J: Array) -> Any:
        """The columns J, brought into memory: compressed columns or an array."""

    @property
    def begins(self) -> Array:
        """Stored numbers before each column, and in all, at most."""
        return np.arange(self.shape[1] + 1) * self.shape[0]

    def without_empty(self) -> tuple["Elsewhere", Array | None]:
        """As `mmfs.columns.empty.without_empty`."""
        return self, None

    @abstractmethod
    def of_rows(self, rows: Array) -> "Elsewhere":
        """Some of the rows, by rising numbers, where they are."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: Any) -> Any:
        """Rows stay where they are: X[rows]. Columns are brought into memory: X[:, columns]."""
        rows, columns = where if isinstance(where, tuple) else (where, None)
        data = self
        if not (isinstance(rows, slice) and rows == slice(None)):
            numbers = np.arange(self.shape[0])[rows]
            if numbers.ndim != 1 or (np.diff(numbers) <= 0).any():
                raise ValueError(f"{self} gives rows in rising order alone; sort their numbers.")
            data = self.of_rows(numbers)
        return data if columns is None else data.load(np.arange(self.shape[1])[columns].reshape(-1))


def label_counts(labels: Array, n_labels: int) -> Array:
    """counts[c, label]: rows with that label in labelling c; -1 is no label."""
    return np.array([np.bincount(column + 1, minlength=n_labels + 1)[1:] for column in labels.T])
