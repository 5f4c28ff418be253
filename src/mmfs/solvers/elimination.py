"""Which of the support features to keep: give up the lightest, weigh the others again, and so on.

A weight is that of a feature among all the others. Of two that share what they tell, both may be
light; once one is given up, the other takes its part. So weights that are found again after every
few features given up tell better what to keep than those of the first solution alone.
"""

import numpy as np

from mmfs.kernels import Taken
from mmfs.problem import Problem
from mmfs.solvers.dcd import GRAM_LIMIT
from mmfs.solvers.exact import ExactDescent, OfGram
from mmfs.solvers.solution import by_weight

Array = np.ndarray

# Of the features left, so many are given up at once (at least one); precision of the weights.
SHARE, PRECISION = 0.1, 1e-6


def order_of_elimination(
    problem: Problem, taken: Taken, alpha: Array, gamma: float, rng: np.random.Generator
) -> Array:
    """The support columns of a solution, last given up first."""
    J = taken.J
    if len(taken.J) > GRAM_LIMIT:
        raise ValueError(
            f"rank='elimination' is for at most {GRAM_LIMIT:,} support features, here are "
            f"{len(taken.J):,}; raise gamma, or use rank='alpha'."
        )
    Q, r, eps = problem.Q.gram(taken, taken), problem.r[J], PRECISION * problem.r.max()
    left, weights, given_up = np.arange(len(J)), alpha.copy(), []
    while len(left) > 1:
        descent = ExactDescent(OfGram(Q[np.ix_(left, left)]), r[left], problem.C, eps, rng)
        descent.alpha[:] = weights[left]
        weights[left] = descent.solve(gamma, 0.0)
        gradient = Q[left] @ weights + gamma * weights.sum() - r[left]
        ordered = by_weight(left, weights[left], gradient)
        n = max(1, int(SHARE * len(left)))
        given_up.append(ordered[-n:])
        weights[ordered[-n:]] = 0.0
        left = np.sort(ordered[:-n])
    return J[np.concatenate([left, *given_up[::-1]])]
