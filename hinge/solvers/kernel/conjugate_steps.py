"""Exact optimisation of a dual problem of thousands of points by pairs, each step conjugate to the one before.

.. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta + c^\\top\\beta + \\varepsilon\\sum_i|\\beta_i|, \\qquad
          lo \\le 0 \\le hi, \\quad lo \\le \\beta \\le hi, \\quad \\textstyle\\sum_i\\beta_i \\text{ given}

A pair d = eᵢ - eⱼ of points is chosen as in `two_point`. The step is along

.. math:: p \\leftarrow d - \\frac{d^\\top Kp}{p^\\top Kp}\\,p,

where the p on the right is that of the last step: the sum of both steps is the best in the plane of d and p. With
q = Kp kept, as e = Kβ + c is,

.. math:: d^\\top Kp = q_i - q_j, \\qquad p^\\top Kp \\leftarrow d^\\top Kd - \\frac{(q_i - q_j)^2}{p^\\top Kp},
          \\qquad e^\\top p = e_i - e_j,

so all numbers of a step cost O(1), and its vectors O(n), as without p. A point that meets a bound, or zero, where the
slope changes, ends the step, and the next one begins without p.

Where C is large most points lie between their bounds, K is nearly singular there, and steps in two coordinates are as
slow as steepest descent is; this takes a tenth to a quarter of them.

A. Torres-Barrán, C. M. Alaíz, J. R. Dorronsoro, *Faster SVM Training via Conjugate SMO*, 2021.
"""

from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.solvers.kernel.two_point import diagonal

PARALLEL = 1e-6
"""Where less than this of the curvature of a pair is left across p, rounding decides: the pair moves alone."""
LONGEST = 1e50
_FAST = {"contract", "nsz"}


class Sides(NamedTuple):
    """Where points can go: up and down, to a bound or to zero.

    Attributes
    ----------
    above, below : ndarray of shape (n,)
        What to add to e for the slope to either side; infinite where a point cannot move.
    low, high : ndarray of shape (n,)
        The ends of the way.
    """

    above: np.ndarray
    below: np.ndarray
    low: np.ndarray
    high: np.ndarray


@compiled
def conjugate_steps(K, beta, e, lo, hi, tol, most, epsilon=0.0, cut=-1):
    """Move pairs until none violates by more than `tol`, at most `most` times; β and e change in place.

    Where `cut` is not negative the sums before and from it on are kept apart: both points of a pair are on one side.
    Returns the number of steps.
    """
    n = len(beta)
    diag, tiny = diagonal(K)
    sides = Sides(np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    for k in range(n):
        _set_sides(k, beta, lo, hi, epsilon, sides)
    p, q, gains = np.zeros(n), np.zeros(n), np.empty(n, np.float32)
    size, curve = 1.0, 0.0  # the direction is p times its size, so that it turns without a pass over it
    steps = 0
    while steps < most:
        root = size / np.sqrt(curve) if curve > 0.0 else 0.0
        i, j, rise, violation = _pair(K, e, sides, diag, q, root, tiny, cut, gains)
        if j < 0 or violation <= tol:
            break
        steps += 1
        own, dot = max(np.float64(diag[i]) + diag[j] - 2.0 * K[i, j], tiny), size * (q[i] - q[j])
        share = -dot / curve if curve > 0.0 else 0.0
        curve = own + share * dot
        if curve <= PARALLEL * own:
            share = 0.0
        for _ in range(2):
            curve = curve if share != 0.0 else own
            size = _turn(p, q, size, share, i, j)
            t, blocked = _reach(p, size, beta, sides, rise / curve)
            alone = min(rise / own, sides.high[i] - beta[i], beta[j] - sides.low[j])
            if blocked < 0 or share == 0.0 or _gain(rise, curve, t) >= _gain(rise, own, alone):
                break
            share = 0.0  # p is in the way
        end = sides.high[blocked] if size * p[blocked] > 0.0 else sides.low[blocked]
        _follow(K[i], K[j], 1.0 / size, t * size, p, q, e, beta)
        if blocked >= 0:
            beta[blocked], curve = end, 0.0
            _set_sides(blocked, beta, lo, hi, epsilon, sides)
        _set_sides(i, beta, lo, hi, epsilon, sides)
        _set_sides(j, beta, lo, hi, epsilon, sides)
    for k in range(n):
        beta[k] = min(max(beta[k], lo[k]), hi[k])
    return steps


@compiled
def _set_sides(k, beta, lo, hi, epsilon, sides):
    b = beta[k] = min(max(beta[k], lo[k]), hi[k])
    sides.above[k] = np.inf if b == hi[k] else epsilon if b >= 0.0 else -epsilon
    sides.below[k] = -np.inf if b == lo[k] else epsilon if b > 0.0 else -epsilon
    sides.low[k], sides.high[k] = lo[k] if b <= 0.0 else 0.0, hi[k] if b >= 0.0 else 0.0


@compiled
def _gain(rise, curve, t):
    """What a step of length t gains."""
    return t * (rise - 0.5 * t * curve)


@compiled
def _pair(K, e, sides, diag, q, root, tiny, cut, gains):
    """The pair that gains most with p, its first point that of the least slope; its rise, and the worst violation."""
    n = len(e)
    i, j, rise, violation, best = -1, -1, 0.0, -np.inf, np.float32(0.0)
    for part in range(2 if cut >= 0 else 1):
        first, last = (0, n) if cut < 0 else (0, cut) if part == 0 else (cut, n)
        mine, above, below, some = e[first:last], sides.above[first:last], sides.below[first:last], gains[first:last]
        least, largest = _ends(mine, above, below)
        violation = max(violation, largest - least)
        if not largest > least:
            continue
        u = 0
        while mine[u] + above[u] != least:
            u += 1
        turned = q[first:last]
        _set_gains(K[first + u, first:last], diag[first:last], mine, below, turned, u, root, least, tiny, some)
        k = _largest(some)
        if some[k] > best:
            i, j, best, rise = first + u, first + k, some[k], mine[k] + below[k] - least
    return i, j, rise, violation


@compiled(fastmath=_FAST)
def _ends(e, above, below):
    """The least slope upwards and the largest downwards; four at a time, which do not wait for one another."""
    a0 = a1 = a2 = a3 = np.inf
    b0 = b1 = b2 = b3 = -np.inf
    for k in range(0, len(e) - 3, 4):
        a0, b0 = _nearer(a0, e[k] + above[k]), _farther(b0, e[k] + below[k])
        a1, b1 = _nearer(a1, e[k + 1] + above[k + 1]), _farther(b1, e[k + 1] + below[k + 1])
        a2, b2 = _nearer(a2, e[k + 2] + above[k + 2]), _farther(b2, e[k + 2] + below[k + 2])
        a3, b3 = _nearer(a3, e[k + 3] + above[k + 3]), _farther(b3, e[k + 3] + below[k + 3])
    for k in range(len(e) - len(e) % 4, len(e)):
        a0, b0 = _nearer(a0, e[k] + above[k]), _farther(b0, e[k] + below[k])
    return _nearer(_nearer(a0, a1), _nearer(a2, a3)), _farther(_farther(b0, b1), _farther(b2, b3))


@compiled(inline="always")
def _nearer(a, b):
    return b if b < a else a


@compiled(inline="always")
def _farther(a, b):
    return b if b > a else a


@compiled(fastmath=_FAST)
def _set_gains(row, diag, e, below, q, u, root, least, tiny, gains):
    """rise²/curvature of point u with every other, for the choice: in single precision, without a branch."""
    own, mine, tiny, floor = np.float32(diag[u]), q[u], np.float32(tiny), np.float32(PARALLEL)
    for k in range(len(e)):
        up, dot = np.float32((e[k] + below[k]) - least), np.float32(root * (mine - q[k]))
        up = up if up > np.float32(0.0) else np.float32(0.0)
        alone = (own + np.float32(diag[k])) - np.float32(2.0) * np.float32(row[k])
        across, least_curve = alone - dot * dot, floor * alone + tiny
        gains[k] = up * up / (across if across > least_curve else least_curve)


@compiled
def _largest(gains):
    """Where the largest is, of numbers that are not negative: their bits are in the same order."""
    bits, best = gains.view(np.int32), np.int32(0)
    for k in range(len(bits)):
        best = max(best, bits[k])
    for k in range(len(bits)):
        if bits[k] == best:
            return k
    return 0


@compiled
def _turn(p, q, size, share, i, j):
    """Make p times its size the new direction; q lacks its row yet. Returns the size."""
    if share == 0.0 or not 1.0 / LONGEST < abs(size * share) < LONGEST:
        for k in range(len(p)):
            p[k] *= size * share
            q[k] *= size * share
        size = 1.0
    else:
        size *= share
    p[i] += 1.0 / size
    p[j] -= 1.0 / size
    return size


@compiled
def _reach(p, size, beta, sides, t):
    """How far the direction can go, up to t, and the point that is in its way, or -1."""
    blocked = -1
    if _leaving(p, t * size, beta, sides.low, sides.high) > 0:
        for k in range(len(p)):
            d = size * p[k]
            room = max(sides.high[k] - beta[k] if d > 0.0 else beta[k] - sides.low[k], 0.0)  # rounding may pass an end
            if abs(d) * t > room:
                t, blocked = room / abs(d), k
    return t, blocked


@compiled(fastmath=_FAST)
def _leaving(p, t, beta, low, high):
    """How many points would pass the end of their way."""
    out = np.int64(0)
    for k in range(len(p)):
        z = beta[k] + t * p[k]
        out += np.int64(z > high[k]) + np.int64(z < low[k])
    return out


@compiled(fastmath=_FAST)
def _follow(row, other, per, t, p, q, e, beta):
    """Give q its row, and move e and β along the direction."""
    for k in range(len(e)):
        q[k] += (np.float64(row[k]) - np.float64(other[k])) * per
        e[k] += t * q[k]
    for k in range(len(e)):
        beta[k] += t * p[k]
