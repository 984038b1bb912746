"""Tables that explain a fitted model: its features by their effect, and the training rows of a classifier.

A row has a dual weight, a margin, and leave-one-out values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted

from hinge.calibration.sigmoid import fit_sigmoid, probabilities
from hinge.column_table import ColumnTable
from hinge.constraints import count
from hinge.estimators.fitting.tasks import class_pairs
from hinge.estimators.mixins.fitted_rows import FittedRows
from hinge.estimators.pipelines import examined
from hinge.prediction import spreads
from hinge.problems.svm.idle_rows import idle_margins
from hinge.types import Items, MatrixLike

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "ColumnTable",
    "FeatureTable",
    "RemovableTable",
    "RowTable",
    "feature_table",
    "frame",
    "influential_rows",
    "margin_rows",
    "removable_rows",
    "row_table",
    "suspicious_rows",
]


@dataclass(frozen=True, eq=False, repr=False)
class FeatureTable(ColumnTable):
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
    if isinstance(model, Pipeline) and len(model) > 1 and names is None:
        names = names_made(model[:-1])
    model, X = examined(model, X)
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
    spread = spreads(rows)
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


@dataclass(frozen=True, eq=False, repr=False)
class RowTable(ColumnTable):
    """One line for each training row.

    Decision values are multiplied by the label, so that they are positive on the right side. If there are several
    decision functions that involve the row's class, the line has the one with the smallest leave-one-out value.

    Attributes
    ----------
    row : ndarray of int
        Its index among the rows of the fit.
    label : ndarray
        Its class, as it was given.
    of : ndarray of str
        The decision function, see `FeatureTable`.
    dual : ndarray of float
        Its dual weight, the coefficient of the row in w. Zero for rows that are not support vectors.
    margin : ndarray of float
        Label times decision value: no loss from 1 on, misclassified below 0.
    without : ndarray of float
        The same after training without the row, by `hinge.calibration.left_out`.
    influence : ndarray of float
        The part of the margin that is due to the row's own presence: ``margin - without``, never negative.
    p_label : ndarray of float
        The probability of its label after training without it.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hinge import LinearSVC
    >>> from hinge.explain import row_table
    >>> X, y = make_blobs(60, centers=2, random_state=1)
    >>> y[0] = 1 - y[0]  # a wrong label
    >>> model = LinearSVC(C=0.1).fit(X, y)
    >>> list(row_table(model, X, y).columns)
    ['row', 'label', 'of', 'dual', 'margin', 'without', 'influence', 'p_label']
    """

    row: np.ndarray
    label: np.ndarray
    of: np.ndarray
    dual: np.ndarray
    margin: np.ndarray
    without: np.ndarray
    influence: np.ndarray
    p_label: np.ndarray


def row_table(model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None) -> RowTable:
    """The table of all training rows with a positive sample weight, in their order.

    Parameters
    ----------
    model : LinearSVC, SVC or NuSVC, or a Pipeline that ends with one
        Fitted.
    X, y, sample_weight
        The rows of the fit, their labels, and their sample weights; of a pipeline, before its transformers.

    Returns
    -------
    RowTable

    Notes
    -----
    As costly as `calibrate` for all rows; nothing is fitted.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hinge import LinearSVC
    >>> from hinge.explain import row_table
    >>> X, y = make_blobs(60, centers=2, random_state=1)
    >>> y[0] = 1 - y[0]  # a wrong label
    >>> model = LinearSVC(C=0.1).fit(X, y)
    >>> table = row_table(model, X, y)
    >>> len(table.row), bool(table.p_label.argmin() == 0)
    (60, True)
    """
    check_is_fitted(model)
    model, X = examined(model, X)
    if not hasattr(model, "_left_out"):
        raise TypeError(f"Tables of rows are for LinearSVC, SVC and NuSVC, not for a {type(model).__name__}.")
    rows, _, codes, weight = checked = model._rows_to_judge(FittedRows(X, y, sample_weight), False)
    weight = np.ones(len(codes)) if weight is None else weight
    scores = model._scores_of(rows)
    judged = model._left_out(checked, scores, every=True)
    n_classes = len(model.classes_)
    pairs = class_pairs(n_classes) if model._one_vs_one else None
    of, dual = np.full(len(codes), "", dtype=object), np.zeros(len(codes))
    best = dual, *(np.full(len(codes), np.inf) for _ in range(4))
    for k, (one, name) in enumerate(zip(judged, runs_of(model, len(judged)), strict=True)):
        sign = np.where(one.positive, 1.0, -1.0)
        # One against the rest: only the function of the row's own class. Pairs, or two classes: all that involve it.
        own = np.full(len(one.rows), True) if pairs is not None or n_classes == 2 else one.positive
        own &= (weight[one.rows] > 0.0) & (sign * one.f < best[2][one.rows])
        p = probabilities(one.f, fit_sigmoid(one.f, one.positive, one.stands_for * weight[one.rows]))
        margin = sign * scores[one.rows, k]
        lost = np.where(one.dual > 0.0, np.maximum(margin - sign * one.f, 0.0), 0.0)  # negative by rounding only
        found = (one.dual, margin, margin - lost, lost, np.where(one.positive, p, 1.0 - p))
        of[one.rows[own]] = name
        for column, values in zip(best, found, strict=True):
            column[one.rows[own]] = values[own]
    table = RowTable(np.arange(len(codes)), model.classes_[codes], of.astype(str), *best)
    return table[np.isfinite(table.without)]


def influential_rows(
    model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, top: int | None = None
) -> RowTable:
    """The rows whose decision value would change most if they were left out of the fit, largest change first.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hinge import LinearSVC
    >>> from hinge.explain import influential_rows
    >>> X, y = make_blobs(60, centers=2, random_state=1)
    >>> y[0] = 1 - y[0]  # a wrong label
    >>> model = LinearSVC(C=0.1).fit(X, y)
    >>> influential_rows(model, X, y, top=1).row.tolist()
    [0]
    """
    table = row_table(model, X, y, sample_weight)
    return table[np.argsort(-table.influence, kind="stable")[: checked_top(top)]]


def margin_rows(
    model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, top: int | None = None
) -> RowTable:
    """The support vectors, those nearest to the margin first.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hinge import LinearSVC
    >>> from hinge.explain import margin_rows
    >>> X, y = make_blobs(60, centers=2, random_state=1)
    >>> y[0] = 1 - y[0]  # a wrong label
    >>> model = LinearSVC(C=0.1).fit(X, y)
    >>> table = margin_rows(model, X, y)
    >>> bool((table.dual > 0).all())
    True
    """
    table = row_table(model, X, y, sample_weight)
    held = np.flatnonzero(table.dual > 0.0)
    return table[held[np.argsort(np.abs(1.0 - table.margin[held]), kind="stable")][: checked_top(top)]]


def suspicious_rows(
    model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, top: int | None = None
) -> RowTable:
    """The rows that are misclassified when they are left out of the fit: unusual or wrongly labelled ones.

    The least probable labels come first. A row of large influence pulls the decision function to its side, and only
    leave-one-out shows that no other row supports its label: on separable data all margins are positive.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from hinge import LinearSVC
    >>> from hinge.explain import suspicious_rows
    >>> X, y = make_blobs(60, centers=2, random_state=1)
    >>> y[0] = 1 - y[0]  # a wrong label
    >>> model = LinearSVC(C=0.1).fit(X, y)
    >>> suspicious_rows(model, X, y).row.tolist()
    [0]
    """
    table = row_table(model, X, y, sample_weight)
    wrong = np.flatnonzero(table.without < 0.0)
    order = np.lexsort((table.without[wrong], table.p_label[wrong]))
    return table[wrong[order][: checked_top(top)]]


@dataclass(frozen=True, eq=False, repr=False)
class RemovableTable(ColumnTable):
    """One line for each row that can be deleted without changing the model, in the order of the rows.

    Attributes
    ----------
    row : ndarray of int
        Its index among the rows of the fit.
    slack : ndarray of float
        How far it is from having a loss: margin minus 1, or ε minus the absolute residual. If it takes part in several
        decision functions, in the one where the least is left.
    change : ndarray of float
        A proven bound on how much smaller that is at the optimum; always less than `slack`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from hinge import LinearSVC
    >>> from hinge.explain import removable_rows
    >>> X, y = make_blobs(60, centers=2, random_state=1)
    >>> table = removable_rows(LinearSVC().fit(X, y), X, y)
    >>> list(table.columns), bool((table.change < table.slack).all())
    (['row', 'slack', 'change'], True)
    """

    row: np.ndarray
    slack: np.ndarray
    change: np.ndarray


def removable_rows(
    model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> RemovableTable:
    """The rows that can be deleted, all of them together, without changing the optimum: proven by the duality gap.

    The certified gap bounds the distance of the model from the optimum, and so how much any margin differs there: see
    `hinge.problems.svm.idle_rows`. The smaller `tol`, the more rows are proven; at most all but the support vectors.
    One row of each class is kept in any case.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, SVC or SVR, or a Pipeline that ends with one
        Fitted with C.
    X, y, sample_weight
        The rows of the fit, their labels or targets, and their sample weights; of a pipeline, before its transformers.

    Returns
    -------
    RemovableTable

    Notes
    -----
    The optimum without these rows is the same for the same C, weights of rows and kernel: give a number for `gamma`,
    such as ``model.kernel_.gamma``, since "scale" depends on all rows, and transformers of a pipeline as they were
    fitted. Kernels that are functions, or given as matrices, must be positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from hinge import LinearSVC
    >>> from hinge.explain import removable_rows
    >>> X, y = make_blobs(60, centers=2, random_state=1)
    >>> rows = removable_rows(LinearSVC(tol=1e-6).fit(X, y), X, y).row
    >>> kept = np.delete(np.arange(60), rows)
    >>> again = LinearSVC(tol=1e-6).fit(X[kept], y[kept])
    >>> len(rows) > 30, bool(abs(again.coef_ - LinearSVC(tol=1e-6).fit(X, y).coef_).max() < 1e-3)
    (True, True)
    """
    check_is_fitted(model)
    model, X = examined(model, X)
    if not hasattr(model, "_certified_answers"):
        whose = type(model).__module__.partition(".")[0]
        raise TypeError(
            "Rows are proven idle for hinge's LinearSVC, LinearSVR, SVC and SVR, not for "
            f"{whose}'s {type(model).__name__}."
        )
    for name, why in (
        ("lam", "the loss is a mean, which changes with the number of rows: fit with C"),
        ("slack", "the slack is a mean, which changes with the number of rows: fit with C"),
        ("target_error", "rows were held out at random: fit without it"),
    ):
        if getattr(model, name, None) is not None:
            raise ValueError(f"With {name}, {why}.")
    if isinstance(getattr(model, "class_weight", None), str):
        raise ValueError("class_weight='balanced' changes with the number of rows: give the weights as a dict.")
    labels, answers = model._certified_answers(FittedRows(X, y, sample_weight))
    slack, change = np.full(len(labels), np.inf), np.zeros(len(labels))
    for rows, answer in answers:
        own, moved = idle_margins(answer)
        less = own - moved < slack[rows] - change[rows]
        slack[rows[less]], change[rows[less]] = own[less], moved[less]
    idle = slack > change
    for label in np.unique(labels) if hasattr(model, "classes_") else [None]:
        of_class = np.flatnonzero(labels == label) if label is not None else np.arange(len(labels))
        if idle[of_class].all():
            idle[of_class[0]] = False
    found = np.flatnonzero(idle)
    return RemovableTable(found, slack[found], change[found])


def frame(table: ColumnTable) -> DataFrame:
    """The same columns as a pandas DataFrame: ``table.to_pandas()``.

    Parameters
    ----------
    table : FeatureTable or RowTable

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> from hinge import LinearSVC
    >>> from hinge.explain import feature_table, frame
    >>> X, y = [[0.0, 900.0], [1.0, 100.0], [2.0, 500.0], [3.0, 400.0]], ["no", "no", "yes", "yes"]
    >>> model = LinearSVC().fit(X, y)
    >>> frame(feature_table(model, X, names=["age", "pay"])).columns.tolist()
    ['feature', 'of', 'weight', 'spread', 'effect', 'share']
    """
    return table.to_pandas()
