"""H x = g for a symmetric positive H, given as its lower triangle or by its products."""

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dposv

from hinge.problems.base import EPS

OWN = 10.0 ** np.arange(6)  # ridges that are shares of their own entries, in units of the rounding of a factor
COMMON = 1e-12 * 10.0 ** np.arange(20)  # ridges after these, as shares of the trace


def solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹g from the lower triangle; a ridge where rounding or an idle bias made H singular, g where H is no use.

    The first ridges are shares of each entry of the diagonal: columns may be of any scale, and a share of the trace
    would keep the weights of small ones where they are.
    """
    # The lower triangle of rows is the upper one of columns, which LAPACK expects: nothing is transposed.
    _, x, failed = dposv(H.T, g)
    if not failed:
        return x.reshape(g.shape)
    own, size = np.diagonal(H), float(np.abs(np.diagonal(H)).sum())
    own = np.where(own > 0.0, own, size)
    for ridge in [*np.outer(len(g) * EPS * OWN, own), *np.outer(COMMON, np.full(len(own), size))]:
        _, x, failed = dposv((H + np.diag(ridge)).T, g)
        if not failed:
            return x.reshape(g.shape)
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
