"""The choice of a solver for a problem (``solver="auto"``), with a reason."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hinge.problems import KernelRegularized, KernelSlackConstrained, L1Regularized, Multiclass, Problem, Regularized
from hinge.problems.svm.levels import KernelLevels
from hinge.solvers.ascent.multiclass_sdca import MulticlassSDCA
from hinge.solvers.ascent.sdca import SDCA
from hinge.solvers.base import Solver
from hinge.solvers.cells.frugal import Frugal
from hinge.solvers.choice.cost_model import (
    SEPARABLE,
    SUPPORT,
    ascent_cost,
    central_path_cost,
    finite_newton_cost,
    newton_cost,
    row_space_costs,
    stiffness,
)
from hinge.solvers.choice.switch import Switch
from hinge.solvers.kernel.active_rounds import MOST, fit_alone
from hinge.solvers.kernel.active_set import LARGEST, ActiveSet
from hinge.solvers.kernel.block_dual import BlockDual
from hinge.solvers.kernel.from_landmarks import FromLandmarks
from hinge.solvers.kernel.level_blocks import LevelBlocks
from hinge.solvers.l1.cdn import CDN
from hinge.solvers.newton.central_path import CentralPath
from hinge.solvers.newton.finite_newton import FiniteNewton
from hinge.solvers.newton.multiclass_newton import MulticlassNewton
from hinge.solvers.newton.newton import Newton
from hinge.solvers.newton.row_space import RowSpace
from hinge.solvers.newton.row_sums import A_ROW
from hinge.solvers.newton.systems import STEP, form_of, pass_cost

PLAIN_PASSES = 4.0  # passes after which the ascent takes subspace steps
UNCOMPILED = 8e6  # nanoseconds below which a fit that needs no compiled code is preferred: compiling takes seconds
DOUBT = 100.0
"""Times by which the ascent may be faster than is estimated (`python benchmarks/regret.py --shapes 40 --seed 3011`)."""
MONITORING = 5.0
"""What monitoring an ascent costs besides its passes, in the Python calls of as many steps of Newton's method."""
STIFF = 100.0
"""C K(x, x) of a ν-SVM of regression, in standard deviations of its targets, up to which splitting solves it.

It took 34 rounds at 100 and 234 at 1,000 (300 x 3, a linear kernel), where pair steps took 15 and 12."""
PART_CELLS = 1 << 20
"""Least cells of a pass for each thread: some milliseconds. Threads meet several times in a step, which costs some
tenths of a millisecond."""


class Choice(NamedTuple):
    """A solver, and the reason for its choice."""

    solver: Solver
    reason: str


def choose(problem: Problem, *, few_reads: bool = False, tol: float = 1e-3) -> Choice:
    """The solver that ``solver="auto"`` stands for.

    Newton's method or dual coordinate ascent, whichever costs less by :mod:`hinge.solvers.choice.cost_model`;
    `Switch` monitors it and changes to the other if it is slow. `FiniteNewton` alone where a squared loss takes it
    milliseconds, `CentralPath` where another loss does, dual ascent (`SDCA`) alone where features are too many for
    Newton's method. If `few_reads` are wanted rather than little time, as under any limit of reads, or if the data is
    not in memory, the frugal learner, which keeps the cells it has read and needs no second pass. For kernel problems
    the block dual method, with a form for GPUs, after landmarks where kernel rows exceed the cache; with ν in place of
    C `LevelBlocks`, and the same form for GPUs; with a given slack the Stochastic Batch Perceptron, with batches that
    grow with n. For the 1-norm coordinate descent over columns.

    Examples
    --------
    >>> from hinge import Regularized
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import choose
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> choice = choose(Regularized(made.X_train, made.y_train, lam=0.01), few_reads=True)
    >>> type(choice.solver).__name__, choice.reason
    ('Frugal', 'few reads are wanted, and cells once read are kept')
    """
    if isinstance(problem, KernelRegularized):
        if problem.n <= MOST and not problem.gram.by_value and problem.gram.narrows:
            return Choice(ActiveSet(), f"{problem.n} points have few kernel values")
        if _fits_alone(problem):
            return Choice(ActiveSet(), "most coefficients will lie between their bounds: Newton steps place them")
        if problem.gram.on_device and problem.certifiable:
            from hinge.solvers.kernel.device_block import MANY, DeviceBlock

            if problem.n >= MANY and (begins := FromLandmarks(DeviceBlock())).rejects(problem) is None:
                return Choice(begins, "landmarks tell most of many support vectors")
            return Choice(DeviceBlock(), "large blocks, solved where their kernel values are")
        if _rows_exceed_cache(problem):
            return Choice(FromLandmarks(), "rows of support vectors exceed the cache: landmarks spare visits to most")
        return Choice(BlockDual(), "blocks of kernel rows, to a certified gap")
    if isinstance(problem, KernelLevels):
        if problem.gram.on_device and problem.certifiable and not _is_stiff(problem):
            from hinge.solvers.kernel.device_block import DeviceBlock

            return Choice(DeviceBlock(), "large blocks, solved where their kernel values are")
        return Choice(LevelBlocks(), "blocks of kernel rows, on a subset that grows")
    if isinstance(problem, KernelSlackConstrained):
        from hinge.solvers.papers.sbp import SBP

        # An even number, half for each class; larger batches only if they stay a small fraction of the rows.
        batch = 2 * max(1, min(16, problem.n // 256))
        return Choice(SBP(batch_size=batch), "the slack is given, and its steps need no λ")
    if isinstance(problem, Multiclass):
        return _of_several_classes(problem, tol, few_reads)
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
    if few_reads and (problem.loss.two_sided or problem.pull):
        return Choice(SDCA(), "few reads are wanted, and an iteration reads a single row")
    if few_reads:
        return Choice(Frugal(flips=0.0, tol=tol), "few reads are wanted, and cells once read are kept")
    return _choose_linear(problem, min(tol, 1.0) ** 2 if problem.pull else tol)  # with a free level tol bounds √gap


def _is_stiff(problem: KernelLevels) -> bool:
    """Whether a regression may move by far more than its targets differ: splitting then takes hundreds of rounds."""
    reach, spread = float(problem.boxes.max() * problem.gram.diag.mean()), float(np.std(problem.linear))
    return problem.loss.two_sided and reach > STIFF * spread


def _choose_linear(problem: Regularized, tol: float) -> Choice:
    """Dual ascent or Newton's method for rows in memory: who begins, and what the other would cost."""
    n, d = problem.n, problem.d
    if not problem.loss.piecewise:
        smooth: Solver = SDCA(tol=tol) if FiniteNewton().rejects(problem) else FiniteNewton(tol)
        return Choice(smooth, f"the {problem.loss.name} loss is not piecewise quadratic")
    if (cost := finite_newton_cost(problem)) < UNCOMPILED:
        return Choice(FiniteNewton(tol), f"{n} rows of {d} features: some {1e-6 * cost:.2g} ms of Newton's method")
    path, why = central_path_cost(problem, tol), f"{n} rows of {d} features: a dozen Newton steps in compiled code"
    if path < MONITORING * STEP:
        return Choice(CentralPath(tol), why)
    if Newton().rejects(problem):  # more features than `MOST_FEATURES`
        return Choice(ascent_for(tol), f"{d} features are many for {n} rows")
    stiff = stiffness(problem)
    ascent, newton, ns_of_pass = ascent_cost(problem, tol, stiff), newton_cost(problem), pass_cost(problem)
    work = f"{n} rows of {d} features: some {1e-6 * newton:.2g} ms of Newton's method against {1e-6 * ascent:.2g}"
    if path < min(ascent + MONITORING * STEP, newton):
        return Choice(CentralPath(tol), why)
    if problem.pull:
        return Choice(Newton() if newton < ascent else SDCA(), work)
    if form_of(problem) == "rows":
        return _choose_by_rows(problem, tol, stiff)
    # Steps are hard to foresee if a plane separates the rows: the ascent is tried, for a share of Newton's price.
    doubt = DOUBT if n < SEPARABLE * d else 1.0
    begin = "newton" if doubt * newton < ascent else "ascent"
    passes, least = (float(f"{cost / ns_of_pass:.3g}") for cost in (newton, ascent / DOUBT))
    return Choice(Switch(tol, begin, ascent_for(tol), newton_passes=passes, ascent_passes=least), work)


def _choose_by_rows(problem: Regularized, tol: float, stiff: float) -> Choice:
    """Dual ascent, and later a solver in the span of the rows, for dense rows that are fewer than the features.

    That pays as soon as the remaining passes cost more than the inner products of the rows; from the beginning, if the
    ascent is estimated to cost more.
    """
    n, d, (factor, inner_pass, newton) = problem.n, problem.d, row_space_costs(problem)
    ns_of_pass, ascent = pass_cost(problem), ascent_cost(problem, tol, stiff)
    ratio = inner_pass / ns_of_pass
    inner = RowSpace(tol, Switch(tol, ascent=ascent_for(tol), newton_passes=float(f"{newton / inner_pass:.3g}")))
    price = min(factor / (1.0 - ratio) if ratio < 1.0 else math.inf, factor + newton)
    begin = "newton" if factor + min(ratio * ascent, newton) < ascent else "ascent"
    watched: Solver = Switch(tol, begin, ascent_for(tol), inner, float(f"{price / ns_of_pass:.3g}"))
    return Choice(watched, f"{n} rows of {d} features: their inner products cost some {factor / ns_of_pass:.2g} passes")


def _of_several_classes(problem: Multiclass, tol: float, few_reads: bool) -> Choice:
    """Dual ascent, and Newton's method where that is slow; the ascent alone for few reads, or large d."""
    if few_reads or MulticlassNewton().rejects(problem):
        return Choice(MulticlassSDCA(), "all classes of a row in one exact step")
    both: Solver = Switch(tol, ascent=MulticlassSDCA(), newton=MulticlassNewton())
    return Choice(both, "all classes of a row in one exact step; Newton's method takes over if the ascent is slow")


def ascent_for(tol: float = 1e-3) -> SDCA:
    """Dual coordinate ascent, which takes subspace steps once it has run for longer than most runs need.

    Examples
    --------
    >>> from hinge.solvers.choice.auto import ascent_for
    >>> ascent_for(1e-2).acceleration
    'subspace'
    """
    return SDCA(tol=tol, acceleration="subspace", after=PLAIN_PASSES)


def in_parts(solver: Solver, problem: Problem, threads: int) -> Solver:
    """The solver for several threads, if the problem is large enough: `Newton` in parts.

    Dual ascent stays with one: what rows have in common is corrected by every part of `CoCoA`, which so needs about as
    many times the passes as it has threads (``benchmarks/threads.py``).
    """
    if threads == 1 or not isinstance(problem, Regularized) or not problem.in_memory:
        return solver
    if type(solver) is Switch:
        return replace(solver, newton=in_parts(solver.newton, problem, threads))
    parts = min(threads, (problem.matrix.n_cells + A_ROW * problem.n) // PART_CELLS)
    return replace(solver, parts=parts) if parts > 1 and type(solver) is Newton else solver


def _rows_exceed_cache(problem: KernelRegularized) -> bool:
    """Whether rows of about as many points as will be support vectors do not fit, and so are computed several times.

    Then the dual point of landmarks costs little beside an exact run: its S²/2 values are fewer than those rows have.
    """
    gram = problem.gram
    plain = gram.narrows and not gram.by_value and gram.weights is None
    return plain and gram.capacity < SUPPORT * problem.n and FromLandmarks().rejects(problem) is None


def _fits_alone(problem: KernelRegularized) -> bool:
    """Whether the points of a regression could each reach their target alone, and the whole Gram matrix fits."""
    gram = problem.gram
    if not problem.loss.two_sided or gram.by_value or not gram.narrows:
        return False
    if not (problem.n <= LARGEST and gram.capacity >= problem.n and problem.certifiable):
        return False
    rank = math.inf if gram.weights is None else gram.weights.rows.shape[1]
    return fit_alone(problem.boxes, gram.diag, problem.spread, rank)
