"""Crammer and Singer's machine, by its row steps as section 6 of their paper has them, and by sub-gradients."""

import numpy as np


def row_step(B, A, limit):
    """The α of least A/2‖α‖² + ⟨B, α⟩ with α ≤ limit and Σα = 0: a sort finds the level, α = min(limit, (β - B)/A)."""
    D = np.sort(B + A * limit)[::-1]
    for r in range(1, len(D) + 1):
        beta = (D[:r].sum() - A * limit.sum()) / r
        if r == len(D) or beta >= D[r]:
            break
    return np.minimum(limit, (beta - B) / A)


def dual_ascent(X, y, k, lam, epochs, weight=None):
    """(W, α) after visiting the rows of each epoch in the order given; α in units of the rows' weight."""
    s = np.ones(len(y)) if weight is None else weight
    Lam = lam * s.sum()
    alpha, V = np.zeros((len(y), k)), np.zeros((X.shape[1], k))
    for order in epochs:
        for i in order:
            right = np.eye(k)[y[i]]
            A = s[i] * X[i] @ X[i] / Lam
            G = X[i] @ V / Lam + 1 - right
            new = row_step(G - A * alpha[i], A, right)
            V = V + s[i] * np.outer(X[i], new - alpha[i])
            alpha[i] = new
    return V / Lam, alpha


def pegasos(X, y, k, lam, draws, *, projection=True, output="last", weight=None):
    """W after the iterations that draw these rows; the mean weight is one."""
    s = np.ones(len(y)) if weight is None else weight
    W, total, mass = np.zeros((X.shape[1], k)), np.zeros((X.shape[1], k)), 0.0
    for t, i in enumerate(draws, start=1):
        losses = X[i] @ W - X[i] @ W[:, y[i]] + (np.arange(k) != y[i])
        worst = int(np.argmax(losses))
        W = (1 - 1 / t) * W
        if losses[worst] > 0:
            W[:, y[i]] += s[i] / (lam * t) * X[i]
            W[:, worst] -= s[i] / (lam * t) * X[i]
        if projection:
            W = min(1, 1 / (np.sqrt(lam) * max(np.linalg.norm(W), 1e-300))) * W
        rho = {"last": 0, "uniform": 1, "weighted": t}[output]
        total, mass = total + rho * W, mass + rho
    return W if output == "last" else total / mass
