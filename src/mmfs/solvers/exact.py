"""The columns of a working set: descent and Newton steps for one gamma, a walk for the largest."""

from typing import Protocol

import numpy as np

from mmfs._compiled import descent as compiled
from mmfs._compiled.active_set import Enough, let_b_fall, newton
from mmfs.kernels import Correlation, FetchedColumns, Similarity, similarities, with_own_output
from mmfs.solvers import tuning
from mmfs.solvers.dcd import Descent, Matrix, clean, of_block, of_gram
from mmfs.solvers.gamma_search import Found, InnerSolver

Array = np.ndarray


class Known(Protocol):
    """What is known of the columns' similarities Q."""

    matrix: Matrix

    def among(self, free: Array) -> Array:
        """Q among some columns."""

    def product(self, alpha: Array, free: Array) -> Array:
        """Q alpha of some columns."""


class OfGram:
    """Q itself."""

    def __init__(self, Q: Array) -> None:
        self.Q = np.ascontiguousarray(Q)  # one compiled signature
        self.matrix = of_gram(self.Q)

    def among(self, free: Array) -> Array:
        return self.Q[np.ix_(free, free)]

    def product(self, alpha: Array, free: Array) -> Array:
        return compiled.gram_product(self.Q, alpha)[free, 0]


class OfEntries:
    """The columns, where they have far fewer entries than Q, and their correlations make it."""

    def __init__(self, Q: Correlation, fetched: FetchedColumns) -> None:
        self.Q, self.fetched = Q, fetched
        self.matrix = of_block(fetched)
        self.U = None if fetched.U is None else with_own_output(fetched.U)

    def among(self, free: Array) -> Array:
        fetched = self.fetched.only(free)
        return self.Q.gram(fetched, fetched)

    def product(self, alpha: Array, free: Array) -> Array:
        fetched = self.fetched.only(free)
        assert fetched.block is not None
        w = fetched.block.operator().T @ self.matrix.state_of(alpha)
        return w[:, 0] if self.U is None else np.einsum("jc,jc->j", w, self.U[free])


def known_of(Q: Similarity, fetched: FetchedColumns) -> Known:
    """Of many columns their entries, if these are few; else their similarities."""
    found = in_columns(Q, fetched) if len(fetched.J) > tuning.NARROW else None
    return found or OfGram(similarities(Q, fetched))


def in_columns(Q: Similarity, fetched: FetchedColumns) -> OfEntries | None:
    """None if they have too many entries, or are not all that makes their similarities."""
    if not isinstance(Q, Correlation) or fetched.block is None or not Q.columns.adjustment.plain:
        return None
    few = min(tuning.COLUMNS_BETTER * len(fetched.J) ** 2, tuning.MOST_ENTRIES)
    return OfEntries(Q, fetched) if fetched.block.stored * Q.width < few else None


class ExactDescent(Descent):
    """Descent, and Newton steps on the face that it has found; given Q itself, a walk along b."""

    def __init__(
        self, known: Known, r: Array, C: float, eps: float, rng: np.random.Generator
    ) -> None:
        super().__init__(known.matrix, r, C, rng)
        self.eps, self.known = eps, known

    @property
    def solver(self) -> InnerSolver:
        return InnerSolver(self.solve, self.follow if isinstance(self.known, OfGram) else None)

    def solve(self, gamma: float, shift: float) -> Array:
        passes, left = tuning.AT_ONCE, tuning.MOST_PASSES
        while left > 0:
            converged = self.run(gamma, shift, self.eps, min(passes, left))
            free = np.flatnonzero((self.alpha > 0) & (self.alpha < self.C))
            limit = tuning.SELDOM_LIMIT if passes >= tuning.SELDOM else tuning.NEWTON_LIMIT
            if len(free) <= (tuning.POLISH_LIMIT if converged else limit):
                self._newton(gamma, shift, free)
            if converged:
                break
            left -= passes
            passes = min(2 * passes, tuning.SELDOM) if len(free) > tuning.NEWTON_LIMIT else passes
        return clean(self.alpha)

    def _newton(self, gamma: float, shift: float, free: Array) -> None:
        """Steps among the free coordinates alone, with what the others leave of r."""
        rest = self.alpha.copy()
        rest[free] = 0.0
        r = self.r[free] - shift - self.known.product(rest, free) - gamma * rest.sum()
        alpha = self.alpha[free]
        newton(np.ascontiguousarray(self.known.among(free) + gamma), r, float(self.C), alpha)
        self.alpha[free] = alpha

    def follow(self, enough: Enough, precision: float) -> Found | None:
        """Let b fall from the first column on until there is enough; None if that fails.

        As it does where there are too many columns, or where Q is not what it should be.
        """
        assert isinstance(self.known, OfGram)
        Q, r_max = self.known.Q, float(self.r.max())
        if r_max <= 0 or enough.n > tuning.FOLLOW_LIMIT:
            return None
        n, *limits = enough._replace(lowest=max(enough.lowest, tuning.LEAST_B * r_max))
        enough = Enough(int(n), *map(float, limits))
        alpha, b, reached, ended = let_b_fall(
            Q, self.r, float(self.C), r_max, enough, float(precision), tuning.FOLLOW_LIMIT,
            100 + 20 * len(self.r),
        )  # fmt: skip
        alpha = clean(alpha)
        left = self.r - compiled.gram_product(Q, alpha)[:, 0] - b
        wrong = np.where(alpha > 0, np.where(alpha < self.C, np.abs(left), -left), left)
        if not ended or not alpha.any() or wrong.max() > max(self.eps, 1e-9 * r_max):
            return None
        self.alpha[:] = alpha
        return Found(alpha, b / float(alpha.sum()), reached)
