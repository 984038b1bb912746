"""Pegasos with kernels: section 4 of Shalev-Shwartz, Singer and Srebro 2007, with all responses kept."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.constraints import Constraints, count
from hinge.problems import Expansion, KernelProblem, KernelRegularized
from hinge.problems.base import Cost
from hinge.sampling import draw_index, key_of
from hinge.solvers.papers.kernel_rows import KernelRowSolver, combine_rows
from hinge.solvers.papers.pegasos import Pegasos
from hinge.solvers.papers.scaled_vector import TINY


class KernelPegasosState(NamedTuple):
    """w = π v/(λ t k) after t iterations: v in coefficients, `g` its responses, `sq` its squared norm.

    π is the product of all projections, 1 without any; then v holds signed counts of the draws that
    violated. `u` and `h` are what the average lacks of v and g: mean ∝ A v - u, with A = Σ π. `gone_v` and `gone_u` are
    twice the sums of all that a budget has changed: g and h keep the rounding errors of what was there.
    """

    v: np.ndarray
    g: np.ndarray
    u: np.ndarray
    h: np.ndarray
    gone_v: np.ndarray
    gone_u: np.ndarray
    pi: float
    A: float
    sq: float
    t: int
    key: np.uint64


@dataclass(frozen=True)
class KernelPegasos(KernelRowSolver[KernelRegularized, KernelPegasosState]):
    """Stochastic sub-gradient descent with step 1/(λt) in the space of a kernel.

    Draw :math:`A_t` of k points, let :math:`A_t^+` be those with a positive loss,
    :math:`y_i\\langle w_t,\\phi(x_i)\\rangle < 1`, and with :math:`\\eta_t = 1/(\\lambda t)`

    .. math:: w_{t+1} = (1 - \\eta_t\\lambda)\\, w_t + \\frac{\\eta_t}{k}\\sum_{i \\in A_t^+} y_i\\phi(x_i)
              = \\frac{1}{\\lambda t k}\\sum_i N_i y_i\\phi(x_i),

    where :math:`N_i` counts how often point i was drawn and violated its margin. The mean of the iterates
    with weights t is :math:`\\frac{2}{\\lambda k T(T+1)}\\sum_i\\big((T+1)N_i - \\text{times of entry}\\big)
    y_i\\phi(x_i)`: counts again, and no kernel value more.

    All n responses are kept, so only a violator costs: one row of n kernel values, and O(n) sums. The
    certificate costs O(n).

    Parameters
    ----------
    batch_size : int
        k. The rows of a batch are computed together, which is several times faster than one by one.
    projection : bool
        Whether to project on the ball of radius :math:`1/\\sqrt\\lambda`, as Figure 1 does; it helps in the
        first thousand iterations and is level afterwards.
    average : bool
        The mean with weights t (default); else the last iterate, which is much worse at small λ.
    budget : int, optional
        The most support vectors, B; by default any number. When there is one more, that one leaves whose loss changes
        w least, :math:`\\arg\\min_j v_j^2/(K^{-1})_{jj}` with K the kernel matrix of the support vectors, and w is
        projected on the span of the others. The mean is projected alike. It costs
        the rows of all B, which a cache keeps, and :math:`O(B^3 + nB)`. The certificate holds as before, but the gap
        does not go to 0 where the optimum has more support vectors than that, and is often infinite: what is left of a
        projection has both signs, where the dual has one.

    Notes
    -----
    *Differs* from the paper, which recomputes :math:`\\langle w_t,\\phi(x_i)\\rangle` from all support
    vectors in every iteration, projects always, and gives the last iterate. The average ranges over
    :math:`w_2, \\dots, w_{T+1}`.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, *Pegasos: Primal Estimated sub-GrAdient SOlver for SVM*,
    ICML 2007, Figure 1 and section 4. The budget, for which the talk of 2008 asks: Z. Wang, K. Crammer,
    S. Vucetic, *Breaking the Curse of Kernelization: Budgeted Stochastic Gradient Descent for Large-Scale SVM
    Training*, JMLR 13, 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import KernelPegasos
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0))
    >>> result = solve(problem, KernelPegasos(), stop=Stop(tol=0, max_iter=1000))
    >>> bool(((result.solution.responses > 0) == (y == 1)).mean() > 0.9)
    True
    """

    batch_size: int = 1
    projection: bool = False
    average: bool = True
    budget: int | None = None

    paper = Pegasos.paper._replace(place="section 4: using Mercer kernels")
    constraints = Constraints(batch_size=count(), budget=count() | None)
    no_bias = "has no bias, as in the paper; use BlockDual, or SBP."
    no_weights = "takes no weights; use BlockDual or KernelSDCA."

    def _limits(self, problem: KernelProblem) -> str | None:
        reason = super()._limits(problem)
        if reason is None and self.budget is not None:
            most = problem.gram.most_rows - self.batch_size
            if min(self.budget, problem.n) > most:
                return f"The kernel values of {self.budget} support vectors do not fit: use a budget of at most {most}."
        return reason

    def init(self, problem: KernelRegularized, seed: int = 0, start: Expansion | None = None) -> KernelPegasosState:
        v, g, u, h, gone_v, gone_u = np.zeros((6, problem.n))
        return KernelPegasosState(v, g, u, h, gone_v, gone_u, 1.0, 0.0, 0.0, 0, key_of(seed))

    def advance(self, problem: KernelRegularized, state: KernelPegasosState, n_iter: int) -> KernelPegasosState:
        y = problem.y
        rate, radius = problem.lam * self.batch_size, 1.0 / math.sqrt(problem.lam)
        v, g, u, h, gone_v, gone_u, pi, A, sq, t, key = state
        end = t + n_iter
        drawn = np.empty(self.batch_size, np.int64)
        problem.gram.focus(None)
        while True:
            t, A, found = _next_violators(y, g, rate, pi, A, t, end, key, drawn)
            if found == 0:
                break
            plus, times = np.unique(drawn[:found], return_counts=True)
            delta = y[plus] * times / pi
            rows = combine_rows(problem, plus, delta)
            sq += float(2.0 * delta @ g[plus] + delta @ rows[plus])
            v[plus] += delta
            g += rows
            if self.average:
                u[plus] += A * delta
                h += A * rows
            while self.budget is not None and np.count_nonzero(v) > self.budget:
                support, change, j = _least_needed(problem, v)
                row = combine_rows(problem, support, change)
                sq += float(v[j] * (2.0 * change @ g[support] + v[j] * change @ row[support]))
                for coef, responses, gone in ((v, g, gone_v), (u, h, gone_u)):
                    removed = coef[j]
                    coef[support] += removed * change
                    responses += removed * row
                    gone[support] += 2.0 * np.abs(removed * change)
                    coef[j] = 0.0
            t += 1
            norm = pi * math.sqrt(max(sq, 0.0)) / (rate * t)
            if self.projection and norm > radius:
                pi *= radius / norm
                if pi < TINY:  # before the average loses digits
                    u, h, v, g = u - A * v, h - A * g, pi * v, pi * g
                    gone_u, gone_v = gone_u + A * gone_v, pi * gone_v
                    sq, A, pi = sq * pi * pi, 0.0, 1.0
            A += pi
        return KernelPegasosState(v, g, u, h, gone_v, gone_u, pi, A, sq, t, key)

    def solution(self, problem: KernelRegularized, state: KernelPegasosState) -> Expansion:
        v, g, u, h, gone_v, gone_u, pi, A, _, t, _ = state
        rate = problem.lam * self.batch_size * max(t, 1)
        if not self.average:
            return Expansion(pi / rate * v, 0.0, pi / rate * g, pi / rate * (np.abs(v) + gone_v))
        total = rate * (t + 1) / 2.0
        path = (A * (np.abs(v) + gone_v) + np.abs(u) + gone_u) / total  # both parts are rounded
        return Expansion((A * v - u) / total, 0.0, (A * g - h) / total, path)

    def cost(self, problem: KernelRegularized, state: KernelPegasosState | None = None) -> Cost:
        batch, n = self.batch_size, problem.n
        rows = min(batch, n)
        if self.budget is not None:  # for each point that leaves, twice the rows of all support vectors
            rows += 2 * rows * min(self.budget + batch, n)
        return Cost(kernel_values=rows * n, a_pass=max(1, n // batch))


@compiled
def _next_violators(y, g, rate, pi, A, t, end, key, drawn):
    """The iterations done, and A, when the next one has violators, which are left first in `drawn`."""
    n, k = len(y), len(drawn)
    while t < end:
        found = 0
        for j in range(k):
            i = draw_index(key, t * k + j, n)
            if t == 0 or y[i] * g[i] * pi < rate * t:  # y⟨w, φ⟩ < 1
                drawn[found] = i
                found += 1
        if found > 0:
            return t, A, found
        A += pi  # w only shrinks
        t += 1
    return t, A, 0


def _least_needed(problem: KernelRegularized, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """The support vectors, the one that leaves, and what the others get for a coefficient 1 of it, which loses it.

    The projection of φ(x_j) on the span of the others has the coefficients :math:`-(K^{-1})_{ij}/(K^{-1})_{jj}`, and
    its distance from there is :math:`1/\\sqrt{(K^{-1})_{jj}}`.
    """
    support = np.flatnonzero(v)
    K = problem.gram.rows(support).block()
    # Points may be equal, or nearly: any coefficients make a valid step, and these are near the best.
    ridge = np.finfo(K.dtype).eps * max(float(K.diagonal().max()), np.finfo(K.dtype).eps)
    inverse = np.linalg.inv(K.astype(np.float64) + ridge * np.eye(len(K)))
    j = int(np.argmin(v[support] ** 2 / np.maximum(inverse.diagonal(), 1e-300)))
    change = -inverse[:, j] / inverse[j, j]
    return support, change, int(support[j])
