"""Separate fits of an estimator: for scores that need a model, and for data that cannot be shared."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import _safe_split

from hinge.estimators import LinearSVC
from hinge.estimators.fitting.reports import ConstantPredictionWarning
from hinge.monitoring import Status
from hinge.monitoring.clock import now
from hinge.selection.training import Training, Tunable


class Refits:
    """Fits of any estimator along a path of C, on copies of rows.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, SVC or SVR
    data : Training
    gamma : float, optional
        In place of the model's own.
    likely : bool
        Whether probabilities are needed.
    """

    def __init__(self, model: Tunable, data: Training, gamma: float | None, likely: bool = False) -> None:
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
