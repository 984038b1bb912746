"""Leave-one-out decision values of all training rows: the error estimated from them, and a threshold."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hinge.column_table import in_short
from hinge.constraints import number
from hinge.estimators.fitting.tasks import row_weights
from hinge.estimators.linear.linear_machine import LinearMachine
from hinge.estimators.mixins.conformal import Conformal
from hinge.estimators.mixins.fitted_rows import FittedRows
from hinge.estimators.mixins.probabilities import only_row, warn_of_one_row
from hinge.estimators.pipelines import examined
from hinge.selection.scoring import Tunable
from hinge.types import Items


class Fitted(NamedTuple):
    """A model that knows the decision values of its own rows, and a function that returns the leave-one-out ones."""

    model: Any
    left_out: Callable[[], Any]


class Estimate(NamedTuple):
    """The estimated error of a model on new rows, and its standard error."""

    error: float
    std: float


def left_out_scores(model: Tunable, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None) -> np.ndarray:
    """Leave-one-out decision values of the training rows, computed from the fit itself.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, SVC or SVR
        A fitted one.
    X, y, sample_weight
        The data that it was fitted to.

    Returns
    -------
    ndarray of shape (n_samples, n_runs)
        A column for each class against the rest, or for each pair of classes; predictions of a regression.
    """
    if not isinstance(model, Conformal):
        raise TypeError(
            f"There is no leave-one-out of {type(model).__name__}: give a fitted machine for classes or targets."
        )
    return model._left_out_scores(FittedRows(X, y, sample_weight), every=isinstance(model, LinearMachine))[0]


def estimate(model: Tunable, y: np.ndarray, values: np.ndarray, weight: np.ndarray | None) -> Estimate:
    """The leave-one-out error rate, or mean absolute error of a regression, with its standard error."""
    if hasattr(model, "classes_"):
        wrong = (model.classes_[model._codes_of(values)] != y).astype(np.float64)
    else:
        wrong = np.abs(np.asarray(y, np.float64) - values[:, 0])
    weight = np.ones(len(wrong)) if weight is None else weight
    mean = float(weight @ wrong / weight.sum())
    var = float(weight @ (wrong - mean) ** 2 / weight.sum())
    count = float(weight.sum() ** 2 / (weight**2).sum())
    # If no row is wrong the variance would be 0: add one wrong row and one right one to estimate it.
    if var == 0.0 and hasattr(model, "classes_"):
        p = (mean * count + 1.0) / (count + 2.0)
        var = p * (1.0 - p)
    return Estimate(mean, float(np.sqrt(var / count)))


class Threshold(NamedTuple):
    """A threshold, the mean cost per row to expect with it, and that with the threshold zero."""

    threshold: float
    cost: float
    cost_at_zero: float

    def __repr__(self) -> str:
        return in_short(self)


def choose_threshold(
    model: BaseEstimator,
    X: Items,
    y: ArrayLike,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    sample_weight: ArrayLike | None = None,
    held_out: bool = False,
) -> Threshold:
    """The threshold of the decision value with the least cost, without another fit.

    With the leave-one-out decision values :math:`f_i`, which are computed from the solution itself, it minimises

    .. math:: \\sum_i s_i\\big(c_{fp}[y_i = -1, f_i > t] + c_{fn}[y_i = +1, f_i \\le t]\\big) \\Big/ \\sum_i s_i ,

    by one sort. If several t are optimal, it is the one nearest to zero, in the middle between two rows.
    ``sklearn.model_selection.FixedThresholdClassifier(FrozenEstimator(model), threshold=t,
    response_method="decision_function")`` predicts by it.

    Parameters
    ----------
    model : LinearSVC, SVC, NuSVC, LinearSVCCV or SVCCV, or a Pipeline that ends with one
        A fitted one, of two classes; the second of `classes_` is the positive one.
    X, y, sample_weight
        The data that it was fitted to.
    cost_fp, cost_fn : float, default=1.0
        The cost of a false positive, and of a false negative.
    held_out : bool, default=False
        Whether X and y took no part in the fit: then their decision values are used directly.

    Returns
    -------
    Threshold

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from hinge import LinearSVC, choose_threshold
    >>> X, y = make_classification(200, flip_y=0.2, random_state=0)
    >>> model = LinearSVC(C=0.01).fit(X, y)
    >>> found = choose_threshold(model, X, y, cost_fn=10.0)
    >>> found.threshold < 0, found.cost < found.cost_at_zero
    (True, True)
    """
    model, X = examined(model, X)
    check_is_fitted(model, "classes_")
    if len(model.classes_) != 2:
        raise ValueError(f"A threshold separates two classes, and the model has {len(model.classes_)}.")
    for name, price in (("cost_fp", cost_fp), ("cost_fn", cost_fn)):
        number(least=0).check(name, price)
    costs = float(cost_fp), float(cost_fn)
    scores = model._scores(X) if held_out else left_out_scores(model, X, y, sample_weight)
    f, positive = scores[:, 0].astype(np.float64), column_or_1d(y) == model.classes_[1]
    weight = row_weights(sample_weight, X)
    alone = None if held_out else only_row(positive.astype(np.int64), model.classes_, weight)
    if alone is not None:
        warn_of_one_row(alone, "what it costs to call it the other one is a guess")
    weight = np.ones(len(f)) if weight is None else weight
    order = np.argsort(f, kind="stable")
    f, positive, weight = f[order], positive[order], weight[order] / weight.sum()
    # The cost if the first k rows are classified as negative, for k = 0, ..., n.
    below = np.concatenate([[0.0], np.cumsum(np.where(positive, costs[1], -costs[0]) * weight)])
    cost = below + costs[0] * float(weight[~positive].sum())
    cuts = np.concatenate([[f[0] - 1.0], 0.5 * (f[:-1] + f[1:]), [f[-1] + 1.0]])
    possible = np.concatenate([[True], f[:-1] < f[1:], [True]])
    least = float(cost[possible].min())
    best = np.flatnonzero(possible & (cost <= least + 1e-12 * sum(costs)))
    at_zero = float(cost[np.searchsorted(f, 0.0, side="right")])
    return Threshold(float(cuts[best[np.abs(cuts[best]).argmin()]]), max(least, 0.0), max(at_zero, 0.0))
