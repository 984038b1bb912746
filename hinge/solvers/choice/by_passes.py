"""Dual ascent by blocks or Newton's method by passes, whichever should be the sooner done with all rows."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hinge.compiled import Scalars, scalars
from hinge.monitoring import Status
from hinge.problems import Certificate, Problem, Regularized, Solution
from hinge.problems.base import Cost
from hinge.solvers.ascent.block_ascent import BlockAscent, BlockAscentState, cut_of, load_block, shuffled_block
from hinge.solvers.ascent.sdca import TYPICAL
from hinge.solvers.base import Paper, Solver
from hinge.solvers.choice.adaptive import passes_left
from hinge.solvers.choice.cost_model import LEAST_TOL, BlockCosts, block_costs, plain_stiffness
from hinge.solvers.newton.block_newton import ROWS, BlockNewton, BlockNewtonState
from hinge.solvers.newton.systems import MOST_DIRECT


class ByPassesState(NamedTuple):
    """The states of the ascent and of Newton's method, which is empty if that cannot solve the problem.

    `watch` has the number of blocks visited, `t`; whether Newton's method runs, `by_newton`; and the logarithm of the
    gap after the last pass.
    """

    ascent: BlockAscentState
    newton: BlockNewtonState | tuple[()]
    watch: Scalars

    @property
    def t(self) -> int:
        """Blocks visited so far."""
        return int(self.watch.t)


@dataclass(frozen=True)
class ByPasses(Solver[Regularized, ByPassesState]):
    """What ``solver="auto"`` runs where rows do not fit into memory: `BlockAscent` or `BlockNewton`.

    The ascent needs more passes the larger :math:`R^2/\\Lambda` is. Newton's method hardly does, but a pass of it costs
    d² for a row on the parabola, and it needs more rows than features: `block_costs`
    says what both should cost, by the sizes of the problem and a few rows. The ascent is watched: where the rate at
    which its gap fell in the last pass promises more work than all of Newton's method, that takes over, from there.

    Work is counted, not measured by a clock: a run decides the same each time. An iteration is a block.

    Parameters
    ----------
    tol : float
        The gap that is wanted.
    most : int
        Features up to which Newton's method is thought of: it needs 2d² numbers.
    ascent : BlockAscent
    newton : BlockNewton

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.solvers import ByPasses
    >>> X = np.random.default_rng(0).standard_normal((500, 4))
    >>> problem = Regularized(X, np.where(X[:, 0] > 0, 1, -1), 0.01)
    >>> bool(solve(problem, ByPasses(), stop=Stop(tol=1e-3)).certificate.gap <= 1e-3)
    True
    """

    tol: float = 1e-3
    most: int = MOST_DIRECT
    ascent: BlockAscent = field(default_factory=BlockAscent)
    newton: BlockNewton = field(default_factory=BlockNewton)

    any_loss = True
    reads = "blocks"
    exact_estimate = True
    steps_are_short = True
    finished = Status.STALLED
    paper = Paper(
        "Large-Scale SVM Optimization: Taking a Machine Learning Perspective",
        "Shalev-Shwartz, Srebro",
        2008,
        "what the runtime depends on; here passes over rows on a disk",
    )

    def rejects(self, problem: Problem) -> str | None:
        return self.ascent.rejects(problem)

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> ByPassesState:
        able = problem.d <= min(self.most, MOST_DIRECT) and problem.n >= ROWS * problem.d
        ascent, newton = self.ascent.init(problem, seed, start), self.newton.init(problem, seed, start) if able else ()
        return ByPassesState(ascent, newton, scalars(t=0, by_newton=False, log=math.inf))

    def _choose(self, problem: Regularized, state: ByPassesState) -> None:
        """Who begins, by some rows of the first block; Newton's method leaves α of the ascent untouched."""
        block = shuffled_block(cut_of(problem), state.ascent.key, 0, 0)
        rows = load_block(problem, block, block)
        prices = self._prices(problem, plain_stiffness(problem, rows.typical_sq_norm(TYPICAL) + problem.constant_sq))
        state.watch.by_newton = prices.newton < prices.ascent

    def _prices(self, problem: Regularized, stiff: float = 0.0) -> BlockCosts:
        matrix = problem.matrix
        return block_costs(problem.d, matrix.n_cells / problem.n, matrix.is_sparse, stiff, self.tol)

    def advance(self, problem: Regularized, state: ByPassesState, n_iter: int) -> ByPassesState:
        watch, blocks = state.watch, cut_of(problem).blocks
        if watch.t == 0 and n_iter > 0 and state.newton:
            self._choose(problem, state)
        while n_iter > 0:
            method, own = running(self, state)
            n = min(n_iter, blocks - int(watch.t) % blocks)
            own = method.advance(problem, own, n)
            state = state._replace(newton=own) if watch.by_newton else state._replace(ascent=own)
            watch.t += n
            n_iter -= n
            if watch.t % blocks == 0 and not watch.by_newton and state.newton:
                self._evaluate(problem, state)
        return state

    def _evaluate(self, problem: Regularized, state: ByPassesState) -> None:
        """After a pass of the ascent: whether the rest is for Newton's method."""
        watch, ascent, newton = state.watch, state.ascent, state.newton
        assert isinstance(newton, BlockNewtonState)
        gap, wanted = self.ascent.estimate(problem, ascent).gap, max(self.tol, LEAST_TOL)
        if not wanted < gap < math.inf:
            return
        before, watch.log = float(watch.log), math.log(gap)
        passes = int(ascent.place.passes)
        rate = before - watch.log
        if before == math.inf:
            return
        prices = self._prices(problem)
        if passes_left(passes, rate, watch.log - math.log(wanted)) * prices.ascent_pass <= prices.newton:
            return
        answer = self.ascent.solution(problem, ascent)
        fresh = self.newton.init(problem, 0, answer)
        newton.walk.x[:] = fresh.walk.x
        numbers, own, known = newton.walk.place, newton.place, ascent.place
        numbers.line, numbers.mu = fresh.walk.place.line, fresh.walk.place.mu
        numbers.primal, numbers.b, numbers.bound = known.primal, known.best_b, known.bound
        newton.walk.best[:] = ascent.best
        own.begun, own.t, own.passes, watch.by_newton = True, known.t, known.passes, True

    def solution(self, problem: Regularized, state: ByPassesState) -> Solution:
        method, own = running(self, state)
        answer: Solution = method.solution(problem, own)
        return answer

    def cost(self, problem: Regularized, state: ByPassesState | None = None) -> Cost:
        """That of the ascent, whose blocks cost more cells; and what Newton's method begins with."""
        return self.ascent.cost(problem)._replace(setup=self.newton.cost(problem).setup)

    def pause(self, problem: Regularized, state: ByPassesState) -> int:
        """The end of the pass."""
        method, own = running(self, state)
        return int(method.pause(problem, own))

    def estimate(self, problem: Regularized, state: ByPassesState) -> Certificate:
        """That of the best answer so far."""
        method, own = running(self, state)
        found = method.estimate(problem, own)
        assert isinstance(found, Certificate)
        return found


def running(solver: ByPasses, state: ByPassesState) -> tuple[Solver, Any]:
    """The method that runs, and its state."""
    return (solver.newton, state.newton) if state.watch.by_newton else (solver.ascent, state.ascent)
