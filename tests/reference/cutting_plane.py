"""Algorithm 1 of Joachims, *Training Linear SVMs in Linear Time*, 2006, with one slack."""

from itertools import product

import numpy as np


def cutting_plane(X, y, lam, iterations, *, weight=None):
    """(w, alpha, bounds): the last point, its dual, and the minimum of the model after each iteration."""
    n, d = X.shape
    c = np.full(n, 1 / n) if weight is None else weight / weight.sum()
    W, w, bounds = np.zeros((0, n)), np.zeros(d), []
    for _ in range(iterations):
        W = np.vstack([W, (y * (X @ w) < 1) & (c > 0)])  # the most violated constraint
        A, b = W @ ((c * y)[:, None] * X), W @ c
        beta = most(A, b, lam)
        w = beta @ A / lam
        bounds.append(b @ beta - lam / 2 * w @ w)
    return w, beta @ W, np.array(bounds)


def most(A, b, lam):
    """The maximum of bᵀβ - ‖Aᵀβ‖²/(2λ) over β ≥ 0, Σβ ≤ 1: the best of the faces, each by its linear system."""
    m, G = len(b), A @ A.T / lam
    best = np.zeros(m)
    for face in product((False, True), repeat=m):
        S, k = np.flatnonzero(face), sum(face)
        if k == 0:
            continue
        border = np.block([[G[np.ix_(S, S)], np.ones((k, 1))], [np.ones((1, k)), np.zeros((1, 1))]])
        for found in (solve(border[:k, :k], b[S]), solve(border, np.append(b[S], 1.0))[:k]):
            beta = np.zeros(m)
            beta[S] = found
            feasible = beta.min() >= 0 and beta.sum() <= 1 + 1e-12
            if feasible and b @ beta - beta @ G @ beta / 2 > b @ best - best @ G @ best / 2:
                best = beta
    return best


def solve(M, r):
    """Of the least norm where there are several."""
    return np.linalg.lstsq(M, r, rcond=1e-13)[0]
