"""The SVM with an ℓ₁ penalty, whose w is sparse: primal, dual, and the duality gap."""

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data
from hinge.problems.base import EPS, TINY, Solution, rounding
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import SQUARED_HINGE, Loss
from hinge.problems.svm.penalized import Penalized
from hinge.types import MatrixLike


class L1Regularized(Penalized):
    """Minimise λ‖w‖₁ plus the mean squared hinge loss.

    .. math::
        P(w, b) = \\lambda\\|w\\|_1 + \\sum_i c_i \\max(0,\\, 1 - y_i(\\langle w, x_i\\rangle + b))^2, \\qquad
        D(\\alpha) = \\sum_i c_i\\big(\\alpha_i - \\tfrac14\\alpha_i^2\\big),\\quad
        \\alpha \\ge 0,\\ \\Big|\\sum_i c_i\\alpha_i y_i x_{ij}\\Big| \\le \\lambda\\ \\text{for all } j .

    A penalised bias is the weight of a constant feature, penalised and constrained like the others; with a free bias
    the dual has the constraint :math:`\\sum_i c_i\\alpha_i y_i = 0`. :math:`\\lambda = 1/(C\\sum_i s_i)` gives the
    objective of LIBLINEAR's ``L1R_L2LOSS_SVC``, divided by :math:`C\\sum_i s_i`.

    The certificate is the relative duality gap :math:`(P - D)/D`.

    Parameters
    ----------
    X, y, lam, weight, bias, bias_scale
        As for `Regularized`; X is an array or CSR in memory.
    loss : Loss
        The squared hinge; others are not supported.

    Examples
    --------
    >>> from hinge import L1Regularized, Stop, solve
    >>> from hinge.datasets import make_known_optimum
    >>> from hinge.solvers import CDN
    >>> made = make_known_optimum(100, 20, 0.01)
    >>> problem = L1Regularized(made.X_train, made.y_train, lam=0.1)
    >>> result = solve(problem, CDN(), stop=Stop(tol=1e-3))
    >>> int((result.solution.w != 0).sum()) < 20
    True
    """

    def __init__(
        self,
        X: MatrixLike | Data,
        y: ArrayLike,
        lam: float,
        *,
        weight: ArrayLike | None = None,
        bias: Bias = "none",
        bias_scale: float = 1.0,
        loss: Loss = SQUARED_HINGE,
    ) -> None:
        if loss != SQUARED_HINGE:
            raise ValueError(f"The 1-norm goes with the squared hinge here, not with the {loss.name} loss.")
        super().__init__(X, y, lam, weight=weight, bias=bias, bias_scale=bias_scale, loss=loss)
        if not self.in_memory:
            raise ValueError(
                "The 1-norm asks for whole columns, again and again: give an array or a sparse matrix in memory, "
                "or take the squared norm (penalty='l2'), whose solvers read tables."
            )

    def norm(self, w: np.ndarray, b: float = 0.0) -> float:
        """‖w‖₁, with the constant feature's weight where the bias is penalised."""
        extra = abs(b) / self.bias_scale if self.bias == "penalized" else 0.0
        return float(np.abs(w).sum()) + extra

    def penalty(self, w: np.ndarray, b: float) -> float:
        """‖w‖₁."""
        return self.norm(w, b)

    def dual(self, solution: Solution, primal: float | None = None) -> float:
        """D at a feasible point made from the solution's α; -inf if the solution has no α.

        With a free bias the class with the larger sum of cα is scaled down; then α is multiplied by the best factor
        that meets the constraints. The sums over columns cancel to at most λ, which may be far smaller than their
        terms, so they are made in twice the precision. α is defined by the rounded values of :math:`c_i\\alpha_i y_i`,
        so that these have no error.
        """
        if solution.alpha is None:
            return -np.inf
        alpha = np.maximum(solution.alpha, 0.0)
        alpha = self.balanced(alpha) if self.bias == "free" else alpha
        coef = alpha * self.y * self.share()
        sums, rest = np.zeros((2, self.d + 1))
        for lo, hi in self.blocks():
            self.matrix.combine_finely(coef[lo:hi], lo, hi, sums, rest)
        sums = np.abs(sums + rest)
        np.abs(coef, out=coef)
        linear = float(coef.sum())
        quadratic = 0.25 * float(coef @ alpha)
        lost, faint = (self.n * EPS) ** 2 * linear, 8.0 * self.n * TINY
        longest = self.largest_norm()
        unbalanced = float(sums[-1]) * (1.0 + EPS) + lost + faint
        steepest = float(sums[:-1].max(initial=0.0)) * (1.0 + EPS) + lost * longest + faint
        size = linear
        if self.bias == "penalized":
            steepest = max(steepest, unbalanced * self.bias_scale)
        elif self.bias == "free":  # scale the heavier class down by the imbalance that is left, which lowers Σcα
            steepest += unbalanced * longest
            linear -= unbalanced
        if not (linear > 0.0 and quadratic > 0.0 and steepest < np.inf):
            return 0.0
        scale = min(self.lam / steepest * (1.0 - 4.0 * EPS), 0.5 * linear / quadratic)
        value = scale * (linear - rounding(self.terms, size))
        return max(0.0, value - scale * scale * (quadratic + rounding(self.terms, quadratic)))
