"""The account of a matrix's reads: cells, distinct cells, bytes, pages, and their cost."""

import numpy as np
from numpy.typing import ArrayLike

PAGE = 4096
"""Bytes of a page, the smallest unit that a disk or a memory map reads."""

FEW = 256  # columns count as few if they are at most one in 256: about one 64-bit word in four is then not empty

_1, _6, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


class Bill:
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
        self.prices = None if prices is None else _checked_prices(prices, d)
        self.row_price = float(d) if self.prices is None else float(self.prices.sum())
        self.whole_rows = np.zeros(n, bool)
        self.whole_columns = np.zeros(d, bool)
        self.in_part = np.zeros(n, bool)
        """Rows with cells that were read on their own, not as part of a whole row or column."""
        self._bits: np.ndarray | None = None

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


def _checked_prices(prices: ArrayLike, d: int) -> np.ndarray:
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
