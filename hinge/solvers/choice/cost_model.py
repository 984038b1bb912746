"""What dual coordinate ascent and Newton's method should cost on a problem, by its sizes and a few of its rows.

Work is counted in the unit costs of :mod:`hinge.solvers.newton.systems` and never measured by a clock, so that the
same problem is always solved in the same way. Each method has two numbers for how many passes or steps it takes, which
``python benchmarks/regret.py --shapes 40`` measures: the regret of the choice is what they are fitted to.
"""

import math
from typing import NamedTuple

import numpy as np

from hinge.problems import Multiclass, Regularized
from hinge.problems.base import EPS
from hinge.solvers.ascent.sdca import TYPICAL
from hinge.solvers.newton.newton import begins_with
from hinge.solvers.newton.systems import (
    CELL,
    DIRECT,
    FLOP,
    NONZERO,
    ROW,
    SPARSE_FLOP,
    STEP,
    factor_cost,
    form_of,
    hessian_cost,
    pass_cost,
)

ROOT = 3.5  # passes of the ascent with subspace steps, per digit and unit of the root of R²/Λ
SUPPORT = 0.5  # share of the rows that take part in the answer, about
STEPS, CROWDED = 3.0, 80.0  # steps of Newton's method in a stage with many rows a feature, and more by √(d/n)
CG_PASSES = 5.0  # passes of a step without a Hessian, times features over rows that take part; `benchmarks/regret.py`
SEPARABLE = 16.0  # rows for each feature below which a plane may separate them, and steps are hard to foresee
SQUARED = 0.1  # share of CROWDED that a squared loss takes, which needs no smoothing, unless rows are separable
PATH_STEPS = 15.0
"""Steps of interior point methods, whatever the scales and λ: `benchmarks/costs.py` prints them for
`MulticlassNewton`, `benchmarks/small.py`, in its rows with the hinge, for `CentralPath`."""
NEWTON_PASSES = 6.0  # of BlockNewton, which begins with a sample in memory: `benchmarks/out_of_core.py` prints them
FETCH = 2.0  # nanoseconds to get a cell of a row from a disk, decoded: `benchmarks/out_of_core.py`, its plain passes


def ascent_cost(problem: Regularized, tol: float, stiff: float | None = None) -> float:
    """The cost of dual coordinate ascent to a gap, by R²/Λ (`stiffness`).

    Its gap falls by a constant factor in each pass, after one pass for each digit where rows are nearly orthogonal;
    subspace steps make passes grow with the root of R²/Λ alone, as conjugate gradients do.
    """
    return ascent_passes(stiffness(problem) if stiff is None else stiff, tol) * pass_cost(problem)


def ascent_passes(stiff: float, tol: float, *, accelerated: bool = True) -> float:
    """Passes of the ascent, with subspace steps or without, see `ascent_cost`."""
    digits = digits_of(tol)
    slow = ROOT * math.sqrt(stiff) if accelerated else math.log(10.0) * stiff
    # Two passes in any case: one that takes gradient steps, one that measures the gap.
    return 2.0 + max(0.0, math.log10(stiff) + digits) + slow * max(1.0, digits)


def digits_of(tol: float) -> float:
    """Decimal digits that a relative gap asks for."""
    return -math.log10(max(tol, EPS))


def stiffness(problem: Regularized) -> float:
    """:math:`R^2/\\Lambda`: without acceleration, the gap of the ascent falls by a factor e in about one pass more.

    R² is the typical squared norm of a row and :math:`\\Lambda = \\lambda\\sum_i s_i`, as in `SDCA`; for a loss that is
    not squared, in units of the targets: targets twice as large are as λ twice as large. Where there are
    fewer rows than directions, the differences of rows from their mean are nearly orthogonal and the ascent is faster:
    with a mean square V of these, the inner products of m random rows of D directions have no eigenvalue much below
    :math:`V(1 - \\sqrt{m/D})^2`.
    """
    sq = problem.matrix.typical_sq_norm(TYPICAL) + problem.constant_sq
    stiff = plain_stiffness(problem, sq)
    if SUPPORT * problem.n < problem.d:
        differences = row_differences(problem)
        if SUPPORT * problem.n < differences.directions:
            crowd = SUPPORT * problem.n / differences.directions
            least = differences.sq * (1.0 - math.sqrt(crowd)) ** 2
            stiff = min(stiff, sq / least) if least > 0.0 else stiff  # rows may be zero
    return max(stiff, 1e-300)


def plain_stiffness(problem: Regularized, sq: float) -> float:
    """R²/Λ of many rows, by their typical squared norm."""
    return sq / (problem.lam * problem.total * (1.0 if problem.loss.curvature else problem.spread))


class Differences(NamedTuple):
    """In how many directions rows differ from their mean, as if equally in each, and their mean squared distance."""

    directions: float
    sq: float


def row_differences(problem: Regularized, some: int = 32) -> Differences:
    """How rows differ, by the inner products of `some` of them or up to twice that number:
    :math:`(\\operatorname{tr}\\Sigma)^2/\\operatorname{tr}\\Sigma^2` and :math:`\\operatorname{tr}\\Sigma` of their
    covariance.
    """
    G = problem.matrix.inner_products(np.arange(0, problem.n, max(1, problem.n // some)))
    if len(G) < 4:
        return Differences(float(problem.d), float(G.diagonal().mean()))
    found = _differences(G)
    return found._replace(directions=min(float(problem.d), found.directions))


def _differences(G: np.ndarray) -> Differences:
    """The same by inner products, 0 and 0 if rows do not differ: the mean of each with the others is subtracted."""
    m, own = len(G), G.diagonal()
    each = (G.sum(axis=1) - own) / (m - 1)
    mean, sq = float(each.mean()), float(own.mean())
    apart = G - each[:, None] - each + mean
    np.fill_diagonal(apart, 0.0)
    squares = float(np.vdot(apart, apart)) / (m * (m - 3))
    if not sq - mean > 0.0:
        return Differences(0.0, 0.0)
    return Differences((sq - mean) ** 2 / squares if squares > 0.0 else math.inf, sq - mean)


def is_separable(problem: Regularized) -> bool:
    """Whether the rows that take part are fewer than the features, so that some plane separates them."""
    return SUPPORT * problem.n < problem.d


def newton_steps(problem: Regularized, *, few: bool = False) -> float:
    """Steps of Newton's method: two stages, for a parabola and a centre, and more the fewer rows a feature has.

    With a squared loss, of `few` rows in all, it takes few steps where rows are separable, too.
    """
    squared = problem.loss.curvature and (few or not is_separable(problem))
    crowded = CROWDED * (SQUARED if squared else 1.0) * math.sqrt(min(1.0, (problem.d + 1.0) / problem.n))
    steps = 2.0 * STEPS + crowded
    # Without a sample to begin with, the stages of a wide parabola are on all rows, too.
    return steps + STEPS if begins_with(problem) == problem.n and not problem.loss.curvature else steps


def newton_cost(problem: Regularized, *, few: bool = False) -> float:
    """The cost of Newton's method: its steps on all rows, the Hessian and its factors; or products without it."""
    n, d, form, steps = float(problem.n), float(problem.d), form_of(problem), newton_steps(problem, few=few)
    if form == "products":
        # Conjugate gradients are the faster the more of the rows that take part there are for each feature.
        products = CG_PASSES * d / (SUPPORT * n)
        return steps * (STEP + (1.0 + products) * pass_cost(problem))
    a_step = STEP + factors_cost(problem)
    if form == "rows":
        return FLOP * n * n * d + steps * (a_step + 2.0 * pass_cost(problem))
    return steps * (a_step + pass_cost(problem)) + hessian_cost(problem)


def factors_cost(problem: Regularized) -> float:
    """The cost of the factors that a step of Newton's method makes; 0 where it multiplies instead."""
    sizes = {"features": float(problem.d), "rows": SUPPORT * problem.n, "products": 0.0}
    return factor_cost(sizes[form_of(problem)])


class RowSpaceCosts(NamedTuple):
    """The costs of coordinates in the rows' span; with them, of a pass of the ascent, and of Newton's method."""

    factor: float
    a_pass: float
    newton: float


def row_space_costs(problem: Regularized) -> RowSpaceCosts:
    """What it costs to form the inner products of n rows, and to continue with n numbers for each, see `RowSpace`."""
    n, a_pass = float(problem.n), problem.n * (ROW + CELL * problem.n)
    factor = STEP + FLOP * n * n * problem.d + factor_cost(SUPPORT * n)
    return RowSpaceCosts(factor, a_pass, newton_steps(problem) * (STEP + 2.0 * a_pass + factor_cost(SUPPORT * n)))


def finite_newton_cost(problem: Regularized) -> float:
    """The cost of `FiniteNewton`; infinite if it cannot solve the problem, or should begin with few rows."""
    if not problem.loss.curvature or problem.pull or problem.bias == "free" or form_of(problem) != "features":
        return math.inf
    if begins_with(problem) < problem.n:
        return math.inf
    return newton_cost(problem, few=True)


def central_path_cost(problem: Regularized, tol: float) -> float:
    """The cost of `CentralPath`, which has a loop for every product; infinite as for `finite_newton_cost`.

    Rounding of its systems leaves a relative gap of about R²/Λ roundings: it is not for a tol near that.
    """
    n, m = float(problem.n), problem.d + 1.0
    if problem.loss.curvature or problem.pull or problem.bias == "free" or problem.d > DIRECT:
        return math.inf
    if begins_with(problem) < problem.n:
        return math.inf
    if 100.0 * EPS * plain_stiffness(problem, problem.largest_norm() ** 2 + problem.constant_sq) > tol:
        return math.inf
    return PATH_STEPS * n * (0.5 * ROW * (1 + problem.loss.two_sided) + CELL * (0.4 * m * m + 4.0 * m))


class BlockCosts(NamedTuple):
    """What all passes cost for each row, and one pass of the ascent."""

    ascent: float
    newton: float
    ascent_pass: float


def block_costs(
    d: int, cells: float, sparse: bool, stiff: float, tol: float, *, read: float = FETCH, visits: int = 3
) -> BlockCosts:
    """The costs of dual ascent and Newton's method where every pass reads rows that are not in memory.

    Rows have `cells` nonzeros each. `stiff` is R²/Λ, `read` the cost of getting a cell (by default from a disk,
    decoded), and `visits` those of `BlockAscent` to a row while it is in memory, which are worth their root in passes.
    """
    visit = ROW + (NONZERO if sparse else CELL) * cells
    a_pass = read * cells + (visits + 2.0) * visit  # and two for the certificate: responses, combination
    square = SUPPORT * min(FLOP * d * d, SPARSE_FLOP * cells * cells)
    passes = ascent_passes(max(stiff, 1e-300), tol, accelerated=False) / math.sqrt(visits)
    return BlockCosts(max(2.0, passes) * a_pass, NEWTON_PASSES * (read * cells + 4.0 * visit + square), a_pass)


def multiclass_passes(problem: Multiclass) -> float:
    """The cost of `MulticlassNewton`, in passes of `MulticlassSDCA`.

    A step has a Hessian for each pair of classes, of a copy of the rows, which is read and written; the factor of all
    of them; and for each class four products with all rows: of two directions, there and back. A pass of the ascent
    has a product with each class.
    """
    n, m, k, matrix = float(problem.n), problem.d + 1.0, problem.k, problem.matrix
    step = STEP + 0.5 * k * (k - 1) * n * m * (2.0 * CELL + FLOP * m)
    step += factor_cost((k - 1) * m) + n * k * (ROW + 4.0 * CELL * m)
    return PATH_STEPS * step / (ROW * n + (NONZERO if matrix.is_sparse else CELL) * k * matrix.n_cells)
