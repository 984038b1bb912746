"""lightning's dual solvers, `pip install sklearn-contrib-lightning`."""

from typing import Any, ClassVar

from benchmark_utils.runs import Peer, until_flat


class Solver(Peer):
    """`LinearSVC`, dual coordinate descent with shrinking, or `SDCAClassifier`."""

    name = "lightning"
    peer = "lightning"
    stopping_criterion = until_flat("iteration")
    parameters: ClassVar = {"method": ["dual-cd", "sdca"]}

    def task(self) -> dict[str, Any]:
        """Which of the two."""
        return {"method": self.method}
