"""Decision values that rows would have, had the machine been trained without them, from the solution itself.

The dual weights of the solution are :math:`0 \\le a_i \\le C_i`, and :math:`w = \\sum_i a_iy_i\\phi(x_i)`. Without row
i

.. math:: y_i f_i^{(-i)} = y_if_i - a_i S_i^2,

exactly where :math:`a_i = 0`, and otherwise as long as the rows on the margin stay the same. :math:`S_i`, the span
(Vapnik and Chapelle, *Bounds on Error Expectation for Support Vector Machines*, 2000), is the distance of
:math:`\\phi(x_i)` from what the other rows on the margin span; `span` and `leverage` compute it.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

BAND = 0.1
"""Rows count as on the margin up to this distance, in units of the margin."""
BESIDE, MORE = 200, 0.25
"""But no more of them than this many, and this share of those whose weight is between its bounds."""
FULL = 1e-6
"""Share of its bound that a dual weight may lack, or have, and still count as at it."""
MOST_JUDGED = 4096
"""Rows of either label that are left out, at most; where more have a weight, each stands for its neighbours."""


class Solved(NamedTuple):
    """A binary problem with its solution.

    Attributes
    ----------
    f, y : ndarray of shape (n,)
        Decision values and labels, -1 and +1.
    a : ndarray of shape (n,)
        Dual weights, not negative.
    bound : ndarray of shape (n,)
        C times the weight of each row.
    curvature : float
        0 for the hinge, whose dual weights end at `bound`; ½ for its square, whose weights have no end.
    """

    f: np.ndarray
    y: np.ndarray
    a: np.ndarray
    bound: np.ndarray
    curvature: float = 0.0


class LeftOut(NamedTuple):
    """Decision values without their row, and how many rows each stands for: 0 where none was computed."""

    f: np.ndarray
    stands_for: np.ndarray


class Asked(NamedTuple):
    """Whose spans are wanted.

    Attributes
    ----------
    free : ndarray of int
        The rows on the margin.
    rho : ndarray of shape (len(free),)
        What a dual weight of theirs costs: their margin moves by this much where it grows by one.
    judged : ndarray of int
        The rows whose span is wanted.
    place : ndarray of int
        Where among `free` each of these is; -1 if it is not.
    """

    free: np.ndarray
    rho: np.ndarray
    judged: np.ndarray
    place: np.ndarray


Spans: TypeAlias = Callable[[Asked], np.ndarray]
"""Gives :math:`S_i^2` of the rows that are judged."""


def left_out(solved: Solved, spans: Spans) -> LeftOut:
    """Leave-one-out decision values of all rows that are judged.

    A row that is the only one of its label leaves nothing to learn it from: the machine without it is the constant -y.
    No other row moves by more than the decision values' range, beyond which other rows would have stopped it.
    """
    f, y, a, bound, curvature = solved
    used = np.flatnonzero((a > FULL * bound) if curvature == 0.0 else a > 0.0)
    values, stands_for = np.array(f, np.float64), np.ones(len(f))
    if len(used):
        judged, stands_for[used] = _judged(used, f, y)
        drop = a[judged] * spans(_asked(solved, judged))
        reach = float(np.abs(f).max()) + 1.0
        drop = np.clip(np.nan_to_num(drop, nan=0.0, posinf=np.inf), 0.0, np.maximum(y[judged] * f[judged] + reach, 0.0))
        values[judged] -= y[judged] * drop
    for label in (-1, 1):
        own = np.flatnonzero(y == label)
        if len(own) == 1:
            values[own], stands_for[own] = -label, 1.0
    return LeftOut(values, stands_for)


def _asked(solved: Solved, judged: np.ndarray) -> Asked:
    """The rows on the margin, and what a dual weight of theirs costs.

    All rows with a loss are on it where the loss is curved. The hinge has a kink there, at which no more rows lie than
    w has directions; without one of them others would come to it, and hold what it held. So the kink is taken for a
    parabola, as wide as the band of rows that are near: :math:`\\rho_i = 2\\delta/C_i`.
    """
    f, y, a, bound, curvature = solved
    place = np.full(len(f), -1)
    if curvature:
        free = np.flatnonzero(a > 0.0)
        rho = curvature / bound[free]
    else:
        between = (a > FULL * bound) & (a < (1.0 - FULL) * bound)
        off = np.where(bound > 0.0, np.abs(1.0 - y * f), np.inf)
        off[between] = np.inf
        beside = min(BESIDE + int(MORE * np.count_nonzero(between)), len(f) - 1)
        band = min(BAND, float(np.partition(off, beside)[beside]))
        free = np.flatnonzero(between | (off <= band))
        rho = 2.0 * band / bound[free]
    place[free] = np.arange(len(free))
    return Asked(free, rho, judged, place[judged])


def _judged(used: np.ndarray, f: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some of the rows, evenly along the decision values of either label; and how many each of all stands for."""
    chosen, stands_for = [], np.zeros(len(used))
    for label in (-1, 1):
        own = np.flatnonzero(y[used] == label)
        count = min(len(own), MOST_JUDGED)
        if count == 0:
            continue
        own = own[np.argsort(f[used[own]], kind="stable")]
        cuts = len(own) * np.arange(count + 1) // count
        picked = own[(cuts[:-1] + cuts[1:] - 1) // 2]
        stands_for[picked] = np.diff(cuts)
        chosen.append(used[picked])
    return np.sort(np.concatenate(chosen)), stands_for
