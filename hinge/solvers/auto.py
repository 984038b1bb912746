"""Which solver for which problem, and why."""

import math
from typing import NamedTuple

import numpy as np

from hinge.problems import KernelRegularized, KernelSlackConstrained, L1Regularized, Multiclass, Problem, Regularized
from hinge.solvers.base import Solver
from hinge.solvers.cells.frugal import Frugal
from hinge.solvers.kernel.active_set import LARGEST, MOST, ActiveSet, fit_alone
from hinge.solvers.kernel.block_dual import BlockDual
from hinge.solvers.linear.cdn import CDN
from hinge.solvers.linear.hessians import CG_STEPS, form_of, is_full
from hinge.solvers.linear.multiclass_sdca import MulticlassSDCA
from hinge.solvers.linear.newton import Newton, begins_with
from hinge.solvers.linear.sdca import SDCA, TYPICAL

MOST_FEATURES = 1024
ASCENT = 5.0  # passes of dual ascent to a gap of 1e-3 where Λ is large
SOME = 32  # rows, or up to twice as many, that tell how many directions there are
SUPPORT = 0.5  # share of the rows that take part in the answer
STEPS, STEPS_SQUARED = 12.0, 5.0  # of Newton's method on all rows, where it begins with few
ALL_STEPS, ALL_STEPS_SQUARED = 25.0, 8.0  # and where all are in use at once
NEWTON_MARGINS = 8.0  # passes over all rows of a run that begins with few
STEP_MARGINS = 4.0  # and those of each step on all rows at once
FULL_ROW, SPARSE_ROW = 30.0, 4.0  # cells of a row for which its part of a Hessian takes as long as a pass takes
FACTOR = 50.0  # cells that are visited in the time of one cubed feature of a factorisation
STEP_CELLS = 100_000.0  # and in the time that a step takes besides
FEW = 40.0  # passes that are foretold well
MANY_DIGITS = 1e-5  # tolerance below which Newton's steps, which double them, are surer
ROW_CELLS = 16.0  # and in that which a row takes besides
NEAR = 1 << 22  # bytes of data that stay near the processor
FAR_CELLS = 100.0  # cells that are visited in the time in which memory finds a row, where there are more
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
        if _fits_alone(problem):
            return Choice(ActiveSet(), "most coefficients will lie between their bounds: Newton steps place them")
        return Choice(BlockDual(), "blocks of kernel rows, to a certified gap")
    if isinstance(problem, KernelSlackConstrained):
        from hinge.solvers.kernel.sbp import SBP

        # An even number, half for each class; larger batches only where they stay a small share of the rows.
        batch = 2 * max(1, min(16, problem.n // 256))
        return Choice(SBP(batch_size=batch), "the slack is given, and its steps need no λ")
    if isinstance(problem, Multiclass):
        return Choice(MulticlassSDCA(), "all classes of a row in one exact step")
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
        frugal = None if problem.loss.two_sided or problem.pull else frugal_for(problem.pass_cells, max_reads)
        if frugal is not None:
            return Choice(frugal, "reads are limited, and cells once read are kept")
        return Choice(SDCA(), "reads are limited to many passes, and an iteration reads a single row")
    d, n, tol = problem.d, problem.n, min(tol, 1.0) ** 2 if problem.pull else tol  # of a free level, the root of a gap
    if form_of(problem) == "products" and not (d <= MOST_FEATURES and n >= d):
        return Choice(SDCA(), f"{d} features are many for {n} rows")
    ascent = ascent_passes(problem, tol) * disorder(problem)
    newton = newton_passes(problem, ascent <= FEW and tol >= MANY_DIGITS)
    work = f"{n} rows of {d} features: the work of some {newton:.0f} passes against {ascent:.0f}"
    return Choice(Newton(), f"{work} of dual ascent") if newton < ascent else Choice(SDCA(), f"{work} for Newton")


def _fits_alone(problem: KernelRegularized) -> bool:
    """Whether points of a regression fit alone, and the whole Gram matrix is kept."""
    gram = problem.gram
    if not problem.loss.two_sided or gram.by_value or not gram.narrows:
        return False
    if not (problem.n <= LARGEST and gram.capacity >= problem.n and problem.certifiable):
        return False
    return fit_alone(problem.boxes, gram.diag, problem.spread)


def ascent_passes(problem: Regularized, tol: float) -> float:
    """Passes that dual coordinate ascent should need: its rate is :math:`1 + R^2/\\Lambda` passes for a factor e.

    R² is the typical squared norm of a row and :math:`\\Lambda = \\lambda\\sum_i s_i`, as in `SDCA`; the factor in
    front was measured. Where there are fewer rows than directions, rows are nearly orthogonal and the ascent is
    faster: the inner products of m random rows of D directions have no eigenvalue much below
    :math:`R^2(1 - \\sqrt{m/D})^2`.
    """
    sq = problem.matrix.typical_sq_norm(TYPICAL) + problem.constant_sq
    rate = sq / (problem.lam * problem.total)
    crowd = SUPPORT * problem.n / directions(problem)
    if crowd < 1.0:
        rate = min(rate, (1.0 - math.sqrt(crowd)) ** -2)
    return ASCENT * (1.0 + rate) * max(1.0, -math.log10(max(tol, 1e-16)) / 3.0)


def disorder(problem: Regularized) -> float:
    """How much longer than a pass in order one takes that visits rows in a random order."""
    matrix = problem.matrix
    far = matrix.n_cells * (matrix.dtype.itemsize + (4 if matrix.is_sparse else 0)) > NEAR
    return 1.0 + far * FAR_CELLS / (matrix.n_cells / problem.n + ROW_CELLS)


def directions(problem: Regularized) -> float:
    """In how many directions rows differ, as if equally in each: :math:`(\\operatorname{tr}\\Sigma)^2/
    \\operatorname{tr}\\Sigma^2` of their covariance, from the inner products of some of them.
    """
    G = problem.matrix.inner_products(np.arange(0, problem.n, max(1, problem.n // SOME)))
    m = len(G)
    if m < 4:
        return float(problem.d)
    sq = float(np.trace(G)) / m
    np.fill_diagonal(G, 0.0)
    each, mean = G.sum(axis=1) / (m - 1), float(G.sum()) / (m * (m - 1))
    apart = G - each[:, None] - each + mean
    np.fill_diagonal(apart, 0.0)
    squares, sq = float((apart**2).sum()) / (m * (m - 3)), sq - mean
    return min(float(problem.d), sq**2 / squares) if squares > 0.0 < sq else float(problem.d)


def newton_passes(problem: Regularized, overhead: bool = True) -> float:
    """What Newton's method should cost, in the work of a pass: margins, the Hessian's rows, the factorisations.

    And, for small data, what a step costs besides. It is not counted where the ascent should need many passes, or many
    digits are asked for: then it may need far more, up to its limit, and a few milliseconds are not worth that.
    """
    n, d = float(problem.n), float(problem.d)
    cells = problem.matrix.n_cells + ROW_CELLS * n
    squared, form = problem.loss.curvature > 0.0, form_of(problem)
    if form == "products":
        return NEWTON_MARGINS + (STEPS_SQUARED if squared else STEPS) * 2.0 * CG_STEPS
    a_row = (n if form == "rows" else cells / n) / (FULL_ROW if is_full(problem) else SPARSE_ROW)
    a_step = ((n if form == "rows" else d) ** 3 / FACTOR + STEP_CELLS * overhead) / cells
    if begins_with(problem) < n:
        return NEWTON_MARGINS + a_row + (STEPS_SQUARED if squared else STEPS) * a_step
    return a_row + (ALL_STEPS_SQUARED if squared else ALL_STEPS) * (STEP_MARGINS + a_step)
