"""The result of `solve`."""

from dataclasses import dataclass
from typing import Any

from hinge.monitoring import History, Status
from hinge.problems import Certificate
from hinge.solvers.base import Solver


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes
    ----------
    solution : Solution or Expansion
    certificate : Certificate
        The certificate of this solution; its gap is infinite if none is known or affordable.
    status : Status
    n_iter : int
    per_pass : int
        Number of iterations that together read as much as one pass over the data.
    history : History
    state : Any
        The final state; continue with ``solve(..., state=state)``.
    solver : Solver
        The solver that ran.

    Examples
    --------
    >>> from hinge import Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SDCA
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = Regularized(made.X_train, made.y_train, lam=made.lam)
    >>> result = solve(problem, SDCA(), stop=Stop(tol=1e-3, max_iter=10**6))
    >>> result.status.name, result.solution.w.shape, type(result.solver).__name__
    ('CONVERGED', (5,), 'SDCA')
    """

    solution: Any
    certificate: Certificate
    status: Status
    n_iter: int
    per_pass: int
    history: History
    state: Any
    solver: Solver
