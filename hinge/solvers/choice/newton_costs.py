"""What the parts of a Newton step should cost, in the nanoseconds of :mod:`hinge.solvers.choice.cost_model`."""

from hinge.problems import Regularized
from hinge.solvers.newton.hessians import is_full

STEP, STEP_ROW, STEP_FULL, STEP_SPARSE = 4.5e5, 80.0, 0.8, 3.0  # a step of Newton's, each row in it, each cell
CUBE, FULL_SQUARE, SPARSE_SQUARE = 0.06, 0.045, 0.5  # a cubed feature of a factor, a product of cells in a Hessian


def rows_price(problem: Regularized) -> float:
    """What the sums over all rows cost."""
    cell = STEP_SPARSE if problem.matrix.is_sparse else STEP_FULL
    return STEP_ROW * problem.n + cell * problem.matrix.n_cells


def factor_price(problem: Regularized) -> float:
    """What the factor of a Hessian costs."""
    return CUBE * float(problem.d) ** 3


def squares_price(problem: Regularized) -> float:
    """What a Hessian costs that all rows are part of."""
    n, d = float(problem.n), float(problem.d)
    return n * (FULL_SQUARE * d * d if is_full(problem) else SPARSE_SQUARE * (problem.matrix.n_cells / n) ** 2)
