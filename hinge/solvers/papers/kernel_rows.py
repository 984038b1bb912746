"""What the papers' methods on kernel rows have in common: the problems they refuse, single rows, exact gaps."""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from hinge.problems import Expansion, KernelProblem, KernelRegularized
from hinge.solvers.base import Solver

K = TypeVar("K", bound=KernelProblem)
S = TypeVar("S", bound=Any)


@dataclass(frozen=True)
class KernelRowSolver(Solver[K, S]):
    """A method whose iterations add kernel rows to the responses of all points."""

    no_bias: ClassVar[str] = ""
    """Why it cannot fit a bias, and what can; empty if it can."""
    no_weights: ClassVar[str] = ""
    """The same for weights of points."""

    solves: ClassVar[type] = KernelRegularized
    instead = "SBP for a given slack"

    def _limits(self, problem: KernelProblem) -> str | None:
        if problem.bias != "none" and self.no_bias:
            return f"{type(self).__name__} {self.no_bias}"
        if len(problem.weight) > 1 and self.no_weights:
            return f"{type(self).__name__} {self.no_weights}"
        return None


def combine_rows(problem: KernelProblem, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """The sum of these points' kernel rows times `coef`, on the host."""
    return problem.gram.host(problem.gram.combine(points, coef))


@dataclass(frozen=True)
class DualRowSolver(KernelRowSolver[KernelRegularized, S]):
    """A method whose β is dual feasible at all times: sixteen times in n iterations it computes the exact gap."""

    exact_estimate = True

    def stride(self, problem: KernelRegularized) -> int:
        """Number of iterations between two gaps."""
        return -(-problem.n // 16)

    def gap(self, problem: KernelRegularized, beta: np.ndarray, r: np.ndarray) -> float:
        """The relative duality gap without a bias, as if the responses were exact."""
        return float(problem.certificate(Expansion(beta, 0.0, r)).unrounded)

    def estimate(self, problem: KernelRegularized, state: S) -> float:
        return float(state.gap)

    def pause(self, problem: KernelRegularized, state: S) -> int:
        stride = self.stride(problem)
        return 0 if state.gap == 0.0 else stride - state.t % stride
