"""One against one: all class pairs, LIBSVM's layout of their coefficients, and voting."""

from itertools import combinations

import numpy as np


def class_pairs(n_classes: int) -> list[tuple[int, int]]:
    """All class pairs i < j, in LIBSVM's order; class i is the positive one."""
    return list(combinations(range(n_classes), 2))


def by_class(support: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Support vectors sorted by class, in row order within a class; and how many each class has."""
    classes = codes[support]
    return support[np.argsort(classes, kind="stable")], np.bincount(classes, minlength=n_classes)


def dual_layout(
    beta: np.ndarray, rows: np.ndarray, cuts: np.ndarray, codes: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The coefficients of all class pairs in LIBSVM's layout.

    A support vector of class i takes part in n_classes - 1 pairs; its coefficient in the one with class j is
    in row j - 1 where j > i, in row j where j < i.

    Parameters
    ----------
    beta, rows : ndarray
        The coefficients and the row indices of all pairs, concatenated.
    cuts : ndarray of shape (n_pairs + 1,)
        Start of each pair in these arrays.
    codes : ndarray of shape (n,)
    n_classes : int

    Returns
    -------
    dual_coef : ndarray of shape (n_classes - 1, n_SV)
    support : ndarray of shape (n_SV,)
    n_support : ndarray of shape (n_classes,)
    """
    first, second = (np.repeat(side, np.diff(cuts)) for side in np.array(class_pairs(n_classes)).T)
    taken = beta != 0
    beta, rows, first, second = beta[taken], rows[taken], first[taken], second[taken]
    used = np.zeros(len(codes), bool)
    used[rows] = True
    support, n_support = by_class(np.flatnonzero(used), codes, n_classes)
    place = np.empty(len(codes), np.int64)
    place[support] = np.arange(len(support))
    dual = np.zeros((n_classes - 1, len(support)))
    dual[np.where(codes[rows] == first, second - 1, first), place[rows]] = beta
    return dual, support, n_support


def scores_of_pairs(sums: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Decision values of all class pairs, from the sums ``sums[:, i, row]`` over the support vectors of class i."""
    both = [sums[:, i, j - 1] + sums[:, j, i] for i, j in class_pairs(sums.shape[1])]
    return np.stack(both, axis=1) + intercept


def votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """The number of its class pairs that each class wins."""
    won = np.zeros((len(scores), n_classes), np.int64)
    for score, (i, j) in zip(scores.T, class_pairs(n_classes), strict=True):
        won[:, i] += score > 0
        won[:, j] += score <= 0
    return won


def per_class(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """One value for each class: its votes and, to break ties, its summed scores, as in scikit-learn.

    A score of zero is a vote for the first class here, and for the second class in `votes`.
    """
    summed, won = np.zeros((2, len(scores), n_classes))
    for score, (i, j) in zip(scores.T, class_pairs(n_classes), strict=True):
        summed[:, i] += score
        summed[:, j] -= score
        won[:, i] += score >= 0
        won[:, j] += score < 0
    return won + summed / (3.0 * (np.abs(summed) + 1.0))


def coefficients_of_pairs(dual_coef: np.ndarray, n_support: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The support vectors of each class pair, and their coefficients in it."""
    of_class = np.split(np.arange(dual_coef.shape[1]), np.cumsum(n_support)[:-1])
    return [
        (
            np.concatenate([of_class[i], of_class[j]]),
            np.concatenate([dual_coef[j - 1, of_class[i]], dual_coef[i, of_class[j]]]),
        )
        for i, j in class_pairs(len(n_support))
    ]
