"""Tables of the training rows of a classifier: dual weights, margins, and leave-one-out values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hinge.calibration.sigmoid import fit_sigmoid, probabilities
from hinge.estimators.fitting.tasks import class_pairs
from hinge.explain.features import checked_top, runs_of
from hinge.types import Items

if TYPE_CHECKING:
    from pandas import DataFrame

    from hinge.explain.features import FeatureTable


class RowTable(NamedTuple):
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
    >>> row_table(model, X, y)._fields
    ('row', 'label', 'of', 'dual', 'margin', 'without', 'influence', 'p_label')
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
    model : LinearSVC, SVC or NuSVC
        Fitted.
    X, y, sample_weight
        The rows of the fit, their labels, and their sample weights.

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
    if not hasattr(model, "_left_out"):
        raise TypeError(f"Tables of rows are for LinearSVC, SVC and NuSVC, not for a {type(model).__name__}.")
    rows, labels, codes, weight = model._rows_to_judge(X, y, sample_weight, False)
    weight = np.ones(len(codes)) if weight is None else weight
    judged, scores = model._left_out(rows, labels, codes, weight, every=True), model._scores(rows)
    n_classes = len(model.classes_)
    pairs = class_pairs(n_classes) if model._one_vs_one else None
    best = RowTable(
        np.arange(len(codes)),
        model.classes_[codes],
        np.full(len(codes), "", dtype=object),
        np.zeros(len(codes)),
        *(np.full(len(codes), np.inf) for _ in range(4)),
    )
    for k, (one, name) in enumerate(zip(judged, runs_of(model, len(judged)), strict=True)):
        sign = np.where(one.positive, 1.0, -1.0)
        # One against the rest: only the function of the row's own class. Pairs, or two classes: all that involve it.
        own = np.full(len(one.rows), True) if pairs is not None or n_classes == 2 else one.positive
        own &= (weight[one.rows] > 0.0) & (sign * one.f < best.without[one.rows])
        p = probabilities(one.f, fit_sigmoid(one.f, one.positive, one.stands_for * weight[one.rows]))
        margin = sign * scores[one.rows, k]
        lost = np.where(one.dual > 0.0, np.maximum(margin - sign * one.f, 0.0), 0.0)  # negative by rounding only
        found = (one.dual, margin, margin - lost, lost, np.where(one.positive, p, 1.0 - p))
        best.of[one.rows[own]] = name
        for column, values in zip(best[3:], found, strict=True):
            column[one.rows[own]] = values[own]
    return _some(best._replace(of=best.of.astype(str)), np.flatnonzero(np.isfinite(best.without)))


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
    return _some(table, np.argsort(-table.influence, kind="stable")[: checked_top(top)])


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
    return _some(table, held[np.argsort(np.abs(1.0 - table.margin[held]), kind="stable")][: checked_top(top)])


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
    return _some(table, wrong[order][: checked_top(top)])


def _some(table: RowTable, lines: np.ndarray) -> RowTable:
    return RowTable(*(column[lines] for column in table))


def frame(table: FeatureTable | RowTable) -> DataFrame:
    """The same columns as a pandas DataFrame.

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
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("frame() needs pandas: pip install pandas, or use the table's columns.") from error
    return pd.DataFrame(table._asdict())
