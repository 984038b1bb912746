"""Linear functions that are the rows of a matrix: the base class of margins, games and semidefinite programs."""

from collections.abc import Callable

import numpy as np

from hinge.access import Data, as_matrix
from hinge.problems.max_min.base import MaxMin, Strategies
from hinge.problems.max_min.sampled_bound import Fraction
from hinge.problems.on_data import OnData
from hinge.problems.rounding import rounding
from hinge.sampling import pick_square
from hinge.types import MatrixLike


class LinearMaxMin(OnData[Strategies], MaxMin):  # type: ignore[override]  # counts are class attributes there
    """:math:`c_i(x) = \\langle A_i, x\\rangle` for the rows of a matrix, the reads of which are counted.

    Parameters
    ----------
    A : array, CSR matrix, Matrix or Table of shape (n, d)
    relative : bool
        Whether gaps are relative to the value, or absolute.
    fraction : Fraction, optional
        Certify the lower bound for all but a fraction of the rows, from a sample of them, instead of reading
        them all.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import LinearMaxMin, MaxMargin
    >>> problem = MaxMargin([[1.0, 0.0], [0.0, 1.0]])
    >>> isinstance(problem, LinearMaxMin), problem.values(np.array([0.6, 0.8])).tolist()
    (True, [0.6, 0.8])
    """

    def __init__(self, A: MatrixLike | Data, *, relative: bool = True, fraction: Fraction | None = None) -> None:
        data = as_matrix(A)
        super().__init__(data)
        self.matrix = data.by_rows  # for whole passes, which here are not billed at the prices of cells
        self.n: int = self.matrix.shape[0]
        self.d: int = self.matrix.shape[1]
        if self.n == 0 or self.d == 0:
            raise ValueError(f"There is nothing to solve: the matrix is {self.n} × {self.d}.")
        self.relative, self.fraction = relative, fraction

    # --- counts ---------------------------------------------------------------------------

    @property
    def step_reads(self) -> int:  # type: ignore[override]
        """Entries of the longest row and the longest column."""
        return self.table.max_row_cells + self.table.max_column_cells

    @property
    def lower_reads(self) -> int:  # type: ignore[override]
        """Entries that a lower bound reads: all of them, or the sampled rows, which are read once."""
        if self.fraction is None:
            return self.pass_cells
        return 0 if self.fraction.looks else self.fraction.size * self.matrix.max_row_cells

    # --- tiers ----------------------------------------------------------------------------

    def start(self) -> np.ndarray:
        return np.zeros(self.d)

    def values(self, x: np.ndarray) -> np.ndarray:
        """A x, summed in float64, for certificates."""
        out = np.empty(self.n)
        for lo, hi in self.matrix.row_blocks():
            self.matrix.responses(x, lo, hi, out[lo:hi])
        return _finite(out)

    def combine(self, p: np.ndarray) -> np.ndarray:
        """Aᵀp, summed in float64; rows without weight are not read."""
        g = np.zeros(self.d)
        for lo, hi in self.matrix.row_blocks():
            self.matrix.combine(p[lo:hi], lo, hi, g)
        return g

    def quick_values(self, x: np.ndarray) -> np.ndarray:
        return _finite(self.matrix.times(x)) if self.in_memory else self.values(x)

    def quick_combine(self, p: np.ndarray) -> np.ndarray:
        return self.matrix.transposed_times(p) if self.in_memory else self.combine(p)

    def values_at(self, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self.matrix.responses_at(rows, x)

    def grad_at(self, i: int, x: np.ndarray | None = None) -> np.ndarray:
        """Row i."""
        at, values = self.table.row(i)
        if len(values) == self.d and not len(at):
            return values
        row = np.zeros(self.d)
        row[at] = values
        return row

    def estimate_values(self, x: np.ndarray, unit: float) -> np.ndarray | None:
        """The ℓ2-sample :math:`A_{\\cdot j}\\|x\\|^2/x_j`, j drawn with probability :math:`x_j^2/\\|x\\|^2`.

        Its mean is A x, and its mean square at most :math:`\\|A_i\\|^2\\|x\\|^2`. None at x = 0.
        """
        j, sq_norm = pick_square(x, unit)
        return None if j < 0 else self.column(j) * (sq_norm / x[j])

    def column(self, j: int) -> np.ndarray:
        """Column j as a dense vector."""
        at, values = self.table.column(j)
        if len(values) == self.n and not len(at):
            return values
        column = np.zeros(self.n)
        column[at] = values
        return column

    # --- bounds ---------------------------------------------------------------------------

    @property
    def longest(self) -> float:
        """The largest norm of a row; where rows are not in memory, of those read so far."""
        return self.matrix.largest_norm()

    def value_error(self, x: np.ndarray, least: float) -> float:
        return rounding(self.matrix.max_row_cells, self.longest * float(np.linalg.norm(x)))

    def slope_error(self, p: np.ndarray, terms: int = 0) -> float:
        used = int(np.count_nonzero(p))  # p sums to 1 up to so many roundings; a single row needs no sum
        return rounding(2 * used + terms, self.longest * self.diameter) if used + terms > 1 else 0.0

    def announce(self) -> None:
        if self.fraction is not None:
            self.table.expect(self.fraction.rows(self.n))

    def sample_of(self, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The values of these rows as a function of x; the rows are read now, and not again."""
        kept = as_matrix(self.matrix.gather(rows))
        return lambda x: _finite(kept.responses(x, 0, len(rows)))


def _finite(values: np.ndarray) -> np.ndarray:
    """The values, or an error if one is not finite."""
    if not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"Value number {i} is not finite: the matrix has NaN or infinite entries, or entries too large to be "
            "squared. Remove, replace or rescale them."
        )
    return values
