"""From a solution to the columns that are selected, in rank order."""

from typing import Any

import numpy as np

from mmfs.columns import near_another, repeated
from mmfs.problem import Problem
from mmfs.solvers import tuning
from mmfs.solvers.solution import Solution
from mmfs.solvers.working_set import fingerprints

Array = np.ndarray

# Redundancies that differ by more are those of different columns.
SAME_REDUNDANCY = 1e-9


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
    while True:
        others = certificate.others
        left = np.flatnonzero(solution.alpha == 0)
        if not others.are_all:  # of the fetched ones, those that none unknown comes before
            last = others.gradient.max(initial=-np.inf)
            left = left[certificate.gradient[left] <= last]
        J = np.append(fetched.J[left], others.J)
        G = np.append(certificate.gradient[left], others.gradient)
        order = np.lexsort((J, np.round(G, tuning.DIGITS)))
        J = J[order]
        redundancy = np.append(certificate.redundancy[left], others.redundancy)[order]
        copies = _copies(problem, solution, certificate.redundancy, J, redundancy)
        if np.count_nonzero(~copies) >= n or others.are_all:
            last_ones = np.union1d(J[copies], solution.copies) if others.are_all else J[:0]
            return np.concatenate([J[~copies], last_ones])[:n]
        certificate = problem.certify(
            fetched, solution.alpha, solution.gamma, copies=solution.copies,
            n_others=2 * (len(others.J) + n),
        )  # fmt: skip


def _copies(
    problem: Problem, solution: Solution, known: Array, J: Array, redundancy: Array
) -> Array:
    """Mask of the columns J that are the same as a fetched one, or as one before them.

    Columns that are the same are equally redundant: only those that share their redundancy are
    fetched and compared.
    """
    fetched = solution.fetched
    if fetched.block is None:
        return np.zeros(len(J), dtype=bool)
    new = ~np.isin(J, fetched.J)
    values = np.concatenate([known, redundancy[new]])
    numbers = np.concatenate([fetched.J, J[new]])
    shared = near_another(values, SAME_REDUNDANCY)
    suspects = numbers[len(known) :][shared[len(known) :]]
    if len(suspects) == 0:
        return np.zeros(len(J), dtype=bool)
    both = fetched.join(problem.Q.fetch(np.sort(suspects)))
    # Whatever was fetched before stands for its copies, as if it were more relevant.
    r: Any = both.relevance.copy()
    r[: len(fetched.J)] += 2.0
    keys = fingerprints(both)
    assert keys is not None
    found = both.J[repeated(keys, r, both.J, problem.Q.mirrors)]
    return np.isin(J, found)
