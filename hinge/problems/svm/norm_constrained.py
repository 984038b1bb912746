"""The norm-constrained SVM: the least mean hinge loss within a ball."""

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data
from hinge.problems.base import Certificate, Solution
from hinge.problems.rounding import gap_of, rounding
from hinge.problems.svm.linear import Bias, LinearProblem
from hinge.types import MatrixLike


class NormConstrained(LinearProblem):
    """Minimise the mean hinge loss subject to a bound B on the norm of w.

    .. math:: \\min_{\\|w\\| \\le B,\\, b} \\hat L(w, b) \\;=\\;
              \\max_{0 \\le \\alpha_i \\le 1} \\sum_i c_i\\alpha_i
              - B\\Big\\|\\sum_i c_i\\alpha_i y_i x_i\\Big\\|

    With a free bias the dual also has the constraint :math:`\\sum_i c_i\\alpha_i y_i = 0`. The certificate is the
    absolute duality gap (the loss of w = 0 is 1). If ‖w‖ > B, objective and certificate are those of the projection
    of w onto the ball.

    Examples
    --------
    >>> from hinge import NormConstrained, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import SGD
    >>> made = make_known_optimum(200, 5, 0.01)
    >>> problem = NormConstrained(made.X_train, made.y_train, 2.0)
    >>> result = solve(problem, SGD(average=True), stop=Stop(tol=0, max_iter=2000))
    >>> bool(problem.norm(result.solution.w) <= 2.0)
    True
    """

    def __init__(
        self, X: MatrixLike | Data, y: ArrayLike, B: float, *, weight: ArrayLike | None = None, bias: Bias = "none"
    ) -> None:
        super().__init__(X, y, weight=weight, bias=bias)
        if bias == "penalized":
            raise ValueError("NormConstrained takes bias='none' or 'free'; add a constant feature to X.")
        if not (np.isfinite(B) and B > 0):
            raise ValueError(f"B must be a positive number, got {B!r}.")
        self.B = float(B)

    def project(self, w: np.ndarray) -> np.ndarray:
        """The nearest point of the ball."""
        norm = self.norm(w)
        return w if norm <= self.B else w * (self.B / norm)

    def objective(self, solution: Solution) -> float:
        """Mean hinge loss of the projected w; reads not billed."""
        return self.mean_loss(self.project(solution.w), solution.b, billed=False)

    def certificate(self, solution: Solution) -> Certificate:
        """The absolute duality gap, at the best bias where it is free."""
        w, b = self.project(solution.w), solution.b
        r = self.responses(w)
        if self.bias == "free":
            b = self.best_bias(r)
        # ‖w‖ may exceed B by rounding: the projected point has responses that differ by as little.
        error = self.response_error(w, b) + rounding(self.d, self.B * self.largest_norm())
        loss = self.total_loss(r, b, error)
        primal = loss + rounding(self.terms, loss)
        if solution.alpha is None:
            return Certificate(primal, -np.inf, np.inf, b)
        alpha = self.balanced(solution.alpha) if self.bias == "free" else solution.alpha
        mass = sum(self.class_mass(alpha))
        cost = self.B * self.combination_norm(self.combination(alpha), mass)
        value = mass - cost - rounding(self.terms, mass + cost)
        dual = value / float(alpha.max()) if value > 0 else 0.0  # the dual is linear in α: scale α up to its bound
        return Certificate(primal, dual, gap_of(primal, dual, 1.0), b)
