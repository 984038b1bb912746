"""The linear SVM of the Pegasos paper, without a bias, and its error on test rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """λ/2‖w‖² + mean hinge loss over the training rows, exact."""

    name = "SVM"
    min_benchopt_version = "1.7"
    parameters: ClassVar = {"lam": [1e-4]}
    test_dataset_name = "ccat-like"

    def skip(self, X: Any, missing: str | None = None, **others: Any) -> tuple[bool, str | None]:
        """Where the set is not on this machine."""
        return X is None, missing

    def set_data(self, X: Any, y: Any, X_test: Any, y_test: Any, missing: str | None = None) -> None:
        """Take a data set, labels -1 and +1."""
        self.X, self.y, self.X_test, self.y_test = X, y, X_test, y_test

    def get_objective(self) -> dict[str, Any]:
        """What a solver is given."""
        return {"X": self.X, "y": self.y, "lam": self.lam}

    def evaluate_result(
        self, w: np.ndarray, gap: float = np.inf, inside: float = np.nan, preparation: float = np.nan
    ) -> dict[str, float]:
        """Objective and test error; and, as the solver says them, its certificate and its own clock.

        Parameters
        ----------
        w : ndarray of shape (n_features,)
        gap : float
            The relative duality gap (P - D)/D, where a solver certifies one.
        inside : float
            Seconds of the training call, measured next to it, where that is in another process.
        preparation : float
            Seconds of import, conversion and compilation before it.
        """
        w = np.asarray(w, np.float64)
        losses = np.maximum(0.0, 1.0 - self.y * (self.X @ w))
        wrong = np.where(self.X_test @ w > 0, 1, -1) != self.y_test
        return {
            "value": float(0.5 * self.lam * (w @ w) + losses.mean()),
            "test_error": float(wrong.mean()),
            "gap": float(gap),
            "inside": float(inside),
            "preparation": float(preparation),
        }

    def get_one_result(self) -> dict[str, Any]:
        """Any point."""
        return {"w": np.zeros(self.X.shape[1])}
