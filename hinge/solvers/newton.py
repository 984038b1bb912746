"""Newton's method on the smoothed hinge over growing subsamples, for many rows and few features."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from hinge.access import add_outer, add_row, dot, read_row
from hinge.problems import Regularized, Solution
from hinge.solvers.base import Paper, Solver

BLOCK_ROWS = 64  # rows are sampled in blocks of neighbours, which memory likes
GROWTH = 4
SMALLEST = 20  # rows per feature on the first level
LEAVE = 0.2  # a level is left when Newton promises a decrease below this share of the smoothing error

# Places in the state's two arrays of scalars.
MU, SLOPE, GAP, DISTANCE, DUAL = range(5)
T, LEVEL, KNOWN, NEXT = range(4)


class NewtonState(NamedTuple):
    """The point and the next direction, the margins along both, the dual, and the level.

    `x` and `p` have the bias as their last entry; `m` and `q` are yᵢ⟨x, (xᵢ, 1)⟩ and yᵢ⟨p, (xᵢ, 1)⟩, and
    `alpha` the dual, all in the order of `rows`. `scalars`: the width μ, gᵀp, and of the last look the
    row-wise gap, ‖∇F‖²/(2λ) and the dual objective. `counters`: iterations, rows in use, rows whose
    margin is known, and whether the next iteration begins a new stage.
    """

    x: np.ndarray
    p: np.ndarray
    m: np.ndarray
    q: np.ndarray
    alpha: np.ndarray
    z: np.ndarray
    rows: np.ndarray
    scalars: np.ndarray
    counters: np.ndarray

    @property
    def t(self) -> int:
        """Iterations run so far."""
        return int(self.counters[T])


@dataclass(frozen=True)
class Newton(Solver[Regularized, NewtonState]):
    """Newton steps on `Regularized` with a smoothed hinge, for n ≫ d.

    With :math:`e_i = 1 - y_i(\\langle w, x_i\\rangle + b)` the hinge becomes a parabola where
    :math:`|e| < \\mu/2`, and its slope there is the dual:

    .. math:: \\ell_\\mu(e) = \\tfrac1{2\\mu}(e + \\tfrac\\mu2)^2,\\qquad
              \\alpha_i = \\Pi_{[0,1]}\\big(\\tfrac12 + e_i/\\mu\\big),\\qquad
              \\nabla F = \\lambda w - \\sum_i c_i\\alpha_i y_i x_i,\\qquad
              \\nabla^2 F = \\lambda I + \\frac1\\mu\\sum_{0<\\alpha_i<1} c_i x_i x_i^T .

    An iteration reads the rows of the present level once and costs their nonzeros, plus d² for each
    row on the parabola, plus d³/3. Levels grow fourfold; each is left when the remaining decrease is
    small against the error of smoothing. On the last level μ shrinks until the certificate holds.
    The slopes are a feasible dual, and the duality gap splits exactly into two parts that one look
    gives for free:

    .. math:: P(w) - D(\\alpha) = \\sum_i c_i\\big(\\ell(e_i) - \\alpha_i e_i\\big)
              + \\frac{\\|\\nabla F\\|^2}{2\\lambda} .

    Parameters
    ----------
    width : float
        μ on the last level before it shrinks.
    shrink : float
        Factor by which μ shrinks.

    References
    ----------
    The smoothed hinge and its use as a dual: Y. Nesterov, *Smooth minimization of non-smooth functions*,
    2005. Newton in the primal: O. Chapelle, *Training a Support Vector Machine in the Primal*, 2007.
    """

    width: float = 0.1
    shrink: float = 0.4

    paper = Paper("Training a Support Vector Machine in the Primal", "Chapelle", 2007, "with smoothing and subsamples")

    def __post_init__(self) -> None:
        if not (self.width > 0 and 0 < self.shrink < 1):
            raise ValueError("width must be positive and shrink between 0 and 1.")

    def rejects(self, problem: Any) -> str | None:
        if not isinstance(problem, Regularized):
            return f"Newton solves Regularized problems, not {type(problem).__name__}; use SGD for a norm bound."
        if problem.d > 2000:
            return f"Newton keeps a d x d matrix, too large for d = {problem.d}; use SDCA."
        return None

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> NewtonState:
        n, d = problem.n, problem.d
        x, level, mu = np.zeros(d + 1), n, self.width
        if start is None:
            # From w = 0 every row has e = 1: only a width above 2 puts them on the parabola.
            while mu <= 2.0:
                mu /= self.shrink
            while level > GROWTH * SMALLEST * (d + 1):
                level = -(-level // GROWTH)
        else:
            x[:d], x[d] = start.w, start.b
        return NewtonState(
            x, np.zeros(d + 1), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(d + 1),
            _shuffled_blocks(n, seed),
            np.array([mu, 0.0, np.inf, np.inf, 0.0]), np.array([0, level, 0, 0]),
        )  # fmt: skip

    def advance(self, problem: Regularized, state: NewtonState, n_iter: int) -> NewtonState:
        for _ in range(n_iter):
            self._iterate(problem, state)
        return state

    def _iterate(self, problem: Regularized, state: NewtonState) -> None:
        x, p, m, q, _, _, rows, s, counters = state
        A, y, n = problem.matrix.rows, problem.y, problem.n
        if counters[NEXT]:
            at_end = counters[LEVEL] == n and s[MU] <= self.width * 1.01
            s[MU] *= self.shrink if at_end or s[MU] > self.width * 1.01 else 1.0
            counters[LEVEL] = min(n, counters[LEVEL] * GROWTH)
        if counters[KNOWN] < counters[LEVEL]:
            _along(A, rows, y, x, counters[KNOWN], counters[LEVEL], m)
            counters[KNOWN] = counters[LEVEL]
        if counters[NEXT] or counters[T] == 0:
            self._look(problem, state)
        level = int(counters[LEVEL])
        _along(A, rows, y, p, 0, level, q)
        penalty = self._penalty(problem)
        tau = _search(
            rows[:level], problem.weight, m, q, s[MU], float(penalty @ (x * p)), float(penalty @ (p * p))
        )
        x += tau * p
        m[:level] += tau * q[:level]
        self._look(problem, state)
        counters[T] += 1
        if level == n and s[MU] <= self.width * 1.01:
            counters[NEXT] = s[DISTANCE] <= s[GAP]
        else:
            counters[NEXT] = -s[SLOPE] <= LEAVE * s[GAP]

    def _look(self, problem: Regularized, state: NewtonState) -> None:
        """The dual, the parts of the gap and the next direction at x, from the margins there."""
        x, p, m, _, alpha, z, rows, s, counters = state
        d, level, penalty = problem.d, int(counters[LEVEL]), self._penalty(problem)
        H = np.zeros((d + 1, d + 1))
        mass, gap, linear = _slopes(
            problem.matrix.rows, rows[:level], problem.y, problem.weight, m, s[MU], alpha, z, H
        )
        g = penalty * x - z / mass
        H /= s[MU] * mass
        H[np.diag_indices(d + 1)] += penalty
        if problem.bias == "none":
            g[d], H[d, :], H[d, d] = 0.0, 0.0, 1.0
        p[:] = -_solved(H, g)
        paid = penalty > 0
        s[SLOPE], s[GAP] = float(g @ p), gap / mass
        s[DISTANCE] = 0.5 * float((g[paid] ** 2 / penalty[paid]).sum())
        s[DUAL] = linear / mass - 0.5 * float(((z[paid] / mass) ** 2 / penalty[paid]).sum())

    def _penalty(self, problem: Regularized) -> np.ndarray:
        penalty = np.full(problem.d + 1, problem.lam)
        penalty[-1] = problem.lam / problem.bias_scale**2 if problem.bias == "penalized" else 0.0
        return penalty

    def solution(self, problem: Regularized, state: NewtonState) -> Solution:
        d = problem.d
        b = 0.0 if problem.bias == "none" else float(state.x[d])
        alpha = np.empty(problem.n)
        alpha[state.rows] = state.alpha
        return Solution(state.x[:d].copy(), b, alpha, state.z[:d] / problem.total)

    def per_pass(self, problem: Regularized) -> int:
        return 1

    def max_reads(self, problem: Regularized) -> int:
        return problem.matrix.n_cells

    def pause(self, problem: Regularized, state: NewtonState) -> int:
        return 1

    def estimate(self, problem: Regularized, state: NewtonState) -> float:
        """The exact gap of the last look, once it saw all rows (but for the bias constraint)."""
        if state.counters[LEVEL] < problem.n or state.scalars[DUAL] <= 0:
            return np.inf
        return float((state.scalars[GAP] + state.scalars[DISTANCE]) / state.scalars[DUAL])

    def refresh(self, problem: Regularized, state: NewtonState) -> NewtonState:
        state.counters[NEXT] = 1
        return state


def _solved(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H⁻¹g from the lower triangle; a ridge where rounding or an idle bias made H singular."""
    ridge = 0.0
    while True:
        try:
            return cho_solve(cho_factor(H + ridge * np.eye(len(g)), lower=True), g)
        except LinAlgError:
            ridge = max(10 * ridge, 1e-12 * float(np.trace(H)))


def _shuffled_blocks(n: int, seed: int) -> np.ndarray:
    """All rows, blocks of neighbours in random order: any prefix is a sample."""
    order = np.random.default_rng(seed).permutation(-(-n // BLOCK_ROWS)).astype(np.uint32)
    rows = (order[:, None] * np.uint32(BLOCK_ROWS) + np.arange(BLOCK_ROWS, dtype=np.uint32)).ravel()
    return rows[rows < n]


@njit(cache=True)
def _clip(a):
    """a to [0, 1]; unlike min and max, which look for NaN, this compiles to vector selects."""
    a = a if a > 0.0 else 0.0
    return a if a < 1.0 else 1.0


@njit(cache=True, error_model="numpy", nogil=True)
def _along(A, rows, y, p, lo, hi, q):
    """q ← yᵢ⟨p, (xᵢ, 1)⟩ for rows lo to hi of the list."""
    d = len(p) - 1
    w, b = p[:d], p[d]
    for k in range(lo, hi):
        i = rows[k]
        q[k] = y[i] * (dot(A, read_row(A, i), w) + b)


@njit(cache=True, error_model="numpy", nogil=True)
def _slopes(A, rows, y, weight, m, mu, alpha, z, H):
    """The dual at margins m; z follows the rows whose α changed, H gets the rows on the parabola."""
    d = len(z) - 1
    mass = gap = linear = 0.0
    sharpness = 1.0 / mu
    for k in range(len(rows)):
        i = rows[k]
        s = weight[i] if len(weight) > 1 else 1.0
        e = 1.0 - m[k]
        a = _clip(0.5 + e * sharpness)
        mass += s
        linear += s * a
        on_parabola = 0.0 < a < 1.0
        if a != alpha[k] or on_parabola:
            row = read_row(A, i)
            step = s * (a - alpha[k]) * y[i]
            add_row(A, row, step, z)
            z[d] += step
            alpha[k] = a
            if on_parabola:
                gap += s * (max(0.0, e) - a * e)
                add_outer(A, row, s, H)
                add_row(A, row, s, H[d, :d])
                H[d, d] += s
    return mass, gap, linear


@njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _search(rows, weight, m, q, mu, first, second):
    """The minimum of F along the direction: Newton on its slope, kept within a bracket."""
    tau, lo, hi, start = 0.0, 0.0, np.inf, 0.0
    n, weighted, sharpness = len(rows), len(weight) > 1, 1.0 / mu
    mass = weight[rows].sum() if weighted else np.float64(n)
    for trial in range(30):
        slope = curvature = 0.0
        if weighted:
            for k in range(n):
                a = 0.5 + (1.0 - m[k] - tau * q[k]) * sharpness
                c = _clip(a)
                sq = weight[rows[k]] * q[k]
                slope -= c * sq
                curvature += sq * q[k] if c == a else 0.0
        else:  # the same without the lookup, which would keep it from using vector instructions
            for k in range(n):
                a = 0.5 + (1.0 - m[k] - tau * q[k]) * sharpness
                c = _clip(a)
                slope -= c * q[k]
                curvature += q[k] * q[k] if c == a else 0.0
        slope = first + tau * second + slope / mass
        curvature = second + curvature / (mu * mass)
        if trial == 0:
            start = slope
        if abs(slope) <= 0.05 * abs(start):
            break
        lo, hi = (tau, hi) if slope < 0.0 else (lo, tau)
        tau -= slope / curvature if curvature > 0.0 else 0.0
        if not lo < tau < hi:
            tau = 0.5 * (lo + hi) if hi < np.inf else 2.0 * lo + 1.0
    return tau
