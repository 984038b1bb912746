"""Probabilities that never contradict the class that is predicted.

Where another class has more than the predicted one, its share and those of all that are too large are levelled: of
all probabilities whose largest is that of the predicted class, these are the nearest in the Kullback-Leibler
divergence. A calibrated machine whose predictions are the most probable ones is left as it is.
"""

import numpy as np

LEAD = 1e-9
"""By which share the predicted class is ahead of those that it was levelled with."""


def agreeing(p: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """The same probabilities with the largest at the predicted class, and nowhere else; in place.

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
    # The fewest of the largest whose mean, with the predicted one, is above all that are left.
    count = np.argmax(means[:, :-1] > down[:, 1:], axis=1)
    level = means[np.arange(len(wrong)), count]
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(p.shape[1])[None], axis=1)
    part = p[wrong]
    np.copyto(part, (level * (1.0 - LEAD))[:, None], where=rank <= count[:, None])
    part[np.arange(len(wrong)), own] = level * (1.0 + LEAD * (count + 1))
    p[wrong] = part
    return p
