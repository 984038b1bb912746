"""Probabilities that do not decrease with the decision value: isotonic regression and Venn-Abers intervals.

**Isotonic regression** is

.. math:: \\min_{p_1 \\le \\dots \\le p_n} \\sum_i s_i(t_i - p_i)^2

for labels :math:`t_i`, 0 and 1, in the order of their decision values; this p also minimises the log-loss. The function
is linear between the values, and constant beyond them. Two rows of weight one are added, a positive one at the smallest
value and a negative one at the largest: m rows of one label at an end then get :math:`m/(m + 1)` and not 1, so that no
later row can have an infinite loss.

**Venn-Abers prediction** gives two probabilities for each decision value, an interval around the true one. A new row
with the decision value f may be negative or positive. Isotonic regressions on the calibration rows and this one, with
either label, give :math:`p_0(f)` and :math:`p_1(f)` at f; one of the two is calibrated whatever the distribution of the
rows (Vovk, Petej and Fedorova, *Large-scale probabilistic predictors with and without guarantees of validity*, 2015).
The single number with the least regret in log-loss is :math:`p_1/(1 - p_0 + p_1)`.

Isotonic regression is the slope of the lower convex hull of the points :math:`P_j = (\\sum_{i\\le j}s_i,
\\sum_{i\\le j}s_it_i)`. With a positive row at the place j the points before it are :math:`Q_i = P_i - (1, 1)`, and
:math:`p_1` is the slope of the edge from some :math:`Q_i`, i < j, to some :math:`P_i`, i ≥ j. This slope rises with j,
so a point that has left the hull does not return to it, and one sweep finds it for all j. :math:`p_0` is one minus the
same function of the rows in reverse order, with labels exchanged.
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


class VennAbers(NamedTuple):
    """Decision values, ascending; :math:`p_0` from each up to the next, :math:`p_1` from the one before up to each."""

    f: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def fit_venn_abers(f: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> VennAbers:
    """Both functions, for all decision values.

    Parameters
    ----------
    f : ndarray of shape (n,)
        Decision values of rows that the machine was not trained on.
    positive : ndarray of bool of shape (n,)
    weight : ndarray of shape (n,)
        In units of the weight of a new row. Rows of weight zero are ignored.

    Notes
    -----
    Costs O(n log n), for sorting.
    """
    taken = weight > 0.0
    values, place = np.unique(f[taken], return_inverse=True)
    s = np.bincount(place, weight[taken])
    st = np.bincount(place, weight[taken] * positive[taken])
    lower = np.maximum(1.0 - _with_a_positive(s[::-1], (s - st)[::-1])[::-1], 0.0)
    upper = _with_a_positive(s, st)
    # Where weights differ by more than all digits, rounding may put the lower end above the upper one.
    return VennAbers(values, np.minimum(lower, upper), np.maximum(lower, upper))


def interval(f: np.ndarray, found: VennAbers) -> tuple[np.ndarray, np.ndarray]:
    """:math:`p_0` and :math:`p_1` of each decision value; 0 and 1 beyond the calibration rows."""
    lower, upper = np.append(0.0, found.lower), np.append(found.upper, 1.0)
    return lower[np.searchsorted(found.f, f, "right")], upper[np.searchsorted(found.f, f, "left")]


def merged(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """One probability from both ends of the interval."""
    return upper / (1.0 - lower + upper)


def _with_a_positive(s: np.ndarray, st: np.ndarray) -> np.ndarray:
    """:math:`p_1` at each value, from the total weight there and the weight of the positive rows."""
    xs, ys = np.cumsum(s).tolist(), np.cumsum(st).tolist()
    hull: list[tuple[float, float]] = []  # from right to left: the last entry is the leftmost point
    for point in [*zip(reversed(xs), reversed(ys), strict=True), (-1.0, -1.0)]:
        _push(hull, point)
    found = np.empty(len(xs))
    for j, (x, y) in enumerate(zip(xs, ys, strict=True)):
        (x0, y0), (x1, y1) = hull[-1], hull[-2]
        found[j] = (y1 - y0) / (x1 - x0) if x1 > x0 else 1.0  # weights too small to be seen beside the new row's
        moved = (x - 1.0, y - 1.0)
        if (moved[1] - y0) * (x1 - x0) < (y1 - y0) * (moved[0] - x0) and j + 1 < len(xs):
            hull.pop()
            _push(hull, moved)
    return found


def _push(hull: list[tuple[float, float]], point: tuple[float, float]) -> None:
    """Add a point at the left end of a lower hull, and remove those above the new edge."""
    while len(hull) > 1:
        (x0, y0), (x1, y1) = hull[-1], hull[-2]
        if (y0 - point[1]) * (x1 - point[0]) < (y1 - point[1]) * (x0 - point[0]):  # below the chord: stays on the hull
            break
        hull.pop()
    hull.append(point)
