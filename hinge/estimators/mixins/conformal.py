"""Prediction sets of classifiers and prediction intervals of regressions: see `hinge.calibration.conformal`."""

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from hinge.calibration.conformal import class_nonconformity, conformal_quantile
from hinge.calibration.left_out import spread_over
from hinge.constraints import FLAG, number
from hinge.estimators.data import validation as checks
from hinge.estimators.data.any_arrays import any_arrays
from hinge.estimators.fitting.tasks import class_pairs, positive_classes, row_weights
from hinge.estimators.mixins.fitted_rows import FittedRows, RefersToRows, ScoredRows
from hinge.estimators.mixins.probabilities import Probabilities
from hinge.types import Items

LEARNED = ("_conformity_scores", "_conformity_codes", "_conformity_weight")
"""Nonconformity of rows, the indices of their classes (zeros in regression), and their weights."""


class Conformal(RefersToRows):
    """Nonconformity of the rows of the fit when left out of it, or of rows that are given."""

    _conformity_scores: np.ndarray
    _conformity_codes: np.ndarray
    _conformity_weight: np.ndarray

    @any_arrays()
    def conformalize(
        self,
        X: Items | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        held_out: bool = False,
    ) -> Self:
        """Learn how far labels are from predictions, without another fit.

        It need not be called in the process in which the model was fitted: the first prediction set or interval does so
        with the rows of the fit, to which the model refers. Pickles and model files hold what was learned, but no rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence, optional
            The rows of the fit; by default those that the model refers to.
        y : array-like of shape (n_samples,), optional
            Their labels or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights in the fit. A row of weight 2 counts as two, a new row as one.
        held_out : bool, default=False
            Whether X and y took no part in the fit. Coverage is then at least 1 - α for any distribution of the rows.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        FLAG.check("held_out", held_out)
        rows = self._rows_to_use("conformalize", FittedRows(X, y, sample_weight), held_out)
        values, labels, weight = self._held_out_scores(rows) if held_out else self._left_out_scores(rows)
        self._conformity_scores, self._conformity_codes = self._nonconformity(values, labels)
        self._conformity_weight = np.ones(len(labels)) if weight is None else weight
        return self

    # --- for estimators -------------------------------------------------------------------

    def _forget_rows(self) -> None:
        super()._forget_rows()
        for name in LEARNED:
            self.__dict__.pop(name, None)

    def _quantile(self, alpha: float, code: int | None = None) -> float:
        """The quantile of all rows, or of those of one class."""
        weight = self._conformity_weight if code is None else self._conformity_weight * (self._conformity_codes == code)
        return conformal_quantile(self._conformity_scores, weight, float(alpha))

    def _prepare_sets(self, alpha: float) -> None:
        check_is_fitted(self)
        number(above=0, below=1).check("alpha", alpha)
        if not hasattr(self, "_conformity_scores"):
            self.conformalize()

    _left_out_scores: Callable[..., ScoredRows]
    """Leave-one-out decision values of the rows of the fit, given as `FittedRows`.

    Values of single rows are more accurate if `every` is set, at a higher cost.
    """
    _held_out_scores: Callable[[FittedRows], ScoredRows]
    """The decision values of rows that took no part in the fit."""
    _nonconformity: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    """The nonconformity of each row's own label, and the index of its class."""


class PredictionSets(Probabilities, Conformal):
    """`predict_set` for a classifier with probabilities."""

    classes_: np.ndarray

    @any_arrays()
    def predict_set(self, X: Items, alpha: float = 0.1, class_conditional: bool = False) -> np.ndarray:
        """The classes that a row may have: the true one is among them in a share 1 - α of the rows.

        A set can have all classes, where rows like it are often confused, or none, where rows like it are rarer than α.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
        alpha : float, default=0.1
            The share of rows whose class may be missing.
        class_conditional : bool, default=False
            Whether the share holds for the rows of each class, rather than for all rows together.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether each of `classes_` is in the set.

        Notes
        -----
        By leave-one-out values of the rows of the fit, which are computed from the solution when a set is first asked
        for; after ``conformalize(X, y, held_out=True)`` by these rows, and then the coverage of 1 - α is a theorem: see
        `hinge.calibration.conformal`. With fewer than 1/α - 1 rows, of the class if `class_conditional`, every class is
        in the set.
        """
        self._prepare_sets(alpha)
        FLAG.check("class_conditional", class_conditional)
        n_classes = len(self.classes_)
        limits = [self._quantile(alpha, code if class_conditional else None) for code in range(n_classes)]
        return class_nonconformity(self._scores(X), n_classes, one_vs_one=self._one_vs_one) <= np.array(limits)

    def _nonconformity(self, scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        every = class_nonconformity(scores, len(self.classes_), one_vs_one=self._one_vs_one)
        return every[np.arange(len(labels)), labels], labels

    def _held_out_scores(self, rows: FittedRows) -> ScoredRows:
        X, _, codes, weight = self._rows_to_judge(rows, True)
        return self._scores_of(X), codes, weight

    def _left_out_scores(self, rows: FittedRows, *, every: bool = False) -> ScoredRows:
        checked = self._rows_to_judge(rows, False)
        values = np.array(self._scores_of(checked.X) if rows.scores is None else rows.scores, np.float64)
        judged = self._left_out(checked, values, every=every, counted=True)
        for k, (one, label) in enumerate(zip(judged, self._labels(checked.codes), strict=True)):
            values[:, k] = spread_over(values[:, k], label, one.rows, one.f)
        return values, checked.codes, checked.weight

    def _labels(self, codes: np.ndarray) -> list[np.ndarray]:
        """The label -1 or +1 of every row in each binary problem; 0 of rows that take no part in it."""
        n_classes = len(self.classes_)
        if self._one_vs_one:
            return [(codes == i).astype(int) - (codes == j) for i, j in class_pairs(n_classes)]
        return [np.where(codes == k, 1, -1) for k in positive_classes(n_classes)]


class PredictionIntervals(Conformal):
    """`predict_interval` for a regression."""

    _scores: Callable[[Items], np.ndarray]
    """The predictions, as one column."""

    @any_arrays()
    def predict_interval(self, X: Items, alpha: float = 0.1) -> np.ndarray:
        """An interval around the prediction that has the target of a share 1 - α of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
        alpha : float, default=0.1
            The share of rows whose target may be outside.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The lower and the upper end; they are equally far from the prediction, and equally for all rows.

        Notes
        -----
        By leave-one-out residuals of the rows of the fit, computed from the solution when an interval is first asked
        for; after ``conformalize(X, y, held_out=True)`` by these rows, and then the coverage of 1 - α is a
        theorem: see `hinge.calibration.conformal`. With fewer than 1/α - 1 rows the interval is infinite.
        """
        self._prepare_sets(alpha)
        f = self._scores(X).reshape(-1, 1).astype(np.float64)
        return f + self._quantile(alpha) * np.array([-1.0, 1.0])

    def _nonconformity(self, scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.abs(labels - scores[:, 0]), np.zeros(len(labels), np.int64)

    def _held_out_scores(self, rows: FittedRows) -> ScoredRows:
        t, scores = checks.checked_targets(column_or_1d(rows.y)), self._scores(rows.X)
        check_consistent_length(scores, t)
        return scores, t, row_weights(rows.sample_weight, scores)
