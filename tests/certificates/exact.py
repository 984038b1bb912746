"""Objectives in extended precision (``np.longdouble``), with a bound on what even that may be off by."""

import numpy as np

LONG = np.longdouble
EPS = np.finfo(LONG).eps


def long(a) -> np.ndarray:
    """As long doubles."""
    return np.asarray(a, LONG)


def norm(v):
    """‖v‖ without overflow."""
    v = long(v).ravel()
    top = np.abs(v).max(initial=LONG(0))
    return top * np.sqrt((v / top) @ (v / top)) if top > 0 else LONG(0)


def shares(weight, n):
    """The weights, summing to one."""
    weight = np.ones(n, LONG) if weight is None else long(weight)
    return weight / weight.sum()


def off(X, w, b=0.0):
    """No response ⟨w, xᵢ⟩ + b is off by more."""
    return 8 * (X.shape[1] + 2) * EPS * (np.abs(X) @ np.abs(long(w)) + abs(LONG(b))).max()


def hinge(X, y, c, w, b=0.0):
    """The mean hinge loss, and what it may be off by."""
    slack = np.maximum(0, 1 - y * (X @ long(w) + LONG(b)))
    return c @ slack, off(X, w, b) + 8 * len(y) * EPS * (c @ slack)


def regularized(X, y, c, lam, w, b=0.0, scale=None):
    """λ/2‖w‖² + mean hinge loss; `scale` is the value of the constant feature of a penalised bias."""
    loss, error = hinge(X, y, c, w, b)
    sq = norm(w) ** 2 + ((LONG(b) / LONG(scale)) ** 2 if scale else 0)
    return LONG(lam) / 2 * sq + loss, error + 8 * (X.shape[1] + 2) * EPS * LONG(lam) * sq


def multiclass(X, y, c, lam, W, scale):
    """λ/2‖W‖² + the mean loss of Crammer and Singer, and what it may be off by; W has a row for a constant feature."""
    W, rows = long(W), np.column_stack([X, np.full(len(X), LONG(scale))])
    R = rows @ W
    right = np.arange(len(y)), y
    R += 1 - R[right][:, None]
    R[right] = 0
    loss, sq = c @ R.max(axis=1), norm(W) ** 2
    error = 8 * (rows.shape[1] + 2) * EPS * (np.abs(rows) @ np.abs(W) + 1).max() * 2 + 8 * len(y) * EPS * loss
    return LONG(lam) / 2 * sq + loss, error + 8 * W.size * EPS * LONG(lam) * sq


def of_loss(X, y, c, lam, w, b, scale, loss):
    """λ/2‖w‖² + mean loss, for any loss; y are targets where it is one of regression."""
    r = X @ long(w) + LONG(b)
    g = np.abs(long(y) - r) - LONG(loss.epsilon) if loss.two_sided else 1 - y * r
    g = np.maximum(g, 0)
    error = off(X, w, b) + 4 * EPS * (np.abs(long(y)) + LONG(loss.epsilon)).max()
    losses, errors = (g * g, 2 * g * error + error**2) if loss.curvature else (g, error)
    sq = norm(w) ** 2 + ((LONG(b) / LONG(scale)) ** 2 if scale else 0)
    value = LONG(lam) / 2 * sq + c @ losses
    return value, (c * errors).sum() + 8 * (len(y) + X.shape[1] + 2) * EPS * value


def of_1_norm(X, y, c, lam, w, b=0.0, scale=None):
    """λ‖w‖₁ + mean squared hinge loss; `scale` as for `regularized`."""
    g = np.maximum(0, 1 - y * (X @ long(w) + LONG(b)))
    error = off(X, w, b)
    size = np.abs(long(w)).sum() + (abs(LONG(b)) / LONG(scale) if scale else 0)
    value = LONG(lam) * size + c @ (g * g)
    return value, (c * (2 * g * error + error**2)).sum() + 8 * (len(y) + X.shape[1] + 2) * EPS * value


def level(X, y, c, nu, w, b=0.0, length=1.0):
    """The water level at (w, b) scaled to a norm of `length`: filled up with a mean slack ν.

    b belongs to w at unit norm.
    """
    size = norm(w)
    w, b = long(w) / (size or 1) * LONG(length), LONG(b) * LONG(length)
    m = y * (X @ w + b)
    used = c > 0
    order = np.argsort(m[used], kind="stable")
    m, mass = m[used][order], np.cumsum(c[used][order])
    volume = mass * m - np.cumsum(c[used][order] * m)  # that brings the water to each margin
    at = np.flatnonzero(volume <= LONG(nu))[-1]
    gamma = m[at] + (LONG(nu) - volume[at]) / mass[at]
    return gamma, 8 * len(m) * (off(X, w, b) + EPS * (np.abs(m).max() + LONG(nu) / mass[at]))
