"""What the candidates of a search are judged by, and models whose decision values are known already."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer

from hinge.selection.training import Training
from hinge.types import Items

Scorer: TypeAlias = Callable[..., float]
"""Called with a fitted model, rows and their labels: the larger, the better."""

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
"""Scores that end at 1, or begin with such a name."""
NEVER_NEGATIVE = ("accuracy", "top_k_accuracy", "f1", "precision", "recall", "jaccard", "roc_auc", "average_precision")
"""Those of them that end at 0 below."""


class Scoring(NamedTuple):
    """How a candidate is judged.

    Attributes
    ----------
    scorer : callable
    name : str
        What it is called; "custom" where it is a function of one's own.
    values : bool
        Whether decision values, or predictions, are all that it asks for: then no model need be made.
    likely : bool
        Whether it asks for probabilities.
    most, least : float
        No score is above or below.
    weighs : bool
        Whether it takes the weights of rows.
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
        """The marks of rows, and what their sum is divided by, where the score is a mean: the accuracy.

        scikit-learn's own checks before it counts take as long as a small fit.
        """
        if self.name != "accuracy":
            return None
        right = (model.predict(X) == y).astype(np.float64)
        return (right, float(len(y))) if weight is None else (right * weight, float(weight.sum()))


def scoring_of(scoring: str | Scorer | None, regression: bool) -> Scoring:
    """What `scoring` asks for; None is the accuracy, or R² of a regression.

    Parameters
    ----------
    scoring : str, callable or None
        A name that `sklearn.metrics.get_scorer` knows, what ``make_scorer`` made, or a function of a model, rows and
        labels.
    regression : bool
    """
    if scoring is None:
        scoring = "r2" if regression else "accuracy"
    if not (isinstance(scoring, str) or callable(scoring)):
        raise ValueError(
            f"scoring must be the name of one score, or a function of a model, X and y, got {scoring!r}: a choice is "
            "made by one number."
        )
    name = scoring if isinstance(scoring, str) else "custom"
    scorer: Any = get_scorer(scoring)
    method = getattr(scorer, "_response_method", None)
    methods = (method,) if isinstance(method, str) else tuple(method or ())
    if regression and methods and "predict" not in methods:
        raise ValueError(f"scoring={name!r} is of classifiers, and this is a regression: take 'r2' or 'neg_...error'.")
    values = bool(methods) and methods[0] in ("predict", "decision_function")
    most, least = np.inf, -np.inf
    if name.startswith(AT_MOST_ONE):
        most = 1.0
        least = 0.0 if name.startswith(NEVER_NEGATIVE) else -np.inf
    elif name.startswith("neg_") and name != "neg_negative_likelihood_ratio":
        most = 0.0
    return Scoring(scorer, name, values, "predict_proba" in methods and not values, most, least, method is not None)


def with_values(model: BaseEstimator, data: Training, values: np.ndarray) -> Any:
    """A model whose decision values are these, one row for each row that it will be asked of.

    Parameters
    ----------
    model : estimator
        Says how classes follow from decision values.
    data : Training
    values : ndarray of shape (n_rows, n_runs)
    """
    kind: Any = type(model)
    known = kind.__new__(kind)  # a copy, but for what scikit-learn asks when it copies
    known.__dict__.update(model.__dict__)
    known._scores = lambda X: values  # what all its predictions are made of
    if data.classes is not None:
        pairs = getattr(model, "multiclass", "ovr") == "ovo" and len(data.classes) > 2
        known.classes_ = data.classes
        known.dual_coef_ = np.empty((len(data.classes) - 1 if pairs else values.shape[1], 0))
        known.support_ = np.empty(0, np.int64)
    return known
