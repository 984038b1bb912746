"""Leave-one-out decision values of all training rows, and the error estimated from them."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, column_or_1d

from hinge.access import as_matrix, as_points
from hinge.calibration.left_out import (
    BAND,
    OwnValues,
    SolvedProblem,
    SpanRequest,
    Spans,
    Values,
    left_out,
    spans_by_kernel,
)
from hinge.calibration.leverage import Squares
from hinge.calibration.linear_spans import linear_spans
from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.data.kernel_input import dense_if_small, of_items
from hinge.estimators.fitting.tasks import class_pairs, positive_classes, row_weights
from hinge.estimators.mixins.probabilities import EXACT_POINTS, features_of, kernel_values
from hinge.problems import Regularized
from hinge.problems.svm.losses import Loss
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


def spread_over(f: np.ndarray, y: np.ndarray, rows: np.ndarray, without: np.ndarray) -> np.ndarray:
    """Leave-one-out values of all rows, from the values of a sample.

    A row outside the sample changes by as much as the sampled row of its label with the nearest decision value.

    Parameters
    ----------
    f, y : ndarray of shape (n,)
        Decision values, and labels: -1 and +1.
    rows, without : ndarray
        The sampled rows, in ascending order, and their leave-one-out values.
    """
    values = f.astype(np.float64)
    values[rows] = without
    seen = np.zeros(len(f), bool)
    seen[rows] = True
    for label in (-1, 1):
        own, others = np.flatnonzero(seen & (y == label)), np.flatnonzero(~seen & (y == label))
        if not (len(own) and len(others)):
            continue
        own = own[np.argsort(f[own], kind="stable")]
        at = (
            np.clip(np.searchsorted(f[own], f[others]), 1, len(own) - 1) if len(own) > 1 else np.zeros(len(others), int)
        )
        nearer = at - (f[others] - f[own[at - 1]] < f[own[at]] - f[others])
        near = own[nearer if len(own) > 1 else at]
        values[others] = f[others] + (values[near] - f[near])
    return values


def without_targets(
    f: np.ndarray, t: np.ndarray, beta: np.ndarray, bound: np.ndarray, loss: Loss, spans: Spans
) -> np.ndarray:
    """Leave-one-out predictions of a regression, for all rows.

    The prediction of row i without it is :math:`f_i - \\beta_iS_i^2`. The span is as in a classification whose label
    is the sign of :math:`\\beta_i`, and in which a row lacks its margin by as much as its residual exceeds ε, in units
    of the mean absolute residual. If ε is less than the band of rows near the edge of the tube, dual weights there
    range from -C to C instead of 0 to C, and ρ is half as large.

    Parameters
    ----------
    f, t : ndarray of shape (n,)
        Predictions and targets.
    beta : ndarray of shape (n,)
        Coefficients of the rows in w, with their signs.
    bound : ndarray of shape (n,)
        C times the weights of the rows.
    loss : Loss
    spans : callable
    """
    unit = float(np.abs(t - f).mean()) or 1.0
    side = np.where(beta != 0.0, np.sign(beta), np.where(t >= f, 1.0, -1.0))
    short = (side * (t - f) - loss.epsilon) / unit
    as_label = side * (1.0 - short)
    narrow = not loss.curvature and loss.epsilon < BAND * unit

    def in_tube(asked: SpanRequest) -> np.ndarray:
        return spans(asked._replace(rho=0.5 * asked.rho) if narrow else asked)

    found = left_out(SolvedProblem(as_label, side, np.abs(beta) / unit, bound / unit, loss.curvature), in_tube)
    moved = found.f - as_label[found.rows]
    for label in (-1.0, 1.0):
        if np.count_nonzero(side == label) == 1:  # the rule of `left_out` for a single row of a label does not apply
            moved[side[found.rows] == label] = 0.0
    return spread_over(f, side, found.rows, f[found.rows] + unit * moved)


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
    if isinstance(model, LinearSVR):
        return _of_linear_targets(model, X, y, sample_weight)
    if isinstance(model, SVR):
        return _of_kernel_targets(model, X, y, sample_weight)
    if not isinstance(model, LinearSVC | SVC):
        raise TypeError(
            f"There is no leave-one-out of {type(model).__name__}: give a fitted LinearSVC, LinearSVR, SVC or SVR."
        )
    X, labels, codes, weight = model._rows_to_judge(X, y, sample_weight, False)
    judged = model._left_out(X, labels, codes, weight, every=isinstance(model, LinearSVC))
    scores = model._scores(X).astype(np.float64)
    for k, (one, label) in enumerate(zip(judged, _labels(model, codes), strict=True)):
        scores[:, k] = spread_over(scores[:, k], label, one.rows, one.f)
    return scores


def _labels(model: LinearSVC | SVC, codes: np.ndarray) -> list[np.ndarray]:
    """The label -1 or +1 of every row in each binary problem; 0 of rows that take no part in it."""
    n_classes = len(model.classes_)
    if model._one_vs_one:
        return [(codes == i).astype(int) - (codes == j) for i, j in class_pairs(n_classes)]
    return [np.where(codes == k, 1, -1) for k in positive_classes(n_classes)]


def _of_linear_targets(model: LinearSVR, X: Items, y: ArrayLike, sample_weight: ArrayLike | None) -> np.ndarray:
    X, y = checks.validated(model, X, y, reset=False)
    t, weight = checks.checked_targets(y), row_weights(sample_weight, X)
    problem = model._problem(as_matrix(X, checked=True), t, weight)
    f = model.predict(X).astype(np.float64)
    bound = np.broadcast_to(problem.share() / problem.lam, (problem.n,))
    if problem.loss.curvature:
        beta = problem.loss.slope(t - f) * bound
    elif hasattr(model, "dual_coef_"):
        beta = np.zeros(problem.n)
        beta[model.support_] = model.dual_coef_[0]
    else:
        raise ValueError("Leave-one-out needs dual weights, which this solver does not keep: fit with solver='auto'.")
    return without_targets(f, t, beta, bound, problem.loss, row_spans(X, problem))[:, None]


def _of_kernel_targets(model: SVR, X: Items, y: ArrayLike, sample_weight: ArrayLike | None) -> np.ndarray:
    X, kernel = kernel_input.new_data(model, X), model.kernel_
    t, weight = checks.checked_targets(column_or_1d(y)), row_weights(sample_weight, X)
    check_consistent_length(X, t)
    beta = np.zeros(len(t))
    beta[model.support_] = model._dense_dual[0]
    bound = cast(float, model._bound) * (np.ones(len(t)) if weight is None else weight)
    points = as_points(dense_if_small(X), of_items(kernel), exact=len(t) <= EXACT_POINTS)
    diag = points.diag()
    spans = kernel_spans(partial(kernel_values, points), lambda i: diag[i], bool(model.fit_intercept))
    return without_targets(model.predict(X), t, beta, bound, model._loss, spans)[:, None]


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
