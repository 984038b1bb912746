"""Limits of a problem's data: which solvers can read it, and how much may be read."""

from dataclasses import replace

from hinge.access.streams.streamed import Streamed
from hinge.monitoring import Stop
from hinge.problems import Problem
from hinge.problems.base import OnData
from hinge.solvers.base import Solver


def cannot_read(problem: Problem, solver: Solver) -> str | None:
    """Why this solver cannot read the problem's data; None if it can."""
    if solver.reads in ("cells", "kept cells") or problem.in_memory or not isinstance(problem, OnData):
        return None
    name = type(solver).__name__
    if isinstance(problem.matrix, Streamed):
        if solver.reads == "blocks":
            return None
        return f"{name} takes rows of arrays in memory, not of a stream: use ByPasses, or read it into an array."
    table = problem.table
    if table.in_memory:
        return (
            f"{name} reads rows without adding up prices, and the cells of this {type(table).__name__} have some: "
            f"use {problem.readers}, or give the array itself."
        )
    return (
        f"{name} takes rows of arrays in memory, not those of {type(table).__name__}: "
        f"use {problem.readers}, or read it into an array."
    )


def within_budget(stop: Stop, problem: Problem) -> Stop:
    """The limits of the run combined with the limits of the data's owner."""
    reads, cost = problem.budget
    if reads is not None:
        left = max(0, reads - problem.reads)
        stop = replace(stop, max_reads=left if stop.max_reads is None else min(left, stop.max_reads))
    if cost is not None:
        unspent = max(0.0, cost - problem.cost)
        stop = replace(stop, max_cost=unspent if stop.max_cost is None else min(unspent, stop.max_cost))
    return stop
