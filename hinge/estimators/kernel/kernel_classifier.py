"""The base class of `SVC` and `NuSVC`: the fit, decision values, probabilities."""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from hinge.access.arrays import on_host
from hinge.access.gram.base import whole
from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.data.any_arrays import any_arrays, labels_at
from hinge.estimators.data.sources import set_names
from hinge.estimators.fitting.attributes import Answers, expanded, values_of
from hinge.estimators.fitting.decorators import atomic_fit, with_callbacks
from hinge.estimators.fitting.parameters import PAIRS, VoteParameters
from hinge.estimators.fitting.reports import warn_of_answers
from hinge.estimators.fitting.tasks import (
    Task,
    check_mass,
    class_pairs,
    per_class,
    per_class_weights,
    row_weights,
    tasks_of,
    votes,
)
from hinge.estimators.kernel.kernel_machine import KernelMachine
from hinge.estimators.mixins.conformal import PredictionSets
from hinge.estimators.mixins.fitted_rows import CheckedRows, FittedRows
from hinge.estimators.mixins.probabilities import Judged, without_kernel_rows
from hinge.kernels import Kernel
from hinge.monitoring.interrupts import now
from hinge.types import Array, Items


class KernelClassifier(VoteParameters, KernelMachine, PredictionSets):
    """The fit and the predictions of classifiers with the parameters of `SVC`."""

    _needed = "when probability=False: call calibrate() on the fitted model, or fit with probability=True"
    _weighs_classes: ClassVar[bool] = True
    """Whether `class_weight` multiplies the weights of rows."""
    _warns_if_constant: ClassVar[bool] = True

    shape_fit_: tuple[int, ...]

    @any_arrays(stays=True)
    @atomic_fit
    @with_callbacks
    def fit(self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence
            Kernel values of shape (n_samples, n_samples) if the kernel is precomputed. Or a source of rows on disk, as
            in `LinearSVC.fit`: .npy, Parquet, Zarr, Arrow, polars, svmlight or CSV. The rows are loaded in the
            precision in which they are stored; the kernel matrix need not fit into memory.
        y : array-like of shape (n_samples,), or str
            A str is the name of a column of the source.
        sample_weight : array-like of shape (n_samples,), optional
            Rows of zero or negative weight are ignored.

        Returns
        -------
        self
        """
        began, given = now(), (X, y, sample_weight)
        self._check_parameters()
        X, y, column_names = kernel_input.loaded(self, X, y)
        X, y = kernel_input.training_data(self, X, y)
        classes, codes = checks.encoded_labels(y)
        weight = row_weights(sample_weight, X)
        # "balanced" counts rows whatever their weights, as in scikit-learn.
        of_classes = per_class_weights(self.class_weight, y, classes)
        factors = of_classes if self._weighs_classes else None
        kernel = kernel_input.kernel_of(self, X)
        aside = self._held_out_rows(codes, weight)
        s = np.ones(len(codes)) if weight is None else weight.copy()
        s[[] if aside is None else aside] = 0.0
        mass = np.bincount(codes, s, minlength=len(classes))
        self._check_mass(mass if factors is None else mass * factors, classes.tolist())
        ovo = len(classes) > 2 and self.multiclass == "ovo"
        tasks = tasks_of(codes, len(classes), weight, factors, aside, one_vs_one=ovo, by_class=True)
        names = [f"class {label}" for label in classes] if len(tasks) > 1 and not ovo else []
        if ovo and self.verbose:
            names = [f"{classes[i]} against {classes[j]}" for i, j in class_pairs(len(classes))]

        def attributes(answers: Answers, kernel: Kernel) -> dict[str, Any]:
            found = expanded(answers, X, codes, len(classes), kernel, one_vs_one=ovo)
            return {"classes_": classes, "kernel_": kernel, "shape_fit_": kernel_input.shape_of(X), **found}

        one_model = len(tasks) == 1 and self.slack is None
        runs = self._solve(X, y, tasks, kernel, began, attributes, names=names, classes=classes, one_model=one_model)
        self.class_weight_ = np.ones(len(classes)) if of_classes is None else of_classes
        self._forget_probabilities()
        self._keep(runs)
        known = values_of(runs.answers, len(codes), len(classes) - 1 if ovo else len(tasks))
        self._remember_rows(*given, known)
        if self.probability not in (False, "deprecated"):
            self._calibrate_fit(lambda: self._left_out(CheckedRows(on_host(X), y, codes, weight), known), codes, weight)
        f = runs.answers.f
        if self._warns_if_constant and len(classes) == 2 and self.stop_reason_ == "converged" and np.isfinite(f).all():
            warn_of_answers(codes[runs.answers.rows], classes, f > 0)
        set_names(self, column_names)
        return self

    def _check_mass(self, mass: np.ndarray, labels: list[Any]) -> None:
        """Raise if the rows of a class weigh too little, before anything is solved."""
        check_mass(mass, labels)

    @any_arrays(stays=True)
    def decision_function(self, X: Items) -> np.ndarray:
        """Signed distances in units of the margin.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_classes * (n_classes - 1) / 2)
        """
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return scores.ravel()
        if self._one_vs_one and self.decision_function_shape == "ovr":
            return per_class(scores, len(self.classes_))
        return scores

    @any_arrays(stays=True)
    def predict(self, X: Items) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "support_")
        PAIRS.check("decision_function_shape", self.decision_function_shape)
        if self.decision_function_shape == "ovo" and self.break_ties:
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
        return labels_at(self.classes_, self._codes_of(self._scores(X)))

    def _codes_of(self, scores: Array) -> Array:
        n_classes = len(self.classes_)
        if n_classes == 2:
            return whole(scores[:, 0] > 0)
        if not self._one_vs_one:
            return scores.argmax(1)
        decide = per_class if self.break_ties else votes
        return decide(scores, n_classes).argmax(1)

    # --- parts of calibrate ---------------------------------------------------------------

    def _rows_to_judge(self, given: FittedRows, held_out: bool) -> CheckedRows:
        check_is_fitted(self, "support_")
        X = kernel_input.new_data(self, given.X)
        labels = column_or_1d(given.y, warn=True)
        check_consistent_length(X, labels)
        _, codes = checks.encoded_labels(labels, self.classes_)
        if not held_out:
            self._check_rows(X)
        return CheckedRows(X, labels, codes, row_weights(given.sample_weight, X))

    def _solved_tasks(self, checked: CheckedRows, scores: np.ndarray) -> Iterator[tuple[Task, np.ndarray, np.ndarray]]:
        """The binary problems of the fit, each with the decision values and the coefficients of its rows."""
        _, labels, codes, weight = checked
        factors = per_class_weights(self.class_weight, labels, self.classes_) if self._weighs_classes else None
        tasks = tasks_of(codes, len(self.classes_), weight, factors, None, one_vs_one=self._one_vs_one)
        for task, f, (used, coef) in zip(tasks, scores.T, self._expansions, strict=True):
            beta = np.zeros(len(codes))
            beta[self.support_[used]] = coef
            rows = slice(None) if task.rows is None else task.rows
            yield task, f[rows], beta[rows]

    def _left_out(
        self, checked: CheckedRows, scores: np.ndarray | None = None, *, every: bool = False, counted: bool = False
    ) -> list[Judged]:
        """Leave-one-out values for each binary problem; `scores` are decision values, if they are known."""
        self._require_dual()
        judged: list[Judged] = []
        for task, f, beta in self._solved_tasks(checked, self._scores_of(checked.X) if scores is None else scores):
            one, evals = without_kernel_rows(
                checked.X, task, self.kernel_, f, beta, self._bound, bool(self.fit_intercept), every=every
            )
            judged.append(one)
            self.n_kernel_evals_, self.n_kernel_asked_ = self.n_kernel_evals_ + evals, self.n_kernel_asked_ + evals
        return judged
