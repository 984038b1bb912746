"""Newton's method for smooth losses and few features: all members of a batch as columns, by BLAS and LAPACK."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hinge.access import Matrix
from hinge.constraints import Constraints, number
from hinge.monitoring import Status
from hinge.problems import Problem, Regularized, Solution
from hinge.problems.base import Cost
from hinge.problems.batch import Batch, BatchSolution, members_of
from hinge.problems.svm.losses import Loss
from hinge.solvers.base import Paper, Solver
from hinge.solvers.newton.newton import PROGRESS, STALLED
from hinge.solvers.newton.row_sums import MOST_TRIALS, SLOPE
from hinge.solvers.newton.systems import CANCELLED, MOST_DIRECT, MOST_MOVES, penalty_of, solved

CHEAP = 1e5  # multiplications that take as long as a call of NumPy: a smaller Hessian is summed up anew at each step
SMALL = 1 << 16  # numbers up to which the Hessians of all members are made by one product, with a copy of the rows


class FiniteNewtonState(NamedTuple):
    """The points of all members, a column each, in arrays that `advance` overwrites.

    ============ ======================= ==========================================================================
    `W`          (d + 1, k)              w, and the bias in the last row
    `G`          (n, k)                  :math:`g_i = t_i - y_i(\\langle w, x_i\\rangle + b)`
    `alpha`      (n, k)                  the slopes of the loss at G: a feasible dual point
    `gradient`   (d + 1, k)              :math:`\\nabla F`
    `H`          (k, d + 1, d + 1)       :math:`\\sum_i c_i(x_i, 1)(x_i, 1)^T` over the rows in `held`, lower triangle
    `held`       (k, n)                  which rows H is the sum of
    `moved`      (k,)                    rows added to H and taken from it since it was last summed up anew
    `gap`        (k,)                    relative duality gap
    `least`      (2, k)                  least :math:`\\|\\nabla F\\|^2/2\\lambda` and least objective so far
    `idle`       (k,)                    steps since then
    `rows`       (n, d + 1)              the rows with the constant feature, if they are few; else (0, d + 1)
    `target`     ()                      the gap to reach, as a multiple of `tol`
    `known`      ()                      whether G has been computed for W
    `t`          int                     steps so far
    ============ ======================= ==========================================================================
    """

    W: np.ndarray
    G: np.ndarray
    alpha: np.ndarray
    gradient: np.ndarray
    H: np.ndarray
    held: np.ndarray
    moved: np.ndarray
    gap: np.ndarray
    least: np.ndarray
    idle: np.ndarray
    rows: np.ndarray
    target: np.ndarray
    known: np.ndarray
    t: int


Members = slice | np.ndarray
"""Which members of a batch: all of them, or some by their numbers."""


class Stacked(NamedTuple):
    """The members' data as columns: labels, targets, shares :math:`c_i`, penalties, units of the gap.

    Where all rows and members have the same target or share, it is one number.
    """

    y: np.ndarray
    target: np.ndarray | float
    share: np.ndarray | float
    penalty: np.ndarray
    unit: np.ndarray
    has_bias: bool
    rows: np.ndarray


@dataclass(frozen=True)
class FiniteNewton(Solver[Regularized, FiniteNewtonState]):
    """Newton steps on `Regularized` with a smooth loss, or on all members of a `Batch` of such problems jointly.

    With a squared loss the objective is quadratic between the hyperplanes at which a row's loss begins, so that a
    finite number of steps reaches the optimum. With :math:`c_i = s_i/\\sum_js_j`, the slopes
    :math:`\\alpha_i = \\ell'(g_i)`, and κ for the curvature of :math:`\\ell^*`,

    .. math:: \\nabla F = \\lambda w - \\sum_ic_i\\alpha_iy_ix_i, \\qquad
              \\nabla^2F = \\lambda I + \\frac1\\kappa\\sum_{\\alpha_i \\ne 0}c_ix_ix_i^T, \\qquad
              P(w) - D(\\alpha) = \\frac{\\|\\nabla F\\|^2}{2\\lambda},

    since α is the slope at w. A step goes along the Newton direction to the minimum on it. It costs two products of
    all rows with one vector for each member that is not done, :math:`d^3/3`, and :math:`d^2` for each row whose
    loss began or ended since the last step. Of another smooth loss (`Loss.second`) the Hessian is summed up anew, for
    :math:`d^2` a row.

    Parameters
    ----------
    tol : float
        `advance` ends when the gap of every member is at most this; members that have it rest.

    References
    ----------
    S. S. Keerthi, D. DeCoste, *A Modified Finite Newton Method for Fast Solution of Large Scale Linear SVMs*, 2005.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.problems.svm.losses import SQUARED_HINGE
    >>> from hinge.solvers import FiniteNewton
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam, loss=SQUARED_HINGE)
    >>> result = solve(problem, FiniteNewton(), stop=Stop(tol=1e-9))
    >>> result.certificate.gap <= 1e-9, result.n_iter < 10
    (True, True)
    """

    tol: float = 0.0

    any_loss = True
    any_conjugate = True
    joint = True
    ends_itself = True
    status_at_end = Status.STALLED
    paper = Paper(
        "A Modified Finite Newton Method for Fast Solution of Large Scale Linear SVMs", "Keerthi, DeCoste", 2005, "§3"
    )
    constraints = Constraints(tol=number(least=0))

    def rejects(self, problem: Problem) -> str | None:
        for member in members_of(problem):
            if not isinstance(member, Regularized):
                return f"FiniteNewton solves Regularized problems, not {type(member).__name__}; use SDCA or Newton."
            if not member.loss.curvature or member.bias == "free" or member.pull:
                return "FiniteNewton is for smooth losses, without a free bias; use Newton."
            if member.d > MOST_DIRECT:
                return f"FiniteNewton forms a Hessian of all features, and d = {member.d} are many; use SDCA."
        return None

    def init(
        self, problem: Regularized | Batch, seed: int = 0, start: Solution | Sequence[Solution | None] | None = None
    ) -> FiniteNewtonState:
        members = members_of(problem)
        n, d, k = problem.n, members[0].d, len(members)
        W = np.zeros((d + 1, k))
        for j, answer in enumerate([start] if isinstance(start, Solution) else start or ()):
            if answer is not None:
                W[:d, j], W[d, j] = answer.w, answer.b
        far = np.full(k, np.inf)
        return FiniteNewtonState(
            W,
            np.empty((n, k)),
            np.empty((n, k)),
            np.empty((d + 1, k)),
            np.zeros((k, d + 1, d + 1)),
            np.zeros((k, n), bool),
            np.zeros(k, np.int64),
            far,
            np.full((2, k), np.inf),
            np.zeros(k, np.int64),
            np.empty((n if k * n * (d + 1) <= SMALL else 0, d + 1)),
            np.ones(()),
            np.zeros((), bool),
            0,
        )

    def restart(self, problem: Regularized | Batch, state: FiniteNewtonState) -> FiniteNewtonState:
        """Continue at the same point for other λ; the products with the rows, and the sums in H, remain valid."""
        state.gap[:], state.least[:], state.idle[:], state.target[()] = np.inf, np.inf, 0, 1.0
        return state._replace(t=0)

    def advance(self, problem: Regularized | Batch, state: FiniteNewtonState, n_iter: int) -> FiniteNewtonState:
        columns = _columns(problem, state.rows)
        if n_iter > 0 and not state.known:
            if len(state.rows):
                state.rows[:, :-1], state.rows[:, -1] = (
                    problem.matrix.gather_dense(np.arange(problem.n)),
                    columns.has_bias,
                )
            state.G[:], state.known[()] = columns.target, True
            if state.W.any():
                state.G[:] -= columns.y * _responses(problem.matrix, columns, state.W)
            state.alpha[:] = _slopes(problem.loss, columns, state.G)
        if n_iter > 0 and np.isinf(state.gap).all():
            _evaluate(problem, columns, state, slice(None))
        done = 0
        while done < n_iter and (above := state.gap > self.tol * state.target).any():
            _step(problem, columns, state, slice(None) if above.all() else np.flatnonzero(above))
            done += 1
        return state._replace(t=state.t + done)

    def solution(self, problem: Regularized | Batch, state: FiniteNewtonState) -> Any:
        W, d = state.W, len(state.W) - 1
        answers = [Solution(W[:d, j], float(W[d, j]), state.alpha[:, j]) for j in range(W.shape[1])]
        return BatchSolution(tuple(answers)) if isinstance(problem, Batch) else answers[0]

    def cost(self, problem: Regularized | Batch, state: FiniteNewtonState | None = None) -> Cost:
        """Two products with all rows, and the squares of each member; at first, products at the start and a copy."""
        members, cells = members_of(problem), members_of(problem)[0].matrix.n_cells
        return Cost(cells=(2 + len(members)) * cells, setup=3 * cells)

    def pause(self, problem: Regularized | Batch, state: FiniteNewtonState) -> int:
        """1, or 0 after many steps without progress, when only rounding is left, or far more steps than needed."""
        return int(state.t < 1000 and not (state.idle >= STALLED).any())

    def estimate(self, problem: Regularized | Batch, state: FiniteNewtonState) -> float:
        return float(state.gap.max())

    def refresh(self, problem: Regularized | Batch, state: FiniteNewtonState) -> FiniteNewtonState:
        """Aim lower: the certificate counts rounding errors, which the gap here does not."""
        state.target[()] *= 0.1
        return state


def _columns(problem: Regularized | Batch, rows: np.ndarray) -> Stacked:
    members = members_of(problem)
    first, shares = members[0], [member.share() for member in members]
    n, unit = first.n, np.array([member.unit for member in members])
    y = np.empty((n, len(members)))
    for j, member in enumerate(members):
        y[:, j] = member.y
    target = np.stack([member.target for member in members], 1) if first.loss.two_sided else 1.0
    share: np.ndarray | float = 0.0
    if all(isinstance(one, float) and one == shares[0] for one in shares):
        share = float(shares[0])
    else:
        share = np.stack([np.broadcast_to(one, (n,)) for one in shares], 1)
    penalty, has_bias = np.stack([penalty_of(member) for member in members], 1), first.bias != "none"
    if not has_bias:
        penalty[-1] = first.lam  # of a bias that stays 0
    return Stacked(y, target, share, penalty, unit, has_bias, rows)


def _take(columns: Stacked, members: Members) -> Stacked:
    """The columns of some members."""
    if isinstance(members, slice):
        return columns
    y, target, share, penalty, unit, has_bias, rows = columns
    target = target if isinstance(target, float) else target[:, members]
    share = share if isinstance(share, float) else share[:, members]
    return Stacked(y[:, members], target, share, penalty[:, members], unit[members], has_bias, rows)


def _responses(matrix: Matrix, columns: Stacked, W: np.ndarray) -> np.ndarray:
    """⟨w, xᵢ⟩ + b of all rows, a column for each member."""
    if len(columns.rows):
        matrix.count(matrix.n_cells)
        return columns.rows @ W
    R = matrix.products(W[:-1])
    R += W[-1]
    return R


def _combinations(matrix: Matrix, columns: Stacked, C: np.ndarray) -> np.ndarray:
    """Σ Cᵢⱼ(xᵢ, 1) over all rows i, a column for each member j; 0 in place of 1 if there is no bias."""
    if len(columns.rows):
        matrix.count(matrix.n_cells)
        return columns.rows.T @ C
    sums = np.empty((matrix.shape[1] + 1, C.shape[1]))
    sums[:-1], sums[-1] = matrix.combinations(C), C.sum(0) if columns.has_bias else 0.0
    return sums


def _slopes(loss: Loss, columns: Stacked, G: np.ndarray) -> np.ndarray:
    """α at G; zero for rows without a weight."""
    alpha = loss.slope(G)
    return alpha if isinstance(columns.share, float) else alpha * (columns.share > 0.0)


def _dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The inner products of corresponding columns of A and B."""
    return np.einsum("ij,ij->j", A, B)


def _evaluate(problem: Regularized | Batch, columns: Stacked, state: FiniteNewtonState, members: Members) -> None:
    """The gradient and the gap of some members at W, where the loss has the slopes α."""
    W, alpha, penalty = state.W[:, members], state.alpha[:, members], columns.penalty
    mass = alpha * columns.share
    if problem.loss.piecewise:
        losses = 0.5 * problem.loss.curvature * _dots(alpha, mass)
    else:
        losses = _dots(state.G[:, members], mass) - (problem.loss.conjugates(alpha) * columns.share).sum(0)
    mass *= columns.y
    gradient = penalty * W
    primal = losses + 0.5 * _dots(gradient, W)
    gradient -= _combinations(problem.matrix, columns, mass)
    distance = 0.5 * _dots(gradient, gradient / penalty)
    scale = np.maximum(primal - distance, columns.unit)
    state.gradient[:, members] = gradient
    state.gap[members] = np.divide(distance, scale, out=np.full_like(scale, np.inf), where=scale > 0.0)
    # The gap may long stay as it is while the losses of rows end one by one; the objective falls then.
    least, now = state.least[:, members], np.stack([distance, primal])
    better = (now < PROGRESS * least).any(0)
    state.idle[members] = (state.idle[members] + 1) * ~better
    state.least[:, members] = np.where(better, np.minimum(now, least), least)


def _step(problem: Regularized | Batch, columns: Stacked, state: FiniteNewtonState, members: Members) -> None:
    """Newton's direction of some members, the minimum on it, and the gap there."""
    columns, gradient = _take(columns, members), state.gradient[:, members]
    P = _solve_newton(problem, columns, state, members, -gradient)
    Q = columns.y * _responses(problem.matrix, columns, P)
    tau, G, alpha = _minimise_along(problem.loss, columns, state.G[:, members], state.alpha[:, members], gradient, P, Q)
    state.W[:, members] += tau * P
    state.G[:, members], state.alpha[:, members] = G, alpha
    _evaluate(problem, columns, state, members)


def _solve_newton(
    problem: Regularized | Batch, columns: Stacked, state: FiniteNewtonState, members: Members, g: np.ndarray
) -> np.ndarray:
    """:math:`(\\nabla^2F)^{-1}g` of some members; of few rows for all of them in one call of LAPACK."""
    share, penalty, B, width = columns.share, columns.penalty, columns.rows, len(g)
    if len(B):
        weight = problem.loss.second(state.alpha[:, members]) * share
        H = (B.T * weight.T[:, None, :]) @ B
        H.reshape(len(H), -1)[:, :: width + 1] += penalty.T
        problem.matrix.count(len(H) * problem.matrix.n_cells)
        with suppress(np.linalg.LinAlgError):
            return np.linalg.solve(H, g.T[:, :, None])[:, :, 0].T
    found = np.empty_like(g)
    for place, j in enumerate(np.arange(len(state.gap))[members].tolist()):
        H = _hessian(problem.matrix, problem.loss, share if isinstance(share, float) else share[:, place], state, j)
        H.flat[:: width + 1] += penalty[:, place]
        if not columns.has_bias:
            H[-1, :-1] = 0.0
        found[:, place] = solved(H, g[:, place])
    return found


def _minimise_along(
    loss: Loss, columns: Stacked, G: np.ndarray, alpha: np.ndarray, gradient: np.ndarray, P: np.ndarray, Q: np.ndarray
) -> tuple[np.ndarray | float, np.ndarray, np.ndarray]:
    """The step τ to the minimum of each member along its direction P, and what G and α are there.

    Newton on the slope, kept within a bracket. τ = 1 is tried first, where the minimum is if no row's loss begins or
    ends on the way.
    """
    start, second, weighted = _dots(gradient, P), _dots(columns.penalty * P, P), Q * columns.share
    before = start + _dots(alpha, weighted)
    there = G - Q
    alpha = _slopes(loss, columns, there)
    slope = before + second - _dots(alpha, weighted)
    steep = np.abs(slope) > -SLOPE * start
    if not steep.any():
        return 1.0, there, alpha
    tau, low, high = np.ones(len(start)), np.zeros(len(start)), np.full(len(start), np.inf)
    for _ in range(MOST_TRIALS):
        curvature = second + _dots(loss.second(alpha) * Q, weighted)
        low, high = np.where(slope < 0.0, tau, low), np.where(slope < 0.0, high, tau)
        inside = np.where(low > 0.0, 0.5 * (low + high), 0.1 * high)
        step = tau - slope / np.where(curvature > 0.0, curvature, 1.0)
        step = np.where((low < step) & (step < high), step, np.where(high < np.inf, inside, 2.0 * low + 1.0))
        tau = np.where(steep, step, tau)
        there = G - tau * Q
        alpha = _slopes(loss, columns, there)
        slope = before + tau * second - _dots(alpha, weighted)
        steep = np.abs(slope) > -SLOPE * start
        if not steep.any():
            return tau, there, alpha
    tau = np.where(steep, low, tau)  # the slope at `low` is still negative: the way there has been downhill
    there = G - tau * Q
    return tau, there, _slopes(loss, columns, there)


def _hessian(matrix: Matrix, loss: Loss, share: np.ndarray | float, state: FiniteNewtonState, j: int) -> np.ndarray:
    """The sum of cᵢℓ''(gᵢ)(xᵢ, 1)(xᵢ, 1)ᵀ over the rows of a member."""
    if loss.piecewise:
        _update_hessian(matrix, share, state, j)
        return state.H[j] * (1.0 / loss.curvature)
    H = np.zeros_like(state.H[j])
    _add_squares(matrix, np.arange(matrix.shape[0]), loss.second(state.alpha[:, j]) * share, 1.0, H)
    return H


def _update_hessian(matrix: Matrix, share: np.ndarray | float, state: FiniteNewtonState, j: int) -> None:
    """Update H of a member for the rows that have a loss now: d² for each that changed, or for each row if fewer."""
    H, held, curved = state.H[j], state.held[j], state.alpha[:, j] != 0.0
    count = int(np.count_nonzero(curved))
    if count * H.size > CHEAP:
        came, went = np.flatnonzero(curved > held), np.flatnonzero(curved < held)
        state.moved[j] += len(came) + len(went)
        if len(came) + len(went) <= count and state.moved[j] <= MOST_MOVES * max(count, len(H)):
            held[:] = curved
            _add_squares(matrix, came, share, 1.0, H)
            most = np.trace(H)
            _add_squares(matrix, went, share, -1.0, H)
            if np.trace(H) > CANCELLED * most:  # else what remains is the rounding of rows that left
                return
    held[:], H[:], state.moved[j] = curved, 0.0, count
    _add_squares(matrix, np.flatnonzero(curved), share, 1.0, H)


def _add_squares(
    matrix: Matrix, rows: np.ndarray, share: np.ndarray | float, sign: float, H: np.ndarray, *, block: int = 4096
) -> None:
    """H ± Σ cᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over some rows, by copies of `block` rows."""
    for lo in range(0, len(rows), block):
        some = rows[lo : lo + block]
        B = np.empty((len(some), len(H)))
        B[:, :-1], B[:, -1] = matrix.gather_dense(some), 1.0
        if isinstance(share, float):
            H += (sign * share) * (B.T @ B)
        else:
            B *= np.sqrt(share[some])[:, None]
            H += sign * (B.T @ B)
