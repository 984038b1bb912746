"""Pipelines that end with a machine: what scikit-learn's `Pipeline` does not pass on to its last step.

Whatever takes a fitted machine and its rows takes a pipeline, too, by `unwrap`.
"""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hinge.access.arrays import on_host
from hinge.estimators.data.any_arrays import host_model
from hinge.types import Items

__all__ = ["calibrate", "conformalize", "coverage_score", "predict_interval", "predict_set"]

M = TypeVar("M", bound=BaseEstimator)


def unwrap(model: BaseEstimator, X: Items | None) -> tuple[Any, Any]:
    """The machine that a pipeline ends with, and the rows that its other steps make of X; any other model as it is."""
    while isinstance(model, Pipeline):
        check_is_fitted(model)
        if len(model) > 1 and X is not None:
            X = model[:-1].transform(X)
        model = model[-1]
    return model, X


def examined(model: BaseEstimator, X: Items | None) -> tuple[Any, Any]:
    """The same to read only, without a change of the machine: attributes and rows of other libraries as NumPy's."""
    machine, rows = unwrap(model, X)
    return host_model(machine), on_host(rows)


def prepared(model: BaseEstimator, X: Items, y: ArrayLike, *others: Items | None) -> tuple[Any, ...]:
    """The machine that a pipeline ends with, X and other rows, which copies of its other steps, fitted to X, transform.

    Any other model, and rows that are None, are returned as they are.
    """
    rows = [X, *others]
    while isinstance(model, Pipeline):
        if len(model) > 1:
            steps = clone(model[:-1]).fit(rows[0], y)
            rows = [None if part is None else steps.transform(part) for part in rows]
        model = model[-1]
    return model, *rows


def _method(machine: BaseEstimator, name: str) -> Any:
    if not hasattr(machine, name):
        kinds = {"predict_interval": "regressions", "conformalize": "machines for classes or targets"}
        kind, whose = kinds.get(name, "classifiers"), type(machine).__module__.partition(".")[0]
        raise TypeError(
            f"{whose}'s {type(machine).__name__} has no {name}, which is for hinge's {kind}, and pipelines of one."
        )
    return getattr(machine, name)


def calibrate(
    model: M, X: Items | None = None, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, **options: Any
) -> M:
    """Call `calibrate` of a classifier, or of the one that a pipeline ends with.

    Parameters
    ----------
    model : LinearSVC, SVC or NuSVC, or a Pipeline that ends with one
        Fitted.
    X, y, sample_weight
        The rows of the fit, or others with ``held_out=True``; of a pipeline, before its transformers. By default the
        rows to which the machine refers, in the process in which it was fitted.
    **options
        Those of `SVC.calibrate`.

    Returns
    -------
    model

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hinge import LinearSVC, calibrate
    >>> X, y = make_classification(200, random_state=0)
    >>> model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    >>> calibrate(model).predict_proba(X[:3]).shape
    (3, 2)
    """
    machine, rows = unwrap(model, X)
    _method(machine, "calibrate")(rows, y, sample_weight, **options)
    return model


def conformalize(
    model: M, X: Items | None = None, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, **options: Any
) -> M:
    """Call `conformalize` of a machine, or of the one that a pipeline ends with.

    Parameters
    ----------
    model : estimator of hinge, or a Pipeline that ends with one
        Fitted, for classes or targets.
    X, y, sample_weight
        The rows of the fit, or others with ``held_out=True``; of a pipeline, before its transformers. By default the
        rows to which the machine refers, in the process in which it was fitted.
    **options
        Those of `SVC.conformalize`.

    Returns
    -------
    model

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hinge import LinearSVR, conformalize, predict_interval
    >>> X, y = make_regression(200, noise=10.0, random_state=0)
    >>> model = make_pipeline(StandardScaler(), LinearSVR()).fit(X[:100], y[:100])
    >>> predict_interval(conformalize(model, X[100:], y[100:], held_out=True), X).shape
    (200, 2)
    """
    machine, rows = unwrap(model, X)
    _method(machine, "conformalize")(rows, y, sample_weight, **options)
    return model


def predict_set(model: BaseEstimator, X: Items, alpha: float = 0.1, class_conditional: bool = False) -> np.ndarray:
    """The classes that each row may have, by a classifier or the one that a pipeline ends with.

    Parameters
    ----------
    model : LinearSVC, SVC or NuSVC, or a Pipeline that ends with one
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
    alpha, class_conditional
        Those of `SVC.predict_set`.

    Returns
    -------
    ndarray of bool of shape (n_samples, n_classes)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hinge import SVC, predict_set
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    >>> predict_set(model, X, alpha=0.05).shape
    (150, 3)
    """
    machine, rows = unwrap(model, X)
    return _method(machine, "predict_set")(rows, alpha, class_conditional)


def predict_interval(model: BaseEstimator, X: Items, alpha: float = 0.1) -> np.ndarray:
    """The interval of each row's target, by a regression or the one that a pipeline ends with.

    Parameters
    ----------
    model : LinearSVR, SVR or NuSVR, or a Pipeline that ends with one
        Fitted.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
    alpha : float, default=0.1
        The share of rows whose target may be outside.

    Returns
    -------
    ndarray of shape (n_samples, 2)

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from hinge import SVR, predict_interval
    >>> X, y = make_regression(100, noise=10.0, random_state=0)
    >>> model = make_pipeline(StandardScaler(), SVR(C=100.0)).fit(X, y)
    >>> predict_interval(model, X[:3]).shape
    (3, 2)
    """
    machine, rows = unwrap(model, X)
    return _method(machine, "predict_interval")(rows, alpha)


def coverage_score(model: BaseEstimator, X: Items, y: ArrayLike, *, alpha: float = 0.1) -> float:
    """The share of rows whose class is in its prediction set, or whose target is in its interval.

    Parameters
    ----------
    model : estimator of hinge, or a Pipeline that ends with one
        Fitted, for classes or targets.
    X, y : rows that took no part in the fit, and their labels or targets
    alpha : float, default=0.1

    Returns
    -------
    float
        About 1 - α.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from hinge import LinearSVC, coverage_score
    >>> X, y = make_classification(1000, flip_y=0.2, random_state=0)
    >>> bool(abs(cross_val_score(LinearSVC(), X, y, scoring=coverage_score).mean() - 0.9) < 0.03)
    True
    """
    machine, rows = unwrap(model, X)
    return float(np.mean(covered(machine, rows, y, alpha)[0]))


def covered(machine: BaseEstimator, X: Items, y: ArrayLike, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row's label is in its set or interval, and the size of the set or the width of the interval."""
    labels = column_or_1d(y)
    if not hasattr(machine, "classes_"):
        low, high = _method(machine, "predict_interval")(X, alpha).T
        return (low <= labels) & (labels <= high), high - low
    sets = _method(machine, "predict_set")(X, alpha)
    return (sets & (machine.classes_ == labels[:, None])).any(axis=1), sets.sum(axis=1)
