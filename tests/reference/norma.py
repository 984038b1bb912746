"""Norma, as section 5 of the Pegasos paper gives it: no projection, steps p/(λ√t)."""

import numpy as np


def norma(X, y, lam, draws, *, p, average=False, projection=False):
    """w after one iteration for each index drawn, or the mean of the iterates."""
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for t, i in enumerate(draws, start=1):
        eta = p / (lam * np.sqrt(t))
        loss = y[i] * (w @ X[i]) < 1
        w = (1 - eta * lam) * w + (eta * y[i] * X[i] if loss else 0)
        if projection:
            w = min(1, 1 / (np.sqrt(lam) * max(np.linalg.norm(w), 1e-300))) * w
        total += w
    return total / len(draws) if average else w
