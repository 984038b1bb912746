"""The base class of matrices whose reads are counted, in memory or elsewhere."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from hinge.types import Indices, Stored, Vector

T = TypeVar("T")


class Data(ABC):
    """A matrix of n rows and d columns, the reads of which are counted.

    `Matrix` is an array or CSR in memory, of which compiled code reads rows. `Table` is read by rows, columns and
    cells, and may be on disk or with a seller of features.
    """

    shape: tuple[int, int]

    in_memory: bool = False
    """Whether the cells can be read again at no cost."""

    is_sparse: bool = False
    """Whether the rows are stored sparsely."""

    dtype: np.dtype = np.dtype(np.float64)
    """The type of the stored values; float64 if that is not known before they are read."""

    n_cells: int
    """Cells read by one pass over all rows: the nonzeros of sparse data, else n·d."""

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
        """The same data as a `Matrix` with the same counter; itself if the rows are not in memory."""
        return self

    @property
    @abstractmethod
    def reads(self) -> int:
        """Cells read so far: nonzeros of sparse data, else all cells."""

    @abstractmethod
    def fork(self) -> "Data":
        """The same data for a concurrent run, with counters of its own if possible."""

    def each_block(self, work: Callable[["Data", int, int], T]) -> list[T]:
        """The results of ``work(data, lo, hi)`` for all row blocks, in order."""
        return [work(self, lo, hi) for lo, hi in self.row_blocks()]

    @abstractmethod
    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that cover the matrix."""

    @abstractmethod
    def responses(self, w: Vector, lo: int, hi: int, billed: bool = True) -> Vector:
        """``X[lo:hi] @ w`` in float64."""

    @abstractmethod
    def responses_at(self, rows: Indices, w: Vector, billed: bool = True) -> Vector:
        """``X[rows] @ w`` in float64."""

    @abstractmethod
    def combine(self, coef: Vector, lo: int, hi: int, out: Vector) -> None:
        """``out += X[lo:hi].T @ coef``; rows whose coefficient is zero are not read."""

    @abstractmethod
    def largest_norm(self) -> float:
        """The largest norm of a row (not billed); where rows are not in memory, of those read so far."""

    @abstractmethod
    def gather(self, rows: Indices) -> "Data | Stored":
        """A copy of some rows, in memory."""
