"""The rows of a fit, to which the model refers for what is computed from them later."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hinge.access.arrays import on_host
from hinge.access.streams.opening import is_source
from hinge.access.tables.oracle import as_oracle


class CheckedRows(NamedTuple):
    """Rows of a classifier as they were validated, their labels, the indices of their classes, and their weights."""

    X: Any
    labels: np.ndarray
    codes: np.ndarray
    weight: np.ndarray | None


ScoredRows: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Decision values of all runs, the indices of classes or the targets, and the weights of rows."""


class FittedRows:
    """The rows of a fit as they were given, to which the model refers; pickles hold none of them.

    Attributes
    ----------
    X, y, sample_weight
        Those of `fit`; None if they are not in memory, and in a model from a pickle.
    scores : ndarray of shape (n_samples, n_runs), optional
        Their decision values, if the fit has computed them.
    """

    X: Any = None
    y: Any = None
    sample_weight: Any = None
    scores: np.ndarray | None = None

    def __init__(self, X: object, y: object, sample_weight: object = None, scores: np.ndarray | None = None) -> None:
        self.X, self.y, self.sample_weight, self.scores = X, y, sample_weight, scores

    def __getstate__(self) -> None:
        return None


class RefersToRows:
    """A model that refers to the rows of its fit, without a copy, as long as it is in the same process."""

    _fitted_rows: FittedRows | None = None

    def _remember_rows(
        self, X: object, y: object, sample_weight: object = None, scores: np.ndarray | None = None
    ) -> None:
        """The last part of a fit: refer to its rows, and forget what was learned from others."""
        self._forget_rows()
        if not is_source(X) and as_oracle(X) is None:  # else they are not in memory
            self._fitted_rows = FittedRows(X, y, sample_weight, scores)

    def _forget_rows(self) -> None:
        self.__dict__.pop("_fitted_rows", None)

    def _rows_to_use(self, method: str, given: FittedRows, held_out: bool) -> FittedRows:
        """The rows that a method was given, or the rows of the fit if it was given none."""
        if given.X is not None and given.y is None:
            raise ValueError(f"{method} needs y with X: give both, or neither for the rows of the fit.")
        if given.X is not None:
            return given
        if held_out:
            raise ValueError(f"With held_out=True, {method} needs rows that took no part in the fit: give X and y.")
        if self._fitted_rows is None or self._fitted_rows.X is None:
            raise ValueError(
                "The rows of the fit are not at hand: the model was loaded, or learned from rows on disk or in pieces: "
                f"call {method}(X, y) with the rows of the fit, or with held_out=True and others."
            )
        self._fitted_rows.X = on_host(self._fitted_rows.X)
        return self._fitted_rows
