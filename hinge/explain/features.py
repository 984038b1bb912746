"""The features of a linear model, by their effect on the decision value."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array, check_is_fitted

from hinge.constraints import count
from hinge.estimators.fitting.tasks import class_pairs
from hinge.types import MatrixLike


class FeatureTable(NamedTuple):
    """One line for each weight, sorted by the size of its effect, largest first.

    Attributes
    ----------
    feature : ndarray of str
        The feature's name.
    of : ndarray of str
        The decision function that the weight belongs to: "a" for class a against the rest, or "a against b", if there
        are several; else the positive class, or nothing in regression.
    weight : ndarray of float
        As in ``coef_``.
    spread : ndarray of float
        The feature's standard deviation over the rows.
    effect : ndarray of float
        Weight times spread: the change of the decision value when the feature changes by its standard deviation.
        Unlike weights, effects can be compared: they do not depend on the units of the features.
    share : ndarray of float
        |effect| divided by the sum over all features of the same decision function.

    Examples
    --------
    >>> from hinge import LinearSVC
    >>> from hinge.explain import feature_table
    >>> X, y = [[0.0, 900.0], [1.0, 100.0], [2.0, 500.0], [3.0, 400.0]], ["no", "no", "yes", "yes"]
    >>> model = LinearSVC().fit(X, y)
    >>> table = feature_table(model, X, names=["age", "pay"])
    >>> table.feature.tolist(), bool(abs(table.share.sum() - 1) < 1e-9)
    (['age', 'pay'], True)
    """

    feature: np.ndarray
    of: np.ndarray
    weight: np.ndarray
    spread: np.ndarray
    effect: np.ndarray
    share: np.ndarray


def feature_table(
    model: BaseEstimator, X: MatrixLike, *, names: Sequence[str] | None = None, top: int | None = None
) -> FeatureTable:
    """The weights of a linear model, with the features' standard deviations and effects.

    Parameters
    ----------
    model : estimator
        Fitted, with ``coef_``: `LinearSVC`, `LinearSVR`, or a kernel machine with ``kernel="linear"``; or a pipeline
        that ends with one, whose features are those that its transformers make.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows from which the standard deviations are computed, such as the training rows; of a pipeline, before its
        transformers.
    names : sequence of str, optional
        The features' names; by default the names seen in the fit or made by the transformers, else x0, x1, ...
    top : int, optional
        Number of lines, if not all.

    Returns
    -------
    FeatureTable

    Examples
    --------
    >>> from hinge import LinearSVC
    >>> from hinge.explain import feature_table
    >>> X, y = [[0.0, 900.0], [1.0, 100.0], [2.0, 500.0], [3.0, 400.0]], ["no", "no", "yes", "yes"]
    >>> table = feature_table(LinearSVC().fit(X, y), X, names=["rooms", "rent"])
    >>> table.of.tolist(), sorted(table.feature.tolist())
    (['yes', 'yes'], ['rent', 'rooms'])
    """
    check_is_fitted(model)
    if isinstance(model, Pipeline):
        if len(model) > 1:
            X, names = model[:-1].transform(X), names_made(model[:-1]) if names is None else names
        return feature_table(model[-1], X, names=names, top=top)
    try:
        coef: Any = model.coef_
    except AttributeError as error:
        why = "" if getattr(model, "kernel", "linear") == "linear" else ", since its kernel is not linear"
        raise ValueError(
            f"This {type(model).__name__} has no weights of features (coef_){why}: give a fitted linear machine, or "
            "use sklearn.inspection.permutation_importance instead."
        ) from error
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef))
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(coef.shape[1])])
    if len(names) != coef.shape[1]:
        raise ValueError(f"There are {len(names)} names and {coef.shape[1]} features: give one each.")
    rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if rows.shape[1] != coef.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, and the model was fitted to {coef.shape[1]}.")
    spread = np.sqrt(mean_variance_axis(rows, axis=0)[1]) if sp.issparse(rows) else rows.std(axis=0, dtype=np.float64)
    effect = coef * spread
    size = np.abs(effect)
    share = size / np.maximum(size.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    order = np.argsort(-size, axis=None, kind="stable")[: checked_top(top)]
    run, feature = np.unravel_index(order, size.shape)
    return FeatureTable(
        np.array([str(name) for name in names])[feature],
        np.array(runs_of(model, len(coef)))[run],
        coef[run, feature].astype(np.float64),
        spread[feature].astype(np.float64),
        effect[run, feature],
        share[run, feature],
    )


def names_made(transformers: Pipeline) -> Sequence[str] | None:
    """The names of the features that transformers make; None if one of them gives no names."""
    try:
        return transformers.get_feature_names_out()
    except (AttributeError, NotFittedError):
        return None


def checked_top(top: int | None) -> int | None:
    """The number of lines wanted, or an error if it is not positive."""
    (count() | None).check("top", top)
    return top


def runs_of(model: BaseEstimator, n_runs: int) -> list[str]:
    """The class, or pair of classes, that each decision function is positive for."""
    classes = [str(label) for label in getattr(model, "classes_", [])]
    if n_runs == 1:
        return classes[1:2] or [""]
    if len(classes) > 2 and getattr(model, "_one_vs_one", False):
        return [f"{classes[i]} against {classes[j]}" for i, j in class_pairs(len(classes))]
    return classes
