"""From a solution to the columns that are selected, in rank order."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mmfs.kernels.copies import fingerprints, near_another, repeated, representatives
from mmfs.order import Limit
from mmfs.problem import Problem, inside, no_weights, smallest
from mmfs.solvers import tuning
from mmfs.solvers.solution import Solution

Array = np.ndarray


def ranked(
    problem: Problem, solution: Solution, k: int | None, order: Array | None = None
) -> Array:
    """The first k columns: the support by weight, then others by gradient, then copies.

    k None: all of the support. With an `order` of columns, that decides within the support.
    """
    head = solution.by_weight()
    if order is not None:
        order = order[np.isin(order, head)]
        head = np.concatenate([order, head[~np.isin(head, order)]])
    if k is None or k <= len(head):
        return head[:k]
    return np.concatenate([head, _beyond(problem, solution, k - len(head))])


def _beyond(problem: Problem, solution: Solution, n: int) -> Array:
    """n columns that follow the support: by gradient, then index; copies of others come last."""
    certificate, fetched = solution.certificate, solution.fetched
    if len(certificate.others.J) < n and not certificate.others.are_all:
        certificate = problem.certify(
            fetched, solution.alpha, solution.gamma, copies=solution.copies, n_others=2 * n
        )
    others = certificate.others
    left = np.flatnonzero(solution.alpha == 0)
    if not others.are_all:  # of the fetched ones, those that none unknown comes before
        left = left[certificate.gradient[left] <= others.gradient.max(initial=-np.inf)]
    J = np.append(fetched.J[left], others.J)
    G = np.append(certificate.gradient[left], others.gradient)
    redundancy = np.append(certificate.redundancy[left], others.redundancy)
    order = np.lexsort((J, np.round(G, tuning.WEIGHT_DIGITS)))
    J, redundancy = J[order], redundancy[order]
    copies = _copies(problem, solution, J, redundancy)
    if np.count_nonzero(~copies) >= n:
        return J[~copies][:n]
    if others.are_all:
        return np.concatenate([J[~copies], np.union1d(J[copies], solution.copies)])[:n]
    return _behind_copies(problem, solution, n)


def _copies(problem: Problem, solution: Solution, J: Array, redundancy: Array) -> Array:
    """Mask of the columns J that are the same as a fetched one, or as one before them.

    Columns that are the same are equally redundant: only those that share their redundancy are
    fetched and compared.
    """
    fetched, known = solution.fetched, solution.certificate.redundancy
    none = np.zeros(len(J), dtype=bool)
    if fetched.block is None:
        return none
    new = ~np.isin(J, fetched.J)
    shared = near_another(np.concatenate([known, redundancy[new]]), tuning.SAME_REDUNDANCY)
    suspects = J[new][shared[len(known) :]]
    if len(suspects) == 0:
        return none
    both = fetched.join(problem.Q.fetch(np.sort(suspects)))
    # Whatever was fetched before stands for its copies, as if it were more relevant.
    r = both.relevance + 2.0 * (np.arange(len(both.J)) < len(fetched.J))
    assert both.block is not None
    same = repeated(fingerprints(both.block), r, both.J, problem.Q.mirrors)
    return np.isin(J, both.J[same])


def _behind_copies(problem: Problem, solution: Solution, n: int) -> Array:
    """The same as `_beyond` where copies are many: two scans, and one compares fingerprints."""
    Q, support = problem.Q, solution.support
    keys, block = Q.fingerprints(keep=True), support.block
    assert keys is not None and block is not None  # there were copies
    reduce = Distinct(np.sort(support.J), fingerprints(block), problem.tau, n, Q.mirrors)
    if len(support.J):
        found = Q.scan(support, solution.weights[:, None], reduce, (keys,))
    else:
        found = Q.ask(partial(no_weights, reduce), (keys,))
    J, G, own = (np.concatenate([some[i] for some in found]) for i in range(3))
    order = np.lexsort((J, np.round(G, tuning.WEIGHT_DIGITS)))
    J, own = J[order], own[order]
    copy = repeated(own, np.zeros(len(J)), np.arange(len(J)), Q.mirrors)
    copies = np.concatenate([J[copy], *(some[3] for some in found)])
    return np.concatenate([J[~copy], np.sort(copies)])[:n]


@dataclass(frozen=True)
class Distinct:
    """Of a block the n columns with the smallest gradients that are not the same as others.

    What is returned are these columns, their gradients and fingerprints; and the first copies.
    """

    J: Array  # known columns, in order
    known: Array  # fingerprints of these
    tau: float
    n: int
    mirrors: bool

    def __call__(self, facts: Any, values: Array, keys: Array) -> tuple[Array, ...]:
        G, at_once = values[:, 0] - self.tau * facts.relevance, 4 * self.n
        G[inside(self.J, facts.start, len(G))] = np.inf
        while True:
            J, are_all = smallest(G, at_once, Limit())
            both = np.concatenate([self.known, keys[J]])
            places = np.arange(len(both))
            standing = representatives(both, np.zeros(len(both)), places, self.mirrors)
            own = (standing == places)[len(self.known) :]
            if are_all or np.count_nonzero(own) >= self.n:
                first, copies = J[own][: self.n], np.sort(J[~own])[: self.n]
                return facts.start + first, G[first], keys[first], facts.start + copies
            at_once *= 4
