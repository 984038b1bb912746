"""Decision values of all training rows by machines trained without them, and the error that they foretell."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, column_or_1d

from hinge.access import as_matrix, as_points
from hinge.calibration.features import Features
from hinge.calibration.left_out import BAND, Asked, Solved, Spans, left_out
from hinge.calibration.leverage import Squares
from hinge.calibration.linear_spans import linear_spans
from hinge.calibration.span import OwnValues, Values, spans_by_kernel
from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR, checks, kernel_input, weights
from hinge.estimators.kernel_input import dense_if_small
from hinge.estimators.leave_one_out import EXACT_POINTS, TILE_ROWS
from hinge.estimators.one_vs_one import class_pairs
from hinge.kernels import Function
from hinge.problems import Regularized
from hinge.problems.svm.losses import Loss
from hinge.selection.training import Tunable
from hinge.types import Items, Stored


class Fitted(NamedTuple):
    """A model that knows the decision values of its own rows, and how it comes to those by machines without them."""

    model: Any
    left_out: Callable[[], Any]


class Estimate(NamedTuple):
    """The error of a model on rows that it has not seen, and its standard error."""

    error: float
    std: float


def spread_over(f: np.ndarray, y: np.ndarray, rows: np.ndarray, without: np.ndarray) -> np.ndarray:
    """The values of all rows, where only some were looked at.

    A row that was not moves as the one of its label does that was, and whose decision value is the nearest.

    Parameters
    ----------
    f, y : ndarray of shape (n,)
        Decision values, and labels: -1 and +1.
    rows, without : ndarray
        The rows that were looked at, in ascending order, and their values without them.
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
    """The same of a regression: predictions for all rows by machines trained without them.

    A row pulls with :math:`\\beta_i` to one side, and its prediction without it is :math:`f_i - \\beta_iS_i^2`, with
    the span of the classification in which that side is its label, and which it is short of by as much as its residual
    exceeds ε; in units of the mean residual. Where the tube is narrower than the band of rows that are near its edge,
    dual weights there go from -C to C, and not from 0 to C: twice as far.

    Parameters
    ----------
    f, t : ndarray of shape (n,)
        Predictions and targets.
    beta : ndarray of shape (n,)
        Dual weights with their signs, in units of w.
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

    def in_tube(asked: Asked) -> np.ndarray:
        return spans(asked._replace(rho=0.5 * asked.rho) if narrow else asked)

    found = left_out(Solved(as_label, side, np.abs(beta) / unit, bound / unit, loss.curvature), in_tube)
    moved = found.f - as_label[found.rows]
    for label in (-1.0, 1.0):
        if np.count_nonzero(side == label) == 1:  # which is no reason to know nothing of it here
            moved[side[found.rows] == label] = 0.0
    return spread_over(f, side, found.rows, f[found.rows] + unit * moved)


def without_labels(f: np.ndarray, y: np.ndarray, a: np.ndarray, bound: np.ndarray, spans: Spans) -> np.ndarray:
    """Those of a classification by the hinge, for all rows."""
    found = left_out(Solved(f, y, a, bound), spans)
    return spread_over(f, y, found.rows, found.f)


def kernel_spans(values: Values, own_values: OwnValues, free_bias: bool) -> Spans:
    """Spans by kernel values."""
    return lambda asked: spans_by_kernel(values, own_values, free_bias, asked)


def row_spans(X: Stored, problem: Regularized) -> Spans:
    """Spans of the rows of a linear problem."""
    constant = {"none": 0.0, "free": 1.0, "penalized": float(problem.bias_scale)}[problem.bias]
    penalty = np.ones(problem.d + 1)
    penalty[-1] = float(problem.bias == "penalized")
    rows = Features(X, constant, penalty)
    kept = Squares()
    return lambda asked: linear_spans(rows, asked, kept)


def left_out_scores(model: Tunable, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None) -> np.ndarray:
    """Decision values of the rows of a fit by machines trained without them, from the fit itself.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, SVC or SVR
        A fitted one.
    X, y, sample_weight
        What it was fitted to.

    Returns
    -------
    ndarray of shape (n_samples, n_runs)
        A column for each class against the rest, or for each class pair; predictions, of a regression.
    """
    if isinstance(model, LinearSVR):
        return _of_linear_targets(model, X, y, sample_weight)
    if isinstance(model, SVR):
        return _of_kernel_targets(model, X, y, sample_weight)
    if not isinstance(model, LinearSVC | SVC):
        raise TypeError(
            f"There is no leave-one-out of {type(model).__name__}: give a fitted LinearSVC, SVC, ... of hinge."
        )
    X, labels, codes, weight = model._rows_to_judge(X, y, sample_weight, False)
    judged = model._left_out(X, labels, codes, weight, every=isinstance(model, LinearSVC))
    scores = model._scores(X).astype(np.float64)
    for k, (one, label) in enumerate(zip(judged, _labels(model, codes), strict=True)):
        scores[:, k] = spread_over(scores[:, k], label, one.rows, one.f)
    return scores


def _labels(model: LinearSVC | SVC, codes: np.ndarray) -> list[np.ndarray]:
    """-1 or +1 of every row in each run; 0 of those that take no part in it."""
    n_classes = len(model.classes_)
    if model._one_vs_one:
        return [(codes == i).astype(int) - (codes == j) for i, j in class_pairs(n_classes)]
    return [np.where(codes == k, 1, -1) for k in ([1] if n_classes == 2 else range(n_classes))]


def _of_linear_targets(model: LinearSVR, X: Items, y: ArrayLike, sample_weight: ArrayLike | None) -> np.ndarray:
    X, y = checks.validated(model, X, y, reset=False)
    t, weight = checks.checked_targets(y), weights.row_weights(sample_weight, X)
    problem = model._problem(as_matrix(X, checked=True), t, weight)
    f = model.predict(X).astype(np.float64)
    bound = np.broadcast_to(problem.share() / problem.lam, (problem.n,))
    if problem.loss.curvature:
        beta = problem.loss.slope(t - f) * bound
    elif hasattr(model, "dual_coef_"):
        beta = np.zeros(problem.n)
        beta[model.support_] = model.dual_coef_[0]
    else:
        raise ValueError(
            "There is no leave-one-out without dual weights, which this solver does not keep: use another."
        )
    return without_targets(f, t, beta, bound, problem.loss, row_spans(X, problem))[:, None]


def _of_kernel_targets(model: SVR, X: Items, y: ArrayLike, sample_weight: ArrayLike | None) -> np.ndarray:
    X, kernel = kernel_input.new_data(model, X), model.kernel_
    t, weight = checks.checked_targets(column_or_1d(y)), weights.row_weights(sample_weight, X)
    check_consistent_length(X, t)
    beta = np.zeros(len(t))
    beta[model.support_] = model._dense_dual[0]
    bound = model._bound * (np.ones(len(t)) if weight is None else weight)
    of_two = (
        Function(kernel.function, on="pairs") if isinstance(kernel, Function) and kernel.on == "indices" else kernel
    )
    points = as_points(dense_if_small(X), of_two, exact=len(t) <= EXACT_POINTS)
    diag = points.diag()

    def values(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        found = np.empty((len(one), len(other)), points.dtype)
        for lo in range(0, len(one), TILE_ROWS):
            points.fill(one[lo : lo + TILE_ROWS], other, found[lo : lo + TILE_ROWS])
        return found

    spans = kernel_spans(values, lambda i: diag[i], bool(model.fit_intercept))
    return without_targets(model.predict(X), t, beta, bound, model._loss, spans)[:, None]


def estimate(model: Tunable, y: np.ndarray, values: np.ndarray, weight: np.ndarray | None) -> Estimate:
    """The share of rows that a machine trained without them would get wrong; mean absolute error of a regression.

    Its standard error is that of a mean over so many rows.
    """
    if hasattr(model, "classes_"):
        wrong = (model.classes_[model._codes_of(values)] != y).astype(np.float64)
    else:
        wrong = np.abs(np.asarray(y, np.float64) - values[:, 0])
    weight = np.ones(len(wrong)) if weight is None else weight
    mean = float(weight @ wrong / weight.sum())
    var = float(weight @ (wrong - mean) ** 2 / weight.sum())
    count = float(weight.sum() ** 2 / (weight**2).sum())
    # Where no row is wrong the next may be: as if one of as many and two more were.
    if var == 0.0 and hasattr(model, "classes_"):
        p = (mean * count + 1.0) / (count + 2.0)
        var = p * (1.0 - p)
    return Estimate(mean, float(np.sqrt(var / count)))
