"""The SVM whose w pays for its 1-norm, so that most of its entries are zero; its dual, and the duality gap."""

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data
from hinge.problems.base import Solution
from hinge.problems.rounding import EPS, TINY, rounding
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import SQUARED_HINGE, Loss
from hinge.problems.svm.penalized import Penalized
from hinge.types import MatrixLike


class L1Regularized(Penalized):
    """The 1-norm paid for by λ, with the squared hinge.

    .. math::
        P(w, b) = \\lambda\\|w\\|_1 + \\sum_i c_i \\max(0,\\, 1 - y_i(\\langle w, x_i\\rangle + b))^2, \\qquad
        D(\\alpha) = \\sum_i c_i\\big(\\alpha_i - \\tfrac14\\alpha_i^2\\big),\\quad
        \\alpha \\ge 0,\\ \\Big|\\sum_i c_i\\alpha_i y_i x_{ij}\\Big| \\le \\lambda\\ \\text{for all } j .

    A penalised bias is the weight of a constant feature, which pays and is constrained like all others; with a free
    one the dual asks for :math:`\\sum_i c_i\\alpha_i y_i = 0`. :math:`\\lambda = 1/(C\\sum_i s_i)` gives the objective
    of LIBLINEAR's ``L1R_L2LOSS_SVC``, over :math:`C\\sum_i s_i`.

    The certificate is the relative duality gap :math:`(P - D)/D`.

    Parameters
    ----------
    X, y, lam, weight, bias, bias_scale
        As for `Regularized`; X is an array or CSR in memory.
    loss : Loss
        The squared hinge: no other is built.

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

    def dual(self, solution: Solution) -> float:
        """D at a feasible point made from the solution's α; -inf where there is none.

        For a free bias the heavier class is scaled down; then α is scaled as a whole by the best factor that
        meets the constraints. Sums over a column cancel down to λ, which may be far below their terms: they are
        made in twice the precision. The point is that of the rounded :math:`c_i\\alpha_i y_i`, so that these are
        exact.
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
        elif self.bias == "free":  # the heavier class, scaled down by what is left: all α get smaller
            steepest += unbalanced * longest
            linear -= unbalanced
        if not (linear > 0.0 and quadratic > 0.0 and steepest < np.inf):
            return 0.0
        scale = min(self.lam / steepest * (1.0 - 4.0 * EPS), 0.5 * linear / quadratic)
        value = scale * (linear - rounding(self.terms, size))
        return max(0.0, value - scale * scale * (quadratic + rounding(self.terms, quadratic)))
