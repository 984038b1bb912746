"""Small problems for the laws: short binary fractions, which float32 holds exactly."""

from functools import cache

import numpy as np
import scipy.sparse as sp


def tiny_rows(n=60, d=7, zeros=0.3):
    """Rows of two noisy classes, of the kind of the `tiny` fixture."""
    rng = np.random.default_rng(0)
    X = np.round(16 * rng.standard_normal((n, d))) / 16
    X[rng.random(X.shape) < zeros] = 0.0
    y = np.where(X[:, 0] + X[:, 1] + 0.7 * rng.standard_normal(n) > 0.2, 1, -1).astype(np.int8)
    return X, y


def weights(n):
    """Weights with zeros among them."""
    return np.random.default_rng(5).integers(0, 4, n) / 2.0


def compressed(X, dtype=np.float32, index=np.int32):
    """The same rows as CSR of these types."""
    S = sp.csr_array(X.astype(dtype))
    return sp.csr_array((S.data, S.indices.astype(index), S.indptr.astype(index)), shape=S.shape)


@cache
def known_margin(seed=0, n=40, d=6):
    """Rows whose widest margin through zero is known: σ, since the hull has σu and no row is below it."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    u, sigma = Q[0], float(rng.uniform(0.2, 0.6))
    on = [sigma * u + sign * rng.uniform(0.2, 1) * Q[k] for k in range(1, d) for sign in (1, -1)]
    off = (sigma + rng.random((n - len(on), 1))) * u + rng.standard_normal((n - len(on), d - 1)) @ Q[1:]
    A = np.vstack([on, off])[rng.permutation(n)]
    return A, sigma


@cache
def known_ball(seed=0, n=40, d=6):
    """Points of a ball about a centre, two of them at its ends: the smallest ball is that ball. With R²."""
    rng = np.random.default_rng(seed)
    centre, radius = rng.standard_normal(d), float(rng.uniform(0.5, 2))
    Z = rng.standard_normal((n, d))
    Z *= rng.uniform(0, 1, (n, 1)) / np.linalg.norm(Z, axis=1)[:, None]
    Z[1] = -Z[0] / np.linalg.norm(Z[0])
    Z[0] = -Z[1]
    return centre + radius * Z, radius**2


@cache
def known_game(seed=0, n=12, d=9):
    """Payoffs, and the value of the game by linear programming."""
    from scipy.optimize import linprog

    A = np.round(16 * np.random.default_rng(seed).uniform(-1, 1, (n, d))) / 16
    found = linprog(
        np.r_[np.zeros(d), -1.0],
        np.hstack([-A, np.ones((n, 1))]),
        np.zeros(n),
        np.r_[np.ones(d), 0.0][None],
        [1.0],
        [(0, None)] * d + [(None, None)],
        method="highs",
    )
    return A, -found.fun
