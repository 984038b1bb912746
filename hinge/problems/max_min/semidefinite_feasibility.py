"""Feasibility of semidefinite programs: maximise the smallest of several linear functions of a matrix."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access import Data, as_matrix
from hinge.problems.base import rounding
from hinge.problems.max_min.base import NEGLIGIBLE, Fraction
from hinge.problems.max_min.linear import LinearMaxMin
from hinge.problems.max_min.symmetric import (
    onto_bounded_cone,
    order_of,
    pack,
    pack_factors,
    places,
    smat,
    svec,
    top_eigenvalue,
)
from hinge.types import MatrixLike


class Semidefinite(LinearMaxMin):
    """The X ⪰ 0 that maximises the smallest :math:`A_i \\circ X`,

    .. math:: \\sigma = \\max_{X \\succeq 0,\\ \\mathrm{tr} X \\le 1}\\ \\min_i\\ A_i \\circ X
              = \\min_{p \\in \\Delta}\\ \\max\\Big(0, \\lambda_{\\max}\\Big(\\sum_i p_i A_i\\Big)\\Big).

    σ > 0 means that a strictly feasible X exists. A p with :math:`\\lambda_{\\max}(\\sum_i p_i A_i) < 0` proves that
    only X = 0 is feasible; then σ = 0. Relative gaps are relative to the upper bound, or to a thousandth of a typical
    eigenvalue if σ is smaller than that.

    Each :math:`A_i` is stored as one row, svec(A): the upper triangle with off-diagonal entries multiplied by √2, so
    that rows have the inner products of their matrices, norms are Frobenius norms, and half of the memory suffices.
    The variable x is svec(X); see `matrix_of`.

    Parameters
    ----------
    A : array of shape (m, n, n), sequence of (n, n) arrays or sparse matrices, or packed rows
        float32 is kept; the factor √2 rounds its off-diagonal entries once more, and the certificate is for the
        rounded matrices. Sparse matrices become CSR rows.
    packed : bool
        Whether A has the rows svec(A) already: array, CSR matrix, Matrix or Table of shape (m, n(n+1)/2).
    symmetrize : bool
        Whether to replace A by (A + Aᵀ)/2, which has the same products with symmetric X; else matrices that are not
        symmetric raise an error.
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
        relative: bool = True,
        fraction: Fraction | None = None,
    ) -> None:
        rows = _checked_rows(cast(MatrixLike | Data, A)) if packed else pack(cast(Sequence[MatrixLike], A), symmetrize)
        super().__init__(rows, relative=relative, fraction=fraction)
        self.order = order_of(self.d)

    @classmethod
    def from_factors(cls, a: ArrayLike, b: ArrayLike, **options: Any) -> "Semidefinite":
        """The problem with :math:`A_i = a_i a_i^\\top - b_i b_i^\\top`, as in metric learning.

        Parameters
        ----------
        a, b : arrays of shape (m, n)
        """
        return cls(pack_factors(a, b), packed=True, **options)

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
        """The nearest point of K, by projecting the eigenvalues onto {l ≥ 0, Σ l ≤ 1}; O(n³), in float64."""
        return svec(onto_bounded_cone(self.matrix_of(x)))

    def largest_eigenvalue(self, p: np.ndarray) -> float:
        """:math:`\\lambda_{\\max}(\\sum_i p_i A_i)`: negative, it proves that only X = 0 is feasible."""
        return top_eigenvalue(self.matrix_of(self.combine(p)))

    def support(self, g: np.ndarray) -> float:
        """:math:`\\max(0, \\lambda_{\\max})`, plus O(n)·ε·‖g‖ for the rounding of the eigenvalue."""
        return max(0.0, top_eigenvalue(self.matrix_of(g)) + rounding(4 * self.order, float(np.linalg.norm(g))))

    # --- bounds ---------------------------------------------------------------------------

    def settled(self, x: np.ndarray) -> np.ndarray:
        """The point that `lower` evaluates: the projection onto K, scaled to trace 1 if it is not zero."""
        x = self.project(x)
        trace = self.trace(x)
        return x / trace if trace > 0.0 else x

    def lower(self, x: np.ndarray) -> float:
        """The smallest value at `settled` x, less its rounding error; 0, the value of X = 0, if that is negative."""
        return max(0.0, super().lower(self.settled(x)))

    def value_error(self, x: np.ndarray, least: float) -> float:
        """Rounding of the products, and of an X that is semidefinite and of trace 1 only up to rounding."""
        return rounding(self.matrix.max_row_cells + 8 * self.order, self.longest)

    def dual_bound(self, p: np.ndarray, combined: np.ndarray | None = None) -> float:
        g = self.combine(p) if combined is None else combined
        error = rounding(4 * self.order, float(np.linalg.norm(g))) + self.slope_error(p)
        return max(0.0, top_eigenvalue(self.matrix_of(g)) + error)

    def present(self, x: np.ndarray) -> np.ndarray:
        """The matrix of `settled` x."""
        return self.matrix_of(self.settled(x))

    def unit(self, lower: float, upper: float) -> float:
        return max(upper, NEGLIGIBLE * self.typical / self.order**0.5)


def _checked_rows(A: MatrixLike | Data) -> Data:
    """Packed rows, or an error if they are not finite; rows of a table are checked when they are read."""
    if isinstance(A, Data):
        return A
    values = cast(sp.csr_array, A).data if sp.issparse(A) else np.asarray(A)
    if values.dtype.kind not in "iubf":
        raise ValueError(f"Packed rows must hold real numbers, not {values.dtype}.")
    for lo in range(0, len(values), 4096):
        if not np.isfinite(values[lo : lo + 4096]).all():
            raise ValueError("The packed rows have NaN or infinite entries: remove or replace them.")
    return as_matrix(A)
