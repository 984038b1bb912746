"""What problems with a price λ on the size of w share, whichever norm measures it."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data
from hinge.problems.base import Certificate, Solution
from hinge.problems.rounding import gap_of, rounding
from hinge.problems.svm.linear import Bias, LinearProblem
from hinge.problems.svm.losses import HINGE, Loss
from hinge.types import MatrixLike

FAR = 1e120
"""λ lies between this and its inverse: its products with squares of the data stay finite."""


class Penalized(LinearProblem):
    """λ times a penalty on w, plus the mean loss: the parameter λ or C, and the relative duality gap.

    A problem of this kind says what w pays (`penalty`) and what its dual is worth (`dual`).

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
        """The same problem by LIBLINEAR's C: the one place where C becomes λ."""
        problem = cls(X, y, 1.0, **options)
        problem.lam = lam_of(C, problem.total)
        return problem

    def penalty(self, w: np.ndarray, b: float) -> float:
        """What (w, b) pays for each λ."""
        raise NotImplementedError

    def dual(self, solution: Solution) -> float:
        """The dual objective at a feasible point made from the solution's α; -inf where it has none."""
        raise NotImplementedError

    def objective(self, solution: Solution) -> float:
        """P(w, b), exact; reads not billed."""
        return self.lam * self.penalty(solution.w, solution.b) + self.mean_loss(solution.w, solution.b, billed=False)

    def certificate(self, solution: Solution) -> Certificate:
        """The relative duality gap, at the best bias where it is free."""
        w, r = solution.w, self.responses(solution.w)  # this also measures the rows, which the certificate needs
        b = self.best_bias(r) if self.bias == "free" else solution.b
        primal = self.primal(w, b, r)
        del r  # free it before the dual allocates another of this length
        dual = self.dual(solution)
        return Certificate(primal, dual, self.relative(primal, dual), b)

    def primal(self, w: np.ndarray, b: float, r: np.ndarray) -> float:
        """P(w, b) at most, from the responses, whose rounding it counts."""
        return self.primal_at(w, b, self.total_loss(r, b, self.response_error(w, b)))

    def primal_at(self, w: np.ndarray, b: float, loss: float) -> float:
        """P(w, b) at most, where the mean loss was summed up by blocks."""
        return primal_value(self.lam, self.penalty(w, b), self.d, loss, self.terms)

    def relative(self, primal: float, dual: float) -> float:
        """The gap in the unit of the certificate."""
        return relative_gap(primal, dual, self.unit)


def primal_value(lam: float, paid: float, d: int, loss: float, terms: int) -> float:
    """P at most, by the penalty, a sum of d squares, and the mean loss, a sum of so many terms at most."""
    return lam * (paid + rounding(d, paid)) + loss + rounding(terms, loss)


def relative_gap(primal: float, dual: float, unit: float) -> float:
    """(P - D)/D, or over the unit where D is less."""
    return 0.0 if primal == dual else gap_of(primal, dual, max(dual, unit))


def checked_lam(lam: float) -> float:
    """λ as a number that its products with squares of the data can be formed with."""
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
