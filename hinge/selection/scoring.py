"""Scores of the candidates of a search, and models whose decision values are known already."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer

from hinge.selection.training import Training
from hinge.types import Items

Scorer: TypeAlias = Callable[..., float]
"""Called with a fitted model, rows and their labels; a larger score is better."""

AT_MOST_ONE = (
    "accuracy",
    "balanced_accuracy",
    "top_k_accuracy",
    "f1",
    "precision",
    "recall",
    "jaccard",
    "roc_auc",
    "average_precision",
    "matthews_corrcoef",
    "r2",
    "explained_variance",
)
"""Names, or beginnings of names, of scores that are at most 1."""
NEVER_NEGATIVE = ("accuracy", "top_k_accuracy", "f1", "precision", "recall", "jaccard", "roc_auc", "average_precision")
"""Those of them that are at least 0."""


class Scoring(NamedTuple):
    """A score, and what it needs.

    Attributes
    ----------
    scorer : callable
    name : str
        Its name; "custom" for a function of the user's.
    values : bool
        Whether it needs decision values or predictions only, so that no fitted model is necessary.
    likely : bool
        Whether it needs probabilities.
    most, least : float
        Bounds on the score.
    weighs : bool
        Whether it takes sample weights.
    """

    scorer: Scorer
    name: str
    values: bool
    likely: bool
    most: float
    least: float
    weighs: bool

    def of(self, model: BaseEstimator, X: Items, y: np.ndarray, weight: np.ndarray | None) -> float:
        """The score of a model on some rows."""
        if weight is not None and self.weighs:
            return float(self.scorer(model, X, y, sample_weight=weight))
        return float(self.scorer(model, X, y))

    def marks(
        self, model: BaseEstimator, X: Items, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray, float] | None:
        """For the accuracy: 1 or 0 for each row, times its weight, and the divisor of their sum; else None.

        scikit-learn's own checks before counting take as long as a small fit.
        """
        if self.name != "accuracy":
            return None
        right = (model.predict(X) == y).astype(np.float64)
        return (right, float(len(y))) if weight is None else (right * weight, float(weight.sum()))


def scoring_of(scoring: str | Scorer | None, regression: bool) -> Scoring:
    """The `Scoring` of a name or function; None is the accuracy, or R² in regression.

    Parameters
    ----------
    scoring : str, callable or None
        A name that `sklearn.metrics.get_scorer` knows, a result of ``make_scorer``, or a function of a model, rows and
        labels.
    regression : bool
    """
    if scoring is None:
        scoring = "r2" if regression else "accuracy"
    if not (isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            f"scoring must be the name of one score, or a function of a model, X and y, got {scoring!r}: candidates "
            "are compared by one number."
        )
    name = scoring if isinstance(scoring, str) else "custom"
    scorer: Any = get_scorer(scoring)
    method = getattr(scorer, "_response_method", None)
    methods = (method,) if isinstance(method, str) else tuple(method or ())
    if regression and methods and "predict" not in methods:
        raise ValueError(f"scoring={name!r} is for classifiers, and this is a regression: take 'r2' or 'neg_...error'.")
    values = bool(methods) and methods[0] in ("predict", "decision_function")
    most, least = np.inf, -np.inf
    if name.startswith(AT_MOST_ONE):
        most = 1.0
        least = 0.0 if name.startswith(NEVER_NEGATIVE) else -np.inf
    elif name.startswith("neg_") and name != "neg_negative_likelihood_ratio":
        most = 0.0
    return Scoring(scorer, name, values, "predict_proba" in methods and not values, most, least, method is not None)


def with_values(model: BaseEstimator, data: Training, values: np.ndarray) -> Any:
    """A model with these decision values: one row for each row that it will predict.

    Parameters
    ----------
    model : estimator
        Determines how classes follow from decision values.
    data : Training
    values : ndarray of shape (n_rows, n_runs)
    """
    kind: Any = type(model)
    known = kind.__new__(kind)  # a shallow copy that skips scikit-learn's own copying
    known.__dict__.update(model.__dict__)
    known._scores = lambda X: values  # all its predictions are made from these
    if data.classes is not None:
        pairs = getattr(model, "multiclass", "ovr") == "ovo" and len(data.classes) > 2
        known.classes_ = data.classes
        known.dual_coef_ = np.empty((len(data.classes) - 1 if pairs else values.shape[1], 0))
        known.support_ = np.empty(0, np.int64)
    return known
