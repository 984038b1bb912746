"""Sequential minimal optimisation, with working pairs chosen by second-order information."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.problems import Expansion, KernelRegularized
from hinge.problems.base import Cost
from hinge.solvers.base import Paper
from hinge.solvers.kernel.conjugate_steps import TINY
from hinge.solvers.papers.kernel_rows import DualRowSolver, combine_rows


class SMOState(NamedTuple):
    """β, its responses r, how far each β has moved; the violation before the last step, gap and bias."""

    beta: np.ndarray
    r: np.ndarray
    path: np.ndarray
    violation: float
    gap: float
    b: float
    t: int


@dataclass(frozen=True)
class SMO(DualRowSolver[SMOState]):
    """Dual ascent over the pair of points that promises most: the method of LIBSVM.

    With :math:`w = \\sum_i\\beta_i\\phi(x_i)`, :math:`e = K\\beta - y` and the box
    :math:`lo_i \\le \\beta_i \\le hi_i`, which is :math:`0 \\le y_i\\beta_i \\le c_i/\\lambda`, an iteration
    chooses

    .. math:: i = \\arg\\min_{\\beta_i < hi_i} e_i, \\qquad
              j = \\arg\\max_{\\beta_j > lo_j,\\ e_j > e_i}\\ \\frac{(e_j - e_i)^2}{K_{ii} + K_{jj} - 2K_{ij}}

    (WSS 3 of Fan, Chen and Lin) and moves :math:`\\beta_i` up and :math:`\\beta_j` down by the same amount,
    as far as the dual grows and the box allows, so that :math:`\\sum_i\\beta_i = 0` remains. Without a bias
    it moves the one coordinate with the largest :math:`e_i^2/K_{ii}`.

    An iteration costs the kernel rows of its one or two points, where the cache lacks them, and O(n). It
    converges linearly in the end, but is of little use before it has visited about every support vector
    (section 4.3 of the SBP paper). The gap is exact: O(n), sixteen times in n iterations.

    Notes
    -----
    *Differs* from LIBSVM: no shrinking; the bias is the minimiser of the objective instead of a mean over
    free support vectors; and it stops by the duality gap instead of the violation :math:`e_j - e_i`.

    References
    ----------
    R.-E. Fan, P.-H. Chen, C.-J. Lin, *Working Set Selection Using Second Order Information for Training
    Support Vector Machines*, JMLR 2005; J. Platt, *Fast Training of Support Vector Machines Using
    Sequential Minimal Optimization*, 1998.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import SMO
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0))
    >>> result = solve(problem, SMO(), stop=Stop(tol=1e-3, max_iter=10**5))
    >>> bool(result.certificate.gap <= 1e-3)
    True
    """

    paper = Paper(
        "Working Set Selection Using Second Order Information for Training Support Vector Machines",
        "Fan, Chen, Lin",
        2005,
        "WSS 3 and algorithm 1",
    )

    def init(self, problem: KernelRegularized, seed: int = 0, start: Expansion | None = None) -> SMOState:
        beta, r, path = np.zeros((3, problem.n))
        state = SMOState(beta, r, path, np.inf, np.inf, 0.0, 0)
        return self._measured(problem, state)

    def advance(self, problem: KernelRegularized, state: SMOState, n_iter: int) -> SMOState:
        lo, hi = problem.limits
        step = self._pair if problem.bias == "free" else self._single
        problem.gram.focus(None)
        for _ in range(n_iter):
            if state.violation <= TINY:
                break
            violation = step(problem, state, lo, hi)
            state = state._replace(violation=violation, t=state.t + (violation > TINY))
            if state.t % self.stride(problem) == 0 or violation <= TINY:
                state = self._measured(problem, state)
        return state

    def _pair(self, problem: KernelRegularized, state: SMOState, lo: np.ndarray, hi: np.ndarray) -> float:
        """One iteration on two points; returns the violation that it found."""
        beta, r, diag, y = state.beta, state.r, problem.gram.diag, problem.y
        i, least = _lowest(y, beta, r, hi)
        if i < 0:
            return 0.0
        row = combine_rows(problem, np.array([i]), np.ones(1))
        j, violation = _partner(y, beta, r, lo, row, diag, i, least)
        if violation > TINY:
            other = combine_rows(problem, np.array([j]), np.ones(1))
            curve = max(diag[i] + diag[j] - 2.0 * row[j], TINY)
            d = min((r[j] - y[j] - least) / curve, hi[i] - beta[i], beta[j] - lo[j])
            # At a bound exactly: a coordinate can move if it differs from its bound.
            beta[i] = hi[i] if d == hi[i] - beta[i] else beta[i] + d
            beta[j] = lo[j] if d == beta[j] - lo[j] else beta[j] - d
            state.path[[i, j]] += d
            r += d * (row - other)
        return float(violation)

    def _single(self, problem: KernelRegularized, state: SMOState, lo: np.ndarray, hi: np.ndarray) -> float:
        """One iteration on one point; returns the violation that it found."""
        beta, r, diag, y = state.beta, state.r, problem.gram.diag, problem.y
        i, violation = _steepest(y, beta, r, lo, hi, diag)
        if violation > TINY:
            old = beta[i]
            beta[i] = min(max(old - (r[i] - y[i]) / max(diag[i], TINY), lo[i]), hi[i])
            state.path[i] += abs(beta[i] - old)
            r += (beta[i] - old) * combine_rows(problem, np.array([i]), np.ones(1))
        return float(violation)

    def _measured(self, problem: KernelRegularized, state: SMOState) -> SMOState:
        certificate = problem.certificate(self.solution(problem, state))
        return state._replace(gap=float(certificate.unrounded), b=float(certificate.b))

    def solution(self, problem: KernelRegularized, state: SMOState) -> Expansion:
        b = problem.best_bias(state.r) if problem.bias == "free" else 0.0
        return Expansion(state.beta, b, state.r, state.path, 2 * state.t)

    def pause(self, problem: KernelRegularized, state: SMOState) -> int:
        return 0 if state.violation <= TINY else super().pause(problem, state)

    def cost(self, problem: KernelRegularized, state: SMOState | None = None) -> Cost:
        rows = 2 if problem.bias == "free" else 1
        values = (rows + problem.gram.by_value) * problem.n  # the diagonal too, where values are expensive
        return Cost(kernel_values=values, a_pass=max(1, problem.n // rows))


@compiled
def _lowest(y, beta, r, hi):
    """The i that can grow and has the least e, and that e."""
    i, least = -1, np.inf
    for k in range(len(y)):
        if beta[k] < hi[k] and r[k] - y[k] < least:
            i, least = k, r[k] - y[k]
    return i, least


@compiled
def _partner(y, beta, r, lo, row, diag, i, least):
    """The j that can fall and gains most with i; the largest violation of any pair with i."""
    j, best, largest = -1, 0.0, least
    for k in range(len(y)):
        if beta[k] > lo[k]:
            rise = r[k] - y[k] - least
            largest = max(largest, r[k] - y[k])
            if rise > 0.0:
                gain = rise * rise / max(diag[i] + diag[k] - 2.0 * row[k], TINY)
                if gain > best:
                    j, best = k, gain
    return j, largest - least


@compiled
def _steepest(y, beta, r, lo, hi, diag):
    """The i that gains most by itself, and the largest violation."""
    i, best, violation = -1, 0.0, 0.0
    for k in range(len(y)):
        e = r[k] - y[k]
        if (e < 0.0 and beta[k] < hi[k]) or (e > 0.0 and beta[k] > lo[k]):
            violation = max(violation, abs(e))
            gain = e * e / max(diag[k], TINY)
            if gain > best:
                i, best = k, gain
    return i, violation
