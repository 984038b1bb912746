"""What the parts of a linear solver's work cost: nanoseconds of one processor, of which only ratios decide.

``python benchmarks/costs.py`` prints them for the machine it runs on, as loops over data that suits them. On an x86
server it printed 0.45, 1.9, 0.017, 0.54 and 2.9e5 for CELL, NONZERO, FLOP, SPARSE_FLOP and STEP, and 12 for ROW with
rows that stay in its caches. The stored ones are larger where a solver does more than the loop (it waits for memory,
shrinks, copies rows): with them estimates were right in the median of 40 random shapes (``benchmarks/regret.py``).
"""

from hinge.problems import Regularized

ROW = 110.0  # a visit to a row of a matrix in memory, besides its cells
CELL = 0.7  # a cell of a dense row: read, multiplied, added
NONZERO = 2.2  # a nonzero of a sparse row
FLOP = 0.045  # a multiplication and an addition within a matrix product
SPARSE_FLOP = 0.5  # the same, added to a random place of a matrix
STEP = 3e5  # what a step of Newton's method takes besides: calls, small arrays


def pass_cost(problem: Regularized) -> float:
    """The cost of a visit to all rows."""
    matrix = problem.matrix
    return ROW * problem.n + (NONZERO if matrix.is_sparse else CELL) * matrix.n_cells


def factor_cost(size: float) -> float:
    """The cost of a Cholesky factorisation: size³/3 operations, at about a third of the rate of a matrix product."""
    return FLOP * size**3


def hessian_cost(problem: Regularized) -> float:
    """The cost of a Hessian of all rows: d² products for each, or the square of its nonzeros if that is less."""
    n, d, cells = float(problem.n), float(problem.d), problem.matrix.n_cells / problem.n
    return n * min(FLOP * d * d, SPARSE_FLOP * cells * cells)
