"""Dask arrays: blocks stay where they are, and what is found of each comes here.

X may be cut by rows, by columns or both, into arrays or SciPy's sparse matrices. For every scan the
vectors go out, each block gets its rows of them, what blocks of the same columns find is summed up
among the workers and reduced there. All of it is a graph of tasks that Dask can compute again: a
worker that dies takes nothing along.
"""

import operator
from collections.abc import Callable, Iterable
from copy import copy
from functools import reduce as fold
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmfs.optional import require
from mmfs.sources.base import Array, Each, Elsewhere, OnSums, Source, Sums, fill_of, together
from mmfs.sources.memory import in_memory
from mmfs.sources.stream import stacked, tidy


class DaskData(Elsewhere):
    """A Dask array, or a Dask DataFrame with columns of numbers."""

    remote = True

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
        self.rows, self.parts = (_ranges(sizes) for sizes in self.chunks)

    def __repr__(self) -> str:
        return f"a Dask array of {self.blocks.size} blocks"

    def first_scan(
        self, V: Array, shifted: bool, finish: OnSums, n_jobs: int | None = None
    ) -> list[Any]:
        found = self._each_block(_sums, Sums.joined, V, [(shifted,)] * len(self.parts))
        return self.ask(found, finish, ([part.start for part in self.parts],), keep=True)

    def scan(
        self, V: Array, known: list[Any], reduce: Callable[..., Any], each: Each = (),
        keep: bool = False, n_jobs: int | None = None,
    ) -> list[Any]:  # fmt: skip
        fill = delayed(fill_of)
        given = [(some.origin, fill(some)) for some in known]
        products = self._each_block(_products, np.add, V, given)
        return self.ask(known, reduce, (products, *each), keep)

    def ask(
        self, known: list[Any], reduce: Callable[..., Any], each: Each = (),
        keep: bool = False,
    ) -> list[Any]:  # fmt: skip
        done = delayed(operator.call)
        tasks = [done(reduce, *some) for some in together(known, each)]
        return _persist(tasks) if keep else compute(tasks)

    def fetch(self, J: Array, n_jobs: int | None = None) -> Any:
        order = np.argsort(J, kind="stable")
        found = by_range(J[order], self.parts)
        wanted = found or {0: J}  # none, of the right kind
        pick = delayed(_pick)
        stacks = [[pick(X, some, 1) for X in self.blocks[:, n]] for n, some in wanted.items()]
        columns = compute([delayed(stacked)(stack) for stack in stacks])
        if all(map(sp.issparse, columns)):
            X = sp.csc_array(sp.hstack(columns))
        else:
            X = np.hstack([some.toarray() if sp.issparse(some) else some for some in columns])
        return X[:, np.argsort(order, kind="stable")]

    def counts(
        self, cuts: Array, labels: Array, n_labels: int, start: int, stop: int,
        n_jobs: int | None = None,
    ) -> Array:  # fmt: skip
        cut = [(delayed(cuts[part]), n_labels) for part in self.parts]
        counts = self._each_block(_counts, np.add, labels, cut)
        ends = [slice(max(part.start, start), min(part.stop, stop)) for part in self.parts]
        found = compute([
            some[end.start - part.start : end.stop - part.start]
            for some, part, end in zip(counts, self.parts, ends, strict=True)
            if end.start < end.stop
        ])  # fmt: skip
        return np.concatenate(found)

    def select_rows(self, rows: Array) -> "DaskData":
        found = by_range(rows, self.rows)
        blocks, pick = np.take(self.blocks, list(found), axis=0), delayed(_pick)
        chosen = [delayed(some) for some in found.values()]
        for place in np.ndindex(blocks.shape):
            blocks[place] = pick(blocks[place], chosen[place[0]], 0)
        fewer = copy(self)
        fewer.chunks = (tuple(len(some) for some in found.values()), self.chunks[1])
        fewer.rows, fewer.blocks = _ranges(fewer.chunks[0]), _kept(blocks)
        fewer.shape = (len(rows), self.shape[1])
        return fewer

    @property
    def columnwise(self) -> Source:
        raise ValueError(
            f"this needs single columns again and again, which would bring {self} here piece by "
            "piece; make a column store of the data (mmfs.write_store)."
        )

    def _each_block(
        self,
        work: Callable[..., Any],
        join: Callable[[Any, Any], Any],
        V: Array,
        given: list[tuple],
    ) -> list[Any]:
        """For each block of columns what `work` finds in its blocks of rows, joined."""
        vectors = [delayed(np.ascontiguousarray(V[rows])) for rows in self.rows]
        work, merge, out = delayed(work), delayed(fold), []
        for column, some in zip(self.blocks.T, given, strict=True):
            found = [work(X, v, *some) for X, v in zip(column, vectors, strict=True)]
            out.append(found[0] if len(found) == 1 else merge(join, found))
        return out


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


# --- what workers do ----------------------------------------------------------------------------


def _sums(X: Any, V: Array, shifted: bool) -> Sums:
    return in_memory(tidy(X)).sums(V, shifted)


def _products(X: Any, V: Array, origin: Array, fill: Array | None) -> Array:
    return in_memory(tidy(X)).products(V, origin, fill=fill)


def _counts(X: Any, labels: Array, cuts: Array, n_labels: int) -> Array:
    return in_memory(tidy(X)).counts(cuts, labels, n_labels, 0, X.shape[1])


def _pick(X: Any, numbers: Array, axis: int) -> Any:
    """Rows or columns of a block."""
    return tidy(X)[:, numbers] if axis else tidy(X)[numbers]


# --- Dask ---------------------------------------------------------------------------------------


def delayed(what: Any) -> Any:
    return require("dask", "dask", "a Dask array").delayed(what, pure=not callable(what))


def compute(tasks: list[Any]) -> list[Any]:
    return list(require("dask", "dask", "a Dask array").compute(*tasks))


def _persist(tasks: list[Any]) -> list[Any]:
    return list(require("dask", "dask", "a Dask array").persist(*tasks))


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
