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
MOST_JUDGED, MOST_IDLE = 2048, 512
"""Rows of either label that are looked at, with a dual weight and without; of more, each stands for its neighbours."""


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
    """Rows, their decision values by a machine that was trained without them, and how many rows each stands for."""

    rows: np.ndarray
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


def left_out(solved: Solved, spans: Spans, *, every: bool = False) -> LeftOut:
    """Leave-one-out decision values of all rows; where these are many, of some unless `every` is wanted.

    A row that is the only one of its label leaves nothing to learn it from: the machine without it is the constant -y.
    No other row moves by more than the decision values' range, beyond which other rows would have stopped it.
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


def _some(f: np.ndarray, y: np.ndarray, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some rows, evenly along the decision values of either label, moving or not; and how many each stands for."""
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
