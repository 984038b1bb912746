"""The cutting-plane algorithm of SVM-Perf in its one-slack form, a rival of the Pegasos paper."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from hinge.access import add_row, dot, read_row
from hinge.compiled import compiled
from hinge.constraints import Constraints, choice, count
from hinge.problems import Regularized, Solution
from hinge.problems.base import EPS, Cost
from hinge.solvers.base import Paper, Solver

ROUNDING = 4 * EPS  # differences below this fraction of the largest entries count as zero


@compiled
def simplex_minimum(K, b, beta, e):
    """Minimise ½βᵀKβ - bᵀβ over β ≥ 0, Σβ = 1, to rounding, in place and from the given β on; e is the gradient there.

    An active-set method: Newton's step over the weights that are positive, as far as they stay so; where
    the gradient is the same for all of them, the coordinate of least gradient joins.
    """
    scale = np.diag(K).max() + np.abs(b).max()
    tol, settled = ROUNDING * scale, False
    for _ in range(100 + 4 * len(b)):
        on = np.flatnonzero(beta)
        for j in range(len(b)):
            e[j] = -b[j]
        for k in on:
            e += beta[k] * K[k]
        k, least, most = np.argmin(e), e[on].min(), e[on].max()
        joins = settled or most - least <= tol
        if joins:
            if least - e[k] <= tol:
                return
            on = np.append(on, k)
        # The ridge, far above the rounding of K, keeps the step bounded where K is singular.
        p = _newton_step(K, e, on, np.argmax(beta[on]), 1e-13 * scale)
        if joins and p[-1] <= 0.0:
            return  # rounding: the coordinate that joins would leave in the next step
        reach, first = 1.0, -1
        for i in range(len(on)):
            if beta[on[i]] + reach * p[i] <= 0.0 and p[i] < 0.0:
                reach, first = -beta[on[i]] / p[i], i
        settled = first < 0
        for i in range(len(on)):
            beta[on[i]] = 0.0 if i == first else max(0.0, beta[on[i]] + reach * p[i])
        beta /= beta.sum()


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _newton_step(K, e, on, pivot, ridge):
    """The step to the minimum over some coordinates that keeps their sum: the pivot pays for the others."""
    m, r = len(on), on[pivot]
    L, p = np.zeros((m, m)), np.zeros(m)
    for i in range(m):  # a Cholesky factor, and the solution forwards
        if i == pivot:
            continue
        for j in range(i + 1):
            if j != pivot:
                s = K[on[i], on[j]] - K[on[i], r] - K[r, on[j]] + K[r, r]
                for q in range(j):
                    s -= L[i, q] * L[j, q]
                L[i, j] = s / L[j, j] if j < i else np.sqrt(max(s + ridge, ridge))
        s = e[r] - e[on[i]]
        for q in range(i):
            s -= L[i, q] * p[q]
        p[i] = s / L[i, i]
    for i in range(m - 1, -1, -1):  # and backwards
        if i != pivot:
            p[i] /= L[i, i]
            for q in range(i):
                p[q] -= p[i] * L[i, q]
    p[pivot] = 0.0
    p[pivot] = -p.sum()
    return p


# Places of planes: the plane of w = 0, which has no loss; the mean of planes that were dropped; the first of a pass.
FOLDED, FIRST = 1, 2


class CuttingPlaneState(NamedTuple):
    """The planes of the lower model, its minimiser, and the best point that a pass has seen.

    Row k of `planes` is a_k, whose last entry belongs to the constant feature, and `offsets` has b_k; `gram`
    has their inner products, `beta` the weights, `losing` one bit a row and plane, `born` the iteration that
    made it; `folded` is the α of the plane that others were folded into. `primal` is the objective at `best`,
    `dual` the minimum of the model and `slack` its ξ at w; the first `used` places are in use.
    """

    planes: np.ndarray
    offsets: np.ndarray
    gram: np.ndarray
    beta: np.ndarray
    losing: np.ndarray
    born: np.ndarray
    folded: np.ndarray
    w: np.ndarray
    best: np.ndarray
    primal: float
    dual: float
    slack: float
    used: int
    t: int


@dataclass(frozen=True)
class CuttingPlane(Solver[Regularized, CuttingPlaneState]):
    """One plane below the mean hinge loss in each pass over the data, for `Regularized`.

    Algorithm 1 of the paper with one slack ξ for all rows: at :math:`w_t` the most violated of the
    :math:`2^n` constraints takes the rows that lose,

    .. math:: a_t = \\sum_i c_i[y_i\\langle w_t, x_i\\rangle < 1]\\, y_i x_i, \\qquad
              b_t = \\sum_i c_i[y_i\\langle w_t, x_i\\rangle < 1], \\qquad
              \\hat L(w) \\ge b_t - \\langle a_t, w\\rangle ,

    with equality at :math:`w_t`; and the next point minimises the lower model,

    .. math:: w_{t+1} = \\arg\\min_w \\frac\\lambda2\\|w\\|^2
              + \\max_{k\\le t}(b_k - \\langle a_k, w\\rangle)_+ = \\frac1\\lambda\\sum_k\\beta_k a_k, \\qquad
              \\beta = \\arg\\max_{\\beta\\ge0,\\ \\sum_k\\beta_k\\le1} b^\\top\\beta
              - \\frac1{2\\lambda}\\Big\\|\\sum_k\\beta_k a_k\\Big\\|^2 .

    The minimum of the model is the dual :math:`D(\\alpha)` at
    :math:`\\alpha_i = \\sum_k\\beta_k[y_i\\langle w_k, x_i\\rangle < 1]`, which lies in [0, 1], and the
    pass that makes a plane also gives P(w): the duality gap is known after every iteration, at no cost.

    An iteration reads all rows once and costs their nonzeros, md for the products of the new plane with
    the m others, and some steps of an active-set method, each k³/3 for the k planes with a weight. With
    rows of norm R, a gap of ε takes :math:`O(R^2/(\\lambda\\varepsilon^2))` iterations by the paper's
    theorem, and :math:`O(R^2/(\\lambda\\varepsilon))` by the theorem of Teo et al., whatever n is.

    Parameters
    ----------
    capacity : int
        Planes that are kept, at least 2. Memory is taken as they come: d numbers and n bits each.
    output : {"best", "last"}
        The point of least objective among those that a pass has seen (default), of which the gap is
        known, or the minimiser of the model, as in the paper.

    Notes
    -----
    *Differs* from the paper. The quadratic program is solved to rounding, from the last weights on. When all
    places are taken the oldest plane without a weight goes; where every plane has one, the plane of least
    weight is folded into a plane that is their mean (Kiwiel's aggregation), so that the bound does not fall.
    Rows have weights, and there may be a bias, as a constant feature. The paper stops at
    :math:`\\hat L(w_t) \\le \\xi + \\varepsilon`, the gap of the last point; the best is never worse.

    Measured on Adult, penalised bias, to a gap of 1e-3: λ = 1e-2, 1e-3, 1e-4, 1e-5 take 38, 140, 572,
    1,752 passes and 0.08, 0.2, 0.7, 2.9 s; `SDCA` 4, 6, 42, 326 passes and 0.02, 0.03, 0.2, 0.8 s.

    References
    ----------
    T. Joachims, *Training Linear SVMs in Linear Time*, KDD 2006. C. H. Teo, S. V. N. Vishwanathan, A. Smola,
    Q. Le, *Bundle Methods for Regularized Risk Minimization*, 2010. K. Kiwiel, *An aggregate subgradient
    method for nonsmooth convex minimization*, 1983.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import CuttingPlane
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, CuttingPlane(), stop=Stop(tol=1e-2, max_iter=10**6))
    >>> result.certificate.gap <= 1e-2
    True
    """

    capacity: int = 500
    output: Literal["best", "last"] = "best"

    paper = Paper("Training Linear SVMs in Linear Time", "Joachims", 2006, "Algorithm 1")
    exact_estimate = True
    constraints = Constraints(capacity=count(2), output=choice("best", "last"))
    solves, instead = Regularized, "SGD"

    def _limits(self, problem: Regularized) -> str | None:
        if problem.bias == "free":
            return "CuttingPlane has no free bias; use bias='penalized', or SDCA."
        return None

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> CuttingPlaneState:
        size, n, d = FIRST + self.capacity, problem.n, problem.d
        offsets, beta = np.zeros((2, size))
        losing, born = np.zeros((size, -(-n // 8)), np.uint8), np.zeros(size, np.int64)
        model = np.zeros((size, d + 1)), offsets, np.zeros((size, size)), beta, losing, born, np.zeros(n)
        numbers: Any = dict(primal=np.inf, dual=0.0, slack=0.0, used=FIRST, t=0)
        state = CuttingPlaneState(*model, *np.zeros((2, d + 1)), **numbers)
        state.beta[0] = 1.0
        if start is not None and start.alpha is not None:  # any dual point is a plane
            state.folded[:] = np.clip(start.alpha, 0.0, 1.0)
            positive, negative = problem.class_mass(state.folded)
            plane = np.append(problem.combination(state.folded), np.sqrt(problem.constant_sq) * (positive - negative))
            _place(state, FOLDED, plane, positive + negative)
            state = _minimised(state, problem.lam)
        return state

    def advance(self, problem: Regularized, state: CuttingPlaneState, n_iter: int) -> CuttingPlaneState:
        if n_iter == 0:  # compile: the same calls, over no rows
            self._pass(problem, state.w, 0)
            simplex_minimum(state.gram[:1, :1].copy(), state.offsets[:1], np.ones(1), np.ones(1))
        for _ in range(n_iter):
            state = self._iterate(problem, state)
        return state

    def _iterate(self, problem: Regularized, state: CuttingPlaneState) -> CuttingPlaneState:
        lam = problem.lam
        plane, offset, loss, losing = self._pass(problem, state.w, problem.n)
        state = state._replace(t=state.t + 1)
        primal = float(0.5 * lam * (state.w @ state.w) + loss)
        if primal < state.primal:
            state.best[:] = state.w
            state = state._replace(primal=primal)
        largest = max(float(plane @ plane), float(state.gram.diagonal().max())) / lam
        if loss - state.slack <= ROUNDING * (1.0 + largest):
            return state  # the model meets the loss: w is the optimum
        k = _free_place(state)
        state = state._replace(used=max(state.used, k + 1))
        state.losing[k], state.born[k] = losing, state.t
        _place(state, k, plane, offset)
        return _minimised(state, lam)

    def _pass(self, problem: Regularized, w: np.ndarray, n: int) -> tuple[np.ndarray, float, float, np.ndarray]:
        """a and b of the most violated constraint at w, the mean hinge loss, and the rows that lose."""
        plane, losing = np.zeros(problem.d + 1), np.zeros(-(-problem.n // 8), np.uint8)
        mass, loss = _lost(
            problem.matrix.rows, problem.y, problem.weight, np.sqrt(problem.constant_sq), w, n, plane, losing
        )
        plane /= problem.total
        return plane, float(mass / problem.total), float(loss / problem.total), losing

    def solution(self, problem: Regularized, state: CuttingPlaneState) -> Solution:
        d, n = problem.d, problem.n
        alpha = state.beta[FOLDED] * state.folded
        for k in FIRST + np.flatnonzero(state.beta[FIRST:]):
            alpha += state.beta[k] * np.unpackbits(state.losing[k], count=n, bitorder="little")
        x = state.best if self.output == "best" else state.w
        b = float(x[d] * np.sqrt(problem.constant_sq))
        return Solution(x[:d].copy(), b, np.minimum(alpha, 1.0, out=alpha))

    def cost(self, problem: Regularized, state: CuttingPlaneState | None = None) -> Cost:
        return Cost(cells=problem.matrix.n_cells)

    def pause(self, problem: Regularized, state: CuttingPlaneState) -> int:
        return 1

    def estimate(self, problem: Regularized, state: CuttingPlaneState) -> float:
        """The exact gap of the best point."""
        return (state.primal - state.dual) / state.dual if state.dual > 0 else np.inf


@compiled
def _lost(A, y, weight, constant, w, n, plane, losing):
    """Σ s, Σ s(1 - margin) and, in place, Σ s y x and one bit each over the rows with a margin below one."""
    d = len(w) - 1
    bias = constant * w[d]
    mass = signed = loss = 0.0
    for i in range(n):
        s = weight[i] if len(weight) > 1 else weight[0]
        if s == 0.0:
            continue
        row = read_row(A, i)
        yi = np.float64(y[i])
        margin = yi * (dot(A, row, w) + bias)
        if margin < 1.0:
            add_row(A, row, s * yi, plane)
            losing[i >> 3] |= np.uint8(1 << (i & 7))
            mass += s
            signed += s * yi
            loss += s * (1.0 - margin)
    plane[d] += constant * signed
    return mass, loss


def _free_place(state: CuttingPlaneState) -> int:
    """A place for a plane: a new one, the place of the oldest plane without a weight, or of one that is folded."""
    if state.used < len(state.beta):
        return state.used
    idle = FIRST + np.flatnonzero(state.beta[FIRST:] == 0.0)
    if len(idle):
        return int(idle[np.argmin(state.born[idle])])
    k = FIRST + int(np.argmin(state.beta[FIRST:]))
    old, new = float(state.beta[FOLDED]), float(state.beta[k])
    share = new / (old + new)
    bits = np.unpackbits(state.losing[k], count=len(state.folded), bitorder="little")
    state.folded[:] = (1.0 - share) * state.folded + share * bits
    plane = (1.0 - share) * state.planes[FOLDED] + share * state.planes[k]
    _place(state, FOLDED, plane, (1.0 - share) * state.offsets[FOLDED] + share * state.offsets[k])
    state.beta[FOLDED], state.beta[k] = old + new, 0.0
    return k


def _place(state: CuttingPlaneState, k: int, plane: np.ndarray, offset: float) -> None:
    """Put a plane into place k, with its inner products."""
    used = state.used
    state.planes[k], state.offsets[k] = plane, offset
    state.gram[k, :used] = state.gram[:used, k] = state.planes[:used] @ plane


def _minimised(state: CuttingPlaneState, lam: float) -> CuttingPlaneState:
    """With β and w that minimise the model, its minimum and its slack."""
    used = state.used
    b, beta = state.offsets[:used], state.beta[:used]
    e = np.empty(used)
    simplex_minimum(state.gram[:used, :used].copy(), lam * b, beta, e)
    active = np.flatnonzero(beta)
    state.w[:] = beta[active] @ state.planes[active] / lam
    dual = float(b @ beta - 0.5 * lam * (state.w @ state.w))
    return state._replace(dual=dual, slack=float(-e.min() / lam))
