"""Dask arrays: blocks stay where they are, and what is found of each comes here.

X may be cut by rows, by columns or both, into arrays or SciPy's sparse matrices. For every pass the
vectors go out, each block gets its rows of them, what blocks of the same columns find is summed up
among the workers, and a few numbers per column come back. Means and scales stay there. All of it is
a graph of tasks that Dask can compute again: a worker that dies takes nothing along.
"""

from collections.abc import Callable, Iterable
from copy import copy
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mmfs.columns.base import Array, Block, Columns, Elsewhere
from mmfs.columns.rows import Moments, block_of, known_columns, moments_of, stacked, tidy
from mmfs.needed import needed


class Held(NamedTuple):
    """What a worker keeps of a block of columns."""

    mean: Array
    inverse: Array
    products: Array  # F'V of the first pass


class DaskData(Elsewhere):
    """A Dask array, or a Dask DataFrame with columns of numbers."""

    def __init__(self, X: Any) -> None:
        if hasattr(X, "to_dask_array"):
            self.feature_names = np.array([str(name) for name in X.columns], dtype=object)
            X = _numbers(X).to_dask_array(lengths=True)
        if X.ndim != 2:
            raise ValueError(f"X is a Dask array of {X.ndim} dimensions, not a matrix.")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X holds values of type {X.dtype}; encode them as numbers.")
        if any(np.isnan(size) for sizes in X.chunks for size in sizes):
            X = X.compute_chunk_sizes()
        if 0 in X.shape:
            raise ValueError(f"X has {X.shape[0]} rows and {X.shape[1]} columns.")
        filled = [np.flatnonzero(sizes) for sizes in X.chunks]  # filters leave empty ones behind
        self.shape = X.shape
        self.chunks = tuple(
            tuple(sizes[n] for n in some) for sizes, some in zip(X.chunks, filled, strict=True)
        )
        # Of rows x of columns: tasks, to be done or done.
        self.blocks = _kept(X.to_delayed()[np.ix_(*filled)])
        self.size = 0  # never worth threads here

    def __repr__(self) -> str:
        return f"a Dask array of {self.blocks.size} blocks"

    def columns(self, *, center: bool, n_jobs: int | None) -> "DaskColumns":
        return DaskColumns(self, center=center, n_jobs=n_jobs)

    def load(self, J: Array) -> Any:
        return DaskColumns(self, center=False).raw(J)

    def of_rows(self, rows: Array) -> "DaskData":
        return self._some(rows, 0)

    def of_columns(self, J: Array) -> "DaskData":
        """Some of the columns, by rising numbers, where they are."""
        return self._some(J, 1)

    def _some(self, numbers: Array, axis: int) -> "DaskData":
        found = by_range(numbers, _ranges(self.chunks[axis]))
        blocks, pick = np.take(self.blocks, list(found), axis=axis), delayed(_pick)
        chosen = {n: delayed(some) for n, some in enumerate(found.values())}
        for place in np.ndindex(blocks.shape):
            blocks[place] = pick(blocks[place], chosen[place[axis]], axis)
        fewer, chunks = copy(self), list(self.chunks)
        chunks[axis] = tuple(len(some) for some in found.values())
        fewer.chunks, fewer.blocks = tuple(chunks), _kept(blocks)
        fewer.shape = (sum(chunks[0]), sum(chunks[1]))
        if axis and self.feature_names is not None:
            fewer.feature_names = self.feature_names[numbers]
        return fewer


def _numbers(frame: Any) -> Any:
    """A DataFrame whose columns have one type; without text among them."""
    for name, kind in frame.dtypes.items():
        if getattr(kind, "kind", "O") not in "biuf":
            raise ValueError(
                f"X has values of type {kind} in column {name!r}; encode it as numbers, or leave "
                "it out."
            )
    return frame.astype("float64") if len(set(map(str, frame.dtypes))) > 1 else frame


def is_dask(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def _kept(blocks: Array) -> Array:
    """In the memory of the workers, if there are any; in one process it would be in the way."""
    try:
        from distributed import get_client

        get_client()
    except (ImportError, ValueError):
        return blocks
    out = np.empty_like(blocks)
    out.ravel()[:] = _persist(blocks.ravel().tolist())
    return out


class DaskColumns(Columns):
    """Columns of a Dask array."""

    X: DaskData

    def __init__(self, X: DaskData, *, center: bool = True, n_jobs: int | None = None) -> None:
        super().__init__(X, center=center, n_jobs=n_jobs)
        self.rows, self.parts = (_ranges(sizes) for sizes in X.chunks)
        self.held: list[Any] = []  # of each block of columns, on a worker

    def moments(self, V: Array) -> Array:
        self.hold(V)
        held = [Held(*found) for found in compute(self.held)]
        self.mean, self.inverse, products = map(np.concatenate, zip(*held, strict=True))
        return products

    def hold(self, V: Array) -> None:
        """Find means, scales and F'V, and leave them with the workers."""
        self.n_passes += 1
        joined = self._each_block(moments_of_block, _join, V, extra=(self.center,))
        self.held = _persist([delayed(_finish)(found) for found in joined])

    def project(self, V: Array) -> Array:
        return np.concatenate(compute(self.products(V)))

    def products(self, V: Array) -> list[Any]:
        """F'V of each block of columns: tasks yet to be done."""
        self.n_passes += 1
        return self._each_block(products_of_block, _sum, V, self.held, (self.center,))

    def take(self, J: Array) -> Block:
        self.n_passes += 1
        return block_of(self.raw(J), self.mean[J], self.inverse[J])

    def raw(self, J: Array) -> Any:
        """The columns J as they are, here."""
        blocks = self.X.blocks
        order = np.argsort(J, kind="stable")
        found = by_range(J[order], self.parts)
        wanted = found or {0: J}  # none, of the right kind
        pick = delayed(_pick)
        stacks = [[pick(X, some, 1) for X in blocks[:, n]] for n, some in wanted.items()]
        columns = compute([delayed(stacked)(stack) for stack in stacks])
        if all(map(sp.issparse, columns)):
            X = sp.csc_array(sp.hstack(columns))
        else:
            X = np.hstack([some.toarray() if sp.issparse(some) else some for some in columns])
        return X[:, np.argsort(order, kind="stable")]

    def states(self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int) -> Array:
        self.n_passes += 1
        cut = [delayed(cuts[part]) for part in self.parts]
        counts = self._each_block(states_of_block, _sum, labels, cut, (n_labels,))
        ends = [slice(max(part.start, start), min(part.stop, stop)) for part in self.parts]
        found = compute([
            delayed(_slice)(some, end.start - part.start, end.stop - part.start)
            for some, part, end in zip(counts, self.parts, ends, strict=True)
            if end.start < end.stop
        ])  # fmt: skip
        return np.concatenate(found)

    @property
    def columnwise(self) -> Any:
        raise ValueError(
            f"this needs single columns again and again, which would bring {self.X} here piece by "
            "piece; make a column store of the data (mmfs.write_store)."
        )

    def _each_block(
        self,
        work: Callable[..., Any],
        together: Callable[[list[Any]], Any],
        V: Array,
        known: Iterable[Any] | None = None,
        extra: tuple = (),
    ) -> list[Any]:
        """For each block of columns what `work` finds in its blocks of rows, put together."""
        blocks, vectors = self.X.blocks, [delayed(np.ascontiguousarray(V[r])) for r in self.rows]
        work, together = delayed(work), delayed(together)
        given = [()] * len(self.parts) if known is None else [(some,) for some in known]
        out = []
        for column, some in zip(blocks.T, given, strict=True):
            found = [work(X, v, *some, *extra) for X, v in zip(column, vectors, strict=True)]
            out.append(found[0] if len(found) == 1 else together(found))
        return out


# --- what workers do ----------------------------------------------------------------------------


def moments_of_block(X: Any, V: Array, center: bool) -> Moments:
    with np.errstate(invalid="ignore", over="ignore"):  # `inverse` marks them
        return moments_of(tidy(X), V, center)


def products_of_block(X: Any, V: Array, held: Held, center: bool) -> Array:
    return known_columns(tidy(X), held.mean, held.inverse, center).project(V)


def states_of_block(X: Any, labels: Array, cuts: Array, n_labels: int) -> Array:
    known = known_columns(tidy(X), np.empty(0), np.empty(0), True)
    return known.states(cuts, labels, n_labels, 0, X.shape[1])


def _pick(X: Any, numbers: Array, axis: int) -> Any:
    """Rows or columns of a block."""
    return tidy(X)[:, numbers] if axis else tidy(X)[numbers]


def _join(found: list[Moments]) -> Moments:
    with np.errstate(invalid="ignore", over="ignore"):
        return reduce(Moments.joined, found)


def _finish(found: Moments) -> Held:
    inverse = found.inverse()
    return Held(found.mean, inverse, found.products * inverse[:, None])


def _sum(found: list[Array]) -> Array:
    return reduce(np.add, found)


def _slice(values: Array, start: int, stop: int) -> Array:
    return values[start:stop]


# --- Dask ---------------------------------------------------------------------------------------


def delayed(what: Any) -> Any:
    return needed("dask", "dask", "a Dask array").delayed(what, pure=not callable(what))


def compute(tasks: list[Any]) -> list[Any]:
    return list(needed("dask", "dask", "a Dask array").compute(*tasks))


def _persist(tasks: list[Any]) -> list[Any]:
    return list(needed("dask", "dask", "a Dask array").persist(*tasks))


def _ranges(sizes: Iterable[int]) -> list[slice]:
    ends = np.append(0, np.cumsum(list(sizes))).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


def by_range(numbers: Array, ranges: list[slice]) -> dict[int, Array]:
    """Of rising numbers those in each range that has any, counted from its start."""
    where = np.searchsorted(numbers, [*(some.start for some in ranges), ranges[-1].stop])
    return {
        n: numbers[a:b] - ranges[n].start
        for n, (a, b) in enumerate(pairwise(where.tolist()))
        if a < b
    }
