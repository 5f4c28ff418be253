"""What every selector shares: reading data in, and giving the selected columns back."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mmfs.columns import Columns
from mmfs.features import data_columns, wishes_of
from mmfs.frames import holds_words
from mmfs.kernels.copies import fingerprint_vectors, repeated_among
from mmfs.per_row import PLAIN, PerRow, class_weights, effective_rows, read_per_row
from mmfs.progress import progress_of
from mmfs.relevance import relevance_of
from mmfs.sources import Elsewhere, Mixed, as_source, elsewhere, is_dask
from mmfs.target import Target, encode_target
from mmfs.validation import Rule, check_columns, check_scanned, read_input

Array = np.ndarray


@dataclass(frozen=True)
class Data:
    """Input as read, after the first scan."""

    X: Any  # an array, compressed columns or rows, or data elsewhere
    y: Array
    columns: Columns
    target: Target
    n_effective: float  # rows, as far as weights and covariates leave them

    @property
    def usable(self) -> Array:
        """Mask of the columns that are not constant."""
        return self.columns.usable

    @property
    def products(self) -> Array:
        """F'Y."""
        return self.columns.everything.products

    def relevance(self, kind: Any, random_state: Any) -> Array:
        """Of every column, by one of RELEVANCES, an array, or a function of (X, y)."""
        return relevance_of(
            kind, self.X, self.y, columns=self.columns, target=self.target,
            random_state=random_state,
        )  # fmt: skip

    def repeated(self, r: Array, mirrors: bool) -> Array:
        """Mask of the usable columns for which an equal one stands."""
        keys = self.columns.project(fingerprint_vectors(len(self.y)))
        return repeated_among(self.usable, keys, r, mirrors)


def first_scan(
    X: Any, y: Array, task: str, center: bool = True, n_jobs: int | None = None,
    per_row: PerRow = PLAIN, class_weight: Any = None,
) -> Data:  # fmt: skip
    """Scan X once: mean and scale of every column, its products with the target."""
    target, known = encode_target(y, task, per_row.weights), per_row
    of_classes = None
    if class_weight is not None:
        of_classes = class_weights(y, target, per_row, class_weight)
        weights = of_classes if per_row.weights is None else of_classes * per_row.weights
        known = replace(per_row, weights=weights)
    adjustment = known.adjustment(len(target.Y), center)
    columns = Columns(as_source(X), adjustment=adjustment, n_jobs=n_jobs)
    target = target.adjusted(adjustment)
    columns.first_scan(target.Y)
    n_rows = effective_rows(len(target.Y), per_row.weights, of_classes) - adjustment.n_covariates
    return Data(X, y, columns, target, n_rows)


class Few(NamedTuple):
    """Values of some columns; that of all others is 0."""

    J: Array
    values: Array


class PerColumn:
    """An attribute with a value for every column.

    A selector remembers it by its name in `_per_column`: as an array, as a `Few`, from which it is
    made when it is asked for, or as None where it was not to be kept.
    """

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name

    def __get__(self, selector: Any, owner: Any = None) -> Any:
        if selector is None:
            return self
        check_is_fitted(selector)
        kept = selector._per_column[self.name]
        if kept is None:
            raise AttributeError(
                f"{self.name} was not kept for {selector.n_features_in_:,} columns; fit with "
                "keep_scores=True."
            )
        if not isinstance(kept, Few):
            return kept
        values = np.zeros(selector.n_features_in_)
        values[kept.J] = kept.values
        return values


class Selector(SelectorMixin, BaseEstimator):
    """A scikit-learn selector that knows the rank of what it selected, `indices_`."""

    _rules: ClassVar[dict[str, Rule]]  # of its parameters
    n_jobs: int | None
    verbose: Any
    indices_: Array
    n_features_in_: int
    _per_column: dict[str, Any]  # see `PerColumn`

    def fit(self, X: Any, y: Any = None) -> Self:
        """Select features. If that fails, for whatever reason, the selector is what it was before.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix, Dask array or DataFrame, Store or RowStream
            The data, of shape (n_instances, n_features); or the folder of a column store.
        y : array of shape (n_instances,) or, for some methods, (n_instances, n_outputs)
            Class labels of any type, or real values.

        Returns
        -------
        self
        """
        with self._or_as_before():
            self._fit(X, y)
        return self

    @contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """A fit that fails, for whatever reason, leaves the selector what it was."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    @abstractmethod
    def _fit(self, *data: Any, **how: Any) -> Any:
        """From X and y set `indices_`, and whatever else is to be known of the fit."""

    def _read(
        self, X: Any, y: Any, how: Any = None, per_row: PerRow = PLAIN, **options: Any
    ) -> Data:
        """X and y after the first scan, read as a selector `how` would read them."""
        how = self if how is None else how
        task = options.get("task", getattr(how, "task", "auto"))
        center = options.get("center", getattr(how, "center", True))
        asked = "auto" if task == "classes" else task
        categories = "features" if hasattr(how, "feature_groups") else None
        if categories is None and getattr(how, "takes_codes", False):
            categories = "codes"
        out = getattr(how, "exclude", None)
        X, y, known = read_input(self, X, y, True, asked, categories, out)
        if task == "classes" and known == "survival":
            raise ValueError(f"{type(self).__name__} is for classes, but y holds censored times.")
        task = task if task == "classes" else known
        class_weight = getattr(how, "class_weight", None)
        data = first_scan(X, y, task, center, self.n_jobs, per_row, class_weight)
        names = getattr(self, "feature_names_in_", None)
        if out is not None:
            wishes = wishes_of(how, names, data.columns.source)
            data.columns.leave_out(data_columns(wishes.excluded, wishes.features))
        missing = getattr(how, "missing", "refuse")
        check_scanned(data.columns, self.n_features_in_, names, missing=missing)
        return data

    def _say(self, text: str, done: float | None = None, total: float | None = None) -> None:
        if tell := progress_of(self.verbose):
            tell(text, done, total)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.indices_] = True
        return mask

    @property
    def support_(self) -> Array:
        return self._get_support_mask()

    def transform(self, X: Any) -> Any:
        """X reduced to the selected columns, in their original order.

        Compressed columns stay compressed columns, and so do those of a store; Dask collections,
        and frames with columns of categories, stay what they are; what else goes in comes out as
        scikit-learn's selectors would have it.
        """
        check_is_fitted(self)
        if is_dask(X):
            check_columns(self, X)
            chosen = np.sort(self.indices_)
            return X.iloc[:, chosen] if hasattr(X, "iloc") else X[:, chosen]
        if isinstance(X, Mixed):
            return X[:, np.sort(self.indices_)]
        if holds_words(X):
            validate_data(self, X, reset=False, skip_check_array=True)
            return _safe_indexing(X, np.sort(self.indices_), axis=1)
        X = elsewhere(X)
        if isinstance(X, Elsewhere):
            check_columns(self, X)
            return X.fetch(np.sort(self.indices_))
        if getattr(X, "format", None) != "csc":
            return super().transform(X)
        holes = get_tags(self).input_tags.allow_nan
        finite: Any = "allow-nan" if holes else True
        X = validate_data(
            self, X, dtype=None, accept_sparse="csc", reset=False, ensure_all_finite=finite
        )
        return X[:, np.sort(self.indices_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class WeightedSelector(Selector):
    """A selector whose rows may count differently, and that can look beyond covariates."""

    def fit(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, covariates: Any = None
    ) -> Self:
        """Select features. If that fails, for whatever reason, the selector is what it was before.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix, Dask array or DataFrame, Store or RowStream
            The data, of shape (n_instances, n_features); or the folder of a column store.
        y : array of shape (n_instances,) or, for some methods, (n_instances, n_outputs)
            Class labels of any type, or real values.
        sample_weight : array of shape (n_instances,), default=None
            How much each row counts: a row of weight 2 is the same as two such rows, one of weight
            0 as none. Whole numbers count rows; of other weights the scale does not matter.
        covariates : array or DataFrame of shape (n_instances, d), default=None
            What is known anyway (age, sex, batch): features are selected for what they tell
            beyond it. Columns of numbers are taken as they are, others as categories.

        Returns
        -------
        self
        """
        return self._fit_with(X, y, sample_weight=sample_weight, covariates=covariates)

    def _fit_with(self, X: Any, y: Any, **how: Any) -> Self:
        with self._or_as_before():
            self._fit(X, y, **self._how(X, **how))
        return self

    def _how(self, X: Any, sample_weight: Any = None, covariates: Any = None) -> dict[str, Any]:
        """What `_fit` is to be told beside X and y."""
        return {"per_row": read_per_row(X, sample_weight, covariates)}
