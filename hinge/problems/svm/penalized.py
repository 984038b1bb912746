"""The base class of problems λ·penalty(w) + mean loss, for any norm in the penalty; and the SVM with an ℓ₁ penalty."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data
from hinge.problems.base import EPS, TINY, Answer, Certificate, Combination, Solution, rounded_gap, rounding
from hinge.problems.svm.examples import Examples
from hinge.problems.svm.linear import Bias, LinearProblem
from hinge.problems.svm.losses import HINGE, SQUARED_HINGE, Loss
from hinge.types import MatrixLike

FAR = 1e120
"""λ must lie between this and its inverse, so that products with squares of the data stay finite."""


class GivenLambda(Examples[Answer]):
    """A problem whose parameter is λ, or C: the relative duality gap."""

    lam: float

    @classmethod
    def from_C(cls, X: Any, y: ArrayLike, C: float, *others: Any, **options: Any) -> Self:
        """The problem with LIBLINEAR's and LIBSVM's C in place of λ = 1/(C Σ s)."""
        problem = cls(X, y, 1.0, *others, **options)
        problem.lam = lam_of(C, problem.total)
        return problem

    def relative(self, primal: float, dual: float) -> float:
        """The relative gap of a certificate."""
        return relative_gap(primal, dual, self.unit)


class Penalized(GivenLambda[Solution], LinearProblem):
    """λ times a penalty on w, plus the mean loss: the parameter λ or C, and the relative duality gap.

    Subclasses define `penalty` and the dual objective, `dual`.

    Examples
    --------
    >>> from hinge.problems import L1Regularized, Penalized, Regularized
    >>> issubclass(Regularized, Penalized), issubclass(L1Regularized, Penalized)
    (True, True)
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
        loss: Loss = HINGE,
    ) -> None:
        LinearProblem.__init__(self, X, y, weight=weight, bias=bias, bias_scale=bias_scale, loss=loss)
        self.lam = checked_lam(lam)

    def penalty(self, w: np.ndarray, b: float) -> float:
        """The penalty of (w, b), which λ multiplies."""
        raise NotImplementedError

    def dual(self, solution: Solution, primal: float | None = None) -> float:
        """The dual objective at a feasible point made from the solution's α; -inf if the solution has no α.

        `primal` is an upper bound, for who can save work by knowing how large the gap is.
        """
        raise NotImplementedError

    def objective(self, solution: Solution) -> float:
        """P(w, b), exact; reads not billed."""
        return self.lam * self.penalty(solution.w, solution.b) + self.mean_loss(solution.w, solution.b, billed=False)

    def certificate(self, solution: Solution) -> Certificate:
        """The relative duality gap, at the best bias if it is free."""
        w, known = solution.w, solution.responses if isinstance(solution, Combination) else None
        r = self.responses(w) if known is None else known  # a pass also finds the largest norm of a row, needed below
        b = self.best_bias(r) if self.bias == "free" else solution.b
        primal = self.primal(w, b, r)
        del r  # free it before the dual allocates another of this length
        dual = self.dual(solution, primal)
        return Certificate(primal, dual, self.relative(primal, dual), b)

    def primal(self, w: np.ndarray, b: float, r: np.ndarray) -> float:
        """Upper bound on P(w, b) from the responses, their rounding included."""
        return self.primal_at(w, b, self.mean_loss_from(r, b, self.response_error(w, b)))

    def primal_at(self, w: np.ndarray, b: float, loss: float) -> float:
        """Upper bound on P(w, b), given the mean loss as a sum over blocks."""
        return primal_value(self.lam, self.penalty(w, b), self.d, loss, self.terms)


def primal_value(lam: float, paid: float, d: int, loss: float, terms: int) -> float:
    """Upper bound on P, from the penalty, a sum of d terms, and the mean loss, a sum of at most `terms` additions."""
    return lam * (paid + rounding(d, paid)) + loss + rounding(terms, loss)


def relative_gap(primal: float, dual: float, unit: float) -> float:
    """(P - D)/max(D, unit)."""
    return 0.0 if primal == dual else rounded_gap(primal, dual, max(dual, unit))


def checked_lam(lam: float) -> float:
    """λ as a float; an error if it is not positive, or if its products with squares of the data could overflow."""
    if not (isinstance(lam, int | float | np.number) and 0 < lam < np.inf):
        raise ValueError(f"lam must be a positive number, got {lam!r}.")
    if not 1 / FAR <= float(lam) <= FAR:
        raise ValueError(f"lam must lie between {1 / FAR:g} and {FAR:g}, got {lam!r}.")
    return float(lam)


def lam_of(C: float, total: float) -> float:
    """λ = 1/(C Σ s)."""
    if not (isinstance(C, int | float | np.number) and 0 < C < np.inf):
        raise ValueError(f"C must be a positive number, got {C!r}.")
    whole = float(C) * total
    if not 1 / FAR <= whole <= FAR:
        raise ValueError(f"C times the sum of the weights must lie between {1 / FAR:g} and {FAR:g}, got {whole:g}.")
    return 1.0 / whole


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

    def __init__(self, X: MatrixLike | Data, y: ArrayLike, lam: float, **options: Any) -> None:
        super().__init__(X, y, lam, **{"loss": SQUARED_HINGE, **options})
        if self.loss != SQUARED_HINGE:
            raise ValueError(f"The 1-norm goes with the squared hinge here, not with the {self.loss.name} loss.")
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
        sums = np.abs(self.fine_combination(coef))
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
