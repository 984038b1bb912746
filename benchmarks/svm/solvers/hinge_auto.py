"""hinge's LinearSVC as it comes: the solver it chooses, input checks and the certificate included."""

from typing import Any

from benchmark_utils.runs import Estimator, until_flat

from hinge import LinearSVC


class Solver(Estimator):
    """`hinge.LinearSVC`, whose tolerance is the certified relative gap."""

    name = "hinge-auto"
    stopping_criterion = until_flat("tolerance")

    def estimator(self, stop: float, seed: int) -> Any:
        """Without a bias, as everyone here."""
        return LinearSVC(loss="hinge", lam=self.lam, tol=stop, fit_intercept=False, max_iter=10_000, random_state=seed)
