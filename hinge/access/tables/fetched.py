"""Tables whose cells are fetched when they are read, and kept if the reader keeps them."""

from abc import abstractmethod

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.tables.table import EVERYWHERE, Line, Table, compressed, spelled_out


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
            if self.bill.missing_below(j).any():
                line = self._fetch_column(j)
            else:
                line = Line(EVERYWHERE, self.kept.below(j, np.arange(self.shape[0])))
            self.kept.put_column(j, line)
        return self.kept.column(j)

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        out = np.empty((len(rows), len(columns)))
        for k, i in enumerate(rows.tolist()):
            if not self.keep:
                out[k] = self._fetch_cells(i, columns)
                continue
            missing = columns[self.bill.missing(i, columns)]
            if len(missing):
                self.kept.put(i, Line(missing, self._fetch_cells(i, missing)))
            out[k] = self.kept.cells(i, columns)
        return out

    def held(self, rows: np.ndarray) -> sp.csr_array:
        """All cells of these rows that were fetched and kept; zeros are left out."""
        lines = [_nonzeros(spelled_out(self.kept.row(int(i)))) for i in rows]
        indptr = np.concatenate([[0], np.cumsum([len(line.at) for line in lines])]).astype(np.int64)
        index = np.concatenate([line.at for line in lines]) if lines else np.zeros(0, np.int32)
        values = np.concatenate([line.values for line in lines]) if lines else np.zeros(0)
        return compressed((values, index.astype(np.int32), indptr), self.shape[1])


class KeptCells:
    """Cells by rows, and whole columns, in memory."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._rows: dict[int, Line] = {}
        self._columns: dict[int, np.ndarray] = {}

    def put(self, i: int, line: Line) -> None:
        """Store cells of row i, in place of those stored before."""
        if len(line.at) == 0 and len(line.values):  # the whole row
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
        column = line.values
        if len(column) < self.shape[0]:
            column = np.zeros(self.shape[0])
            column[line.at] = line.values
        self._columns[j] = column

    def row(self, i: int) -> Line:
        """All known cells of row i, in the order of the columns."""
        own = self._rows.get(i, Line(EVERYWHERE, np.zeros(0)))
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
        own = self._rows.get(i, Line(EVERYWHERE, np.zeros(0)))
        if len(own.at) == 0 and len(own.values):
            return own.values[columns]
        if len(own.at):
            index, values = own
            place = np.minimum(np.searchsorted(index, columns), len(index) - 1)
            there = index[place] == columns
            out[there] = values[place[there]]
        for k, j in enumerate(columns.tolist()):
            if j in self._columns:
                out[k] = self._columns[j][i]
        return out

    def below(self, j: int, rows: np.ndarray) -> np.ndarray:
        """Known cells of column j in these rows, as in `cells`."""
        if j in self._columns:
            return self._columns[j][rows]
        out = np.zeros(len(rows))
        for k, i in enumerate(rows.tolist()):
            own = self._rows.get(i, Line(EVERYWHERE, np.zeros(0)))
            if len(own.at) == 0 and len(own.values):
                out[k] = own.values[j]
                continue
            place = int(own.at.searchsorted(j))
            if place < len(own.at) and own.at[place] == j:
                out[k] = own.values[place]
        return out


def _nonzeros(line: Line) -> Line:
    there = line.values != 0
    return Line(line.at[there], line.values[there])
