"""QPFS: relevance and redundancy in one quadratic programme over weights that sum to one."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigvalsh
from sklearn.utils import check_random_state

from mmfs.base import Data
from mmfs.baselines.base import Baseline
from mmfs.discretize import DISCRETIZATIONS
from mmfs.kernels import FeatureMap, Precomputed
from mmfs.problem import Problem
from mmfs.relevance import correlation
from mmfs.solvers import SumToOne, ranked, solve
from mmfs.validation import COUNT, KEEP, POSITIVE, TASK, Rule, is_name, is_real, one_of
from mmfs.warn import warn_caller

Array = np.ndarray

# Similarities that are held at once: 1.6 GB, and as much again while they are worked on.
MOST_SIMILARITIES = 200_000_000

# Similarities that are computed at a time.
MEASURED_AT_ONCE = 1 << 24

# Eigenvalues below this fraction of the largest are rounding errors.
RANK_ROUNDING = 1e-8

Measure = Callable[[Array], Array]  # similarities of all columns with some


@dataclass(eq=False, repr=False)
class QPFS(Baseline):
    r"""Quadratic programming feature selection (Rodriguez-Lujan et al. 2010).

    .. math:: \min_{x \ge 0,\ 1^\top x = 1}
              \tfrac12 (1-\theta)\, x^\top Q x - \theta\, r^\top x

    with similarities Q between all columns and relevances r. It is the hard-margin case of the
    constrained form of MMFS, and solved as such: exactly, with a certificate. All similarities
    are needed at once, N x N of them (refused beyond 14,142 columns), or N x (rate N) with
    `nystrom`.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        A number, a fraction of all columns, or None for all with a weight above zero.
    similarity : {"mi", "correlation"}, default="mi"
        Mutual information of the columns' states with each other and with the target; or
        absolute correlations, for classes averaged over their indicators by class size.
    theta : float or "auto", default="auto"
        Weight of relevance in (0, 1). "auto" makes both terms equally large on average:
        mean(Q) / (mean(Q) + mean(r)).
    nystrom : float or None, default=None
        Approximate Q from this fraction of its columns, chosen at random.
    discretize : {"three_states", "equal_frequency", "mdl", "nonzero", "as_is"}, \
            default="three_states"
        How values become states, for mutual information: see :mod:`mmfs.discretize`. With "as_is"
        columns may hold categories.
    task : {"auto", "classification", "regression"}, default="auto"
        As in :class:`mmfs.MMFS`. A real target is cut into five states to be counted.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    random_state : int, RandomState instance or None, default=0
        Choice of columns for `nystrom`, and order of coordinate updates.
    keep_scores : bool or "auto", default="auto"
        Whether to keep `scores_`; "auto": for up to 100,000 columns.
    n_jobs : int or None, default=None
        Threads for scans of dense data and compressed columns.
    verbose : int or callable, default=0
        1 reports progress on stderr; a function is told (text, done, total) instead.

    Attributes
    ----------
    indices_ : ndarray
        Selected columns by weight descending, then by gradient, then by index.
    scores_ : ndarray of shape (n_features_in_,)
        The weights x, NaN for constant columns.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected columns.
    theta_ : float
        The theta used.
    shift_ : float
        What was added to the diagonal of Q to make it positive semi-definite: neither mutual
        informations nor absolute correlations need be. A warning says so where it is not 0.
        With `nystrom` negative eigenvalues are left out instead.
    gap_ : float
        Relative duality gap.
    n_scans_ : int
        How often all columns were looked at.

    Notes
    -----
    Of columns that are equal (also in another unit, or mirrored) the first stands for all; the
    others rank last, and so do columns with only one state. Neither counts in the means of
    theta="auto": copies change nothing.
    """

    _rules: ClassVar = {
        "n_features_to_select": COUNT,
        "keep_scores": KEEP,
        "similarity": one_of("mi", "correlation"),
        "theta": Rule(
            lambda v: is_name(v, "auto") or (is_real(v) and 0 < v < 1),
            "'auto' or a number between 0 and 1",
        ),
        "nystrom": Rule(
            lambda v: v is None or (is_real(v) and 0 < v <= 1), "None or a fraction in (0, 1]"
        ),
        "discretize": one_of(*DISCRETIZATIONS),
        "task": TASK,
        "tol": POSITIVE,
    }

    n_features_to_select: int | float | None = None
    _: KW_ONLY
    similarity: str = "mi"
    theta: float | str = "auto"
    nystrom: float | None = None
    discretize: str = "three_states"
    task: str = "auto"
    tol: float = 1e-06
    random_state: Any = 0
    keep_scores: bool | str = "auto"
    n_jobs: int | None = None
    verbose: Any = 0

    def _fit(self, X: Any, y: Any) -> None:
        data, k = self._prepare(X, y, task=self.task)
        rng = check_random_state(self.random_state)
        measure = self._information if self._counts else self._correlation
        similarity_with, relevance, varies = measure(data)
        # Copies are one feature, and a column with one state is as good as constant.
        distinct = data.usable & ~data.repeated(relevance, mirrors=True)
        distinct &= varies if varies.any() else True
        columns = np.flatnonzero(distinct)
        r = relevance[columns]
        Q, mean = self._similarity(similarity_with, columns, r, rng)
        self.theta_ = self._balance(mean, float(r.mean()))
        problem = Problem(Q, self.theta_ / (1 - self.theta_), np.inf)
        solution = solve(
            problem,
            SumToOne(problem.r_max, np.inf),
            tol=self.tol,
            rng=np.random.default_rng(rng.randint(2**31)),
        )
        self.gap_ = solution.certificate.relative_gap
        weights = np.zeros(len(relevance))
        weights[columns[solution.J]] = solution.weights
        wanted = None if k is None else min(k, len(columns))
        indices = columns[ranked(problem, solution, wanted)]
        if k is not None:
            indices = np.append(indices, np.flatnonzero(data.usable & ~distinct))[:k]
        self._keep(data, indices, weights)

    @property
    def _counts(self) -> bool:
        return self.similarity == "mi"

    def _similarity(
        self, similarity_with: Measure, columns: Array, r: Array, rng: np.random.RandomState
    ) -> tuple[Precomputed | FeatureMap, float]:
        """Q, exact or approximate, positive semi-definite; and the mean of what it was before."""
        n_landmarks = self._affordable(len(columns))
        self.shift_ = 0.0
        if self.nystrom is None:
            Q = self._measured(similarity_with, columns, columns)
            mean = float(Q.mean())
            self.shift_ = self._make_positive(Q)
            return Precomputed(Q, r), mean
        landmarks = np.sort(rng.choice(len(columns), n_landmarks, replace=False))
        L = nystrom_map(self._measured(similarity_with, columns, columns[landmarks]), landmarks)
        return FeatureMap(L, r), float(np.sum(L.sum(axis=0) ** 2)) / len(L) ** 2

    def _balance(self, similarity: float, relevance: float) -> float:
        if not isinstance(self.theta, str):
            return float(self.theta)
        if relevance == 0:
            return 0.5  # as good as any
        return min(similarity / (similarity + relevance), 1 - 1e-9)

    def _affordable(self, n: int) -> int:
        """Columns of Q that are needed, if there is room for them."""
        wide = n if self.nystrom is None else int(np.ceil(self.nystrom * n))
        if n * wide > MOST_SIMILARITIES:
            rate = 10.0 ** np.floor(np.log10(MOST_SIMILARITIES / n**2))
            raise ValueError(
                f"QPFS would need {n:,} x {wide:,} similarities, {8 * n * wide / 1e9:,.1f} GB (the "
                f"limit is {8 * MOST_SIMILARITIES / 1e9:.1f}); pass nystrom={rate:g} or less, "
                "select columns with MaxRel first, or use MMFS."
            )
        return wide

    def _measured(self, similarity_with: Measure, rows: Array, columns: Array) -> Array:
        Q = np.empty((len(rows), len(columns)))
        width = max(1, min(64, MEASURED_AT_ONCE // self.n_features_in_))
        for start in range(0, len(columns), width):
            part = slice(start, start + width)
            Q[:, part] = similarity_with(columns[part])[rows]
            self._say(f"similarities of {min(start + width, len(columns)):,} of {len(columns):,}")
        return Q

    def _information(self, data: Data) -> tuple[Measure, Array, Array]:
        states, relevance = self._states(data)
        return states.shared, relevance, states.entropy > 0

    def _correlation(self, data: Data) -> tuple[Measure, Array, Array]:
        columns, target = data.columns, data.target

        def with_columns(J: Array) -> Array:
            return np.abs(columns.correlations(J))

        if target.values is not None or target.several:
            return with_columns, correlation(data.products), data.usable
        indicators = (target.labels[:, None] == np.arange(target.n_labels)).astype(np.float64)
        shares = indicators.mean(axis=0)
        indicators -= shares
        indicators /= np.linalg.norm(indicators, axis=0)
        return with_columns, np.abs(columns.project(indicators)) @ shares, data.usable

    def _make_positive(self, Q: Array) -> float:
        """Add to the diagonal, in place, what Q lacks to be positive semi-definite."""
        diagonal = np.diag_indices(len(Q))
        Q[diagonal] += (noise := RANK_ROUNDING * Q[diagonal].max())
        try:
            cholesky(Q, check_finite=False)
            lowest = 0.0
        except LinAlgError:
            lowest = min(0.0, float(eigvalsh(Q, subset_by_index=[0, 0], check_finite=False)[0]))
        Q[diagonal] -= noise + lowest
        if lowest:
            warn_caller(
                f"the similarities are not positive semi-definite (lowest eigenvalue "
                f"{lowest:.2g}); {-lowest:.2g} was added to their diagonal, as shift_ says."
            )
        return abs(lowest)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not self._counts
        return tags


def nystrom_map(among: Array, landmarks: Array) -> Array:
    """L with L L' = B A^+ B': B holds the similarities with the landmarks, A = B[landmarks]."""
    A = among[landmarks]
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    real = values > RANK_ROUNDING * values.max()
    return among @ (vectors[:, real] / np.sqrt(values[real]))
