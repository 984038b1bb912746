"""Dual coordinate ascent or Newton's method, whichever is the sooner done: begun with one, left to the other."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hinge.constraints import Constraints, choice
from hinge.monitoring import Status
from hinge.problems import Multiclass, Problem, Regularized, Solution
from hinge.problems.base import Cost
from hinge.solvers.ascent.cocoa import CoCoAState
from hinge.solvers.ascent.local_ascent import SAMPLE
from hinge.solvers.ascent.multiclass_sdca import MulticlassSDCAState
from hinge.solvers.ascent.sdca import SDCA, SDCAState
from hinge.solvers.base import Paper, Solver, gap_of
from hinge.solvers.choice.cost_model import LEAST_TOL, multiclass_passes, newton_cost
from hinge.solvers.newton.newton import Newton
from hinge.solvers.unit_costs import pass_cost

# `python benchmarks/regret.py --shapes 40` measures what these four are worth.
EARLY = 0.15  # share of Newton's price that is spent on the ascent before it is judged: its first gaps tell little
LAST = 0.3  # share of Newton's price that the ascent may still take, however much was spent on it
SPENT = 0.5  # share of what was spent on the ascent by which it may take less
GROWTH = 1.5  # the ascent is judged each time its passes have grown by this factor
PATIENCE = 250.0  # passes within which the ascent should end, however little each costs: limits are given in passes
NEAR_ENOUGH = 5.0  # a gap from which on Newton's method continues sooner than it begins anew
FINEST = 1e-10  # a gap that rounding leaves to Newton's method, and that the ascent does not improve


class Watch(NamedTuple):
    """What is known of the run: which method runs, and how the gap of the ascent fell.

    ===================== ==========================================================================
    `t`, `seed`           iterations so far, and the seed of the run
    `by_newton`           whether Newton's method runs
    `switch_due`          whether the other method continues
    `switches`            how often it did; a method that made no progress is not tried again
    `due`                 iterations to the next evaluation
    `gap`                 the gap at the last evaluation
    `log_gap`             the logarithm of the least gap of the ascent
    `passes, passes_log`  its passes and `log_gap` at the last checkpoint
    `before, before_log`  the same at the checkpoint before
    `newton_gap`          the gap with which Newton's method was left
    ===================== ==========================================================================
    """

    t: int
    seed: int
    by_newton: bool
    switch_due: bool = False
    switches: int = 0
    due: int = 0
    gap: float = math.inf
    log_gap: float = math.inf
    passes: float = 0.0
    passes_log: float = math.inf
    before: float = 0.0
    before_log: float = math.inf
    newton_gap: float = math.inf


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
class Adaptive(Solver[Regularized | Multiclass, AdaptiveState]):
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

    An iteration is an iteration of the ascent; a step of Newton's method counts as the iterations of a pass, and the
    first of them does all its work.

    Parameters
    ----------
    tol : float
        The gap that is wanted.
    begin : {"ascent", "newton"}
        Which one begins.
    ascent : Solver
        `SDCA`, or `CoCoA` for several threads; `MulticlassSDCA` of a `Multiclass` problem.
    newton : Solver
        `Newton`; or `RowSpace`, for fewer rows than features, which continues from the dual point of the ascent, as
        does `MulticlassNewton` where `MulticlassSDCA` is the ascent.
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

    def init(self, problem: Regularized | Multiclass, seed: int = 0, start: Solution | None = None) -> AdaptiveState:
        watch = Watch(0, int(seed), self.begin == "newton")
        if watch.by_newton:
            return AdaptiveState(None, self.newton.init(problem, seed, start), watch)
        return AdaptiveState(self.ascent.init(problem, seed, start), None, watch)

    def advance(self, problem: Regularized | Multiclass, state: AdaptiveState, n_iter: int) -> AdaptiveState:
        ascent, newton, watch = state
        if n_iter == 0:  # compiles
            running(self, state)[0].advance(problem, running(self, state)[1], 0)
            return state
        a_step = self.ascent.cost(problem).a_pass
        while n_iter > 0:
            if watch.switch_due:
                ascent, newton, watch = self._switch(problem, AdaptiveState(ascent, newton, watch))
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
                watch = self._evaluate(problem, AdaptiveState(ascent, newton, watch))
            if ended or (watch.due == 0 and watch.gap <= self.tol):
                break
        return AdaptiveState(ascent, newton, watch)

    def _evaluate(self, problem: Regularized | Multiclass, state: AdaptiveState) -> Watch:
        """Evaluate the gap, and decide whether the other method continues."""
        watch, last = state.watch, state.watch.switches >= 2
        method, own = running(self, state)
        gap = float(gap_of(method.estimate(problem, own)))
        if watch.by_newton:
            ended = method.pause(problem, own) == 0
            return watch._replace(gap=gap, switch_due=bool(not last and ended and gap > FINEST))
        if last or not 0.0 < gap < math.inf:
            return watch._replace(gap=gap)
        passes, log_gap, due = passes_of(problem, own), min(watch.log_gap, math.log(gap)), False
        log_tol = math.log(max(self.tol, LEAST_TOL))
        watch = watch._replace(gap=gap, log_gap=log_gap)
        # The gap wavers from one evaluation to the next: a rate is taken over at least half of the growth.
        apart = passes - watch.before >= 0.5 * (GROWTH - 1.0) * watch.before > 0.0
        if watch.before_log < math.inf and log_gap > log_tol and apart:
            rate = (watch.before_log - log_gap) / (passes - watch.before)
            price = min(price_of(self, problem), PATIENCE)
            # Subspace steps keep the rate up, as conjugate gradients do; so do Newton steps over the free weights.
            steady = getattr(self.ascent, "acceleration", "none") == "subspace" or getattr(self.ascent, "newton", False)
            slow = is_slow(passes, passes_left(passes, rate, log_gap - log_tol, steady), price)
            due = slow or passes > 2.0 * PATIENCE
        if watch.passes_log == math.inf:
            return watch._replace(passes=passes, passes_log=log_gap, before=passes, before_log=log_gap)
        if passes < GROWTH * watch.passes:
            return watch._replace(switch_due=due)
        return watch._replace(
            switch_due=due, passes=passes, passes_log=log_gap, before=watch.passes, before_log=watch.passes_log
        )

    def _switch(self, problem: Regularized | Multiclass, state: AdaptiveState) -> AdaptiveState:
        """The other method in place of the one that runs, with its answer."""
        old, answer = state.watch, self.solution(problem, state)
        switches = 2 if old.by_newton else old.switches + 1  # who made no more progress is not tried again
        newton_gap = old.gap if old.by_newton else math.inf
        watch = Watch(
            old.t,
            old.seed,
            not old.by_newton,
            switches=switches,
            gap=old.gap,
            log_gap=old.log_gap,
            newton_gap=newton_gap,
        )
        if watch.by_newton:
            start = None if isinstance(self.newton, Newton) and old.gap > NEAR_ENOUGH else answer
            return AdaptiveState(state.ascent, self.newton.init(problem, old.seed, start), watch)
        if state.ascent is not None and (old.gap == math.inf or math.log(max(old.gap, LEAST_TOL)) >= old.log_gap):
            # Newton's method has got no further: the ascent continues where it was.
            return AdaptiveState(state.ascent, state.newton, watch)
        return AdaptiveState(self.ascent.init(problem, old.seed, answer), state.newton, watch)

    def solution(self, problem: Regularized | Multiclass, state: AdaptiveState) -> Solution:
        """That of the method at work; the ascent's, as long as Newton's method is busy with a part of the rows."""
        answer: Solution
        if state.watch.by_newton and state.watch.switches and self.newton.estimate(problem, state.newton) == math.inf:
            answer = self.ascent.solution(problem, state.ascent)
            return answer
        if not state.watch.by_newton and state.watch.newton_gap < state.watch.gap:  # the ascent has not come so far yet
            answer = self.newton.solution(problem, state.newton)
            return answer
        method, own = running(self, state)
        answer = method.solution(problem, own)
        return answer

    def cost(self, problem: Regularized | Multiclass, state: AdaptiveState | None = None) -> Cost:
        """A step of Newton's method, and a pass to switch to it; or a row, and the sample that an evaluation reads."""
        cost = self.ascent.cost(problem)
        if self.begin == "newton" if state is None else state.watch.by_newton or state.watch.switch_due:
            other = self.newton.cost(problem)
            return cost._replace(rows=0, cells=other.cells + problem.matrix.n_cells, certificate=other.certificate)
        return cost._replace(rows=cost.rows + (2 * SAMPLE if problem.n > 16 * SAMPLE else 0))

    def pause(self, problem: Regularized | Multiclass, state: AdaptiveState) -> int:
        """The end of the epoch, or of the step."""
        watch = state.watch
        if watch.due or watch.switch_due:
            return watch.due or self.ascent.cost(problem).a_pass
        if watch.by_newton:
            return self.newton.pause(problem, state.newton) * self.ascent.cost(problem).a_pass
        return ascent_due(self, problem, state.ascent)

    def estimate(self, problem: Regularized | Multiclass, state: AdaptiveState) -> float:
        """The gap of the last evaluation; between evaluations, the estimate of the running method."""
        if state.watch.due == 0 and state.watch.t:
            return state.watch.gap
        method, own = running(self, state)
        return gap_of(method.estimate(problem, own))

    def refresh(self, problem: Regularized | Multiclass, state: AdaptiveState) -> AdaptiveState:
        """Refresh the running method; the gaps of the ascent were underestimated, and are discarded."""
        if state.watch.by_newton:
            newton, watch = self.newton.refresh(problem, state.newton), state.watch
            ended = watch.switches < 2 and self.newton.pause(problem, newton) == 0
            return state._replace(newton=newton, watch=watch._replace(switch_due=watch.switch_due or ended))
        watch = state.watch._replace(log_gap=math.inf, passes=0.0, passes_log=math.inf, before=0.0, before_log=math.inf)
        return state._replace(ascent=self.ascent.refresh(problem, state.ascent), watch=watch)


def running(solver: Adaptive, state: AdaptiveState) -> tuple[Solver, Any]:
    """The running method, and its state."""
    return (solver.newton, state.newton) if state.watch.by_newton else (solver.ascent, state.ascent)


def ascent_due(
    solver: Adaptive, problem: Regularized | Multiclass, ascent: SDCAState | CoCoAState | MulticlassSDCAState
) -> int:
    """Iterations until the ascent is judged: as it pauses; or if it ends by itself, when its passes grew by half.

    It is not judged before it has taken a share of Newton's price: twice within that share, for a first rate.
    """
    pause, a_pass = solver.ascent.pause(problem, ascent), solver.ascent.cost(problem).a_pass
    if getattr(solver.ascent, "tol", 0.0) == 0.0:
        return pause
    first = int(EARLY / GROWTH * min(price_of(solver, problem), PATIENCE)) * a_pass
    return max(a_pass, ascent.t // 2, first - ascent.t)


def price_of(solver: Adaptive, problem: Regularized | Multiclass) -> float:
    """Passes that Newton's method is estimated to cost."""
    if solver.price is not None:
        return solver.price
    return multiclass_passes(problem) if isinstance(problem, Multiclass) else newton_cost(problem) / pass_cost(problem)


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


def passes_of(problem: Regularized | Multiclass, state: SDCAState | CoCoAState | MulticlassSDCAState) -> float:
    """Passes that the ascent has made so far."""
    return (state.ascent.t if isinstance(state, CoCoAState) else state.t) / problem.n
