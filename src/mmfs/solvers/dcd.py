"""Dual coordinate descent: on a Gram matrix, and on all columns as the paper does it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mmfs._compiled import descent as compiled
from mmfs.columns import SparseBlock
from mmfs.kernels import Correlation, Similarity, Taken, with_own_output
from mmfs.problem import Problem
from mmfs.solvers.aims import Aim, Solver
from mmfs.solvers.solution import Solution
from mmfs.sources import ArraySource, CompressedColumns, StoreRows

Array = np.ndarray

# Multiplications a compiled loop does between two chances to be interrupted.
PORTION = 1 << 26

# Columns for which a whole Gram matrix is still reasonable: 3 GB.
GRAM_LIMIT = 20_000


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
        at_once = max(1, PORTION // max(1, self.Q.work))
        converged = False
        while max_passes > 0 and not converged:
            passes, converged = compiled.dcd(
                self.Q.form, r, diagonal, float(gamma), float(self.C), self.alpha, state, sums,
                self.active, shrink, self.seed, float(eps), min(at_once, max_passes),
            )  # fmt: skip
            max_passes -= passes
            self.n_passes += passes
        return converged


def clean(alpha: Array, relative: float = 1e-9) -> Array:
    """A copy without the traces that rounding leaves where alpha should be zero."""
    return np.where(alpha > relative * alpha.max(initial=0.0), alpha, 0.0)


def plain_dcd(
    problem: Problem, aim: Aim, *, tol: float, max_iter: int, rng: np.random.Generator, **_: Any
) -> Solution:
    """The paper's MMFS-DCD: coordinate descent with shrinking over all columns.

    O(nnz) per pass for the linear and aligned kernels; others need the whole Gram matrix.
    """
    descent = Descent(_over_all_columns(problem.Q, len(problem.r)), problem.r, problem.C, rng)
    scale = max(float(problem.r.max()), np.finfo(float).tiny)
    inner_tol, exhausted = tol, False

    def solve(gamma: float, shift: float) -> Array:
        """Tighten eps until the gap is closed: no eps is right for all data."""
        nonlocal exhausted
        shifted = Problem(problem.Q, problem.r - shift, problem.C)
        eps, limit = 0.1 * scale, descent.n_passes + max_iter
        while True:
            converged = descent.run(gamma, shift, eps, limit - descent.n_passes)
            alpha = clean(descent.alpha)
            J = np.flatnonzero(alpha)
            closed = shifted.judge(problem.Q.take(J), alpha[J], gamma).relative_gap <= inner_tol
            exhausted = not converged
            if closed or exhausted or eps < 1e-14 * scale:
                return alpha
            eps /= 10

    gamma = None
    while True:
        alpha, gamma = aim(Solver(solve), gamma)[:2]
        J = np.flatnonzero(alpha)
        taken = problem.Q.take(J)
        verdict = problem.judge(taken, alpha[J], gamma)
        if verdict.relative_gap <= tol or exhausted or inner_tol < 1e-14:
            return Solution(taken, alpha[J], gamma, verdict, descent.n_passes)
        inner_tol /= 10  # a search was misled by the imprecision of its steps


def _over_all_columns(Q: Similarity, n: int) -> Matrix:
    """The similarities of all n columns."""
    if not isinstance(Q, Correlation):
        if n > GRAM_LIMIT:
            raise ValueError(
                f"solver='dcd' with this kernel needs the similarity of all {n:,} columns with "
                f"each other (the limit is {GRAM_LIMIT:,}); use solver='working_set'."
            )
        everything = Q.take(np.arange(n))
        return of_gram(Q.gram(everything, everything))

    columns, U = Q.columns, _directions(Q.U, n)
    source, facts = columns.source.columnwise, columns.everything
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


def of_block(taken: Taken) -> Matrix:
    """The similarities of columns taken, by their correlations."""
    block, n = taken.block, len(taken.J)
    assert block is not None
    U = _directions(taken.U, n)
    work = block.stored * U.shape[1]
    if isinstance(block, SparseBlock):
        form = compiled.Csc(*block.arrays, np.zeros(n), block.means, np.ones(n), U)
        return Matrix(form, np.ones(n), lambda alpha: block.combine(alpha[:, None] * U), work)
    F = np.ascontiguousarray(block.dense().T)
    dense = compiled.Dense(F, np.zeros(n), np.ones(n), U)
    return Matrix(dense, np.ones(n), lambda alpha: F.T @ (alpha[:, None] * U), work)


def _directions(U: Array | None, n: int) -> Array:
    return np.ones((n, 1)) if U is None else np.ascontiguousarray(with_own_output(U))


def of_gram(Q: Array) -> Matrix:
    form, diagonal = compiled.Gram(Q), np.diagonal(Q).copy()
    return Matrix(form, diagonal, lambda alpha: compiled.gram_product(Q, alpha), Q.size)
