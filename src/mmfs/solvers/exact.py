"""A few columns, solved exactly: descent and Newton steps for one gamma, a walk for the largest."""

import numpy as np

from mmfs._compiled import descent as compiled
from mmfs._compiled.homotopy import Enough, let_b_fall
from mmfs.solvers.aims import Found, Solver
from mmfs.solvers.dcd import Descent, Matrix, clean, of_gram

Array = np.ndarray

# Free coordinates up to which a Newton step is cheaper than the descent it saves.
NEWTON_LIMIT = 500

# Free coordinates up to which it also ends a descent: equal claims then get equal weights.
POLISH_LIMIT = 100

# Support columns up to which a walk from the first on is cheaper than a search for its end; and of
# the largest relevance, the least b that it goes to.
FOLLOW_LIMIT, LEAST = 300, 1e-6


class ExactDescent(Descent):
    """Descent, and Newton steps on the face that it has found; or a walk along b.

    On similarities Q, or on features phi with Q = phi'phi where these are fewer numbers.
    """

    def __init__(
        self, similar: Array, r: Array, C: float, eps: float, rng: np.random.Generator
    ) -> None:
        similar = np.ascontiguousarray(similar)  # one compiled signature
        square = similar.shape[0] == similar.shape[1]
        super().__init__(of_gram(similar) if square else _of_features(similar), r, C, rng)
        self.eps, self.square, self.similar = eps, square, similar

    @property
    def solver(self) -> Solver:
        return Solver(self.solve, self.follow if self.square else None)

    def solve(self, gamma: float, shift: float) -> Array:
        for _ in range(100):
            converged = self.run(gamma, shift, self.eps, 10)
            free = np.flatnonzero((self.alpha > 0) & (self.alpha < self.C))
            if len(free) <= (POLISH_LIMIT if converged else NEWTON_LIMIT):
                self._newton(gamma, shift, free)
            if converged:
                break
        return clean(self.alpha)

    def _newton(self, gamma: float, shift: float, free: Array) -> None:
        """Steps among the free coordinates alone, with what the others leave of r."""
        rest = self.alpha.copy()
        rest[free] = 0.0
        if self.square:
            Q = self.similar[np.ix_(free, free)]
            taken = compiled.gram_product(self.similar, rest)[free, 0]
        else:
            phi = self.similar[:, free]
            Q, taken = phi.T @ phi, phi.T @ (self.similar @ rest)
        r, alpha = self.r[free] - shift - taken - gamma * rest.sum(), self.alpha[free]
        compiled.newton(Q, r, gamma, self.C, alpha, np.arange(len(free)))
        self.alpha[free] = alpha

    def follow(self, enough: Enough, precision: float) -> Found | None:
        """Let b fall from the first column on until there is enough; None if that fails.

        As it does where there are too many columns, or where Q is not what it should be.
        """
        r_max = float(self.r.max())
        if r_max <= 0 or enough.n > FOLLOW_LIMIT:
            return None
        n, *limits = enough._replace(lowest=max(enough.lowest, LEAST * r_max))
        enough = Enough(int(n), *map(float, limits))
        alpha, b, reached, ended = let_b_fall(
            self.similar, self.r, float(self.C), r_max, enough, float(precision), FOLLOW_LIMIT,
            100 + 20 * len(self.r),
        )  # fmt: skip
        alpha = clean(alpha)
        left = self.r - compiled.gram_product(self.similar, alpha)[:, 0] - b
        wrong = np.where(alpha > 0, np.where(alpha < self.C, np.abs(left), -left), left)
        if not ended or not alpha.any() or wrong.max() > max(self.eps, 1e-9 * r_max):
            return None
        self.alpha[:] = alpha
        return Found(alpha, b / float(alpha.sum()), reached)


def _of_features(phi: Array) -> Matrix:
    n = phi.shape[1]
    columns = np.ascontiguousarray(phi.T)
    form = compiled.Dense(columns, np.zeros(n), np.ones(n), np.ones((n, 1)))
    diagonal = np.einsum("ij,ij->i", columns, columns)
    return Matrix(form, diagonal, lambda alpha: (phi @ alpha)[:, None], phi.size)
