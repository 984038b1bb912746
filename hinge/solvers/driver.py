"""The loop that runs every solver: clock, stopping rule, history, interrupts, and what a run spends."""

import copy
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from hinge.access import Matrix
from hinge.access.streams.base import DataChanged
from hinge.access.tables.oracle import OutOfBudget
from hinge.monitoring import History, Record, Status, Stop
from hinge.monitoring.checkpoint import Checkpoint
from hinge.monitoring.interrupts import Interrupts, called_off_by, hurry, limited, now, within
from hinge.problems import Certificate, Problem, Solution
from hinge.problems.base import Answer, Cost
from hinge.solvers.base import Result, Solver, cannot_read, gap_of, reason_against
from hinge.threads import allowing, one_blas_thread


class Spent(NamedTuple):
    """Seconds, cells of the data, kernel values, and price."""

    seconds: float = 0.0
    reads: int = 0
    evals: int = 0
    cost: float = 0.0


class Meter:
    """Counts what a run of the driver or of `trace` spends on a problem, inside ``with meter:`` only."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._before = Spent()
        self._since: Spent | None = None

    def __enter__(self) -> "Meter":
        self._since = self._now()
        return self

    def __exit__(self, *error: object) -> None:
        self._before, self._since = self.spent, None

    @contextmanager
    def off_clock(self) -> Iterator[None]:
        """Excludes time from the account; reads still count, so that a limit holds for all of them."""
        began = now()
        try:
            yield
        finally:
            if self._since is not None:
                self._since = self._since._replace(seconds=self._since.seconds + now() - began)

    @property
    def spent(self) -> Spent:
        """The total so far."""
        if self._since is None:
            return self._before
        before, now, since = self._before, self._now(), self._since
        return Spent(
            before.seconds + now.seconds - since.seconds,
            before.reads + now.reads - since.reads,
            before.evals + now.evals - since.evals,
            before.cost + now.cost - since.cost,
        )

    def _now(self) -> Spent:
        problem = self.problem
        return Spent(now(), problem.reads, problem.kernel_evals, problem.cost)


def within_budget(stop: Stop, problem: Problem) -> Stop:
    """The limits of the run combined with the limits of the data's owner."""
    reads, cost = problem.budget
    if reads is not None:
        left = max(0, reads - problem.reads)
        stop = replace(stop, max_reads=left if stop.max_reads is None else min(left, stop.max_reads))
    if cost is not None:
        unspent = max(0.0, cost - problem.cost)
        stop = replace(stop, max_cost=unspent if stop.max_cost is None else min(unspent, stop.max_cost))
    return stop


CHUNK_SECONDS = 0.1
"""About the longest time of one compiled call, so that time limits and Ctrl-C take effect soon."""

LAST_ANSWER = 0.2
"""Fraction of a time limit that is reserved for the last answer, if a solver computes it from kept cells."""

FEW_PRODUCTS = 1 << 28
"""Multiplications that take one core some ten milliseconds: a Hessian of fewer, and anything of sparse rows, is not
worth several threads of BLAS."""

Callback = Callable[[Record, Solution], bool | None]


def solve(
    problem: Problem,
    solver: Solver,
    *,
    stop: Stop | None = None,
    passes: int | None = None,
    seed: int = 0,
    start: Solution | None = None,
    state: Any = None,
    score: Callable[[Solution], float] | None = None,
    callbacks: Sequence[Callback] = (),
    on_interrupt: Literal["raise", "keep"] = "raise",
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Run `solver` on `problem` until the first limit of `stop` is reached.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    stop : Stop, optional
        By default a certified gap of 1e-3.
    passes : int, optional
        Limit of the passes over the data, where `stop` has no limit of the iterations.
    seed : int
        The same seed gives the same result.
    start : Solution, optional
        An earlier answer to start from, if the solver can.
    state : optional
        The state of an earlier `Result`, to continue exactly where it ended.
    score : callable, optional
        Error of a solution on held-out rows; recorded, and stopped on if ``stop.target`` is given.
    callbacks : sequence of callables
        Called with each `Record` and the solution; one that returns True ends the run.
    on_interrupt : {"raise", "keep"}
        On Ctrl-C, within a fraction of a second, raise KeyboardInterrupt, or return the answer so far with
        ``Status.INTERRUPTED``.
    checkpoint : Checkpoint, optional
        Where the state is written from time to time, and at the end. If it has a state already, the run continues from
        that, and its answer is bitwise the same as without an interruption.

    Returns
    -------
    Result

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import Pegasos, SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, SDCA(), stop=Stop(tol=1e-4))
    >>> result.status.name, bool(result.certificate.objective <= (1 + 1e-4) * made.objective)
    ('CONVERGED', True)
    >>> half = solve(problem, Pegasos(), stop=Stop(tol=0, max_iter=500))
    >>> whole = solve(problem, Pegasos(), stop=Stop(tol=0, max_iter=1000), state=half.state)  # continues
    >>> whole.n_iter
    1000
    """
    stop = Stop() if stop is None else stop
    if on_interrupt not in ("raise", "keep"):
        raise ValueError(f"on_interrupt is 'raise' or 'keep', not {on_interrupt!r}.")
    if not isinstance(solver, Solver):
        raise TypeError(f"solver must be a Solver, such as hinge.solvers.SDCA(), got {solver!r}.")
    reason = reason_against(solver, problem) or cannot_read(problem, solver)
    if reason:
        raise ValueError(reason)
    if passes is not None and stop.max_iter is None:
        stop = replace(stop, max_iter=passes * solver.cost(problem).a_pass)
    own_limits = stop.max_reads is not None or stop.max_cost is not None
    stop = within_budget(stop, problem)
    if (most := limited(stop.max_time)) != stop.max_time:
        stop = replace(stop, max_time=most)
    run = _Run(problem, solver, stop, score, callbacks, on_interrupt == "keep")
    run.data_has_limit = solver.reads == "kept cells" and not own_limits
    if stop.max_reads is not None and problem.pass_cells > stop.max_reads:
        start = None  # a warm start costs a pass over the data, which the limit does not allow
    matrix = getattr(problem, "matrix", None)
    few = isinstance(matrix, Matrix) and (matrix.is_sparse or matrix.n_cells * matrix.shape[1] <= FEW_PRODUCTS)
    blas = one_blas_thread() if few else nullcontext()
    with run.interrupts.heeded(), run.meter, allowing(solver.parts), blas:
        fresh = solver.init(problem, seed, start)
        run.interrupts.spare = False
        if state is not None and not _is_like(state, fresh):
            raise ValueError(
                f"The state is not one of {type(solver).__name__} on {problem.n} rows of such data: it "
                "can only go on with the solver that it came from, on data of the same shape."
            )
        if checkpoint is not None and state is None:
            state, run.checkpoint = checkpoint.load(fresh), checkpoint
        run.state = fresh if state is None else state
        try:
            status = run.loop()
            run.interrupts.kept = run.keep
        except KeyboardInterrupt:
            status = run.broken_off()
        except DataChanged as error:
            if run.state.t == 0:
                raise
            warnings.warn(f"{error} The answer is the best so far.", RuntimeWarning, stacklevel=2)
            status = Status.DATA_CHANGED
    if status is Status.INTERRUPTED and on_interrupt == "raise":
        raise KeyboardInterrupt
    # The final answer may need a run of its own, which must not be interrupted.
    with called_off_by(None), allowing(solver.parts):
        if checkpoint is not None:
            checkpoint.offer(run.state, final=True)
        return run.result(status)


def _is_like(state: Any, fresh: Any) -> bool:
    """Whether types and shapes are the same as in a fresh state; parts that start empty may have been filled."""
    if fresh is None:
        return True
    if hasattr(fresh, "dtype") and hasattr(fresh, "shape"):  # an array, on whatever device
        shape, form = tuple(getattr(state, "shape", ())), tuple(fresh.shape)
        grown = form[:1] == (0,) and shape[1:] == form[1:] and len(shape) == len(form)
        return getattr(state, "dtype", None) == fresh.dtype and (shape == form or grown)
    if isinstance(fresh, tuple):
        alike = type(state) is type(fresh) and len(state) == len(fresh)
        return alike and all(map(_is_like, state, fresh))
    return not isinstance(state, tuple) and not hasattr(state, "dtype")


def copied_answer(answer: Answer) -> Answer:
    """An answer with copies of its arrays."""
    if hasattr(answer, "copy"):
        return cast(Answer, answer.copy())
    if not isinstance(answer, tuple):
        return answer
    make: Any = getattr(type(answer), "_make", tuple)  # the members of a batch are a plain tuple
    return cast(Answer, make(map(copied_answer, answer)))


class _Run:
    """The state of one call of `solve`."""

    def __init__(self, problem, solver, stop, score, callbacks, keep):
        self.problem, self.solver, self.stop, self.keep = problem, solver, stop, keep
        self.score, self.callbacks = score, callbacks
        self.watched = bool(score or callbacks)
        self.at_mark = self.ended_early = False
        self.ends_itself = solver.ends_itself and 0.0 < getattr(solver, "tol", 0.0) <= stop.tol
        self.state: Any = None
        self.history = History()
        self.last_certificate: tuple[int, Certificate] | None = None
        self.last_estimate: tuple[int, float | Certificate] = -1, np.inf
        self.meter = Meter(problem)
        # Reads reserved for the last certificate, unless that would be most of the budget.
        certificate = problem.certificate_cells(solver.cost(problem)) if stop.max_reads is not None else 0
        self.reserved_reads = certificate if (stop.max_reads or 0) >= 4 * certificate else 0
        kept = solver.reads == "kept cells" and stop.max_time is not None
        self.reserved_seconds = LAST_ANSWER * cast(float, stop.max_time) if kept else 0.0
        # A certificate is computed once the estimate is below this. It starts as the tolerance and is lowered
        # where a certificate failed only because of rounding.
        self.certify_below = stop.tol
        self.rate = 0.0  # iterations per second, once known
        self.interrupts = Interrupts()
        # Until there is a state, and after the last step, nothing is interrupted that is to be kept, if it ends soon.
        self.interrupts.kept = self.interrupts.spare = keep
        self.safe: Any = None  # the state before a step that may be long
        self.checkpoint: Checkpoint | None = None
        # Whether the limit is one of the data itself, which rejects reads beyond it and keeps all that was bought: then
        # a step whose price may exceed it can be tried, since many of its cells may be known.
        self.data_has_limit = False

    def loop(self) -> Status:
        if self.interrupts.pressed:
            raise KeyboardInterrupt
        if self.checkpoint is not None and self.state.t and (over := self.evaluate()):
            return over  # the run that wrote this state was killed before it evaluated it
        idle = 0
        while True:
            pause = self.solver.pause(self.problem, self.state)
            mark = self.next_mark() if pause > 0 and self.ends_itself else -1
            if mark > 0:  # without an observer, run to the mark or to the solver's own end
                pause = min(pause, mark - self.state.t) if self.watched else mark - self.state.t
            before = self.state.t
            status = self.run_to(pause)
            idle = idle + 1 if self.state.t == before else 0
            self.at_mark = self.state.t == mark
            stopped = self.evaluate(final=status is not None or pause <= 0)
            if stopped or status:
                return stopped or status  # type: ignore[return-value]
            # `advance` may make no iteration once, to say that it expects to be done; if its certificate fails, and it
            # makes none again, it is stuck.
            if pause <= 0 or idle > 1:
                return self.solver.status_at_end

    def next_mark(self, first: int = 32) -> int:
        """The next iteration at which a run that ends by itself is evaluated in case it errs: pass 32, 64, 128, …"""
        mark = first * self.solver.cost(self.problem, self.state).a_pass
        while mark <= self.state.t:
            mark *= 2
        return mark

    def run_to(self, pause: int) -> Status | None:
        """Advance by `pause` iterations in short pieces; returns the status if a limit ends the run."""
        while pause > 0:
            n, status = self.allowance(pause)
            before, t = now(), self.state.t
            if n > 0:
                self.advance(n)
            elif not (n := self.tried(pause, status)):
                return status
            done = self.state.t - t
            if done and (t > 0 or not self.solver.first_is_long):
                self.rate = done / max(now() - before, 1e-9)
            self.ended_early = done < n  # the solver expects to be done, and is evaluated
            pause = 0 if self.ended_early else pause - n
            if self.checkpoint is not None:
                self.checkpoint.offer(self.state)
            if self.interrupts.pressed:
                raise KeyboardInterrupt
        return None

    def tried(self, most: int, status: Status | None) -> int:
        """Try iterations that the budget may not allow, since their cells may be known; returns how many succeeded."""
        before = copy.deepcopy(self.state) if self.data_has_limit else None
        while before is not None and most > 0 and status in (Status.MAX_READS, Status.MAX_COST):
            try:
                self.advance(most)
                return most
            except OutOfBudget:
                self.state, most = copy.deepcopy(before), most // 2
        return 0

    def advance(self, n: int) -> None:
        """Run n iterations. With ``on_interrupt="keep"``, a copy of the state is kept where steps may be long."""
        left = None if self.stop.max_time is None else self.stop.max_time - self.meter.spent.seconds
        # The first piece may compile. Of others the rate says little where steps are long: one may do the work of many.
        if self.keep and not (self.rate and self.solver.steps_are_short):
            self.safe = copy.deepcopy(self.state)
        self.interrupts.spare, self.interrupts.kept = self.safe is not None, self.keep
        with within(left):  # a step may call `solve` itself: that run gets the remaining time
            self.state = self.solver.advance(self.problem, self.state, n)
        self.interrupts.kept, self.safe = False, None

    def broken_off(self) -> Status:
        """After Ctrl-C: return to the copy, if a step was interrupted while it wrote to the state."""
        self.state = self.state if self.safe is None else self.safe
        if not self.history:
            spent = self.meter.spent
            self.history.append(Record(self.state.t, spent.seconds, spent.reads, spent.evals, np.nan, np.inf, np.nan))
        return Status.INTERRUPTED

    def allowance(self, wanted: int) -> tuple[int, Status | None]:
        """The number of iterations that no limit forbids, up to `wanted`; the limit's status if there are none."""
        stop = self.stop
        n = wanted
        cost = self.solver.cost(self.problem, self.state)
        if stop.max_iter is not None:
            n = min(n, stop.max_iter - self.state.t)
            if n <= 0:
                return 0, Status.MAX_ITER
        if stop.max_reads is not None:
            left = stop.max_reads - self.meter.spent.reads - self.reserved_reads
            if self.state.t == 0:
                left -= cost.setup
            n = int(min(n, left // max(1, self.problem.cells_of(cost))))  # a budget may be written 1e9
            if n <= 0:
                return 0, Status.MAX_READS
        if stop.max_cost is not None:
            left = stop.max_cost - self.meter.spent.cost
            n = int(min(n, left / max(self.problem.price_of(cost), 1e-300)))
            if n <= 0:
                return 0, Status.MAX_COST
        if stop.max_kernel_evals is not None:
            n = min(n, (stop.max_kernel_evals - self.meter.spent.evals) // max(1, cost.kernel_values))
            if n <= 0:
                return 0, Status.MAX_KERNEL_EVALS
        seconds = CHUNK_SECONDS
        if stop.max_time is not None:
            left = stop.max_time - self.meter.spent.seconds - max(self.reserved_seconds, self.answer_seconds(cost))
            # The first piece always runs. A further one runs only if the run ends nearer to the limit with it than
            # without it.
            if stop.max_time == 0 or (self.rate and left <= 0.5 / self.rate):
                return 0, Status.MAX_TIME
            seconds = min(seconds, left)
        # The first piece, whose speed is not known yet, reads a million cells, which takes some milliseconds.
        cells = self.problem.pass_cells if self.solver.reads == "rows" else 0
        first = max(cost.a_pass // 16, 1_000_000 * cost.a_pass // cells if cells else 0)
        piece = max(self.rate * seconds, cost.a_pass // 128) if self.rate else first
        return max(1, min(n, int(piece))), None

    def answer_seconds(self, cost: Cost) -> float:
        """Expected time for the kernel values of the last answer, at the rate so far."""
        spent, limit = self.meter.spent, self.stop.max_time or 0.0
        return (
            min(LAST_ANSWER * limit, cost.answer * spent.seconds / spent.evals) if cost.answer and spent.evals else 0.0
        )

    def evaluate(self, final: bool = False) -> Status | None:
        """Compute a certificate if the estimate is promising, add a record, and call the callbacks."""
        solver, problem, stop = self.solver, self.problem, self.stop
        gap, objective = np.inf, np.nan
        evaluations = len(self.history) + 1
        # From time to time, in case the estimate is wrong.
        seldom = self.at_mark if self.ends_itself else evaluations >= 32 and evaluations & (evaluations - 1) == 0
        check_anyway = seldom and not solver.exact_estimate
        # A watched run of a solver that ends itself has records without certificates until the solver has stopped.
        due = final or self.ended_early or not self.ends_itself
        promising = due and stop.tol > 0 and self.affords_certificate(1.5) and self.estimate() <= self.certify_below
        ended = None
        solver_certified = self.last_estimate[0] == self.state.t and isinstance(self.last_estimate[1], Certificate)
        if final or promising or solver_certified or (check_anyway and stop.tol > 0):
            certificate = self.certify()
            gap, objective = certificate.gap, certificate.objective
            if promising and np.isnan(gap):
                ended = Status.STATIONARY
            elif promising and gap > stop.tol >= certificate.unrounded:  # of kernel problems; nan elsewhere
                ended = self.aim_lower(gap - certificate.unrounded)
                if ended is None and solver.exact_estimate:
                    # It may continue from sums that the certificate has made anew, without their earlier rounding.
                    self.state = solver.refresh(problem, self.state)
            elif gap > stop.tol and promising and not final:
                refreshed = solver.refresh(problem, self.state)
                if refreshed is self.state and solver.exact_estimate:
                    # The estimate lacked only rounding errors, which no further step reduces.
                    ended = self.aim_lower(gap - gap_of(self.last_estimate[1]))
                self.state = refreshed
        spent = self.meter.spent
        record = Record(self.state.t, spent.seconds, spent.reads, spent.evals, objective, gap, np.nan)
        if self.watched:
            ended = self.show(record) or ended
        else:
            self.history.append(record)
        return Status.CONVERGED if gap <= stop.tol and stop.tol > 0 else ended

    def show(self, record: Record) -> Status | None:
        """Add a record with the score of the present answer, and call the callbacks; off the clock."""
        with self.meter.off_clock():
            solution = copied_answer(self.answer())
            if np.isfinite(record.gap):
                solution = self.problem.final_answer(solution, self.certify())
            if self.score:
                record = record._replace(score=self.score(solution))
            self.history.append(record)
            asked = [callback(record, solution) for callback in self.callbacks]
        if self.stop.target is not None and record.score <= self.stop.target:
            return Status.TARGET
        return Status.CALLBACK if any(asked) else None

    def aim_lower(self, rounding: float) -> Status | None:
        """Certify the next answer only if the estimate is below the tolerance by these errors; if that is possible."""
        self.certify_below = min(self.certify_below / 2, 0.9 * (self.stop.tol - rounding))
        return None if self.certify_below > 0 else Status.STALLED

    def answer(self) -> Any:
        """The present answer; if computing it is a run of its own, that gets the reserved or remaining time."""
        limit = self.stop.max_time
        with within(None if limit is None else max(self.reserved_seconds, limit - self.meter.spent.seconds)):
            return self.solver.solution(self.problem, self.state)

    def estimate(self) -> float:
        """The solver's estimate of the gap."""
        self.last_estimate = self.state.t, self.solver.estimate(self.problem, self.state)
        return gap_of(self.last_estimate[1])

    def affords_certificate(self, times: float = 1.0) -> bool:
        """Whether the limit of reads allows `times` the reads of a certificate."""
        if self.stop.max_reads is None:
            return True
        cells = self.problem.certificate_cells(self.solver.cost(self.problem, self.state))
        return self.meter.spent.reads + times * cells <= self.stop.max_reads

    def certify(self) -> Certificate:
        """The certificate of the present answer, computed once for each state.

        The solver's own if it has one; else the problem's, sharpened if rounding makes it too large.
        """
        t = self.state.t
        if self.last_certificate is not None and self.last_certificate[0] == t:
            return self.last_certificate[1]
        if (affords := self.affords_certificate()) and self.last_estimate[0] != t:
            self.estimate()
        if not affords:
            found = Certificate.unknown()
        elif isinstance(self.last_estimate[1], Certificate):
            found = self.last_estimate[1]
        else:
            answer, most = self.solver.solution(self.problem, self.state), self.stop.max_kernel_evals
            found, again = self.problem.certificate(answer), self.problem.values_again(answer)
            affords = most is None or self.meter.spent.evals + again <= most
            if affords and self.affords_certificate() and not self.interrupts.pressed:
                found = self.problem.sharpened(answer, found, self.stop.tol)
        self.last_certificate = t, found
        return found

    def result(self, status: Status) -> Result:
        if status is Status.INTERRUPTED:
            solution, certificate = self.last_word()
        else:
            solution, certificate = self.certified_answer()
        return Result(
            copied_answer(solution),
            certificate,
            status,
            self.state.t,
            self.solver.cost(self.problem, self.state).a_pass,
            self.history,
            self.state,
            self.solver,
        )

    def certified_answer(self) -> tuple[Any, Certificate]:
        certificate = self.certify()
        solution = self.problem.final_answer(self.answer(), certificate)
        if hasattr(solution, "b"):  # answers of max-min problems have none
            certificate = certificate._replace(b=solution.b)
        return solution, certificate

    def last_word(self) -> tuple[Any, Certificate]:
        """The answer after Ctrl-C, with a certificate only if that takes no long time, nor code yet to be compiled."""
        with hurry():  # skip anything that takes long
            solution = self.answer()
        if not _is_expensive(self.problem, solution, self.state.t):
            pressed = threading.Event()
            pressed.set()
            with suppress(KeyboardInterrupt), called_off_by(pressed):
                return self.certified_answer()
        return solution, Certificate.unknown(solution.b if isinstance(solution, Solution) else 0.0)


def _is_expensive(
    problem: Problem[Answer], answer: Answer, t: int, *, most_values: int = 10**7, most_cells: int = 10**8
) -> bool:
    """Whether to skip the certificate after Ctrl-C: it would take a second or more, or nothing has been done yet."""
    if problem.values_again(answer):
        return problem.values_again(answer) > most_values
    return t == 0 or problem.pass_cells > most_cells
