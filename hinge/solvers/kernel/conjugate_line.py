"""A point in a box that moves along a direction which every step turns a little, for O(1) a step.

The directions are :math:`p \\leftarrow \\theta p + e_i - e_j`, the steps :math:`\\beta \\leftarrow \\beta + tp`.
With p = s·a and β = b + τ·a, where a and b are the vectors that are kept,

.. math:: s \\leftarrow \\theta s, \\qquad a \\leftarrow a + \\tfrac1s(e_i - e_j), \\qquad
          b \\leftarrow b - \\tfrac\\tau s(e_i - e_j), \\qquad \\tau \\leftarrow \\tau + ts

changes two entries of each. So does a turn change the ends of the τ at which β is inside the box: what they were is
still inside, but for what i and j now ask for. Where a step passes these ends they are found anew, over all points that
have joined since the direction was one pair alone.
"""

from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled

LARGEST = 1e3
"""Where s or 1/s is larger than this, it becomes 1 again, and where τ is that many steps, it becomes 0: b and τa must
not cancel."""


class ConjugateLine(NamedTuple):
    """b, a, where a may be other than zero, and the scalars τ, s and the ends of τ.

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
def _turned_to(line):
    return line.some[1 : 1 + line.some[0]]


@compiled(inline="always")
def place(line, k):
    """β of point k."""
    return line.start[k] + line.at[0] * line.lean[k]


@compiled
def settle(line):
    """Begin at the present β."""
    for k in _turned_to(line):
        line.start[k] += line.at[0] * line.lean[k]
    line.at[0] = line.at[2] = line.at[3] = 0.0


@compiled
def point(line, i, j):
    """Take the direction eᵢ - eⱼ."""
    settle(line)
    for k in _turned_to(line):
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
    for k in _turned_to(line):
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
    for k in _turned_to(line):
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
