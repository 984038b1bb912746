"""Removal of what is empty: columns of wide sparse data such as hashed text, and zeros of dense data such as images.

Vectors of a fit become shorter by it, and passes over the rows.
"""

from typing import NamedTuple, cast

import numpy as np

from hinge.access.matrix import Matrix, frozen
from hinge.access.rows import CSRRows
from hinge.access.tables.table import Table

MANY_CELLS = 16  # cells per column from which on vectors of all columns cost little compared with a pass over the cells
WORTH = 1 << 20  # cells from which on that saves more time than its compilation may take
ROOM = 1 << 28  # bytes that the copy may take


class Occupied(NamedTuple):
    """A matrix without what is empty, the indices of the columns that are left, and the original number of columns.

    `columns` is None if none were removed.
    """

    matrix: Matrix | Table
    columns: np.ndarray | None
    width: int

    def wide(self, w: np.ndarray) -> np.ndarray:
        """A vector with zeros for the columns that were removed."""
        if self.columns is None:
            return w
        out = np.zeros(self.width, w.dtype)
        out[self.columns] = w
        return out

    def narrow(self, w: np.ndarray) -> np.ndarray:
        """A vector without the columns that were removed."""
        return w if self.columns is None else w[self.columns]


def occupied(matrix: Matrix | Table, *, compress: bool = True) -> Occupied:
    """The matrix without its empty columns if at least half are empty; else unchanged.

    Column indices are copied, values are not. It costs a pass over the indices, made only if there are few cells for
    each column: text hashed to 2²⁰ columns uses a few per cent of them, and each vector of a fit would have that
    length. Dense rows in which most cells are zero are compressed, unless `compress` forbids it: that costs about as
    much as two passes of a solver.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from hinge.access import as_matrix
    >>> from hinge.access.occupied import occupied
    >>> X = sp.csr_array(([1.0, 2.0], ([0, 1], [70, 900])), shape=(2, 1000))
    >>> seen = occupied(as_matrix(X))
    >>> seen.matrix.shape, seen.columns.tolist(), seen.wide(np.array([3.0, 4.0]))[900]
    ((2, 2), [70, 900], np.float64(4.0))
    """
    n, width = matrix.shape
    if compress and isinstance(matrix, Matrix) and not matrix.is_sparse and matrix.n_cells >= WORTH:
        matrix = matrix.compressed(0.2, ROOM)  # a compressed cell costs three times as much as a dense one
    if not (isinstance(matrix, Matrix) and isinstance(matrix.rows, CSRRows)) or matrix.n_cells >= MANY_CELLS * width:
        return Occupied(matrix, None, width)
    indices = matrix.rows.indices
    if width > MANY_CELLS * matrix.n_cells:  # to sort few cells takes less time and memory than a vector of all columns
        columns, numbers = np.unique(indices, return_inverse=True)
    else:
        used = np.zeros(width, bool)
        used[indices] = True
        columns = np.flatnonzero(used)
        if len(columns) > 0.5 * width:
            return Occupied(matrix, None, width)
        numbers = (np.cumsum(used, dtype=indices.dtype) - indices.dtype.type(1))[indices]
    if not len(columns):
        return Occupied(matrix, None, width)
    columns, numbers = columns.astype(np.int64), frozen(numbers.astype(indices.dtype, copy=False))
    other = matrix.fork()
    other.shape = n, len(columns)
    for rows in ("rows", "unbilled"):
        setattr(other, rows, cast(CSRRows, getattr(other, rows))._replace(indices=numbers))
    other._by_columns = []
    return Occupied(other, columns, width)
