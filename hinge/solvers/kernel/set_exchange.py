"""Many points between their bounds: which points are where, all exchanged after each Newton step.

.. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta + c^\\top\\beta + \\varepsilon\\sum_i|\\beta_i|, \\qquad
          lo \\le \\beta \\le hi, \\quad \\textstyle\\sum_i\\beta_i \\text{ given, with a free bias}

Every point has a place: a bound, zero, or between. Given places, the points F between are where

.. math:: K_{FF}\\beta_F + b\\mathbf 1 = -c_F - \\varepsilon\\sigma_F - K_{FB}\\beta_B,

σ the sides of zero that they are on and B the points at a bound. Then those that left their side of the box go to the
end that they passed, and those at a bound or at zero whose slope -g - b asks for it come in between. When nobody moves
the answer is optimal. This is Newton's method on the optimality conditions, which are broken lines: where it converges
it does so after finitely many steps, some six to ten from a rough beginning, however ill-conditioned K.

Where K is nearly singular, as for points of few features, too many points may change places, and back. Then one goes
from the start towards the last answer, made feasible, as far as the objective falls, and the rest is left to others.
The objective has the term δ/2‖β - start‖², which leaves the optimum where it is once it is the start, for a small δ
that outweighs the rounding of K.

A step costs |F|³/3 operations, by LAPACK, and a product with K.

M. Hintermüller, K. Ito, K. Kunisch, *The Primal-Dual Active Set Strategy as a Semismooth Newton Method*, 2002.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

MOST_FREE = 5120
"""Points between their bounds up to which a step is worth its system of equations."""
SINGLE = 1e-5
"""What the rounding of kernel values in single precision comes to in an answer, as a share."""
RIDGE = 1e-10
"""δ as a share of the largest value; `SINGLE` for kernel values in single precision."""
STEPS = 25
PATIENCE = 4
"""Steps after which half as many points must change their places: else it goes round in circles."""
LAST, REFINED = 0.02, 4
"""Once no more than this share of the points changes its place, δ is taken out again by this number of corrections."""
FEW = 0.002
"""Share of the points that may be left in the wrong place: pair steps put these right sooner."""


class Block(NamedTuple):
    """The problem.

    Attributes
    ----------
    K : ndarray of shape (n, n)
    c, lo, hi, start : ndarray of shape (n,)
    free : bool
        Whether the sum stays as at the start.
    epsilon, ridge : float
    """

    K: np.ndarray
    c: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    start: np.ndarray
    free: bool
    epsilon: float
    ridge: float

    def pulls(self, beta: np.ndarray) -> np.ndarray:
        """g: the gradient, but for ε."""
        return _product(self.K, beta) + self.c + self.ridge * (beta - self.start)


def exchange_sets(
    K: np.ndarray,
    beta: np.ndarray,
    e: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    free: bool,
    epsilon: float | None = None,
) -> bool:
    """Move β and e = Kβ + c, in place, until few points change their places; whether it came to that.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    beta, e, lo, hi : ndarray of shape (n,)
    free : bool
        Whether the sum of β is to stay.
    epsilon : float, optional
        0 where not given.
    """
    c, width = e - _product(K, beta), epsilon or 0.0
    ridge = (RIDGE if K.dtype == np.float64 else SINGLE) * float(K.diagonal().max(initial=0.0))
    z, settled = _settled(Block(K, c, lo, hi, beta, free, width, ridge), e)
    way = z - beta
    pulls = _product(K, way)
    slope = float(e @ way) + width * float(np.abs(z).sum() - np.abs(beta).sum())  # of the chord of ε|β|, which is above
    curve = float(way @ pulls)
    if not slope < 0.0:
        return False
    if 0.5 * curve + slope < 0.0 and slope + curve <= 0.5 * abs(slope):
        beta[:], e[:] = z, e + pulls
    else:
        t = min(1.0, -slope / curve)
        beta[:], e[:] = np.clip(beta + t * way, lo, hi), e + t * pulls
    return settled


def _settled(block: Block, e: np.ndarray) -> tuple[np.ndarray, bool]:
    """β after some steps, and whether few points still change their places."""
    n, z = len(e), block.start
    place = _places(block, z)
    place = _exchanged(block, place, z, -e - _bias(block, place, z, e))
    fewest, last = n + 1, 0
    for step in range(STEPS):
        found = _solved(block, place, fewest <= LAST * n)
        if found is None:
            break
        z, b = found
        after = _exchanged(block, place, z, -block.pulls(z) - b)
        changed = int(np.count_nonzero(after != place))
        if changed <= FEW * n:
            return _feasible(block, place, z), True
        if changed <= fewest // 2:
            fewest, last = changed, step
        elif step - last >= PATIENCE:
            break
        place = after
    return _feasible(block, place, z), False


def _product(K: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Kβ in float64."""
    if K.dtype == np.float64:
        return K @ beta
    out = np.empty(len(beta))
    for lo in range(0, len(K), 256):
        out[lo : lo + 256] = K[lo : lo + 256].astype(np.float64) @ beta
    return out


def _places(block: Block, beta: np.ndarray) -> np.ndarray:
    """-2 and 2 at a bound, -1 and 1 between it and zero, 0 at zero."""
    at_bound = (beta <= block.lo) | (beta >= block.hi)
    return np.sign(beta) * np.where(at_bound, 2, 1)


def _bias(block: Block, place: np.ndarray, beta: np.ndarray, e: np.ndarray) -> float:
    """What the points between their bounds ask for; the middle of what others allow, where there are none."""
    if not block.free:
        return 0.0
    between = np.abs(place) == 1
    if between.any():
        return -float((e + block.epsilon * place)[between].mean())
    side = np.where(place == 0, 1.0, np.sign(place)) * block.epsilon
    grows, falls = beta < block.hi, beta > block.lo
    most = float((e + np.where(place == 0, -side, side))[falls].max(initial=-np.inf))
    least = float((e + side)[grows].min(initial=np.inf))
    return -0.5 * (most + least) if np.isfinite(most + least) else 0.0


def _exchanged(block: Block, place: np.ndarray, z: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The places after a step to z, where the slopes are -m."""
    side, between = np.sign(place), np.abs(place) == 1
    bound = np.where(side > 0, block.hi, -block.lo)
    after = np.where(between & (side * z < 0), 0.0, place)
    after = np.where(between & (side * z > bound), 2.0 * side, after)
    after = np.where((place == 0) & (m > block.epsilon) & (block.hi > 0), 1.0, after)
    after = np.where((place == 0) & (m < -block.epsilon) & (block.lo < 0), -1.0, after)
    return np.where((np.abs(place) == 2) & (side * m < block.epsilon), side, after)


def _solved(block: Block, place: np.ndarray, last: bool = False) -> tuple[np.ndarray, float] | None:
    """β and b for these places; None where the equations cannot be solved. The `last` are solved without δ, nearly."""
    F = np.flatnonzero(np.abs(place) == 1)
    if not (1 if block.free else 0) < len(F) <= MOST_FREE:
        return None
    z = np.where(place == 2, block.hi, np.where(place == -2, block.lo, 0.0))
    z[F] = block.start[F]
    A = block.K.take(F, axis=0).take(F, axis=1).astype(np.float64, copy=False)
    A.flat[:: len(F) + 1] += block.ridge
    try:
        factor = cho_factor(A.T, overwrite_a=True, check_finite=False)  # the same matrix, as LAPACK has its columns
    except LinAlgError:
        return None
    unit = cho_solve(factor, np.ones(len(F)), check_finite=False)
    b, wanted = 0.0, float((block.start - z).sum())
    for again in range(1 + (REFINED if last else 0)):
        pulls = block.pulls(z) if again == 0 else _product(block.K, z) + block.c
        change = cho_solve(factor, -(pulls[F] + block.epsilon * place[F]), check_finite=False)
        if block.free:
            b = (float(change.sum()) - (wanted if again == 0 else 0.0)) / float(unit.sum())
            change -= b * unit
        z[F] += change
    return (z, b) if np.isfinite(z).all() else None


def _feasible(block: Block, place: np.ndarray, z: np.ndarray) -> np.ndarray:
    """z in the box, every point on its side of zero, and of the sum of the start; the start where that cannot be."""
    low = np.where(place > 0, 0.0, block.lo)
    high = np.where(place < 0, 0.0, block.hi)
    z = np.clip(z, low, high)
    lack = float((block.start - z).sum())
    if not block.free or lack == 0.0:
        return z
    room = np.where(np.abs(place) == 1, high - z if lack > 0 else z - low, 0.0)
    if float(room.sum()) < abs(lack):
        return block.start.copy()
    return np.clip(z + lack * room / float(room.sum()), low, high)
