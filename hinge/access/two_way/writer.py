"""Writing a matrix to disk by rows and by columns, in a fixed amount of memory.

The rows are written as they come. Then they are read again in blocks, and of each block the tile of each group of
columns is written to that group's part of the file; finally each group is sorted in memory. So each cell is written
three times at most, in long contiguous ranges.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import DTypeLike

from hinge.access.two_way.header import POINTER, WAYS, PairHeader, index_type, is_pair
from hinge.access.two_way.row_sources import RowsLike, RowSource, cuts, entries_in
from hinge.files.replacing import replacing_folder

Progress = Callable[[int, int | None], None]
"""Called with the bytes done and the total number of bytes, None while that is not known."""


def write_pair(
    X: RowsLike,
    folder: str | Path,
    *,
    shape: tuple[int, int] | None = None,
    dtype: DTypeLike | None = None,
    memory: int = 256 << 20,
    progress: Progress | None = None,
) -> None:
    """Write a matrix by rows and by columns into a folder, for `open_pair`.

    Parameters
    ----------
    X : array, memory map, sparse matrix, path or iterable
        Also anything with a `shape` whose rows can be sliced, such as arrays of h5py and zarr; the path of a .npy or
        Parquet file; or an iterable of row blocks. Sparse input becomes a compressed pair.
    folder : path
        Created at the end, complete. An existing pair is unchanged until then.
    shape : tuple of int, optional
        Shape of an iterable of row blocks; checked if given.
    dtype : float32 or float64, optional
        Type of the cells. By default that of X; integers of up to 16 bits become float32, others float64.
    memory : int
        Bytes of working memory. A single row or column is held in any case.
    progress : callable, optional
        Called with the bytes done and the total number of bytes, None while that is not known.

    Raises
    ------
    ValueError
        If a cell is not a finite number, blocks are inconsistent, or `folder` exists and is not a pair.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from hinge import open_pair, write_pair
    >>> folder = tempfile.mkdtemp()
    >>> write_pair(np.arange(6.0).reshape(2, 3), folder)
    >>> open_pair(folder).shape
    (2, 3)
    """
    target = Path(os.path.realpath(folder))
    if target.exists() and not (is_pair(target) or (target.is_dir() and not any(target.iterdir()))):
        raise ValueError(f"{folder} is there already and is not a pair: choose another name.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} for {target.name}: make it first.")
    source = RowSource(X, shape, dtype, memory)
    with replacing_folder(target) as temporary:
        writer = (_CompressedWriter if source.sparse else _DenseWriter)(temporary, source, memory, progress)
        n, d = writer.write_rows()
        if n * d == 0:
            raise ValueError(f"There are no cells in {n} × {d}: a pair has at least one row and column.")
        if source.shape is not None and source.shape != (n, d):
            raise ValueError(f"The row blocks make {n} × {d} cells, but shape is {source.shape}.")
        writer.write_columns(n, d)
        writer.header((d, n) if source.turned else (n, d)).write(temporary)


class _Writer:
    """The base class: names of the files, and a count of the bytes written."""

    def __init__(self, folder: Path, source: RowSource, memory: int, progress: Progress | None) -> None:
        self.folder, self.source, self.memory, self.dtype = folder, source, memory, source.dtype
        self.along, self.across = WAYS[::-1] if source.turned else WAYS
        self._progress, self._done = progress, 0
        self.total: int | None = None
        self.nonzeros: int | None = None

    def header(self, shape: tuple[int, int]) -> PairHeader:
        """The header of what was written."""
        return PairHeader(shape, self.dtype.name, self.nonzeros)

    def step(self, nbytes: int) -> None:
        """Report bytes that were written."""
        self._done += nbytes
        if self._progress is not None:
            self._progress(self._done, self.total)

    def open(self, stack: ExitStack, name: str, mode: str) -> IO[bytes]:
        """A file of the pair."""
        return stack.enter_context((self.folder / name).open(mode))


class _DenseWriter(_Writer):
    """Writes a dense pair."""

    def write_rows(self) -> tuple[int, int]:
        """Write the rows as they come; returns their shape."""
        n = d = 0
        if self.source.shape is not None:
            self.total = 3 * self.source.shape[0] * self.source.shape[1] * self.dtype.itemsize
        with ExitStack() as stack:
            rows = self.open(stack, self.along, "wb")
            for block in self.source.blocks():
                n, d = n + len(block), block.shape[1]
                rows.write(np.ascontiguousarray(block).data)
                self.step(block.nbytes)
        return n, d

    def write_columns(self, n: int, d: int) -> None:
        """Read the rows again, and write the columns."""
        size = self.dtype.itemsize
        self.total = 3 * n * d * size
        width = min(d, max(1, self.memory // (4 * n * size)))
        height = max(1, self.memory // (4 * d * size))
        with ExitStack() as stack:
            rows = self.open(stack, self.along, "rb")
            columns = self.open(stack, self.across, "w+b")
            for lo in range(0, n, height):
                block = _take(rows, lo * d, min(height, n - lo) * d, self.dtype).reshape(-1, d)
                for j in range(0, d, width):
                    tile = block[:, j : j + width]
                    _put(columns, j * n + lo * tile.shape[1], tile)
                    self.step(tile.nbytes)
            for j in range(0, d, width):
                group = min(width, d - j)
                if group > 1:  # a single column is in order already
                    tiles = _take(columns, j * n, n * group, self.dtype)
                    _put(columns, j * n, tiles.reshape(n, group).T)
                self.step(n * group * size)


class _CompressedWriter(_Writer):
    """Writes a compressed pair."""

    def write_rows(self) -> tuple[int, int]:
        """Write the rows as they come; returns their shape."""
        lengths: list[np.ndarray] = []
        below = np.zeros(0, np.int64)
        with ExitStack() as stack:
            indices, values = (self.open(stack, f"{self.along}.{part}", "wb") for part in ("indices", "values"))
            for block in self.source.blocks():
                below = below if len(below) else np.zeros(block.shape[1], np.int64)
                below += np.bincount(block.indices, minlength=len(below))
                lengths.append(np.diff(block.indptr))
                indices.write(block.indices.astype(index_type(len(below))).data)
                values.write(block.data.data)
                self.step(block.nnz * self._entry(len(below)))
        n, d = sum(map(len, lengths)), len(below)
        self.starts = _starts(np.concatenate(lengths)), _starts(below)
        for way, starts in zip((self.along, self.across), self.starts, strict=True):
            (self.folder / f"{way}.indptr").write_bytes(starts.astype(POINTER).tobytes())
        self.nonzeros = int(self.starts[0][-1])
        return n, d

    def _entry(self, length: int) -> int:
        """Bytes of an entry in a line of this length."""
        return index_type(length).itemsize + self.dtype.itemsize

    def write_columns(self, n: int, d: int) -> None:
        """Read the rows again, and write the columns."""
        along, across = self.starts
        limit = entries_in(self.memory)
        groups = np.array(list(cuts(across, limit)))
        group_of = np.repeat(np.arange(len(groups)), groups[:, 1] - groups[:, 0])
        ends = across[groups[:, 0]]  # position of the next tile of each group
        types = index_type(n), index_type(d), self.dtype
        self.total = self._done + int(along[-1]) * 2 * self._entry(n)
        with ExitStack() as stack:
            indices, values = (self.open(stack, f"{self.along}.{part}", "rb") for part in ("indices", "values"))
            parts = [self.open(stack, f"{self.across}.{part}", "w+b") for part in ("indices", "values")]
            scratch = stack.enter_context(TemporaryFile(dir=self.folder))
            files = parts[0], scratch, parts[1]
            for lo, hi in cuts(along, limit):
                begin, count = int(along[lo]), int(along[hi] - along[lo])
                columns = _take(indices, begin, count, index_type(d))
                entries = (
                    np.repeat(np.arange(lo, hi, dtype=index_type(n)), np.diff(along[lo : hi + 1])),
                    columns,
                    _take(values, begin, count, self.dtype),
                )
                group = group_of[columns]
                order = np.argsort(group, kind="stable")
                counts = np.bincount(group, minlength=len(groups))
                stops = np.cumsum(counts)
                for g in np.flatnonzero(counts).tolist():
                    tile = order[stops[g] - counts[g] : stops[g]]
                    for file, entry in zip(files, entries, strict=True):
                        _put(file, int(ends[g]), entry[tile])
                ends += counts
                self.step(count * self._entry(n))
            for lo, hi in groups.tolist():
                begin, count = int(across[lo]), int(across[hi] - across[lo])
                rows, columns, cells = (
                    _take(file, begin, count, kind) for file, kind in zip(files, types, strict=True)
                )
                order = np.argsort(columns, kind="stable")  # rows ascend already
                _put(files[0], begin, rows[order])
                _put(files[2], begin, cells[order])
                self.step(count * self._entry(n))


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _take(file: IO[bytes], at: int, count: int, dtype: np.dtype) -> np.ndarray:
    """Numbers from a file; the position is counted in numbers."""
    file.seek(at * dtype.itemsize)
    return np.frombuffer(file.read(count * dtype.itemsize), dtype)


def _put(file: IO[bytes], at: int, numbers: np.ndarray) -> None:
    file.seek(at * numbers.itemsize)
    file.write(np.ascontiguousarray(numbers).data)
