"""The same method for several threads, where that pays."""

from dataclasses import replace

from hinge.problems import Problem, Regularized
from hinge.solvers.base import Solver
from hinge.solvers.linear.adaptive import Adaptive
from hinge.solvers.linear.cocoa import CoCoA
from hinge.solvers.linear.newton import Newton
from hinge.solvers.linear.sdca import SDCA
from hinge.solvers.linear.subspace_sdca import SubspaceSDCA

A_ROW = 16  # cells that are visited in the time that a row takes besides
PART_CELLS = 1 << 20
"""Cells of an epoch for each part, at least: some milliseconds, where parts that meet some times in an epoch lose some
tenths of one, and an epoch or so more is needed than by one thread."""

WIDTH = 64
"""The same for each feature, since every part of the dual ascent copies v in every round."""


def in_parts(solver: Solver, problem: Problem, threads: int) -> Solver:
    """What so many threads can work on at once: `CoCoA` for an ascent, `Newton` in parts; else the solver itself."""
    if threads == 1 or not isinstance(problem, Regularized) or not problem.in_memory:
        return solver
    if type(solver) is Adaptive:
        ascent, newton = (in_parts(method, problem, threads) for method in (solver.ascent, solver.newton))
        return replace(solver, ascent=ascent, newton=newton)
    cells = problem.matrix.n_cells + A_ROW * problem.n
    parts = min(threads, cells // PART_CELLS)
    if isinstance(solver, SDCA | SubspaceSDCA) and (parts := min(parts, cells // (WIDTH * problem.d))) > 1:
        return CoCoA(parts, first_pass=solver.first_pass, shrinking=solver.shrinking, block_rows=solver.block_rows)
    if parts > 1 and type(solver) is Newton:
        return replace(solver, parts=parts)
    return solver
