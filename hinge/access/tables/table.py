"""The base class of tables: rows, columns and single cells of a matrix, each read of which is on a bill."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.data import Data
from hinge.access.matrix import ROW_BLOCK_CELLS, frozen
from hinge.column_table import ColumnTable, Tabled
from hinge.types import Stored

PAGE = 4096
"""Bytes of a page, the smallest unit that a disk or a memory map reads."""

FEW = 256  # columns count as few if they are at most one in 256: about one 64-bit word in four is then not empty

_1, _6, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


@dataclass(frozen=True, eq=False, repr=False)
class BillTable(ColumnTable):
    """The amounts of a bill."""

    what: np.ndarray
    amount: np.ndarray


class Bill(Tabled):
    """The running account of one matrix of n rows and d columns.

    Cells are counted in two conventions. *Dense*: a row has d cells, a column n. *Nonzero*: a row or a column has as
    many cells as nonzeros. Distinct cells are exact in both: rows and columns that were read whole are stored as two
    sets, other cells as one bit each in rows that were read in part.

    Parameters
    ----------
    n, d : int
        Rows and columns.
    prices : array of shape (d,), optional
        Price of a cell in each column; by default one.

    Attributes
    ----------
    cells, nonzeros : int
        Cells read so far, in the dense and the nonzero convention; counted each time they are read, or once if the
        reader keeps them.
    bytes, pages : int
        Bytes that were read for them, and the number of 4096-byte pages these are on.
    cost : float
        The prices of `cells`.
    """

    def __init__(self, n: int, d: int, prices: ArrayLike | None = None) -> None:
        self.n, self.d = n, d
        self.cells = self.nonzeros = self.bytes = self.pages = 0
        self.cost = 0.0
        self.prices = None if prices is None else checked_prices(prices, d)
        self.row_price = float(d) if self.prices is None else float(self.prices.sum())
        self.whole_rows = np.zeros(n, bool)
        self.whole_columns = np.zeros(d, bool)
        self.in_part = np.zeros(n, bool)
        """Rows with cells that were read on their own, not as part of a whole row or column."""
        self._bits: np.ndarray | None = None

    @property
    def table(self) -> BillTable:
        """The amounts, a line each."""
        amounts = {
            "cells": self.cells,
            "nonzeros": self.nonzeros,
            "distinct cells": self.distinct,
            "bytes": self.bytes,
            "pages": self.pages,
            "cost": self.cost,
        }
        return BillTable(np.array(list(amounts)), np.array(list(amounts.values())))

    @property
    def _headline(self) -> str:
        return f"What was read of {self.n:,} rows and {self.d:,} columns."

    def fork(self) -> "Bill":
        """An empty bill for the same matrix."""
        return Bill(self.n, self.d, self.prices)

    @property
    def distinct(self) -> int:
        """Distinct cells, in the dense convention."""
        R, C = int(self.whole_rows.sum()), int(self.whole_columns.sum())
        count = R * self.d + (self.n - R) * C
        rows = np.flatnonzero(self.in_part & ~self.whole_rows)
        if self._bits is not None and len(rows):
            others = ~_bits_of(self.whole_columns)
            count += _common_bits(self._bits, rows, np.arange(len(others)), others)
        return count

    @property
    def bits(self) -> np.ndarray:
        """One bit for each cell, by rows; the system allocates memory only for rows that are used."""
        if self._bits is None:
            self._bits = np.zeros((self.n, -(-self.d // 64)), np.uint64)
        return self._bits

    def missing(self, rows: int | slice | np.ndarray, columns: int | np.ndarray) -> np.ndarray:
        """Which of these cells were never read; rows and columns are broadcast against each other."""
        known = self.whole_rows[rows] | self.whole_columns[columns]
        if self._bits is not None:
            word, bit = np.divmod(columns, 64)
            known |= (self._bits[rows, word] >> bit.astype(np.uint64)) & _1 == _1
        return ~known

    def moved(self, nbytes: int, pages: int) -> None:
        """Count bytes that were read, and their pages."""
        self.bytes += int(nbytes)
        self.pages += int(pages)

    def charge(self, cells: int, nonzeros: int, cost: float) -> None:
        """Add cells that were read to the counts, and their price."""
        self.cells += int(cells)
        self.nonzeros += int(nonzeros)
        self.cost += float(cost)

    def charge_block(self, rows: np.ndarray, columns: np.ndarray, nonzeros: int, keep: bool) -> None:
        """Charge the cells rows × columns, `nonzeros` of them nonzero; with `keep` cells read before are free."""
        count, cost = len(rows) * len(columns), len(rows) * self.price_of(columns)
        if keep and self.prices is not None:
            fresh = self.missing(rows[:, None], columns)
            count, cost = int(fresh.sum()), float(fresh.sum(axis=0) @ self.prices[columns])
        elif keep:
            count = self._count_fresh(rows, columns)
            cost = float(count)
        self.charge(count, nonzeros, cost)

    def _count_fresh(self, rows: np.ndarray, columns: np.ndarray) -> int:
        rows = rows[~self.whole_rows[rows]]
        at, mask = _words_of(columns[~self.whole_columns[columns]], self.d)
        taken = int(np.bitwise_count(mask).sum())
        return len(rows) * taken - _common_bits(self.bits, rows, at, mask)

    def price_of(self, columns: np.ndarray) -> float:
        """The total price of one cell in each of these columns."""
        return float(len(columns)) if self.prices is None else float(self.prices[columns].sum())

    def mark(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """Record that all cells rows × columns were read."""
        at, mask = _words_of(columns, self.d)
        self.bits[rows[:, None], at] |= mask
        self.in_part[rows] = True


def pages_of(address: int, nbytes: int) -> int:
    """Number of pages that a range of memory or of a file touches."""
    return (address % PAGE + nbytes + PAGE - 1) // PAGE if nbytes else 0


def checked_prices(prices: ArrayLike, d: int) -> np.ndarray:
    """The price of a cell in each of d columns, validated."""
    try:
        each = np.asarray(prices, np.float64)
    except (TypeError, ValueError):
        each = np.empty(0)
    if each.shape != (d,) or not (np.isfinite(each).all() and (each >= 0).all()):
        raise ValueError(f"prices must be {d} finite numbers, one for each column, none negative.")
    return each


def _bits_of(flags: np.ndarray) -> np.ndarray:
    """Flags as 64-bit words, the first flag in the lowest bit."""
    padded = np.zeros(-(-len(flags) // 64) * 64, bool)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)


def _words_of(columns: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The bits of some of d columns as words, and the indices of these words: all words, or only the nonzero ones."""
    if len(columns) * FEW > d:
        flags = np.zeros(d, bool)
        flags[columns] = True
        mask = _bits_of(flags)
        return np.arange(len(mask)), mask
    j = np.sort(columns).astype(np.uint64)
    word = (j >> _6).astype(np.int64)
    first = np.flatnonzero(np.diff(word, prepend=-1))
    bit = _1 << (j & _63)
    return word[first], np.bitwise_or.reduceat(bit, first) if len(first) else bit


def _common_bits(bits: np.ndarray, rows: np.ndarray, at: np.ndarray, mask: np.ndarray) -> int:
    """Number of bits that these rows have in common with the mask, given by words at the indices `at`."""
    return int(np.bitwise_count(bits[rows[:, None], at] & mask).sum())


AHEAD = 64
"""Rows that are announced in advance where many are read."""


class Line(NamedTuple):
    """A row or a column: values at the positions `at`; an empty `at` means that all values are there, in order."""

    at: np.ndarray
    values: np.ndarray

    @property
    def is_whole(self) -> bool:
        """Whether it has values at all positions, in order."""
        return len(self.at) == 0 and len(self.values) > 0

    def dense(self, size: int) -> np.ndarray:
        """All `size` cells of the line, with zeros where it has no values."""
        if self.is_whole:
            return self.values
        cells = np.zeros(size)
        cells[self.at] = self.values
        return cells


EVERYWHERE = frozen(np.zeros(0, np.int32))
"""`at` of a line that has all its values."""


class Table(Data):
    """A matrix that is read by rows, by columns and by cells.

    Rows, columns and blocks that a subclass returns by `_row`, `_column` and `_block` are billed here; the subclass
    reports bytes and pages by ``self.bill.moved``.

    Parameters
    ----------
    shape : tuple of int
    prices : array of shape (d,), optional
        Price of a cell in each column.
    keep : bool
        Whether the reader keeps the cells it has read: then a cell is billed once, and `held` returns it again.

    Attributes
    ----------
    shape : tuple of int
    bill : Bill
    keep : bool
    """

    sells_cells = True
    """Whether a few cells of a row cost less than the whole row."""

    max_reads: int | None = None
    max_cost: float | None = None
    """Limits set by the data's owner; None for no limit."""

    def __init__(self, shape: tuple[int, int], prices: ArrayLike | None = None, *, keep: bool = False) -> None:
        self.shape = n, d = int(shape[0]), int(shape[1])
        self.n_cells, self.max_row_cells = n * d, d
        self.bill = Bill(*self.shape, prices)
        self.keep = keep
        self._largest_sq = 0.0

    # --- implemented by subclasses --------------------------------------------------------

    @abstractmethod
    def _row(self, i: int) -> Line: ...

    @abstractmethod
    def _column(self, j: int) -> Line: ...

    @abstractmethod
    def _block(self, rows: np.ndarray, columns: np.ndarray) -> Stored:
        """The cells rows × columns, as an array or a CSR matrix of that shape."""

    @abstractmethod
    def held(self, rows: np.ndarray) -> sp.csr_array:
        """All cells read of these rows, at no cost; cells never read are not stored."""

    # --- called by readers ----------------------------------------------------------------

    def row(self, i: int) -> Line:
        """Row i."""
        i = self._checked(i, 0)
        bill = self.bill
        known = bill.whole_columns  # flags of the cells of this row that were read before
        if self.keep and bill.in_part[i] and not bill.whole_rows[i]:
            known = ~bill.missing(i, np.arange(self.shape[1]))
        free = self.keep and bool(bill.whole_rows[i])
        line = self._row(i)
        if not free:
            old = np.flatnonzero(known) if self.keep else EVERYWHERE
            price = bill.row_price - (bill.price_of(old) if len(old) else 0.0)
            bill.charge(self.shape[1] - len(old), _nonzeros(line, ~known if len(old) else None), price)
        bill.whole_rows[i] = True
        return _read_only(line)

    def column(self, j: int) -> Line:
        """Column j."""
        j = self._checked(j, 1)
        fresh = self.bill.missing(slice(None), j) if self.keep else None
        line = self._column(j)
        price = 1.0 if self.bill.prices is None else float(self.bill.prices[j])
        count = self.shape[0] if fresh is None else int(np.count_nonzero(fresh))
        self.bill.charge(count, _nonzeros(line, fresh), price * count)
        self.bill.whole_columns[j] = True
        return _read_only(line)

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Stored:
        """The cells rows × columns, as an array or a CSR matrix of that shape; indices must not repeat."""
        rows, columns = self._all_checked(rows, 0), self._all_checked(columns, 1)
        cells = self._block(rows, columns)
        self.bill.charge_block(rows, columns, self._nonzeros_of(cells, rows, columns), self.keep)
        self.bill.mark(rows, columns)
        return cells

    def dot(self, rows: np.ndarray, columns: np.ndarray, w: np.ndarray) -> np.ndarray:
        """``X[rows][:, columns] @ w``, with one weight for each of the columns."""
        step = max(1, ROW_BLOCK_CELLS // max(1, len(columns)))
        parts = [_products(self.block(rows[lo : lo + step], columns), w) for lo in range(0, len(rows), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def read_whole(self, rows: np.ndarray) -> None:
        """Read all cells of these rows, for a reader that keeps them."""
        for i in rows.tolist():
            self.row(i)

    # --- counts ---------------------------------------------------------------------------

    @property
    def reads(self) -> int:
        """Cells read: nonzeros of sparse data, else all cells."""
        return self.bill.nonzeros if self.is_sparse else self.bill.cells

    # --- the interface of `Data` ----------------------------------------------------------

    @property
    def max_column_cells(self) -> int:
        """Cells of the longest column."""
        return self.shape[0]

    def fork(self) -> "Table":
        """The same table: kept cells serve both runs, on one bill."""
        return self

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that cover the matrix."""
        return iter(self._ranges(0, self.shape[0]))

    def _ranges(self, lo: int, hi: int) -> list[tuple[int, int]]:
        """Ranges of rows that are read together, which cover rows lo to hi."""
        step = max(1, ROW_BLOCK_CELLS * self.shape[0] // max(1, self.n_cells))
        return [(a, min(a + step, hi)) for a in range(lo, hi, step)]

    def responses(self, w: np.ndarray, lo: int, hi: int, billed: bool = True) -> np.ndarray:
        """``X[lo:hi] @ w``; cells that are not in memory are always billed."""
        out = np.empty(hi - lo)
        for i in range(lo, hi):
            index, values = self._measured(self.row(i))
            out[i - lo] = values @ (w[index] if len(index) else w[: len(values)])
        return out

    def responses_at(self, rows: np.ndarray, w: np.ndarray, billed: bool = True) -> np.ndarray:
        """``X[rows] @ w``."""
        return np.array([self.responses(w, i, i + 1)[0] for i in rows])

    def combine(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """``out += X[lo:hi].T @ coef``; rows whose coefficient is zero are not read."""
        for i in np.flatnonzero(coef).tolist():
            index, values = self._measured(self.row(lo + i))
            if len(index):
                out[index] += coef[i] * values
            else:
                out[: len(values)] += coef[i] * values

    def largest_norm(self) -> float:
        """The largest norm of a row read so far."""
        return float(np.sqrt(self._largest_sq))

    def _measured(self, line: Line) -> Line:
        self._largest_sq = max(self._largest_sq, float(np.square(line.values, dtype=np.float64).sum()))
        return line

    def expect(self, rows: np.ndarray) -> None:
        """Announce that these rows will be read soon; nothing is billed."""

    def gather(self, rows: np.ndarray) -> Stored:
        """A copy of some rows, in memory."""
        lines: list[Line] = []
        for k, i in enumerate(rows.tolist()):
            if k % AHEAD == 0:
                self.expect(rows[k : k + AHEAD])
            lines.append(self._measured(self.row(i)))
        if not self.is_sparse:
            return np.stack([line.values for line in lines])
        return stacked(lines, self.shape[1])

    # --- parts ----------------------------------------------------------------------------

    def _checked(self, k: int, axis: int) -> int:
        if not 0 <= k < self.shape[axis]:
            name = ("row", "column")[axis]
            raise IndexError(f"There is no {name} {k}: the matrix has {self.shape[axis]}.")
        return int(k)

    def _all_checked(self, these: np.ndarray, axis: int) -> np.ndarray:
        these = np.asarray(these, np.int64)
        if len(these):
            self._checked(int(these.min()), axis)
            self._checked(int(these.max()), axis)
            seen = np.zeros(self.shape[axis], bool)
            seen[these] = True
            if int(seen.sum()) < len(these):
                raise ValueError(f"A block must have each {('row', 'column')[axis]} once: leave out the repeated.")
        return these

    def _nonzeros_of(self, cells: Stored, rows: np.ndarray, columns: np.ndarray) -> int:
        """Nonzeros of a block that are billed; with `keep` only of cells that were never read."""
        if not self.keep:
            return int(cast(sp.csr_array, cells).nnz) if sp.issparse(cells) else int(np.count_nonzero(cells))
        if isinstance(cells, np.ndarray):
            k, c = np.nonzero(cells)
        else:
            k, c = np.repeat(np.arange(len(rows)), np.diff(cells.indptr)), cells.indices
        return int(self.bill.missing(rows[k], columns[c]).sum())


def _products(cells: Stored, w: np.ndarray) -> np.ndarray:
    """``cells @ w``, row by row: results of BLAS would depend on the number of rows."""
    return cells @ w if sp.issparse(cells) else (cells * w).sum(axis=1)


def spelled_out(line: Line) -> Line:
    """A line with all its positions written out."""
    if line.is_whole:
        return Line(np.arange(len(line.values), dtype=np.int32), line.values)
    return line


def stacked(lines: Iterable[Line], width: int) -> sp.csr_array:
    """Lines below one another, each with its positions written out."""
    at, values = zip(Line(np.zeros(0, np.int32), np.zeros(0)), *map(spelled_out, lines), strict=True)
    starts = np.cumsum([len(part) for part in values])
    where = np.concatenate(at).astype(np.int32 if width < 1 << 31 else np.int64, copy=False)
    return compressed((np.concatenate(values[1:] or values), where, starts), width)


def compressed(part: tuple[np.ndarray, ...], width: int) -> sp.csr_array:
    """Rows of these values, columns and starts, by indices of 32 bits where they can be.

    scipy would take 64 bits for all, since the starts have 64.
    """
    values, where, starts = part
    starts = starts.astype(np.int32) if starts[-1] < 1 << 31 else starts
    return sp.csr_array((values, where, starts), shape=(len(starts) - 1, width))


def _read_only(line: Line) -> Line:
    """The same in one piece, for compiled code: it has one type of array then, wherever a line comes from."""
    flags = line.values.flags
    if flags.c_contiguous and not flags.writeable:
        return line
    return Line(frozen(line.at), frozen(np.ascontiguousarray(line.values)))


def _nonzeros(line: Line, counted: np.ndarray | None) -> int:
    """Nonzeros of a line, or of its flagged positions."""
    values = line.values
    if counted is not None and len(values):
        values = values[counted[line.at] if len(line.at) else counted]
    return int(np.count_nonzero(values))
