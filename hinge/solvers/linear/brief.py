"""Brief runs: what `auto` would do on one of many small problems, for its answer alone.

A search fits the same rows again and again, for a score each, and what the driver does for a fit (a history, callbacks,
certificates that hold for exact arithmetic) takes longer than many of them. Here are no looks but those of the methods
themselves, and each run goes on from what the last one left behind: its dual point, or the Hessian of Newton's method.
"""

from typing import NamedTuple

import numpy as np

from hinge.problems import Problem, Regularized, Solution
from hinge.solvers.linear.finite_newton import Curve, begin_at, descend, moved_to
from hinge.solvers.linear.hessians import form_of
from hinge.solvers.linear.prices import (
    SEPARABLE,
    ascent_price,
    cold_newton_price,
    newton_price,
    stiffness,
    visit_price,
    warm_newton_price,
)
from hinge.solvers.linear.subspace_ascent import DualPoint, Tools, climb, point_of

TRIAL = 0.7  # price of dual ascent, over that of Newton's method, up to which a first run tries it
GLANCE = 0.2  # the same for a loss with a kink, where the estimates speak for Newton's method but may fail
CROWDED = 4  # rows per feature below which it does: a plane separates them, and Newton's method takes many steps


class Brief(NamedTuple):
    """The answer of a run, its relative gap as the method saw it, and what the next run can begin with.

    `responses` are ⟨w, xᵢ⟩ + b of all rows, where the method came to know them. The next run writes to `curve`.
    """

    answer: Solution
    gap: float
    responses: np.ndarray | None = None
    point: DualPoint | None = None
    curve: Curve | None = None


class Way(NamedTuple):
    """Passes of dual ascent that are worth a try, and whether Newton's method goes on from there.

    Where it does not, and the passes are limited, others may: the solvers of `auto`.
    """

    passes: float
    newton: bool


def way_to(problem: Problem, tol: float, *, first: bool = False) -> Way | None:
    """How `brief` solves a problem best; None where it cannot, as not that of a free bias.

    The ascent where it should be done before two Newton steps are, and in any case no longer than Newton's method
    should take, which goes on here for squared losses and few features, of which the Hessian is formed. Text, with its
    many features, is left to the ascent. `first` says that no run was before, from which Newton's method could go on.
    """
    if not isinstance(problem, Regularized) or problem.pull or not problem.in_memory or problem.bias == "free":
        return None
    form, a_pass = form_of(problem), problem.n * visit_price(problem)
    if form == "products":
        return Way(np.inf, False)
    stiff = stiffness(problem)
    ascent, here = ascent_price(problem, tol, stiff), form == "features" and problem.loss.curvature > 0.0
    if here and first:  # with more rows the ascent would save less than it takes to compile, where no code is cached
        crowded = problem.n < CROWDED * (problem.d + 1)
        return Way(TRIAL * cold_newton_price(problem) / a_pass if crowded else 0.0, True)
    newton = warm_newton_price(problem) if here else newton_price(problem)
    if newton < ascent and form == "features":  # with few rows the prices are only guesses
        if first and problem.n < SEPARABLE * (problem.d + 1):
            return Way(GLANCE * newton / a_pass, False)
        return Way(0.0, True) if here else None
    return Way(newton / a_pass, here)


def brief(
    problem: Regularized,
    way: Way,
    tools: Tools,
    tol: float,
    *,
    passes: float,
    last: Brief | None = None,
    ends: float | None = None,
) -> Brief | None:
    """An answer with a relative gap of at most `tol`, if it comes to that; None if time is up.

    Parameters
    ----------
    problem : Regularized
        With weights, data and loss of the last one, and another λ.
    way : Way
        See `way_to`.
    tools : Tools
        Of the ascent, those of the last run.
    tol : float
    passes : float
        Limit of the ascent.
    last : Brief, optional
        Where to begin.
    ends : float, optional
        When to stop, by `hinge.monitoring.clock.now`.
    """
    start, curve = (None, None) if last is None else (last.answer, last.curve)
    if way.passes > 0.0:
        found = climb(problem, _dual_start(problem, last), tools, tol, passes=min(way.passes, passes), ends=ends)
        if found is None:
            return None
        if found.gap <= tol or not way.newton:
            known = found.responses if found.gap <= tol else None
            return Brief(found.answer, found.gap, known, found.point, curve)
        start = found.answer
    if curve is None:
        curve = begin_at(problem, start)
    elif start is not None and (way.passes > 0.0 or (last is not None and last.point is not None)):
        moved_to(problem, curve, start)  # an ascent may have moved on since the curve was made
    done = descend(problem, curve, tol, ends)
    return None if done is None else Brief(done.answer, done.gap, curve=curve)


def _dual_start(problem: Regularized, last: Brief | None) -> DualPoint | None:
    if last is None or last.answer.alpha is None:
        return None
    if last.point is not None:
        return last.point
    return point_of(problem, np.clip(last.answer.alpha, problem.loss.low, problem.loss.high))
