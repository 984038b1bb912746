"""The choice of a solver for a problem (``solver="auto"``), with a reason."""

import math
from typing import NamedTuple

from hinge.problems import KernelRegularized, KernelSlackConstrained, L1Regularized, Multiclass, Problem, Regularized
from hinge.solvers.ascent.multiclass_sdca import MulticlassSDCA
from hinge.solvers.ascent.sdca import SDCA
from hinge.solvers.base import Solver
from hinge.solvers.cells.frugal import Frugal
from hinge.solvers.choice.adaptive import Adaptive
from hinge.solvers.choice.cost_model import (
    SEPARABLE,
    ascent_price,
    finite_newton_price,
    leaps_pay,
    newton_price,
    row_space_prices,
    stiffness,
    visit_price,
)
from hinge.solvers.kernel.active_rounds import MOST, fit_alone
from hinge.solvers.kernel.active_set import LARGEST, ActiveSet
from hinge.solvers.kernel.block_dual import BlockDual
from hinge.solvers.l1.cdn import CDN
from hinge.solvers.newton.finite_newton import FiniteNewton
from hinge.solvers.newton.hessians import form_of
from hinge.solvers.newton.newton import Newton
from hinge.solvers.newton.row_space import RowSpace

MANY_ROWS = 5  # rows per feature from which on Newton's method without a Hessian is considered
PROBE = 3.0  # passes of dual ascent that show how fast it converges
CHEAP = 0.15  # dual ascent is tried first if these passes cost less than this fraction of Newton's method
HOPELESS = 2.0  # but not if all of the ascent is estimated to cost this many times as much as Newton's method
CLEAR = 8.0  # dual ascent runs alone if Newton's method is estimated to cost this many times as much
MANY_DIGITS, SOON = 1e-5, 2e7  # below this tolerance Newton's method comes first, if its price is below the second
BRIEF = 2e6  # price of Newton's method below which the ascent is not tried first
CHEAPER_BRIEF = 4e6  # the same if the ascent is estimated to cost more than Newton's method
ROWS_EACH = 4  # rows per feature that such an estimate needs to be reliable
MANY_VISITS = 0.5  # R²/Λ from which on the ascent takes more than its first passes
SMALL = 3e5  # price of a pass below which subspace steps cost less than to find out whether they pay
LONG = 16.0  # passes after which steps in two directions are taken, whatever the estimate was
MANY_PASSES = 8  # a budget of this many passes suffices for SDCA, which also certifies


class Choice(NamedTuple):
    """A solver, and the reason for its choice."""

    solver: Solver
    reason: str


def frugal_for(cells: int, max_reads: float, tol: float = 1e-3) -> Solver | None:
    """The frugal learner, if a limit of reads is too low for several passes over so many cells; else None.

    With less than one pass it stops when little changes; from one pass on it continues to the SVM of all rows.

    Examples
    --------
    >>> from hinge.solvers import frugal_for
    >>> frugal_for(10**6, max_reads=10**5)
    Frugal(mode='auto', flips=0.2, gamma=0.7, least=0.05, checks=0.01, levels=12, tol=0.001)
    >>> frugal_for(10**6, max_reads=10**8) is None  # enough for many passes
    True
    """
    if max_reads >= MANY_PASSES * cells:
        return None
    return Frugal(tol=tol) if max_reads < cells else Frugal(flips=0.0, tol=tol)


def choose(problem: Problem, *, max_reads: int | None = None, tol: float = 1e-3) -> Choice:
    """The solver that ``solver="auto"`` stands for.

    Newton's method or dual coordinate ascent, whichever costs less by :mod:`hinge.solvers.choice.cost_model`;
    `Adaptive` monitors it and changes to the other if it is slow, unless the ascent is expected to end before Newton's
    method has begun. If reads are limited to a few passes, or the data is not in memory, the frugal learner, which
    keeps the cells it has read and needs no second pass. For kernel problems the block dual method, with a form for
    GPUs; with a given slack the Stochastic Batch Perceptron, with batches that grow with n. For the 1-norm coordinate
    descent over columns.

    Examples
    --------
    >>> from hinge import Regularized
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import choose
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> choice = choose(Regularized(made.X_train, made.y_train, lam=0.01), max_reads=500)
    >>> type(choice.solver).__name__, choice.reason
    ('Frugal', 'reads are limited, and cells once read are kept')
    """
    if isinstance(problem, KernelRegularized):
        if problem.n <= MOST and not problem.gram.by_value and problem.gram.narrows:
            return Choice(ActiveSet(), f"{problem.n} points have few kernel values")
        if _fits_alone(problem):
            return Choice(ActiveSet(), "most coefficients will lie between their bounds: Newton steps place them")
        if problem.gram.on_device and problem.certifiable and not problem.loss.two_sided:
            from hinge.solvers.kernel.device_block import DeviceBlock

            return Choice(DeviceBlock(), "large blocks, solved where their kernel values are")
        return Choice(BlockDual(), "blocks of kernel rows, to a certified gap")
    if isinstance(problem, KernelSlackConstrained):
        from hinge.solvers.papers.sbp import SBP

        # An even number, half for each class; larger batches only if they stay a small fraction of the rows.
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
    d, n, tol = problem.d, problem.n, min(tol, 1.0) ** 2 if problem.pull else tol  # with a free level tol bounds √gap
    if form_of(problem) == "products" and (n < MANY_ROWS * d or Newton().rejects(problem)):
        return Choice(ascent_for(problem, tol, alone=True), f"{d} features are many for {n} rows")
    if n >= ROWS_EACH * (d + 1) and (price := finite_newton_price(problem)) < CHEAPER_BRIEF:
        return Choice(FiniteNewton(tol), f"{n} rows of {d} features: some {1e-6 * price:.2g} ms of Newton's method")
    stiff = stiffness(problem)
    ascent, newton = ascent_price(problem, tol, stiff), newton_price(problem, stiff)
    work = f"{n} rows of {d} features: some {1e-6 * newton:.2g} ms against {1e-6 * ascent:.2g}"
    if problem.pull:
        return Choice(Newton(), f"{work} of dual ascent") if newton < ascent else Choice(SDCA(), f"{work} for Newton")
    if tol < MANY_DIGITS and newton < SOON and form_of(problem) == "features":
        # The error of w is the root of the gap: the last Newton step reduces it to rounding.
        exact = Adaptive(tol, "newton", ascent_for(problem, tol, stiff))
        return Choice(exact, f"{d} features, and {tol:g} asks for many digits")
    # The number of epochs is only an estimate, so a long ascent is monitored.
    if CLEAR * ascent < newton and not leaps_pay(problem, tol, stiff):
        return Choice(ascent_for(problem, tol, stiff, alone=True), f"{work} for Newton")
    if form_of(problem) == "rows":
        return _of_few_rows(problem, tol, stiff)
    price = newton / (n * visit_price(problem))  # in passes of dual ascent
    if stiff >= MANY_VISITS and _is_brief(problem, newton, ascent):
        few = f"{n} rows of {d} features: Newton's method needs some {1e-6 * newton:.2g} ms"
        return Choice(Adaptive(tol, "newton", ascent_for(problem, tol, stiff), price=float(f"{price:.3g}")), few)
    tried = CHEAP * price > PROBE and ascent < HOPELESS * newton
    separable = n < SEPARABLE * (d + 1) and problem.loss.low == 0.0 == problem.loss.curvature
    if form_of(problem) != "features" or separable:  # the estimate is too uncertain
        tried = True
    elif ascent > newton:  # so that `Adaptive` expects the geometric mean of this estimate and of what it measures
        price *= newton / ascent
    price = float(f"{price:.3g}")
    if ascent <= newton or tried:
        watched = Adaptive(tol, ascent=ascent_for(problem, tol, stiff), price=price)
        return Choice(watched, f"{work} for Newton, which takes over if the ascent is slow")
    return Choice(Adaptive(tol, "newton", ascent_for(problem, tol, stiff), price=price), f"{work} of dual ascent")


def _of_few_rows(problem: Regularized, tol: float, stiff: float) -> Choice:
    """Dual ascent, and later a solver in the span of the rows, for dense rows that are fewer than the features.

    That pays as soon as the remaining passes cost more than the inner products of the rows; from the beginning, if the
    ascent is estimated to cost more.
    """
    n, d, (factor, a_pass, newton) = problem.n, problem.d, row_space_prices(problem)
    here, ascent, climb = n * visit_price(problem), ascent_price(problem, tol, stiff), ascent_for(problem, tol, stiff)
    ratio = a_pass / here
    there = RowSpace(tol, Adaptive(tol, ascent=climb, price=float(f"{newton / a_pass:.3g}")))
    paid = min(factor / (1.0 - ratio) if ratio < 1.0 else math.inf, factor + newton)
    begin = "newton" if factor + min(ratio * ascent, newton) < ascent else "ascent"
    watched = Adaptive(tol, begin, climb, there, float(f"{paid / here:.3g}"))
    return Choice(watched, f"{n} rows of {d} features: their inner products cost some {factor / here:.2g} passes")


def _is_brief(problem: Regularized, newton: float, ascent: float) -> bool:
    """Whether Newton's method is so fast that starting with the ascent gains little.

    The gain would be less than the cost of the change; and if no compiled code is cached yet, a second method takes
    seconds to compile.
    """
    if not problem.loss.curvature or form_of(problem) != "features" or problem.n < ROWS_EACH * (problem.d + 1):
        return False
    return newton < (CHEAPER_BRIEF if newton < ascent else BRIEF)


def ascent_for(problem: Regularized, tol: float = 1e-3, stiff: float | None = None, *, alone: bool = False) -> SDCA:
    """Dual coordinate ascent, with steps in a two-dimensional subspace if they pay (`leaps_pay`).

    If it runs `alone`, not monitored by `Adaptive`, it takes such steps at the latest after some passes. `stiff` is
    R²/Λ, if known.

    Examples
    --------
    >>> from hinge import Regularized
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers.choice.auto import ascent_for
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> [ascent_for(Regularized(made.X_train, made.y_train, lam)).acceleration for lam in (0.1, 1e-4)]
    ['none', 'subspace']
    """
    if problem.n * visit_price(problem) < SMALL or leaps_pay(problem, tol, stiff):
        return SDCA(tol=tol, acceleration="subspace")
    # If the ascent runs alone, the estimate may fail: a run that takes long gets these steps in any case.
    return SDCA(tol=tol, acceleration="subspace", after=LONG) if alone else SDCA(tol=tol)


def _fits_alone(problem: KernelRegularized) -> bool:
    """Whether the points of a regression could each reach their target alone, and the whole Gram matrix fits."""
    gram = problem.gram
    if not problem.loss.two_sided or gram.by_value or not gram.narrows:
        return False
    if not (problem.n <= LARGEST and gram.capacity >= problem.n and problem.certifiable):
        return False
    return fit_alone(problem.boxes, gram.diag, problem.spread)
