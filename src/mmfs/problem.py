"""The problem and the certificate of a solution, in plain NumPy.

    squared-bias form   min over 0 <= alpha <= C of  1/2 alpha'Q alpha + (gamma/2) s^2 - r'alpha
    constrained form    min over 0 <= alpha <= C, s = 1 of  1/2 alpha'Q alpha - r'alpha

s = 1'alpha, r = tau times the relevance. The gradient is G = Q alpha + b - r with b = gamma s, or
in the constrained form b = the multiplier of s = 1: the margin of column j is met when G_j >= 0.
Constant columns have r = -inf, so that they meet any margin and are never selected.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from mmfs._compiled.vectors import gradients, in_doubt
from mmfs.kernels import FetchedColumns, Similarity
from mmfs.kernels.base import Nearness, Reduce
from mmfs.order import Limit, in_order

Array = np.ndarray

# Digits of a gradient, beside relevances of at most 1, that are not rounding error: columns that
# are the same then have the same, and are taken as they come.
GRADIENT_DIGITS = 11
ROUNDED = 10.0**-GRADIENT_DIGITS

# What redundancies in single precision, and products of them, may be off by, beside themselves.
SINGLE = 1e-6

NONE = np.empty(0, dtype=np.intp)


class Others(NamedTuple):
    """Columns that were not fetched: those with the smallest gradients, or all in doubt."""

    J: Array
    gradient: Array
    redundancy: Array
    are_all: bool  # no others are left
    rest: float  # sum of the negative gradients of those left, with its sign changed


class Seen(NamedTuple):
    """Redundancies of all columns, block by block, in single precision, and their weights w."""

    w: Array
    redundancies: list[Array]


@dataclass(frozen=True)
class Certificate:
    """What can be said of an alpha: all of it computed here, none of it by a solver."""

    objective: float
    scale: float  # what the gap is measured against: the objective, or its largest term
    gap: float  # objective - gap is a lower bound on the optimum
    violation: float  # largest breach of the optimality conditions by one column
    b: float
    redundancy: Array  # Q alpha, of the fetched columns
    gradient: Array  # G, of the fetched columns
    others: Others
    redundancies: Array | None = None  # of all columns, if asked for
    seen: "Seen | None" = None  # what the next scan may start from

    @property
    def relative_gap(self) -> float:
        return self.gap / max(self.scale, np.finfo(float).tiny)


@dataclass(frozen=True)
class Problem:
    """All but gamma, which a search may have to find."""

    Q: Similarity
    tau: float
    C: float
    copies_agree: bool = True  # whether columns that are the same have the same relevance

    @cached_property
    def r_max(self) -> float:
        r = self.Q.most_relevant(1)[1]
        return self.tau * float(r[0]) if len(r) else -np.inf

    @cached_property
    def n_usable(self) -> int:
        """Columns that are not constant."""
        return sum(self.Q.ask(_count_usable))

    def r(self, fetched: FetchedColumns) -> Array:
        return self.tau * fetched.relevance

    def certify(
        self,
        fetched: FetchedColumns,
        alpha: Array,
        gamma: float | None,
        *,
        copies: Array = NONE,
        n_others: int = 0,
        shift: float = 0.0,
        whole: bool = False,
        earlier: Certificate | None = None,
    ) -> Certificate:
        """Certify the alpha that is `alpha` on fetched columns and zero elsewhere: one scan.

        `gamma` None means the constrained form. Columns for which a fetched one stands, `copies`,
        are not part of the problem. `n_others` of the columns that were not fetched are told too;
        `whole`: the redundancies of all columns. `shift`: as if r were smaller by that. With an
        `earlier` certificate, columns that cannot violate their margin are not read, or told.
        """
        if gamma is None and self.C < np.inf:  # as many can be at C where the sum is 1
            n_others = max(n_others, int(1 / self.C) + 2)
        b = shift + (0.0 if gamma is None else gamma * float(alpha.sum()))
        order = np.argsort(fetched.J, kind="stable")
        known, n = fetched.J[order], max(n_others, 1)
        reduce = Smallest(known, np.union1d(known, copies), b, self.tau, n, whole)
        support, seen, near = np.flatnonzero(alpha > 0), None, None
        heavy, weights = fetched.only(support), alpha[support]
        w = self.Q.weights(heavy, weights) if len(support) and gamma and not whole else None
        if w is not None and earlier is not None and earlier.seen is not None:
            seen, near = earlier.seen, self.Q.nearness(w, earlier.seen.w)
        if w is not None and seen is not None and near is not None:
            which = Doubt(known, b, self.tau, near)
            found = self.Q.scan_some(w, which, reduce, (seen.redundancies,))
        elif len(support):
            reduce = replace(reduce, kept=w is not None)
            found = self.Q.scan(heavy, weights[:, None], reduce)
        else:  # then nothing is redundant, and there is nothing to scan
            found = self.Q.ask(partial(no_weights, reduce))
        redundancy = np.empty(len(alpha))
        parts, told, everything = zip(*found, strict=True)
        redundancy[order], others = np.concatenate(parts), _merged(told, n)
        certificate = certificate_of(
            alpha, redundancy, self.r(fetched) - shift, self.C, gamma, others, self.r_max - shift
        )
        if w is not None and near is None:
            seen = Seen(w, list(everything))
        redundancies = np.concatenate(everything) if whole else None
        return replace(certificate, redundancies=redundancies, seen=seen)


# --- what is done where a block is ---------------------------------------------------------------


@dataclass(frozen=True)
class Smallest:
    """Of a block: redundancies of fetched columns, the others; all redundancies, if asked for.

    Of some `places` alone, those with negative gradients are told; no others have any.
    """

    J: Array  # the columns that were fetched, in order
    left_out: Array  # those that are not among the others, in order
    b: float
    tau: float
    n: int
    whole: bool
    kept: bool = False  # in single precision
    limit: Limit = field(default_factory=Limit)

    def __call__(
        self, facts: Any, values: Array, places: Array | None = None
    ) -> tuple[Array, Others, Array | None]:
        redundancy, G, start = values[:, 0], np.empty(len(values)), facts.start
        gradients(values, facts.relevance, self.tau, self.b, G)
        known, left_out = (among(J, start, len(G), places) for J in (self.J, self.left_out))
        G[left_out] = np.inf
        if places is not None:
            G[G >= 0.0] = np.inf
        J, are_all = smallest(G, self.n, self.limit)
        rest = 0.0
        if not are_all and (self.limit.value if len(J) < self.n else G[J[-1]]) < ROUNDED:
            rest = max(float(np.minimum(G[J], 0.0).sum() - np.minimum(G, 0.0).sum()), 0.0)
        numbers = start + (J if places is None else places[J])
        others = Others(numbers, G[J], redundancy[J], are_all and places is None, rest)
        kind = np.float64 if self.whole else np.float32
        everything = redundancy.astype(kind) if self.whole or self.kept else None
        return redundancy[known], others, everything


@dataclass(frozen=True)
class Doubt:
    """Which columns of a block were fetched, or may have a negative gradient.

    Safe screening, as in `certify_path`: what the weights do not share with earlier ones, and with
    the target, changes no redundancy by more than a bound.
    """

    J: Array  # the columns that were fetched, in order
    b: float
    tau: float
    near: Nearness

    def __call__(self, facts: Any, entries: Array, before: Array) -> Array:
        known = inside(self.J, facts.start, len(before))
        return in_doubt(
            known, before, facts.products, facts.relevance, facts.inverse,
            facts.center, facts.origin, facts.explained, entries, tuple(self.near),
            self.b, self.tau, SINGLE,
        )  # fmt: skip


def smallest(G: Array, n: int, limit: Limit) -> tuple[Array, bool]:
    """Places of the n smallest, those that differ by rounding errors as they come; are they all?

    Fewer where others are not below the limit.
    """
    near = in_order(G, n + 1, limit.value)
    if len(near) <= n and limit.value == np.inf:
        return near, True
    if len(near) > n:
        last = G[near[n - 1]]
        near = np.flatnonzero(G <= last + ROUNDED)
        limit.lower(last + 2 * ROUNDED)
    return near[np.lexsort((near, np.round(G[near], GRADIENT_DIGITS)))[:n]], False


def among(J: Array, start: int, n: int, places: Array | None) -> Array:
    """As `inside`, counted among some places of the block, where J are if they are inside."""
    if places is None:
        return inside(J, start, n)
    here = J - start
    at = np.searchsorted(places, here)
    return at[places.take(at, mode="clip") == here] if n else at[:0]


def inside(J: Array, start: int, n: int) -> Array:
    """Of columns J, in order, those of a block of n, counted from its start."""
    a, b = np.searchsorted(J, [start, start + n])
    return J[a:b] - start


def no_weights(reduce: Reduce, facts: Any, *each: Any) -> Any:
    """Of a block where Q alpha is zero."""
    return reduce(facts, np.zeros((len(facts.relevance), 1)), *each)


def _merged(found: Sequence[Others], n: int) -> Others:
    J, G, redundancy, are_all, rest = zip(*found, strict=True)
    J, G, redundancy = map(np.concatenate, (J, G, redundancy))
    order = np.lexsort((J, np.round(G, GRADIENT_DIGITS)))
    kept, cut = order[:n], order[n:]
    left = sum(rest) - float(np.minimum(G[cut], 0.0).sum())
    return Others(J[kept], G[kept], redundancy[kept], len(cut) == 0 and all(are_all), left)


def _count_usable(facts: Any) -> int:
    return int(np.isfinite(facts.relevance).sum())


# --- the gap ---


def certificate_of(
    alpha: Array,
    redundancy: Array,
    r: Array,
    C: float,
    gamma: float | None,
    others: Others,
    r_max: float,
) -> Certificate:
    """Objective, gradient, gap and violation of alpha on some columns, zero on all others.

    In the constrained form gradients of the others come without b, which is found here.
    """
    s = float(alpha.sum())
    objective = alpha @ redundancy / 2 - r @ alpha
    G = redundancy - r
    if gamma is None:
        slopes = np.concatenate([G, others.gradient])
        gap = alpha @ G - least(slopes, C, 1.0, exact=True)
        b = _multiplier(slopes, C, np.flatnonzero((alpha > 0) & (alpha < C)))
        G, others = G + b, others._replace(gradient=others.gradient + b)
    else:
        b = gamma * s
        G = G + b
        objective += gamma * s**2 / 2
        slopes = np.concatenate([G, others.gradient])
        gap = squared_bias_gap(s, alpha @ G, slopes, r_max, C, gamma, others)
    return Certificate(
        objective=float(objective),
        scale=max(abs(float(objective)), float(r @ alpha), 1e-10 * s**2),
        gap=max(float(gap), 0.0),
        violation=max(violation(alpha, G, C), -float(np.min(others.gradient, initial=0.0))),
        b=b,
        redundancy=redundancy,
        gradient=G,
        others=others,
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
    s: float,
    slope: float,
    G: Array,
    r_max: float,
    C: float,
    gamma: float,
    others: Others | None = None,
) -> float:
    """slope = G'alpha, minus the least G'beta among the beta that could be optimal.

    With the box alone this is sum_j alpha_j max(G_j, 0) + (C - alpha_j) max(-G_j, 0), the gap
    between primal and dual. The optimum also has sum(beta) <= max r / gamma, and, the objective
    being gamma-strongly convex along s, |s - sum(beta)| <= sqrt(2 gap / gamma): each bound on
    the gap tightens the bound on the sum, and so the gap. Where not all others are told, none of
    the rest has a smaller gradient than the last of those, nor a larger beta than C.
    """
    G = G[G < 0]
    total = max(r_max, 0.0) / gamma
    rest = 0.0 if others is None else others.rest
    last = 0.0 if others is None or rest == 0.0 else max(ROUNDED - float(others.gradient[-1]), 0.0)

    def bound(total: float) -> float:
        left = min(C * rest, total * last) if rest > 0.0 else 0.0
        return slope - least(G, C, total) + left

    gap = bound(total)
    for _ in range(20):
        previous, total = gap, min(total, s + np.sqrt(2 * max(gap, 0.0) / gamma))
        gap = min(gap, bound(total))
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


def violation(alpha: Array, G: Array, C: float) -> float:
    """Largest |projected gradient|: G must be >= 0 at alpha = 0, <= 0 at C, and 0 between."""
    downward = float(np.max(G[alpha > 0], initial=0.0))
    return max(downward, -float(np.min(G[alpha < C], initial=0.0)))
