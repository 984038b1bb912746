"""Fits along a path of C: separate ones, and the C from which on the solution no longer changes."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import _safe_split

from hinge.estimators import LinearSVC
from hinge.estimators.fitting.reports import ConstantPredictionWarning
from hinge.monitoring import Status
from hinge.monitoring.clock import now
from hinge.selection.scoring import SearchData, Tunable

T = TypeVar("T")

FULL = 1e-9
"""A dual weight within this relative distance of its bound counts as at it, whatever rounding does."""


def until_settled(
    Cs: Sequence[float],
    solved: Callable[[float, T | None], T | None],
    holds_back: Callable[[T, float], bool],
    as_for: Callable[[T, float], T],
) -> Iterator[T]:
    """The answer for each C, one after the other; a single answer serves all C from some point on.

    Dual weights below all bounds are feasible for every larger C, with the same dual objective, and the primal
    objective of a given w grows with C. So if the answer for the largest C is feasible for smaller ones, its relative
    gap for these is at most the one certified for the largest, and it is an answer for all of them. It is computed as
    soon as no dual weight is at its bound, since from there on the optimum usually does not change.

    Parameters
    ----------
    Cs : sequence of float
        In ascending order.
    solved : callable
        Returns the answer for C, started from an earlier answer; None if time is up, which ends the path.
    holds_back : callable
        Whether a dual weight of the answer is at or above the bound for C.
    as_for : callable
        Converts the answer to another C.
    """
    last: T | None = None
    top: T | None = None
    for j, C in enumerate(Cs):
        if top is not None and (j + 1 == len(Cs) or not holds_back(top, C)):
            yield as_for(top, C)
            continue
        last = solved(C, last)
        if last is None:
            return
        yield last
        if top is None and j + 2 < len(Cs) and not holds_back(last, C):
            top = solved(Cs[-1], last)
            if top is None:
                return


class Refits:
    """Fits of any estimator along a path of C, on copies of rows.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, SVC or SVR
    data : SearchData
    gamma : float, optional
        In place of the model's own.
    likely : bool
        Whether probabilities are needed.
    """

    def __init__(self, model: Tunable, data: SearchData, gamma: float | None, likely: bool = False) -> None:
        self.model = model if gamma is None else clone(model).set_params(gamma=gamma)
        self.data, self.likely = data, likely

    def along(
        self, train: np.ndarray, test: np.ndarray, Cs: Sequence[float], tol: float, ends: float | None
    ) -> Iterator[Any]:
        """For each C a model of the rows `train`; fewer if time is up. Parameters as for `LinearPath.along`."""
        data = self.data
        X, y = _safe_split(self.model, data.X, data.y, train)
        weight = None if data.weight is None else data.weight[train]
        for C in Cs:
            left = None if ends is None else ends - now()
            if left is not None and left <= 0:
                return
            model = clone(self.model).set_params(C=C, tol=max(tol, self.model.tol), max_time=left)
            if self.likely and hasattr(model, "probability"):
                model.set_params(probability=True) if "probability" in model.get_params() else None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the search itself warns of its time limit
                warnings.simplefilter("ignore", ConstantPredictionWarning)  # some C of a grid are too small
                model.fit(X, y, sample_weight=weight)
                if self.likely and isinstance(model, LinearSVC):
                    model.calibrate(X, y, weight)
            if model.stop_reason_ == Status.MAX_TIME.name.lower():
                return
            yield model
