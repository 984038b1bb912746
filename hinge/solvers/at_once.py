"""Small problems: solved in one call, and certified once.

What the driver does for a run (looks at the answer, a history, limits) takes a tenth of a millisecond for each look, as
a pass over some hundred rows does. Here :mod:`hinge.solvers.linear.brief` runs to the gap that is wanted, and the
certificate is that of any other run.
"""

import math
from typing import NamedTuple

from hinge.monitoring import Status, Stop
from hinge.monitoring.clock import end_of
from hinge.monitoring.history import History, Record
from hinge.problems import Problem, Regularized, Solution
from hinge.solvers.auto import MANY_DIGITS
from hinge.solvers.base import Solver
from hinge.solvers.linear.brief import Brief, brief, way_to
from hinge.solvers.linear.finite_newton import MOST_STEPS
from hinge.solvers.linear.hessians import form_of
from hinge.solvers.linear.newton import Newton
from hinge.solvers.linear.prices import visit_price
from hinge.solvers.linear.sdca import TYPICAL
from hinge.solvers.linear.subspace_ascent import tools_for
from hinge.solvers.linear.subspace_sdca import SubspaceSDCA
from hinge.solvers.meter import Meter
from hinge.solvers.result import Result

SMALL = 3e5  # price of a pass, in nanoseconds, up to which looks of the driver cost about as much as what they look at


class Attempt(NamedTuple):
    """A certified result; or, if that is None, the answer so far, from which another run can go on, if there is one."""

    result: Result | None = None
    answer: Solution | None = None


def solve_at_once(problem: Problem, stop: Stop, *, passes: float = math.inf, seed: int = 0) -> Attempt:
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
    if passes < MOST_STEPS or not isinstance(problem, Regularized) or not _is_small(problem):
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
        solution = problem.finished(found.answer, certificate)
        reads, seconds = meter.spent.reads, meter.spent.seconds
    history = History()
    history.append(Record(reads, seconds, reads, 0, certificate.objective, certificate.gap, math.nan))
    a_pass = max(1, problem.matrix.n_cells)
    certificate = certificate._replace(b=solution.b)
    return Attempt(
        Result(solution, certificate, Status.CONVERGED, reads, a_pass, history, None, _method(found, stop.tol))
    )


def _is_small(problem: Regularized) -> bool:
    """Whether a pass over the rows costs no more than a few looks, and there are few features or few rows."""
    return problem.in_memory and problem.n * visit_price(problem) <= SMALL and form_of(problem) != "products"


def _method(found: Brief, tol: float) -> Solver:
    """The solver whose steps `brief` took at the end."""
    return Newton() if found.curve is not None else SubspaceSDCA(tol=tol)
