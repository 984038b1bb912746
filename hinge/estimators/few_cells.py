"""Predictions of a linear classifier from some of the cells of a row, in the order of what they are worth."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hinge.access import Table, as_table
from hinge.access.tables.oracle import FeatureOracle, as_oracle
from hinge.estimators import checks
from hinge.prediction import Purchase, ReadingOrder
from hinge.prediction.buying import buy
from hinge.types import MatrixLike, Stored


class FewCells:
    """A fitted linear classifier that can read the rows it predicts cell by cell."""

    classes_: np.ndarray
    coef_: Any
    intercept_: np.ndarray

    def learn_order(
        self,
        X: MatrixLike | Table | FeatureOracle,
        *,
        prices: ArrayLike | None = None,
        ranges: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Learn in which order to read the cells of a row, and when to stop: for `buy`, and `predict` with limits.

        Columns come in the order of their weight times their spread over their price; after some of them the score
        is estimated by least squares, and a row is decided as soon as its class is as many standard deviations of
        that estimate ahead as the rows given here need, so that the share of those that would get another class than
        by all their cells is small enough. That share is counted on these rows, not assumed.

        Parameters
        ----------
        X : {array-like, sparse matrix, Table or FeatureOracle} of shape (n_samples, n_features)
            Rows like those to be predicted, for instance the training rows; no labels are needed. Of a table, those
            of its rows that were bought whole; nothing is bought.
        prices : array-like of shape (n_features,), optional
            Price of a cell in each column; those of the table where not given, else 1.
        ranges : (lowest, highest), optional
            What cells of each column can be, as two arrays or numbers: with these a class that no cell that is left
            can change is known for certain.

        Returns
        -------
        self
            With the attribute `reading_order_`.
        """
        check_is_fitted(self, "coef_")
        table = as_oracle(X)
        rows: Stored
        if table is None:
            rows = checks.validated(self, X, reset=False)
        else:
            whole = np.flatnonzero(table.bill.whole_rows)
            if len(whole) == 0:
                raise ValueError("No row of the table was bought whole: give rows like those to come as an array.")
            prices = table.bill.prices if prices is None else prices
            rows = table.held(whole)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        self.reading_order_ = ReadingOrder(coef, self.intercept_, rows, prices, ranges)
        return self

    def buy(
        self, X: MatrixLike | Table | FeatureOracle, *, confidence: float = 1.0, max_cost: float | None = None
    ) -> Purchase:
        """Predictions from as few cells as will do, and what they cost.

        Parameters
        ----------
        X : {array-like, sparse matrix, Table or FeatureOracle} of shape (n_samples, n_features)
        confidence : float, default=1.0
            The share of rows that must have the class of all their cells: 0.995 reads a small part of most rows. With
            1.0 a row is read until its class is certain, which needs the `ranges` of `learn_order`, or to the end.
        max_cost : float, optional
            Most to pay. Where it does not reach for all rows, those that are least sure are read on.

        Returns
        -------
        Purchase
            `labels`, `scores` with an interval (`low`, `high`), `cells` of each row, whether it is `certain`,
            `n_reads` and `cost`.

        Examples
        --------
        >>> import numpy as np
        >>> from hinge import LinearSVC
        >>> rng = np.random.default_rng(0)
        >>> X = rng.standard_normal((2000, 30)) * np.geomspace(4, 0.1, 30)
        >>> y = X.sum(axis=1) > 0
        >>> model = LinearSVC().fit(X, y).learn_order(X)
        >>> bought = model.buy(X, confidence=0.99)
        >>> bool((bought.labels == model.predict(X)).mean() >= 0.99), bool(bought.cells.mean() < 15)
        (True, True)
        """
        check_is_fitted(self, "coef_")
        if not hasattr(self, "reading_order_"):
            raise ValueError(
                "Which cells to read first is not known: call learn_order with rows like those to come, such as the "
                "training rows."
            )
        table = as_oracle(X)
        if table is None:
            table = as_table(checks.validated(self, X, reset=False))
        return buy(self.reading_order_, table, self.classes_, confidence, max_cost)

    def _forget_probabilities(self) -> None:
        """The order belongs to the weights that it was learned for, as probabilities do."""
        super()._forget_probabilities()  # type: ignore[misc]
        self.__dict__.pop("reading_order_", None)
