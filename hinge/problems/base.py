"""What every problem offers: an exact objective and a certificate."""

from typing import NamedTuple, Protocol

import numpy as np


class Solution(NamedTuple):
    """An answer, with its dual where the method has one.

    Attributes
    ----------
    w : ndarray of shape (d,)
    b : float
        Bias; 0 where the problem has none.
    alpha : ndarray of shape (n,) or None
        Dual weights, :math:`0 \\le \\alpha_i \\le 1`.
    """

    w: np.ndarray
    b: float = 0.0
    alpha: np.ndarray | None = None


class Certificate(NamedTuple):
    """How good an answer provably is.

    Attributes
    ----------
    objective : float
        The objective of the answer at bias `b`, made worse by as much as rounding may have made it better.
    bound : float
        A bound on the optimal objective from the dual side, which rounding has not made better either.
    gap : float
        Upper bound on the suboptimality, in the measure that the problem documents; infinite
        where no bound is known, nan where there cannot be any.
    b : float
        The bias at which `objective` holds: the best one for the answer's w where it is free.
    unrounded : float
        The gap as if nothing that it was computed from had been rounded; nan where that is not known.
    """

    objective: float
    bound: float
    gap: float
    b: float = 0.0
    unrounded: float = np.nan


class Problem(Protocol):
    """Immutable: data access and parameters, no algorithm."""

    def objective(self, solution: Solution) -> float:
        """The exact objective; its reads are not billed."""
        ...

    def certificate(self, solution: Solution) -> Certificate:
        """Bound the suboptimality of `solution`; its reads are billed."""
        ...
