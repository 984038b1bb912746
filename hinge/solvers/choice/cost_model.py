"""What dual coordinate ascent and Newton's method should cost on a problem, by its sizes and a few rows.

Prices are nanoseconds of one processor, of which only ratios are used. Nothing here looks at a clock, so that who
decides by prices decides the same each time. The constants were measured on random data of many shapes.
"""

import math
from typing import NamedTuple

import numpy as np

from hinge.problems import Regularized
from hinge.solvers.ascent.sdca import TYPICAL
from hinge.solvers.choice.newton_costs import (
    CUBE,
    FULL_SQUARE,
    SPARSE_SQUARE,
    STEP,
    STEP_FULL,
    STEP_ROW,
    STEP_SPARSE,
    factor_price,
    rows_price,
    squares_price,
)
from hinge.solvers.newton.hessians import form_of
from hinge.solvers.newton.newton import begins_with

VISIT, FULL_CELL, SPARSE_CELL = 110.0, 0.7, 2.2  # a visit of a row by the ascent, and each of its cells
SEPARABLE = 16  # rows per feature below which a plane may separate them: estimates are unreliable then for small λ
NEAR = 1 << 22  # bytes of data that stay near the processor
FAR = 30.0  # what a row costs besides if there is more data than that: it lies in a random place of memory
FIRST = 2.0  # passes of the ascent in any case: one of gradient steps, one that sees the gap
DIGIT = 0.75  # passes for each decimal digit of R²/Λ over the tolerance
STIFF = 1.7  # passes for each unit of R²/Λ and each digit
LEAP = 3.5  # passes for each unit of its root and each digit, where there are steps in two directions besides
MANY_EPOCHS = 3.0  # R²/Λ times digits after the first, from which on each epoch of the ascent does much as the last
EVEN = 8.0  # rows for each feature at which that takes twice as much: the more there are, the less is left to a step
LEAP_CELL = 40.0  # what such a step costs for each row and feature, against what it saves of an epoch
SOME = 32  # rows, or up to twice as many, that tell how many directions there are
SUPPORT = 0.5  # share of the rows that take part in the answer
LEAST_STEPS, MORE_STEPS, CROWDED_STEPS = 2.5, 4.0, 80.0  # steps on all rows: in any case, and where R²/Λ is large
FLAT = 20.0  # the R²/Λ at which half of the additional steps are needed
SMALL_STEPS = 1.5  # the steps on samples of the rows cost as much as this many steps on all rows
WIDE_STEPS = 4.0  # additional steps on all rows, with wide parabolas, if no sample is used
CG_PASSES, CG_CROWDED = 40.0, 8000.0  # passes where the Hessian is not formed, and where features are as many as rows
CG_SQUARED = 0.3  # share of these where nothing is smoothed
ROWS_STEPS, ROWS_SQUARED = 40.0, 15.0  # steps where rows are fewer than features, and where nothing is smoothed either
ROWS_CURVED = 0.17  # share of their cube that a factor costs: of those on the parabola alone
UNPACK = 3.0  # a cell that is copied for the inner products of the rows
SQUARED = 0.1  # share of crowded steps where nothing is smoothed
COLD_STEPS, FINITE_STEP = 6.0, 1.5e5  # steps of Newton's method on a squared loss from w = 0, and what one costs
READ = 2.0  # a cell that is not in memory: read from a disk, decoded, put in its row
VISITS, LOOKS = 3.0, 2.0  # visits to a row while its block is in memory, and products with it besides
GAIN = 2.0  # by what these visits divide the passes
NEWTON_PASSES, NEWTON_LOOKS = 6.0, 4.0  # passes of Newton's method, and products with a row in each
CURVED = 0.3  # share of the rows that are on the parabola, about


def visit_price(problem: Regularized) -> float:
    """What the ascent pays for a row."""
    matrix = problem.matrix
    far = matrix.n_cells * (matrix.dtype.itemsize + (4 if matrix.is_sparse else 0)) > NEAR
    return VISIT + FAR * far + (SPARSE_CELL if matrix.is_sparse else FULL_CELL) * matrix.n_cells / problem.n


def ascent_price(problem: Regularized, tol: float, stiff: float | None = None) -> float:
    """What dual coordinate ascent should cost, by R²/Λ (`stiffness`), with steps in two directions where these pay."""
    stiff, digits = stiffness(problem) if stiff is None else stiff, digits_of(tol)
    slow = min(STIFF * stiff, LEAP * math.sqrt(stiff)) if leaps_pay(problem, tol, stiff) else STIFF * stiff
    passes = FIRST + DIGIT * max(0.0, math.log10(stiff) + digits) + slow * max(1.0, digits)
    return passes * problem.n * visit_price(problem)


def leaps_pay(problem: Regularized, tol: float, stiff: float | None = None) -> bool:
    """Whether dual ascent should take subspace steps between its epochs, ``SDCA(acceleration="subspace")``.

    They pay where it takes many epochs, all the more where steps over all rows and features cost much beside these.
    Measured on text, both take as long at R²/Λ of about 5, 2 and 1 to a gap of 1e-2, 1e-3 and 1e-4.
    """
    n, d = problem.n, problem.d
    if problem.pull:
        return False
    step = LEAP_CELL * (n + d) / (n * visit_price(problem))
    enough = MANY_EPOCHS * (1.0 + n / (EVEN * d)) * (1.0 + step) / max(1.0, digits_of(tol) - 1.0)
    sq = problem.matrix.typical_sq_norm(TYPICAL) + problem.constant_sq
    if stiff is None and plain_stiffness(problem, sq) > enough:
        stiff = stiffness(problem)  # which takes longer to know
    return stiff is not None and stiff > enough


def digits_of(tol: float) -> float:
    """How many a gap asks for."""
    return -math.log10(max(tol, 1e-16))


def stiffness(problem: Regularized) -> float:
    """:math:`R^2/\\Lambda`: the passes in which the gap of the ascent falls by a factor e are about one more.

    R² is the typical squared norm of a row and :math:`\\Lambda = \\lambda\\sum_i s_i`, as in `SDCA`; where the loss is
    no square, in units of what rows are short of: targets twice as large are as λ twice as large. Where there are
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


class PassPrices(NamedTuple):
    """What all passes cost for each row, and one of the ascent."""

    ascent: float
    newton: float
    ascent_pass: float


def pass_prices(d: int, cells: float, sparse: bool, stiff: float, tol: float, read: float = READ) -> PassPrices:
    """What dual ascent and Newton's method should cost where every pass reads rows that are not in memory.

    Rows have so many `cells` of d each. `stiff` is R²/Λ, and `read` what it costs to get a cell.
    """
    digits = digits_of(tol)
    passes = DIGIT * max(0.0, math.log10(max(stiff, 1e-300)) + digits) + STIFF * stiff * max(1.0, digits)
    look = STEP_ROW + (STEP_SPARSE if sparse else STEP_FULL) * cells
    visit = VISIT + FAR + (SPARSE_CELL if sparse else FULL_CELL) * cells
    square = SPARSE_SQUARE * cells * cells if 3.0 * cells < d else FULL_SQUARE * d * d
    one = read * cells + VISITS * visit + LOOKS * look
    newton = NEWTON_PASSES * (read * cells + NEWTON_LOOKS * look + CURVED * square)
    return PassPrices((FIRST + passes / GAIN) * one, newton, one)


class Differences(NamedTuple):
    """In how many directions rows differ from their mean, as if equally in each, and their mean squared distance."""

    directions: float
    sq: float


def row_differences(problem: Regularized) -> Differences:
    """How rows differ, by the inner products of some of them: :math:`(\\operatorname{tr}\\Sigma)^2/
    \\operatorname{tr}\\Sigma^2` and :math:`\\operatorname{tr}\\Sigma` of their covariance.
    """
    G = problem.matrix.inner_products(np.arange(0, problem.n, max(1, problem.n // SOME)))
    if len(G) < 4:
        return Differences(float(problem.d), float(G.diagonal().mean()))
    found = _differences(G)
    return found._replace(directions=min(float(problem.d), found.directions))


def _differences(G: np.ndarray) -> Differences:
    """The same by inner products, 0 and 0 where rows do not differ: each one's mean with the others is taken off."""
    m, own = len(G), G.diagonal()
    each = (G.sum(axis=1) - own) / (m - 1)
    mean, sq = float(each.mean()), float(own.mean())
    apart = G - each[:, None] - each + mean
    np.fill_diagonal(apart, 0.0)
    squares = float(np.vdot(apart, apart)) / (m * (m - 3))
    if not sq - mean > 0.0:
        return Differences(0.0, 0.0)
    return Differences((sq - mean) ** 2 / squares if squares > 0.0 else math.inf, sq - mean)


def newton_price(problem: Regularized, stiff: float = math.inf) -> float:
    """What Newton's method should cost: its steps on all rows, of which there are the fewer the more rows there are for
    each feature, and the smaller R²/Λ is; the Hessian and its factors; those on few rows before.
    """
    n, d, form = float(problem.n), float(problem.d), form_of(problem)
    squared, a_pass = problem.loss.curvature > 0.0, rows_price(problem)
    others = ROWS_SQUARED if squared else ROWS_STEPS
    if form == "products":  # their number hardly depends on λ, but on how many rows there are for each feature
        passes = (CG_PASSES + CG_CROWDED * (d / n) ** 2) * (CG_SQUARED if squared else 1.0)
        return STEP + passes * n * visit_price(problem)
    if form == "rows":
        return FULL_SQUARE * n * n * d + others * (STEP + 2.0 * a_pass + ROWS_CURVED * CUBE * n**3)
    steps = MORE_STEPS + CROWDED_STEPS * (SQUARED if squared else 1.0) * math.sqrt((d + 1.0) / n)
    steps = LEAST_STEPS + (steps * stiff / (stiff + FLAT) if stiff < math.inf else steps)
    if begins_with(problem) < n:
        steps += SMALL_STEPS
    elif not squared:
        steps += WIDE_STEPS
    return steps * (STEP + a_pass + factor_price(problem)) + squares_price(problem)


class RowSpacePrices(NamedTuple):
    """What coordinates of the rows' span cost; with them, a pass of the ascent, and Newton's method."""

    factor: float
    a_pass: float
    newton: float


def row_space_prices(problem: Regularized) -> RowSpacePrices:
    """What it costs to form the inner products of n rows, and to go on with n numbers for each row, see `RowSpace`."""
    n, d = float(problem.n), float(problem.d)
    factor = STEP + UNPACK * n * d + FULL_SQUARE * n * n * d + ROWS_CURVED * CUBE * n**3
    steps = ROWS_SQUARED if problem.loss.curvature else ROWS_STEPS
    newton = steps * (STEP + 2.0 * n * (STEP_ROW + STEP_FULL * n) + ROWS_CURVED * CUBE * n**3)
    return RowSpacePrices(factor, n * (VISIT + FULL_CELL * n), newton)


def finite_newton_price(problem: Regularized) -> float:
    """What `FiniteNewton` should cost; infinite where it cannot solve the problem, or should begin with few rows."""
    if not problem.loss.curvature or problem.pull or problem.bias == "free" or form_of(problem) != "features":
        return math.inf
    if begins_with(problem) < problem.n:
        return math.inf
    return COLD_STEPS * (FINITE_STEP + rows_price(problem) + factor_price(problem)) + squares_price(problem)
