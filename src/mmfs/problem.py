"""The problem and the judge of its solvers, in plain NumPy.

    squared-bias form   min over 0 <= alpha <= C of  1/2 alpha'Q alpha + (gamma/2) s^2 - r'alpha
    constrained form    min over 0 <= alpha <= C, s = 1 of  1/2 alpha'Q alpha - r'alpha

s = 1'alpha, r = tau times the relevance. The gradient is G = Q alpha + b - r with b = gamma s, or
in the constrained form b = the multiplier of s = 1: the margin of column j is met when G_j >= 0.
A column that must not be selected (constant, or the copy of an earlier one) has r_j = -inf.
"""

from dataclasses import dataclass

import numpy as np

from mmfs.kernels import Similarity, Taken

Array = np.ndarray

# To judge many weights at once: how many of them to look at over all columns in a pass; how many
# numbers to hold for a pass, and in all; the columns, or their share, that may be left in doubt.
ANCHORS, NUMBERS, IN_ALL = 8, 1 << 25, 1 << 27
DOUBTFUL, SHARE = 2_000, 1 / 50

# Columns at a time where there is a number for each of many weights.
TILE = 4096


@dataclass(frozen=True)
class Verdict:
    """What can be said of an alpha: all of it computed here, none of it by a solver."""

    objective: float
    scale: float  # what the gap is measured against: the objective, or its largest term
    gap: float  # objective - gap is a lower bound on the optimum
    violation: float  # largest breach of the optimality conditions by one column
    b: float
    redundancy: Array  # Q alpha, over all columns
    gradient: Array  # G, over all columns

    @property
    def relative_gap(self) -> float:
        return self.gap / max(self.scale, np.finfo(float).tiny)


@dataclass(frozen=True)
class Problem:
    """All but gamma, which a search may have to find."""

    Q: Similarity
    r: Array
    C: float

    def judge(self, taken: Taken, alpha: Array, gamma: float | None) -> Verdict:
        """Judge the alpha that is `alpha` on the taken columns and zero elsewhere: one pass.

        `gamma` None means the constrained form.
        """
        support = alpha > 0
        taken, alpha = taken.only(support), alpha[support]
        redundancy = np.zeros(len(self.r))
        if len(alpha):
            redundancy = self.Q.product(taken, alpha[:, None])[:, 0]
        return judge(taken.J, alpha, redundancy, self.r, self.C, gamma)

    def judge_all(
        self, taken: Taken, Q: Array, alphas: Array, gammas: Array, Cs: Array
    ) -> tuple[Array, list[Verdict]]:
        """Judge each column of `alphas` with its own gamma and C, mostly in one pass.

        `Q` holds the similarities among the taken columns. Redundancies phi_j'w are computed over
        all columns for a few weights, the anchors. Any other w is nearly a combination of theirs,
        and what remains, e, changes no redundancy by more than |phi_j| |e|: that clears all but a
        few columns of the suspicion of violating their margins. Returns those few, and verdicts
        whose vectors are over them alone.
        """
        b, inner = gammas * alphas.sum(axis=0), alphas.T @ Q @ alphas
        n_columns, doubtful = len(self.r), np.arange(len(self.r))
        at_once = max(1, min(ANCHORS, NUMBERS // (n_columns * self.Q.width)))
        most = min(len(b), max(ANCHORS, IN_ALL // n_columns))
        anchors, products = np.empty(0, dtype=int), []
        enough = max(DOUBTFUL, SHARE * n_columns, 2 * len(taken.J))
        while len(doubtful) > enough and len(anchors) < most:
            more = _anchors(inner, b, anchors, min(at_once, most - len(anchors)))
            support: Array = np.any(alphas[:, more] > 0, axis=1)
            new = self.Q.product(taken.only(support), alphas[support][:, more])
            anchors = np.append(anchors, more)
            products.append(new)
            weights, rest = _combined(inner, anchors)
            bound = b - rest * np.sqrt(self.Q.largest) - 1e-12
            doubtful = np.union1d(taken.J, _below(products, weights, bound, self.r))
        redundancy = self._redundancy(doubtful, taken, alphas)
        r, J = self.r[doubtful], np.searchsorted(doubtful, taken.J)
        return doubtful, [
            judge(J[alpha > 0], alpha[alpha > 0], product.copy(), r, C, gamma)
            for alpha, product, gamma, C in zip(alphas.T, redundancy.T, gammas, Cs, strict=True)
        ]

    def _redundancy(self, J: Array, taken: Taken, alphas: Array) -> Array:
        """(Q alphas)_J, for as many J at a time as similarities can be held."""
        support: Array = np.any(alphas > 0, axis=1)
        taken, alphas = taken.only(support), alphas[support]
        at_once = max(1, NUMBERS // max(1, len(alphas)))
        parts = [J[start : start + at_once] for start in range(0, len(J), at_once)]
        return np.vstack([self.Q.gram(self.Q.take(part), taken) @ alphas for part in parts])


def _anchors(inner: Array, b: Array, known: Array, n: int) -> Array:
    """n more of the vectors w with products `inner`: each the worst explained by those before."""
    found: list[int] = []
    while len(found) < n and len(known) + len(found) < len(b):
        rest = _combined(inner, np.append(known, found).astype(int))[1] / np.maximum(b, 1e-300)
        rest[known], rest[found] = -1.0, -1.0
        found.append(int(np.argmax(rest)))
    return np.array(found)


def _combined(inner: Array, anchors: Array) -> tuple[Array, Array]:
    """How all w are best combined of those of the anchors, and the norm of what remains."""
    weights = np.linalg.lstsq(inner[np.ix_(anchors, anchors)], inner[anchors], rcond=None)[0]
    left = np.diagonal(inner) - 2 * np.einsum("at,at->t", weights, inner[anchors])
    left = left + np.einsum("at,ab,bt->t", weights, inner[np.ix_(anchors, anchors)], weights)
    # What is subtracted leaves rounding errors of this size.
    return weights, np.sqrt(np.maximum(left, 0.0) + 1e-14 * np.diagonal(inner))


def _below(products: list[Array], weights: Array, bound: Array, r: Array) -> Array:
    """Columns j with (products weights)_jt + bound_t < r_j for some t; products come in parts."""
    found = []
    for start in range(0, len(r), TILE):
        tile = slice(start, start + TILE)
        here = np.hstack([part[tile] for part in products])
        lowest = (here @ weights + bound).min(axis=1)
        found.append(start + np.flatnonzero(lowest < r[tile]))
    return np.concatenate(found)


def judge(
    J: Array, alpha: Array, redundancy: Array, r: Array, C: float, gamma: float | None
) -> Verdict:
    """Objective, gradient, gap and violation of alpha (on columns J, zero elsewhere)."""
    s = float(alpha.sum())
    objective = alpha @ redundancy[J] / 2 - r[J] @ alpha
    G = redundancy - r
    if gamma is None:
        gap = alpha @ G[J] - least(G, C, 1.0, exact=True)
        b = _multiplier(G, C, J[alpha < C])
        G += b
    else:
        b = gamma * s
        G += b
        objective += gamma * s**2 / 2
        gap = squared_bias_gap(s, alpha @ G[J], G, float(r.max()), C, gamma)
    return Verdict(
        objective=float(objective),
        scale=max(abs(float(objective)), float(r[J] @ alpha), 1e-10 * s**2),
        gap=max(float(gap), 0.0),
        violation=violation(J, alpha, G, C),
        b=b,
        redundancy=redundancy,
        gradient=G,
    )


def _multiplier(slope: Array, C: float, free: Array) -> float:
    """b of the constrained form: where the gradient of the free columns is zero on average.

    With every column at its bound, the b that makes the primal smallest.
    """
    if len(free):
        return -float(slope[free].mean())
    last = _whole(1.0, C, int(np.isfinite(slope).sum()))
    return -float(np.partition(slope, last)[last])


@np.errstate(over="ignore")  # a gamma or C at the edge of double precision bounds nothing
def squared_bias_gap(
    s: float, slope: float, G: Array, r_max: float, C: float, gamma: float
) -> float:
    """slope = G'alpha, minus the least G'beta among the beta that could be optimal.

    With the box alone this is sum_j alpha_j max(G_j, 0) + (C - alpha_j) max(-G_j, 0), the gap
    between primal and dual. The optimum also has sum(beta) <= max r / gamma, and, the objective
    being gamma-strongly convex along s, |s - sum(beta)| <= sqrt(2 gap / gamma): each bound on
    the gap tightens the bound on the sum, and so the gap.
    """
    G = G[G < 0]
    total = max(r_max, 0.0) / gamma
    gap = slope - least(G, C, total)
    for _ in range(20):
        previous, total = gap, min(total, s + np.sqrt(2 * max(gap, 0.0) / gamma))
        gap = min(gap, slope - least(G, C, total))
        if gap > 0.99 * previous:
            break
    return gap


def least(G: Array, C: float, total: float, exact: bool = False) -> float:
    """min of G'beta over 0 <= beta <= C with sum(beta) <= total (== total if `exact`)."""
    G = G[np.isfinite(G)] if exact else G[G < 0]
    if len(G) == 0:
        return 0.0
    if C * len(G) <= total:
        return C * float(G.sum())
    n = _whole(total, C, len(G))
    smallest = np.partition(G, n)[: n + 1]
    if n == 0:  # also when C is infinite
        return total * float(smallest[0])
    return C * float(smallest[:n].sum()) + (total - n * C) * float(smallest[n])


def _whole(total: float, C: float, n: int) -> int:
    """How many coordinates at C fit into `total`; at most n - 1."""
    return min(int(total / C * (1 + 1e-12)), n - 1)


def violation(J: Array, alpha: Array, G: Array, C: float) -> float:
    """Largest |projected gradient|: G must be >= 0 at alpha = 0, <= 0 at C, and 0 between."""
    downward = float(np.max(G[J[alpha > 0]], initial=0.0))
    full = J[alpha >= C]
    if len(full):
        G = G.copy()
        G[full] = 0.0
    return max(downward, -float(np.min(G, initial=0.0)))
