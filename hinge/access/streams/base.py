"""Streams of rows, and their rows as counted data; detection of changed files; the memory that rows may take."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from hinge.access.data import Data
from hinge.access.matrix import Matrix
from hinge.threads import Begun
from hinge.types import Stored

LARGEST = 1e70
"""Larger values raise an error, as in estimators: sums of their fourth powers would overflow."""
SPOTS, SPOT = 64, 1 << 12
"""Number of places of a file, and bytes at each, from which its fingerprint is computed."""


class DataChanged(OSError):
    """A source has changed since it was opened; the message names the file."""


class RowStream(ABC):
    """A matrix of which stretches (ranges of rows) can be read, any number of times; nothing is kept.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        Type of the values returned: float32 or float64.
    is_sparse : bool
        Whether stretches are CSR; else they are arrays.
    names : list of str or None
        Names of the columns, if they have names.
    n_cells : int
        Cells read by one pass: the nonzeros of sparse rows, else all.
    max_row_cells : int
        Cells of the longest row, or an upper bound.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    is_sparse: bool = False
    names: list[str] | None = None

    @property
    def n_cells(self) -> int:
        """Cells read by one pass over all rows."""
        return self.shape[0] * self.shape[1]

    @property
    def max_row_cells(self) -> int:
        """Cells of the longest row, or an upper bound."""
        return self.shape[1]

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes in memory, on average."""
        cell = self.dtype.itemsize + (4 if self.is_sparse else 0)
        return max(1, -(-cell * self.n_cells // max(1, self.shape[0])) + (8 if self.is_sparse else 0))

    def stretches(self, rows: int, most: int) -> list[tuple[int, int]]:
        """Stretches that cover all rows and can be read efficiently: of about `rows` rows, and at most `most`."""
        return regrouped([0, self.shape[0]], rows, max(1, min(rows, most)))

    @abstractmethod
    def read(self, lo: int, hi: int, out: np.ndarray | None = None) -> Stored:
        """Rows lo to hi, in the `dtype`; into `out` if it is given, unless the source is sparse."""

    def pieces(self, lo: int, hi: int, out: np.ndarray) -> list[Callable[[], object]]:
        """Functions that together read rows lo to hi, for any order and several threads; not for sparse sources."""
        return [lambda: self.read(lo, hi, out)]

    def labels(self) -> np.ndarray | None:
        """Labels or targets that the source has, one for each row; None if it has none."""
        return None

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that is the same for the same rows, in other processes too, and almost never for others."""

    def forget(self) -> None:
        """Free memory that is kept for `load`, which will not be called."""
        return None

    def load(self) -> Stored:
        """All rows, in memory, validated."""
        n, d = self.shape
        if self.is_sparse:
            blocks = [self.read(lo, hi) for lo, hi in self.stretches(1 << 16, 1 << 16)]
            return sp.csr_array(sp.vstack(blocks, format="csr")) if len(blocks) > 1 else blocks[0]
        out = np.empty((n, d), self.dtype)
        for lo, hi in self.stretches(1 << 16, n):
            self.read(lo, hi, out[lo:hi])
            check_values(out[lo:hi], lo, self.names)
        return out


def regrouped(ends: Sequence[int], rows: int, most: int) -> list[tuple[int, int]]:
    """Ranges between consecutive ends: short ones are joined up to `rows`, those longer than `most` are divided."""
    found: list[tuple[int, int]] = []
    for lo, hi in pairwise(ends):
        if hi - lo > most:
            parts = -(-(hi - lo) // most)
            found += pairwise([lo + (hi - lo) * k // parts for k in range(parts + 1)])
        elif found and hi - found[-1][0] <= rows:
            found[-1] = found[-1][0], hi
        elif hi > lo:
            found.append((lo, hi))
    return found


def check_values(X: Stored, start: int, names: list[str] | None) -> None:
    """Raise, naming the column, if a cell of rows from `start` on is not finite or too large to be squared."""
    values: np.ndarray = X if isinstance(X, np.ndarray) else X.data
    if not values.size or (float(values.min()) >= -LARGEST and float(values.max()) <= LARGEST):  # false for nan
        return
    i, j, value = first_cell(X, ~(np.abs(values) <= LARGEST))
    name = repr(names[j]) if names else j
    raise ValueError(
        f"Column {name} is {value:g} in row {start + i}: only finite numbers up to {LARGEST:g} are taken; "
        "fill or drop missing values, or scale the column."
    )


def first_cell(X: Stored, flags: np.ndarray) -> tuple[int, int, float]:
    """Row, column and value of the first of the stored values that are flagged."""
    at = tuple(np.argwhere(flags)[0].tolist())
    if isinstance(X, np.ndarray):
        return *at, float(X[at])
    i = int(np.searchsorted(X.indptr, at[0], side="right")) - 1
    return i, int(X.indices[at[0]]), float(X.data[at[0]])


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

    def responses(self, w: np.ndarray, lo: int, hi: int, billed: bool = True) -> np.ndarray:
        matrix = self.take(((lo, hi),))
        found = matrix.responses(w, 0, hi - lo, billed)
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


class WatchedFiles:
    """Files that must not change while they are read repeatedly.

    Parameters
    ----------
    paths : iterable of Path
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._seen = {path: _state_of(path) for path in paths}

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return list(self._seen)

    def check(self, path: Path) -> None:
        """Raise `DataChanged` if the file is gone, or was written to since it was opened."""
        try:
            now = _state_of(path)
        except FileNotFoundError as error:
            raise DataChanged(f"{path} is gone since it was first read: put it back, and fit again.") from error
        if now != self._seen[path]:
            raise DataChanged(f"{path} has changed since it was first read: fit again, on files that stay as they are.")


def _state_of(path: Path) -> tuple[int, int]:
    """Size and time of the last modification."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def sampled_hash(path: Path) -> str:
    """A hash of a file's size and of its content at some evenly spaced places."""
    size = path.stat().st_size
    made = hashlib.blake2b(str(size).encode(), digest_size=16)
    with path.open("rb") as stream:
        for k in range(SPOTS + 1):
            stream.seek((size - SPOT) * k // SPOTS if size > SPOT else 0)
            made.update(stream.read(SPOT))
            if size <= SPOT:
                break
    return made.hexdigest()


def hash_of(*parts: str | bytes | np.ndarray) -> str:
    """A hash of texts and arrays."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            made.update(f"{part.dtype.str}{part.shape}".encode())
            made.update(np.ascontiguousarray(part).view(np.uint8).data if part.size else b"")
        else:
            made.update(part.encode() if isinstance(part, str) else part)
        made.update(b"\0")
    return made.hexdigest()


UNKNOWN = 1 << 31
"""Bytes that are assumed to be free if the system does not tell."""


def free_memory() -> int:
    """Bytes that this process can still use, by the system, its container and its own limits."""
    return max(0, min([_available(), *_left_in_container(), *_left_of_limits()]))


def resident() -> int:
    """Bytes of this process that are in memory; 0 if the system does not tell."""
    fields = _fields(Path("/proc/self/status"))
    return 1024 * fields.get("VmRSS", 0)


def allowed_memory(max_memory: float | None) -> int:
    """Limit of this process's memory in bytes: `max_memory`, or its present memory plus half of what is free."""
    if max_memory is not None:
        return int(max_memory)
    return resident() + int(0.5 * free_memory())  # the other half is for the system's own cache of files


def _available() -> int:
    fields = _fields(Path("/proc/meminfo"))
    if "MemAvailable" in fields:
        return 1024 * fields["MemAvailable"]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _left_in_container() -> list[int]:
    """What control groups, of version 2 and version 1, leave."""
    found = []
    for folder, most, used in (
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            found.append(int(Path(folder, most).read_text()) - int(Path(folder, used).read_text()))
        except (OSError, ValueError):  # there is none, or its limit is "max"
            continue
    return found


def _left_of_limits() -> list[int]:
    """What the process's limits leave of its address space and of its data segment."""
    try:
        import resource
    except ImportError:
        return []
    fields, found = _fields(Path("/proc/self/status")), []
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            found.append(soft - 1024 * fields.get(used, 0))
    return found


def _fields(path: Path) -> dict[str, int]:
    """The lines "name: number" of a file in /proc."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines)
    return {name: int(rest.split()[0]) for name, _, rest in pairs if rest.split() and rest.split()[0].isdecimal()}
