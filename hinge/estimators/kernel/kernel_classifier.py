"""The base class of `SVC` and `NuSVC`: binary problems one after the other, decision values, probabilities."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.data.kernel_input import is_precomputed
from hinge.estimators.fitting import one_vs_one, weights
from hinge.estimators.fitting.device_tasks import run_pairs
from hinge.estimators.fitting.kernel_runs import Answers, Runs, answers_of, expanded, gram_threads, run_tasks, tasks_of
from hinge.estimators.fitting.linear_runs import Plan
from hinge.estimators.fitting.parameters import PAIRS, ClassWeight, KernelData
from hinge.estimators.fitting.reports import reports_of
from hinge.estimators.kernel.kernel_machine import KernelMachine
from hinge.estimators.mixins.leave_one_out import Judged, coefficients_of, without_kernel_rows
from hinge.estimators.mixins.probabilities import Probabilities
from hinge.kernels import Kernel
from hinge.problems import Expansion
from hinge.types import Items


class KernelClassifier(KernelMachine, Probabilities):
    """Parts of `fit` and of predictions, for classifiers with the parameters of `SVC`."""

    _needed = "when probability=False"

    shape_fit_: tuple[int, ...]
    decision_function_shape: str
    break_ties: bool
    probability: bool | Literal["deprecated"]
    class_weight: ClassWeight
    n_jobs: int | None
    on_interrupt: Literal["raise", "keep"]

    def _run_each(
        self,
        X: KernelData,
        y: np.ndarray,
        codes: np.ndarray,
        classes: np.ndarray,
        kernel: Kernel,
        weight: np.ndarray | None,
        per_class: np.ndarray | None,
        aside: np.ndarray | None,
        seed: int,
        began: float,
    ) -> Runs:
        """Solve one binary problem after the other by the driver, with callbacks and limits."""
        ovo = len(classes) > 2 and self.multiclass == "ovo"
        tasks = tasks_of(codes, len(classes), weight, per_class, aside, one_vs_one=ovo)

        def attributes(answer: Expansion) -> dict[str, Any]:
            return {
                "classes_": classes,
                "kernel_": kernel,
                "shape_fit_": kernel_input.shape_of(X),
                **expanded(answers_of([answer], tasks), X, codes, len(classes), kernel, one_vs_one=ovo),
            }

        names = [f"class {label}" for label in classes] if len(tasks) > 1 else []
        if ovo:
            names = [f"{classes[i]} against {classes[j]}" for i, j in one_vs_one.class_pairs(len(classes))]
        one_model = len(tasks) == 1 and self.slack is None
        plan = Plan(
            self._solver(len(tasks)),
            self._stop(began),
            None,
            seed,
            self.on_interrupt,
            None,
            reports_of(self, X, y, names, attributes if one_model else None),
            self._starts(tasks, classes),
        )
        with gram_threads(self.n_jobs) as threads:
            if self._on_device and ovo:  # all rows are sent to the device once; each task uses a part of them
                every = self._gram(X, None, kernel, threads)
                plan, known = run_pairs(tasks, plan, every, self._problem)
                return run_tasks(tasks, plan, lambda rows, _: every.part(rows), self._problem, known)
            return run_tasks(
                tasks, plan, lambda rows, exact: self._gram(X, rows, kernel, threads, exact), self._problem
            )

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
            return one_vs_one.per_class(scores, len(self.classes_))
        return scores

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
        return self.classes_[self._codes_of(self._scores(X))]

    def _codes_of(self, scores: np.ndarray) -> np.ndarray:
        n_classes = len(self.classes_)
        if n_classes == 2:
            return (scores[:, 0] > 0).astype(int)
        if not self._one_vs_one:
            return scores.argmax(axis=1)
        decide = one_vs_one.per_class if self.break_ties else one_vs_one.votes
        return decide(scores, n_classes).argmax(axis=1)

    # --- parts of calibrate ---------------------------------------------------------------

    def _rows_to_judge(
        self, X: Items, y: ArrayLike, sample_weight: ArrayLike | None, held_out: bool
    ) -> tuple[KernelData, np.ndarray, np.ndarray, np.ndarray | None]:
        check_is_fitted(self, "support_")
        X = kernel_input.new_data(self, X)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(X, labels)
        _, codes = checks.encoded_labels(labels, self.classes_)
        if not held_out:
            self._check_rows(X)
        return X, labels, codes, weights.row_weights(sample_weight, X)

    def _left_out(
        self,
        X: KernelData,
        y: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray | None,
        answers: Answers | None = None,
        *,
        every: bool = False,
    ) -> list[Judged]:
        """Leave-one-out values for each binary problem; `answers` are those of a fit that has just ended, if any."""
        per_class = self._class_factors(y)
        tasks = tasks_of(codes, len(self.classes_), weight, per_class, None, one_vs_one=self._one_vs_one)
        scores: np.ndarray | None = None
        judged: list[Judged] = []
        for k, task in enumerate(tasks):
            rows = slice(None) if task.rows is None else task.rows
            f = np.full(len(codes), np.nan)
            if answers is not None:
                part = slice(answers.cuts[k], answers.cuts[k + 1])
                f[answers.rows[part]] = answers.f[part]
            if not np.isfinite(f[rows]).all():
                scores = self._scores(X) if scores is None else scores
                f = scores[:, k]
            beta = coefficients_of(self, k, len(codes))[rows]
            one, evals = without_kernel_rows(
                X, task, self.kernel_, f[rows], beta, self._limit, self._has_bias, every=every
            )
            judged.append(one)
            self.n_kernel_evals_, self.n_kernel_asked_ = self.n_kernel_evals_ + evals, self.n_kernel_asked_ + evals
        return judged

    @property
    def _limit(self) -> float | None:
        """C; None if another parameter was given in its place."""
        return self._bound if self.slack is None else None

    @property
    def _has_bias(self) -> bool:
        return bool(self.fit_intercept)

    def _class_factors(self, y: np.ndarray) -> np.ndarray | None:
        """The weights of the classes in the fit."""
        return weights.per_class_weights(self.class_weight, y, self.classes_)

    def _check_rows(self, X: KernelData) -> None:
        """Raise if X cannot be the rows of the fit."""
        same = kernel_input.shape_of(X) == tuple(self.shape_fit_)
        if same and not isinstance(X, list) and not is_precomputed(self.kernel_):
            off = X[self.support_] != self.support_vectors_
            same = not (off.nnz if sp.issparse(off) else np.any(off))
        if not same:
            raise ValueError(
                "calibrate needs the rows of the fit, in the same order, and X holds others: give those, or "
                "held_out=True for rows that took no part in it."
            )
