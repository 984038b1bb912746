"""H x = g for a symmetric positive H, given as its lower triangle or by its products."""

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dposv

TRIES = 20  # ridges, each ten times the one before, from 1e-12 of the trace on


def solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹g from the lower triangle; a ridge where rounding or an idle bias made H singular, g where H is no use."""
    size, ridge = float(np.abs(np.diagonal(H)).sum()), 0.0
    for _ in range(TRIES):
        # The lower triangle of rows is the upper one of columns, in which LAPACK thinks: nothing is turned round.
        _, x, failed = dposv((H + ridge * np.eye(len(g)) if ridge else H).T, g)
        if not failed:
            return x.reshape(g.shape)
        ridge = max(10 * ridge, 1e-12 * size)
    return g / size if 0.0 < size < np.inf else g


def conjugate_gradient(times: Callable[[np.ndarray], np.ndarray], g: np.ndarray, steps: int) -> np.ndarray:
    """H⁻¹g to a tenth of ‖g‖, or as near as the given number of products with H comes."""
    x, residual = np.zeros_like(g), g.copy()
    p, rr = residual.copy(), float(g @ g)
    target = 0.01 * rr
    for _ in range(steps):
        if rr <= target:
            break
        Hp = times(p)
        step = rr / float(p @ Hp)
        x += step * p
        residual -= step * Hp
        rr, before = float(residual @ residual), rr
        p = residual + rr / before * p
    return x
