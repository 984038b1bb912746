"""SVM-Perf's cutting planes, hinge's own."""

from benchmark_utils.runs import Stepwise

from hinge.solvers import CuttingPlane


class Solver(Stepwise):
    """hinge's `CuttingPlane`, steps alone on the clock."""

    name = "hinge-cutting-plane"
    method = CuttingPlane()
