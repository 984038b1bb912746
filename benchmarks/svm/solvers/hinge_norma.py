"""Norma, a rival of the Pegasos paper, hinge's own."""

from benchmark_utils.runs import Stepwise, to_the_limits

from hinge.solvers import Norma


class Solver(Stepwise):
    """hinge's `Norma`, steps alone on the clock."""

    name = "hinge-norma"
    method = Norma()
    stopping_criterion = to_the_limits("callback")
    looks = 4
