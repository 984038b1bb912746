"""Rows of a linear machine with the feature of their bias."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.types import Stored

SPARSE = 8.0
"""A cell of a sparse product takes this many times as long as one of a dense one."""


class Features(NamedTuple):
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

    @property
    def width(self) -> int:
        """Features of a row."""
        return self.X.shape[1] + 1

    @property
    def cells_per_row(self) -> float:
        """Cells that an inner product reads, in units of those of a dense one, which is faster."""
        X: Any = self.X
        return SPARSE * X.nnz / X.shape[0] if sp.issparse(X) else float(self.width)

    def dense(self, rows: np.ndarray) -> np.ndarray:
        """Some rows in float64, with the feature of the bias."""
        part: Any = self.X[rows]
        out = np.empty((len(rows), self.width))
        out[:, :-1] = part.toarray() if sp.issparse(part) else part
        out[:, -1] = self.constant
        return out

    def products(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """⟨x, z⟩ of some rows and some others, with the feature of a bias that is penalised."""
        one: Any = self.X[rows]
        other: Any = self.X[others]
        dots = one.astype(np.float64) @ other.astype(np.float64).T
        return (dots.toarray() if sp.issparse(dots) else dots) + self.constant**2 * self.penalty[-1]

    def sq_norms(self, rows: np.ndarray) -> np.ndarray:
        """Squared norms of some rows, likewise."""
        part: Any = self.X[rows].astype(np.float64)
        sq = part.multiply(part).sum(axis=1) if sp.issparse(part) else np.einsum("ij,ij->i", part, part)
        return np.asarray(sq).ravel() + self.constant**2 * self.penalty[-1]

    def typical_sq_norm(self, rows: np.ndarray) -> float:
        """The mean of the squared norms of a few of these rows; 1 where all are zero."""
        few = rows[:: max(1, len(rows) // 64)]
        return float(self.sq_norms(few).mean()) or 1.0 if len(few) else 1.0
