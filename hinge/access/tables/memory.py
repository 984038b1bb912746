"""Tables of arrays in memory, and of a matrix of low rank that is computed as it is read."""

import copy
from collections.abc import Iterator
from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.data import Data
from hinge.access.matrix import Matrix, as_matrix, frozen
from hinge.access.rows import CSRRows, cell, held_row, span
from hinge.access.structure import check_parts
from hinge.access.tables.table import EVERYWHERE, PAGE, Line, Table, compressed, pages_of
from hinge.compiled import compiled
from hinge.types import MatrixLike, Sparse

_1, _6, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


class MemoryTable(Table):
    """The base class of dense and sparse arrays in memory; their `Matrix` makes whole passes."""

    in_memory = True

    def __init__(self, matrix: Matrix, prices: ArrayLike | None = None, *, keep: bool = False) -> None:
        super().__init__(matrix.shape, prices, keep=keep)
        self.matrix, self.dtype, self.is_sparse = matrix, matrix.dtype, matrix.is_sparse
        self.n_cells, self.max_row_cells = matrix.n_cells, matrix.max_row_cells

    @property
    def by_rows(self) -> Matrix:
        """The rows for compiled code; their reads are counted here, too."""
        return self.matrix

    def fork(self) -> "MemoryTable":
        """The same data with a bill of its own, unless cells are kept for both."""
        if self.keep:
            return self
        other = copy.copy(self)
        other.matrix, other.bill = self.matrix.fork(), self.bill.fork()
        return other

    @property
    def reads(self) -> int:
        """Cells read by rows, columns and blocks, and by whole passes."""
        return super().reads + self.matrix.reads

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that cover the matrix."""
        return self.matrix.row_blocks()

    def responses(self, w: np.ndarray, lo: int, hi: int, billed: bool = True) -> np.ndarray:
        """``X[lo:hi] @ w``."""
        return self.matrix.responses(w, lo, hi, billed)

    def responses_at(self, rows: np.ndarray, w: np.ndarray, billed: bool = True) -> np.ndarray:
        """``X[rows] @ w``."""
        return self.matrix.responses_at(rows, w, billed)

    def combine(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """``out += X[lo:hi].T @ coef``."""
        self.matrix.combine(coef, lo, hi, out)

    def largest_norm(self) -> float:
        """The largest norm of a row (not billed)."""
        return self.matrix.largest_norm()

    def held(self, rows: np.ndarray) -> sp.csr_array:
        """What was read of these rows so far, at no cost."""
        return self._some(rows, np.arange(self.shape[1]), self.shape[1], unread=False)

    def _some(self, rows: np.ndarray, place: np.ndarray, width: int, *, unread: bool) -> sp.csr_array:
        """Cells of these rows in columns whose new place is not negative; those that were read, or unread ones too."""
        rows, bill = np.ascontiguousarray(rows, np.int64), self.bill
        marks = bill.whole_rows, bill.whole_columns, bill.bits
        return compressed(_some_cells(self.matrix.rows, rows, place, *marks, unread, self.is_sparse), width)


class DenseTable(MemoryTable):
    """A dense array in memory.

    Parameters
    ----------
    X : Matrix or array of shape (n, d)
        Row-major.
    columns : array of shape (d, n), optional
        The same data column-major, if there is such a copy: reading a column of X alone touches a page for each row.
    prices, keep
        As for `Table`.
    """

    def __init__(
        self,
        X: MatrixLike | Matrix,
        columns: ArrayLike | None = None,
        prices: ArrayLike | None = None,
        *,
        keep: bool = False,
    ) -> None:
        super().__init__(as_matrix(X), prices, keep=keep)
        self._X: np.ndarray = self.matrix.rows[0]
        self._XT = self._X.T if columns is None else np.asarray(columns)
        if self._XT.shape != self.shape[::-1]:
            raise ValueError(f"columns has shape {self._XT.shape}; the columns of X have {self.shape[::-1]}.")

    def _row(self, i: int) -> Line:
        return self._line(self._X[i])

    def _column(self, j: int) -> Line:
        at, x = self._line(self._XT[j])
        return Line(at, np.ascontiguousarray(x))  # it is gone through more than once

    def _line(self, x: np.ndarray) -> Line:
        step = x.strides[0] if len(x) > 1 else x.itemsize
        address = x.__array_interface__["data"][0]
        far = len(x) if step >= PAGE else pages_of(address, max(0, len(x) - 1) * step + x.itemsize)
        self.bill.moved(x.nbytes, far)
        return Line(EVERYWHERE, x)

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        size = self._X.itemsize
        width = self.shape[1] * size
        pages = len(np.unique(columns * size // PAGE)) if width > PAGE else 1
        self.bill.moved(len(rows) * len(columns) * size, len(rows) * pages)
        return self._X[np.ix_(rows, columns)]


class SparseTable(MemoryTable):
    """A sparse matrix in memory, by rows and by columns.

    Parameters
    ----------
    X : Matrix or CSR matrix
    columns : CSC matrix, optional
        The same data by columns; if not given, it is made when the first column is read.
    prices, keep
        As for `Table`.
    """

    def __init__(
        self, X: Sparse | Matrix, columns: Sparse | None = None, prices: ArrayLike | None = None, *, keep: bool = False
    ) -> None:
        super().__init__(as_matrix(X), prices, keep=keep)
        data, indices, indptr = cast(CSRRows, self.matrix.rows)[:3]
        self._by_rows = (data, *(a.view(f"i{a.dtype.itemsize}") for a in (indices, indptr)))
        if columns is not None:
            if not sp.issparse(columns) or columns.format != "csc" or columns.shape != self.shape:
                raise ValueError("columns must be a CSC matrix of the shape of X: X.tocsc() is one.")
            check_parts(columns)
            self.columns = tuple(map(frozen, (columns.data, columns.indices, columns.indptr)))

    @cached_property
    def columns(self) -> tuple[np.ndarray, ...]:
        """Values, row indices and column pointers of the CSC form."""
        S = sp.csr_array(self._by_rows, shape=self.shape).tocsc()
        return tuple(map(frozen, (S.data, S.indices, S.indptr)))

    @cached_property
    def max_column_cells(self) -> int:
        """Nonzeros of the longest column."""
        return int(np.diff(self.columns[2]).max(initial=0))

    def _row(self, i: int) -> Line:
        return self._line(self._by_rows, i)

    def _column(self, j: int) -> Line:
        return self._line(self.columns, j)

    def _line(self, arrays: tuple[np.ndarray, ...], k: int) -> Line:
        data, indices, indptr = arrays
        lo, hi = int(indptr[k]), int(indptr[k + 1])
        line = Line(indices[lo:hi], data[lo:hi])
        pages = sum(pages_of(a.__array_interface__["data"][0], a.nbytes) for a in line)
        self.bill.moved(line.at.nbytes + line.values.nbytes, pages)
        return line

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> sp.csr_array:
        place = np.full(self.shape[1], -1)
        place[columns] = np.arange(len(columns))
        cells = self._some(rows, place, len(columns), unread=True)
        self.bill.moved(cells.nnz * (cells.data.itemsize + 8), int((np.diff(cells.indptr) > 0).sum()))
        return cells

    def dot(self, rows: np.ndarray, columns: np.ndarray, w: np.ndarray) -> np.ndarray:
        """``X[rows][:, columns] @ w`` in one product: a block takes no more memory than its nonzeros."""
        return np.asarray(self.block(np.asarray(rows), columns) @ w)


def as_table(X: MatrixLike | Data, *, keep: bool = False) -> Table:
    """Counted access to the rows, columns and cells of X, without a copy."""
    if isinstance(X, Table):
        return X
    matrix = cast(Matrix, as_matrix(X))  # data is a table or a matrix
    kind = SparseTable if isinstance(matrix.rows, CSRRows) else DenseTable
    return kind(matrix, keep=keep)


@compiled
def _is_read(i, j, whole_rows, whole_columns, bits):
    if whole_rows[i] or whole_columns[j]:
        return True
    j = np.uint64(j)
    return (bits[i, j >> _6] >> (j & _63)) & _1 == _1


@compiled
def _some_cells(A, rows, place, whole_rows, whole_columns, bits, unread, zeros):
    """Values, places and row starts, as `MemoryTable._some` says; of dense rows without zeros."""
    starts, values, where = np.zeros(len(rows) + 1, np.int64), np.empty(0, A[0].dtype), np.empty(0, np.int32)
    for fill in (False, True):  # the first pass counts
        q = 0
        for k in range(len(rows)):
            row = held_row(A, rows[k])
            first, last = span(A, row)
            for p in range(first, last):
                j, x = cell(A, row, p)
                if place[j] < 0 or not (zeros or x != 0):
                    continue
                if unread or _is_read(rows[k], j, whole_rows, whole_columns, bits):
                    if fill:
                        values[q], where[q] = x, place[j]
                    q += 1
            starts[k + 1] = q
        if not fill:
            values, where = np.empty(q, A[0].dtype), np.empty(q, np.int32)
    return values, where, starts


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
    >>> from hinge.access.tables.memory import ProductTable
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
        unread = self.bill.missing(rows[:, None], every)
        return sp.csr_array(np.where(unread, 0.0, self._A[rows] @ self._B))
