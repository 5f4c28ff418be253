"""What a place for data has to offer: four operations on standardised columns.

Column j of the data, x_j, is standardised to f_j = (x_j - mean_j) * inverse_j: unit norm, and
zero mean unless `center=False`. It is never stored in that form. F is the matrix of all f_j.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

Array = np.ndarray

# Vectors and states are handled this many numbers at a time: the cache holds them.
TILE = 1 << 17


class Block(Protocol):
    """A few columns brought here by `Columns.take`, enough to be worked on at leisure."""

    def gram(self, other: Self) -> Array:
        """F_self'F_other, the correlations between two sets of columns."""

    def combine(self, weights: Array) -> Array:
        """F weights, for weights with a row per column: a matrix of M rows."""

    def dense(self) -> Array:
        """The standardised columns themselves, M x n."""

    def join(self, other: Self) -> Self:
        """These columns followed by those of another block of the same data."""

    def only(self, mask: Array) -> Self:
        """The columns where the mask is True."""


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
    def states(self, labels: Array, n_labels: int) -> Array:
        """counts[j, state, label]: rows where column j is low, middling or high (three states).

        Low and high mean more than one standard deviation (of the un-centred column when
        `center=False`) below and above the mean.
        """

    def _thresholds(self) -> tuple[Array, Array]:
        """Values of x_j below which it is low, above which it is high."""
        usable = self.inverse > 0
        deviation = np.zeros_like(self.inverse)
        np.divide(1.0, self.inverse, out=deviation, where=usable)
        deviation *= (1 - 1e-9) / np.sqrt(
            self.shape[0]
        )  # the values of a balanced 0/1 column count
        return self.mean - deviation, self.mean + deviation

    def _each(self, work: Callable[..., Any], tasks: Iterable[tuple]) -> list[Any]:
        """Do the tasks, in threads if `n_jobs` says so; how they are cut does not depend on it."""
        if effective_n_jobs(self.n_jobs) == 1:
            return [work(*task) for task in tasks]
        threads = Parallel(n_jobs=self.n_jobs, prefer="threads")
        return threads(delayed(work)(*task) for task in tasks)
