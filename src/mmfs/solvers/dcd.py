"""Dual coordinate descent: on a Gram matrix, and on all columns as the paper does it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mmfs._compiled import descent as compiled
from mmfs.columns import SparseBlock, repeated
from mmfs.kernels import (
    Correlation,
    FetchedColumns,
    OfColumns,
    Similarity,
    directions,
    with_own_output,
)
from mmfs.problem import Problem
from mmfs.solvers import tuning
from mmfs.solvers.gamma_search import GammaRule, InnerSolver
from mmfs.solvers.solution import Solution
from mmfs.sources import ArraySource, CompressedColumns, StoreRows

Array = np.ndarray


class Matrix(NamedTuple):
    """Q as descent reads it."""

    form: Any  # what the compiled loop reads: Gram, Csc or Dense
    diagonal: Array
    state_of: Callable[[Array], Array]  # what the loop keeps up to date, afresh from alpha
    work: int  # multiplications in a pass


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
    Q, n = problem.Q, problem.Q.n_columns
    r, copies = problem.tau * np.concatenate(Q.ask(_relevance)), np.empty(0, dtype=np.intp)
    if isinstance(Q, OfColumns):
        usable = np.flatnonzero(r > -np.inf)
        keys = Q.columns.fingerprints()[usable]
        copies = usable[repeated(keys, r[usable], usable, Q.mirrors)]
        r[copies] = -np.inf
    rule = rule.limited(int((r > -np.inf).sum()))
    descent = Descent(_over_all_columns(Q, n), r, problem.C, rng)
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


def _over_all_columns(Q: Similarity, n: int) -> Matrix:
    """The similarities of all n columns."""
    if not isinstance(Q, Correlation):
        if n > tuning.GRAM_LIMIT:
            raise ValueError(
                f"solver='dcd' with this kernel needs the similarity of all {n:,} columns with "
                f"each other (the limit is {tuning.GRAM_LIMIT:,}); use solver='working_set'."
            )
        everything = Q.fetch(np.arange(n))
        return of_gram(Q.gram(everything, everything))

    if not Q.columns.adjustment.plain:
        raise ValueError(
            "solver='dcd' takes neither weights nor covariates; use solver='working_set'."
        )
    columns, facts = Q.columns, Q.columns.everything
    source, U = columns.source.columnwise, np.ones((n, 1))
    if Q.aligned:
        U = np.ascontiguousarray(with_own_output(directions(facts.products)))
    form: Any
    if isinstance(source, ArraySource):
        # A copy, unless X is in column order; so is a matrix of compressed rows copied.
        kind = source.X.dtype if source.X.dtype in (np.float32, np.float64) else np.float64
        X = np.ascontiguousarray(source.X.T, dtype=kind)
        form = compiled.Dense(X, facts.center, facts.inverse, U)
        size = X.size
    elif isinstance(source, StoreRows) or not isinstance(source, CompressedColumns):
        raise ValueError(f"solver='dcd' cannot read {source}; use solver='working_set'.")
    else:
        means = facts.center - facts.origin
        form = compiled.Csc(*source.arrays, facts.origin, means, facts.inverse, U)
        size = source.size

    def state_of(alpha: Array) -> Array:
        J = np.flatnonzero(alpha)
        return columns.fetch(J).combine(alpha[J, None] * U[J])

    return Matrix(form, np.ones(n), state_of, size * U.shape[1])


def of_block(fetched: FetchedColumns) -> Matrix:
    """The similarities of fetched columns, by their correlations."""
    block, n = fetched.block, len(fetched.J)
    assert block is not None
    U = np.ones((n, 1))
    if fetched.U is not None:
        U = np.ascontiguousarray(with_own_output(fetched.U))
    work = block.stored * U.shape[1]
    if isinstance(block, SparseBlock):
        form = compiled.Csc(*block.arrays, np.zeros(n), block.means, np.ones(n), U)
        return Matrix(form, np.ones(n), lambda alpha: block.combine(alpha[:, None] * U), work)
    F = np.ascontiguousarray(block.dense().T)
    dense = compiled.Dense(F, np.zeros(n), np.ones(n), U)
    return Matrix(dense, np.ones(n), lambda alpha: F.T @ (alpha[:, None] * U), work)


def _relevance(facts: Any) -> Array:
    return facts.relevance


def of_gram(Q: Array) -> Matrix:
    form, diagonal = compiled.Gram(Q), np.diagonal(Q).copy()
    return Matrix(form, diagonal, lambda alpha: compiled.gram_product(Q, alpha), Q.size)
