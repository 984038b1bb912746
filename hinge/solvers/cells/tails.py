"""What to expect of the columns of a row that were not read."""

import numpy as np
import scipy.sparse as sp

SMALL_CLASS = 4.0  # rows of a class whose tails count as much as those of all rows


def tails_behind(
    E: sp.csr_array, y: np.ndarray, own: np.ndarray, w: np.ndarray, ranked: np.ndarray, cuts: np.ndarray
) -> np.ndarray:
    """Mean and deviation of the margin that columns behind each level add, for each class.

    A row that w was trained on has its own part in w left out, else its tail would be too good.

    Parameters
    ----------
    E : csr_array of shape (m, d)
        Rows read whole.
    y : ndarray of shape (m,)
    own : ndarray of shape (m,)
        The coefficients of the rows in w, without sign.
    w : ndarray of shape (d,)
    ranked : ndarray of shape (d,)
        Columns in the order of reading.
    cuts : ndarray of shape (levels + 1,)
        The levels' ends in that order; the first is 0.

    Returns
    -------
    ndarray of shape (2, levels + 1, 2)
        For the classes -1 and +1, behind each end.
    """
    used = ranked[: cuts[-1]]
    behind = np.arange(len(used))[:, None] >= cuts[None]
    X = E[:, used]
    unread = y[:, None] * (X @ (behind * w[used, None])) - own[:, None] * (X.power(2) @ behind.astype(float))
    out = np.empty((2, len(cuts), 2))
    mean, var = unread.mean(axis=0), unread.var(axis=0)
    for side in (0, 1):
        rows = unread[(y > 0) == side]
        k = len(rows)
        share = k / (k + SMALL_CLASS)  # a class with few rows is estimated mostly from the rows of both classes
        own_mean, own_var = (rows.mean(axis=0), rows.var(axis=0)) if k else (mean, var)
        out[side, :, 0] = share * own_mean + (1 - share) * mean
        out[side, :, 1] = np.sqrt(share * own_var + (1 - share) * var)
    return out


def squares_in_levels(E: sp.csr_array, ranked: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """The sum of the squares that each row holds of the columns of each level, of shape (m, levels)."""
    (m, d), levels = E.shape, len(cuts) - 1
    level = np.full(d, levels, np.int16)  # columns in no level count as the last one
    level[ranked[: cuts[-1]]] = np.repeat(np.arange(levels), np.diff(cuts))
    row, column, value = sp.find(E)  # a sparse product with a matrix of levels would sort all columns first: slower
    place = row.astype(np.int64) * (levels + 1) + level[column]
    sums = np.bincount(place, value.astype(float) ** 2, m * (levels + 1))
    return sums.reshape(m, levels + 1)[:, :-1]
