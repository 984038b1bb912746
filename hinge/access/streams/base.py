"""What every source of rows offers that is read in stretches, and how it is known to have changed."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from hinge.types import Stored

LARGEST = 1e70
"""Values above this are refused, as estimators refuse them: sums of their fourth powers would overflow."""
SPOTS, SPOT = 64, 1 << 12
"""Places of a file, and bytes at each, that its fingerprint is made of."""


class DataChanged(OSError):
    """A source is not what it was when it was opened; the sentence names the file."""


class RowStream(ABC):
    """A matrix of which stretches of rows are read, as often as wanted; nothing is kept.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
        Of the values that are handed out: float32 or float64.
    is_sparse : bool
        Whether stretches are CSR; else they are arrays.
    names : list of str or None
        Of the columns, where they have names.
    n_cells : int
        Cells that one pass reads: the nonzeros of compressed rows, else all.
    max_row_cells : int
        Cells of the longest row, or a bound on them.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    is_sparse: bool = False
    names: list[str] | None = None

    @property
    def n_cells(self) -> int:
        """Cells that one pass over all rows reads."""
        return self.shape[0] * self.shape[1]

    @property
    def max_row_cells(self) -> int:
        """Cells of the longest row at most."""
        return self.shape[1]

    @property
    def row_bytes(self) -> int:
        """Bytes that a row takes in memory, on average."""
        cell = self.dtype.itemsize + (4 if self.is_sparse else 0)
        return max(1, -(-cell * self.n_cells // max(1, self.shape[0])) + (8 if self.is_sparse else 0))

    def stretches(self, rows: int, most: int) -> list[tuple[int, int]]:
        """Stretches that cover all rows and are cheap to read alone: of about `rows` rows, and no more than `most`."""
        n = self.shape[0]
        parts = max(1, -(-n // max(1, min(rows, most))))
        ends = [n * k // parts for k in range(parts + 1)]
        return list(pairwise(ends))

    @abstractmethod
    def read(self, lo: int, hi: int, out: np.ndarray | None = None) -> Stored:
        """Rows lo to hi, in the `dtype`; of a source that is not sparse, into `out` where it is given."""

    def pieces(self, lo: int, hi: int, out: np.ndarray) -> list[Callable[[], object]]:
        """What a read of rows lo to hi is made of, where it is not sparse: in any order, by several threads at once."""
        return [lambda: self.read(lo, hi, out)]

    @abstractmethod
    def labels(self) -> np.ndarray | None:
        """What the source holds of labels or targets, one a row; None if nothing."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that is the same for the same rows, in another process too, and hardly ever for others."""

    def forget(self) -> None:
        """Give up what is kept in memory for `load`, which will not be called."""
        return None

    def load(self) -> Stored:
        """All rows, in memory, checked."""
        n, d = self.shape
        if self.is_sparse:
            blocks = [self.read(lo, hi) for lo, hi in self.stretches(1 << 16, 1 << 16)]
            return sp.csr_array(sp.vstack(blocks, format="csr")) if len(blocks) > 1 else blocks[0]
        out = np.empty((n, d), self.dtype)
        for lo, hi in self.stretches(1 << 16, n):
            self.read(lo, hi, out[lo:hi])
            check_values(out[lo:hi], lo, self.names)
        return out


def check_values(X: Stored, start: int, names: list[str] | None) -> None:
    """Raise, naming the column, if a cell of rows from `start` on is not a number that can be squared."""
    values: np.ndarray = X if isinstance(X, np.ndarray) else X.data
    if not values.size or (float(values.min()) >= -LARGEST and float(values.max()) <= LARGEST):  # not of nan
        return
    bad = np.argwhere(~(np.abs(values) <= LARGEST))[0].tolist()
    if isinstance(X, np.ndarray):
        i, j = bad
    else:
        i, j = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1, int(X.indices[bad[0]])
    name = repr(names[j]) if names else j
    raise ValueError(
        f"Column {name} is {values[tuple(bad)]:g} in row {start + i}: only finite numbers up to {LARGEST:g} are taken; "
        "fill or drop missing values, or scale the column."
    )


class Watched:
    """Files that must stay as they are while they are read again and again.

    Parameters
    ----------
    paths : iterable of Path
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._seen = {path: _state_of(path) for path in paths}

    @property
    def paths(self) -> list[Path]:
        """All of them."""
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
    """Size and time of the last write."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def sampled_hash(path: Path) -> str:
    """A hash of a file's size and of what it holds at some places, evenly spread."""
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


def is_glob(text: str) -> bool:
    """Whether a name asks for several files."""
    return any(mark in text for mark in "*?[") and not os.path.exists(text)
