"""Stochastic dual coordinate ascent, hinge's own."""

from benchmark_utils.runs import Stepwise

from hinge.solvers import SDCA


class Solver(Stepwise):
    """hinge's `SDCA`, steps alone on the clock."""

    name = "hinge-sdca"
    method = SDCA()
