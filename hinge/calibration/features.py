"""Rows of a linear machine with the feature of their bias."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.access import Matrix, as_matrix
from hinge.types import Stored

SPARSE = 8.0
"""A cell of a sparse product takes this many times as long as one of a dense one."""

A_FEW = 8
"""Rows that a typical norm is taken of."""


@dataclass(frozen=True)
class Features:
    """Rows as a linear machine sees them.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
        Without the columns that the machine does not use.
    constant : float
        The feature of the bias; 0 where there is none.
    penalty : ndarray of shape (d + 1,)
        What the square of each weight costs, twice: 1, or 0 of one that is free.
    """

    X: Stored
    constant: float
    penalty: np.ndarray

    @cached_property
    def matrix(self) -> Matrix:
        """The rows for compiled code, with a counter of their own."""
        return as_matrix(self.X, checked=True)

    @property
    def width(self) -> int:
        """Features of a row."""
        return self.X.shape[1] + 1

    @property
    def cells_per_row(self) -> float:
        """Cells that a row has."""
        X: Any = self.X
        return X.nnz / max(1, X.shape[0]) + 1.0 if sp.issparse(X) else float(self.width)

    @property
    def cells_per_product(self) -> float:
        """Cells that an inner product reads, in units of those of a dense one, which is faster."""
        return self.cells_per_row * (SPARSE if sp.issparse(self.X) else 1.0)

    def dense(self, rows: np.ndarray) -> np.ndarray:
        """Some rows in float64, with the feature of the bias."""
        part: Any = self.X[rows]
        out = np.empty((len(rows), self.width))
        out[:, :-1] = part.toarray() if sp.issparse(part) else part
        out[:, -1] = self.constant
        return out

    def times(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """⟨x, v⟩ of some rows and the columns v of V, whose last entries are for the bias; in X's own type."""
        X: Any = self.X
        part = X if len(rows) == X.shape[0] and (rows[1:] > rows[:-1]).all() else X[rows]
        return part @ V[:-1].astype(X.dtype, copy=False) + self.constant * V[-1]

    def products(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """⟨x, z⟩ of some rows and some others, with the feature of a bias that is penalised."""
        one = self._some(rows)
        other = one if others is rows else self._some(others)
        dots = one @ other.T
        return (dots.toarray() if sp.issparse(dots) else dots) + self.constant**2 * self.penalty[-1]

    def sq_norms(self, rows: np.ndarray) -> np.ndarray:
        """Squared norms of some rows, likewise."""
        part = self._some(rows)
        sq = part.multiply(part).sum(axis=1) if sp.issparse(part) else np.einsum("ij,ij->i", part, part)
        return np.asarray(sq).ravel() + self.constant**2 * self.penalty[-1]

    def typical_sq_norm(self) -> float:
        """The median of the squared norms of a few rows; 1 where that is zero."""
        return self.matrix.typical_sq_norm(A_FEW) + self.constant**2 * self.penalty[-1] or 1.0

    def there(self, rows: np.ndarray, v: np.ndarray) -> np.ndarray:
        """⟨x, v⟩ of some rows, with the feature of the bias as the last of v."""
        return self.matrix.responses_at(rows, v[:-1]) + self.constant * v[-1]

    def back(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The sum of some rows, each times its coefficient, likewise."""
        every, v = np.zeros(self.X.shape[0]), np.zeros(self.width)
        every[rows] = coef
        self.matrix.combine(every, 0, len(every), v[:-1])
        v[-1] = self.constant * coef.sum()
        return v

    def _some(self, rows: np.ndarray) -> Any:
        """Rows in float64, which are not copied where they are all in their order."""
        X: Any = self.X
        same = len(rows) == X.shape[0] and (rows[1:] > rows[:-1]).all()
        return (X if same else X[rows]).astype(np.float64, copy=False)
