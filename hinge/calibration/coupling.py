"""Probabilities of several classes from probabilities of class pairs.

The second method of Wu, Lin and Weng (*Probability Estimates for Multi-class Classification by Pairwise Coupling*,
2004): with :math:`r_{ij}` the probability of class i against class j,

.. math:: \\min_p \\sum_i\\sum_{j\\ne i}(r_{ji}p_i - r_{ij}p_j)^2, \\qquad \\sum_i p_i = 1,

a linear system of k + 1 equations for each row, whose solution has no negative entry.
"""

import numpy as np


def coupled(pairs: np.ndarray, n_classes: int, *, least: float = 1e-7, block_cells: int = 1 << 20) -> np.ndarray:
    """The probabilities of all classes.

    Parameters
    ----------
    pairs : ndarray of shape (m, n_classes * (n_classes - 1) / 2)
        Probabilities of class i against class j, for i < j in the order of ``itertools.combinations``.
    n_classes : int
    least : float
        Probabilities of pairs are moved this far from 0 and 1, as by LIBSVM.
    block_cells : int
        Cells of systems that are solved together: 8 MB.

    Returns
    -------
    ndarray of shape (m, n_classes)

    Notes
    -----
    Costs :math:`O(k^3)` a row.
    """
    k = n_classes
    i, j = np.triu_indices(k, 1)
    found = np.empty((len(pairs), k))
    step = max(1, block_cells // (k + 1) ** 2)
    for lo in range(0, len(pairs), step):
        r = np.clip(pairs[lo : lo + step], least, 1.0 - least)
        R = np.zeros((len(r), k, k))
        R[:, i, j], R[:, j, i] = r, 1.0 - r
        system = np.zeros((len(r), k + 1, k + 1))
        system[:, :k, :k] = -R * R.transpose(0, 2, 1)
        system[:, range(k), range(k)] = (R**2).sum(axis=1)
        system[:, :k, k] = system[:, k, :k] = 1.0
        right = np.zeros((len(r), k + 1, 1))
        right[:, k] = 1.0
        p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)
        found[lo : lo + step] = p / p.sum(axis=1, keepdims=True)
    return found


def agreeing(p: np.ndarray, predicted: np.ndarray, *, lead: float = 1e-9) -> np.ndarray:
    """The probabilities changed, in place, so that only the predicted class has the largest.

    If another class is more probable than the predicted one, these two, and all others that are too large, are replaced
    by their mean: among all probabilities whose largest belongs to the predicted class, the result is the nearest in
    the Kullback-Leibler divergence. Rows whose predicted class is the most probable one already are left unchanged.

    Parameters
    ----------
    p : ndarray of shape (m, k)
        Rows sum to one.
    predicted : ndarray of int of shape (m,)
    lead : float
        Relative amount by which the predicted class exceeds those that it was averaged with.
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
    np.copyto(part, (level * (1.0 - lead))[:, None], where=rank <= count[:, None])
    part[np.arange(len(wrong)), own] = level * (1.0 + lead * (count + 1))
    p[wrong] = part
    return p
