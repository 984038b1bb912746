"""The data of a search: checked once; each fit sees its rows through weights."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.tasks import row_weights
from hinge.types import Items

Tunable: TypeAlias = LinearSVC | LinearSVR | SVC | SVR
"""The estimators whose C can be chosen."""
KINDS = LinearSVC, LinearSVR, SVC, SVR
"""The same, for isinstance."""
INSTEAD = ("lam", "slack")
"""Parameters that replace C: with one of them there is no C to choose."""


class Training(NamedTuple):
    """Rows, their labels or targets, and their weights.

    Attributes
    ----------
    X : array, CSR, or a list of items
    y : ndarray of shape (n,)
        Labels as they were given, or targets in float64.
    weight : ndarray of shape (n,), optional
    classes, codes : ndarray, optional
        The distinct labels, and the index of each row's label among them; None for a regression.
    """

    X: KernelData
    y: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray | None
    codes: np.ndarray | None

    def weight_of(self, train: np.ndarray | None) -> np.ndarray | None:
        """Row weights of a fit on the rows `train` alone: zero on all others; None if all are one."""
        if train is None:
            return self.weight
        weight = np.zeros(len(self.y))
        weight[train] = 1.0 if self.weight is None else self.weight[train]
        return weight

    def of_fit(self, train: np.ndarray | None) -> np.ndarray:
        """The labels or targets of such a fit."""
        return self.y if train is None else self.y[train]

    def lacks_a_class(self, train: np.ndarray) -> bool:
        """Whether some class has no row, or none with a positive weight, among these."""
        if self.codes is None or self.classes is None:
            return False
        kept = train if self.weight is None else train[self.weight[train] > 0]
        return len(np.unique(self.codes[kept])) < len(self.classes)


def training_of(model: BaseEstimator, X: Items, y: ArrayLike, sample_weight: ArrayLike | None) -> Training:
    """X and y as checked by a fit of `model`, which also stores the names of the features.

    Parameters
    ----------
    model : LinearSVC, LinearSVR, SVC or SVR
        A copy that belongs to the search, since it is changed.
    X, y, sample_weight
        As for its ``fit``.
    """
    if not isinstance(model, KINDS):
        names = ", ".join(kind.__name__ for kind in KINDS)
        raise TypeError(
            f"C is chosen for a {names} of hinge, not for {type(model).__name__}: for other estimators, and for "
            "pipelines, use sklearn.model_selection.GridSearchCV."
        )
    for name in INSTEAD:
        if getattr(model, name, None) is not None:
            raise ValueError(f"{name} replaces C, which is to be chosen: leave {name}=None.")
    linear = isinstance(model, LinearSVC | LinearSVR)
    model._check_parameters()
    X, y = checks.validated(model, X, y) if linear else kernel_input.training_data(model, X, y)
    weight = row_weights(sample_weight, X)
    if isinstance(model, LinearSVR | SVR):
        return Training(X, checks.checked_targets(y), weight, None, None)
    classes, codes = checks.encoded_labels(y)
    return Training(X, y, weight, classes, codes)
