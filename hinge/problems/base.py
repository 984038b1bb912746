"""The base class of problems: an exact objective, a certificate, and counts of the data read."""

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from hinge.problems.cost import Cost
from hinge.problems.svm.losses import HINGE, Loss


class Solution(NamedTuple):
    """An answer of a linear problem, with the dual weights if the method has any.

    Attributes
    ----------
    w : ndarray of shape (d,)
        The weight vector; of shape (d + 1, k) for the k classes of a `Multiclass` problem.
    b : float
        Bias; 0 where the problem has none.
    alpha : ndarray of shape (n,) or None
        Dual weights within the bounds of the loss: :math:`0 \\le \\alpha_i \\le 1` for the hinge. Of shape (n, k) for
        a `Multiclass` problem.

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


class Combination(Solution):
    """A solution whose w is the combination of the rows by α, but for the rounding of its updates.

    With `mass` and `chain` a certificate need not add up the rows again, with `responses` not multiply with them. A
    copy with other parts (``_replace``) is a plain `Solution`: it may be no such combination.

    Attributes
    ----------
    mass : float
        :math:`\\sum c_i|\\Delta\\alpha_i|` over all updates; infinite if not known.
    chain : int
        The number of updates.
    responses : ndarray of shape (n,), optional
        All ⟨w, xᵢ⟩, each summed up in float64, if the solver has computed them.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems.base import Combination
    >>> answer = Combination(np.array([0.5]), alpha=np.array([1.0]))
    >>> answer.mass, answer.chain = 1.0, 1
    >>> type(answer._replace(w=np.array([2.0]))).__name__
    'Solution'
    """

    mass: float = float("inf")
    chain: int = 0
    responses: np.ndarray | None = None

    @classmethod
    def _make(cls, parts: Iterable[Any]) -> Solution:  # type: ignore[override]
        return Solution._make(parts)


class Certificate(NamedTuple):
    """How good an answer provably is.

    Attributes
    ----------
    objective : float
        The objective of the answer at bias `b`: an upper bound (a lower one, if it is maximised) that includes the
        rounding error of its evaluation.
    bound : float
        A bound on the optimal objective by duality, its rounding error included.
    gap : float
        Upper bound on the suboptimality, in the unit that the problem documents; infinite if no bound is known, nan
        if none can exist.
    b : float
        The bias that `objective` is evaluated at: the best one for the answer's w if the bias is free.
    unrounded : float
        The gap without the bounds on rounding errors; nan if it was not computed.
    scale : float
        The objective is that of w multiplied by this factor; `Problem.finished` applies it.

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
        """The certificate of an answer about which nothing is known."""
        return cls(np.nan, np.nan, np.inf, b)

    @property
    def is_unknown(self) -> bool:
        """Whether neither an objective nor a bound is known."""
        return bool(np.isnan(self.objective) and np.isnan(self.bound))


Answer = TypeVar("Answer")
"""What a problem certifies: a `Solution`, an `Expansion` of a kernel problem, or `Strategies`."""


class Problem(Generic[Answer]):
    """Data and parameters, not changed by solvers; everything that the driver asks of a problem, with defaults.

    Examples
    --------
    >>> from hinge.problems import Problem, Regularized
    >>> problem = Regularized([[1.0, 0.0], [0.0, -1.0]], [1, -1], lam=0.1)
    >>> isinstance(problem, Problem), problem.n, problem.reads
    (True, 2, 0)
    """

    n: int

    reads: int = 0
    """Cells (entries of the data matrix) read so far."""
    kernel_evals: int = 0
    """Kernel values computed so far."""
    cost: float = 0.0
    """The price of what was read so far."""
    pass_cells: int = 0
    """Cells read by one pass over the data."""
    budget: tuple[int | None, float | None] = (None, None)
    """The most cells, and the highest cost, that the owner of the data allows."""
    in_memory: bool = True
    """Whether compiled code can read rows of the data."""
    loss: Loss = HINGE
    """The loss of a row, in problems that have one."""
    pull: float = 0.0
    """Factor of an additional term `pull` · b of the objective: ν in `OneClass`, else 0."""
    readers: str = "Frugal, Probe or Simba"
    """Names of solvers that can read data that is not in memory, for error messages."""

    def objective(self, answer: Answer) -> float:
        """The exact objective; its reads are not billed."""
        raise NotImplementedError

    def certificate(self, answer: Answer) -> Certificate:
        """Bound the suboptimality of an answer; its reads are billed."""
        raise NotImplementedError

    def sharpened(self, answer: Answer, found: Certificate, wanted: float) -> Certificate:
        """A tighter certificate, if rounding errors or the length of w keep the gap of `found` above `wanted`."""
        return found

    def values_again(self, answer: Answer) -> int:
        """Upper bound on the kernel values that `sharpened`, or a certificate after Ctrl-C, computes."""
        return 0

    def finished(self, answer: Answer, certificate: Certificate) -> Answer:
        """The answer that `solve` returns: with the bias of its certificate, if that is known."""
        return answer if certificate.is_unknown else cast(Any, answer)._replace(b=certificate.b)

    def cells_of(self, cost: Cost) -> int:
        """Upper bound on the cells that an iteration of this cost reads."""
        return cost.cells

    def price_of(self, cost: Cost) -> float:
        """Upper bound on the price of those cells."""
        return float(self.cells_of(cost))

    def certificate_cells(self, cost: Cost) -> int:
        """Upper bound on the cells that a certificate reads."""
        return 2 * self.pass_cells if cost.certificate is None else cost.certificate
