"""The base classes of problems: an exact objective, a certificate, counts of reads, and bounds on rounding errors."""

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from hinge.access import Data, Matrix, Table, as_table
from hinge.problems.svm.losses import HINGE, Loss

EPS = 2.0**-52
ROUNDING_32 = 2.0**-20  # relative differences up to this may come from data in float32: eight units of its rounding
TINY = 2.0**-1074  # largest error of a product by underflow
FEW = 32
"""Allowance for roundings that are not counted: of weights and their total, of λ and C, a square root, a last sum."""


def rounding(terms: float, size: float) -> float:
    """Bound on the error of a sum of products, computed in float64 in any order.

    .. math:: \\Big|\\mathrm{fl}\\Big(\\sum_{k \\le K} a_k b_k\\Big) - \\sum_{k \\le K} a_k b_k\\Big| \\le
              \\frac{Ku}{1 - Ku}\\sum_{k \\le K}|a_k b_k|, \\qquad u = 2^{-53},

    doubled here, so that `size` may have been rounded too. If the factors have themselves gone through k roundings
    each, add k to `terms`.

    Parameters
    ----------
    terms : float
        K: the number of terms, or the longest chain of additions.
    size : float
        The sum of the absolute values of the terms, or an upper bound on it.
    """
    return (terms + FEW) * EPS * size + terms * TINY if size != 0.0 else 0.0


def rounded_gap(upper: float, lower: float, unit: float) -> float:
    """(upper - lower)/unit, rounded up; infinite if the unit is not positive or a bound is nan."""
    gap = (upper - lower) / unit * (1.0 + 4.0 * EPS) if unit > 0.0 else float("inf")
    return max(0.0, gap) if gap < float("inf") else float("inf")  # nan is not within any tolerance


class Cost(NamedTuple):
    """Upper bounds on the data that an iteration reads.

    Attributes
    ----------
    rows, columns : int
        Whole rows and whole columns.
    cells : int
        Single cells, in addition to those rows and columns.
    kernel_values : int
        Kernel values computed by the iteration and by `Solver.solution` after it.
    answer : int
        Kernel values computed by `Solver.solution` in the present state.
    setup : int
        Cells that the first iteration reads in addition.
    certificate : int or None
        Cells that a certificate reads; None for two passes over the data.
    a_pass : int
        Number of iterations that together read as much as one pass over the data.

    Examples
    --------
    >>> from hinge.problems import Cost
    >>> Cost(rows=1, columns=1).rows
    1
    """

    rows: int = 0
    columns: int = 0
    cells: int = 0
    kernel_values: int = 0
    answer: int = 0
    setup: int = 0
    certificate: int | None = None
    a_pass: int = 1


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
        `objective` is evaluated at w multiplied by this factor; `Problem.final_answer` applies it.

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

    def final_answer(self, answer: Answer, certificate: Certificate) -> Answer:
        """The answer that `solve` returns: with the bias of its certificate, if there is one and it is known."""
        known = hasattr(answer, "b") and not certificate.is_unknown
        return cast(Any, answer)._replace(b=certificate.b) if known else answer

    def cells_of(self, cost: Cost) -> int:
        """Upper bound on the cells that an iteration of this cost reads."""
        return cost.cells

    def price_of(self, cost: Cost) -> float:
        """Upper bound on the price of those cells."""
        return float(self.cells_of(cost))

    def certificate_cells(self, cost: Cost) -> int:
        """Upper bound on the cells that a certificate reads."""
        return 2 * self.pass_cells if cost.certificate is None else cost.certificate


class OnData(Problem[Answer]):
    """A problem over the rows of a matrix: how much of it has been read, and at what price.

    Parameters
    ----------
    data : Data
        A `Matrix`, or a `Table`, which then counts all reads. Compiled code reads the rows of a table in memory
        directly, unless it has prices or a limit on the cost, which only the table adds up.
    """

    def __init__(self, data: Data) -> None:
        table = data if isinstance(data, Table) else None
        self._table = table
        priced = table is not None and (table.bill.prices is not None or table.max_cost is not None)
        # A `Matrix` if it is in memory; else the driver rejects solvers that need one.
        self.matrix: Matrix | Any = data if priced else data.by_rows
        self.in_memory, self.pass_cells = isinstance(self.matrix, Matrix), self.matrix.n_cells

    def fork_data(self) -> None:
        """Read the same data by counters of its own from now on, for a concurrent run."""
        OnData.__init__(self, self.read_through.fork())

    @property
    def table(self) -> Table:
        """The same data as a `Table`, read by rows, columns and cells; the reads are counted together."""
        if self._table is None:
            self._table = as_table(self.matrix)
        return self._table

    @property
    def read_through(self) -> Data:
        """The object that counts the reads: the table if there is one, else the matrix."""
        return self.matrix if self._table is None else self._table

    @property
    def reads(self) -> int:  # type: ignore[override]
        """Cells read so far."""
        return (self.matrix if self._table is None else self._table).reads  # asked for more often than all else

    @property
    def cost(self) -> float:  # type: ignore[override]
        """The price of those cells; 0 as long as `table` was not used."""
        return 0.0 if self._table is None else self._table.bill.cost

    @property
    def budget(self) -> tuple[int | None, float | None]:  # type: ignore[override]
        """The most cells, and the highest cost, that the owner of the data allows."""
        return (None, None) if self._table is None else (self._table.max_reads, self._table.max_cost)

    def cells_of(self, cost: Cost) -> int:
        """Upper bound on the cells that an iteration reads, by the longest row and the longest column."""
        cells = cost.cells + cost.rows * self.matrix.max_row_cells
        return cells + cost.columns * self.table.max_column_cells if cost.columns else cells

    def price_of(self, cost: Cost) -> float:
        """Upper bound on the price of an iteration: every column and cell at the price of the dearest feature."""
        bill = self.table.bill
        dearest = 1.0 if bill.prices is None else float(bill.prices.max(initial=0.0))
        return cost.rows * bill.row_price + dearest * (cost.columns * self.table.shape[0] + cost.cells)
