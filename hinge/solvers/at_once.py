"""Small problems: solved in one call, and certified once.

What the driver does for a run (looks at the answer, a history, limits) takes up to a millisecond, as some passes over a
thousand rows do. Here :mod:`hinge.solvers.linear.brief`, or for text the dual ascent, runs to the gap that is wanted,
and the certificate is that of any other run.
"""

import math
from typing import Any, NamedTuple

from hinge.monitoring import Status, Stop
from hinge.monitoring.clock import end_of, is_over
from hinge.monitoring.history import History, Record
from hinge.problems import Certificate, Problem, Regularized, Solution
from hinge.solvers.auto import MANY_DIGITS, choose
from hinge.solvers.base import Solver
from hinge.solvers.driver import copied
from hinge.solvers.linear.brief import Brief, brief, way_to
from hinge.solvers.linear.finite_newton import MOST_STEPS
from hinge.solvers.linear.hessians import form_of
from hinge.solvers.linear.newton import Newton
from hinge.solvers.linear.prices import visit_price
from hinge.solvers.linear.sdca import SDCA, TYPICAL
from hinge.solvers.linear.subspace_ascent import tools_for
from hinge.solvers.linear.subspace_sdca import SubspaceSDCA
from hinge.solvers.meter import Meter
from hinge.solvers.result import Result

SMALL = 3e5  # price of a pass, in nanoseconds, up to which looks of the driver cost about as much as what they look at
MODEST = 2e6  # the same up to which a run that nobody watches is not looked at: some milliseconds in all
PIECE = 2e7  # price of what is done between two looks at the clock, or for Ctrl-C
MOST_PASSES, MOST_CERTIFICATES = 100, 3  # of an ascent here; longer ones are worth a history


class Attempt(NamedTuple):
    """A certified result; or, if that is None, the answer so far, from which another run can go on, if there is one."""

    result: Result | None = None
    answer: Solution | None = None


def solve_at_once(
    problem: Problem, stop: Stop, *, passes: float = math.inf, seed: int = 0, watched: bool = False
) -> Attempt:
    """Solve a problem if it is small, without the driver; an empty attempt if it is not.

    Parameters
    ----------
    problem : Problem
    stop : Stop
        Limits on anything but time, and gaps for which `auto` wants an exact w, are left to the driver: then the
        attempt is empty.
    passes : float
        Most passes over the rows; if they are fewer than Newton's method may take steps, the driver counts them.
    seed : int
    watched : bool
        Whether somebody wants to see how the run goes on, to keep its answer on Ctrl-C, or has threads to share it:
        then only the smallest problems are solved here.

    Examples
    --------
    >>> from hinge import Regularized, Stop
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers.at_once import solve_at_once
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve_at_once(problem, Stop(tol=1e-4)).result
    >>> result.certificate.gap <= 1e-4, len(result.history)
    (True, 1)
    """
    if not (stop.tol >= MANY_DIGITS and stop == Stop(tol=stop.tol, max_time=stop.max_time)):
        return Attempt()
    if passes < MOST_STEPS or not isinstance(problem, Regularized) or problem.pull or not problem.in_memory:
        return Attempt()
    a_pass = problem.n * visit_price(problem)
    if form_of(problem) == "products":
        return Attempt() if a_pass > (SMALL if watched else MODEST) else _ascend(problem, stop, a_pass, seed)
    if a_pass > SMALL:
        return Attempt()
    way = way_to(problem, stop.tol, first=True)
    if way is None:
        return Attempt()
    with Meter(problem) as meter:
        tools = tools_for(problem, seed, problem.matrix.typical_sq_norm(TYPICAL))
        found = brief(problem, way, tools, stop.tol, passes=passes, ends=end_of(stop.max_time))
        if found is None:
            return Attempt()
        certificate = problem.certificate(found.answer)
        if found.gap <= stop.tol:
            certificate = problem.sharpened(found.answer, certificate, stop.tol)
        if not certificate.gap <= stop.tol:  # an ascent may go on; a Newton method that ended early would end again
            return Attempt(answer=found.answer if found.curve is None and certificate.gap < math.inf else None)
        return Attempt(_result(problem, found.answer, certificate, meter, _method(found, stop.tol)))


def _ascend(problem: Regularized, stop: Stop, a_pass: float, seed: int) -> Attempt:
    """The dual ascent that `auto` chooses for many features; it knows itself when a certificate is due."""
    solver, ends = choose(problem, tol=stop.tol).solver, end_of(stop.max_time)
    if not isinstance(solver, SDCA | SubspaceSDCA):
        return Attempt()
    n, piece, asked = problem.n, max(1, int(PIECE / a_pass * problem.n)), 0
    with Meter(problem) as meter:
        state: Any = solver.init(problem, seed)
        while True:
            if is_over(ends):
                return Attempt()
            before = state.t
            state = solver.advance(problem, state, min(piece, MOST_PASSES * n - before))
            if state.t - before == piece:
                continue
            answer: Solution = solver.solution(problem, state)
            certificate = problem.sharpened(answer, problem.certificate(answer), stop.tol)
            asked += 1
            if certificate.gap <= stop.tol:
                return Attempt(_result(problem, answer, certificate, meter, solver))
            if asked == MOST_CERTIFICATES or state.t >= MOST_PASSES * n:
                return Attempt(answer=copied(answer) if certificate.gap < math.inf else None)
            state = solver.refresh(problem, state)


def _result(problem: Regularized, answer: Solution, certificate: Certificate, meter: Meter, solver: Solver) -> Result:
    """What the driver would return, with a history of one record."""
    solution = copied(problem.finished(answer, certificate))
    reads, seconds = meter.spent.reads, meter.spent.seconds
    history = History()
    history.append(Record(reads, seconds, reads, 0, certificate.objective, certificate.gap, math.nan))
    a_pass, certificate = max(1, problem.matrix.n_cells), certificate._replace(b=solution.b)
    return Result(solution, certificate, Status.CONVERGED, reads, a_pass, history, None, solver)


def _method(found: Brief, tol: float) -> Solver:
    """The solver whose steps `brief` took at the end."""
    return Newton() if found.curve is not None else SubspaceSDCA(tol=tol)
