"""Weights of rows and of classes, validated as in scikit-learn."""

from numbers import Number

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, compute_class_weight

from hinge.access.streams.base import RowStream
from hinge.access.tables.table import Table
from hinge.constraints import FAR, scale
from hinge.estimators.data.validation import NOT_NUMBERS
from hinge.estimators.fitting.parameters import ClassWeight, KernelData


def row_weights(sample_weight: ArrayLike | None, X: KernelData | Table | RowStream) -> np.ndarray | None:
    """`sample_weight`, validated; None if all weights are 1.

    Rows of negative weight are ignored, like those of weight zero, as in scikit-learn.
    """
    if sample_weight is None:
        return None
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n, sample_weight)
    try:
        rows = check_array(sample_weight, dtype=np.float64, ensure_2d=False, allow_nd=True, ensure_all_finite=False)
    except (TypeError, ValueError) as error:
        if not str(error).startswith(NOT_NUMBERS):
            raise
        raise type(error)(f"sample_weight must be numbers, one for each row: {error}.") from error
    if rows.shape != (n,):
        raise ValueError(f"sample_weight must be one number for each of the {n} rows, got the shape {rows.shape}.")
    infinite = ~np.isfinite(rows)
    if infinite.any():
        raise ValueError(
            f"sample_weight contains {'NaN' if np.isnan(rows).any() else 'infinity'}, in {infinite.sum()} of {n} rows. "
            "Give a row that may have no loss a weight far above all others, such as 1e10, and one to leave out 0."
        )
    rows = np.maximum(rows, 0.0)
    if not rows.any():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights: there is nothing to learn from. "
            "sample_weight needs a positive number for some rows."
        )
    if not 1 / FAR <= rows.max() <= FAR:
        raise ValueError(
            f"The largest sample_weight is {rows.max():g}, and must lie between {1 / FAR:g} and {FAR:g}: "
            "divide all by it."
        )
    return rows


def per_class_weights(
    class_weight: ClassWeight, y: np.ndarray, classes: np.ndarray, rows: np.ndarray | None = None
) -> np.ndarray | None:
    """The weight of each class; None if all are 1. "balanced" uses the row weights `rows` if they are given."""
    if class_weight is None:
        return None
    if not isinstance(class_weight, dict) and not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {class_weight!r}.")
    if isinstance(class_weight, dict):
        for label, value in class_weight.items():
            scale(or_zero=True).check(f"class_weight of {label!r}", value)
    elif rows is not None:
        each = np.array([rows[y == label].sum() for label in classes])
        for label, weight in zip(classes.tolist(), each, strict=True):
            if weight <= 1e-12 * rows.sum():
                raise ValueError(f"sample_weight leaves no row of {label!r}: 2 classes or more must have weight.")
        return rows.sum() / (len(classes) * each)
    try:
        return compute_class_weight(class_weight, classes=classes, y=y)
    except TypeError as error:
        raise ValueError(f"class_weight needs labels that are numbers or strings: {error}.") from error


def class_weights(
    positive: np.ndarray, rows: np.ndarray | None, per_class: np.ndarray | None, k: int
) -> np.ndarray | None:
    """Weights of rows for class k against the rest; with more than two classes the rest has class weight 1."""
    if per_class is None:
        return rows
    factor = np.where(positive, per_class[k], per_class[0] if len(per_class) == 2 else 1.0)
    return factor if rows is None else rows * factor
