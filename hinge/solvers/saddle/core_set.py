"""Core-sets: the smallest ball of a few of the points, solved exactly, until it encloses all of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.constraints import Constraints, count, number
from hinge.monitoring import Status
from hinge.problems import Certificate
from hinge.problems.base import Cost
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.solvers.base import Paper, Solver
from hinge.solvers.kernel.conjugate_steps import pair_steps


class CoreSetState(NamedTuple):
    """The best centre x and the best weights p with their bounds, and the present weights `q`.

    `work` marks the core-set, `new` is the number of points added last, and `still` the number of passes since a bound
    improved.
    """

    x: np.ndarray
    p: np.ndarray
    q: np.ndarray
    work: np.ndarray
    lower: float
    upper: float
    new: int
    still: int
    t: int


@dataclass(frozen=True)
class CoreSet(Solver[EnclosingBall, CoreSetState]):
    """The smallest enclosing ball, by exact balls of a small set W to which the farthest points are added.

    Begin with the points farthest from the mean of a few rows. Then

    .. math:: p = \\arg\\max_{p \\in \\Delta_W} \\sum_i p_i\\|a_i\\|^2 - \\Big\\|\\sum_i p_i a_i\\Big\\|^2,
              \\qquad x = \\sum_{i \\in W} p_i a_i, \\qquad D_i = \\|a_i - x\\|^2 \\text{ for all } i,

    and W becomes the points with :math:`p_i > 0` and the farthest of those outside with :math:`D_i > \\sum_i p_i D_i`;
    the number of added points grows by half with each pass. The problem on W is solved by pair steps on its inner
    products, to a fraction of the present gap.

    :math:`\\sum_i p_i D_i \\le R^2 \\le \\max_i D_i`, in float64, so every pass is a certificate too. The
    lower bound never falls; the best x and p are kept. An iteration is one pass over the data and O(|W|² d)
    arithmetic. Three to six passes reached a relative gap of 10⁻³ in R² on the data tried.

    Parameters
    ----------
    first : int
        Points of the first core-set.
    most : int
        Upper limit of the points added in one pass.
    inner : float
        The small problem is solved to this fraction of the gap.

    References
    ----------
    M. Bădoiu, K. L. Clarkson, *Smaller core-sets for balls*, SODA 2003, of which this takes many points at a
    time; P. Kumar, J. S. B. Mitchell, E. A. Yıldırım, *Approximate minimum enclosing balls in high
    dimensions using core-sets*, 2003.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> from hinge.solvers import CoreSet
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> ball = hinge.enclosing_ball(X, eps=1e-3, method=CoreSet())
    >>> bool(np.linalg.norm(X - ball.center, axis=1).max() <= ball.radius[1] * (1 + 1e-9))
    True
    """

    first: int = 64
    most: int = 512
    inner: float = 0.02

    paper = Paper("Smaller core-sets for balls", "Bădoiu, Clarkson", 2003, "many farthest points at a time")
    exact_estimate = True
    reads = "cells"
    status_at_end = Status.STALLED
    constraints = Constraints(first=count(), most=count(), inner=number(above=0, below=1))
    solves = EnclosingBall

    def init(self, problem: EnclosingBall, seed: int = 0, start: Strategies | None = None) -> CoreSetState:
        q = np.zeros(problem.n)
        if start is not None and start.p is not None:
            q = np.maximum(start.p, 0.0) / np.maximum(start.p, 0.0).sum()
        return CoreSetState(np.zeros(problem.d), q.copy(), q, np.zeros(problem.n, bool), -np.inf, 0.0, self.first, 0, 0)

    def advance(self, problem: EnclosingBall, state: CoreSetState, n_iter: int) -> CoreSetState:
        for _ in range(n_iter):
            state = self._pass(problem, self._begin(problem, state) if state.t == 0 else state)
        return state

    def _begin(self, problem: EnclosingBall, state: CoreSetState) -> CoreSetState:
        """The mean of a few rows is the first centre, and the points farthest from it are the first core-set."""
        D = problem.from_centre
        state.x[:] = problem.centre
        far = float(D.max())
        farthest = _largest(D, np.arange(problem.n), self.first)
        if not state.q.any():
            state.q[farthest[0]] = 1.0
            state.p[:] = state.q
        state.work[:] = state.q > 0
        state.work[farthest] = True
        return state._replace(lower=-far - problem.value_error(problem.centre, -far))

    def _pass(self, problem: EnclosingBall, state: CoreSetState) -> CoreSetState:
        lower, upper = state.lower, state.upper
        rows = np.flatnonzero(state.work)
        kept = problem.gather(rows)
        exact = problem.gap(lower, upper) <= 1e-4  # before that, float32 data is multiplied in float32
        q = _small_ball(problem.inner(kept, exact), state.q[rows], self.inner * (upper - lower))
        x = np.zeros(problem.d)
        kept.combine(q, 0, len(rows), x)
        D = -problem.values(x)
        state.q[:] = 0.0
        state.q[rows] = q
        mean = problem.variance(kept, q, x, D[rows])
        far = float(D.max()) + problem.value_error(x, -float(D.max()))
        still = state.still + 1
        if -far > lower:
            state.x[:], lower, still = x, -far, 0
        if -mean < upper:
            state.p[:], upper, still = state.q, -mean, 0
        outside = np.flatnonzero(~state.work & (mean < D))
        state.work[:] = state.q > 0
        new = min(self.most, state.new + (state.new + 1) // 2)
        state.work[_largest(D, outside, new)] = True
        return state._replace(lower=lower, upper=upper, new=new, still=still, t=state.t + 1)

    # --- answers --------------------------------------------------------------------------

    def solution(self, problem: EnclosingBall, state: CoreSetState) -> Strategies:
        return Strategies(state.x, state.p)

    # --- what the driver asks -------------------------------------------------------------

    def estimate(self, problem: EnclosingBall, state: CoreSetState) -> Certificate:
        """The certificate of the passes so far, which were exact; before the first nothing is known."""
        if state.t == 0:
            return Certificate(-np.inf, np.inf, np.inf)
        return problem.certified(state.lower, state.upper)

    def pause(self, problem: EnclosingBall, state: CoreSetState) -> int:
        # After four passes without a better bound, floating point allows no better one.
        return 0 if state.still >= 4 or state.upper <= state.lower else 1

    def cost(self, problem: EnclosingBall, state: CoreSetState | None = None) -> Cost:
        passes = 2 * problem.pass_cells
        return Cost(cells=passes, setup=passes, certificate=0)


def _largest(D: np.ndarray, among: np.ndarray, k: int) -> np.ndarray:
    """The k indices in `among` with the largest D, in descending order; ties by index."""
    if len(among) > k:
        cut = np.partition(D[among], len(among) - k)[len(among) - k]
        among = among[D[among] >= cut]
    return among[np.argsort(-D[among], kind="stable")[:k]]


def _small_ball(G: np.ndarray, q: np.ndarray, tol: float) -> np.ndarray:
    """Weights of the smallest enclosing ball of points with the inner products G, starting from the weights q."""
    size = float(np.diagonal(G).max()) or 1.0
    q = q / q.sum()
    K = (2.0 / size) * G  # scaled to about 1, since `pair_steps` treats squared distances below 1e-12 as zero
    e = K @ q - 0.5 * np.diagonal(K)
    bound = np.ones(len(q))
    tol = max(tol / size, 1e-14)  # relative to the largest squared norm, and above its rounding
    pair_steps(K, q, e, 0.0 * bound, bound, tol, 1000 + 200 * len(q), 0.0, len(q), True)
    return q / q.sum()
