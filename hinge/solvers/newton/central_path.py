"""Newton steps along the central path for the hinge and the ε-insensitive loss: few, whatever the scales and λ."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.access import frozen
from hinge.compiled import compiled
from hinge.problems import Regularized
from hinge.problems.base import EPS, Cost
from hinge.problems.batch import Batch, members_of
from hinge.solvers.base import Paper
from hinge.solvers.newton.finite_newton import JointNewton, Starts, starts_of
from hinge.solvers.newton.newton import PROGRESS
from hinge.solvers.newton.systems import DIRECT, penalty_of

TO_BOUNDARY = 0.99  # share of the way to the boundary that a step goes
STALLED = 15  # steps without a thousandth of progress that end a run: rounding is all that is left
NEAR = 10.0  # multiple of the gap to reach below which dual weights are put on their bounds
INSIDE = 0.1  # distance to their bounds of the dual weights of a start


class CentralPathState(NamedTuple):
    """The points of all k members, in arrays that `advance` overwrites.

    A row has one side, with the loss max(0, e), e = g; of regression two, with e = g - ε and e = -g - ε.

    ========== ==================== ===========================================================================
    `point`    (k, d + 1)           w, and the bias in the last column
    `inside`   (k, 4, sides, n)     a, 1 - a, and their multipliers s and ξ, with :math:`\\xi - s = e`
    `W`        (k, d + 1)           W of the least gap so far
    `alpha`    (k, n)               its dual weights: a, or the difference of both sides' a
    `gap`      (k,)                 its relative duality gap
    `idle`     (k,)                 steps since then
    `rows`     (n, d + 1)           the rows with the constant feature
    `target`   ()                   the gap to reach, as a multiple of `tol`
    `t`        int                  steps so far
    ========== ==================== ===========================================================================
    """

    point: np.ndarray
    inside: np.ndarray
    W: np.ndarray
    alpha: np.ndarray
    gap: np.ndarray
    idle: np.ndarray
    rows: np.ndarray
    target: np.ndarray
    t: int


@dataclass(frozen=True)
class CentralPath(JointNewton[CentralPathState]):
    """Newton steps between the constraints of `Regularized` with a loss of two slopes (an interior point method).

    With slacks :math:`\\xi_i \\ge 0` and :math:`s_i = \\xi_i - e_i \\ge 0`, where
    :math:`e_i = 1 - y_i(\\langle w, x_i\\rangle + b)`, a step is Newton's on

    .. math:: \\lambda w = \\sum_ic_ia_iy_ix_i, \\qquad a_is_i = \\mu, \\qquad (1 - a_i)\\xi_i = \\mu,

    first with μ = 0, then with the μ by which that step would fall short and with its second-order term (Mehrotra);
    it ends before the first of a, 1 - a, s and ξ vanishes. With :math:`1/\\theta_i = s_i/a_i + \\xi_i/(1 - a_i)`,
    eliminating all but w leaves

    .. math:: \\Big(\\lambda I + \\sum_ic_i\\theta_ix_ix_i^T\\Big)\\Delta w = \\sum_ic_i(a_i - \\theta_i\\rho_i)y_ix_i
              - \\lambda w .

    In regression each row is two such constraints. Every a is feasible, so that each step gives a certified gap. Some
    8 to 15 steps suffice: unlike passes of an ascent they hardly depend on the scales of the columns, nor on λ. A step
    costs :math:`nd^2/2` and six reads of the rows. All of it is one compiled call for each member of a `Batch`.

    Parameters
    ----------
    tol : float
        `advance` ends when the gap of every member is at most this; members that have it rest.

    References
    ----------
    S. Mehrotra, *On the Implementation of a Primal-Dual Interior Point Method*, SIAM J. Optimization 2, 1992.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import CentralPath
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, CentralPath(1e-6), stop=Stop(tol=1e-6))
    >>> result.certificate.gap <= 1e-6, result.n_iter < 20
    (True, True)
    """

    tubes = True
    paper = Paper("On the Implementation of a Primal-Dual Interior Point Method", "Mehrotra", 1992, "section 2")

    def _limits(self, problem: Regularized) -> str | None:
        if problem.bias == "free":
            return "CentralPath takes no free bias; use Newton."
        if problem.d > DIRECT:
            return f"CentralPath factors a matrix of all features, and d = {problem.d} are many; use SDCA."
        return None

    def init(self, problem: Regularized | Batch, seed: int = 0, start: Starts = None) -> CentralPathState:
        members = members_of(problem)
        first, n, k = members[0], problem.n, len(members)
        W, alpha, sides = self.first_point(members, start), np.zeros((k, n)), 1 + first.loss.two_sided
        inside = np.zeros((k, 4, sides, n))
        inside[:, :2] = 0.5
        for own, answer in zip(inside, starts_of(start), strict=False):
            if answer is not None and answer.alpha is not None:
                own[0] = np.clip(np.stack([answer.alpha, -answer.alpha])[:sides], INSIDE, 1.0 - INSIDE)
                own[1] = 1.0 - own[0]
        rows, far, idle = np.empty((n, first.d + 1)), np.full(k, np.inf), np.zeros(k)
        return CentralPathState(W, inside, W.copy(), alpha, far, idle, rows, np.ones(()), 0)

    def advance(self, problem: Regularized | Batch, state: CentralPathState, n_iter: int) -> CentralPathState:
        members, steps = members_of(problem), 0
        if n_iter > 0 and state.t == 0:
            self.copy_rows(problem, state.rows)
        for j, member in enumerate(members):
            penalty = penalty_of(member)
            if member.bias == "none":
                penalty[-1] = member.lam  # of a bias that stays 0
            numbers, share = np.array([state.gap[j], state.idle[j]]), np.atleast_1d(member.share())
            y = np.asarray(member.y, np.float64)
            columns = np.ascontiguousarray(state.rows.T)
            given = *map(frozen, (state.rows, columns, y, member.target, share, penalty)), member.loss.epsilon
            point = state.point[j], state.inside[j], state.W[j], state.alpha[j], numbers
            done = _follow(*given, member.spread, member.unit, *point, self.tol * float(state.target), n_iter)
            state.gap[j], state.idle[j] = numbers
            problem.matrix.count(6 * done * problem.matrix.n_cells)
            steps = max(steps, done)
        return state._replace(t=state.t + steps)

    def cost(self, problem: Regularized | Batch, state: CentralPathState | None = None) -> Cost:
        """Products for two directions, there and back, the matrix, and the gap; at first a copy."""
        cells = problem.matrix.n_cells
        return Cost(cells=6 * len(members_of(problem)) * cells, setup=cells)

    def pause(self, problem: Regularized | Batch, state: CentralPathState) -> int:
        """1, or 0 if a member has stalled and the others have stalled, or are done, too."""
        aim, every = self.tol * float(state.target), list(zip(state.gap.tolist(), state.idle.tolist(), strict=True))
        stalled = any(idle >= STALLED for _, idle in every)
        return int(not stalled or any(gap > aim and idle < STALLED for gap, idle in every))


@compiled(tiered=True)
def _follow(B, A, y, target, share, penalty, epsilon, unit, least_unit, W, inside, best, alpha, numbers, tol, n_iter):
    """Up to `n_iter` steps of one member, until its least gap is within `tol`; returns their number.

    `numbers` are the least gap so far, at `best` and α, and the steps since then.
    """
    n, sides = len(y), inside.shape[1]
    e, x, H, scale, work = np.empty((sides, n)), W.copy(), np.empty((len(W), len(W))), W.copy(), np.empty((7, sides, n))
    for step in range(n_iter):
        if numbers[0] <= tol or numbers[1] >= STALLED:
            return step
        if step == 0:
            _judge(B, A, y, target, share, penalty, epsilon, least_unit, W, inside, 0.0, e, x, work[6, 0])
        if inside[3, 0, 0] == 0.0:  # the first step of a run
            for side in range(sides):
                for i in range(n):
                    inside[3, side, i] = (e[side, i] if e[side, i] > 0.0 else 0.0) + 0.5 * unit
                    inside[2, side, i] = inside[3, side, i] - e[side, i]
        mu = _predict(B, A, y, share, penalty, W, inside, e, x, H, scale, work)
        _correct(B, A, y, share, penalty, W, inside, e, x, H, scale, work, mu)
        gap, at_bounds = (
            _judge(B, A, y, target, share, penalty, epsilon, least_unit, W, inside, 0.0, e, x, work[6, 0]),
            0.0,
        )
        if gap <= NEAR * tol:  # most a belong to a bound: there the gap is less, or this is not near enough yet
            gap = 1.0001 * tol if gap <= tol else gap
            nearest = _judge(B, A, y, target, share, penalty, epsilon, least_unit, W, inside, unit, e, x, work[6, 0])
            if nearest <= tol:
                gap, at_bounds = nearest, unit
        numbers[1] = 0.0 if gap < PROGRESS * numbers[0] else numbers[1] + 1.0
        if gap < numbers[0]:
            numbers[0] = gap
            for p in range(len(W)):
                best[p] = W[p]
            for i in range(n):
                alpha[i] = _weight(inside, 0, i, at_bounds) - (_weight(inside, 1, i, at_bounds) if sides > 1 else 0.0)
                alpha[i] = alpha[i] if len(share) == 1 or share[i] > 0.0 else 0.0
    return n_iter


@compiled
def _weight(inside, side, i, unit):
    """a; if the unit of e is given, at a bound if that is nearer than its multiplier is to zero."""
    a, room, s, xi = inside[0, side, i], inside[1, side, i], inside[2, side, i], inside[3, side, i]
    return 0.0 if unit * a < s and unit > 0.0 else 1.0 if unit * room < xi and unit > 0.0 else a


@compiled
def _judge(B, A, y, target, share, penalty, epsilon, least_unit, W, inside, unit, e, z, coef):
    """The relative duality gap at W and a, as `_weight` has it, and e; z and `coef` are overwritten."""
    n, m = B.shape
    lost, linear, most, square, paid, worst = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for p in range(m):
        z[p] = 0.0
    _multiply(A, y, W, e[0])
    for i in range(n):
        c = share[i] if len(share) > 1 else share[0]
        t = target[i] if len(target) > 1 else target[0]
        g, own = t - e[0, i], 0.0
        for side in range(len(e)):
            sign = 1.0 - 2.0 * side
            e[side, i] = sign * g - epsilon
            lost += c * e[side, i] if e[side, i] > 0.0 else 0.0
            worst = e[side, i] if e[side, i] > worst and c > 0.0 else worst
            own += sign * _weight(inside, side, i, unit)
        size = own if own > 0.0 else -own
        most = size if size > most and c > 0.0 else most
        linear += c * (t * own - epsilon * size)
        coef[i] = own * (c * y[i])
    _add_rows(B, coef, z)
    for p in range(m):
        square += z[p] * z[p] / penalty[p]
        paid += penalty[p] * W[p] * W[p]
    primal, bound = lost + 0.5 * paid, 0.0
    if linear > 0.0:  # at the best multiple of α
        scale = linear / square if most * linear < square else 1.0 / most
        bound = scale * (linear - 0.5 * scale * square)
    if len(e) == 1 and worst < 1.0:  # or at the least multiple of W where every row has its margin
        longer = 0.5 * paid / ((1.0 - worst) * (1.0 - worst))
        primal = longer if longer < primal else primal
    gap = (primal - bound) / (bound if bound > least_unit else least_unit)
    return gap if gap > EPS else EPS if gap <= EPS else np.inf


@compiled
def _predict(B, A, y, share, penalty, W, inside, e, x, H, scale, work):
    """The factor of the system, the step with μ = 0, as shares of a and 1 - a, and the μ to aim for."""
    theta, rho, low, high, above, below, q = work
    n, m, sides = B.shape[0], B.shape[1], len(e)
    for p in range(m):
        x[p] = -penalty[p] * W[p]
        for r in range(p, m):
            H[p, r] = penalty[p] if p == r else 0.0
    for i in range(n):
        c = share[i] if len(share) > 1 else share[0]
        weight, coef = 0.0, 0.0
        for side in range(sides):
            a, room, s, xi = inside[0, side, i], inside[1, side, i], inside[2, side, i], inside[3, side, i]
            above[side, i] = 1.0 / a
            below[side, i] = 1.0 / room
            theta[side, i] = 1.0 / (s * above[side, i] + xi * below[side, i]) if c > 0.0 else 0.0  # no weight: it stays
            weight += theta[side, i]
            coef += (1.0 - 2.0 * side) * (a + theta[side, i] * e[side, i])
        q[0, i] = weight * c
        rho[0, i] = coef * (c * y[i])
    _add_rows(B, rho[0], x)
    _add_squares(B, q[0], H)
    _factor(H, scale)
    _substitute(H, scale, x)
    _multiply(A, y, x, q[0])
    steepest = 1.0
    for side in range(sides):
        for i in range(n):
            da = theta[side, i] * (e[side, i] - (1.0 - 2.0 * side) * q[0, i])
            u, v = da * above[side, i], da * below[side, i]
            near, other = (1.0 + u if u > -0.5 else -u), (1.0 - v if v < 0.5 else v)
            near = near if near > other else other
            steepest = near if near > steepest else steepest
            low[side, i] = u
            high[side, i] = v
    far, before, after = 1.0 / steepest, 0.0, 0.0
    for side in range(sides):
        for i in range(n):
            c, u, v = share[i] if len(share) > 1 else share[0], low[side, i], high[side, i]
            under = c * inside[0, side, i] * inside[2, side, i]
            over = c * inside[1, side, i] * inside[3, side, i]
            before += under + over
            after += under * (1.0 + far * u) * (1.0 - far - far * u)
            after += over * (1.0 - far * v) * (1.0 - far + far * v)
    return 0.5 / sides * after * (after / before) * (after / before)


@compiled
def _correct(B, A, y, share, penalty, W, inside, e, x, H, scale, work, mu):
    """The step to a central point, with the second-order term of the predictor; W stays where rounding leaves none."""
    theta, rho, low, high, above, below, q = work
    n, m, sides = B.shape[0], B.shape[1], len(e)
    for p in range(m):
        x[p] = -penalty[p] * W[p]
    for i in range(n):
        coef = 0.0
        for side in range(sides):
            u, v = low[side, i], high[side, i]
            low[side, i] = mu * above[side, i] + inside[2, side, i] * u * (1.0 + u)
            high[side, i] = mu * below[side, i] - inside[3, side, i] * v * (1.0 - v)
            rho[side, i] = high[side, i] - low[side, i] - e[side, i]
            coef += (1.0 - 2.0 * side) * (inside[0, side, i] - theta[side, i] * rho[side, i])
        q[0, i] = coef * (y[i] * (share[i] if len(share) > 1 else share[0]))
    _add_rows(B, q[0], x)
    _substitute(H, scale, x)
    _multiply(A, y, x, q[0])
    steepest = TO_BOUNDARY
    for side in range(sides):
        for i in range(n):
            s, xi = inside[2, side, i], inside[3, side, i]
            da = -theta[side, i] * ((1.0 - 2.0 * side) * q[0, i] + rho[side, i])
            u, v = da * above[side, i], da * below[side, i]
            ds, dxi = low[side, i] - s - s * u, high[side, i] - xi + xi * v
            theta[side, i], low[side, i], high[side, i] = da, ds, dxi
            near = -u if u < 0.0 else v
            steepest = near if near > steepest else steepest
            if -ds > steepest * s:
                steepest = -ds / s
            if -dxi > steepest * xi:
                steepest = -dxi / xi
    far = TO_BOUNDARY / steepest
    if far > 0.0:  # neither zero nor nan
        for p in range(m):
            W[p] += far * x[p]
        for side in range(sides):
            for i in range(n):
                inside[0, side, i] += far * theta[side, i]
                inside[1, side, i] -= far * theta[side, i]
                inside[2, side, i] += far * low[side, i]
                inside[3, side, i] += far * high[side, i]


@compiled
def _add_squares(B, weight, H):
    """Upper triangle of H ← H + Σ weightᵢ xᵢxᵢᵀ, four rows at a time, so that H is read and written less often."""
    n, m = B.shape
    for i in range(0, n, 4):
        j, k, h = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        second, third, fourth = (
            weight[j] if i + 1 < n else 0.0,
            weight[k] if i + 2 < n else 0.0,
            weight[h] if i + 3 < n else 0.0,
        )
        for p in range(m):
            s, t, u, v = weight[i] * B[i, p], second * B[j, p], third * B[k, p], fourth * B[h, p]
            for r in range(np.uint64(p), np.uint64(m)):  # unsigned, or each index would be tested
                H[p, r] += s * B[i, r] + t * B[j, r] + u * B[k, r] + v * B[h, r]


@compiled
def _multiply(A, y, x, q):
    """q ← yᵢ⟨x, (xᵢ, 1)⟩ by columns, four at a time: instructions take several rows, and no sum is reordered."""
    m = len(x)
    for i in range(len(y)):
        q[i] = 0.0
    for p in range(0, m, 4):
        r, k, h = min(p + 1, m - 1), min(p + 2, m - 1), min(p + 3, m - 1)
        s, t, u, v = x[p], x[r] if p + 1 < m else 0.0, x[k] if p + 2 < m else 0.0, x[h] if p + 3 < m else 0.0
        for i in range(len(y)):
            q[i] += s * A[p, i] + t * A[r, i] + u * A[k, i] + v * A[h, i]
    for i in range(len(y)):
        q[i] *= y[i]


@compiled
def _add_rows(B, weight, x):
    """x ← x + Σ weightᵢ (xᵢ, 1), four rows at a time."""
    n, m = B.shape
    for i in range(0, n, 4):
        j, k, h = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        s, t = weight[i], weight[j] if i + 1 < n else 0.0
        u, v = weight[k] if i + 2 < n else 0.0, weight[h] if i + 3 < n else 0.0
        for p in range(m):
            x[p] += s * B[i, p] + t * B[j, p] + u * B[k, p] + v * B[h, p]


@compiled
def _factor(H, scale):
    """The Cholesky factor in the upper triangle of H, scaled to a diagonal of ones and some rounding; the scales."""
    m = np.uint64(len(H))
    for p in range(m):
        scale[p] = 1.0 / np.sqrt(H[p, p])
    for p in range(m):
        for r in range(p, m):
            H[p, r] *= scale[p] * scale[r]
        H[p, p] += len(H) * EPS
        for k in range(p):
            for r in range(p, m):
                H[p, r] -= H[k, p] * H[k, r]
        root = np.sqrt(H[p, p] if H[p, p] > EPS else EPS)
        for r in range(p, m):
            H[p, r] /= root
        H[p, p] = root


@compiled
def _substitute(U, scale, x):
    """x ← H⁻¹x, by the factor U of H and its scales."""
    m = len(x)
    for p in range(m):
        x[p] *= scale[p]
    for p in range(m):
        x[p] /= U[p, p]
        for r in range(np.uint64(p + 1), np.uint64(m)):
            x[r] -= U[p, r] * x[p]
    for p in range(m - 1, -1, -1):
        for r in range(p + 1, m):
            x[p] -= U[p, r] * x[r]
        x[p] /= U[p, p]
    for p in range(m):
        x[p] *= scale[p]
