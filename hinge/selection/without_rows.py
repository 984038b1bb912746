"""Leave-one-out decision values of all training rows, and the error estimated from them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hinge.calibration.left_out import OwnValues, SolvedProblem, Spans, Values, left_out, spans_by_kernel, spread_over
from hinge.calibration.leverage import Squares
from hinge.calibration.linear_spans import linear_spans
from hinge.estimators.linear.linear_machine import LinearMachine
from hinge.estimators.mixins.conformal import Conformal
from hinge.estimators.mixins.fitted_rows import FittedRows
from hinge.estimators.mixins.probabilities import features_of
from hinge.problems import Regularized
from hinge.selection.scoring import Tunable
from hinge.types import Items, Stored


class Fitted(NamedTuple):
    """A model that knows the decision values of its own rows, and a function that returns the leave-one-out ones."""

    model: Any
    left_out: Callable[[], Any]


class Estimate(NamedTuple):
    """The estimated error of a model on new rows, and its standard error."""

    error: float
    std: float


def without_labels(f: np.ndarray, y: np.ndarray, a: np.ndarray, bound: np.ndarray, spans: Spans) -> np.ndarray:
    """Leave-one-out decision values of a classification by the hinge, for all rows."""
    found = left_out(SolvedProblem(f, y, a, bound), spans)
    return spread_over(f, y, found.rows, found.f)


def kernel_spans(values: Values, own_values: OwnValues, free_bias: bool) -> Spans:
    """The function that computes spans from kernel values."""
    return lambda asked: spans_by_kernel(values, own_values, free_bias, asked)


def row_spans(X: Stored, problem: Regularized) -> Spans:
    """The function that computes spans from the rows of a linear problem."""
    rows, kept = features_of(X, problem), Squares()
    return lambda asked: linear_spans(rows, asked, kept)


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
