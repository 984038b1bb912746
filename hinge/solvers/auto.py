"""Which solver for which problem, and why."""

import math
from typing import NamedTuple

from hinge.problems import KernelRegularized, KernelSlackConstrained, L1Regularized, Problem, Regularized
from hinge.solvers.base import Solver
from hinge.solvers.cells.frugal import Frugal
from hinge.solvers.kernel.active_set import MOST, ActiveSet
from hinge.solvers.kernel.block_dual import BlockDual
from hinge.solvers.linear.cdn import CDN
from hinge.solvers.linear.newton import CG_STEPS, Newton, is_direct
from hinge.solvers.linear.sdca import SDCA, TYPICAL

MOST_FEATURES = 1024
ASCENT = 8.0  # passes of dual ascent to a gap of 1e-3 where Λ is large
NEWTON, NEWTON_SQUARED = 12.0, 5.0  # steps of Newton's method
NEWTON_MARGINS = 8.0  # passes over all rows of a run that begins with few
FULL_ROW, SPARSE_ROW = 30.0, 4.0  # cells of a row for which its part of a Hessian takes as long as a pass takes
FACTOR = 50.0  # cells that are visited in the time of one cubed feature of a factorisation
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


def choose(problem: Problem, *, max_reads: int | None = None, tol: float = 1e-3) -> Choice:
    """The solver that ``solver="auto"`` stands for.

    Newton's method or dual coordinate ascent, whichever should need the smaller work (see `ascent_passes` and
    `newton_passes`). Where reads are limited to a few passes, or the data is not in memory, the frugal learner,
    which keeps what it has read and needs no second pass. For kernel problems the block dual method, which
    certifies; for those with a given slack the Stochastic Batch Perceptron, in batches that grow with n. For the
    1-norm coordinate descent over columns.
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
    if isinstance(problem, L1Regularized):
        return Choice(CDN(), "the 1-norm leaves most columns without a weight, and columns are what it visits")
    if not isinstance(problem, Regularized):
        raise ValueError(
            f"No solver is chosen automatically for {type(problem).__name__}; for a norm bound use SGD, "
            "for a slack bound solve_slack."
        )
    if not problem.in_memory:
        why = "its cells have prices" if problem.table.in_memory else "the data is not in memory"
        return Choice(Frugal(), f"{why}, and cells once read are kept")
    if max_reads is not None:
        frugal = None if problem.loss.two_sided else frugal_for(problem.pass_cells, max_reads)
        if frugal is not None:
            return Choice(frugal, "reads are limited, and cells once read are kept")
        return Choice(SDCA(), "reads are limited to many passes, and an iteration reads a single row")
    d, n = problem.d, problem.n
    if not is_direct(problem) and not (d <= MOST_FEATURES and n >= d):
        return Choice(SDCA(), f"{d} features are many for {n} rows")
    ascent, newton = ascent_passes(problem, tol), newton_passes(problem)
    work = f"{n} rows of {d} features: the work of some {newton:.0f} passes against {ascent:.0f}"
    return Choice(Newton(), f"{work} of dual ascent") if newton < ascent else Choice(SDCA(), f"{work} for Newton")


def ascent_passes(problem: Regularized, tol: float) -> float:
    """Passes that dual coordinate ascent should need: its rate is :math:`1 + R^2/\\Lambda` passes for a factor e.

    R² is the typical squared norm of a row and :math:`\\Lambda = \\lambda\\sum_i s_i`, as in `SDCA`; the factor in
    front was measured.
    """
    sq = problem.matrix.typical_sq_norm(TYPICAL) + problem.constant_sq
    return ASCENT * (1.0 + sq / (problem.lam * problem.total)) * max(1.0, -math.log10(max(tol, 1e-16)) / 3.0)


def newton_passes(problem: Regularized) -> float:
    """What Newton's method should cost, in the work of a pass: margins, the Hessian's rows, the factorisations."""
    cells, d = float(max(1, problem.matrix.n_cells)), float(problem.d)
    steps = NEWTON_SQUARED if problem.loss.curvature else NEWTON
    if not is_direct(problem):
        return NEWTON_MARGINS + steps * 2.0 * CG_STEPS
    a_row = cells / problem.n
    full = 3.0 * cells > problem.n * d
    return NEWTON_MARGINS + a_row / (FULL_ROW if full else SPARSE_ROW) + steps * d**3 / (FACTOR * cells)
