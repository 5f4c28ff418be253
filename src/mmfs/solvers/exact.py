"""The columns of a working set: descent and Newton steps for a gamma, homotopy for the largest."""

from contextlib import suppress

import numpy as np
from scipy.linalg.lapack import dposv

from mmfs._compiled.active_set import DEPENDENT, Enough, homotopy, newton
from mmfs.kernels import FetchedColumns, Similarity
from mmfs.kernels.forms import Known
from mmfs.solvers import tuning
from mmfs.solvers.dcd import Descent, OfGram, clean
from mmfs.solvers.gamma_search import Found, InnerSolver

Array = np.ndarray


def known_of(Q: Similarity, fetched: FetchedColumns) -> Known:
    """Of many columns their entries, if these are few; else their similarities."""
    return by_entries(Q, fetched) or OfGram(Q.among(fetched))


def by_entries(Q: Similarity, fetched: FetchedColumns) -> Known | None:
    """None if there are not many columns, or too many entries."""
    n = len(fetched.J)
    most = min(tuning.COLUMNS_BETTER * n**2, tuning.MOST_ENTRIES)
    enough = tuning.FOLLOWED if Q.rank <= tuning.FOLLOW_LIMIT else tuning.NARROW
    return Q.by_entries(fetched, most) if n > enough else None


def factor(Q: Array) -> Array:
    """The Cholesky factor of a large Q by LAPACK; no rows where some depend on those before."""
    if len(Q) >= tuning.LARGE_FACTOR:
        with suppress(np.linalg.LinAlgError):
            L = np.linalg.cholesky(Q)
            if (np.diagonal(L) ** 2 > DEPENDENT * np.diagonal(Q)).all():
                return np.asarray(L)
    return np.empty((0, 0))


class ExactDescent(Descent):
    """Descent, and Newton steps on the face that it has found; given Q itself, homotopy in b."""

    def __init__(
        self, known: Known, r: Array, C: float, eps: float, rng: np.random.Generator,
        rank: int | None = None,
    ) -> None:  # fmt: skip
        """`rank` of Q, at most, if that is known."""
        super().__init__(known.matrix, r, C, rng)
        self.eps, self.known, self.rank = eps, known, len(r) if rank is None else rank

    @property
    def solver(self) -> InnerSolver:
        return InnerSolver(self.solve, self.follow if isinstance(self.known, OfGram) else None)

    def solve(self, gamma: float, shift: float) -> Array:
        passes, left = tuning.AT_ONCE, tuning.MOST_PASSES
        while left > 0:
            converged = self.run(gamma, shift, self.eps, min(passes, left))
            free = np.flatnonzero((self.alpha > 0) & (self.alpha < self.C))
            limit = tuning.POLISH_LIMIT if converged else tuning.NEWTON_LIMIT
            if passes >= tuning.SELDOM and not converged:  # more than the rank depend on each other
                limit = max(limit, min(self.rank, tuning.SELDOM_LIMIT))
            if len(free) <= limit:
                self._newton(gamma, shift, free)
            if converged:
                break
            left -= passes
            passes = min(2 * passes, tuning.SELDOM) if len(free) > tuning.NEWTON_LIMIT else passes
        return clean(self.alpha)

    def adjust(self, gamma: float) -> Array:
        """`solve` after others have lost their weight: mostly one step, or a few, will do."""
        if len(self.active) <= tuning.NEWTON_LIMIT:
            if self._step_inside(gamma):
                return clean(self.alpha)
            self._newton(gamma, 0.0, np.flatnonzero((self.alpha > 0) & (self.alpha < self.C)))
        return self.solve(gamma, 0.0) if self._violated(gamma) else clean(self.alpha)

    def _step_inside(self, gamma: float) -> bool:
        """Whether no active coordinate meets a bound; then one step, by LAPACK, is all there is."""
        Q = self.known.among(self.active)
        Q += gamma
        L, alpha, failed = dposv(Q.T, self.r[self.active])  # transposed: LAPACK's order
        if failed or (np.diagonal(L) ** 2 <= DEPENDENT * np.diagonal(Q)).any():
            return False
        inside = bool(alpha.min() > 0.0 and alpha.max() < self.C)
        if inside:
            self.alpha[self.active] = alpha
        return inside

    def _violated(self, gamma: float) -> bool:
        alpha, J = self.alpha[self.active], self.active
        G = self.known.product(self.alpha, J) + gamma * alpha.sum() - self.r[J]
        wrong = np.where(alpha > 0, np.where(alpha < self.C, np.abs(G), G), -G)
        return bool(wrong.max(initial=0.0) > self.eps)

    def _newton(self, gamma: float, shift: float, free: Array) -> None:
        """Steps among the free coordinates alone, with what the others leave of r."""
        r, rest = self.r[free] - shift, self.alpha.copy()
        rest[free] = 0.0
        if rest.any():
            r -= self.known.product(rest, free) + gamma * rest.sum()
        alpha = self.alpha[free]
        Q = np.ascontiguousarray(self.known.among(free) + gamma)
        newton(Q, r, float(self.C), alpha, factor(Q))
        self.alpha[free] = alpha

    def follow(self, enough: Enough, precision: float) -> Found | None:
        """Let b fall from the first column on until there is enough; None if that fails.

        As it does where there are too many columns, or where Q is not what it should be.
        """
        assert isinstance(self.known, OfGram)
        Q, r_max = self.known.Q, float(self.r.max())
        if r_max <= 0 or min(enough.n, self.rank) > tuning.FOLLOW_LIMIT:
            return None
        n, *limits = enough._replace(lowest=max(enough.lowest, tuning.LEAST_B * r_max))
        enough = Enough(int(n), *map(float, limits))
        alpha, b, reached, ended = homotopy(
            Q, self.r, float(self.C), r_max, enough, float(precision), tuning.FOLLOW_LIMIT,
            tuning.MORE_KNOTS + tuning.KNOTS * len(self.r),
        )  # fmt: skip
        alpha = clean(alpha)
        left = self.r - self.known.product(alpha, np.arange(len(alpha))) - b
        wrong = np.where(alpha > 0, np.where(alpha < self.C, np.abs(left), -left), left)
        allowed = max(self.eps, tuning.HOMOTOPY_PRECISION * r_max)
        if not ended or not alpha.any() or wrong.max() > allowed:
            return None
        self.alpha[:] = alpha
        return Found(alpha, b / float(alpha.sum()), reached)
