"""Variance multiplicative weights, Definition 1 of the survey."""

import numpy as np

from hinge.compiled import compiled

FLOOR = 1e-250  # lower limit of the weights


@compiled
def factor(z):
    """1 - z + z² for z = ηv, clipped to [-1, 1]."""
    z = min(1.0, max(-1.0, z))
    return 1.0 - z + z * z


@compiled
def reweigh(p, v, eta):
    """p(i) ← p(i)(1 - ηv(i) + η²v(i)²), normalised; returns the sum of p(i) whose estimate was clipped."""
    clipped, total = 0.0, 0.0
    for i in range(len(p)):
        z = eta * v[i]
        if abs(z) > 1.0:
            clipped += p[i]
        p[i] = max(p[i] * factor(z), FLOOR)
        total += p[i]
    for i in range(len(p)):
        p[i] /= total
    return clipped


def even(n: int) -> np.ndarray:
    """Uniform weights."""
    return np.full(n, 1.0 / n)
