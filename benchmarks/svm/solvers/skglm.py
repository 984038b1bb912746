"""skglm's LinearSVC, `pip install skglm`."""

from benchmark_utils.runs import Peer, until_flat


class Solver(Peer):
    """Coordinate descent on the dual with Anderson's acceleration, over all rows; compiled off the clock."""

    name = "skglm"
    peer = "skglm"
    stopping_criterion = until_flat("iteration")
