"""Leave-one-out decision values of a fitted classifier, for each of its binary problems."""

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from hinge.access import Points, as_points
from hinge.calibration.left_out import Asked, LeftOut, Solved, left_out, spans_by_kernel
from hinge.calibration.leverage import Features, Squares
from hinge.calibration.linear_spans import linear_spans
from hinge.estimators.data.kernel_input import dense_if_small, of_items, part_of
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.reports import warn_caller
from hinge.estimators.fitting.tasks import Task, class_pairs
from hinge.kernels import Kernel
from hinge.problems import L1Regularized, Penalized
from hinge.types import Stored

EXACT_POINTS, FAR = 512, 1e-4
"""Kernel values are in float64 for up to this many points, and if ρ is below this fraction of the mean of K(x, x)."""
TILE_ROWS = 256


class Judged(NamedTuple):
    """Leave-one-out decision values of the rows of one binary problem.

    Attributes
    ----------
    rows : ndarray of int
    positive : ndarray of bool
        Whether each row is in the positive class.
    f : ndarray
        Decision values after training without the row.
    stands_for : ndarray
        Number of rows that each represents.
    dual : ndarray
        Dual weights.
    """

    rows: np.ndarray
    positive: np.ndarray
    f: np.ndarray
    stands_for: np.ndarray
    dual: np.ndarray

    @classmethod
    def of(cls, found: LeftOut, y: np.ndarray, rows: np.ndarray | None, a: np.ndarray) -> "Judged":
        """From the labels, -1 and +1, the indices of the problem's rows in the data, and the dual weights a."""
        own = found.rows if rows is None else rows[found.rows]
        return cls(own, y[found.rows] > 0, found.f, found.stands_for, a[found.rows])


def as_they_are(task: Task, f: np.ndarray) -> Judged:
    """The same form for rows that took no part in the fit, with their decision values f."""
    return Judged.of(LeftOut(np.arange(len(f)), f, np.ones(len(f))), task.y, task.rows, np.zeros(len(f)))


def only_row(codes: np.ndarray, classes: np.ndarray, weight: np.ndarray | None = None) -> object:
    """The first class with exactly one row of positive weight; None if there is none."""
    counts = np.bincount(codes if weight is None else codes[weight > 0], minlength=len(classes))
    return classes.tolist()[int(np.argmax(counts == 1))] if (counts == 1).any() else None


def warn_of_one_row(label: object, so: str) -> None:
    """Warn that a class has one row, so that leave-one-out is not possible for it; `so` states the consequence."""
    warn_caller(
        f"Class {label!r} has one row, without which nothing is left to learn it from: {so}. Give two rows of each "
        "class or more."
    )


def without_kernel_rows(
    X: KernelData,
    task: Task,
    kernel: Kernel,
    f: np.ndarray,
    beta: np.ndarray,
    C: float | None,
    free_bias: bool,
    *,
    every: bool = False,
) -> tuple[Judged, int]:
    """Leave-one-out values for one binary problem of a kernel classifier, and the number of kernel values computed.

    Parameters
    ----------
    X : array, CSR matrix, or a list of items
    task : Task
        The binary problem, with its row weights.
    kernel : Kernel
    f, beta : ndarray of shape (len(task.y),)
        Decision values and coefficients.
    C : float, optional
        The upper bound of dual weights for rows of weight one; if None, the largest dual weight is taken.
    free_bias : bool
    every : bool
        Whether to evaluate all rows, and not a sample of many.
    """
    rows = np.arange(len(task.y)) if task.rows is None else task.rows
    weight = np.ones(len(rows)) if task.weight is None else task.weight
    a = np.maximum(beta * task.y, 0.0)
    if C is None:
        C = float(np.max(a[weight > 0] / weight[weight > 0], initial=0.0)) or 1.0
    evals = 0

    def spans(asked: Asked) -> np.ndarray:
        needed = np.union1d(asked.free, asked.judged)
        some = dense_if_small(part_of(X, rows[needed], kernel))
        points = as_points(some, of_items(kernel), exact=len(needed) <= EXACT_POINTS)
        diag = points.diag()
        if points.dtype == np.float32 and asked.rho.min(initial=np.inf) < FAR * float(diag.mean()):
            points = as_points(some, of_items(kernel), exact=True)

        def values(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            nonlocal evals
            found = kernel_values(points, np.searchsorted(needed, one), np.searchsorted(needed, other))
            evals += found.size
            return found

        return spans_by_kernel(values, lambda i: diag[np.searchsorted(needed, i)], free_bias, asked)

    found = left_out(Solved(f, task.y, a, C * weight), spans, every=every)
    return Judged.of(found, task.y, task.rows, a), evals


def kernel_values(points: Points, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """K(x, z) for some points x and some z, given by their indices; computed in tiles of a few rows."""
    found = np.empty((len(rows), len(columns)), points.dtype)
    for lo in range(0, len(rows), TILE_ROWS):
        points.fill(rows[lo : lo + TILE_ROWS], columns, found[lo : lo + TILE_ROWS])
    return found


def features_of(X: Stored, problem: Penalized) -> Features:
    """The rows of a linear problem with the constant feature of its bias."""
    penalty = np.ones(problem.d + 1)
    penalty[-1] = float(problem.bias == "penalized")
    return Features(X, {"none": 0.0, "free": 1.0, "penalized": float(problem.bias_scale)}[problem.bias], penalty)


def coefficients_of(model: BaseEstimator, k: int, n: int) -> np.ndarray:
    """The coefficients β of binary problem k of a kernel classifier, for all n training rows."""
    dual, support, beta = model._dense_dual, model.support_, np.zeros(n)
    if not model._one_vs_one:
        beta[support] = dual[k]
        return beta
    cuts = np.concatenate([[0], np.cumsum(model.n_support_)])
    i, j = class_pairs(len(model.classes_))[k]
    for own, row in ((i, j - 1), (j, i)):
        part = slice(cuts[own], cuts[own + 1])
        beta[support[part]] = dual[row, part]
    return beta


def without_linear_rows(
    X: Stored,
    problem: Penalized,
    w: np.ndarray,
    b: float,
    a: np.ndarray | None,
    *,
    f: np.ndarray | None = None,
    every: bool = False,
    kept: Squares | None = None,
) -> Judged:
    """Leave-one-out values for a linear problem.

    Parameters
    ----------
    X : array or CSR matrix
    problem : Penalized
    w, b : ndarray of shape (n_features,) and float
    a : ndarray of shape (n,), optional
        Coefficients of the rows in w; not needed for the squared hinge, where they follow from f.
    f : ndarray of shape (n,), optional
        Decision values, if they are known.
    every : bool
        Whether to evaluate all rows, and not a sample of many; spans are then computed more accurately.
    kept : Squares, optional
        The sum of the last problem on the same data, for which spans of a sample are as accurate.
    """
    kept = Squares() if every and kept is None else kept
    f = problem.responses(w) + b if f is None else f
    bound = np.broadcast_to(problem.share() / problem.lam, (problem.n,))
    if a is None:
        a = np.maximum(0.0, 1.0 - problem.y * f) * bound / problem.loss.curvature
    rows = features_of(X, problem)
    if isinstance(problem, L1Regularized):  # zero weights are taken to stay zero; the 1-norm has no curvature
        used = np.flatnonzero(w)
        rows, kept = Features(X[:, used], rows.constant, np.zeros(len(used) + 1)), None
    solved = Solved(f, problem.y, a, bound, problem.loss.curvature)
    found = left_out(solved, lambda asked: linear_spans(rows, asked, kept), every=every)
    return Judged.of(found, problem.y, None, a)
