"""How many features, by an information criterion: one path, no cross-validation."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from mmfs.errors import InputError, Parameter
from mmfs.fit import solver_options
from mmfs.model_selection.base import SELECTOR, Chooser, most_features
from mmfs.prepared import PreparedProblem
from mmfs.problem import NONE
from mmfs.selector import MMFS
from mmfs.solvers import Point, solve, solve_path
from mmfs.validation import Rule, is_int, is_name, one_of

Array = np.ndarray

# A sum of squares below this is zero.
LEAST_RSS = 1e-12


@dataclass(eq=False, repr=False)
class MMFSIC(Chooser):
    """MMFS with gamma, and so the number of features, chosen by BIC or EBIC along its path.

    With the aligned kernel MMFS is penalised least squares. For M rows, q outputs (one, or classes
    less one), k support features, and the sum of squares RSS that least squares without a penalty
    leaves of the target when it may use these features, the criterion is

        M q log(RSS / (M q)) + q k log(M)        "bic"
        ... + 2 log(N choose k)                  "ebic", for the N columns there were to choose from

    Parameters
    ----------
    criterion : {"ebic", "bic"}, default="ebic"
        BIC takes too many features where there are far more columns than rows.
    max_features : int or None, default=None
        The most features to choose, and never more than half as many as there are rows. None:
        100, or half as many as there are columns.
    selector : MMFS or None, default=None
        Other options of the selection. Its kernel must be "aligned", its relevance "correlation",
        its theta 0.5 and its formulation "squared_bias": no other is a least squares problem.
    n_jobs : int or None, default=None
        Threads for scans of the data.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    best_selector_ : MMFS
        The chosen selector.
    best_n_features_, best_gamma_
        What was chosen.
    criterion_, gammas_, n_support_ : ndarray
        The criterion along the path (inf where there are more features than may be), with gamma
        and the number of support features.
    indices_, support_, n_features_in_, feature_names_in_
        As in `MMFS`.

    Examples
    --------
    >>> from mmfs import MMFSIC
    >>> from mmfs.datasets import make_planted
    >>> X, y, names = make_planted()
    >>> MMFSIC().fit(X, y).best_n_features_
    6
    """

    _rules: ClassVar = {
        "criterion": one_of("ebic", "bic"),
        "max_features": Rule(
            lambda v: v is None or (is_int(v) and v >= 1), "a whole number of at least 1, or None"
        ),
        "selector": SELECTOR,
    }

    criterion: str = "ebic"
    _: KW_ONLY
    max_features: int | None = None
    selector: MMFS | None = None
    n_jobs: int | None = None
    verbose: Any = 0

    def _check_options(self, selector: MMFS) -> None:
        super()._check_options(selector)
        fixed = {
            "kernel": "aligned",
            "relevance": "correlation",
            "formulation": "squared_bias",
        }
        for name, value in fixed.items():
            if not is_name(getattr(selector, name), value):
                raise ValueError(
                    f"MMFSIC needs a least squares problem, which takes {name}={value!r}; use "
                    f"MMFSCV to choose with {name}={getattr(selector, name)!r}."
                )
        if selector.budget is not None:
            raise InputError(
                "MMFSIC chooses how many features by the criterion alone; leave ",
                Parameter("budget"), " None, or take MMFS or MMFSCV.",
            )  # fmt: skip
        if selector.theta != 0.5:
            raise ValueError(
                f"MMFSIC needs theta=0.5, got {selector.theta}; use MMFSCV to choose with another."
            )

    def _choose(
        self, prepared: PreparedProblem, rng: np.random.Generator, **_: Any
    ) -> dict[str, Any]:
        problem, options = prepared.problem, solver_options(prepared.settings, rng)
        most = most_features(prepared) if self.max_features is None else self.max_features
        most = max(1, min(most, int(prepared.n_effective / 2)))
        last = solve(problem, prepared.support_rule(most), **options)
        points = solve_path(problem, last, **options)
        self.gammas_ = np.array([point.gamma for point in points])
        self.n_support_ = np.array([len(point.J) for point in points])
        self.criterion_ = np.where(
            self.n_support_ <= max(most, 1), self._values(prepared, points), np.inf
        )
        return {"gamma": float(self.gammas_[np.argmin(self.criterion_)])}

    def _values(self, prepared: PreparedProblem, points: list[Point]) -> Array:
        n_rows, q, n_columns = prepared.n_effective, prepared.n_outputs, prepared.n_usable
        J, columns = np.unique(np.concatenate([point.J for point in points])), prepared.columns
        parts = prepared.members(J)  # the columns of every feature, and how many tell something
        block = columns.fetch(np.concatenate([NONE, *(some for some, _ in parts)]))
        ends = np.cumsum([0, *(len(some) for some, _ in parts)])
        R, P = block.gram(block), block.facts.products  # F'F and F'Y
        values = np.empty(len(points))
        for t, point in enumerate(points):
            chosen, k = np.searchsorted(J, point.J), len(point.J)
            i = np.concatenate([NONE, *(np.arange(*ends[c : c + 2]) for c in chosen.tolist())])
            freedom = sum(parts[c][1] for c in chosen.tolist())
            # What least squares leaves of the target, whose squares sum to q.
            rss = q - np.sum(P[i] * np.linalg.lstsq(R[np.ix_(i, i)], P[i], rcond=None)[0])
            values[t] = n_rows * q * np.log(max(rss, LEAST_RSS) / (n_rows * q))
            values[t] += q * freedom * np.log(n_rows)
            if self.criterion == "ebic":
                chosen, left = gammaln(k + 1), gammaln(n_columns - k + 1)
                values[t] += 2 * (gammaln(n_columns + 1) - chosen - left)
        return values
