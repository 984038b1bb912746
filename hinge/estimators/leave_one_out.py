"""Leave-one-out decision values of a fitted classifier: what `hinge.calibration` needs of each of its runs."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from hinge.access import as_points
from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked, LeftOut, Solved, left_out
from hinge.calibration.leverage import Squares
from hinge.calibration.linear_spans import linear_spans
from hinge.calibration.span import spans_by_kernel
from hinge.estimators.kernel_input import dense_if_small, part_of
from hinge.estimators.kernel_tasks import Task
from hinge.estimators.one_vs_one import class_pairs
from hinge.estimators.parameters import KernelData
from hinge.kernels import Function, Kernel
from hinge.problems import L1Regularized, Penalized
from hinge.types import Stored

EXACT_POINTS, FAR = 512, 1e-4
"""Kernel values are in float64 for no more points than this, and where ρ is no more than this share of them."""
TILE_ROWS = 256


class Judged(NamedTuple):
    """Rows of one run as machines that were trained without them see them.

    Attributes
    ----------
    rows : ndarray of int
    positive : ndarray of bool
        Whether each is of the run's positive class.
    f : ndarray
        Its decision value without it.
    stands_for : ndarray
        How many rows it stands for.
    dual : ndarray
        Its dual weight.
    """

    rows: np.ndarray
    positive: np.ndarray
    f: np.ndarray
    stands_for: np.ndarray
    dual: np.ndarray

    @classmethod
    def of(cls, found: LeftOut, y: np.ndarray, rows: np.ndarray | None, a: np.ndarray) -> "Judged":
        """With labels, -1 and +1, the numbers of a run's rows among those of the data, and its dual weights."""
        own = found.rows if rows is None else rows[found.rows]
        return cls(own, y[found.rows] > 0, found.f, found.stands_for, a[found.rows])


def as_they_are(task: Task, f: np.ndarray) -> Judged:
    """Decision values of rows that took no part in the fit."""
    return Judged.of(LeftOut(np.arange(len(f)), f, np.ones(len(f))), task.y, task.rows, np.zeros(len(f)))


def only_row(codes: np.ndarray, classes: np.ndarray, weight: np.ndarray | None = None) -> object:
    """The first class that a single row of some weight has; None where each has more, or none."""
    counts = np.bincount(codes if weight is None else codes[weight > 0], minlength=len(classes))
    return classes.tolist()[int(np.argmax(counts == 1))] if (counts == 1).any() else None


def warn_of_one_row(label: object, so: str, depth: int = 0) -> None:
    """Say that there is no leave-one-out of a class with one row, and what follows from that."""
    warnings.warn(
        f"Class {label!r} has one row, without which nothing is left to learn it from: {so}. Give two rows of each "
        "class or more.",
        UserWarning,
        stacklevel=3 + depth,
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
    """The rows of a task of a kernel machine, and the kernel values that it took.

    Parameters
    ----------
    X : array, CSR matrix, or a list of items
    task : Task
        With the weights of the problem.
    kernel : Kernel
    f, beta : ndarray of shape (len(task.y),)
        Decision values and coefficients.
    C : float, optional
        The bound of dual weights for rows of weight one; the largest weight where it is not known.
    free_bias : bool
    every : bool
        Whether all rows are looked at, however many.
    """
    rows = np.arange(len(task.y)) if task.rows is None else task.rows
    weight = np.ones(len(rows)) if task.weight is None else task.weight
    a = np.maximum(beta * task.y, 0.0)
    if C is None:
        C = float(np.max(a[weight > 0] / weight[weight > 0], initial=0.0)) or 1.0
    evals = 0

    def spans(asked: Asked) -> np.ndarray:
        needed = np.union1d(asked.free, asked.judged)
        of_two = (
            Function(kernel.function, on="pairs") if isinstance(kernel, Function) and kernel.on == "indices" else kernel
        )
        some = dense_if_small(part_of(X, rows[needed], kernel))
        points = as_points(some, of_two, exact=len(needed) <= EXACT_POINTS)
        diag = points.diag()
        if points.dtype == np.float32 and asked.rho.min(initial=np.inf) < FAR * float(diag.mean()):
            points = as_points(some, of_two, exact=True)

        def values(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            nonlocal evals
            i, j = np.searchsorted(needed, one), np.searchsorted(needed, other)
            found = np.empty((len(i), len(j)), points.dtype)
            for lo in range(0, len(i), TILE_ROWS):
                points.fill(i[lo : lo + TILE_ROWS], j, found[lo : lo + TILE_ROWS])
            evals += found.size
            return found

        return spans_by_kernel(values, lambda i: diag[np.searchsorted(needed, i)], free_bias, asked)

    found = left_out(Solved(f, task.y, a, C * weight), spans, every=every)
    return Judged.of(found, task.y, task.rows, a), evals


def coefficients_of(model: BaseEstimator, k: int, n: int) -> np.ndarray:
    """β of run k of a kernel machine, for all n training rows."""
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
    """The rows of a linear problem.

    Parameters
    ----------
    X : array or CSR matrix
    problem : Penalized
    w, b : ndarray of shape (n_features,) and float
    a : ndarray of shape (n,), optional
        Dual weights in units of w; not needed where the loss is curved, which they are the slope of.
    f : ndarray of shape (n,), optional
        Decision values, where they are known.
    every : bool
        Whether all rows are looked at, however many, and with more care.
    kept : Squares, optional
        Of the last problem on the same data, where some are to be looked at with as much care.
    """
    kept = Squares() if every and kept is None else kept
    f = problem.responses(w) + b if f is None else f
    bound = np.broadcast_to(problem.share() / problem.lam, (problem.n,))
    if a is None:
        a = np.maximum(0.0, 1.0 - problem.y * f) * bound / problem.loss.curvature
    constant = {"none": 0.0, "free": 1.0, "penalized": float(problem.bias_scale)}[problem.bias]
    penalty = np.ones(problem.d + 1)
    penalty[-1] = float(problem.bias == "penalized")
    if isinstance(problem, L1Regularized):  # what is zero stays zero, and nothing else is curved
        used = np.flatnonzero(w)
        X, penalty, kept = X[:, used], np.zeros(len(used) + 1), None
    rows = Features(X, constant, penalty)
    solved = Solved(f, problem.y, a, bound, problem.loss.curvature)
    found = left_out(solved, lambda asked: linear_spans(rows, asked, kept), every=every)
    return Judged.of(found, problem.y, None, a)
