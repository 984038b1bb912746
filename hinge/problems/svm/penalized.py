"""The base class of problems λ·penalty(w) + mean loss, for any norm in the penalty."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data
from hinge.problems.base import Certificate, Combination, Solution, gap_of, rounding
from hinge.problems.svm.linear import Bias, LinearProblem
from hinge.problems.svm.losses import HINGE, Loss
from hinge.types import MatrixLike

FAR = 1e120
"""λ must lie between this and its inverse, so that products with squares of the data stay finite."""


class Penalized(LinearProblem):
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
        super().__init__(X, y, weight=weight, bias=bias, bias_scale=bias_scale, loss=loss)
        self.lam = checked_lam(lam)

    @classmethod
    def from_C(cls, X: MatrixLike | Data, y: ArrayLike, C: float, **options: Any) -> Self:
        """The problem with LIBLINEAR's C in place of λ = 1/(C Σ s)."""
        problem = cls(X, y, 1.0, **options)
        problem.lam = lam_of(C, problem.total)
        return problem

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
        return self.primal_at(w, b, self.total_loss(r, b, self.response_error(w, b)))

    def primal_at(self, w: np.ndarray, b: float, loss: float) -> float:
        """Upper bound on P(w, b), given the mean loss as a sum over blocks."""
        return primal_value(self.lam, self.penalty(w, b), self.d, loss, self.terms)

    def relative(self, primal: float, dual: float) -> float:
        """The relative gap of a certificate."""
        return relative_gap(primal, dual, self.unit)


def primal_value(lam: float, paid: float, d: int, loss: float, terms: int) -> float:
    """Upper bound on P, from the penalty, a sum of d terms, and the mean loss, a sum of at most `terms` additions."""
    return lam * (paid + rounding(d, paid)) + loss + rounding(terms, loss)


def relative_gap(primal: float, dual: float, unit: float) -> float:
    """(P - D)/max(D, unit)."""
    return 0.0 if primal == dual else gap_of(primal, dual, max(dual, unit))


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
