"""The methods of comparison written out: all pairs, all subsets, explicit matrices."""

from itertools import combinations

import clarabel
import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from tests.reference.discrete import mutual_information, symmetrical_uncertainty
from tests.reference.explicit import standardised


def mrmr(relevance, redundancy, quotient, k):
    """Greedy choice from the relevance of all columns and the redundancy of all pairs."""
    taken = [int(np.argmax(relevance))]
    while len(taken) < k:
        best, best_score = None, -np.inf
        for j in range(len(relevance)):
            if j not in taken:
                mean = np.mean([redundancy[j, s] for s in taken])
                score = relevance[j] / (mean + 1e-4) if quotient else relevance[j] - mean
                if score > best_score + 1e-12:
                    best, best_score = j, score
        taken.append(best)
    return taken


def fcbf(states, labels, delta=0.0):
    su = [symmetrical_uncertainty(x, labels) for x in states.T]
    waiting = sorted((j for j in range(len(su)) if su[j] >= delta), key=lambda j: (-su[j], j))
    kept = []
    while waiting:
        p = waiting.pop(0)
        kept.append(p)
        waiting = [
            q
            for q in waiting
            if symmetrical_uncertainty(states[:, p], states[:, q]) < su[q] - 1e-12
        ]
    return kept


def information_matrix(states):
    n = states.shape[1]
    return np.array(
        [[mutual_information(states[:, i], states[:, j]) for j in range(n)] for i in range(n)]
    )


def qpfs(Q, F, theta):
    """min 1/2 (1 - theta) x'Qx - theta F'x over x >= 0, sum(x) = 1, by a QP library."""
    n = len(F)
    return _minimise(
        (1 - theta) * Q,
        -theta * F,
        np.vstack([np.ones((1, n)), -np.eye(n)]),
        np.append(1.0, np.zeros(n)),
        [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)],
    )


def strongest_group(X, alpha, y, B):
    """The B columns with the largest ||sum_i alpha_i y_i x_i||^2, by looking at all of them."""
    return max(
        combinations(range(X.shape[1]), B), key=lambda d: np.sum((X[:, d].T @ (alpha * y)) ** 2)
    )


def group_svm(X, y, groups, C):
    """min 1/2 (sum ||w_t||)^2 + C/2 sum xi^2 as a second-order cone programme: its objective."""
    M, sizes = len(y), [len(group) for group in groups]
    n, T = sum(sizes), len(groups)
    stacked = np.hstack([X[:, group] for group in groups])
    # Variables: w (n), the bounds u on the norms (T), their sum s, xi (M).
    P = np.diag(np.concatenate([np.zeros(n + T), [1.0], np.full(M, C)]))
    margins = np.hstack([-y[:, None] * stacked, np.zeros((M, T + 1)), -np.eye(M)])
    slack = np.hstack([np.zeros((M, n + T + 1)), -np.eye(M)])
    total = np.concatenate([np.zeros(n), np.ones(T), [-1.0], np.zeros(M)])[None]
    rows, right = [margins, slack, total], [-np.ones(M), np.zeros(M), np.zeros(1)]
    cones = [clarabel.NonnegativeConeT(2 * M + 1)]
    first = 0
    for t, size in enumerate(sizes):
        cone = np.zeros((size + 1, n + T + 1 + M))
        cone[0, n + t] = -1
        cone[np.arange(1, size + 1), np.arange(first, first + size)] = -1
        rows.append(cone)
        right.append(np.zeros(size + 1))
        cones.append(clarabel.SecondOrderConeT(size + 1))
        first += size
    x = _minimise(P, np.zeros(len(P)), np.vstack(rows), np.concatenate(right), cones)
    return x @ P @ x / 2


def _minimise(P, q, A, b, cones):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    upper = sp.triu(sp.csc_array(P), format="csc")
    solver = clarabel.DefaultSolver(sp.csc_matrix(upper), q, sp.csc_matrix(A), b, cones, settings)
    return np.array(solver.solve().x)


def gdm_round(X, strength, supports, B, delta):
    """New supports of one round: a walk through the columns, the strongest first."""
    rho = np.abs(np.corrcoef(X, rowvar=False))
    new = []
    for j in np.argsort(-strength, kind="stable"):
        if len(new) < B and all(rho[j, s] < delta for s in [*supports, *new]):
            new.append(int(j))
    return new


def gdm_groups(X, supports, delta):
    """Each column with the support it is most correlated with, if by delta at least."""
    rho = np.abs(np.corrcoef(X, rowvar=False))
    groups = {s: [] for s in supports}
    for j in range(X.shape[1]):
        nearest = max(supports, key=lambda s: rho[j, s])
        if j not in supports and rho[j, nearest] >= delta:
            groups[nearest].append(j)
    return groups


def svm_rfe(X, y, random_state=0):
    """Ranking by dropping one column at a time from an explicit matrix."""
    centre = (X != 0).mean(axis=0) > 0.5
    Z = (X - centre * X.mean(axis=0)) / X.std(axis=0)
    left, dropped = list(range(X.shape[1])), []
    while left:
        svm = LinearSVC(tol=0.01, dual=len(y) < len(left), random_state=random_state)
        w = svm.fit(Z[:, left], y).coef_
        worst = int(np.argmin(np.sum(w**2, axis=0)))
        dropped.append(left.pop(worst))
    return dropped[::-1]


def correlations(X):
    F = standardised(X)
    return np.abs(F.T @ F)
