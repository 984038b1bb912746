"""Models and pipelines that need scikit-learn only."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def to_sklearn(model: BaseEstimator) -> Any:
    """The fitted model with scikit-learn's estimator in place of ours.

    Parameters
    ----------
    model : estimator of hinge, or a Pipeline that ends with one
        A fitted one; of scikit-learn's searches, the model that was chosen.

    Returns
    -------
    estimator of sklearn.svm, or Pipeline
        See `hinge.SVC.to_sklearn`. The other steps of a pipeline are the same objects.

    Examples
    --------
    >>> from hinge import SVC
    >>> from hinge.export import to_sklearn
    >>> model = SVC().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    >>> plain = to_sklearn(model)
    >>> type(plain).__module__, plain.predict([[0.9, 0.8]])
    ('sklearn.svm._classes', array([1]))
    """
    check_is_fitted(model)
    if not hasattr(model, "to_sklearn"):
        model = getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return Pipeline([*model.steps[:-1], (name, to_sklearn(last))])
    if not hasattr(model, "to_sklearn"):
        raise TypeError(
            f"A fitted estimator of hinge is needed, or a Pipeline that ends with one, not a {type(model).__name__}."
        )
    return model.to_sklearn()
