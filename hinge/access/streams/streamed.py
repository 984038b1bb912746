"""Rows of a stream as counted data: some stretches are in memory, and the next ones are read in the background."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from hinge.access.data import Data
from hinge.access.matrix import Matrix
from hinge.access.streams.base import RowStream, check_values
from hinge.threads import Begun
from hinge.types import Stored

T = TypeVar("T")
Ranges = tuple[tuple[int, int], ...]
"""Ranges of rows (lo, hi)."""

HAND = 1 << 28
"""Most bytes of rows in use at a time (a "hand"): with more, a step would take too long."""
SHORT = 1 << 20
"""Least bytes of a stretch, if several are in memory: shorter reads are slow on a disk."""


class StretchLayout(NamedTuple):
    """How a matrix is divided: about `rows` rows in a stretch, at most `most`, and `stretches` of them at a time."""

    rows: int
    most: int
    stretches: int

    @classmethod
    def fitting(cls, stream: RowStream, memory: int) -> "StretchLayout":
        """The layout that fits into this many bytes."""
        # One hand in use, one being read, and what reading needs in addition.
        most = min(HAND, memory // 3) // stream.row_bytes
        if most < 1:
            raise ValueError(
                f"{max(0, memory):,} bytes are left for rows, of which each takes {stream.row_bytes:,}: "
                "allow more by max_memory."
            )
        # About eight stretches at a time, from all over the file, since neighbouring rows may be alike.
        rows = max(1, most // 8, min(most, SHORT // stream.row_bytes))
        longest = max(hi - lo for lo, hi in stream.stretches(rows, most))
        return cls(rows, most, max(1, most // longest))


class BackgroundReading:
    """Stretches being read by a background thread; the thread that needs them helps with the rest.

    Parameters
    ----------
    stream : RowStream
    ranges : tuple of pairs of int
    room : ndarray, optional
        Array to read into; None for a sparse source.
    """

    def __init__(self, stream: RowStream, ranges: Ranges, room: np.ndarray | None) -> None:
        self.ranges, self.room = ranges, room
        tasks: list[Callable[[], object]] = []
        self._parts: list[Stored] | None = None
        if room is None:
            tasks = [partial(stream.read, lo, hi) for lo, hi in ranges]
        else:
            self._parts = np.split(room, np.cumsum([hi - lo for lo, hi in ranges])[:-1])
            for part, (lo, hi) in zip(self._parts, ranges, strict=True):
                tasks += stream.pieces(lo, hi, part)
        self._begun = Begun(lambda k: tasks[k](), len(tasks), "hinge reader")

    def parts(self) -> list[Stored]:
        """The rows of all stretches, after waiting until they have been read."""
        found = self._begun.results()
        return cast(list[Stored], found) if self._parts is None else self._parts


class Streamed(Data):
    """Rows of a stream, available as a `Matrix` of a few stretches at a time.

    A thread reads the stretches that are announced to be next while others are in use; if they are needed before that
    is done, the calling thread helps. Memory holds two hands of rows. All reads of cells are counted, and `bytes_read`
    counts the bytes read from the source.

    Parameters
    ----------
    stream : RowStream
    memory : int
        Bytes for rows.
    layout : Layout, optional
        The layout of an earlier run that is continued.
    """

    def __init__(self, stream: RowStream, memory: int, layout: StretchLayout | None = None) -> None:
        self.stream, self.shape, self.dtype = stream, stream.shape, stream.dtype
        self.is_sparse, self.n_cells, self.max_row_cells = stream.is_sparse, stream.n_cells, stream.max_row_cells
        self.layout = StretchLayout.fitting(stream, memory) if layout is None else layout
        self.stretches: list[tuple[int, int]] = stream.stretches(self.layout.rows, self.layout.most)
        self.bytes_read, self.largest_sq = 0, 0.0
        room = 8 * self.n <= memory // 4
        self.sq_norms = np.full(self.n, np.nan) if room else None  # None: computed again at each visit
        self._count, self._fine = 0, set[tuple[int, int]]()
        self._held: tuple[Ranges, Matrix] | None = None
        self._coming: BackgroundReading | None = None
        self._buffers: list[np.ndarray] = []

    @property
    def reads(self) -> int:
        """Cells read so far."""
        return self._count + (0 if self._held is None else self._held[1].reads)

    def fork(self) -> "Streamed":
        """The same object: all runs share the position in the source."""
        return self

    def take(self, ranges: Ranges, ahead: Ranges | None = None) -> Matrix:
        """These stretches as a matrix, valid until others are taken; those `ahead` are read in the background."""
        if self._held is None or self._held[0] != ranges:
            reading, self._coming = self._coming, None
            if reading is not None and reading.ranges != ranges:
                reading.parts()  # not the announced ones: wait, since it is using a buffer
                reading = None
            rows = self._arrived(self._begin(ranges) if reading is None else reading)
            self._count, self._held = self.reads, (ranges, Matrix(rows, checked=True))
        if ahead is not None and ahead != ranges and self._coming is None:
            self._coming = self._begin(ahead)
        return self._held[1]

    def _begin(self, ranges: Ranges) -> "BackgroundReading":
        room = None if self.is_sparse else self._buffer(sum(hi - lo for lo, hi in ranges))
        return BackgroundReading(self.stream, ranges, room)

    def _arrived(self, reading: "BackgroundReading") -> Stored:
        """The rows, counted, and validated the first time they are read."""
        parts = reading.parts()
        for part, (lo, hi) in zip(parts, reading.ranges, strict=True):
            if (lo, hi) not in self._fine:
                check_values(part, lo, self.stream.names)
                self._fine.add((lo, hi))
        if reading.room is not None:
            self.bytes_read += reading.room.nbytes
            return reading.room
        rows = parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr"))
        self.bytes_read += rows.data.nbytes + rows.indices.nbytes  # type: ignore[union-attr]
        return rows

    def _buffer(self, rows: int) -> np.ndarray:
        """Unused memory for this number of rows: one of two buffers, used alternately."""
        if not self._buffers:
            longest = max(max(hi - lo for lo, hi in self.stretches) * self.layout.stretches, rows)
            self._buffers = [np.empty((min(longest, self.n), self.d), self.dtype) for _ in range(2)]
        self._buffers.reverse()
        return self._buffers[0][:rows]

    # --- Data -----------------------------------------------------------------------------

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        return iter(self.stretches)

    def each_block(self, work: Callable[[Data, int, int], T]) -> list[T]:
        found = []
        for k, block in enumerate(self.stretches):
            self.take((block,), (self.stretches[k + 1],) if k + 1 < len(self.stretches) else None)
            found.append(work(self, *block))
        return found

    def responses(
        self, w: np.ndarray, lo: int, hi: int, out: np.ndarray | None = None, billed: bool = True
    ) -> np.ndarray:
        matrix = self.take(((lo, hi),))
        found = matrix.responses(w, 0, hi - lo, out, billed)
        self.largest_sq = max(self.largest_sq, matrix.largest_norm() ** 2)
        return found

    def responses_at(self, rows: np.ndarray, w: np.ndarray, billed: bool = True) -> np.ndarray:
        out = np.empty(len(rows))
        for lo, hi in self.stretches:
            inside = np.flatnonzero((rows >= lo) & (rows < hi))
            if len(inside):
                out[inside] = self.take(((lo, hi),)).responses_at(rows[inside] - lo, w, billed)
        return out

    def combine(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        self.take(((lo, hi),)).combine(coef, 0, hi - lo, out)

    def largest_norm(self) -> float:
        return float(np.sqrt(self.largest_sq))

    def gather(self, rows: np.ndarray) -> Matrix:
        return Matrix(self.take(tuple((int(i), int(i) + 1) for i in rows)).whole().copy())
