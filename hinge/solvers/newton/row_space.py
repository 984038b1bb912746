"""Few rows of many features: the same problem in the space that the rows span, where each has n coordinates at most."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack, solve_triangular

from hinge.access import Matrix
from hinge.access.matrix import MOST_UNPACKED
from hinge.monitoring import Status
from hinge.problems import Regularized, Solution
from hinge.problems.base import Cost
from hinge.solvers.ascent.sdca import SDCA
from hinge.solvers.base import Solver, gap_of
from hinge.solvers.newton.systems import MOST_DIRECT, pass_cost

DENIED = 4  # certificates that were not good enough, after which what is left is what the coordinates are off


class RowSpaceState(NamedTuple):
    """The coordinates L, the state of the method that works on them, and its answer, gap and place.

    L has no rows before the first iteration. The answer is α and b, and `u`, which are the coordinates of w; of the
    rows in this `order`, L is a lower triangle. `denied` counts certificates that were not good enough, and `over` says
    that the method has ended.
    """

    L: np.ndarray
    order: np.ndarray
    inner: Any
    u: np.ndarray
    alpha: np.ndarray
    b: float
    gap: float
    denied: int
    over: bool
    seed: int
    t: int


@dataclass(frozen=True)
class RowSpace(Solver[Regularized, RowSpaceState]):
    """`Regularized` in coordinates of the rows' span: for a few hundred rows of some thousand features.

    The objective depends on the rows by their inner products alone. With Cholesky's factor

    .. math:: XX^T = LL^T, \\qquad X = LQ, \\quad QQ^T = I,

    the rows of L, of no more than n coordinates, have the same ones: another method finds α and u for them, and
    :math:`w = Q^Tu` is the answer, certified on X:

    .. math:: w = \\sum_i\\Big(\\frac1\\lambda c_i\\alpha_iy_i + \\delta_i\\Big)x_i, \\qquad
              L^T\\delta = u - \\frac1\\lambda\\sum_i c_i\\alpha_iy_iL_i,

    where δ is what the dual of the other method is off. It costs :math:`n^2d/2` once, and from then on a pass over rows
    of length n in place of their cells.

    Rows that depend on each other, as far as rounding can tell, are left out of the factor by pivots, and have
    coordinates by the others.

    An iteration runs the number of epochs of that method that cost a pass over X, or fewer if it expects to have
    reached `tol`.

    Parameters
    ----------
    tol : float
        The gap that is wanted.
    inner : Solver
        Which works on L.

    References
    ----------
    G. Golub, C. Van Loan, *Matrix Computations*, 2013, sections 4.2 and 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.solvers import RowSpace
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 2000))
    >>> problem = Regularized(X, np.sign(X[:, 0]), lam=1e-4)
    >>> result = solve(problem, RowSpace(tol=1e-3), stop=Stop(tol=1e-3, max_iter=1000))
    >>> result.certificate.gap <= 1e-3
    True
    """

    tol: float = 1e-3
    inner: Solver = field(default_factory=lambda: SDCA(acceleration="subspace"))

    any_loss = True
    status_at_end = Status.STALLED
    paper = SDCA.paper._replace(place="talk, slides on stochastic DCA; in coordinates of the rows' span")
    solves, instead = Regularized, "SGD for a norm bound"

    def _limits(self, problem: Regularized) -> str | None:
        if problem.n > MOST_DIRECT or problem.n * problem.d > 4 * MOST_UNPACKED:
            return f"RowSpace forms the inner products of all rows, and {problem.n} are many; use SDCA."
        return self.inner.rejects(problem)

    def init(self, problem: Regularized, seed: int = 0, start: Solution | None = None) -> RowSpaceState:
        alpha, b = np.zeros(problem.n), 0.0
        if start is not None and start.alpha is not None:
            alpha[:], b = start.alpha, start.b
        own = self.inner.init(_with_rows(problem, np.zeros((problem.n, problem.n))), seed)
        none = np.zeros((0, problem.n)), np.zeros(0, np.int64)
        return RowSpaceState(*none, own, np.zeros(0), alpha, b, np.inf, 0, over=False, seed=int(seed), t=0)

    def advance(self, problem: Regularized, state: RowSpaceState, n_iter: int) -> RowSpaceState:
        inner = self.inner
        if n_iter == 0:  # compile
            tiny = _with_rows(problem, np.zeros((problem.n, 1)))
            inner.advance(tiny, inner.init(tiny), 0)
            return state
        L, order = (state.L, state.order) if len(state.L) else coordinates(problem.matrix.inner_products())
        small, own, gap, over = _with_rows(problem, L), state.inner, state.gap, state.over
        if not len(state.L):
            start = Solution(np.zeros(small.d), state.b, state.alpha) if state.alpha.any() else None
            own = inner.init(small, state.seed, start)
        epochs = max(1, int(pass_cost(problem) / pass_cost(small)))
        for _ in range(n_iter):
            for _ in range(epochs):
                pause = inner.pause(small, own)
                if over := pause <= 0:
                    break
                own = inner.advance(small, own, pause)
                gap = float(gap_of(inner.estimate(small, own)))
                if gap <= self.tol:
                    break
        answer: Solution = inner.solution(small, own)
        alpha = np.zeros(problem.n) if answer.alpha is None else answer.alpha
        found = answer.w, alpha, float(answer.b), gap
        return RowSpaceState(L, order, own, *found, state.denied, over, state.seed, state.t + n_iter)

    def solution(self, problem: Regularized, state: RowSpaceState) -> Solution:
        coef, w = state.alpha * problem.y * problem.share() / problem.lam, np.zeros(problem.d)
        if rank := len(state.order):
            off = state.u - _with_rows(problem, state.L).combination(state.alpha) / problem.lam
            triangle = state.L[state.order, :rank]
            coef[state.order] += solve_triangular(triangle, off[:rank], trans="T", lower=True, check_finite=False)
        for lo, hi in problem.blocks():
            problem.matrix.combine(coef[lo:hi], lo, hi, w)
        return Solution(w, state.b, state.alpha)

    def cost(self, problem: Regularized, state: RowSpaceState | None = None) -> Cost:
        """All rows once for their inner products, and once for each w."""
        cells = problem.matrix.n_cells
        return Cost(cells=(2 if state is not None and state.t else 3) * cells, certificate=3 * cells)

    def pause(self, problem: Regularized, state: RowSpaceState) -> int:
        return int(not state.over and state.denied < DENIED)

    def estimate(self, problem: Regularized, state: RowSpaceState) -> float:
        """The gap in the coordinates, which differs from the gap on X by rounding."""
        return state.gap

    def refresh(self, problem: Regularized, state: RowSpaceState) -> RowSpaceState:
        if not len(state.L):
            return state
        own = self.inner.refresh(_with_rows(problem, state.L), state.inner)
        return state._replace(inner=own, gap=np.inf, denied=state.denied + 1)


def coordinates(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L of :math:`LL^T = K`, and linearly independent rows in the order in which L is a lower triangle.

    Columns of L beyond that rank are zero.
    """
    U, failed = lapack.dpotrf(K.T)  # in LAPACK's order of numbers the other triangle, in ours L
    if not failed:
        return np.ascontiguousarray(U.T), np.arange(len(K))
    C, order, rank, _ = lapack.dpstrf(K, lower=1)  # rows depend on each other
    L, C[:, rank:] = np.empty_like(K), 0.0
    L[order - 1] = np.tril(C)
    return L, (order[:rank] - 1).astype(np.int64)


def _with_rows(problem: Regularized, L: np.ndarray) -> Regularized:
    """The problem with L in place of its rows."""
    small = problem.with_rows(Matrix(L, checked=True))
    small.total = problem.total
    return small
