"""Dual coordinate descent: on a Gram matrix, and on all columns as the paper does it."""

from operator import attrgetter
from typing import Any

import numpy as np

from mmfs._compiled import descent as compiled
from mmfs.kernels import Similarity
from mmfs.kernels.copies import repeated_among
from mmfs.kernels.forms import Matrix
from mmfs.problem import NONE, Problem
from mmfs.solvers import tuning
from mmfs.solvers.gamma_search import GammaRule, InnerSolver
from mmfs.solvers.solution import Solution

Array = np.ndarray


class OfGram:
    """Q itself."""

    def __init__(self, Q: Array) -> None:
        self.Q = Q = np.ascontiguousarray(Q)  # one compiled signature
        form, diagonal = compiled.Gram(Q), np.diagonal(Q).copy()
        self.matrix = Matrix(form, diagonal, self._times, Q.size)

    def among(self, free: Array) -> Array:
        return self.Q[free[:, None], free]  # a fifth of the time of np.ix_, for a few

    def product(self, alpha: Array, free: Array) -> Array:
        return self._times(alpha)[free, 0]

    def _times(self, alpha: Array) -> Array:
        """Q alpha, as a matrix of one column; mostly few weigh anything."""
        heavy = np.flatnonzero(alpha)
        return (alpha[heavy] @ self.Q[heavy])[:, None]


class Descent:
    """Coordinate descent with shrinking on one set of columns; it goes on from its own alpha."""

    def __init__(self, Q: Matrix, r: Array, C: float, rng: np.random.Generator) -> None:
        self.Q, self.r, self.C = Q, r, C
        self.alpha = np.zeros(len(r))
        self.active = np.flatnonzero(r > -np.inf)
        self.seed = rng.integers(1, 2**63, size=1).astype(np.uint64)
        self.n_passes = 0

    def run(self, gamma: float, shift: float, eps: float, max_passes: int) -> bool:
        """Until the projected gradient spans at most eps: True; or `max_passes` passes."""
        state = np.ascontiguousarray(self.Q.state_of(self.alpha))  # afresh: no drift builds up
        sums = state.sum(axis=0)
        shrink = np.array([len(self.active), np.inf, -np.inf, self.alpha.sum()])
        r, diagonal = self.r - shift, self.Q.diagonal + gamma
        at_once = max(1, tuning.WORK_AT_ONCE // max(1, self.Q.work))
        converged = False
        while max_passes > 0 and not converged:
            passes, converged = compiled.dcd(
                self.Q.form, r, diagonal, float(gamma), float(self.C), self.alpha, state, sums,
                self.active, shrink, self.seed, float(eps), min(at_once, max_passes),
            )  # fmt: skip
            max_passes -= passes
            self.n_passes += passes
        return converged


def clean(alpha: Array, relative: float = tuning.NO_WEIGHT) -> Array:
    """A copy without the traces that rounding leaves where alpha should be zero."""
    return np.where(alpha > relative * alpha.max(initial=0.0), alpha, 0.0)


def plain_dcd(
    problem: Problem,
    rule: GammaRule,
    *,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    whole: bool = False,
    **_: Any,
) -> Solution:
    """The paper's MMFS-DCD: coordinate descent with shrinking over all columns.

    O(nnz) per pass for the linear and aligned kernels; others need the whole Gram matrix.
    """
    Q, copies = problem.Q, NONE
    r = problem.tau * np.concatenate(Q.ask(attrgetter("relevance")))
    if (keys := Q.fingerprints()) is not None:
        same = repeated_among(r > -np.inf, np.concatenate(keys), r, Q.mirrors)
        copies, r[same] = np.flatnonzero(same), -np.inf
    rule = rule.limited(int((r > -np.inf).sum()))
    descent = Descent(_over_all_columns(Q), r, problem.C, rng)
    scale = max(float(r.max()), np.finfo(float).tiny)
    inner_tol, exhausted = tol, False

    def certify(alpha: Array, gamma: float | None, **how: Any) -> tuple[Any, Any]:
        support = Q.fetch(np.flatnonzero(alpha))
        how |= {"copies": copies}
        return support, problem.certify(support, alpha[support.J], gamma, **how)

    def solve(gamma: float, shift: float) -> Array:
        """Tighten eps until the gap is closed: no eps is right for all data."""
        nonlocal exhausted
        eps, limit = 0.1 * scale, descent.n_passes + max_iter
        while True:
            converged = descent.run(gamma, shift, eps, limit - descent.n_passes)
            alpha = clean(descent.alpha)
            closed = certify(alpha, gamma, shift=shift)[1].relative_gap <= inner_tol
            exhausted = not converged
            if closed or exhausted or eps < 1e-14 * scale:
                return alpha
            eps /= 10

    gamma = None
    while True:
        alpha, gamma = rule(InnerSolver(solve), gamma)[:2]
        n_others = max(tuning.LEAST_ADDED, rule.fewest)
        support, certificate = certify(alpha, gamma, n_others=n_others, whole=whole)
        if certificate.relative_gap <= tol or exhausted or inner_tol < 1e-14:
            weights = alpha[support.J]
            return Solution(support, weights, gamma, certificate, descent.n_passes, copies)
        inner_tol /= 10  # a search was misled by the imprecision of its steps


def _over_all_columns(Q: Similarity) -> Matrix:
    """The similarities of all columns."""
    if (matrix := Q.over_all_columns()) is not None:
        return matrix
    if Q.n_columns > tuning.GRAM_LIMIT:
        raise ValueError(
            f"solver='dcd' with this kernel needs the similarity of all {Q.n_columns:,} columns "
            f"with each other (the limit is {tuning.GRAM_LIMIT:,}); use solver='working_set'."
        )
    everything = Q.fetch(np.arange(Q.n_columns))
    return OfGram(Q.gram(everything, everything)).matrix
