"""The lines of Algorithm 1 of the SIMBA paper, for all points and all coordinates: O(n + d) an iteration."""

from typing import NamedTuple, cast

import numpy as np

from hinge.compiled import Scalars, compiled, scalars_array
from hinge.sampling import draw_unit, pick
from hinge.solvers.saddle.primal_dual import FLOOR, factor

OUTSIDE = -2
TIES = 1e-9  # weights that differ by this fraction are equal but for rounding


class Exact(NamedTuple):
    """u, p, and the sums of all w, p and b so far; `numbers` has b and its sum."""

    u: np.ndarray
    w_sum: np.ndarray
    p: np.ndarray
    p_sum: np.ndarray
    numbers: np.ndarray


def start(n: int, d: int) -> Exact:
    """u = 0 and p uniform."""
    numbers = scalars_array(b=0.0, b_sum=0.0)
    return Exact(np.zeros(d), np.zeros(d), np.full(n, 1.0 / n), np.zeros(n), numbers)


def sums(s: Exact) -> tuple[np.ndarray, np.ndarray, float]:
    """The sums of all w, p and b so far."""
    return s.w_sum, s.p_sum, float(cast(Scalars, s.numbers[()]).b_sum)


def bare(s: Exact) -> tuple[np.ndarray, ...]:
    """The arrays as a plain tuple: calls of compiled code are faster with that than with a named one."""
    return tuple(s)


@compiled
def choose_point(arrays, y, t, key, free, amount, refresh):
    """Line 4, and b_t = sign(pᵀy)."""
    _, _, p, p_sum, numbers = arrays
    p_sum += p
    s = numbers[()]
    s.b = sign_of((p * y).sum()) if free else 0.0
    s.b_sum += s.b
    return pick(p, draw_unit(key, 2 * t))  # 4


@compiled
def add_point(arrays, at, x, step, t, key, limit):
    """Lines 5 to 7: j and ‖w‖²/w(j); -1 where w = 0, -2 where x is longer than the limit."""
    if sq_length(x) > limit:
        return OUTSIDE, 0.0
    u, w_sum, _, _, _ = arrays
    u += step * whole(at, x, len(u))  # 5
    w = u / max(1.0, np.sqrt(sq_length(u)))  # 6
    w_sum += w
    j = pick(w * w, draw_unit(key, 2 * t + 1))  # 7
    return j, (sq_length(w) / w[j] if j >= 0 else 0.0)


@compiled
def reweigh(arrays, y, at, x, ratio, eta, t, amount, refresh):
    """Line 5 for ξ, and lines 8 to 13."""
    _, _, p, _, numbers = arrays
    b, xi, xj = numbers[()].b, greedy_slack(p, amount), whole(at, x, len(y))  # 5: ξ
    for i in range(len(y)):  # 8
        v = y[i] * xj[i] * ratio + xi[i] + y[i] * b  # 9
        p[i] = max(p[i] * factor(eta * v), FLOOR)  # 10 and 11
    p /= p.sum()  # 13


@compiled
def greedy_slack(p, count):
    """The ξ of Ξ_ν with the largest pᵀξ: 2 on the `count` largest p, in equal parts on ties at the cut."""
    cut, part = cut_of(p, count)
    xi = np.zeros(len(p))
    for i in range(len(p)):
        if p[i] > cut * (1.0 + TIES):
            xi[i] = 2.0
        elif p[i] >= cut * (1.0 - TIES):
            xi[i] = 2.0 * part
    return xi


@compiled
def cut_of(p, count):
    """The smallest p that the greedy step gives slack, and the part of it that points at the cut get."""
    if not count < len(p):  # checked before the conversion: an infinite count has no integer
        return 0.0, 1.0
    m = int(count)  # the number of points that get the full amount; one more gets a part of it
    cut = np.partition(p, len(p) - 1 - m)[len(p) - 1 - m]
    above, ties = 0, 0
    for i in range(len(p)):
        above += p[i] > cut * (1.0 + TIES)
        ties += abs(p[i] - cut) <= cut * TIES
    return cut, (count - above) / ties


@compiled
def sign_of(balance):
    """The sign of pᵀy; 0 for what may be rounding."""
    return 0.0 if abs(balance) < TIES else (1.0 if balance > 0.0 else -1.0)


@compiled
def whole(at, x, size):
    """A row or a column with its zeros."""
    line = np.zeros(size)
    for k in range(len(x)):
        line[at[k] if len(at) else k] = x[k]
    return line


@compiled(fastmath={"reassoc", "contract", "nsz"})
def sq_length(x):
    """The squared norm of the values of a line."""
    total = 0.0
    for k in range(len(x)):
        total += np.float64(x[k]) * np.float64(x[k])
    return total
