"""The probability of the positive class as a nondecreasing function of the decision value (isotonic regression).

.. math:: \\min_{p_1 \\le \\dots \\le p_n} \\sum_i s_i(t_i - p_i)^2

for labels :math:`t_i`, 0 and 1, in the order of their decision values; this p also minimises the log-loss. The function
is linear between the values, and constant beyond them. Two rows of weight one are added, a positive one at the smallest
value and a negative one at the largest: m rows of one label at an end then get :math:`m/(m + 1)` and not 1, so that no
later row can have an infinite loss.
"""

from typing import NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression


class Isotonic(NamedTuple):
    """Decision values, ascending, and the probabilities at them, which do not decrease."""

    f: np.ndarray
    p: np.ndarray


def fit_isotonic(f: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> Isotonic:
    """The least-squares fit, by pooling adjacent violators.

    Parameters
    ----------
    f : ndarray of shape (n,)
        Decision values of rows that the machine was not trained on.
    positive : ndarray of bool of shape (n,)
    weight : ndarray of shape (n,)
        Rows of weight zero are ignored.

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
    """The probability of each decision value."""
    return np.interp(f, isotonic.f, isotonic.p)
