"""Newton's method along the central path for several classes together: few steps, whatever the columns' scales."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from hinge.monitoring import Status
from hinge.problems import Multiclass, Solution
from hinge.problems.base import Cost
from hinge.solvers.base import Paper, Solver
from hinge.solvers.newton.central_path import STALLED, TO_BOUNDARY
from hinge.solvers.newton.systems import MOST_DIRECT


class MulticlassNewtonState(NamedTuple):
    """A point between the constraints, and the best answer so far.

    `W`, the dual weights `p` and the slacks t, `slack`, are the point; `Z` is λW(p). `best` and `alpha` are the W and
    the p with the lowest `primal` and the highest `bound`, not improved on in `still` steps.
    """

    W: np.ndarray
    p: np.ndarray
    slack: np.ndarray
    Z: np.ndarray
    best: np.ndarray
    alpha: np.ndarray
    primal: float
    bound: float
    still: int
    t: int


@dataclass(frozen=True)
class MulticlassNewton(Solver[Multiclass, MulticlassNewtonState]):
    """Newton steps between the constraints of `Multiclass` (a primal-dual interior point method), for few features.

    With :math:`G_{ik} = \\langle w_k, x_i\\rangle + [k \\ne y_i]` and levels :math:`u_i`, the problem is a quadratic
    program with slacks :math:`t_{ik} = u_i - G_{ik} \\ge 0`. A step is Newton's on

    .. math:: \\lambda w_k = \\sum_i c_i([k = y_i] - p_{ik})x_i, \\quad \\sum_k p_{ik} = 1, \\quad p_{ik}t_{ik} = \\mu,

    first with μ = 0, then with the μ by which that step would fall short and with its second-order term (Mehrotra);
    it ends before the first p or t vanishes. With :math:`q_{ik} = p_{ik}/t_{ik}`, eliminating p, t and u leaves

    .. math:: \\Big(\\lambda I + \\sum_i c_i\\big(\\operatorname{diag}(q_i) - \\tfrac{q_iq_i^T}{1^Tq_i}\\big)
              \\otimes x_ix_i^T\\Big)\\Delta W = -r .

    Scaling a column of X scales rows and columns of this matrix, which a factorisation does not mind: unlike passes of
    an ascent, its steps hardly depend on scales, nor on λ. They are some 5 to 40. The sum of the :math:`w_k` stays
    zero, and of the matrix the last class is left out. Every p is feasible, so that each step gives a certified gap.

    A step reads the rows some times, and costs :math:`nk^2d^2/2 + (kd)^3/3`.

    References
    ----------
    S. Mehrotra, *On the Implementation of a Primal-Dual Interior Point Method*, SIAM J. Optimization 2, 1992.
    K. Crammer, Y. Singer, *On the Algorithmic Implementation of Multiclass Kernel-based Vector Machines*, JMLR 2,
    2001.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from hinge import Stop, solve
    >>> from hinge.problems import Multiclass
    >>> from hinge.solvers import MulticlassNewton
    >>> X, y = load_wine(return_X_y=True)  # columns of 0.1 to 1000
    >>> problem = Multiclass.from_C(X, y, 1.0, bias_scale=1.0)
    >>> result = solve(problem, MulticlassNewton(), stop=Stop(tol=1e-6))
    >>> result.certificate.gap <= 1e-6, result.n_iter < 20
    (True, True)
    """

    exact_estimate = True
    status_at_end = Status.STALLED
    paper = Paper("On the Implementation of a Primal-Dual Interior Point Method", "Mehrotra", 1992, "section 2")
    solves, instead = Multiclass, "Newton"

    def _limits(self, problem: Multiclass) -> str | None:
        if unknowns(problem) > MOST_DIRECT:
            return (
                f"MulticlassNewton wants few features and classes, not d = {problem.d} and k = {problem.k}; "
                "use MulticlassSDCA."
            )
        return None

    def init(self, problem: Multiclass, seed: int = 0, start: Solution | None = None) -> MulticlassNewtonState:
        n, d, k = problem.n, problem.d, problem.k
        W, p, t = np.zeros((d + 1, k)), np.full((n, k), 1.0 / k), np.ones((n, k))
        t[np.arange(n), problem.labels] = 2.0
        state = MulticlassNewtonState(W, p, t, np.zeros_like(W), W.copy(), p.copy(), np.inf, 0.0, 0, 0)
        if start is None:
            return state
        W[:] = start.w - start.w.mean(axis=1, keepdims=True)
        if start.alpha is not None:
            p[:] = problem.feasible(start.alpha.copy())
        G = _times(problem, W)
        G[np.arange(n), problem.labels] -= 1.0  # all less one
        t[:] = G.max(axis=1, keepdims=True) - G
        state = _judged(problem, state)
        if start.alpha is not None:  # products of μ at least, as far inside as the gap is wide
            mu = (state.primal - state.bound) / k
            t += k * mu
            np.maximum(p, mu / t, out=p)
            p /= p.sum(axis=1, keepdims=True)
        else:
            t += 1.0
        return state

    def advance(self, problem: Multiclass, state: MulticlassNewtonState, n_iter: int) -> MulticlassNewtonState:
        for _ in range(n_iter):
            if state.t == 0:
                state = state._replace(Z=_combined(problem, state.p))
            with np.errstate(all="ignore"):  # what is not finite is seen, and no step
                W, p, t = _stepped(problem, state)
            if all(np.isfinite(part).all() for part in (W, p, t)) and p.min() > 0.0 and t.min() > 0.0:
                state = _judged(problem, state._replace(W=W, p=p, slack=t))
            else:
                state = state._replace(still=STALLED)
            state = state._replace(t=state.t + 1)
        return state

    def solution(self, problem: Multiclass, state: MulticlassNewtonState) -> Solution:
        return Solution(state.best, 0.0, state.alpha)

    def cost(self, problem: Multiclass, state: MulticlassNewtonState | None = None) -> Cost:
        """λW(p) before and after, the matrix, two products for each of two directions; a start."""
        return Cost(cells=8 * problem.matrix.n_cells)

    def pause(self, problem: Multiclass, state: MulticlassNewtonState) -> int:
        return int(state.still < STALLED)

    def estimate(self, problem: Multiclass, state: MulticlassNewtonState) -> float:
        """The gap of the best W and the best p."""
        return problem.relative(state.primal, state.bound) if state.bound > 0.0 else np.inf


def unknowns(problem: Multiclass) -> int:
    """Unknowns of the linear systems."""
    return (problem.k - 1) * (problem.d + 1)


def _times(problem: Multiclass, W: np.ndarray) -> np.ndarray:
    """⟨w_k, x_i⟩ of all rows and classes."""
    return problem.matrix.products(W[:-1]) + problem.bias_scale * W[-1]


def _transposed_times(problem: Multiclass, P: np.ndarray) -> np.ndarray:
    """Σ cᵢ P_ik xᵢ."""
    P = P * np.reshape(problem.share(), (-1, 1))
    return np.vstack([problem.matrix.combinations(P), problem.bias_scale * P.sum(axis=0)])


def _combined(problem: Multiclass, p: np.ndarray) -> np.ndarray:
    """λW(p)."""
    P = -p
    P[np.arange(problem.n), problem.labels] += 1.0
    return _transposed_times(problem, P)


def _judged(problem: Multiclass, state: MulticlassNewtonState) -> MulticlassNewtonState:
    """The state with λW(p), and with W and p as the best answer where they are better."""
    W, p, t = state.W, state.p, state.slack
    right, Z = (np.arange(problem.n), problem.labels), _combined(problem, p)
    primal = 0.5 * problem.lam * float(np.vdot(W, W)) + float(np.sum(problem.share() * (t[right] - t.min(axis=1))))
    mass = p.sum(axis=1) - p[right]
    linear, square = float(np.sum(problem.share() * mass)), float(np.vdot(Z, Z)) / problem.lam
    # As `Multiclass.dual` does.
    scale = min(1.0 / float(mass.max()), linear / square) if min(square, linear) > 0.0 else 0.0
    bound = scale * linear - 0.5 * scale**2 * square
    best = W.copy() if primal < state.primal else state.best
    alpha = p.copy() if bound > state.bound else state.alpha
    lowest, highest = min(primal, state.primal), max(bound, state.bound)
    better = lowest - highest < 0.999 * (state.primal - state.bound)
    still = 0 if better else state.still + 1
    return state._replace(Z=Z, best=best, alpha=alpha, primal=lowest, bound=highest, still=still)


def _stepped(problem: Multiclass, state: MulticlassNewtonState) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W, p and t after a predictor and a corrector."""
    W, p, t = state.W, state.p, state.slack
    q, products, rows = p / t, p * t, np.arange(len(p))
    total, most, residual = q.sum(axis=1, keepdims=True), q.argmax(axis=1), problem.lam * W - state.Z
    solve, mu = _factored(problem, q, total), float(products.mean())

    def moved(wanted: np.ndarray, along: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """The changes of p and t by which p·t changes as is wanted, where G moves `along`."""
        dt = ((wanted / t).sum(axis=1, keepdims=True) + (q * along).sum(axis=1, keepdims=True)) / total - along
        dp = wanted / t - q * dt
        dp[rows, most] = 0.0  # of p, which sums to one, the largest change is known by the others, which are exact
        dp[rows, most] = -dp.sum(axis=1)
        return dp, dt

    def direction(wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        dp, _ = moved(wanted, np.zeros_like(p))
        dW = solve(-(residual + _transposed_times(problem, dp)))
        return (dW, *moved(wanted, _times(problem, dW)))

    def reach(dp: np.ndarray, dt: np.ndarray) -> float:
        return 1.0 / max(float((-dp / p).max()), float((-dt / t).max()), 1e-300)

    _, dp, dt = direction(-products)
    length = min(1.0, reach(dp, dt))
    left = float(((p + length * dp) * (t + length * dt)).mean())
    dW, dp, dt = direction((left / mu) ** 3 * mu - products - dp * dt)
    length = min(1.0, TO_BOUNDARY * reach(dp, dt))
    p = p + length * dp
    return W + length * dW, p / p.sum(axis=1, keepdims=True), t + length * dt


def _factored(problem: Multiclass, q: np.ndarray, total: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """A function that solves the system, by its factor; the matrix is scaled so that its diagonal is one.

    For classes a and b it has -Σ cᵢ q_a q_b/Σq xᵢxᵢᵀ, and what makes such rows sum to zero on its diagonal: so nothing
    cancels. λ belongs to the W that sum to zero.
    """
    m, size, k, lam = problem.d + 1, unknowns(problem), problem.k, problem.lam
    H = np.zeros((k - 1, m, k - 1, m))
    shared = np.sqrt(q * np.reshape(problem.share(), (-1, 1))), np.sqrt(q / total)
    for lo, hi in problem.matrix.row_blocks():
        X = np.full((hi - lo, m), problem.bias_scale)
        X[:, :-1] = problem.matrix.gather_dense(np.arange(lo, hi))
        for a in range(k):
            for b in range(a):
                B = X * (shared[0][lo:hi, a] * shared[1][lo:hi, b])[:, None]
                M = B.T @ B
                H[b, :, b] += M
                if a < k - 1:
                    H[a, :, a] += M
                    H[a, :, b] -= M
    H[np.arange(k - 1), :, np.arange(k - 1)] += lam * np.eye(m)
    H[:, np.arange(m), :, np.arange(m)] -= lam / k
    H = H.reshape(size, size)
    unit = 1.0 / np.sqrt(H.diagonal())
    H *= unit[:, None] * unit
    for ridge in [0.0, *10.0 ** np.arange(-15.0, 5.0)]:  # the first by which the factor does not fail, from rounding on
        L, failed = dpotrf(H + ridge * np.eye(size) if ridge else H, lower=1)
        if not failed:
            break

    def solve(rhs: np.ndarray) -> np.ndarray:
        x = dpotrs(L, rhs[:, :-1].T.ravel() * unit, lower=1)[0] * unit
        dW = np.zeros((m, k))
        dW[:, :-1] = x.reshape(k - 1, m).T
        return dW - dW.mean(axis=1, keepdims=True)

    return solve
