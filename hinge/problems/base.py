"""What every problem offers the driver: an exact objective, a certificate, and counts of what was read."""

from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from hinge.problems.cost import Cost
from hinge.problems.svm.losses import HINGE, Loss


class Solution(NamedTuple):
    """An answer, with its dual where the method has one.

    Attributes
    ----------
    w : ndarray of shape (d,)
        Of k classes that learn together, of shape (d + 1, k), see `Multiclass`.
    b : float
        Bias; 0 where the problem has none.
    alpha : ndarray of shape (n,) or None
        Dual weights within the bounds of the loss: :math:`0 \\le \\alpha_i \\le 1` for the hinge. Of k
        classes that learn together, of shape (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Regularized, Solution
    >>> problem = Regularized([[1.0, 0.0], [0.0, -1.0]], [1, -1], lam=0.5)
    >>> problem.objective(Solution(np.array([0.5, 0.5])))
    0.625
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
    scale : float
        By what w is multiplied: `objective` is that of such a multiple, which `finished` gives out.

    Examples
    --------
    >>> from hinge.problems import Certificate
    >>> Certificate.unknown().gap
    inf
    """

    objective: float
    bound: float
    gap: float
    b: float = 0.0
    unrounded: float = np.nan
    scale: float = 1.0

    @classmethod
    def unknown(cls, b: float = 0.0) -> "Certificate":
        """That of an answer of which nothing is known."""
        return cls(np.nan, np.nan, np.inf, b)

    @property
    def is_unknown(self) -> bool:
        """Whether it is that of an answer of which nothing is known."""
        return bool(np.isnan(self.objective) and np.isnan(self.bound))


Answer = TypeVar("Answer")
"""What a problem certifies: a `Solution`, an `Expansion` of a kernel problem, or `Strategies`."""


class Problem(Generic[Answer]):
    """Immutable: data access and parameters, no algorithm. All that the driver uses, with defaults.

    Examples
    --------
    >>> from hinge.problems import Problem, Regularized
    >>> problem = Regularized([[1.0, 0.0], [0.0, -1.0]], [1, -1], lam=0.1)
    >>> isinstance(problem, Problem), problem.n, problem.reads
    (True, 2, 0)
    """

    n: int

    reads: int = 0
    """Cells handed out so far."""
    kernel_evals: int = 0
    """Kernel values computed so far."""
    cost: float = 0.0
    """The price of what was read so far."""
    pass_cells: int = 0
    """Cells that one pass over the data reads."""
    budget: tuple[int | None, float | None] = (None, None)
    """The most cells, and the highest cost, that the owner of the data allows."""
    in_memory: bool = True
    """Whether compiled code can take rows from the data."""
    loss: Loss = HINGE
    """What rows that are short of their margin or target cost, where there are such."""
    pull: float = 0.0
    """The objective has so many times the bias besides: not zero where a level is free, as in `OneClass`."""
    readers: str = "Frugal, Probe or Simba"
    """Who can read what is not in memory."""

    def objective(self, answer: Answer) -> float:
        """The exact objective; its reads are not billed."""
        raise NotImplementedError

    def certificate(self, answer: Answer) -> Certificate:
        """Bound the suboptimality of an answer; its reads are billed."""
        raise NotImplementedError

    def sharpened(self, answer: Answer, found: Certificate, wanted: float) -> Certificate:
        """The certificate without what keeps its gap above the one `wanted`, rounding or scale, if that can be had."""
        return found

    def values_again(self, answer: Answer) -> int:
        """Kernel values that `sharpened` may compute, or a certificate after Ctrl-C."""
        return 0

    def finished(self, answer: Answer, certificate: Certificate) -> Answer:
        """The answer as it is given out: with the best bias, where one is known."""
        return answer if certificate.is_unknown else cast(Any, answer)._replace(b=certificate.b)

    def cells_of(self, cost: Cost) -> int:
        """Cells that an iteration of this cost reads at most."""
        return cost.cells

    def price_of(self, cost: Cost) -> float:
        """What it pays for them at most."""
        return float(self.cells_of(cost))

    def certificate_cells(self, cost: Cost) -> int:
        """Cells that a certificate reads at most."""
        return 2 * self.pass_cells if cost.certificate is None else cost.certificate
