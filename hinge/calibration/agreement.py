"""Probabilities whose largest is that of the predicted class.

If another class is more probable than the predicted one, these two, and all others that are too large, are replaced by
their mean: among all probabilities whose largest is that of the predicted class, the result is the nearest in the
Kullback-Leibler divergence. Rows whose predicted class is the most probable one already are left unchanged.
"""

import numpy as np

LEAD = 1e-9
"""Relative amount by which the predicted class exceeds those that it was averaged with: it is the only maximum."""


def agreeing(p: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """The probabilities changed, in place, so that the largest is that of the predicted class and no other.

    Parameters
    ----------
    p : ndarray of shape (m, k)
        Rows sum to one.
    predicted : ndarray of int of shape (m,)
    """
    every = np.arange(len(p))
    others = p.copy()
    others[every, predicted] = -1.0
    wrong = np.flatnonzero(others.max(axis=1) >= p[every, predicted])
    if not len(wrong):
        return p
    q, own = others[wrong], predicted[wrong]
    order = np.argsort(-q, axis=1, kind="stable")
    down = np.take_along_axis(q, order, axis=1)  # the last of each row is the predicted class itself
    down[:, -1] = -1.0
    means = (p[wrong, own][:, None] + np.cumsum(down, axis=1)) / np.arange(2, p.shape[1] + 1 + 1)
    # As few of the largest as possible, such that their mean with the predicted one exceeds all that are left.
    count = np.argmax(means[:, :-1] > down[:, 1:], axis=1)
    level = means[np.arange(len(wrong)), count]
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(p.shape[1])[None], axis=1)
    part = p[wrong]
    np.copyto(part, (level * (1.0 - LEAD))[:, None], where=rank <= count[:, None])
    part[np.arange(len(wrong)), own] = level * (1.0 + LEAD * (count + 1))
    p[wrong] = part
    return p
