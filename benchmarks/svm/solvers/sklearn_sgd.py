"""scikit-learn's SGDClassifier, so many passes."""

from typing import Any, ClassVar

from benchmark_utils.runs import Estimator, to_the_limits
from sklearn.linear_model import SGDClassifier


class Solver(Estimator):
    """`sklearn.linear_model.SGDClassifier` with its default steps, the last iterate or the average."""

    name = "sklearn-sgd"
    stopping_criterion = to_the_limits("iteration")
    parameters: ClassVar = {"average": [False, True]}

    def estimator(self, stop: float, seed: int) -> Any:
        """Passes alone end a fit."""
        return SGDClassifier(
            alpha=self.lam, fit_intercept=False, max_iter=int(stop), tol=None, average=self.average, random_state=seed
        )
