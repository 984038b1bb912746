"""Dual coordinate ascent with a subspace step after each epoch, for the many short runs of a search along C.

Its steps are those of :mod:`hinge.solvers.linear.subspace_step`.
"""

from typing import NamedTuple

import numpy as np

from hinge.access import dot, read_row
from hinge.compiled import Scalars, compiled, scalars
from hinge.monitoring.clock import is_over
from hinge.problems import Regularized, Solution
from hinge.problems.svm.losses import gap_share
from hinge.sampling import key_of
from hinge.solvers.linear.active_rows import begin, first_epoch, rows_a_block
from hinge.solvers.linear.local_ascent import visit
from hinge.solvers.linear.sdca import SGD_PAYS, end_epoch, first_dual
from hinge.solvers.linear.subspace_step import SUMS, TINY, subspace_step

PIECE = 1 << 24  # cells that a compiled call visits, or less, so that clocks and Ctrl-C are heeded


class DualPoint(NamedTuple):
    """α with its sums :math:`v = \\sum_is_i\\alpha_iy_ix_i` and :math:`u = \\sum_is_i\\alpha_iy_i`."""

    alpha: np.ndarray
    v: np.ndarray
    u: float


class Climbed(NamedTuple):
    """Where an ascent ended: its answer, ⟨w, xᵢ⟩ + b of all rows, and its relative gap.

    The gap is infinite, and nothing is known of the rows, if it came to its limit first.
    """

    point: DualPoint
    answer: Solution
    responses: np.ndarray
    gap: float


class Tools(NamedTuple):
    """What the ascents of one path share, so that it is made once: the list of rows and its order, numbers, vectors.

    The list stays from one λ to the next: rows that an ascent left alone are looked at again where the gap asks for it.
    """

    active: np.ndarray
    order: np.ndarray
    dual: Scalars
    epoch: Scalars
    walk: Scalars
    p: np.ndarray
    v_p: np.ndarray
    q: np.ndarray
    v_q: np.ndarray
    key: np.uint64
    typical_sq_norm: float


def tools_for(problem: Regularized, seed: int, typical_sq_norm: float) -> Tools:
    """Those for a problem and all others on its rows with its weights.

    Parameters
    ----------
    problem : Regularized
    seed : int
    typical_sq_norm : float
        Of the rows: the unit of how fast a bias moves, see `SDCA`.
    """
    n, d = problem.n, problem.d
    return Tools(
        np.zeros(n, np.uint32),
        np.zeros(-(-n // rows_a_block(problem.matrix)), np.uint32),
        first_dual(),
        first_epoch(),
        scalars(u_before=0.0, u_step=0.0, share=0.0, gap=np.inf),
        np.zeros(n),
        np.zeros(d),
        np.zeros(n),
        np.zeros(d),
        key_of(seed),
        typical_sq_norm,
    )


def point_of(problem: Regularized, alpha: np.ndarray) -> DualPoint:
    """A dual point by its α: a pass over the rows that have some."""
    positive, negative = problem.class_mass(alpha)
    return DualPoint(alpha, problem.combination(alpha) * problem.total, (positive - negative) * problem.total)


def climb(
    problem: Regularized,
    start: DualPoint | None,
    tools: Tools,
    tol: float,
    *,
    passes: float = np.inf,
    ends: float | None = None,
) -> Climbed | None:
    """Ascend until the relative gap is at most `tol`, or so many passes were made; None if time is up.

    Parameters
    ----------
    problem : Regularized
        Without a free bias.
    start : DualPoint, optional
        For this λ or another: it begins with the multiple of it at which the dual is largest.
    tools : Tools
    tol : float
        The gap is taken at w = w(α), in a pass over all rows; what of it is rounding is not counted.
    passes : float
        A limit: reads of rows over n.
    ends : float, optional
        When to stop, by `hinge.monitoring.clock.now`.
    """
    n, full, c = problem.n, problem.lam * problem.total, problem.constant_sq
    dual, epoch, walk = tools.dual, tools.epoch, tools.walk
    y, target, weight, loss, A = problem.y, problem.target, problem.weight, problem.loss, problem.matrix.rows
    point = DualPoint(np.zeros(n), np.zeros(problem.d), 0.0) if start is None else start
    alpha, v, rho = point.alpha.copy(), point.v.copy(), max(0.03 * tools.typical_sq_norm, 10.0 * problem.lam)
    u = 0.0
    if start is not None:
        u = start.u * _to_best_multiple(target, weight, loss, full, c, alpha, v, start.u)
    _begin(tools, alpha, v, u, full, c, rho, cold=start is None)
    unit, moves, block = problem.unit * problem.total, problem.bias != "none", rows_a_block(problem.matrix)
    responses, limit = np.empty(n), epoch.t + passes * n
    piece = PIECE * n // max(1, problem.matrix.n_cells) + 1
    data = A, y, target, weight, loss, problem.lam, full, c, tol, unit, moves, block
    aside = tools.p, tools.v_p, tools.q, tools.v_q
    while epoch.t < limit and walk.gap > tol:
        if is_over(ends):
            return None
        most = int(min(piece, limit - epoch.t)) or 1
        _epochs(
            *data,
            most,
            alpha,
            v,
            problem.matrix.sq_norms,
            tools.active,
            tools.order,
            dual,
            epoch,
            tools.key,
            walk,
            *aside,
            responses,
        )
    u = float(dual.u)
    answer = Solution(v / full, float(dual.beta + dual.kappa * u / full), alpha)
    return Climbed(DualPoint(alpha, v, u), answer, responses, float(walk.gap) if walk.gap <= tol else np.inf)


def _begin(
    tools: Tools, alpha: np.ndarray, v: np.ndarray, u: float, full: float, c: float, rho: float, *, cold: bool
) -> None:
    """Set all numbers to where an ascent begins; ρ is that of `SDCA`. Not compiled: a first fit has enough of that."""
    dual, walk = tools.dual, tools.walk
    dual.u, dual.growing = u, cold and full >= SGD_PAYS
    dual.Lam = 0.0 if dual.growing else full
    dual.upper, dual.lower, dual.beta = np.inf, -np.inf, 0.0
    if c > 0.0:
        dual.kappa, dual.keep = c / (1.0 + c / rho), 1.0 / (1.0 + rho / c)
        dual.beta = dual.keep * c * u / full
    walk.u_step, walk.gap, walk.u_before = 0.0, np.inf, u
    tools.v_p[:], tools.v_q[:], tools.p[:], tools.q[:] = v, 0.0, alpha, 0.0


@compiled
def _epochs(
    A,
    y,
    target,
    weight,
    loss,
    lam,
    full,
    c,
    tol,
    unit,
    moves,
    block_rows,
    most,
    alpha,
    v,
    sq,
    active,
    order,
    dual,
    epoch,
    key,
    walk,
    p,
    v_p,
    q,
    v_q,
    r,
):
    """Epochs until the gap is small enough, or `most` rows are visited; p and q as in `subspace_step`."""
    until = epoch.t + most
    while epoch.t < until:
        if begin(epoch, active, order, weight, block_rows, key):
            dual.upper, dual.lower = np.inf, -np.inf
        dual.gap_so_far, dual.highest, dual.lowest = 0.0, -np.inf, np.inf
        visit(A, y, target, weight, loss, lam, block_rows, epoch.active, alpha, v, sq, active, order, dual, epoch)
        end_epoch(dual, epoch, active, full, moves, True)
        # The epoch met the gap on its way. At its end it is less, by about as much as it was at the last look.
        worth = max(_dual_value(target, weight, loss, full, c, alpha, v, dual.u), unit)
        if worth > 0.0 and dual.gap * walk.share <= tol * worth:
            walk.gap = _gap(A, y, target, weight, loss, full, c, unit, alpha, v, dual, r)
            walk.share = min(1.0, walk.gap * worth / max(dual.gap, TINY))
            if walk.gap <= tol:
                return
            epoch.stale = True
        subspace_step(A, y, target, weight, loss, full, c, 0.0, alpha, v, dual, walk, p, v_p, q, v_q)


@compiled(fastmath=SUMS)
def _to_best_multiple(target, weight, loss, full, c, alpha, v, u):
    """Scale a dual point by the factor, within bounds, at which the dual is largest; along a ray it is a parabola."""
    linear, quadratic, largest = 0.0, c * u * u / full, 0.0
    for j in range(len(v)):
        quadratic += v[j] * v[j] / full
    for i in range(len(alpha)):
        a = alpha[i]
        if a != 0.0:
            s = weight[i] if len(weight) > 1 else weight[0]
            t = target[i] if len(target) > 1 else target[0]
            linear += s * (t * a - loss.epsilon * abs(a))
            quadratic += s * loss.curvature * a * a
            largest = max(largest, abs(a))
    if not (linear > 0.0 and quadratic > 0.0 and largest > 0.0):
        return 1.0
    factor = min(linear / quadratic, loss.high / largest)
    for j in range(len(v)):
        v[j] *= factor
    for i in range(len(alpha)):
        alpha[i] = min(loss.high, max(loss.low, alpha[i] * factor))
    return factor


@compiled(fastmath=SUMS)
def _dual_value(target, weight, loss, full, c, alpha, v, u):
    """D, times Σ s."""
    total = 0.0
    for i in range(len(alpha)):
        a = alpha[i]
        if a != 0.0:
            t = target[i] if len(target) > 1 else target[0]
            s = weight[i] if len(weight) > 1 else weight[0]
            total += s * (t * a - loss.epsilon * abs(a) - 0.5 * loss.curvature * a * a)
    sq = c * u * u
    for j in range(len(v)):
        sq += v[j] * v[j]
    return total - sq / (2.0 * full)


@compiled
def _gap(A, y, target, weight, loss, full, c, unit, alpha, v, dual, r):
    """The relative gap at w = v/Λ, and ⟨w, xᵢ⟩ + b of all rows, those without a weight included."""
    b, gap = dual.beta + dual.kappa * dual.u / full, 0.0
    for i in range(len(alpha)):
        r[i] = dot(A, read_row(A, i), v) / full + b
        s = weight[i] if len(weight) > 1 else weight[0]
        if s > 0.0:
            t = target[i] if len(target) > 1 else target[0]
            gap += s * gap_share(loss, t - y[i] * r[i], alpha[i])
    if c > 0.0:  # b may not be that of α yet
        gap += 0.5 * full * (b / np.sqrt(c) - np.sqrt(c) * dual.u / full) ** 2
    return gap / max(_dual_value(target, weight, loss, full, c, alpha, v, dual.u), unit)
