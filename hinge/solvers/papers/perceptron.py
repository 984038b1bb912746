"""The online Perceptron with online-to-batch conversion."""

from dataclasses import dataclass

import numpy as np

from hinge.access import dot, read_row
from hinge.compiled import compiled
from hinge.constraints import Constraints, count
from hinge.problems import LinearProblem, Solution
from hinge.sampling import draw_index
from hinge.solvers.base import Paper
from hinge.solvers.papers.scaled_vector import OneRow, OneRowState, accumulate, add


@dataclass(frozen=True)
class Perceptron(OneRow[LinearProblem]):
    """One pass of the Perceptron; the average of its hypotheses predicts.

    .. math:: w_{t+1} = w_t + [y_i\\langle w_t, x_i\\rangle \\le 0]\\, y_i x_i

    An iteration reads one row, in a random order without replacement (a fresh one each pass). With
    margin γ on the rows of norm at most R it errs at most :math:`(R/\\gamma)^2` times (Novikoff), and
    the average of its hypotheses inherits the bound on unseen rows (Cesa-Bianchi et al. 2004).

    Parameters
    ----------
    average : bool
        Convert by averaging all hypotheses (default); else keep the last.
    passes : int
        Passes over the data, after which it is finished.

    Notes
    -----
    It minimises no objective: any problem gives it rows and labels, and the scale of w means nothing
    but the sign of a prediction, so there is no certificate.

    References
    ----------
    F. Rosenblatt, 1958; N. Cesa-Bianchi, A. Conconi, C. Gentile, *On the Generalization Ability of
    On-line Learning Algorithms*, 2004.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import Perceptron
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, Perceptron(), stop=Stop(tol=0, max_iter=10**6))
    >>> result.status.name, result.n_iter
    ('FINISHED', 200)
    """

    average: bool = True
    passes: int = 1

    paper = Paper(
        "On the generalization ability of on-line learning algorithms",
        "Cesa-Bianchi, Conconi, Gentile",
        2004,
        "section 1 of Pegasos, 5 of SBP",
    )
    constraints = Constraints(passes=count())

    def steps(self, problem: LinearProblem, state: OneRowState, n_iter: int) -> None:
        _perceptron(problem.matrix.rows, problem.y, self.average, n_iter, *state)

    def pause(self, problem: LinearProblem, state: OneRowState) -> int:
        return max(0, min(super().pause(problem, state), self.passes * problem.n - state.t))

    def estimate(self, problem: LinearProblem, state: OneRowState) -> float:
        return np.inf

    def solution(self, problem: LinearProblem, state: OneRowState) -> Solution:
        return super().solution(problem, state)._replace(alpha=None)


@compiled
def _perceptron(A, y, average, n_iter, z, t0, key):
    n = len(y)
    order = np.empty(0, np.int64)
    for t in range(t0, t0 + n_iter):
        if len(order) == 0 or t % n == 0:
            order = _order(key, t // n, n)
        i = order[t % n]
        row = read_row(A, i)
        yi = np.float64(y[i])
        response = dot(A, row, z.v)
        if yi * response <= 0.0:
            add(A, row, z, i, 1.0, yi, 0.0, response, 0.0)
        if average:
            accumulate(z, 1.0)


@compiled
def _order(key, epoch, n):
    """The order of one pass, drawn from the stream: the same whenever it is asked for."""
    order = np.arange(n)
    for k in range(n - 1, 0, -1):
        j = draw_index(key, epoch * n + k, k + 1)
        order[k], order[j] = order[j], order[k]
    return order
