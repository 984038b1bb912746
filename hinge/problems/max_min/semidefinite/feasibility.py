"""Feasibility of semidefinite programs: the largest smallest of several linear functions of a matrix."""

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access import Data, as_matrix
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.linear import LinearMaxMin
from hinge.problems.max_min.sampled_bound import Fraction
from hinge.problems.max_min.semidefinite.sparse_projection import project_sparsely
from hinge.problems.max_min.semidefinite.spectral import onto_bounded_cone, top_eigenvalue
from hinge.problems.max_min.semidefinite.svec import order_of, pack, pack_factors, places, smat, svec
from hinge.problems.rounding import rounding
from hinge.types import MatrixLike

SMALL_VALUE = 1e-3  # of a typical eigenvalue: gaps of smaller values are relative to this


class Semidefinite(LinearMaxMin):
    """The X that satisfies :math:`A_i \\circ X \\ge 0` best, and by how much,

    .. math:: \\sigma = \\max_{X \\succeq 0,\\ \\mathrm{tr} X \\le 1}\\ \\min_i\\ A_i \\circ X
              = \\min_{p \\in \\Delta}\\ \\max\\Big(0, \\lambda_{\\max}\\Big(\\sum_i p_i A_i\\Big)\\Big).

    σ > 0 says that a strictly feasible X exists. A p with :math:`\\lambda_{\\max}(\\sum_i p_i A_i) < 0` is a
    witness that only X = 0 is feasible; then σ = 0. Relative gaps are relative to the upper bound, or to a
    thousandth of a typical eigenvalue where σ is smaller than that.

    Each :math:`A_i` is stored as one row, svec(A): the upper triangle with off-diagonal entries times √2, so
    that products of matrices are those of rows, norms are Frobenius norms, and half of the memory is enough.
    The variable x is svec(X); see `matrix_of`.

    Parameters
    ----------
    A : array of shape (m, n, n), sequence of (n, n) arrays or sparse matrices, or packed rows
        float32 stays so; its off-diagonal entries are rounded once more by the factor √2, and the
        certificate is of the rounded ones. Sparse matrices make CSR rows.
    packed : bool
        Whether A has the rows svec(A) already: array, CSR matrix, Matrix or Table of shape (m, n(n+1)/2).
    symmetrize : bool
        Take (A + Aᵀ)/2, which has the same products with symmetric X; or refuse matrices that are not
        symmetric.
    projection : {"exact", "sparse"}
        By all positive eigenvalues; or Hazan's approximate one of low rank, as in the survey's Algorithm 3.
    accuracy : float
        :math:`\\epsilon_P` of the sparse projection, whose squared distance is right to
        :math:`\\epsilon_P^2`. The survey takes ε/2.
    relative, fraction
        As for `LinearMaxMin`.

    Attributes
    ----------
    order : int
        n, the order of the matrices.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> from hinge.problems import Semidefinite
    >>> problem = Semidefinite(np.array([np.diag([1.0, -1.0]), np.diag([-0.5, 1.0])]))
    >>> bool(hinge.maxmin(problem, eps=1e-3).lower > 0.14)
    True
    """

    paper_constant = 60.0

    def __init__(
        self,
        A: MatrixLike | Sequence[MatrixLike] | Data,
        *,
        packed: bool = False,
        symmetrize: bool = True,
        projection: Literal["exact", "sparse"] = "exact",
        accuracy: float = 0.05,
        relative: bool = True,
        fraction: Fraction | None = None,
    ) -> None:
        if projection not in ("exact", "sparse"):
            raise ValueError(f"projection is 'exact' or 'sparse', not {projection!r}.")
        if not 0 < accuracy < np.inf:
            raise ValueError(f"accuracy must be a positive number, got {accuracy!r}.")
        rows = _checked_rows(cast(MatrixLike | Data, A)) if packed else pack(cast(Sequence[MatrixLike], A), symmetrize)
        super().__init__(rows, relative=relative, fraction=fraction)
        self.order = order_of(self.d)
        self.projection, self.accuracy = projection, accuracy
        self._scale: float | None = None
        self._typical: float | None = None

    @classmethod
    def from_factors(cls, a: ArrayLike, b: ArrayLike, **options: Any) -> "Semidefinite":
        """The problem of :math:`A_i = a_i a_i^\\top - b_i b_i^\\top`, as learned metrics have it.

        Parameters
        ----------
        a, b : arrays of shape (m, n)
        """
        return cls(pack_factors(a, b), packed=True, **options)

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The largest Frobenius norm: bookkeeping of an assumption, not billed."""
        if self._scale is None:
            self._scale = self.matrix.largest_norm() if self.in_memory else 1.0
        return self._scale or 1.0

    def matrix_of(self, x: np.ndarray) -> np.ndarray:
        """The n × n matrix X of x = svec(X)."""
        return smat(np.asarray(x, np.float64), self.order)

    def vector_of(self, X: np.ndarray) -> np.ndarray:
        """svec(X) of a symmetric n × n matrix."""
        return svec(np.asarray(X, np.float64))

    def trace(self, x: np.ndarray) -> float:
        """The trace of X."""
        n = self.order
        return float(x[places(n).full[:: n + 1]].sum())

    # --- the set --------------------------------------------------------------------------

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of K: its eigenvalues are projected on {l ≥ 0, Σ l ≤ 1}; O(n³), or "sparse"."""
        if self.projection == "sparse":
            return svec(project_sparsely(self.matrix_of(x), self.accuracy**2).X)
        return self.nearest(x)

    def nearest(self, x: np.ndarray) -> np.ndarray:
        """The exact projection onto K, in float64."""
        return svec(onto_bounded_cone(self.matrix_of(x)))

    def largest_eigenvalue(self, p: np.ndarray) -> float:
        """:math:`\\lambda_{\\max}(\\sum_i p_i A_i)`: negative, it proves that only X = 0 is feasible."""
        return top_eigenvalue(self.matrix_of(self.combine(p)))

    def support(self, g: np.ndarray) -> float:
        """:math:`\\max(0, \\lambda_{\\max})`, with O(n)·ε·‖g‖ for the rounding of the eigenvalue."""
        return max(0.0, top_eigenvalue(self.matrix_of(g)) + rounding(4 * self.order, float(np.linalg.norm(g))))

    # --- bounds ---------------------------------------------------------------------------

    def settled(self, x: np.ndarray) -> np.ndarray:
        """The point that `lower` speaks of: the nearest of K, and of trace 1 if it is not zero."""
        x = self.nearest(x)
        trace = self.trace(x)
        return x / trace if trace > 0.0 else x

    def lower(self, x: np.ndarray) -> float:
        """The smallest value at `settled` x, less its rounding; 0, that of X = 0, where it is negative."""
        return max(0.0, super().lower(self.settled(x)))

    def value_error(self, x: np.ndarray, least: float) -> float:
        """That of products, and of an X that is positive and of trace 1 but for rounding."""
        return rounding(self.matrix.max_row_cells + 8 * self.order, self.longest)

    def dual_bound(self, p: np.ndarray, combined: np.ndarray | None = None) -> float:
        g = self.combine(p) if combined is None else combined
        error = rounding(4 * self.order, float(np.linalg.norm(g))) + self.slope_error(p)
        return max(0.0, top_eigenvalue(self.matrix_of(g)) + error)

    def present(self, x: np.ndarray) -> np.ndarray:
        """The matrix of `settled` x."""
        return self.matrix_of(self.settled(x))

    def objective(self, answer: Strategies) -> float:
        return self.lower(answer.x)

    def unit(self, lower: float, upper: float) -> float:
        if self._typical is None:
            typical = self.matrix.typical_sq_norm() ** 0.5 if self.in_memory else self.scale
            self._typical = typical / self.order**0.5
        return max(upper, SMALL_VALUE * self._typical)


def _checked_rows(A: MatrixLike | Data) -> Data:
    """Packed rows, if they are finite; those of a table are looked at when they are read."""
    if isinstance(A, Data):
        return A
    values = cast(sp.csr_array, A).data if sp.issparse(A) else np.asarray(A)
    if values.dtype.kind not in "iubf":
        raise ValueError(f"Packed rows must hold real numbers, not {values.dtype}.")
    for lo in range(0, len(values), 4096):
        if not np.isfinite(values[lo : lo + 4096]).all():
            raise ValueError("The packed rows have NaN or infinite entries: remove or replace them.")
    return as_matrix(A)
