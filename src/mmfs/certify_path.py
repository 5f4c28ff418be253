"""Certificates of many solutions at once, mostly for one scan.

Safe screening: redundancies phi_j'w are computed over all columns for a few weights w, the anchors.
Any other w is nearly a combination of theirs, and what remains, e, changes no redundancy by more
than |phi_j| |e| (Cauchy-Schwarz). So all but a few columns are known to meet their margins, and
those few are fetched.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmfs.kernels import FetchedColumns
from mmfs.problem import NONE, Certificate, Others, Problem, certificate_of

Array = np.ndarray

# Anchors of a scan, at most.
ANCHORS = 8

# Numbers to hold for a scan of several weights, and for similarities: 256 MB.
NUMBERS_HELD = 1 << 25

# Numbers to hold of all anchors, wherever the columns are: 1 GB.
NUMBERS_IN_ALL = 1 << 27

# Columns that may be left in doubt, and the share of all that may be.
DOUBTFUL = 2_000
DOUBTFUL_SHARE = 1 / 50

# Rounding errors of products of weights that sum to 1, which similarities of at most 1 bring about.
ROUNDED_PRODUCTS = 1e-14

# Columns at a time where there is a number for each of many weights.
COLUMNS_AT_ONCE = 4096


def certify_all(
    problem: Problem,
    fetched: FetchedColumns,
    Q: Array,
    alphas: Array,
    gammas: Array,
    Cs: Array,
    copies: Array = NONE,
) -> list[Certificate]:
    """Of each column of `alphas`, on fetched columns with similarities Q, with its gamma and C.

    The others that each is told with are all columns in doubt.
    """
    known = np.union1d(fetched.J, copies)
    J = _in_doubt(problem, fetched, Q, alphas, gammas, known)
    n_rows = 1 if fetched.block is None else fetched.block.n_rows
    at_once = max(1, NUMBERS_HELD // max(1, len(alphas), n_rows))  # columns, none sparse
    parts = [J[start : start + at_once] for start in range(0, len(J), at_once)]
    redundancy, r = np.empty((len(J), alphas.shape[1])), np.empty(len(J))
    support = np.flatnonzero((alphas > 0).any(axis=1))
    heavy = fetched.only(support)
    for start, part in zip(range(0, len(J), at_once), parts, strict=True):
        here, place = problem.Q.fetch(part), slice(start, start + len(part))
        redundancy[place] = problem.Q.gram(here, heavy) @ alphas[support]
        r[place] = problem.r(here)
    among = Q @ alphas
    return [
        certificate_of(
            alphas[:, t], among[:, t], problem.r(fetched), C, gamma,
            Others(J, redundancy[:, t] + gamma * alphas[:, t].sum() - r, redundancy[:, t], True, 0),
            problem.r_max,
        )
        for t, (gamma, C) in enumerate(zip(gammas, Cs, strict=True))
    ]  # fmt: skip


def _in_doubt(
    problem: Problem,
    fetched: FetchedColumns,
    Q: Array,
    alphas: Array,
    gammas: Array,
    known: Array,
) -> Array:
    """Columns, not known, that may violate their margin in one of the solutions."""
    s, inner = alphas.sum(axis=0), alphas.T @ Q @ alphas
    b, noise = gammas * s, ROUNDED_PRODUCTS * s**2
    n_columns = problem.Q.n_columns
    enough = max(DOUBTFUL, int(DOUBTFUL_SHARE * n_columns), 2 * len(known))
    at_once = max(1, min(ANCHORS, NUMBERS_HELD // (n_columns * problem.Q.width)))
    most = min(len(b), max(ANCHORS, NUMBERS_IN_ALL // n_columns))
    anchors, products = np.empty(0, dtype=int), None
    doubt = Doubt(known, np.empty((0, len(b))), np.full(len(b), -np.inf), problem.tau, enough)
    while True:
        more = _anchors(inner, b, noise, anchors, min(at_once, most - len(anchors)))
        support = np.flatnonzero((alphas[:, more] > 0).any(axis=1))
        heavy, weights = fetched.only(support), alphas[np.ix_(support, more)]
        before = () if products is None else (products,)
        products = problem.Q.scan(heavy, weights, _beside, before, keep=True)
        anchors = np.append(anchors, more)
        combined, rest = _combined(inner, noise, anchors)
        bound = b - rest * np.sqrt(problem.Q.largest) - 1e-12
        doubt = replace(doubt, weights=combined, bound=bound)
        found = problem.Q.ask(doubt, (products,))
        if sum(n for n, _ in found) <= enough:
            return _gathered(found)
        if len(anchors) >= most:
            return _gathered(problem.Q.ask(replace(doubt, most=n_columns), (products,)))


def _gathered(found: list[tuple[int, Array]]) -> Array:
    return np.concatenate([J for _, J in found])


def _beside(facts: Any, values: Array, before: Array | None = None) -> Array:
    return values if before is None else np.hstack([before, values])


@dataclass(frozen=True)
class Doubt:
    """Columns j of a block with (products weights)_jt + bound_t < r_j for some t: how many, which.

    Without the known ones; if they are more than `most`, only how many.
    """

    known: Array
    weights: Array
    bound: Array
    tau: float
    most: int

    def __call__(self, facts: Any, products: Array) -> tuple[int, Array]:
        r, found = self.tau * facts.relevance, []
        for start in range(0, len(r), COLUMNS_AT_ONCE):
            tile = slice(start, start + COLUMNS_AT_ONCE)
            lowest = (products[tile] @ self.weights + self.bound).min(axis=1)
            found.append(facts.start + start + np.flatnonzero(lowest < r[tile]))
        J = np.concatenate(found)
        J = J[~np.isin(J, self.known)]
        return len(J), J if len(J) <= self.most else J[:0]


def _anchors(inner: Array, b: Array, noise: Array, known: Array, n: int) -> Array:
    """n more of the vectors w with products `inner`: each the worst explained by those before."""
    found: list[int] = []
    while len(found) < n and len(known) + len(found) < len(b):
        rest = _combined(inner, noise, np.append(known, found).astype(int))[1]
        rest /= np.maximum(b, np.finfo(float).tiny)
        rest[known], rest[found] = -1.0, -1.0
        found.append(int(np.argmax(rest)))
    return np.array(found)


def _combined(inner: Array, noise: Array, anchors: Array) -> tuple[Array, Array]:
    """How all w are best combined of those of the anchors, and the norm of what remains.

    `noise` is what rounding errors leave of its square.
    """
    weights = np.linalg.lstsq(inner[np.ix_(anchors, anchors)], inner[anchors], rcond=None)[0]
    left = np.diagonal(inner) - 2 * np.einsum("at,at->t", weights, inner[anchors])
    left = left + np.einsum("at,ab,bt->t", weights, inner[np.ix_(anchors, anchors)], weights)
    return weights, np.sqrt(np.maximum(left, 0.0) + noise)
