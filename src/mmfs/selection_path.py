"""What is selected as the pressure towards few features falls: solutions, one after the other."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from mmfs.prepared import PreparedProblem
from mmfs.solvers import Point, order_of_entry

Array = np.ndarray


@dataclass(frozen=True)
class SelectionPath:
    """Solutions at n points, from few features to many.

    Attributes
    ----------
    gammas, Cs : ndarray of shape (n,)
        Where the points are.
    b, n_support, gaps, objectives : ndarray of shape (n,)
        The bias (what relevance less redundancy must exceed to enter), the number of support
        features, the relative duality gap over all columns and the objective of each.
    alphas : sparse array of shape (n_features, n)
        The weights.
    order, entered : ndarray
        Columns in the order they enter the support, those that enter together by weight; and at
        which point each does.
    feature_names : ndarray or None
        Names of the columns of X, if it has any; of features, where these have several columns.
    n_scans : int
        How often all columns were looked at.
    """

    gammas: Array
    Cs: Array
    b: Array
    n_support: Array
    gaps: Array
    objectives: Array
    alphas: sp.csc_array
    order: Array
    entered: Array
    feature_names: Array | None
    n_scans: int

    def __len__(self) -> int:
        return len(self.gammas)

    def __repr__(self) -> str:
        return (
            f"<SelectionPath of {len(self)} points: gamma {self.gammas[0]:.3g} to "
            f"{self.gammas[-1]:.3g}, C {self.Cs[0]:.3g} to {self.Cs[-1]:.3g}, "
            f"{self.n_support[0]} to {self.n_support[-1]} support features>"
        )


def gathered(points: list[Point], prepared: PreparedProblem, names: Array | None) -> SelectionPath:
    def each(name: str) -> Array:
        return np.array([getattr(point, name) for point in points])

    features = prepared.features
    n_support = np.array([len(point.J) for point in points])
    order, entered = order_of_entry(points)
    order = prepared.original(order)
    alphas = sp.csc_array(
        (
            np.concatenate([prepared.weights(point.J, point.alpha) for point in points]),
            prepared.original(np.concatenate([point.J for point in points])),
            np.concatenate([[0], np.cumsum(n_support)]),
        ),
        shape=(prepared.n_features, len(points)),
    )
    return SelectionPath(
        gammas=each("gamma"),
        Cs=each("C"),
        b=each("b"),
        n_support=n_support,
        gaps=each("relative_gap"),
        objectives=each("objective"),
        alphas=alphas,
        order=order,
        entered=entered,
        feature_names=names if features is None else np.array(features.names, dtype=object),
        n_scans=prepared.n_scans,
    )
