"""Plots for notebooks: objects that hold what is shown, and draw it with matplotlib."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mmfs.compare import Comparison, compare
from mmfs.explain import similarities
from mmfs.model_selection import MMFSCV, mmfs_path
from mmfs.names import name_of
from mmfs.optional import require
from mmfs.selection_path import SelectionPath
from mmfs.validation import names_of_columns, read_again

Array = np.ndarray

# Of so many times as many dropped features as are shown, the most relevant ones, the nearest are.
DROPPED_LOOKED_AT = 20

SELECTED, DROPPED = "#2563eb", "#94a3b8"
SERIES = (
    "#2563eb", "#ea580c", "#16a34a", "#9333ea", "#dc2626", "#0891b2", "#ca8a04", "#db2777",
    "#65a30d", "#475569", "#1e3a8a", "#a16207",
)  # fmt: skip


@dataclass
class Display:
    """What all displays share: axes to draw on, kept as `ax_` and `figure_`."""

    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    def _axes(self, ax: Any, **size: Any) -> Any:
        if ax is None:
            pyplot = require("matplotlib.pyplot", "plot", "a plot")
            _, ax = pyplot.subplots(layout="constrained", **size)
        self.ax_, self.figure_ = ax, ax.figure
        return ax


@dataclass
class SelectionDisplay(Display):
    """Relevance against redundancy, which is what the other selected features tell already.

    Selected features with a weight lie below the margin. Above it a feature adds nothing; a dropped
    one below it would, if more were asked for.

    Parameters
    ----------
    frame : DataFrame
        As `MMFS.explain` returns it.
    b, tau : float
        Bias of the selection and weight of relevance: the margin is where
        tau * relevance = redundancy + b.

    Examples
    --------
    >>> from mmfs import MMFS, SelectionDisplay
    >>> from mmfs.datasets import make_planted
    >>> X, y, names = make_planted()
    >>> display = SelectionDisplay.from_estimator(MMFS(6).fit(X, y), X, names=names, plot=False)
    >>> int(display.frame["selected"].sum())
    6
    """

    frame: Any
    b: float
    tau: float

    @classmethod
    def from_estimator(
        cls,
        selector: Any,
        X: Any,
        *,
        n_dropped: int = 200,
        names: Any = None,
        ax: Any = None,
        plot: bool = True,
    ) -> Self:
        """From a fitted `MMFS` (or one that chooses it) and the data of the fit."""
        best = fitted_mmfs(selector)
        frame = best.explain(X, n_dropped=n_dropped, names=names)
        display = cls(frame, best._record.b, best._record.settings.tau)
        return display.plot(ax) if plot else display

    def plot(self, ax: Any = None, *, n_labels: int = 12) -> Self:
        """Draw, with the names of the first `n_labels` selected features."""
        ax = self._axes(ax)
        kept, dropped = self.frame[self.frame["selected"]], self.frame[~self.frame["selected"]]
        ax.scatter(dropped["relevance"], dropped["redundancy"], s=14, c=DROPPED, label="dropped")
        size = 20 + 120 * kept["weight"] / max(kept["weight"].max(), 1e-300)
        ax.scatter(
            kept["relevance"], kept["redundancy"], s=size, c=SELECTED, alpha=0.8, label="selected"
        )
        low, high = margin_line(self)
        ax.plot(*zip(low, high, strict=True), "--", color="#64748b", lw=1, label="margin")
        ordered = kept.sort_values("rank")
        places = ax.transData.transform(ordered[["relevance", "redundancy"]].to_numpy())
        for i in readable(places, n_labels):
            row = ordered.iloc[i]
            place = (row["relevance"], row["redundancy"])
            ax.annotate(str(row.name), place, (5, -3), fontsize=8, textcoords="offset points")
        ax.set(xlabel="relevance", ylabel="redundancy", title="Selected and dropped features")
        ax.legend(frameon=False)
        return self


@dataclass
class SimilarityDisplay(Display):
    """Similarity among selected features and the dropped ones most like them.

    Parameters
    ----------
    names : list of str
        The features, selected ones first.
    similarities : ndarray
        Between them, from -1 to 1.
    n_selected : int
        How many of them are selected.
    """

    names: list[str]
    similarities: Array
    n_selected: int

    @classmethod
    def from_estimator(
        cls,
        selector: Any,
        X: Any,
        *,
        n_selected: int = 20,
        n_dropped: int = 10,
        names: Any = None,
        ax: Any = None,
        plot: bool = True,
    ) -> Self:
        """From a fitted `MMFS` (or one that chooses it) and the data of the fit."""
        best = fitted_mmfs(selector)
        groups, kept = best._record.features, best._record.indices[:n_selected]
        looked_at = np.concatenate([kept, best._record.runners_up[: DROPPED_LOOKED_AT * n_dropped]])
        X = read_again(best, X)
        Q = similarities(best._record, X, looked_at)
        n = len(kept)
        nearest = np.abs(Q[n:, :n]).max(axis=1, initial=0.0)
        shown = np.concatenate([np.arange(n), n + np.argsort(-nearest, kind="stable")[:n_dropped]])
        names = names_of_columns(best, X, names)
        call = partial(name_of, names) if groups is None else groups.name
        words = [str(call(j)) for j in looked_at[shown].tolist()]
        display = cls(words, Q[np.ix_(shown, shown)], n)
        return display.plot(ax) if plot else display

    def plot(self, ax: Any = None) -> Self:
        n = len(self.names)
        ax = self._axes(ax, figsize=(2 + 0.28 * n, 1.5 + 0.28 * n))
        image = ax.imshow(self.similarities, cmap="RdBu_r", vmin=-1, vmax=1)
        ax.set_xticks(range(n), self.names, rotation=90, fontsize=8)
        ax.set_yticks(range(n), self.names, fontsize=8)
        if 0 < self.n_selected < n:
            ax.axhline(self.n_selected - 0.5, color="black", lw=1)
            ax.axvline(self.n_selected - 0.5, color="black", lw=1)
        ax.figure.colorbar(image, ax=ax, label="similarity", shrink=0.8)
        ax.set_title("Selected features, then the nearest dropped")
        return self


@dataclass
class PathDisplay(Display):
    """Weights of features as the pressure towards few of them falls.

    Parameters
    ----------
    path : SelectionPath
        As `mmfs_path` returns it.
    names : array or callable, default=None
        Names of the columns, or a function from column number to name, if the path has none.
    """

    path: SelectionPath
    names: Any = None

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, names: Any = None, ax: Any = None, plot: bool = True, **options: Any
    ) -> Self:
        """The path of `mmfs_path(X, y, **options)`."""
        display = cls(mmfs_path(X, y, **options), names)
        return display.plot(ax) if plot else display

    def name(self, j: int) -> str:
        names = self.path.feature_names if self.names is None else self.names
        return str(name_of(names, j))

    def curves(self, n: int) -> list[tuple[str, Array]]:
        """The n features with the largest weights: name, and weight at each point."""
        alphas = self.path.alphas.tocsr()
        largest = alphas.max(axis=1).toarray().ravel()[self.path.order]
        first = self.path.order[np.sort(np.argsort(-largest, kind="stable")[:n])]
        return [(self.name(j), alphas[[j]].toarray().ravel()) for j in first]

    def plot(self, ax: Any = None, *, n_features: int = 12) -> Self:
        """Draw the weights of so many features."""
        ax = self._axes(ax)
        over_gamma = len(set(self.path.gammas)) > 1
        x = self.path.gammas if over_gamma else self.path.Cs
        for i, (name, alpha) in enumerate(self.curves(n_features)):
            ax.plot(x, alpha, color=SERIES[i % len(SERIES)], label=name)
        ax.set(xscale="log", xlabel="gamma" if over_gamma else "C", ylabel="alpha")
        ax.set_title("Weights along the path")
        ax.invert_xaxis()
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        return self


@dataclass
class ScoresDisplay(Display):
    """Cross-validated score against the number of features.

    Parameters
    ----------
    n_features, mean, error : ndarray
        Numbers of features, mean scores over folds and their standard errors.
    chosen : int or None
        The number that was chosen.
    score_name : str
        What the score is.
    """

    n_features: Array
    mean: Array
    error: Array
    chosen: int | None = None
    score_name: str = "score"

    @classmethod
    def from_estimator(cls, search: MMFSCV, *, ax: Any = None, plot: bool = True) -> Self:
        """From a fitted `MMFSCV`: of each number of features the best gamma."""
        if not isinstance(search, MMFSCV):
            raise TypeError(f"ScoresDisplay shows the scores of an MMFSCV, got {search!r}.")
        check_is_fitted(search, "cv_results_")
        results = search.cv_results_
        numbers = np.unique(results["n_features"])
        mean = results["mean_test_score"]
        best = [max(np.flatnonzero(results["n_features"] == n), key=mean.item) for n in numbers]
        error, chosen = results["se_test_score"][best], search.best_n_features_
        display = cls(numbers, mean[best], error, chosen, search.score_name_)
        return display.plot(ax) if plot else display

    @property
    def chosen_score(self) -> float | None:
        at = np.flatnonzero(self.n_features == self.chosen)
        return float(self.mean[at[0]]) if len(at) else None

    def plot(self, ax: Any = None) -> Self:
        ax = self._axes(ax)
        low, high = self.mean - self.error, self.mean + self.error
        ax.fill_between(self.n_features, low, high, color=SELECTED, alpha=0.15, lw=0)
        ax.plot(self.n_features, self.mean, "o-", color=SELECTED, ms=4)
        if self.chosen is not None:
            ax.axvline(self.chosen, color="#64748b", ls="--", lw=1)
            ax.annotate(f" {self.chosen}", (self.chosen, ax.get_ylim()[0]), fontsize=8)
        ax.set(xscale="log", ylabel=self.score_name)
        _count_axis(ax, self.n_features)
        ax.set_title("Score against the number of features")
        return self


@dataclass
class ComparisonDisplay(Display):
    """Scores of several methods against the number of features.

    Parameters
    ----------
    comparison : Comparison
        As `compare` returns it.
    """

    comparison: Comparison

    @classmethod
    def from_data(
        cls, X: Any, y: Any, *, ax: Any = None, plot: bool = True, **options: Any
    ) -> Self:
        """The outcome of `compare(X, y, **options)`."""
        display = cls(compare(X, y, **options))
        return display.plot(ax) if plot else display

    def plot(self, ax: Any = None) -> Self:
        ax, shown = self._axes(ax), self.comparison
        for i, name in enumerate(shown.scores):
            width = 2.5 if name == "mmfs" else 1.2
            color = SERIES[i % len(SERIES)]
            ax.plot(shown.n_features, shown.mean(name), "o-", ms=3, lw=width, c=color, label=name)
        ax.axhline(shown.baseline, color="#64748b", ls=":", lw=1, label="no features")
        ax.set(xscale="log", ylabel=shown.score_name)
        _count_axis(ax, shown.n_features)
        ax.set_title("Methods compared")
        ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
        return self


def _count_axis(ax: Any, numbers: Array) -> None:
    ax.set_xlabel("features")
    ax.set_xticks(numbers, [str(n) for n in numbers])
    ax.set_xticks([], minor=True)


def fitted_mmfs(selector: Any) -> Any:
    """The MMFS itself, if the selector is one that chooses its number of features."""
    check_is_fitted(selector)
    found = getattr(selector, "best_selector_", selector)
    if not hasattr(found, "explain"):
        raise ValueError(
            f"this plot is of the weights of an MMFS, which {type(selector).__name__} has not; fit "
            "one on what was selected."
        )
    return found


def readable(places: Array, most: int, wide: float = 110, high: float = 13) -> list[int]:
    """Which of some labels, the first ones preferred, can be put at places without overlap."""
    taken: list[int] = []
    for i, place in enumerate(places):
        apart = np.abs(places[taken] - place)
        if len(taken) < most and ((apart[:, 0] > wide) | (apart[:, 1] > high)).all():
            taken.append(i)
    return taken


def margin_line(display: SelectionDisplay) -> tuple[tuple[float, float], tuple[float, float]]:
    """Two points (relevance, redundancy) of the line on which relevance is just enough."""
    ends = display.frame["redundancy"].min(), display.frame["redundancy"].max()
    low, high = ((float((end + display.b) / display.tau), float(end)) for end in ends)
    return low, high
