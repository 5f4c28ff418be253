"""Which of the support features to keep, and what they weigh among themselves.

A weight is that of a feature among all the others. Of two that share what they tell, both may be
light; once one is given up, the other takes its part. So the lightest are given up, the others
weighed again, and so on: that tells better what to keep than the weights of the first solution. And
what is shown of a selection are the weights found among the selected features alone.
"""

import numpy as np

from mmfs.errors import InputError, Parameter
from mmfs.kernels import FetchedColumns
from mmfs.problem import Others, Problem, certificate_of
from mmfs.solvers import tuning
from mmfs.solvers.dcd import OfGram
from mmfs.solvers.exact import ExactDescent, known_of
from mmfs.solvers.gamma_search import SumToOne
from mmfs.solvers.solution import Solution, by_weight

Array = np.ndarray


def order_of_elimination(
    problem: Problem,
    support: FetchedColumns,
    alpha: Array,
    gamma: float,
    rng: np.random.Generator,
) -> Array:
    """The support columns of a solution, last given up first."""
    J = support.J
    if len(J) > tuning.GRAM_LIMIT:
        raise InputError(
            Parameter("rank", "elimination"), f" is for at most {tuning.GRAM_LIMIT:,} support "
            f"features, here are {len(J):,}; raise ", Parameter("gamma"), ", or use ",
            Parameter("rank", "alpha"), ".",
        )  # fmt: skip
    Q, r = problem.Q.among(support, precise=False), problem.r(support)
    eps = tuning.ELIMINATION_PRECISION * problem.r_max
    descent = ExactDescent(OfGram(Q), r, problem.C, eps, rng)
    descent.alpha[:] = alpha
    left, given_up = np.arange(len(J)), []
    while len(left) > 1:
        descent.active = left.copy()
        weights = descent.adjust(gamma)
        gradient = Q @ weights + gamma * weights.sum() - r
        worth = None if support.worth is None else support.worth[left]
        ordered = by_weight(left, weights[left], gradient[left], worth)
        n = max(1, int(tuning.GIVEN_UP * len(left)))
        given_up.append(ordered[-n:])
        descent.alpha[ordered[-n:]] = 0.0
        left = np.sort(ordered[:-n])
    return J[np.concatenate([left, *given_up[::-1]])]


def weights_among(
    problem: Problem, solution: Solution, selected: Array, rng: np.random.Generator
) -> tuple[Array, float]:
    """Weights of the selected columns among themselves, and the bias b that goes with them.

    Where all of the support is selected, these are those of the solution. Where it is not, they
    are found again under the same gamma; in the constrained form under sum(alpha) = 1, and a C
    that lets so few reach it.
    """
    if len(selected) == 0:
        return np.empty(0), solution.certificate.b
    chosen = np.isin(solution.J, selected)
    kept, alpha, b = solution.support.only(chosen), solution.weights[chosen], solution.certificate.b
    if not chosen.all():
        r, gamma = problem.r(kept), solution.gamma
        eps = tuning.WEIGHT_PRECISION * problem.r_max
        C = problem.C if gamma is not None else max(problem.C, 1 / len(r))
        known = known_of(problem.Q, kept)
        descent = ExactDescent(known, r, C, eps, rng)
        descent.alpha[:] = alpha
        if gamma is None:
            alpha = SumToOne(float(r.max()), C)(descent.solver).alpha
        else:
            alpha = descent.adjust(gamma)
        redundancy = known.product(alpha, np.arange(len(r)))
        b = certificate_of(alpha, redundancy, r, C, gamma, NO_OTHERS, float(r.max())).b
    weights = np.zeros(len(selected))
    place = np.argsort(selected)
    weights[place[np.searchsorted(selected, kept.J, sorter=place)]] = alpha
    return weights, float(b)


NO_OTHERS = Others(np.empty(0, dtype=np.intp), np.empty(0), np.empty(0), True, 0.0)
