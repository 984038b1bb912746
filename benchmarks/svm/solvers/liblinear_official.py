"""LIBLINEAR from its authors' package, `pip install liblinear-official`."""

from benchmark_utils.runs import Peer, until_flat


class Solver(Peer):
    """``train -s 3``: dual coordinate descent; ends after 300 passes at the latest, by itself."""

    name = "liblinear-official"
    peer = "liblinear-official"
    stopping_criterion = until_flat("tolerance")
