"""The part that all linear SVM problems share: norm and loss, the bias, sums over rows, and their rounding."""

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data, as_matrix
from hinge.problems.base import OnData, Solution, rounding
from hinge.problems.svm.examples import Examples
from hinge.problems.svm.losses import HINGE, Loss
from hinge.types import MatrixLike

Bias = Literal["none", "free", "penalized"]


class LinearProblem(OnData[Solution], Examples[Solution]):
    """Two criteria, the norm and the mean loss, which the three SVM formulations combine by λ, B or ν.

    .. math:: \\|w\\| \\quad\\text{against}\\quad
              \\hat L(w, b) = \\sum_i c_i \\max(0,\\, 1 - y_i(\\langle w, x_i\\rangle + b)),
              \\qquad c_i = s_i / \\textstyle\\sum_j s_j

    Parameters
    ----------
    X : array, CSR matrix, Matrix or Table
    y : array of shape (n,)
        Labels, -1 and +1.
    weight : array of shape (n,), optional
        Nonnegative weights :math:`s_i`; all one where not given.
    bias : {"none", "free", "penalized"}
        No bias; an unpenalised one; or a constant feature of value `bias_scale`, whose weight
        counts in the norm.
    bias_scale : float
        Value of the constant feature.
    loss : Loss
        The hinge by default; y are targets if it is a loss of regression.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import LinearProblem, Regularized
    >>> problem = Regularized([[1.0, 0.0], [0.0, -1.0]], [1, -1], lam=0.1)
    >>> isinstance(problem, LinearProblem), problem.responses(np.array([1.0, 2.0])).tolist()
    (True, [1.0, -2.0])
    """

    def __init__(
        self,
        X: MatrixLike | Data,
        y: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        bias: Bias = "none",
        bias_scale: float = 1.0,
        loss: Loss = HINGE,
    ) -> None:
        OnData.__init__(self, as_matrix(X))
        Examples.__init__(self, self.matrix.shape[0], y, weight, loss)
        self.d = self.matrix.shape[1]
        if bias not in ("none", "free", "penalized"):
            raise ValueError(f"bias is 'none', 'free' or 'penalized', not {bias!r}.")
        self.bias: Bias = bias
        self.bias_scale = float(bias_scale)
        if not (np.isfinite(self.bias_scale) and self.bias_scale > 0):
            raise ValueError(f"bias_scale must be a positive number, got {bias_scale!r}.")

    def largest_norm(self) -> float:
        """The largest norm of a row; where rows are not in memory, of those read so far; not billed."""
        return self.matrix.largest_norm()

    @cached_property
    def largest_target(self) -> float:
        """The largest |tᵢ|: 1 where there are labels."""
        return float(np.abs(self.target).max())

    @property
    def constant_sq(self) -> float:
        """Square of the constant feature's value, 0 where there is none."""
        return self.bias_scale**2 if self.bias == "penalized" else 0.0

    def criteria(self, w: np.ndarray, b: float = 0.0) -> tuple[float, float]:
        """Both criteria at (w, b): the norm and the mean loss (reads not billed)."""
        return self.norm(w, b), self.mean_loss(w, b, billed=False)

    def criteria_of(self, solution: Solution) -> tuple[float, float]:
        """Both criteria of an answer."""
        return self.criteria(solution.w, solution.b)

    def norm(self, w: np.ndarray, b: float = 0.0) -> float:
        """‖w‖, with the constant feature's weight where the bias is penalised."""
        extra = (b / self.bias_scale) ** 2 if self.bias == "penalized" else 0.0
        return math.sqrt(w @ w + extra)

    def mean_loss(self, w: np.ndarray, b: float = 0.0, billed: bool = True) -> float:
        """The mean loss in one pass, without a vector of length n."""

        def loss(data: Data, lo: int, hi: int) -> float:
            return self.loss_of(data.responses(w, lo, hi, billed=billed), b, lo, hi)

        return sum(self.matrix.each_block(loss))

    def response_error(self, w: np.ndarray, b: float = 0.0) -> float:
        """Bound on the error of any tᵢ - yᵢ(⟨w, xᵢ⟩ + b); rows in memory are measured for it, once."""
        size = self.largest_norm() * math.sqrt(w @ w) + abs(b) + self.largest_target
        return rounding(self.matrix.max_row_cells, size)

    def combination_norm(self, z: np.ndarray, mass: float) -> float:
        """Upper bound on ‖Σ cᵢαᵢyᵢxᵢ‖, from the computed sum z and from Σ cᵢαᵢ."""
        norm = float(np.linalg.norm(z))
        return norm + rounding(self.d, norm) + self.combination_error(mass)

    def combination_error(self, mass: float, others: int = 0, chain: int | None = None) -> float:
        """Bound on the error, in norm, of the computed Σ cᵢαᵢyᵢxᵢ.

        Four sums over rows are rounded: z, two that balance the classes, and the total weight.

        Parameters
        ----------
        mass : float
            Σ cᵢαᵢ.
        others : int
            Sums of other parts of the data that are added to this one.
        chain : int, optional
            Longest chain of additions in z; by default as `combination` adds it up.
        """
        rows = (self.terms if self._by_parts else self.n) if chain is None else chain
        return rounding(rows + 3 * self.terms + 4 * others, mass * self.largest_norm())

    def responses(self, w: np.ndarray, billed: bool = True) -> np.ndarray:
        """All ⟨w, xᵢ⟩."""
        parts = self.matrix.each_block(lambda data, lo, hi: data.responses(w, lo, hi, billed))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Row ranges of one pass."""
        return self.matrix.row_blocks()

    def combination(self, alpha: np.ndarray) -> np.ndarray:
        """:math:`\\sum_i c_i\\alpha_i y_i x_i` in one pass over the rows with a positive α."""
        total, apart = np.zeros(self.d), self._by_parts

        def add(data: Data, lo: int, hi: int) -> np.ndarray:
            z = np.zeros(self.d) if apart else total
            data.combine(alpha[lo:hi] * self.y[lo:hi] * self.share(lo, hi), lo, hi, z)
            return z

        if apart:
            return sum(self.matrix.each_block(add), total)
        for lo, hi in self.blocks():
            add(self.matrix, lo, hi)
        return total

    def fine_combination(self, coef: np.ndarray) -> np.ndarray:
        """:math:`\\sum_i \\mathrm{coef}_i(x_i, 1)` in twice the precision, rounded once; rows are in memory."""
        sums, rest = np.zeros((2, self.d + 1))
        for lo, hi in self.blocks():
            self.matrix.combine_finely(coef[lo:hi], lo, hi, sums, rest)
        return sums + rest

    @property
    def _by_parts(self) -> bool:
        """Whether `combination` adds up a sum for each block: more accurate, and cheap if rows are many and d small."""
        return 16 * self.d * self.n <= self.terms * self.matrix.n_cells
