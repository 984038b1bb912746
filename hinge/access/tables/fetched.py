"""Tables whose cells come from elsewhere, and the cells that are kept of them."""

from abc import abstractmethod

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.tables.table import EVERYWHERE, Line, Table, spelled_out, stacked


class Fetched(Table):
    """A table whose cells come from elsewhere: a disk, a service, a laboratory; they stay in memory with `keep`."""

    def __init__(self, shape: tuple[int, int], prices: ArrayLike | None = None, *, keep: bool = True) -> None:
        super().__init__(shape, prices, keep=keep)
        self.kept = KeptCells(self.shape)

    @abstractmethod
    def _fetch_column(self, j: int) -> Line:
        """Column j, from where it comes."""

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
        column = np.array([j])
        return np.array([self.cells(i, column)[0] for i in rows.tolist()])


def _nonzeros(line: Line) -> Line:
    there = line.values != 0
    return Line(line.at[there], line.values[there])
