"""The largest margin by `WorkingSet` and `PDHG` in alternation: the default for data in memory."""

from dataclasses import dataclass
from typing import NamedTuple

from hinge.compiled import Scalars, scalars
from hinge.constraints import Constraints, number
from hinge.monitoring import Status
from hinge.problems.base import Cost
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.solvers.base import Paper, Solver
from hinge.solvers.saddle.pdhg import PDHG, PDHGState
from hinge.solvers.saddle.working_set import EPOCHS_AT_ONCE, WorkingSet, WorkingSetState


class ByTurnsState(NamedTuple):
    """The states of both methods; `s` has the iterations, whether PDHG runs (`second`), passes `left` in this turn."""

    ascent: WorkingSetState
    gradients: PDHGState
    s: Scalars

    @property
    def t(self) -> int:
        """Iterations of both methods so far."""
        return int(self.s.t)


@dataclass(frozen=True)
class ByTurns(Solver[MaxMargin, ByTurnsState]):
    """`WorkingSet` and `PDHG` on one problem, in turns of equal work; the turns double.

    If the margin is not tiny the working set finishes within its first turn. If it is, either method may be many times
    as fast as the other, and which one is not known beforehand. Alternation with doubling turns costs at most four
    times the work of the better one alone. Any x and any p bound σ, so the answer is the best x and the best p of both
    methods. PDHG starts from the x and p of the working set.

    An iteration is one of the method whose turn it is. Work is counted in passes over all rows.

    Parameters
    ----------
    tol : float
        As for `WorkingSet`.
    turn : float
        Passes of the first turn; each pair of turns is twice as long as the one before. The default is about the least
        that PDHG needs for any problem.

    Examples
    --------
    >>> import hinge
    >>> from hinge.datasets import make_separable
    >>> from hinge.solvers import ByTurns
    >>> made = make_separable(200, 20, 0.3)
    >>> found = hinge.max_margin(made.X_train, made.y_train, eps=1e-3, method=ByTurns())
    >>> found.lower <= made.margin <= found.upper, bool(found.gap <= 1e-3)
    (True, True)
    """

    tol: float = 0.0
    turn: float = 100.0

    status_at_end = Status.STALLED
    paper = Paper(
        "A Dual Coordinate Descent Method for Large-scale Linear SVM", "Hsieh et al.", 2008, "one of the two; see PDHG"
    )
    constraints = Constraints(tol=number(least=0), turn=number(above=0))

    @property
    def _ascent(self) -> WorkingSet:
        return WorkingSet(tol=self.tol)

    solves, instead = MaxMargin, "PDHG or PrimalDual"

    def init(self, problem: MaxMargin, seed: int = 0, start: Strategies | None = None) -> ByTurnsState:
        s = scalars(t=0, second=False, left=float(self.turn), turn=float(self.turn))
        return ByTurnsState(self._ascent.init(problem, seed, start), PDHG().init(problem, seed, start), s)

    def advance(self, problem: MaxMargin, state: ByTurnsState, n_iter: int) -> ByTurnsState:
        ascent, gradients, s = state
        if n_iter == 0:
            return state._replace(
                ascent=self._ascent.advance(problem, ascent, 0), gradients=PDHG().advance(problem, gradients, 0)
            )
        for _ in range(n_iter):
            s.t += 1
            if s.second:
                if gradients.t == 0:
                    gradients = PDHG().init(problem, 0, self._ascent.solution(problem, ascent))
                gradients = PDHG().advance(problem, gradients, 1)
                s.left -= 2.0  # passes of an iteration of PDHG: X x and Xᵀp
            else:
                s.left -= EPOCHS_AT_ONCE * float(ascent.s.rows) / problem.n
                ascent = self._ascent.advance(problem, ascent, 1)
                s.left -= float(ascent.s.epochs == 0)
            self._next_turn(problem, ByTurnsState(ascent, gradients, s))
        return ByTurnsState(ascent, gradients, s)

    def _next_turn(self, problem: MaxMargin, state: ByTurnsState) -> None:
        """Decide which method runs the next iteration; one that has stalled gets no more turns."""
        s = state.s
        stalled = self._ascent.pause(problem, state.ascent) == 0, PDHG().pause(problem, state.gradients) == 0
        if s.left > 0.0 and not stalled[int(s.second)]:
            return
        if not stalled[int(not s.second)]:
            s.turn, s.second = (2.0 * s.turn if s.second else s.turn), not s.second
        s.left = s.turn

    def solution(self, problem: MaxMargin, state: ByTurnsState) -> Strategies:
        one, other = self._ascent.solution(problem, state.ascent), PDHG().solution(problem, state.gradients)
        lower = state.ascent.s.lower, state.gradients.s.lower
        upper = state.ascent.s.upper, state.gradients.s.upper
        return Strategies(one.x if lower[0] >= lower[1] else other.x, one.p if upper[0] <= upper[1] else other.p)

    # --- what the driver asks -------------------------------------------------------------

    def estimate(self, problem: MaxMargin, state: ByTurnsState) -> float:
        """The gap of the best bounds of both."""
        one, other = state.ascent.s, state.gradients.s
        return float(other.guard * problem.gap(max(one.lower, other.lower), min(one.upper, other.upper)))

    def refresh(self, problem: MaxMargin, state: ByTurnsState) -> ByTurnsState:
        return state._replace(gradients=PDHG().refresh(problem, state.gradients)) if state.gradients.t else state

    def cost(self, problem: MaxMargin, state: ByTurnsState | None = None) -> Cost:
        larger, own = PDHG().cost(problem), self._ascent.cost(problem)
        return Cost(cells=larger.cells + larger.setup, a_pass=own.a_pass)

    def pause(self, problem: MaxMargin, state: ByTurnsState) -> int:
        pauses = self._ascent.pause(problem, state.ascent), PDHG().pause(problem, state.gradients)
        return pauses[int(state.s.second)] if min(pauses) else max(pauses)
