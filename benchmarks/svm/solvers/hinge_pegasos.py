"""Pegasos with the weighted average, hinge's own."""

from benchmark_utils.runs import Stepwise, to_the_limits

from hinge.solvers import Pegasos


class Solver(Stepwise):
    """hinge's `Pegasos`, steps alone on the clock."""

    name = "hinge-pegasos"
    method = Pegasos()
    stopping_criterion = to_the_limits("callback")
    looks = 4
