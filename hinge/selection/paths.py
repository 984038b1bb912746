"""Fits along a path of C: those that share data, and separate ones."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import _safe_split

from hinge.estimators import LinearSVC
from hinge.estimators.fitting.reports import ConstantPredictionWarning
from hinge.monitoring import Status
from hinge.monitoring.interrupts import now
from hinge.selection.scoring import SearchData, Tunable, with_values
from hinge.selection.without_rows import Fitted

T = TypeVar("T")

Fold: TypeAlias = tuple[np.ndarray, np.ndarray]
"""The rows to learn from, and those held out."""


class SharedPath(ABC, Generic[T]):
    """Fits of one estimator along C that share their data; a run is one of its binary problems, or its regression."""

    model: Any
    data: SearchData
    joint: bool = False
    """Whether folds are members of one batch, solved together."""

    def groups(self, folds: Sequence[int], threads: int) -> list[list[int]]:
        """The folds that are fitted together: all that one thread has, if they are one batch."""
        parts = min(threads, len(folds)) if self.joint else len(folds)
        return [part.tolist() for part in np.array_split(np.asarray(folds, np.intp), max(1, parts)) if len(part)]

    def along(self, folds: Sequence[Fold], Cs: Sequence[float], tol: float, ends: float | None) -> Iterator[list[Any]]:
        """For each C a model of each fold's training rows, with decision values on the others; fewer if time is up.

        Parameters
        ----------
        folds : sequence of (train, test)
        Cs : sequence of float
            In ascending order.
        tol : float
            Certified relative gap of each fit.
        ends : float, optional
            When to stop, by `now`.
        """
        for runs in self._solved([train for train, _ in folds], Cs, tol, ends):
            each = zip(np.split(np.arange(len(runs)), len(folds)), folds, strict=True)
            yield [self._model_of([self._values(runs[j], test) for j in own]) for own, (_, test) in each]

    def without(self, Cs: Sequence[float], tol: float, ends: float | None) -> Iterator[Fitted]:
        """For each C a model of all rows, with a function that returns its leave-one-out decision values."""
        for runs in self._solved([None], Cs, tol, ends):
            values = [self._values(run, None) for run in runs]
            yield Fitted(self._model_of(values), partial(self._without, runs, values))

    def _without(self, runs: Sequence[T], values: Sequence[np.ndarray]) -> Any:
        return self._model_of([self._left_out(k, run, f) for k, (run, f) in enumerate(zip(runs, values, strict=True))])

    def _model_of(self, values: Sequence[np.ndarray]) -> Any:
        return with_values(self.model, self.data, np.stack(values, axis=1))

    @abstractmethod
    def _solved(
        self, trains: Sequence[np.ndarray | None], Cs: Sequence[float], tol: float, ends: float | None
    ) -> Iterator[Sequence[T]]:
        """The runs of each C on the first of `trains`, all rows if it is None, then on the others; until time is up."""

    @abstractmethod
    def _values(self, run: T, rows: np.ndarray | None) -> np.ndarray:
        """Decision values of some rows, of all if None."""

    @abstractmethod
    def _left_out(self, k: int, run: T, f: np.ndarray) -> np.ndarray:
        """Leave-one-out decision values of all rows by run k, whose own values are f."""


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

    def along(self, folds: Sequence[Fold], Cs: Sequence[float], tol: float, ends: float | None) -> Iterator[list[Any]]:
        """For each C a model of the training rows of the one fold; fewer if time is up. See `SharedPath.along`."""
        data, ((train, _),) = self.data, folds
        X, y = _safe_split(self.model, data.X, data.y, train)
        weight = None if data.weight is None else data.weight[train]
        for C in Cs:
            left = None if ends is None else ends - now()
            if left is not None and left <= 0:
                return
            model = clone(self.model).set_params(C=C, tol=max(tol, self.model.tol), max_time=left)
            if self.likely and "probability" in model.get_params():
                model.set_params(probability=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # the search itself warns of its time limit
                warnings.simplefilter("ignore", ConstantPredictionWarning)  # some C of a grid are too small
                model.fit(X, y, sample_weight=weight)
                if self.likely and isinstance(model, LinearSVC):
                    model.calibrate(X, y, weight)
            if model.stop_reason_ == Status.MAX_TIME.name.lower():
                return
            yield [model]
