"""`trace`: a run as an iterator of snapshots; what is done with a snapshot is neither timed nor billed."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from hinge.monitoring.interrupts import now
from hinge.problems import Problem
from hinge.solvers.base import Solver, certified, gap_of, reason_against
from hinge.solvers.driver import CHUNK_SECONDS, Meter, copied_answer

Unit = Literal["iterations", "passes", "seconds"]
Marks = Iterable[float] | Callable[[float], float] | None


class Snapshot(NamedTuple):
    """The state of a run at one mark.

    Attributes
    ----------
    iteration : int
        Iterations run so far.
    seconds : float
        Time of the run, without evaluations and compilation.
    feature_reads, kernel_evals : int
        Cells of the data read, and kernel values computed, by the run alone.
    solution : Solution, Expansion or Strategies
        The answer so far, a copy.
    state : tuple
        The state of the solver; it is overwritten when the next snapshot is requested.

    Examples
    --------
    >>> from hinge import Regularized, trace
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=0.01)
    >>> [(now.iteration, now.feature_reads) for now in trace(problem, SDCA(), [200, 400])]
    [(200, 1000), (400, 2000)]
    """

    iteration: int
    seconds: float
    feature_reads: int
    kernel_evals: int
    solution: Any
    state: Any


def trace(
    problem: Problem,
    solver: Solver,
    at: Marks = None,
    *,
    unit: Unit = "iterations",
    seed: int = 0,
    state: Any = None,
    tol: float | None = None,
    warm_up: bool = True,
) -> Iterator[Snapshot]:
    """Run a solver from mark to mark, and yield a snapshot at each.

    The solver runs only while the next snapshot is being requested. What is done with a snapshot (its objective, its
    certificate, its test error) takes no time of the run, and its reads and kernel values are not counted as the run's.
    The marks have no effect on the run, bit for bit.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    at : iterable of float, or callable, optional
        Increasing marks, possibly infinitely many; or a function that takes the present position, in `unit`, and
        returns the next mark. By default the points at which the solver itself suggests an evaluation (`Solver.pause`).
    unit : {"iterations", "passes", "seconds"}
        Unit of the marks. A mark in seconds is exceeded by a few milliseconds, or by one iteration.
    seed : int
        The same seed gives the same run.
    state : optional
        The state of an earlier snapshot or `Result`, to continue from; iterations are counted from its first.
    tol : float, optional
        The gap that is aimed at. Some solvers work on a part of the data until a certificate is above their tolerance
        (`Solver.refresh`); with `tol` these certificates are computed, timed and billed, since such a run needs them.
    warm_up : bool
        Whether to compile before the run, by a run of no iterations.

    Yields
    ------
    Snapshot
        One at each mark; the last where the solver ends the run.

    Examples
    --------
    >>> from hinge import Regularized, trace
    >>> from hinge.datasets import load
    >>> from hinge.solvers import SDCA
    >>> adult = load("adult")
    >>> problem = Regularized(adult.X_train[:1000], adult.y_train[:1000], lam=1e-3)
    >>> for now in trace(problem, SDCA(), [500, 5000]):
    ...     print(now.iteration, round(problem.objective(now.solution), 1))
    500 0.4
    5000 0.4
    """
    if unit not in ("iterations", "passes", "seconds"):
        raise ValueError(f"unit is 'iterations', 'passes' or 'seconds', not {unit!r}.")
    if reason := reason_against(solver, problem):
        raise ValueError(reason)
    run = _TracedRun(problem, solver, "iterations" if at is None else unit, tol)
    return run.snapshots(at, seed, state, warm_up)


class _TracedRun:
    """The state of one `trace`."""

    def __init__(self, problem: Problem, solver: Solver, unit: Unit, tol: float | None) -> None:
        self.problem, self.solver, self.unit, self.tol = problem, solver, unit, tol
        self.each = solver.cost(problem).a_pass if unit == "passes" else 1  # iterations in a unit
        self.meter = Meter(problem)
        self.state: Any = None
        self.rate = 0.0  # iterations per second, once known

    def snapshots(self, at: Marks, seed: int, state: Any, warm_up: bool) -> Iterator[Snapshot]:
        problem, solver, meter = self.problem, self.solver, self.meter
        if warm_up:
            solver.advance(problem, solver.init(problem, seed), 0)
        with meter:
            self.state = solver.init(problem, seed) if state is None else state
        for mark in self.marks(at):
            reached = self.run_to(mark)
            answer = copied_answer(solver.solution(problem, self.state))
            spent = meter.spent
            yield Snapshot(int(self.state.t), spent.seconds, spent.reads, spent.evals, answer, self.state)
            if not reached:
                return

    def marks(self, at: Marks) -> Iterator[float]:
        if at is not None and not callable(at):
            yield from at
        while at is None and (pause := self.solver.pause(self.problem, self.state)) > 0:
            yield self.state.t + pause
        while callable(at):
            yield at(self.meter.spent.seconds if self.unit == "seconds" else self.state.t / self.each)

    def missing(self, mark: float) -> int:
        """Iterations of the next piece on the way to a mark."""
        if self.unit != "seconds":
            return round(mark * self.each) - int(self.state.t)
        left = mark - self.meter.spent.seconds
        if left > 0 and not self.rate:
            return max(1, self.solver.cost(self.problem).a_pass // 64)
        longest = min(CHUNK_SECONDS, max(0.001, left / 2))  # but not below a millisecond
        return max(1, int(self.rate * longest)) if left > 0 else 0

    def run_to(self, mark: float) -> bool:
        """Advance to a mark; returns whether it was reached, and not ended by the solver before."""
        while (n := self.missing(mark)) > 0:
            with self.meter:
                if not self.piece(n):
                    return False
        return True

    def piece(self, n: int) -> bool:
        """Advance by `n` iterations, or with `tol` to the next pause; returns whether the solver continues."""
        solver, problem, tol = self.solver, self.problem, self.tol
        pause = n if tol is None else solver.pause(problem, self.state)
        if pause <= 0:
            return False
        n, t, began = min(n, pause), int(self.state.t), now()
        self.state = solver.advance(problem, self.state, n)
        if self.state.t == t:  # try again, since the solver may only have asked to be evaluated
            self.state = solver.advance(problem, self.state, n)
        done = int(self.state.t) - t
        self.rate = done / max(now() - began, 1e-9)
        if tol is None:
            return done > 0
        if (n == pause or done < n) and type(solver).refresh is not Solver.refresh:
            self.ask(tol)
        return True

    def ask(self, tol: float) -> None:
        """Call `refresh` if a certificate that the solver expects to be good enough is not."""
        solver, problem, state = self.solver, self.problem, self.state
        if gap_of(solver.estimate(problem, state)) <= tol < certified(problem, solver, state).gap:
            self.state = solver.refresh(problem, state)
