"""The probability of the positive class as any function of the decision value that does not fall.

.. math:: \\min_{p_1 \\le \\dots \\le p_n} \\sum_i s_i(t_i - p_i)^2

for labels :math:`t_i`, 0 and 1, in the order of their decision values, which has also the least log-loss; between
values it is linear, and beyond them constant. Beside the rows there are two of weight one, a positive one at the least
value and a negative one at the largest: a step of m rows of one label at an end then says :math:`m/(m + 1)`, not 1, and
no row that is seen later can have an infinite loss.
"""

from typing import NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression


class Isotonic(NamedTuple):
    """Decision values, rising, and the probabilities there, which do not fall."""

    f: np.ndarray
    p: np.ndarray


def fit_isotonic(f: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> Isotonic:
    """The function of least squares, by pooling neighbours.

    Parameters
    ----------
    f : ndarray of shape (n,)
        Decision values of rows that the machine was not trained on.
    positive : ndarray of bool of shape (n,)
    weight : ndarray of shape (n,)
        Rows of weight zero do not count.

    Notes
    -----
    Costs O(n log n).
    """
    taken = weight > 0.0
    f, positive, weight = f[taken], positive[taken], weight[taken]
    values = np.append(f, (f.min(), f.max()))
    labels, weights = np.append(positive, (True, False)).astype(np.float64), np.append(weight, (1.0, 1.0))
    found = IsotonicRegression(y_min=0.0, y_max=1.0).fit(values, labels, weights)
    return Isotonic(found.X_thresholds_, found.y_thresholds_)


def isotonic_probabilities(f: np.ndarray, isotonic: Isotonic) -> np.ndarray:
    """p of each decision value."""
    return np.interp(f, isotonic.f, isotonic.p)
