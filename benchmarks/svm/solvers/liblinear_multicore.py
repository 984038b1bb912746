"""LIBLINEAR with threads, `pip install liblinear-multicore`."""

from typing import Any, ClassVar

from benchmark_utils.runs import Peer, until_flat


class Solver(Peer):
    """``train -s 3 -m THREADS``; waits for its threads by spinning, so it needs as many idle cores."""

    name = "liblinear-multicore"
    peer = "liblinear-multicore"
    stopping_criterion = until_flat("tolerance")
    parameters: ClassVar = {"threads": [2]}

    def task(self) -> dict[str, Any]:
        """Threads."""
        return {"threads": self.threads}
