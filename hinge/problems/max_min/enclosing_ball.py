"""The smallest enclosing ball of the rows of a matrix, as a max-min problem; squared distances in float64."""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hinge.access import Data, as_matrix
from hinge.access.matrix import Matrix
from hinge.access.rows import read_row, sq_distance
from hinge.access.two_way.reader import DiskTable
from hinge.compiled import compiled
from hinge.problems.base import rounding
from hinge.problems.max_min.linear import LinearMaxMin, _finite, onto_ball
from hinge.sampling import pick_square
from hinge.types import Stored


def sq_distances(matrix: Data, z: np.ndarray, lo: int, hi: int) -> np.ndarray:
    """:math:`\\|a_i - z\\|^2` of rows lo to hi; reads are billed."""
    if isinstance(matrix, DiskTable):
        return _sq_distances_of(matrix.rows_between(lo, hi), z)
    return sq_distances_at(matrix, np.arange(lo, hi), z)


def sq_distances_at(matrix: Data, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
    """:math:`\\|a_i - z\\|^2` of some rows; reads are billed."""
    if not isinstance(matrix, Matrix):
        return _sq_distances_of(matrix.gather(np.asarray(rows)), z)
    out = np.empty(len(rows))
    _fill(matrix.rows, z, float(z @ z), np.asarray(rows), out)
    return out


def inner_products(matrix: Matrix, z: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """:math:`\\langle a_i - z, a_j - z\\rangle` of all rows, computed in the given type; not billed."""
    rows = matrix._array
    if not sp.issparse(rows):
        centred = rows - z if dtype == np.float64 else (rows - z.astype(dtype)).astype(dtype, copy=False)
        return np.asarray(centred @ centred.T, np.float64)
    rows = rows.astype(np.float64)
    G, along = (rows @ rows.T).toarray(), rows @ z
    return G - along[:, None] - along + z @ z


def mean_offset(matrix: Matrix, q: np.ndarray, z: np.ndarray) -> np.ndarray:
    """:math:`\\sum_i q_i(a_i - z)` over all rows, from differences if they are dense; not billed."""
    rows, total = matrix._array, np.zeros(len(z))
    if sp.issparse(rows):
        return rows.T @ q - z * q.sum()
    for lo, hi in matrix.row_blocks():
        total += q[lo:hi] @ (rows[lo:hi] - z)
    return total


def _sq_distances_of(rows: Stored, z: np.ndarray) -> np.ndarray:
    """Squared distances of rows in memory, as an array or a CSR matrix."""
    if isinstance(rows, np.ndarray):
        away = rows - z
        return np.einsum("ij,ij->i", away, away)
    there = z[rows.indices]
    owner = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    near = np.bincount(owner, (rows.data - there) ** 2, rows.shape[0])
    return near + np.maximum(0.0, z @ z - np.bincount(owner, there**2, rows.shape[0]))


@compiled
def _fill(A, z, sq_z, rows, out):
    for k in range(len(rows)):
        out[k] = sq_distance(A, read_row(A, rows[k]), z, sq_z)


CENTRE_ROWS = 256
"""Rows whose mean z is the origin of Algorithm 2: their mean is within a sixteenth of a standard deviation."""


class EnclosingBall(LinearMaxMin):
    """The centre and the radius of the smallest ball about the rows of a matrix,

    .. math:: -R^2 = \\max_x\\ \\min_i\\ -\\|a_i - x\\|^2
              = \\min_{p \\in \\Delta}\\ \\Big\\|\\sum_i p_i a_i\\Big\\|^2 - \\sum_i p_i\\|a_i\\|^2.

    Any x and any p bound the radius: :math:`-\\text{upper} \\le R^2 \\le -\\text{lower}`. Relative gaps are
    relative to R²; the relative gap of R is about half as large. The bounds are computed in float64 from differences
    :math:`a_i - x`, so points far from zero lose no digits.

    In Algorithm 2 the origin is the mean z of up to 256 rows. Its estimate of all values,

    .. math:: -\\|b_i\\|^2 + 2 b_{ij}\\|u\\|^2/u_j - \\|u\\|^2, \\qquad b_i = a_i - z,\\ u = x - z,
              \\quad j \\text{ with probability } u_j^2/\\|u\\|^2,

    has a mean square of at most :math:`(B + \\|u\\|)^4` with :math:`B = \\max_i\\|b_i\\|`. The optimal x has
    :math:`\\|u\\|^2 \\le B^2 - R^2`; K is this ball about z. The norms take one pass, which is billed once.

    Parameters
    ----------
    A : array, CSR matrix, Matrix or Table of shape (n, d)
        The points.
    relative, fraction
        As for `LinearMaxMin`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.problems import EnclosingBall
    >>> found = hinge.maxmin(EnclosingBall([[0.0, 0.0], [2.0, 0.0]]), eps=1e-3)
    >>> found.x.round(3).tolist(), bool(found.lower <= -1.0 <= found.upper)  # minus the squared radius
    ([1.0, 0.0], True)
    """

    linear = False
    primal = "mean"

    # --- the origin z ---------------------------------------------------------------------

    @cached_property
    def centre(self) -> np.ndarray:
        """z, the mean of up to 256 evenly spaced rows; they are read once, and billed."""
        rows = self._spread_rows()
        kept = as_matrix(self.matrix.gather(rows))
        first, total = np.zeros((2, self.d))
        kept.combine(np.ones(1), 0, 1, first)
        kept.combine(np.ones(len(rows)), 0, len(rows), total)
        # Written as first + mean of differences: if all rows are equal the result is exactly that row.
        centre = first + (total - len(rows) * first) / len(rows)
        if not np.isfinite(centre).all():
            raise ValueError("The points have NaN or infinite entries: remove or replace them.")
        return centre

    @cached_property
    def from_centre(self) -> np.ndarray:
        """:math:`\\|a_i - z\\|^2` of all rows; computed by one pass, which is billed."""
        return -self.values(self.centre)

    @property
    def scale(self) -> float:  # type: ignore[override]
        """:math:`B^2`, the largest squared distance from z; R² lies between a quarter of it and all of it."""
        return float(self.from_centre.max()) or 1.0

    @property
    def second_moment(self) -> float:  # type: ignore[override]
        """:math:`(1 + \\rho)^4`, where ρB is the radius of K."""
        return (1.0 + self._reach() / self.scale**0.5) ** 4

    @property
    def setup_reads(self) -> int:  # type: ignore[override]
        """Entries of the rows whose mean is z, and of all rows for their distances from z."""
        return min(self.n, CENTRE_ROWS) * self.matrix.max_row_cells + self.pass_cells

    def _reach(self) -> float:
        """The radius of K: the variance of the rows whose mean is z is a lower bound on R²."""
        least = max(0.25 * self.scale, float(self.from_centre[self._spread_rows()].mean()))
        return float(np.sqrt(max(0.0, self.scale - least)))

    def _spread_rows(self) -> np.ndarray:
        return np.unique(np.linspace(0, self.n - 1, min(self.n, CENTRE_ROWS)).astype(np.int64))

    # --- tiers ----------------------------------------------------------------------------

    def start(self) -> np.ndarray:
        return self.centre.copy()

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of K."""
        return self.centre + onto_ball(x - self.centre, self._reach())

    def values(self, x: np.ndarray) -> np.ndarray:
        """:math:`-\\|a_i - x\\|^2` for all i, in float64."""
        return -_finite(np.concatenate([sq_distances(self.matrix, x, lo, hi) for lo, hi in self.matrix.row_blocks()]))

    def quick_values(self, x: np.ndarray) -> np.ndarray:
        return self.values(x)  # limited by memory bandwidth already

    def values_at(self, rows: np.ndarray, x: np.ndarray) -> np.ndarray:
        return -_finite(sq_distances_at(self.matrix, rows, x))

    def grad_at(self, i: int, x: np.ndarray) -> np.ndarray:  # type: ignore[override]  # not linear: it needs x
        """:math:`2(a_i - x)`."""
        return 2.0 * self.sample_gradient(i, x)

    def sample_gradient(self, i: int, x: np.ndarray) -> np.ndarray:
        """:math:`a_i - x`: 1/t of it moves the mean of t - 1 points to the mean of t."""
        return super().grad_at(i) - x

    def estimate_values(self, x: np.ndarray, unit: float) -> np.ndarray:
        """The values by an ℓ2-sample of all inner products with x - z; exact at x = z."""
        u = x - self.centre
        j, sq_norm = pick_square(u, unit)
        if j < 0:
            return -self.from_centre
        along = (self.column(j) - self.centre[j]) * (2.0 * sq_norm / u[j])
        return along - self.from_centre - sq_norm

    # --- used by core-sets ----------------------------------------------------------------

    def gather(self, rows: np.ndarray) -> Matrix:
        """A copy of some rows, in memory; only the copying is billed."""
        return as_matrix(self.matrix.gather(rows))

    def inner(self, kept: Matrix, exact: bool) -> np.ndarray:
        """Inner products of :math:`a_i - z` for the rows of a copy; in the type of the storage unless `exact`."""
        return inner_products(kept, self.centre, np.float64 if exact else kept.dtype)

    # --- bounds ---------------------------------------------------------------------------

    def dual_bound(self, p: np.ndarray, combined: np.ndarray | None = None) -> float:
        """Minus the variance :math:`\\sum_i p_i\\|a_i - \\bar a\\|^2` of the points with weights p."""
        used = np.flatnonzero(p)
        q = p[used] / p[used].sum()
        kept = self.gather(used)
        mean = np.zeros(self.d)
        kept.combine(q, 0, len(used), mean)
        return -self.variance(kept, q, mean, _finite(sq_distances(kept, mean, 0, len(used))))

    def variance(self, kept: Matrix, q: np.ndarray, z: np.ndarray, D: np.ndarray) -> float:
        """Lower bound on the variance of rows in memory with weights q, from their squared distances D to a point z.

        It is :math:`\\sum_i q_iD_i - \\|\\sum_i q_i(a_i - z)\\|^2`. z is the mean up to rounding, which for points far
        from zero and near one another makes the second term matter.
        """
        mean = float(q @ D)
        size = float(q @ np.sqrt(D)) if not kept.is_sparse else kept.largest_norm() + float(np.linalg.norm(z))
        away = float(np.linalg.norm(mean_offset(kept, q, z)))
        away += rounding(len(q) + self.d, size + away)
        squares = mean + (float(z @ z) if kept.is_sparse else 0.0)
        return max(0.0, mean - rounding(2 * len(q) + self.d, squares) - away * away * (1.0 + rounding(0, 1.0)))

    def value_error(self, x: np.ndarray, least: float) -> float:
        """Rounding of sums of squares; for sparse rows, of a difference of two such sums."""
        return rounding(self.d, abs(least) + (float(x @ x) if self.read_through.is_sparse else 0.0))

    def sample_of(self, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        kept = self.gather(rows)
        return lambda x: -_finite(sq_distances(kept, x, 0, len(rows)))
