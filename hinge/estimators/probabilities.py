"""Probabilities of classifiers, from the decision values that their training rows would have without them."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hinge.calibration.agreement import agreeing
from hinge.calibration.coupling import coupled
from hinge.calibration.sigmoid import Sigmoid, fit_sigmoid, probabilities
from hinge.estimators.leave_one_out import Judged
from hinge.types import Items

LEAST = np.finfo(np.float64).tiny
"""Logarithms are taken of no less."""


class Probabilities:
    """`predict_proba` for a classifier with decision values; its sigmoids are made by `calibrate`, or by `fit`."""

    classes_: np.ndarray
    probA_: np.ndarray
    probB_: np.ndarray
    probability: bool | Literal["deprecated"] = False
    _needed = "before calibrate(X, y) was called on the fitted model"
    """When there are none."""

    def _has_probabilities(self) -> bool:
        if hasattr(self, "probA_") or self.probability not in (False, "deprecated"):
            return True
        raise AttributeError(f"predict_proba is not available {self._needed}.")

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
        if not hasattr(self, "probA_"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: fit again, or call calibrate(X, y)."
            )
        scores = self._scores(X)
        each = [probabilities(f, Sigmoid(A, B)) for f, A, B in zip(scores.T, self.probA_, self.probB_, strict=True)]
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

    def calibrate(
        self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, held_out: bool = False
    ) -> Self:
        """Learn what probabilities the decision values mean, from the rows of the fit, without another fit.

        A sigmoid is fitted to the decision values that rows would have, had they been left out of the fit, which the
        solution itself tells: see `hinge.calibration.left_out`. Then there is `predict_proba`, until the next fit.
        Where there is a parameter ``probability``, ``fit`` does the same if it is True.

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

        Returns
        -------
        self
        """
        self._learn_sigmoids(X, y, sample_weight, held_out)
        return self

    # --- for estimators -------------------------------------------------------------------

    @property
    def _one_vs_one(self) -> bool:
        """Whether each class was learned against each other, rather than against the rest."""
        return False

    def _scores(self, X: Any) -> np.ndarray:
        """The decision value of every run for every row."""
        raise NotImplementedError

    def _codes_of(self, scores: np.ndarray) -> np.ndarray:
        """The number of the class that these decision values mean."""
        raise NotImplementedError

    def _learn_sigmoids(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, held_out: bool) -> None:
        """Check the rows and keep what they say, see `_keep_probabilities`."""
        raise NotImplementedError

    def _forget_probabilities(self) -> None:
        for name in ("probA_", "probB_"):
            self.__dict__.pop(name, None)

    def _keep_probabilities(self, judged: Sequence[Judged], codes: np.ndarray, weight: np.ndarray | None) -> None:
        """Fit a sigmoid for each run."""
        weight = np.ones(len(codes)) if weight is None else weight
        counts = np.bincount(codes[weight > 0], minlength=len(self.classes_))
        if (counts == 1).any():
            label = self.classes_.tolist()[int(np.argmax(counts == 1))]
            warnings.warn(
                f"Class {label!r} has one row, without which nothing is left to learn it from: its probabilities are "
                "guesses. Give two rows of each class or more.",
                UserWarning,
                stacklevel=4,
            )
        found = [fit_sigmoid(one.f, one.positive, one.stands_for * weight[one.rows]) for one in judged]
        self.probA_, self.probB_ = np.array([s.A for s in found]), np.array([s.B for s in found])
