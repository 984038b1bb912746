"""Vowpal Wabbit, `pip install vowpalwabbit`."""

from typing import Any, ClassVar

from benchmark_utils.runs import Peer, to_the_limits

FLAGS = {"adaptive": "", "sgd": " --sgd"}


class Solver(Peer):
    """Passes over its cache file, which it reads while it trains.

    With its default, adaptive updates --l2 is not our regulariser: from pass to pass the weights go away
    from the optimum of this objective. With --sgd it is ours.
    """

    name = "vowpal-wabbit"
    peer = "vowpalwabbit"
    stopping_criterion = to_the_limits("iteration")
    parameters: ClassVar = {"updates": ["adaptive", "sgd"]}

    def task(self) -> dict[str, Any]:
        """Flags of the command line."""
        return {"flags": FLAGS[self.updates]}
