"""The best multiple of a direction: the primal of a dual answer at s·w, with the s and b that are best.

.. math:: \\min_{s, b}\\ \\frac\\lambda2 s^2\\|w\\|^2 + \\sum_i c_i\\,\\ell(y_i, s r_i + b)

The dual of an answer on its way is good before its primal is. Where C is large, rows that should be at the margin and
are short of it by little are dear: a w that is longer by as little spares that. The function is convex in s, with the
least at the best b for each, so the sign of its slope says on which side the best s is.
"""

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.examples import sorted_bias
from hinge.types import Array

WORTH = 0.3
"""Share of the gap that there must be to gain."""
HALVINGS = 5
"""How well the distance from 1 is known in the end: to one in so many doublings."""
DOUBLINGS = 40


def best_scale(
    lam: float, sq: float, r: Array, y: Array, c: Array | float, b: float, gap: float, epsilon: float | None, free: bool
) -> tuple[float, float, float]:
    """s, b and the primal at s·w, where that is less than at w by a share of the gap; else 1, b and infinity.

    Parameters
    ----------
    lam, sq : float
        λ and ‖w‖².
    r, y : array of shape (n,)
        Responses of w, and labels or targets.
    c : array of shape (n,) or float
        Weights of the losses.
    b, gap : float
        The best bias for s = 1, and P - D there.
    epsilon : float, optional
        Of the ε-insensitive loss; None for the hinge.
    free : bool
        Whether b is.
    """
    slope = _primal(lam, sq, r, y, c, 1.0, b, epsilon)[1]
    if not (sq > 0.0 and gap > 0.0 and slope != 0.0):
        return 1.0, b, np.inf
    # The function is above its tangent: within h of 1 there is less than that share to gain.
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
