"""Euclidean projections."""

import numpy as np


def onto_ball(x: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """The nearest point of the ball about zero."""
    norm = float(np.linalg.norm(x))
    return x if norm <= radius else x * (radius / norm)


def onto_simplex(x: np.ndarray, total: float = 1.0) -> np.ndarray:
    """The nearest p with :math:`p \\ge 0` and :math:`\\sum_i p_i` the total: max(x - θ, 0) for the right θ.

    O(n log n) by a sort.
    """
    x = x - x.max()  # a shift does not change the result, and the largest entry becomes exact
    down = -np.sort(-x)
    excess = np.cumsum(down) - total
    k = int(np.flatnonzero(down * np.arange(1, len(x) + 1) > excess)[-1])
    return np.maximum(x - excess[k] / (k + 1), 0.0)


def onto_cap(x: np.ndarray) -> np.ndarray:
    """The nearest point with :math:`x \\ge 0` and :math:`\\sum_i x_i \\le 1`."""
    positive = np.maximum(x, 0.0)
    return positive if positive.sum() <= 1.0 else onto_simplex(x)
