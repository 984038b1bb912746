"""The root of an increasing function that costs a run a value: the secant method in logarithms, within a bracket."""

import math
from collections.abc import Sequence

FURTHEST = 3.0
"""The longest step, in logarithms."""


def next_place(points: Sequence[tuple[float, float]], low: float, high: float) -> float:
    """Where to compute the function next: by the secant within the bracket, or its middle; no step is too long.

    Parameters
    ----------
    points : sequence of (float, float)
        Logarithms of the places so far, and of the values there divided by the one that is wanted, in order.
    low, high : float
        The bracket.

    Returns
    -------
    float
        A place, as `low` and `high` are: not a logarithm.
    """
    (x, f), slope = points[-1], 1.0  # the functions are about proportional to the place
    if len(points) > 1 and points[-2][0] != x:
        slope = (f - points[-2][1]) / (x - points[-2][0])
    low, high = max(math.log(low), x - FURTHEST), min(math.log(high), x + FURTHEST)
    step = -f / slope if slope > 1e-3 else math.copysign(FURTHEST, -f)
    guess = min(max(x + step, low), high)
    return math.exp(0.5 * (low + high) if any(guess == known for known, _ in points) else guess)
