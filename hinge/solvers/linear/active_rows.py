"""The rows that an epoch visits: a sorted list, cut into blocks whose order is drawn anew each epoch."""

import numpy as np

from hinge.compiled import compiled
from hinge.sampling import draw_index

SHRUNK = np.uint32(1 << 31)  # marks a row of the list that leaves it at the end of the epoch


@compiled
def fill(active, weight):
    """List all rows that have a weight; returns their number."""
    kept = 0
    for i in range(len(active)):
        if len(weight) == 1 or weight[i] > 0.0:
            active[kept] = i
            kept += 1
    return kept


@compiled
def shuffle(order, blocks, key, draws):
    """Put the blocks' numbers in a random order (Fisher and Yates); returns the draws made so far."""
    for k in range(blocks):
        order[k] = k
    for k in range(blocks - 1, 0, -1):
        j = draw_index(key, draws, k + 1)
        draws += 1
        order[k], order[j] = order[j], order[k]
    return draws


@compiled
def unmarked(active, n_active):
    """Close the gaps that shrinking left in the list, which stays sorted."""
    kept = 0
    for k in range(n_active):
        if not active[k] & SHRUNK:
            active[kept] = active[k]
            kept += 1
    return kept
