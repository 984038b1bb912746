"""Dual coordinate ascent over given orders: one exact step after another."""

import numpy as np


def kernel_sdca(K, y, lam, visits, *, weight=None):
    """β after visiting the points in the order given."""
    s = np.ones(len(y)) if weight is None else weight
    C = s / s.sum() / lam
    alpha = np.zeros(len(y))
    for i in visits:
        w_x = (alpha * y) @ K[i]
        alpha[i] = max(0.0, min(C[i], alpha[i] + (1 - y[i] * w_x) / K[i, i]))
    return alpha * y
