"""One draw from weights as they stand: O(n), nothing is prepared."""

import numpy as np

from hinge.compiled import compiled

_SUMS = {"reassoc", "contract", "nsz"}  # sums may be reordered: they are kept by vector instructions


@compiled
def pick(weights, unit):
    """The first place where the cumulative sum exceeds the unit's part of the whole; -1 if all are zero."""
    target = unit * weights.sum()
    last = -1
    for i in range(len(weights)):
        if weights[i] > 0.0:
            last = i
            if target < weights[i]:
                break
            target -= weights[i]
    return last


@compiled
def pick_square(x, unit):
    """The same for weights x², and their sum."""
    total = _squares(x)
    target, last = unit * total, -1
    for j in range(len(x)):
        weight = np.float64(x[j]) * np.float64(x[j])
        if weight > 0.0:
            last = j
            if target < weight:
                break
            target -= weight
    return last, total


@compiled(fastmath=_SUMS)
def _squares(x):
    total = 0.0
    for j in range(len(x)):
        total += np.float64(x[j]) * np.float64(x[j])
    return total
