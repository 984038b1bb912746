"""The form of a solver for several threads, if the problem is large enough."""

from dataclasses import replace

from hinge.problems import Problem, Regularized
from hinge.solvers.ascent.cocoa import CoCoA
from hinge.solvers.ascent.sdca import SDCA
from hinge.solvers.base import Solver
from hinge.solvers.choice.adaptive import Adaptive
from hinge.solvers.newton.newton import Newton

A_ROW = 16  # overhead of a row, in cells
PART_CELLS = 1 << 20
"""Least cells of an epoch for each part: some milliseconds. Parts synchronise several times in an epoch, which costs
some tenths of a millisecond, and need about one more epoch than a single thread."""

WIDTH = 64
"""Least cells of an epoch for each feature and part, since each part of the dual ascent copies v in each round."""


def in_parts(solver: Solver, problem: Problem, threads: int) -> Solver:
    """The solver for several threads: `CoCoA` for dual ascent, `Newton` in parts; else the solver itself."""
    if threads == 1 or not isinstance(problem, Regularized) or not problem.in_memory:
        return solver
    if type(solver) is Adaptive:
        ascent, newton = (in_parts(method, problem, threads) for method in (solver.ascent, solver.newton))
        return replace(solver, ascent=ascent, newton=newton)
    cells = problem.matrix.n_cells + A_ROW * problem.n
    parts = min(threads, cells // PART_CELLS)
    if type(solver) is SDCA and (parts := min(parts, cells // (WIDTH * problem.d))) > 1:
        return CoCoA(parts, first_pass=solver.first_pass, shrinking=solver.shrinking, block_rows=solver.block_rows)
    if parts > 1 and type(solver) is Newton:
        return replace(solver, parts=parts)
    return solver
