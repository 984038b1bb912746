"""Norma: online sub-gradient descent with steps p/(λ√t), the first rival of the Pegasos paper."""

from dataclasses import dataclass

import numpy as np

from hinge.constraints import Constraints, number
from hinge.problems import Regularized
from hinge.solvers.base import Paper
from hinge.solvers.papers.scaled_vector import OneRow, OneRowState, subgradient_steps


@dataclass(frozen=True)
class Norma(OneRow[Regularized]):
    """Sub-gradient steps of size :math:`\\eta_t = p/(\\lambda\\sqrt t)` on `Regularized`.

    .. math:: w_{t+1} = (1 - \\eta_t\\lambda) w_t + \\eta_t [y_i\\langle w_t, x_i\\rangle < 1]\\, y_i x_i

    An iteration reads one row. Theorem 4 of the paper: :math:`O(1/(\\lambda\\sqrt T))`.

    Parameters
    ----------
    average : bool
        Return the uniform average instead of the last iterate.
    p : float
        Scale of the steps, between 0 and 1; 0.71 is the best in the theorem's bound for large T.
    projection : bool
        Project on the ball of radius :math:`1/\\sqrt\\lambda`, which the Pegasos paper tried and found
        to help.

    References
    ----------
    J. Kivinen, A. Smola, R. Williamson, *Online Learning with Kernels*, 2002.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import Norma
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, Norma(), stop=Stop(tol=0, max_iter=5000))
    >>> bool(result.solution.w @ made.w_star > 0), result.status.name
    (True, 'MAX_ITER')
    """

    p: float = 0.71
    projection: bool = False

    paper = Paper("Online Learning with Kernels", "Kivinen, Smola, Williamson", 2002, "section 5 of Pegasos")
    constraints = Constraints(p=number(above=0))

    solves, kind, instead = Regularized, "Regularized", "SGD"

    def steps(self, problem: Regularized, state: OneRowState, n_iter: int) -> None:
        radius = 1.0 / np.sqrt(problem.lam) if self.projection else np.inf
        subgradient_steps(
            problem.matrix.rows, problem.y, problem.lam, self.p / problem.lam, 0.5, radius, self.average, n_iter, *state
        )
