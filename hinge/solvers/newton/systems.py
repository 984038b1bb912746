"""H x = g for a symmetric positive H, given as its lower triangle or by its products."""

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dposv

TRIES = 20  # ridges, each ten times the one before, from 1e-14 of the diagonal on


def solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹g from the lower triangle; with a ridge where rounding or an idle bias made H singular, g where H is no use.

    The ridge is a share of each diagonal entry: columns of any scale are treated alike, as a factorisation does.
    """
    own, ridge = np.diagonal(H), 0.0
    size = float(np.abs(own).sum())
    for _ in range(TRIES):
        # The lower triangle of rows is the upper one of columns, which LAPACK expects: nothing is transposed.
        _, x, failed = dposv((H + np.diag(ridge * (own + 1e-16 * size)) if ridge else H).T, g)
        if not failed:
            return x.reshape(g.shape)
        ridge = max(10 * ridge, 1e-14)
    return g / size if 0.0 < size < np.inf else g


def conjugate_gradient(
    times: Callable[[np.ndarray], np.ndarray], g: np.ndarray, steps: int, diagonal: np.ndarray | float = 1.0
) -> tuple[np.ndarray, bool]:
    """H⁻¹g to a tenth of g in the norm of the preconditioner, and whether the given number of products came so near.

    The preconditioner is the `diagonal` of H: columns of different scales cost no more products than equal ones.
    """
    x, residual = np.zeros_like(g), g.copy()
    p = residual / diagonal
    rr = float(residual @ p)
    target = 0.01 * rr
    for _ in range(steps):
        if rr <= target:
            return x, True
        Hp = times(p)
        step = rr / float(p @ Hp)
        x += step * p
        residual -= step * Hp
        scaled = residual / diagonal
        rr, before = float(residual @ scaled), rr
        p = scaled + rr / before * p
    return x, rr <= target
