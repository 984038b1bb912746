"""Rows of a linear classifier, extended by the constant feature of the bias."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.access import Matrix, as_matrix
from hinge.types import Stored

SPARSE = 8.0
"""Time of a nonzero entry in a sparse product, relative to an entry in a dense one."""

A_FEW = 8
"""Number of rows of which a typical norm is the median."""


@dataclass(frozen=True)
class Features:
    """Rows of a linear classifier with the constant feature of its bias.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
        Without the columns that the classifier does not use.
    constant : float
        Value of the constant feature; 0 without a bias.
    penalty : ndarray of shape (d + 1,)
        Diagonal of the penalty's Hessian: 1, or 0 for a weight that is not penalised.
    """

    X: Stored
    constant: float
    penalty: np.ndarray

    @cached_property
    def matrix(self) -> Matrix:
        """The rows for compiled code; its reads are counted apart from those of the fit."""
        return as_matrix(self.X, checked=True)

    @property
    def width(self) -> int:
        """Number of features, the constant one included."""
        return self.X.shape[1] + 1

    @property
    def cells_per_row(self) -> float:
        """Mean number of stored entries of a row, the constant feature included."""
        X: Any = self.X
        return X.nnz / max(1, X.shape[0]) + 1.0 if sp.issparse(X) else float(self.width)

    @property
    def cells_per_product(self) -> float:
        """The same, in units of the time of an entry in a dense inner product."""
        return self.cells_per_row * (SPARSE if sp.issparse(self.X) else 1.0)

    def dense(self, rows: np.ndarray) -> np.ndarray:
        """Some rows in float64, with the constant feature."""
        part: Any = self.X[rows]
        out = np.empty((len(rows), self.width))
        out[:, :-1] = part.toarray() if sp.issparse(part) else part
        out[:, -1] = self.constant
        return out

    def times(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """⟨x, v⟩ for some rows x and all columns v of V, the last entries of which belong to the bias; in X's dtype."""
        X: Any = self.X
        return self._taken(rows) @ V[:-1].astype(X.dtype, copy=False) + self.constant * V[-1]

    def products(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """⟨x, z⟩ for some rows and some others, with the constant feature if the bias is penalised."""
        one = self._some(rows)
        other = one if others is rows else self._some(others)
        dots = one @ other.T
        return (dots.toarray() if sp.issparse(dots) else dots) + self.constant**2 * self.penalty[-1]

    def sq_norms(self, rows: np.ndarray) -> np.ndarray:
        """Squared norms of some rows, with the constant feature if the bias is penalised."""
        part = self._some(rows)
        sq = part.multiply(part).sum(axis=1) if sp.issparse(part) else np.einsum("ij,ij->i", part, part)
        return np.asarray(sq).ravel() + self.constant**2 * self.penalty[-1]

    def typical_sq_norm(self) -> float:
        """The median of the squared norms of a few rows; 1 if that is zero."""
        return self.matrix.typical_sq_norm(A_FEW) + self.constant**2 * self.penalty[-1] or 1.0

    def responses(self, rows: np.ndarray, v: np.ndarray) -> np.ndarray:
        """⟨x, v⟩ of some rows; the last entry of v belongs to the constant feature."""
        return self.matrix.responses_at(rows, v[:-1]) + self.constant * v[-1]

    def combination(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The sum of some rows times their coefficients, with the constant feature."""
        every, v = np.zeros(self.X.shape[0]), np.zeros(self.width)
        every[rows] = coef
        self.matrix.combine(every, 0, len(every), v[:-1])
        v[-1] = self.constant * coef.sum()
        return v

    def _some(self, rows: np.ndarray) -> Any:
        """Some rows in float64."""
        return self._taken(rows).astype(np.float64, copy=False)

    def _taken(self, rows: np.ndarray) -> Any:
        """Some rows; not copied if they are all rows, in order."""
        X: Any = self.X
        return X if len(rows) == X.shape[0] and (rows[1:] > rows[:-1]).all() else X[rows]
