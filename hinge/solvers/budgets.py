"""What the data of a problem allows: who may read it, and how much."""

from dataclasses import replace
from typing import Any

from hinge.monitoring import Stop
from hinge.solvers.base import Solver


def cannot_read(problem: Any, solver: Solver) -> str | None:
    """Why this method cannot read the problem's data; None if it can."""
    if solver.reads in ("cells", "kept cells") or problem.in_memory:
        return None
    return (
        f"{type(solver).__name__} takes rows of arrays in memory, not of a "
        f"{type(problem.table).__name__}: use {problem.readers}, or read it into an array."
    )


def within_budget(stop: Stop, problem: Any) -> Stop:
    """The limits of the run and those of the data's owner together."""
    reads, cost = problem.budget
    if reads is not None:
        left = max(0, reads - problem.reads)
        stop = replace(stop, max_reads=left if stop.max_reads is None else min(left, stop.max_reads))
    if cost is not None:
        left = max(0.0, cost - problem.cost)
        stop = replace(stop, max_cost=left if stop.max_cost is None else min(left, stop.max_cost))
    return stop
