"""The SVM of FGM: its weights come in groups of columns, of which few are used.

    min over W_1 .. W_t of   1/2 (sum_t ||W_t||)^2 + C/2 sum_i max(0, 1 - y_i z_i)^2,
    Z = sum_t X_t W_t

X_t are the columns of group t, of unit variance; groups may share columns. With several classes,
y and z have a column for each class (one against the rest) and W_t is a matrix. The dual variables
are alpha_i = C max(0, 1 - y_i z_i), and c = X'(alpha y) is what the groups are judged by:

    max over alpha >= 0 of   sum alpha - sum alpha^2 / (2 C) - 1/2 max_t ||c_t||^2
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mmfs.columns import Columns

Array = np.ndarray

# Relative duality gap at which to stop, how often it is looked at, the most steps, and how often
# one of them may be halved.
GAP, LOOK, STEPS, HALVINGS = 1e-4, 10, 5000, 100


class GroupSVM:
    """The SVM on the groups added so far; before the first one, that of W = 0."""

    def __init__(self, columns: Columns, Y: Array, C: float) -> None:
        self.columns, self.Y, self.C = columns, Y, C
        self.found = np.empty(0, dtype=np.intp)  # columns of all groups, in order of appearance
        self.block = columns.fetch(self.found)
        self.groups: list[Array] = []  # positions in `found`
        self.W: list[Array] = []
        self.alpha = np.full_like(Y, C)
        self.objective = C / 2 * Y.size
        self.gap = 0.0

    def strength(self) -> Array:
        """||c_j||^2 of every column: one scan of the data."""
        unit = np.sqrt(len(self.Y))  # columns are kept with unit norm
        pull = self.columns.project(unit * self.alpha * self.Y)
        return np.einsum("jc,jc->j", pull, pull)

    def add(self, group: Array) -> None:
        """One more group of columns, and train."""
        new = group[~np.isin(group, self.found)]
        if len(new):
            self.found = np.concatenate([self.found, new])
            self.block = self.block.join(self.columns.fetch(new))
        position = {j: i for i, j in enumerate(self.found.tolist())}
        self.groups.append(np.array([position[j] for j in group.tolist()]))
        self.W.append(np.zeros((len(group), self.Y.shape[1])))
        A = self.block.operator()
        trained = train(A, self.Y, self.groups, self.C, self.W)
        self.W, self.objective, self.alpha, self.gap = trained

    def lengths(self) -> Array:
        """Length of the weights of each column in `found`."""
        pooled = np.zeros((len(self.found), self.Y.shape[1]))
        for group, W in zip(self.groups, self.W, strict=True):
            pooled[group] += W
        return np.linalg.norm(pooled, axis=1)


class Trained(NamedTuple):
    W: list[Array]  # of each group
    objective: float
    alpha: Array  # M x classes
    gap: float  # relative


def train(A: Any, Y: Array, groups: list[Array], C: float, start: list[Array]) -> Trained:
    """Accelerated proximal gradient descent from `start`.

    A has the columns of all groups (of unit norm), each group lists its own, Y is +-1.
    """
    columns = np.concatenate(groups)
    ends = np.cumsum([len(group) for group in groups])[:-1]
    firsts = np.concatenate([[0], ends])
    # Where the weights of all groups, one below the other, meet the columns (of unit variance).
    places = (np.full(len(columns), np.sqrt(len(Y))), (columns, np.arange(len(columns))))
    S = sp.csr_array(places, (A.shape[1], len(columns)))

    def predict(W: Array) -> Array:
        return A @ (S @ W)

    def pull(Z: Array) -> Array:
        """c: minus the gradient of the loss by W."""
        return S.T @ (A.T @ (C * np.maximum(1 - Y * Z, 0) * Y))

    W = np.concatenate(start)
    Z = predict(W)
    W_ahead, Z_ahead, t, L, stuck = W, Z, 1.0, 1.0, False
    for step in range(1, STEPS + 1):
        force = pull(Z_ahead)
        base, L = loss(Y, Z_ahead, C), 0.8 * L
        for _ in range(HALVINGS):  # a step is short enough if the quadratic model is no less
            W_new = shrink(W_ahead + force / L, firsts, L)
            Z_new = predict(W_new)
            move = W_new - W_ahead
            model = base - np.sum(force * move) + L / 2 * np.sum(move**2)
            if loss(Y, Z_new, C) <= model + 1e-12 * abs(base):
                break
            L *= 2
        else:  # rounding errors hide any progress
            W_new, Z_new, stuck = W, Z, True
        if np.sum((W_ahead - W_new) * (W_new - W)) > 0:  # momentum points uphill: drop it
            t = 1.0
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        W_ahead = W_new + (t - 1) / t_new * (W_new - W)
        Z_ahead = Z_new + (t - 1) / t_new * (Z_new - Z)
        W, Z, t = W_new, Z_new, t_new
        if step % LOOK == 0 or step == STEPS or stuck:
            objective = loss(Y, Z, C) + norms(W, firsts).sum() ** 2 / 2
            alpha = C * np.maximum(1 - Y * Z, 0)
            strongest = (norms(pull(Z), firsts) ** 2).max()
            gap = (objective - bound(alpha, C, strongest)) / objective
            if gap <= GAP or stuck:
                break
    return Trained(np.split(W, ends), objective, alpha, gap)


def loss(Y: Array, Z: Array, C: float) -> float:
    return C / 2 * float(np.sum(np.maximum(1 - Y * Z, 0) ** 2))


def bound(alpha: Array, C: float, strongest: float) -> float:
    """The dual objective at the best multiple of alpha: no W does better than this."""
    total, curvature = float(alpha.sum()), float(np.sum(alpha**2)) / C + strongest
    return total**2 / (2 * curvature) if curvature > 0 else 0.0


def norms(W: Array, firsts: Array) -> Array:
    """||W_t|| of the groups that begin at the rows `firsts`."""
    return np.sqrt(np.add.reduceat(np.sum(W**2, axis=1), firsts))


def shrink(V: Array, firsts: Array, L: float) -> Array:
    """argmin over W of L/2 ||W - V||^2 + 1/2 (sum_t ||W_t||)^2: all norms less one threshold."""
    lengths = norms(V, firsts)
    descending = -np.sort(-lengths)
    thresholds = np.cumsum(descending) / (L + np.arange(1, len(lengths) + 1))
    threshold = thresholds[np.flatnonzero(descending >= thresholds)[-1]]
    factors = np.maximum(0, 1 - threshold / np.maximum(lengths, np.finfo(float).tiny))
    return V * np.repeat(factors, np.diff(firsts, append=len(V)))[:, None]
