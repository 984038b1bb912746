"""Removal of empty columns, from wide sparse data such as hashed text: vectors of a fit become shorter."""

from typing import NamedTuple, cast

import numpy as np

from hinge.access.matrix import Matrix, frozen
from hinge.access.rows import CSRRows
from hinge.access.tables.table import Table
from hinge.compiled import compiled

MANY_CELLS = 16  # cells per column from which on vectors of all columns cost little compared with a pass over the cells
FEW = 0.5  # empty columns are removed if at most this fraction of the columns has cells


class Occupied(NamedTuple):
    """A matrix without its empty columns, the indices of the columns that are left, and the original number of columns.

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


def occupied(matrix: Matrix | Table) -> Occupied:
    """The matrix without its empty columns if most are empty; else unchanged.

    Column indices are copied, values are not. It costs a pass over the indices, made only if there are few cells for
    each column: text hashed to 2²⁰ columns uses a few per cent of them, and each vector of a fit would have that
    length.

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
    if not (isinstance(matrix, Matrix) and isinstance(matrix.rows, CSRRows)) or matrix.n_cells >= MANY_CELLS * width:
        return Occupied(matrix, None, width)
    indices = matrix.rows.indices
    columns = np.flatnonzero(_flags(indices, width))
    if len(columns) > FEW * width or not len(columns):
        return Occupied(matrix, None, width)
    place = np.empty(width, indices.dtype)
    place[columns] = np.arange(len(columns), dtype=indices.dtype)
    numbers = frozen(_renumbered(indices, place))
    other = matrix.fork()
    other.shape = n, len(columns)
    for rows in ("rows", "unbilled"):
        setattr(other, rows, cast(CSRRows, getattr(other, rows))._replace(indices=numbers))
    other._by_columns = []
    return Occupied(other, columns, width)


@compiled
def _flags(indices, width):
    flags = np.zeros(width, np.bool_)
    for p in range(np.uint64(len(indices))):
        flags[indices[p]] = True
    return flags


@compiled
def _renumbered(indices, place):
    out = np.empty(len(indices), place.dtype)
    for p in range(np.uint64(len(indices))):
        out[p] = place[indices[p]]
    return out
