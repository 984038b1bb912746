"""What `SVC` and `NuSVC` share: one binary problem after the other, decision values, classes."""

from typing import Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hinge.estimators import checks, kernel_input, one_vs_one
from hinge.estimators.kernel_machine import KernelMachine
from hinge.estimators.kernel_tasks import Runs, answers_of, expanded, gram_threads, run_tasks, tasks_of
from hinge.estimators.one_vs_rest import Plan
from hinge.estimators.parameters import KernelData
from hinge.estimators.reports import reports_of
from hinge.kernels import Kernel
from hinge.problems import Expansion
from hinge.types import Items


class KernelClassifier(KernelMachine):
    """The parts of a classifier, for estimators with the parameters of `SVC`."""

    decision_function_shape: str
    break_ties: bool
    probability: bool | Literal["deprecated"]
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
        """Solve one binary problem after the other by the driver, with looks on the way."""
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
        checks.check_shape(self)
        scores, n_classes = self._scores(X), len(self.classes_)
        if n_classes == 2:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        if not self._one_vs_one:
            return self.classes_[scores.argmax(axis=1)]
        decide = one_vs_one.per_class if self.break_ties else one_vs_one.votes
        return self.classes_[decide(scores, n_classes).argmax(axis=1)]

    def _probabilities_asked(self) -> bool:
        if self.probability in (False, "deprecated"):
            raise AttributeError("predict_proba is not available when probability=False.")
        return True

    @available_if(_probabilities_asked)
    def predict_proba(self, X: Items) -> np.ndarray:
        """The probability of each class, which is not built yet.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "support_")
        if not getattr(self, "_calibrated", False):
            raise NotFittedError("predict_proba is not available when fitted with probability=False: fit again.")
        name = type(self).__name__
        raise NotImplementedError(
            "predict_proba comes with calibration, which is not built yet. Wrap the model meanwhile: "
            f"sklearn.calibration.CalibratedClassifierCV({name}(), ensemble=False) has it."
        )

    @available_if(_probabilities_asked)
    def predict_log_proba(self, X: Items) -> np.ndarray:
        """The logarithm of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return np.log(self.predict_proba(X))
