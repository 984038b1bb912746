"""Every solver of hinge that takes rows in memory, as the registry has them."""

from typing import Any, ClassVar

from benchmark_utils.runs import Stepwise, to_the_limits

from hinge.solvers import registry


class Solver(Stepwise):
    """A solver of hinge with its default settings, steps alone on the clock."""

    name = "hinge"
    parameters: ClassVar = {"solver": list(registry.entries("linear"))}
    # Stochastic gradients improve unevenly, and the exact ones are at their end before the limits are.
    stopping_criterion = to_the_limits("callback")
    looks = 4

    @property
    def method(self) -> Any:
        """The solver, made by the registry."""
        return registry.BY_NAME[self.solver].load()()
