"""scikit-learn's LinearSVC: LIBLINEAR's dual coordinate descent, conversion of the input included."""

import warnings
from typing import Any

from benchmark_utils.runs import Estimator, until_flat
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC


class Solver(Estimator):
    """`sklearn.svm.LinearSVC` with the hinge loss."""

    name = "sklearn-linear-svc"
    stopping_criterion = until_flat("tolerance")

    def estimator(self, stop: float, seed: int) -> Any:
        """The tolerance is on the dual's largest violation."""
        C = 1 / (self.lam * len(self.y))
        return LinearSVC(loss="hinge", C=C, tol=stop, fit_intercept=False, max_iter=10_000, random_state=seed)

    def run(self, stop: float) -> None:
        """As every estimator; the curve shows where the limit of passes was met."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            super().run(stop)
