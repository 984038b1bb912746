"""Dual coordinate ascent or Newton's method, whichever finishes sooner: a run begins with one, and may switch."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from hinge.compiled import Scalars, copied, scalars
from hinge.constraints import Constraints, choice
from hinge.monitoring import Status
from hinge.problems import Certificate, Multiclass, Problem, Regularized, Solution
from hinge.problems.base import EPS, Cost
from hinge.solvers.ascent.local_ascent import SAMPLE
from hinge.solvers.ascent.multiclass_sdca import MulticlassSDCAState
from hinge.solvers.ascent.sdca import SDCA, SDCAState
from hinge.solvers.base import Solver, gap_of
from hinge.solvers.choice.cost_model import factors_cost, multiclass_passes, newton_cost
from hinge.solvers.newton.newton import Newton, begins_with
from hinge.solvers.newton.systems import STEP, pass_cost

P = TypeVar("P", bound=Regularized | Multiclass)

# `python benchmarks/regret.py --shapes 40` measures what these are worth.
EARLY = 0.15  # share of Newton's price that is spent on the ascent before it is judged: its first gaps tell little
GROWTH = 1.5  # the ascent is judged each time its passes have grown by this factor
OVERRUN = 2.0  # times the estimates of both methods that Newton's method may cost before the ascent continues
PATIENCE = 800.0  # passes within which the ascent should end, however little each costs: most of `max_iter`
FINEST = 1e-10  # a gap that rounding leaves to Newton's method, and that the ascent does not improve


class SwitchState(NamedTuple):
    """The states of both methods, of which one runs, and what is known of the run; None for one that has not begun.

    ============================== =======================================================================
    `ascent`, `newton`             the states of the two methods
    `seed`                         the seed of the run
    `watch.t`                      iterations so far
    `watch.by_newton`              whether Newton's method runs
    `watch.switch_due`             whether the other method continues
    `watch.switches`               how often it did; a method that made no progress is not tried again
    `watch.due`                    iterations to the next evaluation
    `watch.gap`                    the gap at the last evaluation
    `watch.ended`                  whether a call has ended early because that is within the tolerance
    `watch.newton_gap`             the gap with which Newton's method was left
    `watch.newton_work`            the passes that it has cost, by its reads and steps
    `watch.left`                   the passes that the ascent seemed to lack when it was left
    `watch.log_gap`                the logarithm of the least gap of the ascent
    `watch.passes`, `passes_log`   its passes and `log_gap` at the last checkpoint
    `watch.before`, `before_log`   the same at the checkpoint before
    ============================== =======================================================================
    """

    ascent: Any
    newton: Any
    watch: Scalars
    seed: np.uint64

    @property
    def t(self) -> int:
        """Iterations run so far."""
        return int(self.watch.t)


@dataclass(frozen=True)
class Switch(Solver[P, SwitchState]):
    """What ``solver="auto"`` runs where dual coordinate ascent or Newton's method may be the better one.

    The ascent is cheap to begin with, and its gap falls by a factor in each pass that only trying tells: with the gap
    :math:`g_k` after k passes, and :math:`g_j` at a place about half as far,

    .. math:: \\ell = \\frac{\\ln(g_k/\\mathrm{tol})}{r}, \\qquad r = \\frac{\\ln(g_j/g_k)}{k - j}

    passes would be left if that rate stayed. It tends to fall, from one factor in each pass to one in each doubling of
    the passes at worst; halfway, as :math:`1/\\sqrt k`, they are :math:`\\ell + \\ell^2/4k`. What Newton's method takes
    is estimated beforehand (:mod:`hinge.solvers.choice.cost_model`); both are compared at each evaluation. Half of what
    the ascent has taken counts against it: once it has taken twice the price of Newton's method, this takes over
    whatever the rate promises. It also takes over, at up to twice the cost of all passes, where these would be too many
    for common limits. Estimates may be far too low, where rows are separable: so Newton's method is left too, once,
    when it has taken twice its estimate and what the ascent seemed to lack, and its gap is still above one. The ascent
    continues then, and is judged by what Newton's method has cost. Where Newton's method makes no more progress, the
    ascent continues to the end, from the better dual point.

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
        `SDCA`; `MulticlassSDCA` of a `Multiclass` problem.
    newton : Solver
        `Newton`; or `RowSpace`, for fewer rows than features, which continues from the dual point of the ascent, as
        does `MulticlassNewton` where `MulticlassSDCA` is the ascent.
    newton_passes : float, optional
        Passes that this is thought to cost; by default as the sizes of the problem tell.
    ascent_passes : float
        Passes that the ascent is thought to take at least. A Newton's method that begins the run is left for it once it
        has cost twice these and its own estimate; by default it is not.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import Switch
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, Switch(tol=1e-3), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.certificate.gap <= 1e-3
    True
    """

    tol: float = 1e-3
    begin: str = "ascent"
    ascent: Solver = field(default_factory=SDCA)
    newton: Solver = field(default_factory=Newton)
    newton_passes: float | None = None
    ascent_passes: float = math.inf

    any_loss = True
    free_level = True
    ends_itself = True
    status_at_end = Status.STALLED
    paper = SDCA.paper._replace(place="what the runtime depends on; here measured on the way")
    constraints = Constraints(begin=choice("ascent", "newton"))

    @property
    def parts(self) -> int:
        """Those of Newton's method: the ascent has a single thread."""
        return self.newton.parts

    def rejects(self, problem: Problem) -> str | None:
        return self.newton.rejects(problem) or self.ascent.rejects(problem)

    def init(self, problem: P, seed: int = 0, start: Solution | None = None) -> SwitchState:
        state = SwitchState(None, None, first_watch(by_newton=self.begin == "newton"), np.uint64(seed))
        state.watch.left = self.ascent_passes
        own = running(self, state)[0].init(problem, seed, start)
        return state._replace(newton=own) if state.watch.by_newton else state._replace(ascent=own)

    def advance(self, problem: P, state: SwitchState, n_iter: int) -> SwitchState:
        watch, (method, own) = state.watch, running(self, state)
        if n_iter == 0:  # compiles
            method.advance(problem, own, 0)
            return state
        if self.ends_itself and watch.t and watch.due == 0 and watch.gap <= self.tol and not watch.ended:
            watch["ended"] = True  # the last call ended with the iteration that reached it, and could not say so
            return state
        a_pass, a_step = self.ascent.cost(problem).a_pass, step_length(self, problem)
        while n_iter > 0:
            if watch.switch_due:
                state = self._switch(problem, state)
            (method, own), by_newton, ended = running(self, state), bool(watch.by_newton), False
            due = int(watch.due) or (a_pass if by_newton else ascent_due(self, problem, own))
            n = min(n_iter, due)
            if by_newton:
                done = a_pass - due  # the first iteration of a step does all of it
                if steps := steps_begun(done + n, a_step) - steps_begun(done, a_step):
                    reads = problem.reads
                    state = state._replace(newton=method.advance(problem, own, steps))
                    passes = (problem.reads - reads) / max(1, problem.pass_cells)
                    watch["newton_work"] += passes + steps * step_price(self, problem)
            else:
                before = own.t
                own = method.advance(problem, own, n)
                n, ended = own.t - before, own.t - before < n  # it expects to have reached its tolerance
                state = state._replace(ascent=own)
            due = 0 if ended else due - n
            watch["t"] += n  # by name: attributes of a record are slow to write, and steps may be short
            watch["due"] = due
            n_iter -= n
            reached = due == 0 and evaluate(self, problem, state) <= self.tol
            watch["ended"] = ended or (reached and self.ends_itself and n_iter > 0)
            if watch.ended:
                break
        return state

    def _price(self, problem: P) -> float:
        """Passes of the ascent that Newton's method is estimated to cost."""
        if self.newton_passes is not None:
            return self.newton_passes
        if isinstance(problem, Multiclass):
            return multiclass_passes(problem)
        return newton_cost(problem) / pass_cost(problem)

    def _switch(self, problem: P, state: SwitchState) -> SwitchState:
        """The other method in place of the one that runs, with its answer."""
        watch, answer = state.watch, self.solution(problem, state)
        forget_rate(watch)
        watch.due, watch.switch_due, watch.by_newton = 0, False, not watch.by_newton
        if watch.by_newton:
            watch.switches += 1
            return self._begin_newton(problem, state, answer)
        watch.newton_gap = watch.gap
        if self.newton.pause(problem, state.newton) == 0:
            watch.switches = 2  # a method that made no more progress is not tried again
        known = watch.gap < math.inf and math.log(max(watch.gap, EPS)) < watch.log_gap
        if state.ascent is not None and not known:
            return state  # Newton's method has got no further: the ascent continues where it was
        return state._replace(ascent=self.ascent.init(problem, int(state.seed), answer))

    def _begin_newton(self, problem: P, state: SwitchState, answer: Solution) -> SwitchState:
        """Newton's method at the answer of the ascent; or where it was left, if that was better; or anew, if its own
        beginning is a sample, which is quicker.
        """
        first = state.newton is None
        if not first and state.watch.newton_gap <= state.watch.gap:
            return state
        state.watch.newton_gap = min(float(state.watch.newton_gap), float(state.watch.gap))
        anew = first and isinstance(self.newton, Newton) and begins_with(cast(Regularized, problem)) < problem.n
        return state._replace(newton=self.newton.init(problem, int(state.seed), None if anew else answer))

    def solution(self, problem: P, state: SwitchState) -> Solution:
        """That of the method that runs; the ascent's, as long as Newton's method is busy with a part of the rows."""
        watch, (method, own) = state.watch, running(self, state)
        if watch.by_newton:
            begun = state.ascent is not None and state.ascent.t
            if begun and gap_of(method.estimate(problem, own)) == math.inf:
                method, own = self.ascent, state.ascent
        elif watch.newton_gap < watch.gap:  # the ascent has not come so far yet
            method, own = self.newton, state.newton
        answer: Solution = method.solution(problem, own)
        return answer

    def cost(self, problem: P, state: SwitchState | None = None) -> Cost:
        """A step of Newton's method, and a pass to switch to it; or a row, and the sample that an evaluation reads."""
        cost = self.ascent.cost(problem)
        if self.begin == "newton" if state is None else state.watch.by_newton or state.watch.switch_due:
            other = self.newton.cost(problem)
            return cost._replace(rows=0, cells=other.cells + problem.matrix.n_cells, certificate=other.certificate)
        return cost._replace(rows=cost.rows + (2 * SAMPLE if problem.n > 16 * SAMPLE else 0))

    def pause(self, problem: P, state: SwitchState) -> int:
        """The next pause of the method that runs; at the latest where the ascent is judged."""
        watch, (method, own) = state.watch, running(self, state)
        if watch.switch_due or (watch.by_newton and watch.due):
            return int(watch.due) or self.ascent.cost(problem).a_pass
        if watch.by_newton:
            return method.pause(problem, own) * step_length(self, problem)
        return min(int(watch.due) or ascent_due(self, problem, own), method.pause(problem, own))

    def estimate(self, problem: P, state: SwitchState) -> float | Certificate:
        """The gap of the last evaluation; between evaluations, the estimate of the running method."""
        if state.watch.due == 0 and state.watch.t:
            return float(state.watch.gap)
        method, own = running(self, state)
        return gap_of(method.estimate(problem, own))

    def refresh(self, problem: P, state: SwitchState) -> SwitchState:
        """Refresh the running method; the gaps of the ascent were underestimated, and are discarded."""
        watch, (method, own) = state.watch, running(self, state)
        own = method.refresh(problem, own)
        if watch.by_newton:
            watch.switch_due |= watch.switches < 2 and method.pause(problem, own) == 0
            return state._replace(newton=own)
        forget_rate(watch)
        watch.log_gap = math.inf
        return state._replace(ascent=own)


FIRST_WATCH = scalars(
    **dict(t=0, switches=0, due=0, passes=0.0, before=0.0, newton_work=0.0),
    **dict(by_newton=False, switch_due=False, ended=False),
    **dict.fromkeys(("gap", "newton_gap", "left", "log_gap", "passes_log", "before_log"), math.inf),
)


def first_watch(*, by_newton: bool) -> Scalars:
    """The numbers of `SwitchState.watch` before the first iteration."""
    watch = copied(FIRST_WATCH)
    watch["by_newton"] = by_newton
    return watch


def forget_rate(watch: Scalars) -> None:
    """Discard the checkpoints of the ascent, between which its rate is measured."""
    watch.passes = watch.before = 0.0
    watch.passes_log = watch.before_log = math.inf


def running(solver: Switch[Any], state: SwitchState) -> tuple[Solver, Any]:
    """The running method, and its state."""
    return (solver.newton, state.newton) if state.watch.by_newton else (solver.ascent, state.ascent)


def step_length(solver: Switch[P], problem: P) -> int:
    """Iterations that one of Newton's method counts as."""
    return max(1, solver.ascent.cost(problem).a_pass // solver.newton.cost(problem).a_pass)


def step_price(solver: Switch[P], problem: P) -> float:
    """Passes of the ascent that a step of Newton's method costs besides what it reads; 0 where no number is known."""
    if not isinstance(solver.newton, Newton) or not isinstance(problem, Regularized):
        return 0.0
    return (STEP + factors_cost(problem)) / pass_cost(problem)


def steps_begun(iterations: int, a_step: int) -> int:
    """Newton steps that have begun after some iterations, of which each step has `a_step`."""
    return -(-iterations // a_step)


def ascent_due(solver: Switch[P], problem: P, ascent: SDCAState | MulticlassSDCAState) -> int:
    """Iterations until the ascent is judged: as it pauses; or if it ends by itself, when its passes grew by half.

    It is not judged before it has taken a share of Newton's price: twice within that share, for a first rate.
    """
    pause, a_pass = solver.ascent.pause(problem, ascent), solver.ascent.cost(problem).a_pass
    if getattr(solver.ascent, "tol", 0.0) == 0.0:
        return pause
    first = int(EARLY / GROWTH * min(solver._price(problem), PATIENCE)) * a_pass
    return max(a_pass, ascent.t // 2, first - ascent.t)


def evaluate(solver: Switch[P], problem: P, state: SwitchState) -> float:
    """Evaluate the gap, and decide whether the other method continues."""
    watch, last, (method, own) = state.watch, state.watch.switches >= 2, running(solver, state)
    watch["gap"] = gap = float(gap_of(method.estimate(problem, own)))
    price = solver._price(problem)
    if watch.by_newton:
        first = watch.switches + (solver.begin == "newton") == 1
        # Its last digits come quickly.
        dear = first and gap > 1.0 and watch.newton_work > OVERRUN * (price + float(watch.left))
        stalled, again = method.pause(problem, own) == 0, watch.newton_gap < math.inf  # it was left before
        watch["switch_due"] = gap > FINEST and (dear or (stalled and (again or not last)))
        return gap
    if last or not gap > 0.0:
        return gap
    passes = own.t / method.cost(problem).a_pass
    if gap == math.inf:  # it continues from dual weights of Newton's method that are far too long
        watch.switch_due = bool(passes > OVERRUN * max(price, float(watch.newton_work)) and watch.newton_work)
        return gap
    watch.log_gap = log_gap = min(float(watch.log_gap), math.log(gap))
    log_tol, due = math.log(max(solver.tol, EPS)), False
    # The gap wavers from one evaluation to the next: a rate is taken over at least half of the growth.
    apart = passes - watch.before >= 0.5 * (GROWTH - 1.0) * watch.before > 0.0
    if watch.before_log < math.inf and log_gap > log_tol and apart:
        rate = float((watch.before_log - log_gap) / (passes - watch.before))
        # Subspace steps keep the rate up, as conjugate gradients do; so do Newton steps over the free weights.
        steady = getattr(solver.ascent, "acceleration", "none") == "subspace" or getattr(solver.ascent, "newton", False)
        left = passes_left(passes, rate, log_gap - log_tol, steady)
        due = is_slow(passes, left, max(price, float(watch.newton_work)))
        watch.left = left
    if watch.passes_log == math.inf:
        watch.passes, watch.passes_log, watch.before, watch.before_log = passes, log_gap, passes, log_gap
        return gap
    watch.switch_due = due
    if passes >= GROWTH * watch.passes:
        watch.before, watch.before_log = watch.passes, watch.passes_log
        watch.passes, watch.passes_log = passes, log_gap
    return gap


def is_slow(work: float, left: float, price: float) -> bool:
    """Whether an ascent that has made `work` passes should be given up for Newton's method, by what it seems to lack.

    It is judged once its rate is known. Rates promise too much, the more often the longer the ascent has taken: half of
    its work counts against it, so that it is kept for twice the price at most. Where it needs more passes than limits
    allow, Newton's method may cost more.
    """
    if work <= EARLY * min(price, PATIENCE):
        return False
    return left > price - 0.5 * work or (work + left > PATIENCE and price < OVERRUN * (work + left))


def passes_left(k: float, rate: float, wanted: float, steady: bool = False) -> float:
    """Passes until the logarithm of the gap has fallen by as much as is wanted, if its rate falls as 1/√k, or stays."""
    if rate <= 0.0:
        return math.inf
    left = wanted / rate
    return left if steady else left + left * left / (4.0 * k)
