"""Data as read from a file: a matrix, a target, and the names of things."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate
from typing import Any, NamedTuple

import numpy as np

from mmfs.errors import Parameter
from mmfs.io.streams import FileProblem
from mmfs.optional import require

Array = np.ndarray


@dataclass(frozen=True)
class Table:
    """Instances as rows, features as columns.

    Attributes
    ----------
    X : ndarray, csr_array, csc_array, Store or RowStream
        The features.
    y : ndarray or None
        The target.
    feature_names, row_names : ndarray of str, or None
        Names of columns and rows, if the file has any.
    target_name : str or None
        What the target is called there.
    groups : ndarray or None
        Group of each row, for cross-validation (in svmlight files the qid).
    numbered_from : int
        Number of the first column, where columns have numbers for names.
    left_out : tuple of str
        Columns of the file that are neither: text where only numbers were wanted, or other
        columns of obs.
    assumed : tuple of str
        What was taken for granted in reading, in words.
    weights : ndarray or None
        How much each row counts.
    covariates : dict of ndarray, or None
        What is to be taken out, by name.
    censored : bool
        Whether y holds events and times.
    beside : dict of ndarray
        Columns of the file that were asked for, and are none of these.
    """

    X: Any
    y: Array | None = None
    feature_names: Array | None = None
    row_names: Array | None = None
    target_name: str | None = None
    groups: Array | None = None
    numbered_from: int = 0
    left_out: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    weights: Array | None = None
    covariates: dict[str, Array] | None = None
    censored: bool = False
    beside: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # As objects: an array of text is as wide as its longest name.
        for which in ("feature_names", "row_names"):
            names = getattr(self, which)
            if names is not None and getattr(names, "dtype", None) != np.dtype(object):
                object.__setattr__(self, which, np.array(list(map(str, names)), dtype=object))

    @property
    def data(self) -> Any:
        """X for selectors: a DataFrame, without a copy, where columns are dense and named."""
        if self.feature_names is None or not isinstance(self.X, np.ndarray):
            return self.X
        pandas = require("pandas", "explain", "a table with names")
        return pandas.DataFrame(self.X, columns=self.feature_names, copy=False)

    @property
    def given(self) -> dict[str, Any]:
        """What a `fit` is to be told of the rows, beside y."""
        known: dict[str, Any] = {}
        if self.weights is not None:
            known["sample_weight"] = self.weights
        if self.covariates is not None:
            pandas = require("pandas", "explain", "covariates")
            index = self.data.index if hasattr(self.data, "index") else None
            known["covariates"] = pandas.DataFrame(self.covariates, index=index)
        return known

    def rows(self, which: Array) -> "Table":
        """A table of some of the rows."""

        def some(values: Any) -> Any:
            return None if values is None else values[which]

        covariates = self.covariates
        if covariates is not None:
            covariates = {name: values[which] for name, values in covariates.items()}
        return replace(
            self, X=self.X[which], y=some(self.y), row_names=some(self.row_names),
            groups=some(self.groups), weights=some(self.weights), covariates=covariates, beside={},
        )  # fmt: skip

    def name(self, column: int) -> str:
        """What a column is called; its number, if it has no name."""
        if self.feature_names is None:
            return str(column + self.numbered_from)
        return str(self.feature_names[column])

    def column(self, name: str) -> int:
        """The column called so."""
        if self.feature_names is None:
            column = int(name) - self.numbered_from if name.isdecimal() else -1
            if not 0 <= column < self.X.shape[1]:
                last = self.X.shape[1] - 1 + self.numbered_from
                raise FileProblem(
                    f"there is no feature {name!r}; features have no names here, but numbers from "
                    f"{self.numbered_from} to {last:,}."
                )
            return column
        return position(name, self.feature_names, "feature")

    def take(self, columns: Any) -> "Table":
        """A table of some of the columns."""
        names = np.array([self.name(j) for j in columns], dtype=object)
        return replace(self, X=self.X[:, columns], feature_names=names)


def without_formulas(table: Table) -> Table:
    """A table none of whose texts a spreadsheet would run as a formula: ' comes before it."""

    def plain(texts: Array | None) -> Array | None:
        if texts is None or getattr(texts, "dtype", np.dtype(object)).kind not in "OU":
            return texts
        return np.array([without_formula(text) for text in texts], dtype=object)

    name = table.target_name and without_formula(table.target_name)
    names = np.array([table.name(j) for j in range(table.X.shape[1])], dtype=object)
    return replace(
        table, y=plain(table.y), feature_names=plain(names), row_names=plain(table.row_names),
        target_name=name,
    )  # fmt: skip


def without_formula(text: Any) -> Any:
    starts = isinstance(text, str) and text.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{text}" if starts else text


class NoSuchName(FileProblem):
    """Something is not in a file."""


class Wanted(NamedTuple):
    """Which parts of a file are wanted."""

    target: str | None = None
    groups: str | None = None
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    features: bool = True  # or only target and groups
    numbers_only: bool = False  # leave out what does not hold numbers
    number_duplicates: bool = False  # call columns of one name a, a.1, a.2
    beside: Sequence[str] = ()  # columns that are told apart from the features

    def unfiltered(self) -> "Wanted":
        return self._replace(include=(), exclude=())

    @property
    def labels(self) -> list[str]:
        named = [name for name in (self.target, self.groups) if name is not None]
        return list(dict.fromkeys([*named, *self.beside]))

    def mask(self, names: Sequence[str]) -> Array:
        """Which of the columns called so are to be features."""
        if not self.features:
            return np.zeros(len(names), dtype=bool)
        keep = self._matching(names, self.include) if self.include else np.full(len(names), True)
        if self.exclude:
            keep &= ~self._matching(names, self.exclude)
        if not keep.any():
            raise FileProblem("no column is left to select from; check what you include, exclude.")
        return keep

    def _matching(self, names: Sequence[str], patterns: Sequence[str]) -> Array:
        found = np.zeros(len(names), dtype=bool)
        for pattern in patterns:
            here = np.array([name == pattern for name in names])
            if not here.any():
                matches = re.compile(translate(pattern)).match
                here = np.array([matches(name) is not None for name in names])
            if not here.any():
                each = "; give each name by itself." if "," in pattern else _nearest(pattern, names)
                raise FileProblem(f"no column is called {pattern!r}{each}")
            found |= here
        return found


def position(name: str, names: Sequence[str] | Array, what: str) -> int:
    """Where a name is among others, or one sentence with the nearest."""
    where = np.flatnonzero(np.asarray(names) == name)
    if len(where) == 0:
        raise NoSuchName(f"there is no {what} {name!r}{_nearest(name, names)}")
    return int(where[0])


def unique_names(names: Any, path: Any, numbered: bool) -> list[str]:
    """Names, of which none may occur twice; unless they are to be numbered: a, a.1, a.2."""
    if len(set(names)) == len(names):
        return list(names)
    if not numbered:
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise FileProblem(
            f"{path} has several columns called {twice!r}; rename them, or have them numbered by ",
            Parameter("number_duplicates", True),
            ".",
        )
    taken, counts, result = set(names), Counter[str](), []
    for name in names:
        new = name
        while counts[name] and new in taken:
            new = f"{name}.{counts[name]}"
            counts[name] += 1
        counts[name] = counts[name] or 1
        taken.add(new)
        result.append(new)
    return result


def _nearest(name: str, names: Any) -> str:
    near = difflib.get_close_matches(name, [str(n) for n in names[:100_000]], n=1)
    return f"; did you mean {near[0]!r}?" if near else "."
