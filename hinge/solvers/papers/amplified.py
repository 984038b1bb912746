"""Amplified confidence: section 3 of the Pegasos paper, after Theorem 3."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hinge.constraints import Constraints, number
from hinge.problems import LinearProblem, Problem, Solution
from hinge.problems.base import Cost
from hinge.problems.svm.penalized import Penalized
from hinge.solvers.base import Solver
from hinge.solvers.papers.pegasos import Pegasos


class AmplifiedState(NamedTuple):
    """The states of all runs, and how far the whole is."""

    runs: tuple[Any, ...]
    t: int
    chosen: int


@dataclass(frozen=True)
class Amplified(Solver[LinearProblem, AmplifiedState]):
    """Run a method s = ⌈ln 1/δ⌉ times and keep the answer of least objective, or of least error on validation rows.

    If one run of T/s iterations is :math:`\\epsilon`-accurate with probability at least 1 - 1/e
    (Theorem 3 gives this for Pegasos' random iterate), then with probability at least 1-δ one of the s
    runs is (Eq. 9), and choosing among s answers needs few rows.

    An iteration is one of the inner method; the runs take their turns one after another.

    Parameters
    ----------
    solver : Solver
        The inner method; by default Pegasos with a random iterate, to which Theorem 3 applies.
    delta : float
        Probability of failure.
    horizon : int, optional
        T, the iterations of all runs together; by default two passes for each run.
    held_out : bool
        Whether the problem's rows of weight zero, which no method learns from, are validation rows that decide.
        Otherwise the objective does, which costs s passes.

    Notes
    -----
    On validation rows the zero-one error decides, as the paper recommends: it needs
    :math:`O(1/\\epsilon^2)` rows, the objective :math:`O(1/(\\lambda\\epsilon^2))`.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import Amplified
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, Amplified(horizon=2000), stop=Stop(tol=0, max_iter=10**5))
    >>> bool(problem.objective(result.solution) < 1.2 * made.objective)
    True
    """

    solver: Solver = field(default_factory=lambda: Pegasos(output="random"))
    delta: float = 0.05
    horizon: int | None = None
    held_out: bool = False

    paper = Pegasos.paper._replace(place="section 3, Eq. (9)")
    constraints = Constraints(delta=number(above=0, below=1))

    @property
    def n_runs(self) -> int:
        """s, the smallest integer not below ln(1/δ)."""
        return max(1, math.ceil(math.log(1 / self.delta)))

    def rejects(self, problem: Problem) -> str | None:
        if self.held_out and isinstance(problem, LinearProblem) and len(_validation_rows(problem)) == 0:
            return "Amplified(held_out=True) chooses by rows of weight zero, and there are none: weigh some so."
        return self.solver.rejects(problem)

    def init(self, problem: LinearProblem, seed: int = 0, start: Solution | None = None) -> AmplifiedState:
        seeds = np.random.SeedSequence(seed).generate_state(self.n_runs)
        return AmplifiedState(tuple(self.solver.init(problem, int(s), start) for s in seeds), 0, -1)

    def advance(self, problem: LinearProblem, state: AmplifiedState, n_iter: int) -> AmplifiedState:
        each, runs, t = self._each(problem), list(state.runs), state.t
        while n_iter > 0 and t < each * len(runs):
            n = min(n_iter, each - t % each)
            runs[t // each] = self.solver.advance(problem, runs[t // each], n)
            t, n_iter = t + n, n_iter - n
        chosen = state.chosen
        if t == each * len(runs) and chosen < 0:
            chosen = int(np.argmin([self._error(problem, self.solver.solution(problem, r)) for r in runs]))
        return AmplifiedState(tuple(runs), t, chosen)

    def solution(self, problem: LinearProblem, state: AmplifiedState) -> Solution:
        current = min(state.t // self._each(problem), len(state.runs) - 1)
        best = state.chosen if state.chosen >= 0 else max(0, current - 1)  # a finished run, if any
        return self.solver.solution(problem, state.runs[best])

    def cost(self, problem: LinearProblem, state: AmplifiedState | None = None) -> Cost:
        cost = self.solver.cost(problem)
        choosing = self.n_runs * problem.matrix.n_cells
        return cost._replace(cells=cost.cells + cost.setup + choosing, setup=0)

    def pause(self, problem: LinearProblem, state: AmplifiedState) -> int:
        return self._each(problem) * self.n_runs - state.t

    def _each(self, problem: LinearProblem) -> int:
        total = self.horizon or 2 * self.n_runs * self.solver.cost(problem).a_pass
        return max(1, total // self.n_runs)

    def _error(self, problem: LinearProblem, solution: Solution) -> float:
        if not self.held_out:
            w, b = solution.w, solution.b
            penalty = problem.lam * problem.penalty(w, b) if isinstance(problem, Penalized) else 0.0
            return penalty + problem.mean_loss(w, b)
        rows = _validation_rows(problem)
        predicted = problem.matrix.responses_at(rows, solution.w) + solution.b
        return float(np.mean(np.where(predicted > 0, 1, -1) != problem.y[rows]))


def _validation_rows(problem: LinearProblem) -> np.ndarray:
    """The rows of weight zero."""
    return np.flatnonzero(problem.weight == 0) if len(problem.weight) > 1 else np.empty(0, np.int64)
