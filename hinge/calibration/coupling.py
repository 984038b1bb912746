"""Probabilities of several classes from those of class pairs.

The second method of Wu, Lin and Weng (*Probability Estimates for Multi-class Classification by Pairwise Coupling*,
2004): with :math:`r_{ij}` the probability of class i against class j,

.. math:: \\min_p \\sum_i\\sum_{j\\ne i}(r_{ji}p_i - r_{ij}p_j)^2, \\qquad \\sum_i p_i = 1,

a linear system of k + 1 equations for each row, whose solution has no negative entry.
"""

import numpy as np

LEAST = 1e-7
"""Probabilities of pairs are kept this far from 0 and 1."""
BLOCK_CELLS = 1 << 20


def coupled(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """The probabilities of all classes.

    Parameters
    ----------
    pairs : ndarray of shape (m, n_classes * (n_classes - 1) / 2)
        Probabilities of class i against class j, for i < j in the order of ``itertools.combinations``.
    n_classes : int

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
    step = max(1, BLOCK_CELLS // (k + 1) ** 2)
    for lo in range(0, len(pairs), step):
        r = np.clip(pairs[lo : lo + step], LEAST, 1.0 - LEAST)
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
