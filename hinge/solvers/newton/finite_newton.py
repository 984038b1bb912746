"""Newton's method for smooth losses and few features: all members of a batch as columns, by BLAS and LAPACK."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hinge.access import Matrix
from hinge.constraints import Constraints, number
from hinge.monitoring import Status
from hinge.problems import Regularized, Solution
from hinge.problems.base import Cost
from hinge.problems.batch import Batch, BatchSolution, Stacked, members_of
from hinge.problems.svm.losses import Loss
from hinge.solvers.base import Paper, Solver
from hinge.solvers.newton.newton import PROGRESS, STALLED
from hinge.solvers.newton.row_sums import SLOPE, Trial, next_trial
from hinge.solvers.newton.systems import CANCELLED, MOST_DIRECT, MOST_MOVES, solved

SMALL = 1 << 20  # cells up to which a copy of all rows is kept, with the constant feature
HALVED = 0.5  # the whole step is taken where the slope on it is at most this share of that at its start
FEW = 1 << 16  # cells of the squares of these rows up to which they are kept, too: a Hessian is one product with them


class FiniteNewtonState(NamedTuple):
    """The points of all members, a row each, in arrays that `advance` overwrites.

    ============ ======================= ==========================================================================
    `W`          (k, d + 1)              w, and the bias in the last column
    `G`          (k, n)                  :math:`g_i = t_i - y_i(\\langle w, x_i\\rangle + b)`
    `alpha`      (k, n)                  the slopes of the loss at G: a feasible dual point
    `gradient`   (k, d + 1)              :math:`\\nabla F`
    `H`          (k, d + 1, d + 1)       :math:`\\sum_i c_i(x_i, 1)(x_i, 1)^T` over the rows in `held`, lower triangle
    `held`       (k, n)                  which rows H is the sum of
    `moved`      (k,)                    rows added to H and taken from it since it was last summed up anew
    `gap`        (k,)                    relative duality gap
    `least`      (2, k)                  least :math:`\\|\\nabla F\\|^2/2\\lambda` and least objective so far
    `idle`       (k,)                    steps since then
    `rows`       (n, d + 1)              the rows with the constant feature, if they are few; else (0, d + 1)
    `squares`    (n, (d + 1)²)           :math:`(x_i, 1)(x_i, 1)^T` of all rows, if they are few; else (0, (d + 1)²)
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
    squares: np.ndarray
    target: np.ndarray
    known: np.ndarray
    t: int


class Iterates(NamedTuple):
    """The points of some members, a row each: arrays of the state, or copies of rows of these; see there."""

    W: np.ndarray
    G: np.ndarray
    alpha: np.ndarray
    gradient: np.ndarray


S = TypeVar("S", bound=Any)
Starts = Solution | BatchSolution | Sequence[Solution | None] | None


def starts_of(start: Starts) -> Sequence[Solution | None]:
    """The answers that members start from; none if there are none."""
    return (
        [start] if isinstance(start, Solution) else start.members if isinstance(start, BatchSolution) else start or ()
    )


@dataclass(frozen=True)
class JointNewton(Solver[Regularized, S]):
    """What Newton's methods for all members of a batch share: states have W, α, the gaps, and the rows if they are few.

    Parameters
    ----------
    tol : float
        `advance` ends when the gap of every member is at most this; members that have it rest.
    """

    tol: float = 0.0

    joint = True
    ends_itself = True
    status_at_end = Status.STALLED
    solves, instead = Regularized, "SDCA or Newton"
    constraints = Constraints(tol=number(least=0))

    def first_point(self, members: Sequence[Regularized], start: Starts) -> np.ndarray:
        """w and the bias of each member, a row each: zero, or of a start."""
        W = np.zeros((len(members), members[0].d + 1))
        for w, answer in zip(W, starts_of(start), strict=False):
            if answer is not None:
                w[:-1], w[-1] = answer.w, answer.b
        return W

    def copy_rows(self, problem: Regularized | Batch, rows: np.ndarray) -> None:
        """Copy all rows, with the constant feature."""
        whole = problem.matrix.whole()
        rows[:, :-1] = whole.toarray() if problem.matrix.is_sparse else whole
        rows[:, -1] = members_of(problem)[0].bias != "none"

    def solution(self, problem: Regularized | Batch, state: S) -> Any:
        answers = [Solution(w[:-1], float(w[-1]), alpha) for w, alpha in zip(state.W, state.alpha, strict=True)]
        return BatchSolution(tuple(answers)) if isinstance(problem, Batch) else answers[0]

    def estimate(self, problem: Regularized | Batch, state: S) -> float:
        return float(state.gap.max())

    def refresh(self, problem: Regularized | Batch, state: S) -> S:
        """Aim lower: the certificate counts rounding errors, which the gap here does not."""
        state.target[()] *= 0.1
        return state


@dataclass(frozen=True)
class FiniteNewton(JointNewton[FiniteNewtonState]):
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

    any_loss = True
    any_conjugate = True
    paper = Paper(
        "A Modified Finite Newton Method for Fast Solution of Large Scale Linear SVMs", "Keerthi, DeCoste", 2005, "§3"
    )

    def _limits(self, problem: Regularized) -> str | None:
        if not problem.loss.curvature or problem.bias == "free" or problem.pull:
            return "FiniteNewton is for smooth losses, without a free bias; use Newton."
        if problem.d > MOST_DIRECT:
            return f"FiniteNewton forms a Hessian of all features, and d = {problem.d} are many; use SDCA."
        return None

    def init(self, problem: Regularized | Batch, seed: int = 0, start: Starts = None) -> FiniteNewtonState:
        members = members_of(problem)
        n, m, k = problem.n, members[0].d + 1, len(members)
        W, rows = self.first_point(members, start), np.empty((n if n * m <= SMALL else 0, m))
        G, alpha, gradient = np.empty((k, n)), np.empty((k, n)), np.empty((k, m))
        H, held = np.zeros((k, m, m)), np.zeros((k, n), bool)
        (moved, idle), far, least = np.zeros((2, k), np.int64), np.full(k, np.inf), np.full((2, k), np.inf)
        squares, target, known = np.empty((n if n * m * m <= FEW else 0, m * m)), np.ones(()), np.zeros((), bool)
        return FiniteNewtonState(
            W, G, alpha, gradient, H, held, moved, far, least, idle, rows, squares, target, known, 0
        )

    def restart(self, problem: Regularized | Batch, state: FiniteNewtonState) -> FiniteNewtonState:
        """Continue at the same point for other λ; the products with the rows, and the sums in H, remain valid."""
        state.gap[:], state.least[:], state.idle[:], state.target[()] = np.inf, np.inf, 0, 1.0
        return state._replace(t=0)

    def advance(self, problem: Regularized | Batch, state: FiniteNewtonState, n_iter: int) -> FiniteNewtonState:
        members, m = members_of(problem), state.W.shape[1]
        every = stacked = problem.stacked if isinstance(problem, Batch) else Stacked.of(members)
        if n_iter > 0 and not state.known:
            if len(state.rows):
                self.copy_rows(problem, state.rows)
            if len(state.squares):
                np.multiply(state.rows[:, :, None], state.rows[:, None, :], out=state.squares.reshape(problem.n, m, m))
            state.G[:], state.known[()] = stacked.target, True
            if state.W.any():
                state.G[:] -= stacked.y * _responses(problem.matrix, state.rows, state.W)
            state.alpha[:] = _slopes(problem.loss, stacked, state.G)
        whole = points = Iterates(state.W, state.G, state.alpha, state.gradient)
        some, done, aim = list(range(len(members))), 0, self.tol * float(state.target)
        if n_iter > 0 and np.isinf(state.least).all():
            state.gradient[:] = _gradient(members[0], stacked, state.rows, whole)
            _measure_gaps(members, stacked, state, whole, some)
        while done < n_iter and (above := [j for j, gap in enumerate(state.gap.tolist()) if gap > aim]):
            if above != some:
                _store(whole, points, some)
                some, points = above, Iterates._make(part[above] for part in whole)
                stacked = every if len(above) == len(members) else every.among(above)
            _step(members, stacked, state, points, some)
            done += 1
        _store(whole, points, some)
        return state._replace(t=state.t + done)

    def cost(self, problem: Regularized | Batch, state: FiniteNewtonState | None = None) -> Cost:
        """Products with all rows for the step and for the gradients at its end and at the minimum on it, and squares.

        At first, products at the start and a copy.
        """
        cells = problem.pass_cells
        return Cost(cells=(3 + len(members_of(problem))) * cells, setup=3 * cells)

    def pause(self, problem: Regularized | Batch, state: FiniteNewtonState) -> int:
        """1, or 0 after many steps without progress, when only rounding is left, or far more steps than needed."""
        return int(state.t < 1000 and state.idle.max() < STALLED)


def _responses(matrix: Matrix, rows: np.ndarray, W: np.ndarray) -> np.ndarray:
    """⟨w, xᵢ⟩ + b of all rows, for each member."""
    if len(rows):
        matrix.count(matrix.n_cells)
        return W @ rows.T
    return matrix.products(W[:, :-1].T).T + W[:, -1:]


def _combinations(member: Regularized, rows: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Σ Cⱼᵢ(xᵢ, 1) over all rows i, for each member j; 0 in place of 1 if there is no bias."""
    if len(rows):
        member.matrix.count(member.matrix.n_cells)
        return C @ rows
    last = C.sum(1, keepdims=True) if member.bias != "none" else np.zeros((len(C), 1))
    return np.hstack([member.matrix.combinations(C.T).T, last])


def _slopes(loss: Loss, stacked: Stacked, G: np.ndarray) -> np.ndarray:
    """α at G; zero for rows without a weight."""
    alpha = loss.slope(G)
    return alpha if isinstance(stacked.share, float) else alpha * (stacked.share > 0.0)


def _store(whole: Iterates, points: Iterates, some: list[int]) -> None:
    """Write the points of some members to the arrays of all."""
    for array, part in zip(whole, points, strict=True):
        if array is not part:
            array[some] = part


def _gradient(first: Regularized, stacked: Stacked, rows: np.ndarray, points: Iterates) -> np.ndarray:
    """∇F of some members at W, where the loss has the slopes α."""
    return stacked.penalty * points.W - _combinations(first, rows, points.alpha * stacked.signed)


def _measure_gaps(
    members: Sequence[Regularized], stacked: Stacked, state: FiniteNewtonState, points: Iterates, some: list[int]
) -> None:
    """The gaps of some members, and their steps without progress."""
    (W, G, alpha, gradient), share, loss = points, stacked.share, members[0].loss
    if loss.piecewise:
        factor, weighted = 0.5 * loss.curvature, alpha
        if isinstance(share, float):
            factor *= share
        else:
            weighted = alpha * share
        losses = np.vecdot(alpha, weighted).tolist()
    else:
        factor, losses = 1.0, ((alpha * G - loss.conjugates(alpha)) * share).sum(1).tolist()
    paid, squares = np.vecdot(stacked.penalty * W, W).tolist(), np.vecdot(gradient, gradient / stacked.penalty).tolist()
    before = state.least[:, some].tolist()
    for j, lost, twice, square, least, lowest in zip(some, losses, paid, squares, *before, strict=True):
        apart, primal = 0.5 * square, factor * lost + 0.5 * twice
        scale = max(primal - apart, members[j].unit)
        state.gap[j] = apart / scale if scale > 0.0 else np.inf
        # The gap may long stay as it is while the losses of rows end one by one; the objective falls then.
        if apart < PROGRESS * least or primal < PROGRESS * lowest:
            state.idle[j], state.least[:, j] = 0, (min(apart, least), min(primal, lowest))
        else:
            state.idle[j] += 1


def _step(
    members: Sequence[Regularized], stacked: Stacked, state: FiniteNewtonState, points: Iterates, some: list[int]
) -> None:
    """Newton's direction of some members, its whole length or the minimum on it, and the gap there."""
    (W, G, alpha, gradient), loss = points, members[0].loss
    P = _directions(members, stacked, state, points, some)
    Q = stacked.y * _responses(members[0].matrix, state.rows, P)
    starts = np.vecdot(gradient, P).tolist()
    W += P
    G -= Q
    alpha[:] = _slopes(loss, stacked, G)
    gradient[:] = _gradient(members[0], stacked, state.rows, points)
    ends, most = np.vecdot(gradient, P).tolist(), SLOPE if state.idle.any() else HALVED
    if any(abs(end) > most * abs(start) for end, start in zip(ends, starts, strict=True)):
        _minimise_along(loss, stacked, points, P, Q, starts)
        gradient[:] = _gradient(members[0], stacked, state.rows, points)
    _measure_gaps(members, stacked, state, points, some)


def _directions(
    members: Sequence[Regularized], stacked: Stacked, state: FiniteNewtonState, points: Iterates, some: list[int]
) -> np.ndarray:
    """:math:`-(\\nabla^2F)^{-1}\\nabla F` of some members; the Hessians of few rows for all of them in one product."""
    g, first, share = -points.gradient, members[0], stacked.share
    k, m = g.shape
    if len(state.squares):
        every = first.loss.second(points.alpha) * share @ state.squares
        every[:, :: m + 1] += stacked.penalty
        first.matrix.count(k * first.matrix.n_cells)
        with suppress(np.linalg.LinAlgError):
            return np.linalg.solve(every.reshape(k, m, m), g[:, :, None])[:, :, 0]
    for place, (j, alpha) in enumerate(zip(some, points.alpha, strict=True)):
        own = share if isinstance(share, float) else share[place]
        H = _hessian(first.matrix, first.loss, own, alpha, state, j)
        H.flat[:: m + 1] += stacked.penalty[place]
        if first.bias == "none":
            H[-1, :-1] = 0.0
        g[place] = solved(H, g[place])
    return g


def _minimise_along(
    loss: Loss, stacked: Stacked, points: Iterates, P: np.ndarray, Q: np.ndarray, starts: list[float]
) -> None:
    """Move each point from the end of a step to the minimum on it.

    `starts` are the slopes where it began; the step has moved W by P and G by -Q.
    """
    W, G, alpha, weighted, paid = points.W - P, points.G + Q, points.alpha, Q * stacked.share, stacked.penalty * P
    first, second = np.vecdot(paid, W).tolist(), np.vecdot(paid, P).tolist()
    trials = [Trial(1.0, 0.0, np.inf, start, 1, False) for start in starts]
    while True:
        sums = (-np.vecdot(alpha, weighted)).tolist(), np.vecdot(loss.second(alpha) * Q, weighted).tolist()
        every = zip(trials, *sums, first, second, strict=True)
        trials = [trial if trial.over else next_trial(trial, *own) for trial, *own in every]
        tau = np.array([[trial.tau] for trial in trials])
        points.G[:] = G - tau * Q
        alpha[:] = _slopes(loss, stacked, points.G)
        if all(trial.over for trial in trials):
            points.W[:] = W + tau * P
            return


def _hessian(
    matrix: Matrix, loss: Loss, share: np.ndarray | float, alpha: np.ndarray, state: FiniteNewtonState, j: int
) -> np.ndarray:
    """Σ cᵢℓ''(gᵢ)(xᵢ, 1)(xᵢ, 1)ᵀ of a member; of squared losses, updated for rows whose loss began or ended."""
    H, held, rows = state.H[j], state.held[j], state.rows
    if not loss.piecewise:
        return _squares(matrix, rows, np.arange(matrix.shape[0]), loss.second(alpha) * share)
    share, curved = share * (1.0 / loss.curvature), alpha.nonzero()[0]
    came, went = np.flatnonzero((alpha != 0.0) > held), np.flatnonzero((alpha != 0.0) < held)
    state.moved[j] += len(came) + len(went)
    held[:] = alpha != 0.0
    if len(came) + len(went) <= len(curved) and state.moved[j] <= MOST_MOVES * max(len(curved), len(H)):
        H += _squares(matrix, rows, came, share)
        most = np.trace(H)
        H -= _squares(matrix, rows, went, share)
        if np.trace(H) > CANCELLED * most:  # else what remains is the rounding of rows that left
            return H.copy()
    H[:], state.moved[j] = _squares(matrix, rows, curved, share), len(curved)
    return H.copy()


def _squares(
    matrix: Matrix, kept: np.ndarray, rows: np.ndarray, share: np.ndarray | float, *, block: int = 4096
) -> np.ndarray:
    """Σ cᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over some rows, by copies of `block` rows; from those that are `kept`, if any."""
    H: Any = 0.0
    for lo in range(0, max(1, len(rows)), block):
        some = rows[lo : lo + block]
        if len(kept):
            matrix.count(len(some) * matrix.n_cells // len(kept))
            B = kept.take(some, 0)
        else:
            B = np.ones((len(some), matrix.shape[1] + 1))
            B[:, :-1] = matrix.gather_dense(some)
        if not isinstance(share, float):
            B *= np.sqrt(share[some])[:, None]
        H = H + B.T @ B
    return H * share if isinstance(share, float) else H
