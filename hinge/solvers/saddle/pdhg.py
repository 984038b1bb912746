"""Restarted primal-dual hybrid gradient for max-min problems with linear functions."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import Scalars, compiled, scalars
from hinge.monitoring import Status
from hinge.problems.base import EPS, Cost
from hinge.problems.max_min.base import MaxMin, Strategies
from hinge.problems.max_min.linear import onto_simplex, project_onto_simplex
from hinge.solvers.base import Paper, Solver

EVERY = 4  # accepted steps between two evaluations of the bounds, which take about as long as one step


class Point(NamedTuple):
    """x and p, with the values Ax and the slope Aᵀp."""

    x: np.ndarray
    p: np.ndarray
    values: np.ndarray
    slope: np.ndarray


class PDHGState(NamedTuple):
    """Both players, their averages since the last restart, and the best answers so far.

    `before` are the values of the iterate before `now`; `sums` are weighted by τ; `x_from` and `p_from` are the
    iterates at the last restart. `s` has the step `tau` and the balance `omega`; `norm`, a lower bound on ‖A‖; the
    total `weight` of the sums; the `width` between the bounds at the last restart; the best bounds, `lower` and
    `upper`; `guard`, a safety factor of the estimate; `narrowest`, the width at the last progress; `grain`, the unit
    roundoff of the values; whether sums are `exact`, in float64; the number of steps `accepted` since the restart; and
    the iterations so far, at the last restart and at the last progress.
    """

    now: Point
    before: np.ndarray
    sums: Point
    x_from: np.ndarray
    p_from: np.ndarray
    best_x: np.ndarray
    best_p: np.ndarray
    s: Scalars

    @property
    def t(self) -> int:
        """Iterations run so far."""
        return int(self.s.t)


@dataclass(frozen=True)
class PDHG(Solver[MaxMin, PDHGState]):
    """Restarted primal-dual hybrid gradient, for linear `MaxMin` problems.

    With :math:`c(x) = Ax`, step τ and balance ω, an iteration tries

    .. math:: p' &= \\Pi_\\Delta\\big(p - \\tau\\omega\\,(2Ax - Ax_{\\text{before}})\\big),\\\\
              x' &= \\Pi_K\\big(x + \\tfrac{\\tau}{\\omega} A^\\top p'\\big),

    and accepts it if :math:`\\tau\\,|\\langle p'-p, A(x'-x)\\rangle| \\le \\tfrac12(\\omega\\|x'-x\\|^2 +
    \\|p'-p\\|^2/\\omega)`; then τ grows by 5%. If not, τ is set to 0.7 times the largest that would have been accepted,
    and the next iteration tries again. It costs two passes, or little more than one if few :math:`p_i` are positive,
    and two projections.

    At every fourth accepted step, the bounds of the last iterate and of the average since the restart are evaluated,

    .. math:: \\min_i c_i(x) \\le \\sigma \\le \\max_{x' \\in K}\\langle A^\\top p, x'\\rangle,

    without a further pass. The best x and the best p so far are kept, not necessarily of one iterate. The better of the
    last iterate and the average becomes the new start when its gap is half of the gap at the last restart, or at the
    latest after 48 iterations or half of all so far; then :math:`\\omega \\leftarrow (\\omega\\|\\Delta p\\|/\\|\\Delta
    x\\|)^{1/2}`, with the changes since then.

    Notes
    -----
    Steps are computed in the precision of the storage. When the gap nears its rounding error, or a certificate fails
    where the estimate did not, sums are made in float64, like the sums of certificates.

    References
    ----------
    A. Chambolle, T. Pock, *A First-Order Primal-Dual Algorithm for Convex Problems*, 2011.

    Examples
    --------
    >>> import hinge
    >>> from hinge.datasets import make_separable
    >>> from hinge.solvers import PDHG
    >>> made = make_separable(200, 20, 0.3)
    >>> found = hinge.max_margin(made.X_train, made.y_train, eps=1e-3, method=PDHG())
    >>> found.lower <= made.margin <= found.upper, bool(found.gap <= 1e-3)
    (True, True)
    """

    paper = Paper(
        "Faster First-Order Primal-Dual Methods for Linear Programming using Restarts",
        "Applegate, Hinder, Lu, Lubin",
        2023,
        "Mathematical Programming 201",
    )
    reads = "cells"
    status_at_end = Status.STALLED
    solves, instead = MaxMin, "SDCA for Regularized"

    def _limits(self, problem: MaxMin) -> str | None:
        if not problem.linear:
            return (
                f"PDHG needs linear functions, and those of {type(problem).__name__} are not; use "
                "PrimalDual, or the method that was made for this problem."
            )
        return None

    def init(self, problem: MaxMin, seed: int = 0, start: Strategies | None = None) -> PDHGState:
        x, p = problem.start().astype(np.float64), np.full(problem.n, 1.0 / problem.n)
        if start is not None:
            x = np.array(problem.project(np.asarray(start.x, np.float64).reshape(x.shape)))
            if start.p is not None:
                p = onto_simplex(np.reshape(start.p, p.shape))
        s = scalars(
            tau=1.0,
            omega=1.0,
            norm=0.0,
            weight=0.0,
            width=np.inf,
            lower=-np.inf,
            upper=np.inf,
            guard=1.0,
            narrowest=np.inf,
            grain=0.0,
            exact=False,
            accepted=0,
            t=0,
            restart=0,
            progress=0,
        )
        now = Point(x, p, np.zeros_like(p), np.zeros_like(x))
        sums = Point(*[np.zeros_like(a) for a in now])
        return PDHGState(now, np.zeros_like(p), sums, x.copy(), p.copy(), x.copy(), p.copy(), s)

    def advance(self, problem: MaxMin, state: PDHGState, n_iter: int) -> PDHGState:
        if n_iter == 0:
            _dual_step(state.now.p, state.now.values, state.before, 0.0, np.empty_like(state.now.p))  # compile it
        elif state.t == 0:
            _begin(problem, state)
        for _ in range(n_iter):
            state.s.t += 1
            if _try_step(problem, state) and state.s.accepted % EVERY == 0:
                _evaluate_bounds(problem, state)
        return state

    def solution(self, problem: MaxMin, state: PDHGState) -> Strategies:
        return Strategies(state.best_x.copy(), state.best_p / state.best_p.sum())

    def cost(self, problem: MaxMin, state: PDHGState | None = None) -> Cost:
        # Two passes for a step, and four more where the sums change to float64.
        return Cost(cells=6 * problem.pass_cells, setup=3 * problem.pass_cells)

    def pause(self, problem: MaxMin, state: PDHGState) -> int:
        """The iterations to the next evaluation of the bounds, or more in a long run; 0 if it has stalled."""
        if state.t - state.s.progress > max(5000, state.t // 2):  # without 1% of progress
            return 0
        return EVERY * max(1, state.t // (16 * EVERY))

    def estimate(self, problem: MaxMin, state: PDHGState) -> float:
        """The gap of the best bounds as computed by the steps, with an allowance for their rounding."""
        s = state.s
        return float(s.guard * problem.gap(s.lower, s.upper + EPS * abs(s.upper)))

    def refresh(self, problem: MaxMin, state: PDHGState) -> PDHGState:
        """The estimate was too small: raise its safety factor, and at the second time sum in float64."""
        state.s.guard *= 1.1
        if state.s.guard > 1.15 and not state.s.exact:
            _sum_exactly(problem, state)
        return state


def _values(problem: MaxMin, state: PDHGState, x: np.ndarray) -> np.ndarray:
    return problem.values(x) if state.s.exact else problem.quick_values(x)


def _slope(problem: MaxMin, state: PDHGState, p: np.ndarray) -> np.ndarray:
    if state.s.exact or np.count_nonzero(p) < 0.2 * len(p):
        return problem.combine(p)  # functions without weight are not read, which is faster if they are most
    return problem.quick_combine(p)


def _begin(problem: MaxMin, state: PDHGState) -> None:
    """The first values and slope; one power iteration from p estimates ‖A‖, which gives the first τ."""
    now, s = state.now, state.s
    if now.x.any():
        now.values[...] = _values(problem, state, now.x)
    state.before[...] = now.values
    now.slope[...] = _slope(problem, state, now.p)
    size = float(np.linalg.norm(now.slope))
    if size > 0.0:
        s.norm = np.linalg.norm(_values(problem, state, now.slope / size))
        # A step that is too large is rejected and shortened; one that is too small grows by 5% only.
        s.tau = 10.0 / s.norm if s.norm > 0.0 else 1.0
    s.width = _offer(problem, state, state.now)


def _try_step(problem: MaxMin, state: PDHGState) -> bool:
    """Try one step; return whether it was accepted."""
    now, s = state.now, state.s
    tau, omega = float(s.tau), float(s.omega)
    p = np.empty_like(now.p)
    _dual_step(now.p, now.values, state.before, tau * omega, p)
    slope = _slope(problem, state, p)
    x = problem.project(now.x + (tau / omega) * slope)
    values = _values(problem, state, x)
    s.grain = np.finfo(np.result_type(values.dtype, np.float32)).eps
    dx, dp, change = x - now.x, p - now.p, values - now.values
    moved, turned = float(np.vdot(dx, dx)), float(np.vdot(dp, dp))
    cross = abs(float(np.vdot(dp, change)))
    limit = 0.5 * (omega * moved + turned / omega) / cross if cross > 0.0 else np.inf
    if moved > 0.0:
        s.norm = max(s.norm, float(np.linalg.norm(change)) / moved**0.5)
    # Steps of 0.1/‖A‖ are always accepted in exact arithmetic: if one is not, that is rounding.
    if tau > limit and tau * s.norm > 0.1:
        s.tau = max(0.7 * limit, 0.1 / s.norm)
        return False
    state.before[...] = now.values
    for old, total, new in zip(now, state.sums, Point(x, p, values, slope), strict=True):
        old[...] = new
        total += tau * new
    s.weight += tau
    s.tau = min(1.05 * tau, 1e4 / s.norm) if s.norm > 0.0 else tau
    s.accepted += 1
    return True


def _evaluate_bounds(problem: MaxMin, state: PDHGState) -> None:
    """Bounds of the last iterate and of the average; a restart from the better one if it is due."""
    s = state.s
    last = _offer(problem, state, state.now)
    mean = Point(*[total / s.weight for total in state.sums])
    average = _offer(problem, state, mean)
    width = max(0.0, float(s.upper - s.lower))
    if width < 0.99 * s.narrowest:
        s.narrowest, s.progress = width, s.t
    if min(last, average) <= 0.5 * s.width or s.t - s.restart >= max(48, s.t // 2):
        if average < last:
            for old, new in zip(state.now, mean, strict=True):
                old[...] = new
        s.width = min(last, average)
        _restart(state)
    if s.grain > EPS and 0.0 < width <= 16.0 * s.grain * problem.scale:  # the gap may be rounding
        _sum_exactly(problem, state)


def _offer(problem: MaxMin, state: PDHGState, point: Point) -> float:
    """The gap of this point; its x and its p are kept if their bounds are the best so far."""
    s = state.s
    lower, upper = float(point.values.min()), problem.dual_bound(point.p, point.slope)
    if lower > s.lower:
        s.lower, state.best_x[...] = lower, point.x
    if upper < s.upper:
        s.upper, state.best_p[...] = upper, point.p
    return upper - lower


def _restart(state: PDHGState) -> None:
    now, s = state.now, state.s
    moved = float(np.linalg.norm(now.x - state.x_from))
    turned = float(np.linalg.norm(now.p - state.p_from))
    if moved > 0.0 and turned > 0.0:
        s.omega = (s.omega * turned / moved) ** 0.5
    state.before[...], state.x_from[...], state.p_from[...] = now.values, now.x, now.p
    for total in state.sums:
        total[...] = 0.0
    s.weight, s.accepted, s.restart = 0.0, 0, s.t


def _sum_exactly(problem: MaxMin, state: PDHGState) -> None:
    """From here on all sums are in float64; the bounds found so far are computed anew."""
    now, s = state.now, state.s
    s.exact, s.progress = True, s.t
    s.lower, s.upper, s.guard, s.narrowest = -np.inf, np.inf, 1.0, np.inf
    x, p = state.best_x, state.best_p
    _offer(problem, state, Point(x, p, problem.values(x), problem.combine(p)))
    now.values[...], now.slope[...] = problem.values(now.x), problem.combine(now.p)
    s.width = _offer(problem, state, state.now)
    _restart(state)


@compiled
def _dual_step(p, values, before, step, out):
    for i in range(len(p)):
        out[i] = p[i] - step * (2.0 * values[i] - before[i])
    project_onto_simplex(out)
