"""Algorithm 1 of Joachims, *Training Linear SVMs in Linear Time*, 2006, with one slack."""

import numpy as np
from scipy.optimize import minimize


def cutting_plane(X, y, lam, iterations, *, weight=None):
    """(w, alpha, bounds): the last point, its dual, and the minimum of the model after each iteration."""
    n, d = X.shape
    c = np.full(n, 1 / n) if weight is None else weight / weight.sum()
    W, w, beta, bounds = np.zeros((0, n)), np.zeros(d), np.zeros(0), []
    for _ in range(iterations):
        W = np.vstack([W, (y * (X @ w) < 1) & (c > 0)])  # the most violated constraint
        A, b = W @ ((c * y)[:, None] * X), W @ c
        beta = most(A, b, lam, np.append(beta, 0.0))
        w = beta @ A / lam
        bounds.append(b @ beta - lam / 2 * w @ w)
    return w, beta @ W, np.array(bounds)


def most(A, b, lam, beta):
    """The maximum of bᵀβ - ‖Aᵀβ‖²/(2λ) over β ≥ 0, Σβ ≤ 1."""
    found = minimize(
        lambda x: (x @ A) @ (A.T @ x) / (2 * lam) - b @ x,
        beta,
        jac=lambda x: A @ (x @ A) / lam - b,
        bounds=[(0, 1)] * len(b),
        constraints={"type": "ineq", "fun": lambda x: 1 - x.sum(), "jac": lambda x: -np.ones(len(x))},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return np.maximum(found.x, 0.0)
