"""The training rows of a classifier: which hold its margin, which it would not miss, which it does not believe."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hinge.calibration.sigmoid import fit_sigmoid, probabilities
from hinge.estimators.one_vs_one import class_pairs
from hinge.explain.features import runs_of
from hinge.types import Items


class RowTable(NamedTuple):
    """A line for each training row.

    Decision values are signed by the label: positive for the class that the row has. Of several decision functions
    that tell the row's class from others it is the one that believes its label least, without it.

    Attributes
    ----------
    row : ndarray of int
        Its number among the rows of the fit.
    label : ndarray
        Its class, as it was given.
    of : ndarray of str
        Which decision function it is, see `FeatureTable`.
    dual : ndarray of float
        Its dual weight: its share in w is this times the row. Zero for rows that the machine does not need.
    margin : ndarray of float
        Label times decision value. From 1 on there is no loss, below 0 the row is on the wrong side.
    without : ndarray of float
        The same for the machine without the row, by leave-one-out as in `hinge.calibration.left_out`.
    influence : ndarray of float
        How much of its margin the row owes to itself: ``margin - without``, never negative.
    p_label : ndarray of float
        The probability of its label by the machine without it.

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
    """All rows of the fit that weigh something, in their order.

    Parameters
    ----------
    model : LinearSVC, SVC or NuSVC
        Fitted.
    X, y, sample_weight
        The rows of the fit, their labels, and their weights in it.

    Returns
    -------
    RowTable

    Notes
    -----
    Costs what `calibrate` does, for all rows; no fit.

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
        raise TypeError(f"Rows are told of classifiers, LinearSVC, SVC and NuSVC, not of a {type(model).__name__}.")
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
        # Against the rest it is the function of the row's own class that counts; of two classes there is but one.
        own = np.full(len(one.rows), True) if pairs is not None or n_classes == 2 else one.positive
        own &= (weight[one.rows] > 0.0) & (sign * one.f < best.without[one.rows])
        p = probabilities(one.f, fit_sigmoid(one.f, one.positive, one.stands_for * weight[one.rows]))
        margin = sign * scores[one.rows, k]
        lost = np.where(one.dual > 0.0, np.maximum(margin - sign * one.f, 0.0), 0.0)  # but for rounding
        found = (one.dual, margin, margin - lost, lost, np.where(one.positive, p, 1.0 - p))
        best.of[one.rows[own]] = name
        for column, values in zip(best[3:], found, strict=True):
            column[one.rows[own]] = values[own]
    return _some(best._replace(of=best.of.astype(str)), np.flatnonzero(np.isfinite(best.without)))


def influential_rows(
    model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, top: int | None = None
) -> RowTable:
    """The rows whose decision value would move most, had they been left out of the fit; the most first.

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
    return _some(table, np.argsort(-table.influence, kind="stable")[: checked(top)])


def margin_rows(
    model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, top: int | None = None
) -> RowTable:
    """The rows that the machine is made of, those with a dual weight; the nearest to the margin first.

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
    return _some(table, held[np.argsort(np.abs(1.0 - table.margin[held]), kind="stable")][: checked(top)])


def suspicious_rows(
    model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None, *, top: int | None = None
) -> RowTable:
    """The rows that the machine without them takes for another class: unusual ones, or wrongly labelled.

    The least probable labels come first. A row of large influence pulls the machine to its label, and only
    leave-one-out shows that nothing else speaks for it: margins alone, of separable data, are suspicious of no row.

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
    return _some(table, wrong[order][: checked(top)])


def checked(top: int | None) -> int | None:
    """How many lines are wanted, if that is a number of lines."""
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}.")
    return top


def _some(table: RowTable, lines: np.ndarray) -> RowTable:
    return RowTable(*(column[lines] for column in table))
