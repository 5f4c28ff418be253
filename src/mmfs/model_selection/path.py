"""What is selected as the pressure towards few features, or the price of a violation, falls."""

from dataclasses import replace
from typing import Any

import numpy as np

from mmfs.fit import solver_options
from mmfs.model_selection.base import most_features
from mmfs.per_row import read_per_row
from mmfs.prepare import check_has_path
from mmfs.problem import Problem
from mmfs.selection_path import SelectionPath, gathered
from mmfs.selector import MMFS
from mmfs.solvers import (
    FixedGamma,
    GammaRule,
    Point,
    Stop,
    solve,
    solve_path,
    stops_at,
)
from mmfs.solvers.tuning import POINTS
from mmfs.validation import Rule, is_int, is_real

Array = np.ndarray

# A path over C ends at this fraction of the largest weight that the hard margin gives.
LOWEST_C = 1 / 20


def _is_grid(value: Any) -> bool:
    if is_int(value):
        return bool(value >= 2)
    if not isinstance(value, list | tuple | np.ndarray):
        return False
    return len(value) > 0 and all(is_real(v) and 0 < v < np.inf for v in value)


GRID = Rule(_is_grid, "a whole number of at least 2, or an array of positive numbers")


def mmfs_path(
    X: Any, y: Any = None, *, gammas: Any = None, Cs: Any = None, sample_weight: Any = None,
    covariates: Any = None, **options: Any,
) -> SelectionPath:  # fmt: skip
    """The solutions of `MMFS` along falling gamma or, if `Cs` is given, along falling C.

    All points are solved on the same few columns and certified together, so that fifty of them
    cost about three times as much as one fit.

    Parameters
    ----------
    X, y, sample_weight, covariates
        As for `MMFS.fit`.
    gammas : int, array or None, default=None
        Values of gamma, or how many (None: 50): in equal ratios, from where the second feature
        enters down to `gamma` or, if that is "auto", to what it is for `n_features_to_select`
        features (None: 100, or half as many as there are rows or columns).
    Cs : int, array or None, default=None
        Values of C for a path over C at that gamma, or how many: in equal ratios, from the
        largest weight of the hard margin, where C begins to matter, to a twentieth of it.
    **options
        Parameters of `MMFS`. A `formulation="constrained"` has no path; `keep_scores` does not
        matter, and the solver is always the working set.

    Returns
    -------
    SelectionPath

    Examples
    --------
    >>> from mmfs import mmfs_path
    >>> from mmfs.datasets import make_planted
    >>> X, y, names = make_planted()
    >>> path = mmfs_path(X, y, gammas=[2.0, 0.5, 0.1])
    >>> path.n_support.tolist()
    [3, 7, 8]
    >>> names[path.order[:4]].tolist()
    ['signal 2', 'copy of 1', 'signal 3', 'mirror of 5']
    """
    for name, value in (("gammas", gammas), ("Cs", Cs)):
        if value is not None and not GRID.holds(value):
            raise ValueError(f"{name} must be {GRID.wanted}, got {value!r}.")
    if gammas is not None and Cs is not None:
        raise ValueError("give gammas or Cs, not both; for a path over C, gamma is one number.")
    unknown = set(options) - set(MMFS().get_params())
    if unknown:
        raise TypeError(f"mmfs_path and MMFS have no parameter {min(unknown)!r}.")
    selector = MMFS(**options)
    prepared, rng = selector._prepare(X, y, read_per_row(X, sample_weight, covariates))
    check_has_path(prepared.settings)
    problem, how = prepared.problem, solver_options(prepared.settings, rng)
    k = prepared.number(selector.n_features_to_select)
    rule = prepared.gamma_rule(selector.gamma, most_features(prepared) if k is None else k)
    if Cs is not None:
        points = _over_C(problem, Cs, rule, how)
    elif gammas is None or is_int(gammas):
        last = solve(problem, rule, **how)
        points = solve_path(problem, last, n=gammas or POINTS, **how)
    else:
        points = solve_path(problem, stops_at(np.sort(gammas)[::-1], problem.C), **how)
    return gathered(points, prepared, getattr(selector, "feature_names_in_", None))


def _over_C(problem: Problem, Cs: Any, rule: GammaRule, options: Any) -> list[Point]:
    hard = solve(replace(problem, C=np.inf), rule, **options)
    assert hard.gamma is not None
    if is_int(Cs):
        if len(hard.J) == 0:
            raise ValueError("no feature is relevant, so C matters nowhere; give values of C.")
        largest = float(hard.alpha.max())
        Cs = np.geomspace(largest, LOWEST_C * largest, Cs)
    stops = [Stop(FixedGamma(hard.gamma), float(C)) for C in np.sort(Cs)[::-1]]
    return solve_path(problem, stops, **options)
