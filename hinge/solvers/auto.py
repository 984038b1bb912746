"""Which solver for which problem, and why."""

from typing import Any, NamedTuple

from hinge.problems import KernelRegularized, KernelSlackConstrained, Regularized
from hinge.solvers.base import Solver
from hinge.solvers.block_dual import BlockDual
from hinge.solvers.newton import DIRECT, Newton
from hinge.solvers.sdca import SDCA

MOST_FEATURES = 1024


class Choice(NamedTuple):
    """A solver and the sentence that says why."""

    solver: Solver
    reason: str


def choose(problem: Any, *, max_reads: int | None = None) -> Choice:
    """The solver that ``solver="auto"`` stands for.

    Newton's method where features are few, up to a thousand if there are as many rows, since it needs a
    handful of passes however ill-conditioned the data; dual coordinate ascent elsewhere, and whenever
    reads are limited, since Newton pays for whole passes. For kernel problems the block dual method, which
    certifies; for those with a given slack the Stochastic Batch Perceptron, in batches that grow with n.
    """
    if isinstance(problem, KernelRegularized):
        return Choice(BlockDual(), "blocks of kernel rows, to a certified gap")
    if isinstance(problem, KernelSlackConstrained):
        from hinge.solvers.sbp import SBP

        # Even, so that both classes are drawn from alike; more than two only where they are few of many.
        batch = 2 * max(1, min(16, problem.n // 256))
        return Choice(SBP(batch_size=batch), "the slack is given, and its steps need no λ")
    if not isinstance(problem, Regularized):
        raise ValueError(
            f"No solver is chosen automatically for {type(problem).__name__}; for a norm bound use SGD, "
            "for a slack bound solve_slack."
        )
    if max_reads is not None:
        return Choice(SDCA(), "reads are limited, and an iteration of SDCA reads a single row")
    if problem.d <= DIRECT:
        return Choice(Newton(), f"{problem.d} features are few enough to factor a Hessian")
    if problem.d <= MOST_FEATURES and problem.n >= problem.d:
        return Choice(Newton(), f"{problem.d} features are few, and {problem.n} rows not fewer")
    return Choice(SDCA(), f"{problem.d} features are many for {problem.n} rows")
