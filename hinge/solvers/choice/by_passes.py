"""Dual ascent by blocks or Newton's method by passes, whichever should be the sooner done with all rows."""

from dataclasses import dataclass, field

import numpy as np

from hinge.problems import Certificate, Problem, Regularized, Solution
from hinge.problems.base import Cost
from hinge.solvers.ascent.block_ascent import BlockAscent, cut_of, load_block, shuffled_block
from hinge.solvers.ascent.sdca import TYPICAL
from hinge.solvers.base import Solver
from hinge.solvers.choice.cost_model import BlockCosts, block_costs, plain_stiffness
from hinge.solvers.choice.switch import Switch, SwitchState, first_watch, running
from hinge.solvers.newton.block_newton import ROWS, BlockNewton
from hinge.solvers.newton.systems import MOST_DIRECT


@dataclass(frozen=True)
class ByPasses(Switch[Regularized]):
    """What ``solver="auto"`` runs where rows do not fit into memory: a `Switch` from `BlockAscent` to `BlockNewton`.

    The ascent needs more passes the larger :math:`R^2/\\Lambda` is. Newton's method hardly does, but a pass of it costs
    d² for a row on the parabola, and it needs more rows than features: `block_costs` says what both should cost, by the
    sizes of the problem and a few rows of the first block. Newton's method is never left again.

    An iteration is a block. The state has both methods from the beginning, so that it has one form on a disk.

    Parameters
    ----------
    tol : float
        The gap that is wanted.
    ascent : BlockAscent
    newton : BlockNewton
    most : int
        Features up to which Newton's method is thought of: it needs 2d² numbers.

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

    ascent: Solver = field(default_factory=BlockAscent)
    newton: Solver = field(default_factory=BlockNewton)
    most: int = MOST_DIRECT

    free_level = False
    ends_itself = False
    reads = "blocks"
    exact_estimate = True
    steps_are_short = True

    def rejects(self, problem: Problem) -> str | None:
        return self.ascent.rejects(problem)

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> SwitchState:
        able = problem.d <= min(self.most, MOST_DIRECT) and problem.n >= ROWS * problem.d
        newton = self.newton.init(problem, seed, start) if able else ()
        watch = first_watch(by_newton=False)
        watch.switches = 1 if able else 2  # so that there is one more, or none
        return SwitchState(self.ascent.init(problem, seed, start), newton, watch, np.uint64(seed))

    def advance(self, problem: Regularized, state: SwitchState, n_iter: int) -> SwitchState:
        if state.t == 0 and n_iter > 0 and state.newton:  # who begins, by some rows of the first block
            block = shuffled_block(cut_of(problem), state.ascent.key, 0, 0)
            sq = load_block(problem, block, block).typical_sq_norm(TYPICAL) + problem.constant_sq
            prices = self._prices(problem, plain_stiffness(problem, sq))
            if prices.newton < prices.ascent:
                state.watch.by_newton, state.watch.switches = True, 2
        return super().advance(problem, state, n_iter)

    def _prices(self, problem: Regularized, stiff: float = 0.0) -> BlockCosts:
        matrix = problem.matrix
        return block_costs(problem.d, matrix.n_cells / problem.n, matrix.is_sparse, stiff, self.tol)

    def _price(self, problem: Regularized) -> float:
        prices = self._prices(problem)
        return prices.newton / prices.ascent_pass

    def _begin_newton(self, problem: Regularized, state: SwitchState, answer: Solution) -> SwitchState:
        """Newton's method at the best answer of the ascent, with its bounds and its place among the blocks."""
        newton = self.newton.init(problem, int(state.seed), answer)
        place, known = newton.walk.place, state.ascent.place
        place.primal, place.b, place.bound = known.primal, known.best_b, known.bound
        newton.walk.best[:] = state.ascent.best
        newton.place.t, newton.place.passes = known.t, known.passes
        return state._replace(newton=newton)

    def cost(self, problem: Regularized, state: SwitchState | None = None) -> Cost:
        """That of the ascent, whose blocks cost more cells; and what Newton's method begins with."""
        return self.ascent.cost(problem)._replace(setup=self.newton.cost(problem).setup)

    def estimate(self, problem: Regularized, state: SwitchState) -> Certificate:
        """That of the best answer so far."""
        method, own = running(self, state)
        found = method.estimate(problem, own)
        assert isinstance(found, Certificate)
        return found
