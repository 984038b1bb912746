"""Stochastic gradient descent with a fixed step, the second rival of the Pegasos paper."""

from dataclasses import dataclass

import numpy as np

from hinge.constraints import Constraints, number
from hinge.problems import LinearProblem, NormConstrained, Regularized
from hinge.solvers.base import Paper
from hinge.solvers.papers.scaled_vector import OneRow, OneRowState, subgradient_steps


@dataclass(frozen=True)
class SGD(OneRow[LinearProblem]):
    """Sub-gradient steps of constant size η on `Regularized` or `NormConstrained`.

    .. math:: w_{t+1} = \\Pi_B\\big((1 - \\eta\\lambda) w_t
              + \\eta [y_i\\langle w_t, x_i\\rangle < 1]\\, y_i x_i\\big)

    with λ = 0 where the norm is bounded by B, and no projection where it is not. An iteration reads
    one row. The averaged iterate is :math:`O(\\eta R^2 + \\|w^*\\|^2/(\\eta T))`-accurate.

    Parameters
    ----------
    average : bool
        Return the uniform average instead of the last iterate.
    eta : float
        The step. There is no good default: finding it is the disadvantage that the Pegasos paper shows.

    References
    ----------
    T. Zhang, *Solving Large Scale Linear Prediction Problems Using Stochastic Gradient Descent
    Algorithms*, ICML 2004.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SGD
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, SGD(eta=0.1, average=True), stop=Stop(tol=0, max_iter=5000))
    >>> bool(problem.objective(result.solution) < 1.1 * made.objective)
    True
    """

    eta: float = 0.1

    paper = Paper(
        "Solving large scale linear prediction problems using stochastic gradient descent",
        "Zhang",
        2004,
        "section 5 of Pegasos",
    )
    constraints = Constraints(eta=number(above=0))

    def _limits(self, problem: LinearProblem) -> str | None:
        if not isinstance(problem, Regularized | NormConstrained):
            return f"SGD solves Regularized and NormConstrained problems, not {type(problem).__name__}."
        return super()._limits(problem)

    def steps(self, problem: LinearProblem, state: OneRowState, n_iter: int) -> None:
        lam = problem.lam if isinstance(problem, Regularized) else 0.0
        radius = problem.B if isinstance(problem, NormConstrained) else np.inf
        subgradient_steps(problem.matrix.rows, problem.y, lam, self.eta, 0.0, radius, self.average, n_iter, *state)
