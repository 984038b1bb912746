"""The columns that have cells: of wide data with few of them, such as hashed text, a fit needs no others."""

from typing import NamedTuple, cast

import numpy as np

from hinge.access.matrix import Matrix, frozen
from hinge.access.rows import CSRRows
from hinge.access.tables.table import Table
from hinge.compiled import compiled

MANY_CELLS = 16  # for each column, from which on what is done for all columns is little beside a pass over the cells
FEW = 0.5  # share of the columns that may have cells, for the others to be left out


class Occupied(NamedTuple):
    """A matrix without its empty columns, the numbers of those that are left, and how many there were.

    `columns` is None where all are there.
    """

    matrix: Matrix | Table
    columns: np.ndarray | None
    width: int

    def wide(self, w: np.ndarray) -> np.ndarray:
        """A vector with zeros for the columns that were left out."""
        if self.columns is None:
            return w
        out = np.zeros(self.width, w.dtype)
        out[self.columns] = w
        return out

    def narrow(self, w: np.ndarray) -> np.ndarray:
        """A vector without the columns that were left out."""
        return w if self.columns is None else w[self.columns]


def occupied(matrix: Matrix | Table) -> Occupied:
    """The matrix without its empty columns, where these are most of them; else as it is.

    Numbers of columns are copied, values are not. It costs a look at the numbers, and that only where there are few
    cells for each column: text that is hashed to 2²⁰ columns has some per cent of them, and each vector of a fit would
    be as long.

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
