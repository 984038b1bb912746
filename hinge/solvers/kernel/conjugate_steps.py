"""Exact optimisation of a dual problem of thousands of points by pairs, each step conjugate to the one before.

.. math:: \\min_\\beta\\ \\tfrac12\\beta^\\top K\\beta + c^\\top\\beta + \\varepsilon\\sum_i|\\beta_i|, \\qquad
          lo \\le 0 \\le hi, \\quad lo \\le \\beta \\le hi, \\quad \\textstyle\\sum_i\\beta_i \\text{ given}

A pair d = eᵢ - eⱼ of points is chosen by second-order information, the rule of LIBSVM. The step is along

.. math:: p \\leftarrow d - \\frac{d^\\top Kp}{p^\\top Kp}\\,p,

where the p on the right comes from the last step: the sum of both steps is the best in the plane of d and p. With
q = Kp kept, as e = Kβ + c is,

.. math:: d^\\top Kp = q_i - q_j, \\qquad p^\\top Kp \\leftarrow d^\\top Kd - \\frac{(q_i - q_j)^2}{p^\\top Kp},
          \\qquad e^\\top p = e_i - e_j,

so all numbers of a step cost O(1), as do p and β (`ConjugateLine`), and e and q cost O(n), as without p. A point that
meets a bound, or zero, where the slope changes, ends the step, and the next one begins without p.

Slopes are kept in the precision of K, less their middle, which no pair feels: what is lost is then relative to the
violation that there was at the beginning, and a run that continues from β begins with exact slopes.

Where C is large most points lie between their bounds, K is nearly singular there, and steps in two coordinates are as
slow as steepest descent is; this takes a tenth to a quarter of them.

R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working Set Selection Using Second Order Information*, 2005;
A. Torres-Barrán, C. M. Alaíz, J. R. Dorronsoro, *Faster SVM Training via Conjugate SMO*, 2021.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from hinge.compiled import compiled, extends_compiler
from hinge.problems.svm.kernel_duality import slope_above, slope_below
from hinge.solvers.kernel.member_rows import copy_row

LARGEST = 1e3
"""Where s or 1/s is larger than this, it becomes 1 again, and where τ is that many steps, it becomes 0: b and τa must
not cancel."""


class ConjugateLine(NamedTuple):
    """A point in a box that moves along a direction which every step turns a little, for O(1) a step.

    The directions are :math:`p \\leftarrow \\theta p + e_i - e_j`, the steps :math:`\\beta \\leftarrow \\beta + tp`.
    With p = s·a and β = b + τ·a, where a and b are the vectors that are kept,

    .. math:: s \\leftarrow \\theta s, \\qquad a \\leftarrow a + \\tfrac1s(e_i - e_j), \\qquad
              b \\leftarrow b - \\tfrac\\tau s(e_i - e_j), \\qquad \\tau \\leftarrow \\tau + ts

    changes two entries of each. So does a turn change the ends of the τ at which β is inside the box: what they were is
    still inside, but for what i and j now ask for. Where a step passes these ends they are found anew, over all points
    that have joined since the direction was one pair alone.

    Attributes
    ----------
    start, lean : ndarray of shape (n,)
        b and a.
    some, listed : ndarray of shape (n + 1,) and (n,)
        How many points have been turned to, and then these; and whether each is among them.
    at : ndarray of shape (4,)
        τ, s, and the least and the largest τ that are known to be inside.
    """

    start: np.ndarray
    lean: np.ndarray
    some: np.ndarray
    listed: np.ndarray
    at: np.ndarray


@compiled
def new_line(beta):
    """At β, without a direction."""
    n = len(beta)
    return ConjugateLine(
        beta.copy(), np.zeros(n), np.zeros(n + 1, np.int64), np.zeros(n, np.bool_), np.array([0.0, 1.0, 0.0, 0.0])
    )


@compiled(inline="always")
def place(line, k):
    """β of point k."""
    return line.start[k] + line.at[0] * line.lean[k]


@compiled
def settle(line):
    """Begin at the present β."""
    for m in range(1, 1 + line.some[0]):
        k = line.some[m]
        line.start[k] += line.at[0] * line.lean[k]
    line.at[0] = line.at[2] = line.at[3] = 0.0


@compiled
def point(line, i, j):
    """Take the direction eᵢ - eⱼ."""
    settle(line)
    for m in range(1, 1 + line.some[0]):
        k = line.some[m]
        line.lean[k], line.listed[k] = 0.0, False
    line.lean[i], line.lean[j], line.at[1] = 1.0, -1.0, 1.0
    line.some[0], line.some[1], line.some[2] = 2, i, j
    line.listed[i] = line.listed[j] = True


@compiled
def turn(line, theta, i, j, t, low, high):
    """Take the direction θp + eᵢ - eⱼ, in a box, for a step of about t."""
    s = theta * line.at[1]
    if LARGEST * abs(t * s) < abs(line.at[0]):
        settle(line)
    if not 1.0 < LARGEST * abs(s) < LARGEST * LARGEST:
        _rescale(line, s)
        s = 1.0
    line.at[1] = s
    for k, more in ((i, 1.0 / s), (j, -1.0 / s)):
        if not line.listed[k]:
            line.some[0] += 1
            line.some[line.some[0]], line.listed[k] = k, True
        line.start[k] -= line.at[0] * more
        line.lean[k] += more
        narrow(line, k, low, high)


@compiled
def narrow(line, k, low, high):
    """Leave out of what is known to be inside where point k is not, whose direction or ends have changed."""
    least, most = _ends_of(k, line, low, high)
    line.at[2], line.at[3] = max(line.at[2], least), min(line.at[3], most)


@compiled
def _rescale(line, s):
    """Begin at the present β, with s·a in place of a; the ends are the same."""
    now, least, most = line.at[0], (line.at[2] - line.at[0]) / s, (line.at[3] - line.at[0]) / s
    for m in range(1, 1 + line.some[0]):
        k = line.some[m]
        line.start[k] += now * line.lean[k]
        line.lean[k] *= s
    line.at[0], line.at[2], line.at[3] = 0.0, min(least, most), max(least, most)


@compiled
def reach(line, t, low, high):
    """How far it is along p, t at most, to the end of the box, and which point is in the way, or -1."""
    now, s = line.at[0], line.at[1]
    there = now + t * s
    if line.at[2] <= there <= line.at[3]:
        return t, -1
    least, most, first, last = -np.inf, np.inf, -1, -1
    for m in range(1, 1 + line.some[0]):
        k = line.some[m]
        below, above = _ends_of(k, line, low, high)
        if below > least:
            least, first = below, k
        if above < most:
            most, last = above, k
    line.at[2], line.at[3] = least, most
    if least <= there <= most:
        return t, -1
    end, blocked = (most, last) if s > 0.0 else (least, first)
    far = (end - now) / s
    if far >= t:  # only behind is it outside, by its rounding
        return t, -1
    return max(far, 0.0), blocked


@compiled
def go(line, t, blocked, low, high):
    """Go so far along p; a point that was in the way is at its end then."""
    line.at[0] += t * line.at[1]
    if blocked >= 0:
        settle(line)
        line.start[blocked] = high[blocked] if line.lean[blocked] * line.at[1] > 0.0 else low[blocked]


@compiled(inline="always")
def _ends_of(k, line, low, high):
    """The least and the largest τ that point k allows."""
    a = line.lean[k]
    if a == 0.0:
        return -np.inf, np.inf
    one, other = (low[k] - line.start[k]) / a, (high[k] - line.start[k]) / a
    return (one, other) if a > 0.0 else (other, one)


Real = TypeVar("Real", float, np.float32)


def lesser(a: Real, b: Real) -> Real:
    """The lesser of two numbers of one type, neither nan, so that the least of many is found several at a time.

    A comparison that heeds nan keeps its place in a loop; these may be made in any order.
    """
    return a if a < b else b


def larger(a: Real, b: Real) -> Real:
    """The larger of two numbers of one type, neither nan."""
    return a if a > b else b


@extends_compiler
def _select() -> None:
    """By comparisons that need not heed nan."""
    from numba import types
    from numba.extending import intrinsic, overload

    def chosen_by(sign: str) -> Callable:
        @intrinsic
        def chosen(context, a: types.Float, b: types.Float):
            def emit(context, builder, signature, args):
                flags = ("nnan", "nsz")
                return builder.select(builder.fcmp_ordered(sign, *args, flags=flags), *args, flags=flags)

            return a(a, b), emit

        return chosen

    less, greater = chosen_by("<"), chosen_by(">")

    @overload(lesser, inline="always")
    def compiled_lesser(a, b):
        return lambda a, b: less(a, b)

    @overload(larger, inline="always")
    def compiled_larger(a, b):
        return lambda a, b: greater(a, b)


TINY = 1e-12
"""Smallest curvature of a step (τ in LIBSVM), as a share of the mean value of both points with themselves, so that a
point that the kernel maps to zero goes to its bound; and the share of p below which it is left out."""
LEAST = 1e-30
"""And for at least this share of the largest value of all."""
PARALLEL = 1e-5
"""Where less than this of the curvature of a pair is left across p, rounding decides: the pair moves alone."""
CHUNK = 512
"""Points among which the place of a value is looked for, once the value is known."""
TIE = np.float32(2.0**-20)
"""Share of a value within which another is as good, and the first point is taken. Points that are equal, or mirror
images, tie but for the rounding of kernel values (2⁻²³ and less), which must not decide what the answer is."""
_INVERSE, _TWO = np.int32(0x7EF311C7), np.float32(2.0)


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


class Slopes(NamedTuple):
    """What every step changes.

    Attributes
    ----------
    e, q : ndarray of shape (n,)
        e less its middle, and Kp.
    gains : ndarray of shape (n,)
        Room for what each pair would gain.
    lows : ndarray
        Room for the least slope upwards of each chunk.
    first : ndarray of shape (2,)
        The point of the least slope upwards: of all, or on either side of the cut.
    least, largest : ndarray of shape (2,)
        That slope, and the largest downwards.
    """

    e: np.ndarray
    q: np.ndarray
    gains: np.ndarray
    lows: np.ndarray
    first: np.ndarray
    least: np.ndarray
    largest: np.ndarray


@compiled
def pair_steps(K, beta, e, lo, hi, tol, most, epsilon, cut, conjugate):
    """Move pairs until none violates by more than `tol`, at most `most` times; β and e change in place.

    The sums before the `cut` and from it on are kept apart: both points of a pair are on one side. It is n where there
    is one sum. Steps are `conjugate` where K is positive semidefinite; else each pair moves alone, as in LIBSVM, since
    there is no least value in a plane. Returns the number of steps.
    """
    return pair_steps_of(K, None, beta, e, lo, hi, tol, most, epsilon, cut, conjugate)


@compiled
def pair_steps_of(K, source, beta, e, lo, hi, tol, most, epsilon, cut, conjugate):
    """The same; with a `RowCopies`, that is not None, the rows of points that move are copied from it."""
    old, lines = beta.copy(), np.arange(len(beta)) if source is None else source.lines
    steps = _moves(K, lines, source, beta, e, lo, hi, tol, 0, tol, most, epsilon, cut, conjugate)
    for k in range(len(beta)):
        d, row = beta[k] - old[k], K[k]
        if d != 0.0:
            for c in range(len(e)):
                e[c] += d * row[c]
    return steps


@compiled
def pair_moves(K, rows, beta, e, lo, hi, fine, many, tol, most, epsilon, cut, conjugate):
    """The same, to `fine` in the first `many` steps and to `tol` in those after; e stays as it was.

    The values of point k with all others are in row `rows[k]` of K; where there is none, -1, its bounds must be β.
    """
    return _moves(K, rows, None, beta, e, lo, hi, fine, many, tol, most, epsilon, cut, conjugate)


@compiled
def _moves(K, rows, source, beta, e, lo, hi, fine, many, tol, most, epsilon, cut, conjugate):
    """`pair_moves`; if there is a `source`, rows that are not there are copied from it.

    What every step calls takes no views of arrays and has one end, so that Numba counts no references to arrays there.
    """
    n = len(beta)
    diag, tiny = diagonal(K, rows, source, conjugate)
    unit = _unit(tiny / (LEAST if conjugate else TINY))
    sides = Sides(np.empty(n, K.dtype), np.empty(n, K.dtype), np.empty(n), np.empty(n))
    for k in range(n):
        _set_sides(k, beta[k], lo, hi, epsilon, sides)
    slopes, line, curve, steps = _begin(K, e, sides, cut), new_line(beta), 0.0, 0
    while steps < most:
        i, j, least, violation = _pair(K, rows, source, sides, slopes, diag, curve, tiny, unit, cut)
        if j < 0 or violation <= (fine if steps < many else tol):
            break
        if source is not None and rows[j] < 0:
            copy_row(source, j, K)
        steps += 1
        rise = np.float64(slopes.e[j] + sides.below[j] - least)
        both = np.float64(diag[i]) + diag[j]
        own = max(both - 2.0 * K[rows[i], j], 0.5 * TINY * abs(both), tiny)
        t, blocked = _alone(i, j, rise / own, line, sides)
        dot = np.float64(slopes.q[i]) - np.float64(slopes.q[j])
        share, across = 0.0, own - dot * (dot / curve) if curve > 0.0 else 0.0  # a square of dot could underflow
        if across > PARALLEL * own and abs(dot) > TINY * curve:
            share = -dot / curve
            turn(line, share, i, j, rise / across, sides.low, sides.high)
            far, met = reach(line, rise / across, sides.low, sides.high)
            if met < 0 or _gain(rise, across, far) >= _gain(rise, own, t):
                t, blocked, curve = far, met, across
            else:
                share = 0.0  # p is in the way
        if share == 0.0:
            curve = own if conjugate else 0.0
            point(line, i, j)
        go(line, t, blocked, sides.low, sides.high)
        if blocked >= 0:
            curve = 0.0
            _set_sides(blocked, place(line, blocked), lo, hi, epsilon, sides)
        for k in (i, j):
            _set_sides(k, place(line, k), lo, hi, epsilon, sides)
            if epsilon > 0.0:  # zero may have become an end
                narrow(line, k, sides.low, sides.high)
        _follow(K, rows[i], rows[j], share, t, sides, slopes, cut)
    for k in range(n):
        beta[k] = min(max(place(line, k), lo[k]), hi[k])
    return steps


@compiled
def diagonal(K, rows, source, positive):
    """The diagonal in one piece, and the least curvature of a step: as in LIBSVM where K is not `positive`."""
    diag, largest = np.zeros(len(rows), K.dtype), 0.0
    for k in range(len(rows)):
        if source is not None:
            diag[k] = source.diag[k]
        elif rows[k] >= 0:
            diag[k] = K[rows[k], k]
        largest = max(largest, abs(diag[k]))
    least = LEAST if positive else TINY
    return diag, least * largest if largest > 0.0 else least


@compiled
def _unit(largest):
    """An even power of two that brings kernel values near 1, where single precision neither over- nor underflows."""
    return 4.0 ** min(max(-np.round(0.5 * np.log2(largest)), -500.0), 500.0)


@compiled
def _set_sides(k, b, lo, hi, epsilon, sides):
    sides.above[k] = np.inf if b >= hi[k] else epsilon if b >= 0.0 else -epsilon
    sides.below[k] = -np.inf if b <= lo[k] else epsilon if b > 0.0 else -epsilon
    sides.low[k], sides.high[k] = lo[k] if b <= 0.0 else 0.0, hi[k] if b >= 0.0 else 0.0


@compiled
def _begin(K, e, sides, cut):
    """The slopes at the beginning, each side of the cut less the middle of what can be paired."""
    n = len(e)
    slopes = Slopes(
        np.empty(n, K.dtype),
        np.zeros(n, K.dtype),
        np.empty(n, np.float32),
        np.empty(n // CHUNK + 1, K.dtype),
        np.zeros(2, np.int64),
        np.zeros(2, K.dtype),
        np.zeros(2, K.dtype),
    )
    for part in range(1 if cut == n else 2):
        first, last = _span(part, n, cut)
        least, largest = np.inf, -np.inf
        for k in range(first, last):
            least, largest = min(least, e[k] + sides.above[k]), max(largest, e[k] + sides.below[k])
        middle = 0.5 * (least + largest) if largest - least < np.inf and least - largest < np.inf else 0.0
        for k in range(first, last):
            slopes.e[k] = e[k] - middle
    if n > 0:
        _follow(np.zeros((1, n), K.dtype), 0, 0, 0.0, 0.0, sides, slopes, cut)
    return slopes


@compiled
def _span(part, n, cut):
    """Where a part of the points begins and ends: all of them, or those on one side of the cut."""
    return (0, cut) if part == 0 else (cut, n)


@compiled
def _gain(rise, curve, t):
    """What a step of length t gains."""
    return t * (rise - 0.5 * t * curve)


@compiled
def _pair(K, rows, source, sides, slopes, diag, curve, tiny, unit, cut):
    """The pair that gains most with p, its first point has the least slope; that slope, and the worst violation."""
    n = len(diag)
    i, j, violation, best, from_ = -1, -1, -np.inf, np.float32(0.0), slopes.least[0]
    root = np.sqrt(unit) / np.sqrt(curve) if curve > 0.0 else 0.0
    widest = np.float64(slopes.largest[0] - slopes.least[0])
    if cut < n:
        widest = max(widest, np.float64(slopes.largest[1] - slopes.least[1]))
    most = 120 if diag.itemsize == 4 else 1000
    size = math.ldexp(1.0, min(max(-math.frexp(widest)[1], -most), most)) if 0.0 < widest < np.inf else 1.0
    for part in range(1 if cut == n else 2):
        first, last = _span(part, n, cut)
        u, least, apart = slopes.first[part], slopes.least[part], slopes.largest[part] - slopes.least[part]
        violation = max(violation, np.float64(apart))
        if not apart > 0.0:
            continue
        if source is not None and rows[u] < 0:
            copy_row(source, u, K)
        for at in range(first, last, CHUNK):
            end = min(at + CHUNK, last)
            gain = _set_gains(
                np.uint64(at), np.uint64(end), K, rows[u], diag, sides, slopes, u, root, least, tiny, unit, size
            )
            if gain > best + TIE * best:
                i, j, best, from_ = u, at, gain, least
    while j >= 0 and slopes.gains[j] < best - TIE * best:
        j += 1
    return i, j, from_, violation


@compiled(inline="always")
def _set_gains(first, last, K, row, diag, sides, slopes, u, root, least, tiny, unit, size):
    """rise²/curvature of point u with some others, without a branch, to half a percent; returns the largest.

    Rises are multiplied by `size`, a power of two by which none is larger than 1: a square could overflow.

    That is enough for a choice, and to divide would cost as much as the rest.
    """
    e, q, below, gains, mine = slopes.e, slopes.q, sides.below, slopes.gains, slopes.q[u]
    own, two, share, kind = diag[u], diag.dtype.type(2.0), diag.dtype.type(0.5 * TINY), diag.dtype.type
    root, tiny, floor, unit, size = kind(root), np.float32(unit * tiny), np.float32(PARALLEL), kind(unit), kind(size)
    best, zero = np.float32(0.0), np.float32(0.0)
    for k in range(first, last):
        up, dot = np.float32(size * ((e[k] + below[k]) - least)), np.float32(root * (mine - q[k]))
        up = larger(up, zero)
        both = own + diag[k]
        alone = larger(np.float32(unit * larger(both - two * K[row, k], share * abs(both))), tiny)
        gain = up * up * _inverse(larger(alone - dot * dot, larger(floor * alone, tiny)))
        gains[k] = gain
        best = larger(best, gain)
    return best


@compiled(inline="always")
def _inverse(x):
    """1/x of a positive number in single precision, by its exponent with the sign changed and a step of Newton's."""
    y = np.int32(_INVERSE - np.float32(x).view(np.int32)).view(np.float32)
    return y * (_TWO - x * y)


@compiled
def _alone(i, j, t, line, sides):
    """How far a pair can go, up to t, and which of its points is in the way, or -1."""
    blocked, up, down = -1, sides.high[i] - place(line, i), place(line, j) - sides.low[j]
    if t > up:
        t, blocked = up, i
    if t > down:
        t, blocked = down, j
    return max(t, 0.0), blocked  # rounding may pass an end


@compiled
def _follow(K, row, other, share, t, sides, slopes, cut):
    """Give q its rows, move e along it, and find the ends of the slopes."""
    n = K.shape[1]
    share, t = slopes.q.dtype.type(share), slopes.q.dtype.type(t)
    for part in range(1 if cut == n else 2):
        first, last = _span(part, n, cut)
        least, largest, place = np.inf, -np.inf, first
        for at in range(first, last, CHUNK):
            low, high = _follow_some(
                np.uint64(at), np.uint64(min(at + CHUNK, last)), K, row, other, share, t, sides, slopes
            )
            slopes.lows[(at - first) // CHUNK] = low
            least, largest = min(least, low), max(largest, high)
        if largest > least:
            within = least + TIE * (largest - least)
            while slopes.lows[(place - first) // CHUNK] > within:
                place += CHUNK
            while slopes.e[place] + sides.above[place] > within:
                place += 1
            least = slopes.e[place] + sides.above[place]
        slopes.first[part], slopes.least[part], slopes.largest[part] = place, least, largest


@compiled
def _follow_some(first, last, K, row, other, share, t, sides, slopes):
    e, q, above, below = slopes.e, slopes.q, sides.above, sides.below
    least, largest = above.dtype.type(np.inf), above.dtype.type(-np.inf)
    for k in range(first, last):
        turned = share * q[k] + (K[row, k] - K[other, k])
        moved = e[k] + t * turned
        q[k], e[k] = turned, moved
        up, down = moved + above[k], moved + below[k]
        least = lesser(least, up)
        largest = larger(largest, down)
    return least, largest


@compiled
def single_steps(K, beta, e, lo, hi, tol, most, epsilon):
    """The same without a sum to keep, for few points: single coordinates move until none violates by more than `tol`.

    The one that gains most moves first. Without a width ε, `epsilon` is negative, a coordinate at zero has one slope.
    """
    n = len(beta)
    diag, tiny = diagonal(K, np.arange(n), None, True)
    for step in range(most):
        i, best, violation = -1, 0.0, 0.0
        for k in range(n):
            above, below = slope_above(beta[k], e[k], epsilon), slope_below(beta[k], e[k], epsilon)
            if (above < 0.0 and beta[k] < hi[k]) or (below > 0.0 and beta[k] > lo[k]):
                slope = above if above < 0.0 else below
                violation = max(violation, abs(slope))
                gain = slope * slope / max(diag[k], tiny)
                if gain > best:
                    i, best = k, gain
        if i < 0 or violation <= tol:
            return step
        old = beta[i]
        beta[i] = min(max(_moved(old, e[i], max(diag[i], tiny), epsilon), lo[i]), hi[i])
        d, row = beta[i] - old, K[i]
        for k in range(n):
            e[k] += d * row[k]
    return most


@compiled
def _moved(beta, e, own, epsilon):
    """The best value of one coordinate, without its bounds."""
    if epsilon < 0.0:
        return beta - e / own
    shrunk = max(0.0, abs(beta - e / own) - epsilon / own)
    return shrunk if beta - e / own > 0.0 else -shrunk
