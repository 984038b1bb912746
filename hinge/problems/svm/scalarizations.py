"""One solution, three parameters: Lemma 2.1 of the SIMBA and SBP papers."""

from typing import NamedTuple

import numpy as np

from hinge.problems.base import Solution
from hinge.problems.svm.linear import LinearProblem
from hinge.problems.svm.slack_constrained import SlackConstrained


class Scalarization(NamedTuple):
    """Where a solution stands on the Pareto front of norm and loss, in the terms of all three problems.

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
    """

    norm: float
    loss: float
    lam: float
    nu: float
    B: float


def scalarizations(problem: LinearProblem, solution: Solution) -> Scalarization:
    """The λ, ν and B whose problems have this solution, if it is optimal for one of them.

    ν and B are read off the criteria. λ comes from stationarity,
    :math:`\\lambda w = \\sum_i c_i\\alpha_i y_i x_i`, where α is the dual of hinge losses at scale
    one; a `SlackConstrained` solution is first scaled by 1/γ, as in the lemma.

    Notes
    -----
    Reads of the rows with a positive α are billed.
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
