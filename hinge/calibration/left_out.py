"""Leave-one-out decision values, computed from the solution without another fit.

With dual weights :math:`0 \\le a_i \\le C_i` and :math:`w = \\sum_i a_iy_i\\phi(x_i)`, the decision value of row i
after training without it is

.. math:: y_i f_i^{(-i)} = y_if_i - a_i S_i^2,

exactly if :math:`a_i = 0`, and otherwise as long as the set of rows on the margin stays the same. :math:`S_i`, the span
(Vapnik and Chapelle, *Bounds on Error Expectation for Support Vector Machines*, 2000), is the distance of
:math:`\\phi(x_i)` from the span of the other rows on the margin; `span` and `leverage` compute it.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

BAND = 0.1
"""Rows whose margin differs from 1 by at most this count as on the margin."""
BESIDE, MORE = 200, 0.25
"""But at most this many of them, plus this fraction of the number of rows whose dual weight is between its bounds."""
FULL = 1e-6
"""A dual weight within this fraction of its bound's size of 0, or of the bound, counts as at it."""
MOST_JUDGED, MOST_IDLE = 2048, 512
"""Most rows of each label that are evaluated, with a dual weight and without; each then represents its neighbours."""


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
        0 for the hinge, whose dual weights are at most `bound`; ½ for the squared hinge, whose weights are not bounded.
    """

    f: np.ndarray
    y: np.ndarray
    a: np.ndarray
    bound: np.ndarray
    curvature: float = 0.0


class LeftOut(NamedTuple):
    """Rows, their leave-one-out decision values, and the number of rows that each represents."""

    rows: np.ndarray
    f: np.ndarray
    stands_for: np.ndarray


class Asked(NamedTuple):
    """The rows whose spans are wanted, and the rows on the margin.

    Attributes
    ----------
    free : ndarray of int
        The rows on the margin.
    rho : ndarray of shape (len(free),)
        ρ of the rows on the margin: the second derivative, in the dual weight, of the loss's conjugate.
    judged : ndarray of int
        The rows whose span is wanted.
    place : ndarray of int
        The position of each of these in `free`; -1 if it is not on the margin.
    """

    free: np.ndarray
    rho: np.ndarray
    judged: np.ndarray
    place: np.ndarray


Spans: TypeAlias = Callable[[Asked], np.ndarray]
"""A function that returns :math:`S_i^2` of the rows `Asked.judged`."""


def left_out(solved: Solved, spans: Spans, *, every: bool = False) -> LeftOut:
    """Leave-one-out decision values of all rows; of a sample if there are many, unless `every` is set.

    If a row is the only one of its label, the classifier without it is the constant -y. The change of any other row is
    limited to the range of the decision values: beyond that, other rows would have come to the margin.
    """
    f, y, a, bound, curvature = solved
    moves = a > (0.0 if curvature else FULL * bound)
    rows, stands_for = (np.arange(len(f)), np.ones(len(f))) if every else _some(f, y, moves)
    values = f[rows].astype(np.float64)
    moving = np.flatnonzero(moves[rows])
    if len(moving):
        judged = rows[moving]
        drop = np.nan_to_num(a[judged] * spans(_asked(solved, judged)), nan=0.0, posinf=np.inf)
        room = y[judged] * f[judged] + float(np.abs(f).max()) + 1.0
        values[moving] -= y[judged] * np.clip(drop, 0.0, np.maximum(room, 0.0))
    for label in (-1, 1):
        if np.count_nonzero(y == label) == 1:
            values[y[rows] == label] = -label
    return LeftOut(rows, values, stands_for)


def _asked(solved: Solved, judged: np.ndarray) -> Asked:
    """The rows on the margin, with ρ.

    For the squared hinge these are all rows with a loss. The hinge has a kink at the margin, where no more rows lie
    than w has dimensions; without one of them, others would come to the margin and take its place. So the kink is
    replaced by a parabola as wide as the band δ of rows near the margin: :math:`\\rho_i = 2\\delta/C_i`.
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


def _some(f: np.ndarray, y: np.ndarray, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A sample of the rows, evenly along the decision values of each label; and how many rows each represents."""
    chosen, counts = [], []
    for label in (-1, 1):
        for kind, most in ((moves, MOST_JUDGED), (~moves, MOST_IDLE)):
            own = np.flatnonzero((y == label) & kind)
            cuts = np.arange(len(own) + 1)
            if len(own) > most:
                cuts = len(own) * np.arange(most + 1) // most
                own = own[np.argsort(f[own])][(cuts[:-1] + cuts[1:] - 1) // 2]
            chosen.append(own)
            counts.append(np.diff(cuts).astype(np.float64))
    rows = np.concatenate(chosen)
    order = np.argsort(rows)
    return rows[order], np.concatenate(counts)[order]
