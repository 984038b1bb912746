"""Conversions between λ, ν and B for one solution: Lemma 2.1 of the SIMBA and SBP papers."""

from typing import NamedTuple

import numpy as np

from hinge.problems.base import Solution
from hinge.problems.svm.linear import LinearProblem
from hinge.problems.svm.slack_constrained import SlackConstrained


class Scalarization(NamedTuple):
    """The parameters of the three problems for which a solution is optimal: a point of the Pareto front.

    Attributes
    ----------
    norm, loss : float
        The two criteria.
    lam : float
        λ of `Regularized`; nan where no dual is known.
    nu : float
        ν of `SlackConstrained`: loss/norm (Lemma 2.1).
    B : float
        B of `NormConstrained`: the norm.

    Examples
    --------
    >>> from hinge.problems import Scalarization
    >>> Scalarization(norm=2.0, loss=0.5, lam=0.1, nu=0.25, B=2.0).nu
    0.25
    """

    norm: float
    loss: float
    lam: float
    nu: float
    B: float


def scalarizations(problem: LinearProblem, solution: Solution) -> Scalarization:
    """λ, ν and B of the three problems that a solution is optimal for, if it is optimal for one of them.

    ν and B follow from the norm and the loss. λ follows from stationarity,
    :math:`\\lambda w = \\sum_i c_i\\alpha_i y_i x_i`, with the dual weights α of the hinge at margin 1; a
    `SlackConstrained` solution is first divided by its margin γ, as in the lemma.

    Notes
    -----
    Reads of the rows with a positive α are billed.

    Examples
    --------
    >>> from hinge import Regularized, Stop, scalarizations, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=0.01)
    >>> found = scalarizations(problem, solve(problem, SDCA(), stop=Stop(tol=1e-8)).solution)
    >>> round(found.lam, 4), bool(abs(found.nu - found.loss / found.norm) < 1e-12)
    (0.01, True)
    """
    w, b = solution.w, solution.b
    slack = False
    if isinstance(problem, SlackConstrained):
        slack = True
        gamma, b, s = problem.level(solution)
        scale = s / (gamma * (problem.norm(w) or 1.0))
        w, b = scale * w, b * s / gamma
    norm, loss = problem.criteria(w, b)
    lam = np.nan
    if solution.alpha is not None and norm > 0:
        alpha = solution.alpha if not slack else solution.alpha / solution.alpha.max()
        lam = float(np.linalg.norm(problem.combination(alpha))) / float(np.linalg.norm(w))
    return Scalarization(norm, loss, lam, loss / norm if norm > 0 else np.inf, norm)
