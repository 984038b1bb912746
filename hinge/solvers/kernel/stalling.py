"""When a dual ascent has no more to gain, so that a run ends that would go on for ever."""

import numpy as np

from hinge.compiled import compiled
from hinge.problems.base import EPS, FEW

STILL = 16
"""Rounds without a gain worth its name after which there is none to be had."""
SLOWEST = 1e-5
"""A pass that gains less than this of what is missing is none: there would have to be 100,000 of them."""
SLOW_POINTS = 1 << 13
"""A small problem is given up after slow rounds over this many points in all: at least `STILL`, at most 512 rounds."""
ROUNDING = FEW * EPS
"""Share of a sum below which a gain may be rounding."""
NO_MARGIN = 2.0**-24
"""‖w‖² of a ν-SVM over that of a margin as wide as the points are spread: what single precision cannot tell from 0."""


@compiled
def gains(value, best, size, missing, share):
    """Whether a dual value is above the best so far by more than rounding, and by enough to ever reach the primal.

    A dual above the primal is all rounding: its sums cancel, and no step is known to be a good one.

    Parameters
    ----------
    value, best : float
        The dual now, and the largest so far.
    size : float
        Size of the terms of the dual, which its rounding is relative to.
    missing : float
        The least primal value known, w = 0 included, less the dual; zero if it is not known.
    share : float
        How much of a pass was made, or how many were.
    """
    least, slow = ROUNDING * size, SLOWEST * share * missing
    return missing >= -least and value > best + max(least, slow)


@compiled
def count_idle(idle, value, best, size, missing, share, n):
    """The rounds without a gain in a row of a problem of n points.

    Slow gains are counted in the fraction, and end a run once they are many in all: over few points, whose rounds take
    less than a millisecond, a slow ascent may be followed by a fast one, once the right points are between bounds.
    """
    if gains(value, best, size, missing, share):
        return idle - np.floor(idle)
    if value <= best + ROUNDING * size or missing < -ROUNDING * size:
        return idle + 1.0
    slow = idle - np.floor(idle) + 1.0 / min(512, max(STILL, SLOW_POINTS // n))
    return float(STILL) if slow >= 1.0 else slow


@compiled
def lacks_margin(sq, slack, mass, spread):
    """Whether w of a ν-SVM is zero up to rounding.

    The convex hulls of both classes, each weight at most 1/M, are ‖w‖/M apart. This is so where that is nothing beside
    the spread of the points, and the duality gap has not shown that the hulls do not meet. An ascent then continues for
    ever: kernels such as the Gaussian tell all points apart, by a margin of a millionth.

    Parameters
    ----------
    sq, slack : float
        ‖w‖² and P - D.
    mass : float
        M.
    spread : float
        Mean squared distance of the φ(xᵢ) from their mean; zero where it does not matter.
    """
    return spread > 0.0 and sq <= NO_MARGIN * mass * mass * spread and slack >= 0.5 * sq
