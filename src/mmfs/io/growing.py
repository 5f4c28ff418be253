"""Arrays whose size is not known before they are filled."""

from typing import Any

import numpy as np

from mmfs._compiled import placing

Array = np.ndarray

# Room is set aside for so many times what is there, at most: files lie about their size.
MOST_AHEAD = 4_000


class Growing:
    """An array that is added to, of about the right size from the start.

    Memory set aside but not written to costs nothing; to grow later, the system remaps pages.
    """

    def __init__(self, dtype: Any) -> None:
        self._array, self._n = np.empty(0, dtype=dtype), 0

    def __len__(self) -> int:
        return self._n

    @property
    def array(self) -> Array:
        return self._array[: self._n]

    def append(self, values: Array, share: float) -> None:
        """Add values; with them, this share of all values is here."""
        n = self._n + len(values)
        if n > len(self._array):
            capacity = max(n, min(int(1.05 * n / max(share, 1e-9)), MOST_AHEAD * n))
            if self._n:
                self._array.resize(capacity, refcheck=False)
            else:
                self._array = np.empty(capacity, dtype=self._array.dtype)
        with np.errstate(over="ignore"):  # in single precision, what is too large is infinite
            self._array[self._n : n] = values
        self._n = n


class Counts:
    """How often each column number has occurred."""

    def __init__(self) -> None:
        self._counts = np.zeros(0, dtype=np.int64)

    @property
    def array(self) -> Array:
        return self._counts

    def add(self, columns: Array, highest: int) -> None:
        if highest >= len(self._counts):
            more = max(highest + 1, len(self._counts) * 5 // 4) - len(self._counts)
            self._counts = np.concatenate([self._counts, np.zeros(more, dtype=np.int64)])
        placing.count_columns(columns, self._counts)
