"""Tables whose cells are fetched when they are read, by cells or ranges of rows, and kept if the reader keeps them."""

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.matrix import ROW_BLOCK_CELLS
from hinge.access.tables.table import EVERYWHERE, Line, Table, spelled_out, stacked
from hinge.types import Stored


class Recent:
    """A least-recently-used cache of arrays.

    Parameters
    ----------
    budget : int
        Limit of the arrays' bytes; a larger array is not stored.

    Attributes
    ----------
    budget, nbytes : int
        Bytes allowed, and bytes used.
    """

    def __init__(self, budget: int) -> None:
        if budget < 0:
            raise ValueError(f"The budget of a cache is a number of bytes, 0 for no cache, got {budget}.")
        self.budget, self.nbytes = int(budget), 0
        self._arrays: OrderedDict[Hashable, np.ndarray] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._arrays

    def __len__(self) -> int:
        return len(self._arrays)

    def get(self, key: Hashable) -> np.ndarray | None:
        """The array of this key, which becomes the most recently used; None if it is not stored."""
        array = self._arrays.get(key)
        if array is not None:
            self._arrays.move_to_end(key)
        return array

    def put(self, key: Hashable, array: np.ndarray) -> None:
        """Store an array, which must not be written to afterwards; it should own its memory."""
        old = self._arrays.pop(key, None)
        if old is not None:
            self.nbytes -= old.nbytes
        if array.nbytes > self.budget:
            return
        self._arrays[key] = array
        self.nbytes += array.nbytes
        while self.nbytes > self.budget:
            self.nbytes -= self._arrays.popitem(last=False)[1].nbytes


class Fetched(Table):
    """A table whose cells come from elsewhere: a disk, a service, a laboratory.

    A subclass implements how a row, a column and some cells of a row are fetched. With `keep`, no cell is fetched
    twice: for a row or column that is known in part, only the missing cells are fetched.
    """

    def __init__(self, shape: tuple[int, int], prices: ArrayLike | None = None, *, keep: bool = True) -> None:
        super().__init__(shape, prices, keep=keep)
        self.kept = KeptCells(self.shape)

    # --- implemented by subclasses --------------------------------------------------------

    @abstractmethod
    def _fetch_row(self, i: int) -> Line: ...

    @abstractmethod
    def _fetch_column(self, j: int) -> Line: ...

    @abstractmethod
    def _fetch_cells(self, i: int, columns: np.ndarray) -> np.ndarray:
        """The cells of row i in these columns, in their order."""

    # --- Table ----------------------------------------------------------------------------

    def _row(self, i: int) -> Line:
        if not self.keep:
            return self._fetch_row(i)
        missing = np.flatnonzero(self.bill.missing(i, np.arange(self.shape[1])))
        if len(missing) == self.shape[1]:
            self.kept.put(i, self._fetch_row(i))
        elif len(missing):
            self.kept.put(i, Line(missing, self._fetch_cells(i, missing)))
        return self.kept.row(i)

    def _column(self, j: int) -> Line:
        if not self.keep:
            return self._fetch_column(j)
        if not self.bill.whole_columns[j]:
            if self.bill.missing(slice(None), j).any():
                line = self._fetch_column(j)
            else:
                line = Line(EVERYWHERE, self.kept.below(j, np.arange(self.shape[0])))
            self.kept.put_column(j, line)
        return self.kept.column(j)

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), len(columns)))
        if not self.keep:
            for k, i in enumerate(rows.tolist()):
                out[k] = self._fetch_cells(i, columns)
            return out
        fresh = self.bill.missing(rows[:, None], columns)
        for k in np.flatnonzero(fresh.any(axis=1)).tolist():
            i, missing = int(rows[k]), columns[fresh[k]]
            self.kept.put(i, Line(missing, self._fetch_cells(i, missing)))
        for k, i in enumerate(rows.tolist()):
            out[k] = self.kept.cells(i, columns)
        return out

    def held(self, rows: np.ndarray) -> sp.csr_array:
        """All cells of these rows that were fetched and kept; zeros are left out."""
        return stacked((_nonzeros(spelled_out(self.kept.row(int(i)))) for i in rows), self.shape[1])


NOTHING = Line(EVERYWHERE, np.zeros(0))
"""What is known of a row of which no cell was read."""


class KeptCells:
    """Cells by rows, and whole columns, in memory."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._rows: dict[int, Line] = {}
        self._columns: dict[int, np.ndarray] = {}

    def put(self, i: int, line: Line) -> None:
        """Store cells of row i, in place of those stored before."""
        if line.is_whole:
            self._rows[i] = line
            return
        index, values = line
        if i in self._rows:
            old = spelled_out(self._rows[i])
            index, values = np.concatenate([index, old.at]), np.concatenate([values, old.values])
        index, first = np.unique(index, return_index=True)
        self._rows[i] = Line(index.astype(np.int32), values[first])

    def put_column(self, j: int, line: Line) -> None:
        """Store the whole of column j."""
        self._columns[j] = line.dense(self.shape[0])

    def row(self, i: int) -> Line:
        """All known cells of row i, in the order of the columns."""
        own = self._rows.get(i, NOTHING)
        if len(own.values) == self.shape[1]:
            return Line(EVERYWHERE, own.values)
        if not self._columns:
            return own
        whole = np.array(sorted(self._columns), np.int32)
        whole = np.setdiff1d(whole, own.at, assume_unique=True)
        if len(whole) == 0:
            return own
        index = np.concatenate([own.at, whole])
        values = np.concatenate([own.values, [self._columns[j][i] for j in whole.tolist()]])
        order = np.argsort(index, kind="stable")
        return Line(index[order], values[order])

    def column(self, j: int) -> Line:
        """Column j, which must have been stored whole."""
        return Line(EVERYWHERE, self._columns[j])

    def cells(self, i: int, columns: np.ndarray) -> np.ndarray:
        """Known cells of row i; 0 for cells that are not stored of a sparse row."""
        out = np.zeros(len(columns))
        own = self._rows.get(i, NOTHING)
        if own.is_whole:
            return own.values[columns]
        if len(own.at):
            index, values = own
            place = np.minimum(np.searchsorted(index, columns), len(index) - 1)
            there = index[place] == columns
            out[there] = values[place[there]]
        for j in self._columns.keys() & columns.tolist() if self._columns else ():
            out[columns == j] = self._columns[j][i]
        return out

    def below(self, j: int, rows: np.ndarray) -> np.ndarray:
        """Known cells of column j in these rows, as in `cells`."""
        if j in self._columns:
            return self._columns[j][rows]
        out = np.zeros(len(rows))
        for k, i in enumerate(rows.tolist()):
            own = self._rows.get(i, NOTHING)
            if own.is_whole:
                out[k] = own.values[j]
                continue
            place = int(own.at.searchsorted(j))
            if place < len(own.at) and own.at[place] == j:
                out[k] = own.values[place]
        return out


def _nonzeros(line: Line) -> Line:
    there = line.values != 0
    return Line(line.at[there], line.values[there])


class Stretched(Fetched):
    """A table that can fetch a range of consecutive rows together.

    With `keep`, a pass keeps what it reads, as reading a row does: for a table larger than memory use ``keep=False``.
    A pickle consists of the name of the data and the settings: the copy has read nothing, and has an empty bill.
    """

    @abstractmethod
    def _fetch_rows(self, lo: int, hi: int) -> Any:
        """Rows lo to hi, as an array or a CSR matrix."""

    @abstractmethod
    def _recipe(self) -> dict[str, Any]:
        """Arguments that create such a table, except `keep` and `prices`."""

    def responses(self, w: np.ndarray, lo: int, hi: int, billed: bool = True) -> np.ndarray:
        """``X[lo:hi] @ w``; billed even with ``billed=False``, since the cells have to be fetched."""
        out = np.empty(hi - lo)
        for a, b in self._cut(lo, hi):
            out[a - lo : b - lo] = self._measured_rows(a, b) @ w[: self.shape[1]]
        return out

    def combine(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """``out += X[lo:hi].T @ coef``; rows whose coefficient is zero are not read."""
        used = np.concatenate([[False], coef != 0, [False]])
        for begin, end in np.flatnonzero(used[1:] != used[:-1]).reshape(-1, 2).tolist():
            for a, b in self._cut(lo + begin, lo + end):
                out[: self.shape[1]] += self._measured_rows(a, b).T @ coef[a - lo : b - lo]

    def _measured_rows(self, lo: int, hi: int) -> Any:
        X = self._rows_between(lo, hi)
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
        self._largest_sq = max(self._largest_sq, float(np.max(squares, initial=0.0)))
        return X

    def _cut(self, lo: int, hi: int) -> list[tuple[int, int]]:
        """Ranges of rows that are fetched together."""
        step = max(1, ROW_BLOCK_CELLS * self.shape[0] // max(1, self.n_cells))
        return [(a, min(a + step, hi)) for a in range(lo, hi, step)]

    def _rows_between(self, lo: int, hi: int) -> Any:
        """Rows lo to hi, billed; with `keep` only cells that were never read are fetched."""
        bill, rows = self.bill, np.arange(lo, hi)
        if self.keep and (bill.whole_columns.any() or (bill.whole_rows | bill.in_part)[lo:hi].any()):
            for i in rows[~bill.whole_rows[lo:hi]].tolist():
                self.row(i)
            return self.held(rows)
        X = self._fetch_rows(lo, hi)
        nonzeros = X.nnz if self.is_sparse else int(np.count_nonzero(X))
        bill.charge(len(rows) * self.shape[1], nonzeros, len(rows) * bill.row_price)
        bill.whole_rows[lo:hi] = True
        if self.keep:
            for k, i in enumerate(rows.tolist()):
                self.kept.put(i, _line(X, k))
        return X

    # --- copies ---------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        recipe = {**self._recipe(), "keep": self.keep, "prices": self.bill.prices}
        return {"recipe": recipe, "budgets": (self.max_reads, self.max_cost)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["recipe"])  # type: ignore[misc]
        self.max_reads, self.max_cost = state["budgets"]


def _line(X: Stored, k: int) -> Line:
    if isinstance(X, np.ndarray):
        return Line(EVERYWHERE, X[k])
    lo, hi = X.indptr[k], X.indptr[k + 1]
    return Line(X.indices[lo:hi], X.data[lo:hi])
