"""The Perceptron with kernels: online, and the batch Perceptron of separable points."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.constraints import Constraints, count
from hinge.problems import Expansion, KernelProblem
from hinge.problems.base import Cost
from hinge.sampling import key_of
from hinge.solvers.ascent.active_rows import shuffle
from hinge.solvers.papers.kernel_rows import KernelRowSolver, combine_rows
from hinge.solvers.papers.sbp import SBP


class KernelPerceptronState(NamedTuple):
    """The last hypothesis, v in signed counts of mistakes and r in responses.

    `u` and `h` are what the sum of all hypotheses lacks of t v and t r.
    """

    v: np.ndarray
    r: np.ndarray
    u: np.ndarray
    h: np.ndarray
    t: int
    key: np.uint64


@dataclass(frozen=True)
class KernelPerceptron(KernelRowSolver[KernelProblem, KernelPerceptronState]):
    """The Perceptron in the space of a kernel; the average of its hypotheses predicts.

    .. math:: w_{t+1} = w_t + [y_i\\langle w_t, \\phi(x_i)\\rangle \\le 0]\\, y_i\\phi(x_i)

    An iteration visits one point, in a random order without replacement (a fresh one each pass). All
    responses are kept, so only a mistake costs: one row of n kernel values. With margin γ on points of norm
    at most R it errs at most :math:`(R/\\gamma)^2` times (Novikoff), and the average of its hypotheses
    inherits the bound on unseen points (Cesa-Bianchi et al. 2004; section 4.4 of the SBP paper).

    Parameters
    ----------
    average : bool
        Convert by averaging all hypotheses (default); else keep the last.
    passes : int
        Passes over the points, after which it is finished.
    batch : bool
        The batch Perceptron of section 3.1: each iteration adds the worst point,
        :math:`\\arg\\min_i y_i\\langle w,\\phi(x_i)\\rangle`, until all margins are positive, which takes at
        most :math:`(R/\\gamma)^2` iterations. It gives the last hypothesis; points that no w separates
        keep it going for ever, so give a limit.

    Notes
    -----
    It minimises no objective: any problem gives it points and labels, and the scale of w means nothing but
    the sign of a prediction. There is no estimate of a gap; what a problem certifies of its answer is true,
    and far from zero.

    References
    ----------
    F. Rosenblatt, 1958; Y. Freund, R. Schapire, *Large Margin Classification Using the Perceptron
    Algorithm*, 1999; N. Cesa-Bianchi, A. Conconi, C. Gentile, *On the Generalization Ability of On-line
    Learning Algorithms*, 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import KernelPerceptron
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0))
    >>> result = solve(problem, KernelPerceptron(), stop=Stop(tol=0, max_iter=10**5))
    >>> result.status.name, result.n_iter
    ('FINISHED', 60)
    """

    average: bool = True
    passes: int = 1
    batch: bool = False

    paper = SBP.paper._replace(place="section 4.4: the online Perceptron; section 3.1: the batch Perceptron")
    constraints = Constraints(passes=count())
    no_bias = "has no bias, as in the papers; use BlockDual, or SBP for a given slack."
    no_weights = "takes no weights; use BlockDual or KernelSDCA."

    solves, instead = KernelProblem, "Perceptron"

    def init(self, problem: KernelProblem, seed: int = 0, start: Expansion | None = None) -> KernelPerceptronState:
        v, r, u, h = np.zeros((4, problem.n))
        return KernelPerceptronState(v, r, u, h, 0, key_of(seed))

    def advance(self, problem: KernelProblem, state: KernelPerceptronState, n_iter: int) -> KernelPerceptronState:
        problem.gram.focus(None)
        return (self._worst_points if self.batch else self._visits)(problem, state, n_iter)

    def _visits(self, problem: KernelProblem, state: KernelPerceptronState, n_iter: int) -> KernelPerceptronState:
        n, t, end = problem.n, state.t, state.t + n_iter
        order, epoch = np.empty(n, np.int64), -1
        while t < end:
            if t // n != epoch:
                epoch = t // n
                shuffle(order, n, state.key, epoch * n)
            last = min(end, (epoch + 1) * n)
            t = epoch * n + _next_mistake(order, t % n, last - epoch * n, problem.y, state.r)
            if t < last:
                self._add(problem, state, int(order[t % n]), t)
                t += 1
        return state._replace(t=t)

    def _worst_points(self, problem: KernelProblem, state: KernelPerceptronState, n_iter: int) -> KernelPerceptronState:
        t = state.t
        for _ in range(n_iter):
            margins = problem.y * state.r
            i = int(margins.argmin())
            if margins[i] > 0.0:
                break
            self._add(problem, state, i, t)
            t += 1
        return state._replace(t=t)

    def _add(self, problem: KernelProblem, state: KernelPerceptronState, i: int, t: int) -> None:
        """Add point i, on which a mistake was made; the t hypotheses before it did not have it."""
        yi = float(problem.y[i])
        row = combine_rows(problem, np.array([i]), np.array([yi]))
        state.v[i] += yi
        state.r[:] += row
        if self.average:
            state.u[i] += t * yi
            state.h[:] += t * row

    def solution(self, problem: KernelProblem, state: KernelPerceptronState) -> Expansion:
        v, r, u, h, t, _ = state
        if not self.average or self.batch or t == 0:
            return Expansion(v.copy(), 0.0, r.copy())
        path = np.abs(v) + np.abs(u) / t  # both parts are rounded
        return Expansion(v - u / t, 0.0, r - h / t, path)

    def estimate(self, problem: KernelProblem, state: KernelPerceptronState) -> float:
        return np.inf

    def pause(self, problem: KernelProblem, state: KernelPerceptronState) -> int:
        pause = super().pause(problem, state)
        if self.batch:
            return 0 if float((problem.y * state.r).min()) > 0.0 else pause
        return max(0, min(pause, self.passes * problem.n - state.t))

    def cost(self, problem: KernelProblem, state: KernelPerceptronState | None = None) -> Cost:
        return Cost(kernel_values=problem.n, a_pass=problem.n)


@compiled
def _next_mistake(order, first, last, y, r):
    """The first place from `first` on whose point is not on its side, or `last`."""
    for p in range(first, last):
        i = order[p]
        if y[i] * r[i] <= 0.0:
            return p
    return last
