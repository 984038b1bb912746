"""Several problems over the same rows solved in alternation, so that rows are read once for all."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hinge.compiled import Scalars, scalars
from hinge.problems import Certificate, Problem
from hinge.problems.cost import Cost
from hinge.problems.svm.tasks import Answers, Tasks
from hinge.solvers.base import Solver, certified, reason_against
from hinge.solvers.linear.block_ascent import BlockAscent


class SideBySideState(NamedTuple):
    """A state for each task, and the number of turns `turn.t`; the next task is number `turn.t` modulo their count."""

    tasks: tuple[Any, ...]
    turn: Scalars

    @property
    def t(self) -> int:
        """Turns so far."""
        return int(self.turn.t)


@dataclass(frozen=True)
class SideBySide(Solver[Tasks, SideBySideState]):
    """One solver for several problems over the same rows, in turns: an iteration is one iteration of one task.

    With `BlockAscent`, which draws the same blocks for all tasks, each block is read once for all of them.

    Parameters
    ----------
    solver : Solver
        A solver whose `estimate` is a certificate.
    """

    solver: Solver = field(default_factory=BlockAscent)

    any_loss = True
    at_once = True
    reads = "blocks"
    exact_estimate = True
    steps_are_short = True
    paper = BlockAscent.paper

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, Tasks):
            return f"SideBySide solves several tasks at once, not one {type(problem).__name__}; use its solver."
        return next((reason for task in problem.tasks if (reason := reason_against(self.solver, task))), None)

    def init(self, problem: Tasks, seed: int = 0, start: Any = None) -> SideBySideState:
        starts = start or [None] * len(problem.tasks)
        states = (self.solver.init(task, seed, one) for task, one in zip(problem.tasks, starts, strict=True))
        return SideBySideState(tuple(states), scalars(t=0))

    def advance(self, problem: Tasks, state: SideBySideState, n_iter: int) -> SideBySideState:
        tasks = list(state.tasks)
        for _ in range(n_iter):
            k = int(state.turn.t) % len(tasks)
            tasks[k] = self.solver.advance(problem.tasks[k], tasks[k], 1)
            state.turn.t += 1
        return state._replace(tasks=tuple(tasks))

    def solution(self, problem: Tasks, state: SideBySideState) -> Answers:
        pairs = zip(problem.tasks, state.tasks, strict=True)
        return Answers(tuple(self.solver.solution(task, one) for task, one in pairs))

    def cost(self, problem: Tasks, state: SideBySideState | None = None) -> Cost:
        one = self.solver.cost(problem.tasks[0])
        return one._replace(a_pass=len(problem.tasks) * one.a_pass)

    def pause(self, problem: Tasks, state: SideBySideState) -> int:
        """To the end of the present pass of all tasks."""
        return sum(self.solver.pause(task, one) for task, one in zip(problem.tasks, state.tasks, strict=True))

    def estimate(self, problem: Tasks, state: SideBySideState) -> Certificate:
        """The sums of all objectives and bounds, and the largest gap."""
        every = self.certificates(problem, state)
        gap = max(certificate.gap for certificate in every)
        if not np.isfinite(gap):
            return Certificate.unknown()
        return Certificate(sum(c.objective for c in every), sum(c.bound for c in every), gap)

    def certificates(self, problem: Tasks, state: SideBySideState) -> list[Certificate]:
        """The certificates of all tasks."""
        return [certified(task, self.solver, one) for task, one in zip(problem.tasks, state.tasks, strict=True)]
