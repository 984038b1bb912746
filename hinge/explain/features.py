"""The features of a linear machine, by how much the decision value moves with them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_array, check_is_fitted

from hinge.estimators.one_vs_one import class_pairs
from hinge.types import MatrixLike


class FeatureTable(NamedTuple):
    """A line for each weight, those that move the decision value most first.

    Attributes
    ----------
    feature : ndarray of str
        The feature's name.
    of : ndarray of str
        Whose decision value it is: the class that is told from the rest, or two classes, where there are several;
        else the class, or nothing, that a larger value speaks for.
    weight : ndarray of float
        As in ``coef_``.
    spread : ndarray of float
        The feature's standard deviation over the rows.
    effect : ndarray of float
        Their product: how far the decision value moves where the feature moves by its spread. Unlike weights, these
        can be compared: they stay what they are in other units of measurement.
    share : ndarray of float
        |effect| over the sum of all of the same decision value.

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
    """The weights of a linear machine in units of the features' spread.

    Parameters
    ----------
    model : estimator
        Fitted, with ``coef_``: `LinearSVC`, `LinearSVR`, or a kernel machine with ``kernel="linear"``.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to take the spread from, such as those of the fit.
    names : sequence of str, optional
        The features' names; by default those that the model was fitted with, else x0, x1, ...
    top : int, optional
        Only so many lines.

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
    try:
        coef: Any = model.coef_
    except AttributeError as error:
        raise ValueError(
            f"This {type(model).__name__} has no weights of features, since its kernel is not linear: use "
            "sklearn.inspection.permutation_importance."
        ) from error
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef))
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(coef.shape[1])])
    if len(names) != coef.shape[1]:
        raise ValueError(f"There are {len(names)} names and {coef.shape[1]} features: give one each.")
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}.")
    rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if rows.shape[1] != coef.shape[1]:
        raise ValueError(f"X has {rows.shape[1]} features, and the model was fitted to {coef.shape[1]}.")
    spread = np.sqrt(mean_variance_axis(rows, axis=0)[1]) if sp.issparse(rows) else rows.std(axis=0, dtype=np.float64)
    effect = coef * spread
    size = np.abs(effect)
    share = size / np.maximum(size.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    order = np.argsort(-size, axis=None, kind="stable")[:top]
    run, feature = np.unravel_index(order, size.shape)
    return FeatureTable(
        np.array([str(name) for name in names])[feature],
        np.array(runs_of(model, len(coef)))[run],
        coef[run, feature].astype(np.float64),
        spread[feature].astype(np.float64),
        effect[run, feature],
        share[run, feature],
    )


def runs_of(model: BaseEstimator, n_runs: int) -> list[str]:
    """What a positive value of each decision function speaks for."""
    classes = [str(label) for label in getattr(model, "classes_", [])]
    if n_runs == 1:
        return classes[1:2] or [""]
    if len(classes) > 2 and getattr(model, "_one_vs_one", False):
        return [f"{classes[i]} against {classes[j]}" for i, j in class_pairs(len(classes))]
    return classes
