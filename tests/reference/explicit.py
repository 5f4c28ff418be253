"""The method written out on explicit matrices, slowly: what the package must agree with."""

import numpy as np


def standardised(X, center=True):
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    F = X - X.mean(axis=0) if center else X.copy()
    norms = np.linalg.norm(F, axis=0)
    keep = norms > 1e-12 * np.linalg.norm(X, axis=0)
    return np.divide(F, norms, out=np.zeros_like(F), where=keep)


def class_basis(y):
    """Orthonormal basis of the centred class indicators, by a singular value decomposition."""
    indicators = (np.asarray(y)[:, None] == np.unique(y)).astype(float)
    U, s, _ = np.linalg.svd(indicators - indicators.mean(axis=0), full_matrices=False)
    return U[:, s > 1e-10]


def similarity(F, Y, kernel):
    rho = F.T @ F
    if kernel == "linear":
        return rho
    if kernel == "aligned":
        P = F.T @ Y
        U = P / np.maximum(np.linalg.norm(P, axis=1, keepdims=True), 1e-300)
        return rho * (U @ U.T)
    if kernel == "poly2":
        return rho**2
    if kernel == "rbf":
        return np.exp(rho - 1)
    return kernel(rho)


def squared_bias_objective(alpha, Q, r, gamma):
    return alpha @ Q @ alpha / 2 + gamma / 2 * alpha.sum() ** 2 - r @ alpha


def squared_bias_primal(alpha, Q, r, gamma, C):
    """P2 at w = sum alpha phi, b = gamma s."""
    s = alpha.sum()
    slack = np.maximum(r - Q @ alpha - gamma * s, 0)
    return alpha @ Q @ alpha / 2 + gamma * s**2 / 2 + C * slack.sum()


def projected_gradient(Q, r, gamma, C, n=20000):
    """Accelerated projected gradient descent on the box problem."""
    H = Q + gamma
    step = 1 / np.linalg.eigvalsh(H)[-1]
    alpha = previous = np.zeros(len(r))
    t = 1.0
    for _ in range(n):
        t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
        z = alpha + (t - 1) / t_next * (alpha - previous)
        previous, alpha = alpha, np.clip(z - step * (H @ z - r), 0, C)
        if (alpha - previous) @ (H @ alpha - r) > 0:  # restart
            t_next = 1.0
        t = t_next
    return alpha
