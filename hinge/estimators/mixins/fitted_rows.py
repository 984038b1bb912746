"""The rows of a fit, to which the model refers for what is computed from them later."""

from typing import Any

import numpy as np

from hinge.access.streams.opening import is_source
from hinge.access.tables.oracle import as_oracle


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

    def __init__(self, X: object, y: object, sample_weight: object, scores: np.ndarray | None = None) -> None:
        if is_source(X) or as_oracle(X) is not None:
            return
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
        self._fitted_rows = FittedRows(X, y, sample_weight, scores)

    def _forget_rows(self) -> None:
        self.__dict__.pop("_fitted_rows", None)

    def _rows_at_hand(self, method: str, held_out: bool = False) -> tuple[Any, Any, Any, np.ndarray | None]:
        """X, y and weights of the fit, and decision values if they are known, for a method that was given no rows."""
        if held_out:
            raise ValueError(f"With held_out=True, {method} needs rows that took no part in the fit: give X and y.")
        rows = self._fitted_rows
        if rows is None or rows.X is None:
            raise ValueError(
                "The rows of the fit are not at hand: the model was loaded, or learned from rows on disk or in pieces: "
                f"call {method}(X, y) with the rows of the fit, or with held_out=True and others."
            )
        return rows.X, rows.y, rows.sample_weight, rows.scores
