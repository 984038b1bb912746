"""Where the rows of a fit come from, and what was read: arrays, tables and oracles, and rows on disk.

Rows on disk are read block by block if they do not fit into memory.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from hinge.access import Matrix, Table, as_table
from hinge.access.streams.base import (
    RowStream,
    Streamed,
    StretchLayout,
    allowed_memory,
    check_values,
    hash_of,
    resident,
)
from hinge.access.streams.opening import ExpectedFeatures, as_stream, is_source
from hinge.estimators.data import validation as checks
from hinge.estimators.fitting.attributes import keep_results
from hinge.estimators.fitting.parameters import on_a_device
from hinge.estimators.fitting.runs import Plan, run_jointly
from hinge.monitoring import Status
from hinge.monitoring.checkpoint import Checkpoint, notes_of
from hinge.problems import LinearProblem, Multiclass, Regularized
from hinge.solvers import Frugal, Result, Solver, registry
from hinge.solvers.ascent.block_ascent import SideBySide
from hinge.solvers.choice.by_passes import ByPasses
from hinge.solvers.newton.block_newton import SAMPLE, BlockNewton
from hinge.solvers.newton.systems import MOST_DIRECT
from hinge.types import Sparse, Stored

SLACK = 0.005
"""Default slack of SIMBA; suitable for text with rows of unit norm."""


def save_reads(
    model: BaseEstimator, matrix: Matrix | Table, solver: Solver | None
) -> tuple[Solver | None, Matrix | Table]:
    """The frugal learner and a table that keeps its cells, where reads are limited or have prices; else what is given.

    A solver that is None is chosen later, by `choose` in `runs.run_one`.
    """
    if model.penalty == "l1":  # its solver reads all columns
        return solver, matrix
    if isinstance(matrix, Table):
        if model.target_error is not None:
            raise ValueError("target_error needs held-out rows, which would have to be bought: use max_reads instead.")
        if solver is None and model.slack is None:
            return Frugal(tol=model.tol), matrix
        return solver, matrix
    if solver is None and model.slack is None and model.max_reads is not None and model.target_error is None:
        solver = Frugal(flips=0.0, tol=model.tol)  # to the end of the budget, or of its tolerance
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


OF_A_ROW = 64
"""Bytes per row of a fit in memory, in addition to the row: dual weights, norms, orders, labels."""
RESERVE = 1 << 27
"""Bytes reserved for compiled code and for libraries that are loaded with the first rows."""
PREDICTED = (1 << 24, 1 << 26)
"""Bytes of rows that are predicted together: typical and at most."""


def opened(model: BaseEstimator, X: Any, y: ArrayLike | str | None) -> tuple[Any, Any, list[str] | None]:
    """X, y and the names of columns; rows on disk are loaded if they fit into memory, else X is a stream.

    X that is not a source of rows on disk is returned unchanged.
    """
    if not is_source(X):
        checks.check_no_name(y)
        if model.checkpoint is not None:
            raise ValueError("checkpoint is for rows that are read from a disk, and X is in memory: leave it out.")
        return X, y, None
    left = allowed_memory(model.max_memory) - resident()
    stream, y = checks.labelled_stream(X, y, 0 if model.checkpoint is not None else left // 2)
    if model.checkpoint is None:
        if stream.shape[0] * (stream.row_bytes + OF_A_ROW) <= left:
            return (X if isinstance(X, np.memmap) else stream.load()), y, stream.names
        if isinstance(X, np.memmap) and _refusal(model) is not None:
            return X, y, None  # as a memory map, for solvers that need rows in memory
    stream.forget()
    return stream, y, stream.names


def labelled(model: BaseEstimator, stream: RowStream, y: ArrayLike) -> np.ndarray:
    """The labels as an array; raises if a parameter needs all rows in memory."""
    reason = _refusal(model)
    if reason is not None:
        raise ValueError(f"{reason} needs all rows in memory, and they do not fit: give a larger max_memory.")
    labels = checks.validated_labels(model, stream, y)
    set_names(model, stream.names)
    return labels


def set_names(model: BaseEstimator, names: list[str] | None) -> None:
    """Set the names of the features, if the source has some."""
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)


def _refusal(model: BaseEstimator) -> str | None:
    """The parameter that needs all rows in memory, as text; None if there is none."""
    named = {"penalty": "l2", "multi_class": "ovr", "slack": None, "target_error": None, "max_reads": None}
    if on_a_device(getattr(model, "device", None)):
        return f"device={model.device!r}"
    for name, usual in named.items():
        value = getattr(model, name, usual)
        if value != usual:
            return f"{name}={value!r}"
    if model.solver == "auto" or getattr(_solver_of(model.solver), "reads", None) == "blocks":
        return None
    return f"solver={model.solver!r}"


def _solver_of(given: Any) -> Any:
    """The class of the solver with this name, or the solver itself."""
    return registry.BY_NAME[given].load() if isinstance(given, str) and given in registry.BY_NAME else given


def scored(model: BaseEstimator, source: Any, scores: Callable[[Stored], np.ndarray]) -> np.ndarray:
    """The values of a function of rows, for all rows of a source; a block of rows is in memory at a time."""
    names = getattr(model, "feature_names_in_", None)
    features = ExpectedFeatures(int(model.n_features_in_), None if names is None else list(names))
    stream = as_stream(source, features=features)
    assert stream is not None
    width, name = stream.shape[1], type(model).__name__
    if width != features.width:
        raise ValueError(f"X has {width} features, but {name} is expecting {features.width} features as input.")
    if stream.names is not None and names is not None and stream.names != features.names:
        raise ValueError(f"The columns are {stream.names[:20]}, but {name} has learned {list(names)[:20]}.")
    found = []
    for lo, hi in stream.stretches(*(max(1, size // stream.row_bytes) for size in PREDICTED)):
        rows = stream.read(lo, hi)
        check_values(rows, lo, stream.names)
        found.append(scores(rows))
    return np.concatenate(found)


class Room(NamedTuple):
    """How the allowed memory is divided.

    Attributes
    ----------
    data : Streamed
        The rows; those that fit are in memory.
    most : int
        Number of features up to which Hessians fit into memory; 0 for none.
    cells : int
        Cells of rows that Newton's method may keep.
    """

    data: Streamed
    most: int
    cells: int


def room_for(model: BaseEstimator, stream: RowStream, tasks: int, weighted: bool, *, share: float = 0.25) -> Room:
    """Divide the allowed memory; in the same way as the checkpoint, if there is one to continue from.

    Hessians, and the rows that Newton's method keeps, may each take a fraction `share` of what is left for rows.
    """
    n, d = stream.shape
    vectors = tasks * (n * (8 + 1 + (8 if weighted else 0) + (8 if model.intercept == "free" else 0)) + 5 * 8 * d)
    allowed = allowed_memory(model.max_memory)
    left = allowed - resident() - RESERVE - vectors
    known = None if model.checkpoint is None else notes_of(model.checkpoint)
    if left < stream.row_bytes and (known is None):
        raise ValueError(
            f"max_memory allows {allowed:,} bytes, of which the process has {resident():,} already, and dual weights "
            f"and labels of {n:,} rows take {vectors:,}: allow {allowed - left + (64 << 20):,} or more."
        )
    if known is not None:
        layout, most, cells = (
            known.get(name, usual) for name, usual in (("layout", (1, 1, 1)), ("most", 0), ("cells", 1))
        )
        return Room(Streamed(stream, left, StretchLayout(*layout)), int(most), int(cells))
    hessians = 8 * 4 * tasks * (d + 1) ** 2  # a sum, an increment, a factor, and one to spare
    able = d <= MOST_DIRECT and hessians <= share * left
    a_cell = 48  # bytes: two buffers, and the small problem made of them
    cells = max(1, min(SAMPLE, int(share * left) // a_cell) // tasks)
    taken = able * (hessians + a_cell * tasks * cells)
    return Room(Streamed(stream, left - taken), MOST_DIRECT if able else 0, cells)


def fit_stream(model: BaseEstimator, problems: Sequence[Regularized], room: Room, plan: Plan) -> None:
    """Solve all problems in the same passes, and set the attributes of the fit."""
    data, one = room.data, _chosen(model, room)
    plan = plan._replace(solver=SideBySide(one) if len(problems) > 1 else one)
    results = run_jointly(problems, plan, _checkpoint(model, problems, room, plan.seed, one))
    set_counts(model, problems)
    model.bytes_read_ = data.bytes_read
    keep_results(model, results, problems)


def _chosen(model: BaseEstimator, room: Room) -> Solver:
    """The solver of the model's parameter, or one that chooses among those that there is memory for."""
    if model.solver == "auto":
        return ByPasses(tol=float(model.tol), most=room.most, newton=BlockNewton(room.cells))
    solver = _solver_of(model.solver)
    made: Solver = solver if isinstance(solver, Solver) else solver()
    return made


def _checkpoint(
    model: BaseEstimator, problems: Sequence[Regularized], room: Room, seed: int, solver: Solver
) -> Checkpoint | None:
    """The checkpoint, if one is wanted; valid only for these rows, labels, weights and parameters."""
    if model.checkpoint is None:
        return None
    data = room.data
    parts: list[str | np.ndarray] = [data.stream.fingerprint(), repr(solver), str(seed), repr(tuple(data.layout))]
    for problem in problems:
        parts += [problem.y, problem.target, problem.weight]
        parts.append(f"{problem.lam!r} {problem.bias} {problem.bias_scale!r} {tuple(problem.loss)!r}")
    return Checkpoint(model.checkpoint, hash_of(*parts), layout=list(data.layout), most=room.most, cells=room.cells)
