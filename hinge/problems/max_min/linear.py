"""Linear functions that are the rows of a matrix: the base class of margins, games and semidefinite programs."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from hinge.access import Data, Matrix, as_matrix
from hinge.compiled import compiled
from hinge.problems.base import OnData, rounding
from hinge.problems.max_min.base import Fraction, MaxMin, Strategies
from hinge.sampling import pick, pick_square
from hinge.types import MatrixLike


def onto_ball(x: np.ndarray, radius: float = 1.0) -> np.ndarray:
    """The nearest point of the ball about zero."""
    norm = float(np.linalg.norm(x))
    return x if norm <= radius else x * (radius / norm)


def onto_simplex(x: np.ndarray) -> np.ndarray:
    """The nearest p with :math:`p \\ge 0` and :math:`\\sum_i p_i = 1`."""
    p = np.array(x, np.float64)
    project_onto_simplex(p)
    return p


@compiled
def project_onto_simplex(z):
    """The same in place: max(0, z - θ).

    Newton's method on the convex :math:`\\sum_j\\max(0, z_j - \\theta) = 1`, from a θ below its root (Michelot); O(n) a
    step, of which there are few.
    """
    top, total = -np.inf, 0.0
    for j in range(len(z)):
        top = max(top, z[j])
    for j in range(len(z)):
        total += z[j] - top
    theta = max((total - 1.0) / len(z), -1.0)  # relative to the largest entry, which keeps the sums small
    while True:
        total, count = -1.0, 0
        for j in range(len(z)):
            if z[j] - top > theta:
                total += z[j] - top
                count += 1
        if count == 0 or not total / count > theta:  # no entry is counted where one is nan
            break
        theta = total / count
    for j in range(len(z)):
        z[j] = max(z[j] - top - theta, 0.0)


def onto_cap(x: np.ndarray) -> np.ndarray:
    """The nearest point with :math:`x \\ge 0` and :math:`\\sum_i x_i \\le 1`."""
    positive = np.maximum(x, 0.0)
    return positive if positive.sum() <= 1.0 else onto_simplex(x)


class LinearMaxMin(OnData[Strategies], MaxMin):
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

    signs: np.ndarray | None = None
    """-1 and 1 for each row, where some are turned."""

    def __init__(self, A: MatrixLike | Data, *, relative: bool = True, fraction: Fraction | None = None) -> None:
        data = as_matrix(A)
        super().__init__(data)
        self.matrix = data.by_rows  # for whole passes, which here are not billed at the prices of cells
        self.in_memory = isinstance(self.matrix, Matrix)
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
        values = np.concatenate([self.matrix.responses(x, lo, hi) for lo, hi in self.matrix.row_blocks()])
        return self._signed(_finite(values))

    def combine(self, p: np.ndarray) -> np.ndarray:
        """Aᵀp, summed in float64; rows without weight are not read."""
        p, g = self._signed(p), np.zeros(self.d)
        for lo, hi in self.matrix.row_blocks():
            self.matrix.combine(p[lo:hi], lo, hi, g)
        return g

    def quick_values(self, x: np.ndarray) -> np.ndarray:
        return self._signed(_finite(self.matrix.times(x))) if self.in_memory else self.values(x)

    def quick_combine(self, p: np.ndarray) -> np.ndarray:
        return self.matrix.transposed_times(self._signed(p)) if self.in_memory else self.combine(p)

    def values_at(self, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        return self._signed(self.matrix.responses_at(rows, x), rows)

    def grad_at(self, i: int, x: np.ndarray | None = None) -> np.ndarray:
        """Row i."""
        return self._signed(self.table.row(i).dense(self.d), i)

    def estimate_values(self, x: np.ndarray, unit: float) -> np.ndarray | None:
        """The ℓ2-sample :math:`A_{\\cdot j}\\|x\\|^2/x_j`, j drawn with probability :math:`x_j^2/\\|x\\|^2`.

        Its mean is A x, and its mean square at most :math:`\\|A_i\\|^2\\|x\\|^2`. None at x = 0.
        """
        j, sq_norm = pick_square(x, unit)
        return None if j < 0 else self.column(j) * (sq_norm / x[j])

    def column(self, j: int) -> np.ndarray:
        """Column j as a dense vector."""
        return self._signed(self.table.column(j).dense(self.n))

    def _signed(self, values: np.ndarray, rows: slice | np.ndarray | int = slice(None)) -> np.ndarray:
        """Numbers of some functions, with their signs."""
        return values if self.signs is None else self.signs[rows] * values

    # --- bounds ---------------------------------------------------------------------------

    @cached_property
    def scale(self) -> float:  # type: ignore[override]
        """The largest norm of a row; the step sizes assume it, and its reads are not billed."""
        return (self.matrix.largest_norm() if self.in_memory else 0.0) or 1.0

    @cached_property
    def typical(self) -> float:
        """The norm of a typical row (not billed); of data that is not in memory, the bound on all norms."""
        return self.matrix.fork().typical_sq_norm() ** 0.5 if self.in_memory else self.scale

    @property
    def longest(self) -> float:
        """The largest norm of a row; where rows are not in memory, of those read so far."""
        return self.matrix.largest_norm()

    def value_error(self, x: np.ndarray, least: float) -> float:
        return rounding(self.matrix.max_row_cells, self.longest * float(np.linalg.norm(x)))

    def slope_error(self, p: np.ndarray, terms: int = 0) -> float:
        used = int(np.count_nonzero(p))  # p sums to 1 up to this number of roundings; a single row needs no sum
        return rounding(2 * used + terms, self.longest * self.diameter) if used + terms > 1 else 0.0

    def announce(self) -> None:
        if self.fraction is not None:
            self.table.expect(self.fraction.rows(self.n))

    def sample_of(self, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The values of these rows as a function of x; the rows are read now, and not again."""
        kept = as_matrix(self.matrix.gather(rows))
        return lambda x: self._signed(_finite(kept.responses(x, 0, len(rows))), rows)


def _finite(values: np.ndarray) -> np.ndarray:
    """The values, or an error if one is not finite."""
    if not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"Value number {i} is not finite: the matrix has NaN or infinite entries, or entries too large to be "
            "squared. Remove, replace or rescale them."
        )
    return values


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
        if largest is not None:
            self.longest = largest

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The largest |payoff|; the step sizes assume it, and its reads are not billed."""
        return self.longest or 1.0

    @cached_property
    def longest(self) -> float:
        """The largest |payoff|, which bounds the values since weights sum to 1."""
        return self.matrix.largest_entry() if self.in_memory else 1.0

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
        # The entries of x sum to 1, up to d roundings.
        return rounding(self.matrix.max_row_cells + self.d, self.longest)

    def unit(self, lower: float, upper: float) -> float:
        return self.scale
