"""Predictions of a linear classifier from some of the cells of a row, the most informative ones first."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from hinge.access import Table, as_table
from hinge.access.tables.oracle import FeatureOracle, as_oracle
from hinge.estimators.data import validation as checks
from hinge.estimators.data.any_arrays import any_arrays
from hinge.prediction import Purchase, ReadingOrder, buy
from hinge.types import MatrixLike, Stored


class FewCells:
    """A fitted linear classifier that can read the rows it predicts cell by cell."""

    classes_: np.ndarray
    coef_: Any
    intercept_: np.ndarray

    @any_arrays()
    def learn_order(
        self,
        X: MatrixLike | Table | FeatureOracle,
        *,
        prices: ArrayLike | None = None,
        ranges: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Learn the order in which to read the cells of a row, and when to stop: for `buy`, and `predict` with limits.

        Columns are sorted by weight times standard deviation divided by price. From the first columns the score is
        estimated by least squares, and a row is decided as soon as its class is ahead by enough standard deviations of
        the estimate. How many are enough is counted on the rows given here, such that few of them would get another
        class than by all their cells.

        Parameters
        ----------
        X : {array-like, sparse matrix, Table or FeatureOracle} of shape (n_samples, n_features)
            Rows like those to be predicted, for instance the training rows; no labels are needed. Of a table, the rows
            that have already been bought whole; nothing is bought.
        prices : array-like of shape (n_features,), optional
            Price of a cell in each column; by default the table's prices, else 1.
        ranges : (lowest, highest), optional
            Bounds on the cells of each column, as two arrays or numbers: with these it is known for certain when no
            unread cell can change the class.

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
                raise ValueError("No row of the table was bought whole: give rows like those to predict as an array.")
            prices = table.bill.prices if prices is None else prices
            rows = table.held(whole)
        coef = self.coef_.toarray() if sp.issparse(self.coef_) else self.coef_
        self.reading_order_ = ReadingOrder(coef, self.intercept_, rows, prices, ranges)
        return self

    @any_arrays()
    def buy(
        self, X: MatrixLike | Table | FeatureOracle, *, confidence: float = 1.0, max_cost: float | None = None
    ) -> Purchase:
        """Predictions from as few cells as needed, and their price.

        Parameters
        ----------
        X : {array-like, sparse matrix, Table or FeatureOracle} of shape (n_samples, n_features)
        confidence : float, default=1.0
            The fraction of rows that must get the class that all their cells would give: 0.995 reads a small part of
            most rows. With 1.0 a row is read until its class is certain, which needs the `ranges` of `learn_order`, or
            to the end.
        max_cost : float, optional
            Limit of the price. If it does not suffice for all rows, the least certain rows are read first.

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
                "The order of the cells is not known: call learn_order first, with rows like those to predict, such as "
                "the training rows."
            )
        table = as_oracle(X)
        if table is None:
            table = as_table(checks.validated(self, X, reset=False))
        return buy(self.reading_order_, table, self.classes_, confidence, max_cost)

    def _forget_probabilities(self) -> None:
        """Forget the reading order, too: like probabilities it is valid only for the weights it was learned for."""
        super()._forget_probabilities()  # type: ignore[misc]
        self.__dict__.pop("reading_order_", None)
