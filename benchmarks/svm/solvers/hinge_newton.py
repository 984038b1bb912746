"""Newton's method on a smoothed hinge over growing samples, hinge's own."""

from benchmark_utils.runs import Stepwise

from hinge.solvers import Newton


class Solver(Stepwise):
    """hinge's `Newton`, steps alone on the clock."""

    name = "hinge-newton"
    method = Newton()
