"""The product of two thin matrices as a table: rows and columns are computed when they are read."""

import copy

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.tables.table import EVERYWHERE, Line, Table


class ProductTable(Table):
    """The matrix X = A B of rank k, in k (n + d) numbers.

    A row is computed in O(kd) and a column in O(kn), so that methods that read few of them run on matrices that do not
    fit into memory. Each computed cell is billed as if it had been read.

    Parameters
    ----------
    A : array of shape (n, k)
    B : array of shape (k, d)
    prices, keep
        As for `Table`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.access.tables.product import ProductTable
    >>> table = ProductTable(np.ones((4, 2)), np.arange(6.0).reshape(2, 3))
    >>> table.row(1).values.tolist(), table.column(2).values.tolist(), table.bill.cells
    ([3.0, 5.0, 7.0], [7.0, 7.0, 7.0, 7.0], 7)
    """

    def __init__(self, A: ArrayLike, B: ArrayLike, prices: ArrayLike | None = None, *, keep: bool = False) -> None:
        left, right = np.ascontiguousarray(A), np.ascontiguousarray(B)
        if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[0]:
            raise ValueError(
                f"A and B of shapes {left.shape} and {right.shape} have no product: A is (n, k), B (k, d)."
            )
        super().__init__((left.shape[0], right.shape[1]), prices, keep=keep)
        self._A, self._B, self.dtype = left, right, np.result_type(left, right)

    def fork(self) -> "ProductTable":
        """The same data with a bill of its own, unless cells are kept for both."""
        if self.keep:
            return self
        other = copy.copy(self)
        other.bill = self.bill.fork()
        return other

    def _row(self, i: int) -> Line:
        return self._formed(self._A[i] @ self._B)

    def _column(self, j: int) -> Line:
        return self._formed(self._A @ self._B[:, j])

    def _formed(self, values: np.ndarray) -> Line:
        self.bill.moved(values.nbytes, 0)  # not stored on any page
        return Line(EVERYWHERE, values)

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        cells: np.ndarray = self._A[rows] @ self._B[:, columns]
        self.bill.moved(cells.nbytes, 0)
        return cells

    def held(self, rows: np.ndarray) -> sp.csr_array:
        """All cells read of these rows, computed again; none if the reader does not keep them."""
        every = np.arange(self.shape[1])
        rows = np.asarray(rows, np.int64)
        if not self.keep:
            return sp.csr_array((len(rows), len(every)))
        known = np.array([~self.bill.missing(i, every) for i in rows.tolist()]).reshape(len(rows), len(every))
        return sp.csr_array(np.where(known, self._A[rows] @ self._B, 0.0))
