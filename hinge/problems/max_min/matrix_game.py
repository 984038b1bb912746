"""Zero-sum matrix games: the saddle point of a bilinear form on two simplices."""

import numpy as np

from hinge.access import Data
from hinge.problems.max_min.linear import LinearMaxMin
from hinge.problems.max_min.projections import onto_simplex
from hinge.problems.max_min.sampled_bound import Fraction
from hinge.problems.rounding import rounding
from hinge.sampling import pick
from hinge.types import MatrixLike


class MatrixGame(LinearMaxMin):
    """Optimal mixed strategies of a zero-sum game,

    .. math:: \\max_{x \\in \\Delta_d}\\ \\min_{p \\in \\Delta_n}\\ p^\\top A x .

    The player of x chooses columns and is paid :math:`A_{ij}`, the player of p chooses rows and pays it.
    Relative gaps are relative to the largest payoff.

    Parameters
    ----------
    A : array, CSR matrix, Matrix or Table of shape (n, d)
    largest : float, optional
        A bound on all :math:`|A_{ij}|`, for data that is not in memory.
    relative, fraction
        As for `LinearMaxMin`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.problems import MatrixGame
    >>> found = hinge.maxmin(MatrixGame([[1.0, -1.0], [-1.0, 1.0]]), eps=1e-3)
    >>> bool(found.lower <= 0.0 <= found.upper)
    True
    """

    primal = "multiplicative"

    def __init__(
        self,
        A: MatrixLike | Data,
        *,
        largest: float | None = None,
        relative: bool = True,
        fraction: Fraction | None = None,
    ) -> None:
        super().__init__(A, relative=relative, fraction=fraction)
        if largest is not None and not 0 < largest < np.inf:
            raise ValueError(f"largest must be a positive number, got {largest!r}.")
        self._largest = largest

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The largest |payoff|; the step sizes assume it, and its reads are not billed."""
        return self.longest or 1.0

    @property
    def longest(self) -> float:
        """The largest |payoff|, which bounds the values since weights sum to 1."""
        if self._largest is None:
            self._largest = self.matrix.largest_entry() if self.in_memory else 1.0
        return self._largest

    def start(self) -> np.ndarray:
        return np.full(self.d, 1.0 / self.d)

    def project(self, x: np.ndarray) -> np.ndarray:
        return onto_simplex(x)

    def support(self, g: np.ndarray) -> float:
        return float(g.max())

    def estimate_values(self, x: np.ndarray, unit: float) -> np.ndarray:
        """The ℓ1-sample: column j for j drawn with probability :math:`x_j`."""
        return self.column(pick(x, unit))

    def lower(self, x: np.ndarray) -> float:
        """The smallest value at x/Σx: the mean of many strategies sums to 1 only up to rounding."""
        return super().lower(x / (float(x.sum()) or 1.0))

    def value_error(self, x: np.ndarray, least: float) -> float:
        return rounding(
            self.matrix.max_row_cells + self.d, self.longest
        )  # the entries of x sum to 1, up to d roundings

    def unit(self, lower: float, upper: float) -> float:
        return self.scale
