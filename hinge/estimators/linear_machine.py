"""What linear estimators share: how a run is set up, and the product with what was learned."""

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hinge.access import Matrix, Table
from hinge.estimators import checks
from hinge.estimators.parameters import RandomState
from hinge.monitoring import Stop
from hinge.monitoring.clock import left_of
from hinge.problems import Penalized
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import Loss
from hinge.solvers import Solver, registry
from hinge.types import MatrixLike

P = TypeVar("P", bound=Penalized)

SOLVES: tuple[registry.Solves, ...] = ("linear", "cells", "1-norm")
"""The solvers that linear estimators take by name."""
OF_A_FIT = (
    "gap_",
    "objective_",
    "history_",
    "stop_reason_",
    "solver_",
    "dual_coef_",
    "support_",
    "n_distinct_reads_",
    "bytes_read_",
    "cost_",
)


class LinearMachine(BaseEstimator):
    """A linear function of the features, learned by any solver of the linear problem."""

    C: float
    lam: float | None
    solver: str | Solver
    fit_intercept: bool
    intercept: Bias
    intercept_scaling: float
    tol: float
    max_time: float | None
    max_reads: int | None
    target_error: float | None
    random_state: RandomState
    coef_: np.ndarray
    intercept_: np.ndarray

    def sparsify(self) -> "LinearMachine":
        """Keep the coefficients as a CSR matrix, which is smaller where most are zero.

        Returns
        -------
        self
        """
        check_is_fitted(self, "coef_")
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> "LinearMachine":
        """Keep the coefficients as an array, as `fit` left them.

        Returns
        -------
        self
        """
        check_is_fitted(self, "coef_")
        self.coef_ = _dense(self.coef_)
        return self

    def _scores(self, X: MatrixLike) -> np.ndarray:
        """⟨w, x⟩ + b of every row, a column for each w."""
        check_is_fitted(self, "coef_")
        X = checks.validated(self, X, reset=False)
        coef = self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        # The small factor takes the type of the large one: the other way round copies X.
        factor = coef.T.astype(X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = _dense(X @ factor) + self.intercept_
        if not np.isfinite(scores).all():  # the type of X cannot hold them
            scores = _dense(X.astype(np.float64) @ coef.T) + self.intercept_
        return scores

    # --- parts of fit ---------------------------------------------------------------------

    def _penalized(
        self, kind: type[P], matrix: Matrix | Table, y: ArrayLike, weight: np.ndarray | None, loss: Loss
    ) -> P:
        """The problem by C or by λ."""
        bias: Bias = self.intercept if self.fit_intercept else "none"
        if self.lam is not None:
            return kind(matrix, y, self.lam, weight=weight, bias=bias, bias_scale=self.intercept_scaling, loss=loss)
        return kind.from_C(matrix, y, self.C, weight=weight, bias=bias, bias_scale=self.intercept_scaling, loss=loss)

    def _solver(self, threads: int = 1) -> Solver | None:
        """The solver that was asked for; one by name that works in parts has one for each thread."""
        if isinstance(self.solver, Solver):
            return self.solver
        if self.solver == "auto":
            return None
        kind = registry.BY_NAME[self.solver].load()
        settings: dict[str, Any] = {"parts": threads} if "parts" in {field.name for field in fields(kind)} else {}
        return kind(**settings)

    def _stop(self, began: float) -> Stop:
        return Stop(self.tol, None, left_of(self.max_time, began), self.max_reads, self.target_error)


def _dense(a: Any) -> np.ndarray:
    return a.toarray() if sp.issparse(a) else np.asarray(a)
