"""Several problems over the same rows at once, so that these are read once for all."""

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
    """A state of each task, and `turn.t`, the turns so far: task t modulo their number is next."""

    tasks: tuple[Any, ...]
    turn: Scalars

    @property
    def t(self) -> int:
        """Turns so far."""
        return int(self.turn.t)


@dataclass(frozen=True)
class SideBySide(Solver[Tasks, SideBySideState]):
    """One solver for several problems over the same rows, which take turns: an iteration is one of one task.

    By `BlockAscent`, which draws the same blocks for all of them, a block is read once and serves all.

    Parameters
    ----------
    solver : Solver
        One whose `estimate` is a certificate.
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
        """The end of the pass of the last of them."""
        return sum(self.solver.pause(task, one) for task, one in zip(problem.tasks, state.tasks, strict=True))

    def estimate(self, problem: Tasks, state: SideBySideState) -> Certificate:
        """The sums of all objectives and bounds, and the largest gap."""
        every = self.certificates(problem, state)
        gap = max(certificate.gap for certificate in every)
        if not np.isfinite(gap):
            return Certificate.unknown()
        return Certificate(sum(c.objective for c in every), sum(c.bound for c in every), gap)

    def certificates(self, problem: Tasks, state: SideBySideState) -> list[Certificate]:
        """Those of each task."""
        return [certified(task, self.solver, one) for task, one in zip(problem.tasks, state.tasks, strict=True)]
