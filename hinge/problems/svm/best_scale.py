"""Rescaling a dual solver's w: the s and b for which the primal objective of s·w is least.

.. math:: \\min_{s, b}\\ \\frac\\lambda2 s^2\\|w\\|^2 + \\sum_i c_i\\,\\ell(y_i, s r_i + b)

During a run the dual objective is near its optimum before the primal is. Where C is large, many rows that miss the
margin by little cost much, and a slightly longer w avoids that. The minimum over b is a convex function of s, so the
sign of its slope tells on which side of s its minimiser lies: it is found by doubling and bisection.
"""

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.examples import sorted_bias
from hinge.types import Array

WORTH = 0.3
"""A rescaling is looked for only if it may reduce the primal by this fraction of the gap."""
HALVINGS = 5
"""Steps of bisection once the minimiser is bracketed."""
DOUBLINGS = 40
"""Most evaluations in all, those that bracket it included."""


def best_scale(
    lam: float, sq: float, r: Array, y: Array, c: Array | float, b: float, gap: float, epsilon: float | None, free: bool
) -> tuple[float, float, float]:
    """s, b and the primal at s·w where it is less than at w by a fraction `WORTH` of the gap; else 1, b and infinity.

    Parameters
    ----------
    lam, sq : float
        λ and ‖w‖².
    r, y : array of shape (n,)
        Responses of w, and labels or targets.
    c : array of shape (n,) or float
        The cᵢ; a number if all are equal.
    b, gap : float
        The best bias for s = 1, and P - D at that.
    epsilon : float, optional
        Of the ε-insensitive loss; None for the hinge.
    free : bool
        Whether the bias is free; if not, b is kept.
    """
    slope = _primal(lam, sq, r, y, c, 1.0, b, epsilon)[1]
    if not (sq > 0.0 and gap > 0.0 and slope != 0.0):
        return 1.0, b, np.inf
    # A convex function is above its tangent: for |s - 1| < h the reduction is less than that fraction of the gap.
    h = WORTH * gap / abs(slope)
    way = -float(np.sign(slope))
    if not h < 0.5 or way * _primal(lam, sq, r, y, c, 1.0 + way * h, b, epsilon)[1] >= 0.0:
        return 1.0, b, np.inf
    best, near, far = (1.0, b, np.inf), h, np.inf
    left = HALVINGS
    for _ in range(DOUBLINGS):
        at = 2.0 * near if far == np.inf else 0.5 * (near + far)
        s = 1.0 + way * at
        if s <= 0.0:
            far = at
            continue
        now = float(sorted_bias(s * r, y, c, epsilon)) if free else b
        primal, slope = _primal(lam, sq, r, y, c, s, now, epsilon)
        best = min(best, (s, now, primal), key=lambda one: one[-1])
        near, far = (near, at) if way * slope >= 0.0 else (at, far)
        left -= far < np.inf
        if left == 0:
            break
    return best


def _primal(
    lam: float, sq: float, r: Array, y: Array, c: Array | float, s: float, b: float, epsilon: float | None
) -> tuple[float, float]:
    """The primal at s·w and b, and its slope in s."""
    if isinstance(r, np.ndarray):
        loss, slope = _losses(r, y, np.atleast_1d(c), s, b, epsilon)
        return 0.5 * lam * s * s * sq + loss, lam * s * sq + slope
    short = 1.0 - y * (s * r + b) if epsilon is None else y - s * r - b
    over = short if epsilon is None else abs(short) - epsilon
    side = y if epsilon is None else (short > 0) * 2.0 - 1.0
    loss, slope = (c * over.clip(0.0)).sum(), -(c * (over > 0) * side * r).sum()
    return 0.5 * lam * s * s * sq + float(loss), lam * s * sq + float(slope)


@compiled
def _losses(r, y, c, s, b, epsilon):
    """The sum of the losses at s·r and b, and its slope in s, in one pass; `c` are weights, or one for all."""
    loss, slope, alike = 0.0, 0.0, len(c) == 1
    for i in range(len(r)):
        if epsilon is None:
            side = 1.0 * y[i]
            over = 1.0 - side * (s * r[i] + b)
        else:
            short = y[i] - s * r[i] - b
            side = 1.0 if short > 0.0 else -1.0
            over = abs(short) - epsilon
        if over > 0.0:
            own = c[0] if alike else c[i]
            loss += own * over
            slope -= own * side * r[i]
    return loss, slope
