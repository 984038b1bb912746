"""Fits on tables, which are read by rows, columns and cells: oracles, files, and arrays under a read budget."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator

from hinge.access import Matrix, Table, as_table
from hinge.monitoring import Status
from hinge.problems import LinearProblem, Multiclass
from hinge.solvers import Frugal, Result, Solver, frugal_for
from hinge.types import Sparse

SLACK = 0.005
"""Default slack of SIMBA; suitable for text with rows of unit norm."""


def solver_and_data(
    model: BaseEstimator, matrix: Matrix | Table, solver: Solver | None, tasks: int
) -> tuple[Solver | None, Matrix | Table]:
    """The solver of a fit's tasks, and the data it reads: the matrix, or a table that keeps cells for all tasks."""
    if model.penalty == "l1":  # its solver reads all columns
        return solver, matrix
    if isinstance(matrix, Table):
        if model.target_error is not None:
            raise ValueError("target_error needs held-out rows, which would have to be bought: use max_reads instead.")
        if solver is None and model.slack is None:
            return Frugal(tol=model.tol), matrix
        return solver, matrix
    if solver is None and model.slack is None and model.max_reads is not None and model.target_error is None:
        solver = frugal_for(matrix.n_cells, model.max_reads / tasks, model.tol)
    if solver is not None and solver.reads == "kept cells":
        return solver, as_table(matrix, keep=True)
    return solver, matrix


def check_begun(results: Sequence[Result], problems: Sequence[LinearProblem | Multiclass]) -> None:
    """Raise if a budget was too small for even one iteration."""
    for result, problem in zip(results, problems, strict=True):
        spent = result.status in (Status.MAX_READS, Status.MAX_COST)
        if result.solver.reads in ("cells", "kept cells") and spent and result.n_iter == 0:
            name, solver = type(result.solver).__name__, result.solver
            if result.status is Status.MAX_READS:
                needs = f"reads up to {problem.cells_of(solver.cost(problem)):,} cells"
            else:
                needs = f"costs up to {problem.price_of(solver.cost(problem)):g}"
            raise ValueError(f"The budget is too small: one iteration of {name} {needs}. Allow more.")


def set_counts(model: BaseEstimator, problems: Sequence[LinearProblem | Multiclass]) -> None:
    """Set the attributes that count reads; tables also know distinct cells, bytes and cost."""
    for name in ("n_distinct_reads_", "bytes_read_", "cost_"):
        model.__dict__.pop(name, None)
    known = {id(problem.read_through): problem.read_through for problem in problems}.values()
    model.n_feature_reads_ = sum(data.reads for data in known)
    bills = [data.bill for data in known if isinstance(data, Table)]
    if len(bills) == len(known):
        model.n_distinct_reads_ = sum(bill.distinct for bill in bills)
        model.bytes_read_ = sum(bill.bytes for bill in bills)
        model.cost_ = sum(bill.cost for bill in bills)


def scores_of(table: Table, coef: np.ndarray | Sparse, intercept: np.ndarray) -> np.ndarray:
    """⟨w, x⟩ + b of every row of a table, a column for each w; columns whose weights are all zero are not read."""
    coef = np.atleast_2d(coef) if isinstance(coef, np.ndarray) else coef.toarray()
    if table.shape[1] != coef.shape[1]:
        raise ValueError(f"The table has {table.shape[1]} features, and the model expects {coef.shape[1]}.")
    columns = np.flatnonzero((coef != 0).any(axis=0))
    blocks = [table.block(np.arange(lo, hi), columns) @ coef[:, columns].T for lo, hi in table.row_blocks()]
    return np.concatenate([np.zeros((0, len(coef))), *map(np.asarray, blocks)]) + intercept
