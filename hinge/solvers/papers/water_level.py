"""Water levels of the SBP: how deep the allowed slack stands over the responses, and which points are wet.

The level γ of one basin solves :math:`\\sum_i (\\gamma - c_i)_+ = V`. With a free bias there are two basins, one for
each class; the optimum of the mean level has the same number m of wet points in both, and any split of the last water
is as good as any other: it is split evenly. (The mean of the levels p and q is largest, for a given volume
W₊(p) + W₋(q), where W₊'(p) = W₋'(q), and these derivatives are the counts of wet points.)
"""

from typing import Any, NamedTuple

import numpy as np

from hinge.access.gram.base import counts_to
from hinge.compiled import compiled
from hinge.kernels import namespace
from hinge.types import Array


class WaterLevel(NamedTuple):
    """γ and the bias; the wet points of each basin; whether the smaller of two is all wet and water is left over."""

    gamma: float
    b: float
    wet: tuple[Any, ...]
    floods: bool = False


def one_basin(c: Array, points: Array, volume: float, guess: float = np.inf) -> WaterLevel:
    """The level over the responses of `points`; on the host in a few passes from a guess."""
    every = len(points) == len(c)
    low = c if every else c[points]
    if isinstance(low, np.ndarray):
        gamma = float(lowest_level(low, volume, guess)[0])
    else:
        ascending = sorted_ascending(low)
        m, rise = poured(ascending, volume)
        gamma = float(ascending[m - 1]) + rise
    wet = namespace(c).where(low <= gamma)[0]
    return WaterLevel(gamma, 0.0, (wet if every else points[wet],))


def poured(low: Array, volume: float) -> tuple[int, float]:
    """How many of some ascending depths are wet, one at least, and how high the water stands over the last of them."""
    spent = counts_to(len(low), low) * low - namespace(low).cumsum(low, 0)
    m = max(1, int((spent <= volume).sum()))
    return m, (volume - float(spent[m - 1])) / m


def sorted_ascending(c: Array) -> Array:
    """The values in ascending order."""
    return np.sort(c) if isinstance(c, np.ndarray) else namespace(c).sort(c)[0]


@compiled
def lowest_level(c, volume, guess):
    """The level over some values, and how many are at most that, by Newton's method from a guess.

    The function is convex and piecewise linear: from the first step on the level decreases, and the steps end.
    Michelot's algorithm for projections onto the simplex is the same. A pass costs O(n).
    """
    gamma = guess
    for k in range(len(c) + 2):
        count, depth = _below(c, gamma)
        new = (volume + depth) / count if count > 0 else c.min() + volume
        if count > 0 and (new == gamma or (k > 0 and new > gamma)):
            return gamma, count
        gamma = new
    lowest = c.min()
    return lowest, _below(c, lowest)[0]


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _below(c, gamma):
    """How many values are at most γ, and their sum."""
    count, total = 0, 0.0
    for i in range(len(c)):
        wet = c[i] <= gamma
        count += wet
        total += c[i] if wet else 0.0
    return count, total


def two_basins(c: Array, positive: Array, negative: Array, volume: float, least: int = 1) -> WaterLevel:
    """The mean level over two classes, its bias, and the m lowest points of each class, at least `least`."""
    own = c[positive], c[negative]
    lows = [sorted_ascending(part) for part in own]
    smaller = min(len(positive), len(negative))
    # What is left lifts both basins, each at most to its next point.
    m, rise = poured(lows[0][:smaller] + lows[1][:smaller], volume)
    tops = [float(low[m - 1]) for low in lows]
    room = [float(low[m]) - top if m < len(low) else np.inf for low, top in zip(lows, tops, strict=True)]
    first = min(room[0], max(rise - room[1], rise / 2))
    p, q = tops[0] + first, tops[1] + rise - first
    taken = min(smaller, max(m, least))
    wet = tuple(
        side[_lowest(part, low[taken - 1], taken)]
        for side, part, low in zip((positive, negative), own, lows, strict=True)
    )
    return WaterLevel((p + q) / 2, (q - p) / 2, wet, m == smaller and rise > 0)


def _lowest(c: Array, limit: Any, m: int) -> Array:
    """Positions of the m lowest values, the m-th of which is the limit; of ties, the first."""
    xp = namespace(c)
    wet = xp.where(c <= limit)[0]
    if len(wet) > m:
        ties = xp.where(c[wet] == limit)[0]
        dry = xp.zeros_like(wet)
        dry[ties[len(ties) - (len(wet) - m) :]] = 1
        wet = wet[dry == 0]
    return wet


@compiled
def wet_point(c, gamma, rank):
    """The wet point with `rank` wet points before it."""
    for i in range(len(c)):
        if c[i] <= gamma:
            if rank == 0:
                return i
            rank -= 1
    return len(c) - 1
