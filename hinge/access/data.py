"""What every matrix offers that is read with counts, whether its rows are in memory or not."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from hinge.types import Indices, Stored, Vector

T = TypeVar("T")


class Data(ABC):
    """A matrix of n rows and d columns; whatever is handed out of it is counted.

    `Matrix` is an array or CSR in memory, which compiled code takes rows from. `Table` is read by rows,
    columns and cells, and may lie on a disk or with someone who sells it.
    """

    shape: tuple[int, int]

    in_memory: bool = False
    """Whether the cells can be read again at no cost."""

    is_sparse: bool = False
    """Whether the rows are compressed."""

    dtype: np.dtype = np.dtype(np.float64)
    """The type of the stored values; float64 where that is not known before they are read."""

    n_cells: int
    """Cells that one pass over all rows reads: the nonzeros of compressed data, else all n·d."""

    max_row_cells: int
    """Cells of the longest row."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def d(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @property
    def by_rows(self) -> "Data":
        """The same data as a `Matrix`, on the same count of reads; itself where the rows are not in memory."""
        return self

    @property
    @abstractmethod
    def reads(self) -> int:
        """Cells handed out so far: nonzeros of compressed data, cells of other."""

    @abstractmethod
    def fork(self) -> "Data":
        """The same data for a run beside others, with counts of its own where that is possible."""

    def each_block(self, work: Callable[["Data", int, int], T]) -> list[T]:
        """What ``work(data, lo, hi)`` returns for each of the row blocks, in their order."""
        return [work(self, lo, hi) for lo, hi in self.row_blocks()]

    @abstractmethod
    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that cover the matrix."""

    @abstractmethod
    def responses(self, w: Vector, lo: int, hi: int, out: Vector | None = None, billed: bool = True) -> Vector:
        """``X[lo:hi] @ w`` in float64."""

    @abstractmethod
    def responses_at(self, rows: Indices, w: Vector, billed: bool = True) -> Vector:
        """``X[rows] @ w`` in float64."""

    @abstractmethod
    def combine(self, coef: Vector, lo: int, hi: int, out: Vector) -> None:
        """``out += X[lo:hi].T @ coef``; rows whose coefficient is zero are not read."""

    @abstractmethod
    def largest_norm(self) -> float:
        """The largest norm of a row (not billed), or of one that was met where they are not in memory."""

    @abstractmethod
    def gather(self, rows: Indices) -> "Data | Stored":
        """Some rows, in memory."""
