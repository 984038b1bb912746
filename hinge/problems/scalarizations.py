"""One solution, three parameters: Lemma 2.1 of the SIMBA and SBP papers."""

from typing import NamedTuple

import numpy as np

from hinge.problems.base import Solution
from hinge.problems.linear import LinearProblem


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
    Reads are billed when the combination of rows is not kept by the solution.
    """
    w, b = solution.w, solution.b
    nu = getattr(problem, "nu", None)
    if nu is not None:
        gamma = problem.objective(solution)  # type: ignore[attr-defined]
        if gamma <= 0:
            raise ValueError("The margin is not positive: no point of the Pareto front corresponds to it.")
        w, b = w / (problem.norm(w) * gamma), b / (problem.norm(w) * gamma)
    norm, loss = problem.criteria(w, b)
    lam = np.nan
    if solution.alpha is not None and norm > 0:
        alpha = solution.alpha if nu is None else solution.alpha / solution.alpha.max()
        z = solution.combination if nu is None else None
        z = problem.combination(alpha) if z is None else z
        lam = float(np.linalg.norm(z)) / float(np.linalg.norm(w))
    return Scalarization(norm, loss, lam, loss / norm if norm > 0 else np.inf, norm)
