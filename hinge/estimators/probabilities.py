"""Probabilities of classifiers, from the decision values that their training rows would have without them."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hinge.calibration.agreement import agreeing
from hinge.calibration.coupling import coupled
from hinge.calibration.isotonic import Isotonic, fit_isotonic, isotonic_probabilities
from hinge.calibration.sigmoid import Sigmoid, fit_sigmoid, probabilities
from hinge.calibration.venn_abers import VennAbers, fit_venn_abers, interval, merged
from hinge.estimators.kernel_tasks import tasks_of
from hinge.estimators.leave_one_out import Judged, as_they_are, only_row, warn_of_one_row
from hinge.types import Items

LEAST = np.finfo(np.float64).tiny
"""Logarithms are taken of no less."""
METHODS = ("sigmoid", "isotonic", "venn_abers")
LEARNED = ("probA_", "probB_", "_step_cuts", "_step_scores", "_step_values")
"""What a calibration leaves: two numbers for each run, or a step function for each, one after the other."""


class Probabilities:
    """`predict_proba` for a classifier with decision values; what they mean is learned by `calibrate`, or by `fit`."""

    classes_: np.ndarray
    probA_: np.ndarray
    probB_: np.ndarray
    _step_cuts: np.ndarray
    _step_scores: np.ndarray
    _step_values: np.ndarray
    probability: bool | Literal["deprecated"] = False
    _needed = "before calibrate(X, y) was called on the fitted model"
    """When there are none."""

    @property
    def _is_calibrated(self) -> bool:
        return hasattr(self, "probA_") or hasattr(self, "_step_values")

    def _has_probabilities(self) -> bool:
        if self._is_calibrated or self.probability not in (False, "deprecated"):
            return True
        raise AttributeError(f"predict_proba is not available {self._needed}.")

    def _has_intervals(self) -> bool:
        if hasattr(self, "_step_values") and self._step_values.ndim == 2:
            if not self._one_vs_one:
                return True
            raise AttributeError(
                "This machine tells class pairs apart, and their intervals say nothing of one class: fit it with "
                "multiclass='ovr', each class against the rest, or LinearSVC."
            )
        raise AttributeError("predict_proba_interval is not available before calibrate(X, y, method='venn_abers').")

    @available_if(_has_probabilities)
    def predict_proba(self, X: Items) -> np.ndarray:
        """The probability of each class; the largest is always that of the class which `predict` gives.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "classes_")
        if not self._is_calibrated:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: fit again, or call calibrate(X, y)."
            )
        scores = self._scores(X)
        if hasattr(self, "probA_"):
            each = [probabilities(f, Sigmoid(A, B)) for f, A, B in zip(scores.T, self.probA_, self.probB_, strict=True)]
        elif self._step_values.ndim == 1:
            each = [isotonic_probabilities(f, Isotonic(*part)) for f, part in self._steps(scores)]
        else:
            each = [merged(*interval(f, VennAbers(knots, *ends.T))) for f, (knots, ends) in self._steps(scores)]
        n_classes = len(self.classes_)
        p = np.stack(each, axis=1)
        if n_classes == 2:
            p = np.concatenate([1.0 - p, p], axis=1)
        elif self._one_vs_one:
            p = coupled(p, n_classes)
        else:
            p = np.maximum(p, LEAST)
            p /= p.sum(axis=1, keepdims=True)
        return agreeing(p, self._codes_of(scores))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Items) -> np.ndarray:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.log(np.maximum(self.predict_proba(X), LEAST))

    @available_if(_has_intervals)
    def predict_proba_interval(self, X: Items) -> tuple[np.ndarray, np.ndarray]:
        """Two probabilities of each class, of which one is calibrated: Venn-Abers prediction.

        They are far apart where few calibration rows are near. Those of several classes are of each against the rest.
        `predict_proba` lies between the two of two classes, unless it had to be brought in line with `predict`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        lower, upper : ndarray of shape (n_samples, n_classes)
        """
        ends = [interval(f, VennAbers(knots, *both.T)) for f, (knots, both) in self._steps(self._scores(X))]
        lower, upper = (np.stack(part, axis=1) for part in zip(*ends, strict=True))
        if len(self.classes_) == 2:
            lower, upper = np.concatenate([1.0 - upper, lower], axis=1), np.concatenate([1.0 - lower, upper], axis=1)
        return lower, upper

    def calibrate(
        self,
        X: Items,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        held_out: bool = False,
        method: Literal["sigmoid", "isotonic", "venn_abers"] = "sigmoid",
    ) -> Self:
        """Learn what probabilities the decision values mean, from the rows of the fit, without another fit.

        A sigmoid, or what `method` says, is fitted to the decision values that rows would have, had they been left out
        of the fit, which the solution itself tells: see `hinge.calibration.left_out`. Then there is `predict_proba`,
        until the next fit. Where there is a parameter ``probability``, ``fit`` does the same if it is True.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
            The rows of the fit.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights in the fit.
        held_out : bool, default=False
            Whether X and y are rows that took no part in the fit, whose decision values are taken as they are.
        method : {"sigmoid", "isotonic", "venn_abers"}, default="sigmoid"
            Platt's sigmoid, of two numbers; any function that does not fall, for a thousand rows or more, which is
            better where classes are not alike in shape; or two of these, for `predict_proba_interval`.

        Returns
        -------
        self
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
        X, labels, codes, weight = self._rows_to_judge(X, y, sample_weight, held_out)
        judged = self._held_out(X, codes) if held_out else self._left_out(X, labels, codes, weight)
        self._keep_probabilities(judged, codes, weight, method)
        return self

    # --- for estimators -------------------------------------------------------------------

    @property
    def _one_vs_one(self) -> bool:
        """Whether each class was learned against each other, rather than against the rest."""
        return False

    def _scores(self, X: Items) -> np.ndarray:
        """The decision value of every run for every row."""
        raise NotImplementedError

    def _codes_of(self, scores: np.ndarray) -> np.ndarray:
        """The number of the class that these decision values mean."""
        raise NotImplementedError

    def _rows_to_judge(
        self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None, held_out: bool
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
        """Checked rows, their labels, the numbers of their classes, and their weights."""
        raise NotImplementedError

    def _left_out(self, X: Items, y: np.ndarray, codes: np.ndarray, weight: np.ndarray | None) -> list[Judged]:
        """The decision values of the rows of the fit without them, for each run."""
        raise NotImplementedError

    def _held_out(self, X: Items, codes: np.ndarray) -> list[Judged]:
        """Those of rows that took no part in it."""
        tasks = tasks_of(codes, len(self.classes_), None, None, None, one_vs_one=self._one_vs_one)
        scores = self._scores(X).T
        return [
            as_they_are(task, f if task.rows is None else f[task.rows]) for task, f in zip(tasks, scores, strict=True)
        ]

    def _steps(self, scores: np.ndarray) -> list[tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]]:
        """The decision values of each run, with the scores and values of its step function."""
        cuts = self._step_cuts[1:-1]
        knots, values = np.split(self._step_scores, cuts), np.split(self._step_values, cuts)
        return list(zip(scores.T, zip(knots, values, strict=True), strict=True))

    def _forget_probabilities(self) -> None:
        for name in LEARNED:
            self.__dict__.pop(name, None)

    def _keep_probabilities(
        self, judged: Sequence[Judged], codes: np.ndarray, weight: np.ndarray | None, method: str = "sigmoid"
    ) -> None:
        """Fit a function for each run."""
        weight = np.ones(len(codes)) if weight is None else weight
        alone = only_row(codes, self.classes_, weight)
        if alone is not None:
            warn_of_one_row(alone, "its probabilities are guesses", 1)
        self._forget_probabilities()
        given = [(one.f, one.positive, one.stands_for * weight[one.rows]) for one in judged]
        if method == "sigmoid":
            sigmoids = [fit_sigmoid(*one) for one in given]
            self.probA_, self.probB_ = np.array([s.A for s in sigmoids]), np.array([s.B for s in sigmoids])
            return
        if method == "isotonic":
            steps = [tuple(fit_isotonic(*one)) for one in given]
        else:
            steps = [(found.f, np.stack(found[1:], axis=1)) for found in (fit_venn_abers(*one) for one in given)]
        self._step_cuts = np.cumsum([0, *(len(f) for f, _ in steps)])
        self._step_scores = np.concatenate([f for f, _ in steps])
        self._step_values = np.concatenate([values for _, values in steps])
