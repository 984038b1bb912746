"""Zhang's stochastic gradient descent, as section 5 of the Pegasos paper gives it: a fixed step."""

import numpy as np


def sgd(X, y, draws, *, eta, lam=0.0, radius=np.inf, average=False):
    """w after one iteration for each index drawn, or the mean of the iterates."""
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in draws:
        loss = y[i] * (w @ X[i]) < 1
        w = (1 - eta * lam) * w + (eta * y[i] * X[i] if loss else 0)
        w = min(1, radius / max(np.linalg.norm(w), 1e-300)) * w
        total += w
    return total / len(draws) if average else w
