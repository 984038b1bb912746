"""Dual coordinate ascent or Newton's method, whichever is the sooner done: begun with one, left to the other."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hinge.constraints import Constraints, choice
from hinge.monitoring import Status
from hinge.problems import Problem, Regularized, Solution
from hinge.problems.cost import Cost
from hinge.solvers.ascent.cocoa import CoCoAState
from hinge.solvers.ascent.sdca import SAMPLE, SDCA, SDCAState
from hinge.solvers.base import Paper, Solver, gap_of
from hinge.solvers.choice.cost_model import newton_cost
from hinge.solvers.newton.newton import Newton
from hinge.solvers.newton.row_space import RowSpace
from hinge.solvers.unit_costs import pass_cost

EARLY = 0.15  # share of Newton's price that is spent on the ascent before it is judged: its first gaps tell little
LAST = 0.3  # share of Newton's price that the ascent may still take, however much was spent on it
SPENT = 0.5  # share of what was spent on the ascent by which it may take less
PATIENCE = 250.0  # passes within which the ascent should be done, however little each costs: limits are in passes
NEAR_ENOUGH = 5.0  # a gap from which on Newton's method continues sooner than it begins anew
GROWTH = 1.5  # the ascent is judged each time its passes have grown by this factor
MOST_TURNS = 2
FINEST = 1e-10  # a gap that rounding leaves to Newton's method, and that the ascent does not improve
LEAST, LARGEST = 1e-16, 700.0  # the smallest tolerance; the largest logarithm of a gap whose exponential is finite


class Watch(NamedTuple):
    """What is known of the run: who is at work, and how the gap of the ascent fell.

    `t` counts iterations, `seed` is that of the run. `by_newton` says who is at work, `turn` that it is the other's
    turn, and `turns` how many there were. `due` is the number of iterations to the next look, `gap` what the last one
    saw, and `log` the logarithm of the least gap of the ascent. Two places are remembered, by its passes (`near` and
    `far`) and that logarithm there. `left` is the gap with which Newton's method was left.
    """

    t: int
    seed: int
    by_newton: bool
    turn: bool = False
    turns: int = 0
    due: int = 0
    gap: float = math.inf
    log: float = math.inf
    near: float = 0.0
    near_log: float = math.inf
    far: float = 0.0
    far_log: float = math.inf
    left: float = math.inf


class AdaptiveState(NamedTuple):
    """The states of both methods, of which one is at work, and what is known of the run.

    The state of a method that has not begun is None.
    """

    ascent: Any
    newton: Any
    watch: Watch

    @property
    def t(self) -> int:
        """Iterations run so far."""
        return self.watch.t


@dataclass(frozen=True)
class Adaptive(Solver[Regularized, AdaptiveState]):
    """What ``solver="auto"`` runs where dual coordinate ascent or Newton's method may be the better one.

    The ascent is cheap to begin with, and its gap falls by a factor in each pass that only trying tells: with the gap
    :math:`g_k` after k passes, and :math:`g_j` at a place about half as far,

    .. math:: \\ell = \\frac{\\ln(g_k/\\mathrm{tol})}{r}, \\qquad r = \\frac{\\ln(g_j/g_k)}{k - j}

    passes would be left if that rate stayed. It tends to fall, from one factor in each pass to one in each doubling of
    the passes at worst; halfway, as :math:`1/\\sqrt k`, they are :math:`\\ell + \\ell^2/4k`. What Newton's method takes
    is estimated beforehand (:mod:`hinge.solvers.choice.cost_model`). Where that is less it takes over: from w if the
    gap is small, and else from the beginning, which then is as quick. Both are compared at each evaluation. Where
    Newton's method makes no more progress, the ascent continues to the end, from the better dual point of both.

    Work is counted in rows, not measured by a clock: a run decides the same each time.

    An iteration is one of the ascent; a step of Newton's method stands for as many as a pass has, of which the first
    does it all.

    Parameters
    ----------
    tol : float
        The gap that is wanted.
    begin : {"ascent", "newton"}
        Which one begins.
    ascent : Solver
        `SDCA`, or `CoCoA` for several threads.
    newton : Solver
        `Newton`; or `RowSpace`, of fewer rows than features, which goes on from where the ascent is.
    price : float, optional
        Passes that this is thought to cost; by default as the sizes of the problem tell.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import Adaptive
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, Adaptive(tol=1e-3), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.certificate.gap <= 1e-3
    True
    """

    tol: float = 1e-3
    begin: str = "ascent"
    ascent: Solver = field(default_factory=SDCA)
    newton: Solver = field(default_factory=Newton)
    price: float | None = None

    any_loss = True
    free_level = True
    ends_itself = True
    finished = Status.STALLED
    paper = Paper(
        "Large-Scale SVM Optimization: Taking a Machine Learning Perspective",
        "Shalev-Shwartz, Srebro",
        2008,
        "what the runtime depends on; here measured on the way",
    )
    constraints = Constraints(begin=choice("ascent", "newton"))

    @property
    def parts(self) -> int:
        """The more of both methods."""
        return max(self.ascent.parts, self.newton.parts)

    def rejects(self, problem: Problem) -> str | None:
        return self.newton.rejects(problem) or self.ascent.rejects(problem)

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> AdaptiveState:
        watch = Watch(0, int(seed), self.begin == "newton")
        if watch.by_newton:
            return AdaptiveState(None, self.newton.init(problem, seed, start), watch)
        return AdaptiveState(self.ascent.init(problem, seed, start), None, watch)

    def advance(self, problem: Regularized, state: AdaptiveState, n_iter: int) -> AdaptiveState:
        ascent, newton, watch = state
        if n_iter == 0:  # compiles
            at_work(self, state)[0].advance(problem, at_work(self, state)[1], 0)
            return state
        a_step = self.ascent.cost(problem).a_pass
        while n_iter > 0:
            if watch.turn:
                ascent, newton, watch = self._turned(problem, AdaptiveState(ascent, newton, watch))
            due = watch.due or (a_step if watch.by_newton else ascent_due(self, problem, ascent))
            n, ended = min(n_iter, due), False
            if not watch.by_newton:
                before = ascent.t
                ascent = self.ascent.advance(problem, ascent, n)
                n, ended = ascent.t - before, ascent.t - before < n  # it expects to have reached its tolerance
            elif due == a_step:
                newton = self.newton.advance(problem, newton, 1)
            watch = watch._replace(t=watch.t + n, due=0 if ended else due - n)
            n_iter -= n
            if watch.due == 0:
                watch = self._seen(problem, AdaptiveState(ascent, newton, watch))
            if ended or (watch.due == 0 and watch.gap <= self.tol):
                break
        return AdaptiveState(ascent, newton, watch)

    def _seen(self, problem: Regularized, state: AdaptiveState) -> Watch:
        """Look at the gap, and decide whether it is the other's turn."""
        watch, last = state.watch, state.watch.turns >= MOST_TURNS
        method, own = at_work(self, state)
        gap = float(gap_of(method.estimate(problem, own)))
        if watch.by_newton:
            ended = method.pause(problem, own) == 0
            return watch._replace(gap=gap, turn=bool(not last and ended and gap > FINEST))
        if last or not 0.0 < gap < math.inf:
            return watch._replace(gap=gap)
        work, log, turn = passes_of(problem, own), min(watch.log, math.log(gap)), False
        wanted = math.log(max(self.tol, LEAST))
        watch = watch._replace(gap=gap, log=log)
        if watch.far_log < math.inf and log > wanted and work > watch.far:
            rate = (watch.far_log - log) / (work - watch.far)
            price = min(price_of(self, problem), PATIENCE)
            # Subspace steps hold the rate up, as conjugate gradients do.
            steady = getattr(self.ascent, "acceleration", "none") == "subspace"
            slow = is_slow(work, passes_left(work, rate, log - wanted, steady), price)
            turn = slow or work > 2.0 * PATIENCE
        if watch.near_log == math.inf:
            return watch._replace(near=work, near_log=log, far=work, far_log=log)
        if work < GROWTH * watch.near:
            return watch._replace(turn=turn)
        return watch._replace(turn=turn, near=work, near_log=log, far=watch.near, far_log=watch.near_log)

    def _turned(self, problem: Regularized, state: AdaptiveState) -> AdaptiveState:
        """The other method in place of the one at work, with its answer."""
        watch, answer = state.watch, self.solution(problem, state)
        turns = MOST_TURNS if watch.by_newton else watch.turns + 1  # who made no more progress is not asked again
        left = watch.gap if watch.by_newton else math.inf
        there = Watch(watch.t, watch.seed, not watch.by_newton, turns=turns, gap=watch.gap, log=watch.log, left=left)
        if there.by_newton:
            start = answer if watch.gap <= NEAR_ENOUGH or isinstance(self.newton, RowSpace) else None
            return AdaptiveState(state.ascent, self.newton.init(problem, watch.seed, start), there)
        if state.ascent is not None and watch.gap >= math.exp(min(watch.log, LARGEST)):
            # Newton's method has got no further: the ascent continues where it was.
            return AdaptiveState(state.ascent, state.newton, there)
        return AdaptiveState(self.ascent.init(problem, watch.seed, answer), state.newton, there)

    def solution(self, problem: Regularized, state: AdaptiveState) -> Solution:
        """That of the method at work; the ascent's, as long as Newton's method is busy with a part of the rows."""
        answer: Solution
        if state.watch.by_newton and state.watch.turns and self.newton.estimate(problem, state.newton) == math.inf:
            answer = self.ascent.solution(problem, state.ascent)
            return answer
        if not state.watch.by_newton and state.watch.left < state.watch.gap:  # the ascent has not come so far yet
            answer = self.newton.solution(problem, state.newton)
            return answer
        method, own = at_work(self, state)
        answer = method.solution(problem, own)
        return answer

    def cost(self, problem: Regularized, state: AdaptiveState | None = None) -> Cost:
        """A step of Newton's method, and a pass to hand over; or the ascent's, and the sample that a look takes."""
        cost = self.ascent.cost(problem)
        if self.begin == "newton" if state is None else state.watch.by_newton or state.watch.turn:
            other = self.newton.cost(problem)
            return cost._replace(rows=0, cells=other.cells + problem.matrix.n_cells, certificate=other.certificate)
        return cost._replace(rows=cost.rows + (2 * SAMPLE if problem.n > 16 * SAMPLE else 0))

    def pause(self, problem: Regularized, state: AdaptiveState) -> int:
        """The end of the epoch, or of the step."""
        watch = state.watch
        if watch.due or watch.turn:
            return watch.due or self.ascent.cost(problem).a_pass
        if watch.by_newton:
            return self.newton.pause(problem, state.newton) * self.ascent.cost(problem).a_pass
        return ascent_due(self, problem, state.ascent)

    def estimate(self, problem: Regularized, state: AdaptiveState) -> float:
        """The gap that the last look saw; between looks, that of the method at work."""
        if state.watch.due == 0 and state.watch.t:
            return state.watch.gap
        method, own = at_work(self, state)
        return gap_of(method.estimate(problem, own))

    def refresh(self, problem: Regularized, state: AdaptiveState) -> AdaptiveState:
        """Tell the method at work; the gaps that the ascent saw were too small, and are forgotten."""
        if state.watch.by_newton:
            newton, watch = self.newton.refresh(problem, state.newton), state.watch
            ended = watch.turns < MOST_TURNS and self.newton.pause(problem, newton) == 0
            return state._replace(newton=newton, watch=watch._replace(turn=watch.turn or ended))
        unseen = state.watch._replace(log=math.inf, near=0.0, near_log=math.inf, far=0.0, far_log=math.inf)
        return state._replace(ascent=self.ascent.refresh(problem, state.ascent), watch=unseen)


def at_work(solver: Adaptive, state: AdaptiveState) -> tuple[Solver, Any]:
    """Who is at work, and its state."""
    return (solver.newton, state.newton) if state.watch.by_newton else (solver.ascent, state.ascent)


def ascent_due(solver: Adaptive, problem: Regularized, ascent: SDCAState | CoCoAState) -> int:
    """Iterations until the ascent is judged: as it pauses; or if it ends by itself, when its passes grew by half.

    It is not judged before it has taken a share of Newton's price: twice within that share, for a first rate.
    """
    pause, a_pass = solver.ascent.pause(problem, ascent), solver.ascent.cost(problem).a_pass
    if getattr(solver.ascent, "tol", 0.0) == 0.0:
        return pause
    first = int(EARLY / GROWTH * min(price_of(solver, problem), PATIENCE)) * a_pass
    return max(a_pass, ascent.t // 2, first - ascent.t)


def price_of(solver: Adaptive, problem: Regularized) -> float:
    """Passes that Newton's method is estimated to cost."""
    return newton_cost(problem) / pass_cost(problem) if solver.price is None else solver.price


def is_slow(work: float, left: float, price: float) -> bool:
    """Whether an ascent that has made `work` passes should be given up for Newton's method, by what it seems to lack.

    The more was spent on it the less may be left: estimates tend to hope, and all that was spent is lost then.
    """
    return work > EARLY * price and left > max(LAST * price, price - SPENT * work)


def passes_left(k: float, rate: float, wanted: float, steady: bool = False) -> float:
    """Passes until the logarithm of the gap has fallen by as much as is wanted, if its rate falls as 1/√k, or stays."""
    if rate <= 0.0:
        return math.inf
    left = wanted / rate
    return left if steady else left + left * left / (4.0 * k)


def passes_of(problem: Regularized, state: SDCAState | CoCoAState) -> float:
    """Passes that the ascent has made so far."""
    ascent: SDCAState = state if isinstance(state, SDCAState) else state.ascent
    return ascent.t / problem.n
