"""Several problems over the same rows solved in alternation, so that rows are read once for all."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hinge.compiled import Scalars, scalars
from hinge.problems import Certificate, Problem
from hinge.problems.base import Cost
from hinge.problems.batch import Batch, BatchSolution, combine_certificates
from hinge.solvers.ascent.block_ascent import BlockAscent
from hinge.solvers.base import Solver, certified, reason_against


class SideBySideState(NamedTuple):
    """A state for each task, and the number of turns `turn.t`; the next task is number `turn.t` modulo their count."""

    members: tuple[Any, ...]
    turn: Scalars

    @property
    def t(self) -> int:
        """Turns so far."""
        return int(self.turn.t)


@dataclass(frozen=True)
class SideBySide(Solver[Batch, SideBySideState]):
    """One solver for several problems over the same rows, in turns: an iteration is one iteration of one task.

    With `BlockAscent`, which draws the same blocks for all tasks, each block is read once for all of them.

    Parameters
    ----------
    solver : Solver
        A solver whose `estimate` is a certificate.
    """

    solver: Solver = field(default_factory=BlockAscent)

    any_loss = True
    joint = True
    reads = "blocks"
    exact_estimate = True
    steps_are_short = True
    paper = BlockAscent.paper

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, Batch):
            return f"SideBySide solves several tasks at once, not one {type(problem).__name__}; use its solver."
        return next((reason for task in problem.members if (reason := reason_against(self.solver, task))), None)

    def init(self, problem: Batch, seed: int = 0, start: Any = None) -> SideBySideState:
        starts = start or [None] * len(problem.members)
        states = (self.solver.init(task, seed, one) for task, one in zip(problem.members, starts, strict=True))
        return SideBySideState(tuple(states), scalars(t=0))

    def advance(self, problem: Batch, state: SideBySideState, n_iter: int) -> SideBySideState:
        tasks = list(state.members)
        for _ in range(n_iter):
            k = int(state.turn.t) % len(tasks)
            tasks[k] = self.solver.advance(problem.members[k], tasks[k], 1)
            state.turn.t += 1
        return state._replace(members=tuple(tasks))

    def solution(self, problem: Batch, state: SideBySideState) -> BatchSolution:
        pairs = zip(problem.members, state.members, strict=True)
        return BatchSolution(tuple(self.solver.solution(task, one) for task, one in pairs))

    def cost(self, problem: Batch, state: SideBySideState | None = None) -> Cost:
        one = self.solver.cost(problem.members[0])
        return one._replace(a_pass=len(problem.members) * one.a_pass)

    def pause(self, problem: Batch, state: SideBySideState) -> int:
        """To the end of the present pass of all tasks."""
        return sum(self.solver.pause(task, one) for task, one in zip(problem.members, state.members, strict=True))

    def estimate(self, problem: Batch, state: SideBySideState) -> Certificate:
        """The certificates of all members, combined."""
        pairs = zip(problem.members, state.members, strict=True)
        return combine_certificates([certified(member, self.solver, one) for member, one in pairs])
