"""What the methods share that take one random row at a time and keep w in scaled form."""

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from hinge.access import dot, read_row, sq_norm
from hinge.compiled import compiled
from hinge.problems import LinearProblem, Problem, Regularized, Solution
from hinge.problems.cost import Cost
from hinge.sampling import draw_index, key_of
from hinge.solvers.base import Solver
from hinge.solvers.papers import scaled_vector as scaled
from hinge.solvers.papers.scaled_vector import Scaled, accumulate, add, project, shrink

L = TypeVar("L", bound=LinearProblem)


class OneRowState(NamedTuple):
    """w in scaled form, the iteration, the key of the draws."""

    z: Scaled
    t: int
    key: np.uint64


@dataclass(frozen=True)
class OneRow(Solver[L, OneRowState]):
    """A method that reads one row an iteration; subclasses supply `steps`."""

    average: bool = False

    def steps(self, problem: L, state: OneRowState, n_iter: int) -> None:
        """Run the iterations on ``state.z``."""
        raise NotImplementedError

    def rejects(self, problem: Problem) -> str | None:
        if not isinstance(problem, LinearProblem):
            return f"{type(self).__name__} solves linear SVM problems, not {type(problem).__name__}."
        if problem.bias != "none":
            return f"{type(self).__name__} has no bias, as in the papers: fit_intercept=False, or use Pegasos."
        if len(problem.weight) > 1:
            return f"{type(self).__name__} takes no weights; use Pegasos or SDCA."
        return None

    def init(self, problem: L, seed: int = 0, start: Solution | None = None) -> OneRowState:
        return OneRowState(scaled.zeros(problem.n, problem.d), 0, key_of(seed))

    def advance(self, problem: L, state: OneRowState, n_iter: int) -> OneRowState:
        self.steps(problem, state, n_iter)
        return state._replace(t=state.t + n_iter)

    def solution(self, problem: L, state: OneRowState) -> Solution:
        w, _, coords, _ = (scaled.average if self.average else scaled.last)(state.z)
        if isinstance(problem, Regularized):
            alpha = problem.lam * coords * problem.total
        else:  # the scale of the dual is free there: let a typical support row weigh one
            used = coords[coords > 0]
            alpha = coords / np.median(used) if len(used) else coords
        return Solution(w, 0.0, np.clip(alpha, 0.0, 1.0))

    def cost(self, problem: L, state: OneRowState | None = None) -> Cost:
        return Cost(rows=1, a_pass=problem.n)

    def pause(self, problem: L, state: OneRowState) -> int:
        return max(math.ceil(state.t * 0.25), problem.n // 16, 1)

    def estimate(self, problem: L, state: OneRowState) -> float:
        return 0.0 if state.t >= problem.n else np.inf


@compiled
def subgradient_steps(A, y, lam, eta_1, power, radius, average, n_iter, z, t0, key):
    """Steps of size η₁/t^power against λw - [yᵢ⟨w, xᵢ⟩ < 1] yᵢxᵢ, each followed by a projection."""
    for t in range(t0 + 1, t0 + n_iter + 1):
        eta = eta_1 / t**power
        i = draw_index(key, t, len(y))
        row = read_row(A, i)
        yi = np.float64(y[i])
        response = z.s.a * dot(A, row, z.v)
        shrink(z, 1.0 - eta * lam)
        if yi * response < 1.0:
            sq = sq_norm(A, row) if radius < np.inf else 0.0
            add(A, row, z, i, eta, yi, 0.0, (1.0 - eta * lam) * response, sq)
        if radius < np.inf:
            project(z, radius)
        if average:
            accumulate(z, 1.0)
