"""Which solver for which problem, and why."""

from typing import NamedTuple

from hinge.problems import KernelRegularized, KernelSlackConstrained, Problem, Regularized
from hinge.solvers.base import Solver
from hinge.solvers.cells.frugal import Frugal
from hinge.solvers.kernel.active_set import MOST, ActiveSet
from hinge.solvers.kernel.block_dual import BlockDual
from hinge.solvers.linear.newton import DIRECT, Newton
from hinge.solvers.linear.sdca import SDCA

MOST_FEATURES = 1024
MANY_PASSES = 8  # a budget of so many passes is enough for SDCA, which also certifies


class Choice(NamedTuple):
    """A solver and the sentence that says why."""

    solver: Solver
    reason: str


def frugal_for(cells: int, max_reads: float, tol: float = 1e-3) -> Solver | None:
    """The frugal learner, where a limit of reads is too low for whole passes over so many cells.

    Below one pass it stops when little changes; from one pass on it goes on to the SVM of all rows.
    """
    if max_reads >= MANY_PASSES * cells:
        return None
    return Frugal(tol=tol) if max_reads < cells else Frugal(flips=0.0, tol=tol)


def choose(problem: Problem, *, max_reads: int | None = None) -> Choice:
    """The solver that ``solver="auto"`` stands for.

    Newton's method where features are few, up to a thousand if there are as many rows, since it needs a
    handful of passes however ill-conditioned the data; dual coordinate ascent elsewhere. Where reads are
    limited to a few passes, or the data is not in memory, the frugal learner, which keeps what it has read
    and needs no second pass. For kernel problems the block dual method, which
    certifies; for those with a given slack the Stochastic Batch Perceptron, in batches that grow with n.
    """
    if isinstance(problem, KernelRegularized):
        if problem.n <= MOST and not problem.gram.by_value and problem.gram.narrows:
            return Choice(ActiveSet(), f"{problem.n} points have few kernel values")
        return Choice(BlockDual(), "blocks of kernel rows, to a certified gap")
    if isinstance(problem, KernelSlackConstrained):
        from hinge.solvers.kernel.sbp import SBP

        # An even number, half for each class; larger batches only where they stay a small share of the rows.
        batch = 2 * max(1, min(16, problem.n // 256))
        return Choice(SBP(batch_size=batch), "the slack is given, and its steps need no λ")
    if not isinstance(problem, Regularized):
        raise ValueError(
            f"No solver is chosen automatically for {type(problem).__name__}; for a norm bound use SGD, "
            "for a slack bound solve_slack."
        )
    if not problem.in_memory:
        why = "its cells have prices" if problem.table.in_memory else "the data is not in memory"
        return Choice(Frugal(), f"{why}, and cells once read are kept")
    if max_reads is not None:
        frugal = frugal_for(problem.pass_cells, max_reads)
        if frugal is not None:
            return Choice(frugal, "reads are limited, and cells once read are kept")
        return Choice(SDCA(), "reads are limited to many passes, and an iteration reads a single row")
    if problem.d <= DIRECT:
        return Choice(Newton(), f"{problem.d} features are few enough to factor a Hessian")
    if problem.d <= MOST_FEATURES and problem.n >= problem.d:
        return Choice(Newton(), f"{problem.d} features are few, and {problem.n} rows not fewer")
    return Choice(SDCA(), f"{problem.d} features are many for {problem.n} rows")
