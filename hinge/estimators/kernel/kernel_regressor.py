"""The base class of `SVR` and `NuSVR`."""

from typing import Any, Literal

import numpy as np

from hinge.estimators.data import kernel_input
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.kernel_runs import (
    Answers,
    Runs,
    answers_of,
    expanded,
    gram_threads,
    regression_task,
    run_tasks,
)
from hinge.estimators.fitting.linear_runs import Plan
from hinge.estimators.fitting.parameters import KernelData
from hinge.estimators.fitting.reports import reports_of
from hinge.estimators.kernel.kernel_machine import KernelMachine
from hinge.kernels import Kernel
from hinge.types import Items


class KernelRegressor(KernelMachine):
    """Parts of `fit` and `predict`, for estimators with the parameters of `SVR`."""

    _one_vs_one = False
    n_jobs: int | None
    validation_fraction: float
    on_interrupt: Literal["raise", "keep"]

    def predict(self, X: Items) -> np.ndarray:
        """The predicted target of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a sequence

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._scores(X).ravel()

    # --- parts of fit ---------------------------------------------------------------------

    def _run(
        self, X: KernelData, t: np.ndarray, kernel: Kernel, weight: np.ndarray | None, seed: int, began: float
    ) -> Runs:
        """One run by the driver, with callbacks and limits."""
        aside = None
        if self.target_error is not None:
            kept = np.arange(len(t)) if weight is None else np.flatnonzero(weight)
            aside = kept[checks.held_out_at_random(len(kept), self.validation_fraction, seed)]
        tasks = [regression_task(t, weight, aside)]
        plan = Plan(
            self._solver(1),
            self._stop(began),
            None if self.max_iter == -1 else int(self.max_iter),
            seed,
            self.on_interrupt,
            None,
            reports_of(self, X, t, [], lambda answer: self._attributes(answers_of([answer], tasks), X, kernel)),
            self._starts(tasks, None),
        )
        with gram_threads(self.n_jobs) as threads:
            return run_tasks(
                tasks, plan, lambda rows, exact: self._gram(X, rows, kernel, threads, exact), self._problem
            )

    def _attributes(self, answers: Answers, X: KernelData, kernel: Kernel) -> dict[str, Any]:
        """The fitted attributes for predictions."""
        shape = kernel_input.shape_of(X)
        one = np.zeros(shape[0], np.int64)
        return {"kernel_": kernel, "shape_fit_": shape, **expanded(answers, X, one, 1, kernel, one_vs_one=False)}
