"""Writing a matrix to disk by rows and by columns, in a fixed amount of memory.

The rows are written as they come. Then they are read again in blocks, and of each block the tile of each group of
columns is written to that group's part of the file; finally each group is sorted in memory. So each cell is written
three times at most, in long contiguous ranges.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hinge.access.matrix import float_for
from hinge.access.streams.base import first_cell
from hinge.access.streams.opening import map_array
from hinge.access.streams.parquet import ParquetStream
from hinge.access.structure import as_csr, check_parts
from hinge.access.two_way.reader import POINTER, WAYS, PairHeader, index_type, is_pair
from hinge.files.replacing import replacing_folder
from hinge.types import MatrixLike, Stored

RowsLike: TypeAlias = MatrixLike | str | os.PathLike | Iterable[MatrixLike]
"""A matrix, the path of a file that holds one, or row blocks one after another."""


class RowSource:
    """The rows of X, or its columns if X is stored by columns, in blocks that fit into memory.

    Parameters
    ----------
    X : array, memory map, sparse matrix, path or iterable
        As for `write_pair`.
    shape : tuple of int, optional
        Shape of an iterable of row blocks.
    dtype : float32 or float64, optional
        Type of the cells.
    memory : int
        Bytes for the copies of a block.

    Attributes
    ----------
    shape : tuple of int or None
        Shape, if it is known; of the transpose if `turned`.
    turned : bool
        Whether the blocks are rows of the transpose.
    sparse : bool
    dtype : dtype
        Type of the cells, little-endian.
    """

    def __init__(self, X: RowsLike, shape: tuple[int, int] | None, dtype: DTypeLike | None, memory: int) -> None:
        if memory < 1:
            raise ValueError(f"memory must be a number of bytes, got {memory}.")
        self.shape = None if shape is None else (int(shape[0]), int(shape[1]))
        self.turned = False
        raw = iter(self._blocks_of(X, memory))
        first = next(raw, None)
        if first is None:
            raise ValueError("There are no rows to write: a pair has at least one.")
        self.sparse = bool(sp.issparse(first))
        self._chosen = dtype is not None
        if np.dtype(dtype or np.float32) not in (np.float32, np.float64):
            raise ValueError(f"dtype is float32 or float64, not {dtype!r}.")
        self.dtype = (np.dtype(dtype) if self._chosen else float_for(first.dtype)).newbyteorder("<")
        self._raw = chain([first], raw)

    def blocks(self) -> Iterator[Any]:
        """Blocks of finite numbers: arrays, or CSR matrices with sorted indices and no zeros."""
        at, width = 0, None
        for block in self._raw:
            width = block.shape[1] if width is None else width
            if sp.issparse(block) != self.sparse or block.shape[1] != width:
                raise ValueError(
                    f"The block from row {at} on is unlike those before: all are dense or all are sparse, and"
                    " all have as many columns."
                )
            if block.dtype.kind not in "fiub":
                raise ValueError(f"Cells are numbers, but those from row {at} on are {block.dtype}.")
            if not self._chosen and float_for(block.dtype).itemsize > self.dtype.itemsize:
                raise ValueError(
                    f"Cells from row {at} on are {block.dtype}, those before {self.dtype.name}: say which"
                    " dtype to write."
                )
            if self.sparse:
                block = sp.csr_array(block, copy=True)
                block.sum_duplicates()
                block.eliminate_zeros()
            with np.errstate(over="ignore"):  # numbers too large for the type become infinite, and are rejected below
                block = block.astype(self.dtype, copy=False)
            self._check_finite(block, at)
            at += block.shape[0]
            yield block

    def _check_finite(self, block: Stored, at: int) -> None:
        cells = block if isinstance(block, np.ndarray) else block.data
        good = np.isfinite(cells)
        if good.all():
            return
        i, j, value = first_cell(block, ~good)
        i, j = (j, at + i) if self.turned else (at + i, j)
        raise ValueError(
            f"The cell in row {i}, column {j} is {value} as {self.dtype.name}: only finite numbers are taken."
        )

    def _blocks_of(self, X: RowsLike, memory: int) -> Iterable[Stored]:
        if isinstance(X, str | os.PathLike):
            path = Path(X)
            if path.suffix != ".npy":
                stream = ParquetStream(path)
                self.shape = stream.shape
                return stream.blocks(memory // 4)
            X = map_array(path)
        if not (sp.issparse(X) or hasattr(X, "shape")):
            if not isinstance(X, Iterable):
                raise TypeError(f"A {type(X).__name__} is neither a matrix nor an iterable of row blocks.")
            return (piece for block in X for piece in _pieces(_as_block(block), memory))
        rows = cast(Stored, X)  # or something that can be sliced like one
        if len(rows.shape) != 2:
            raise ValueError(f"A matrix has two dimensions, but this has {len(rows.shape)}.")
        lies_down = isinstance(rows, np.ndarray) and rows.flags.f_contiguous and not rows.flags.c_contiguous
        self.turned = bool(lies_down or (sp.issparse(X) and cast(sp.sparray, X).format == "csc"))
        if sp.issparse(X):
            check_parts(X)
            rows = as_csr(rows.T if self.turned else rows)[0]
        else:
            rows = rows.T if self.turned else rows
        self.shape = int(rows.shape[0]), int(rows.shape[1])
        return _pieces(rows, memory)


def cuts(indptr: np.ndarray, limit: int) -> Iterator[tuple[int, int]]:
    """Ranges of lines with at most `limit` entries in total, or of a single line."""
    lo = 0
    while lo < len(indptr) - 1:
        hi = max(lo + 1, int(np.searchsorted(indptr, indptr[lo] + limit, side="right")) - 1)
        yield lo, hi
        lo = hi


def entries_in(memory: int) -> int:
    """Number of entries of a sparse matrix that can be sorted in this many bytes."""
    return max(1, memory // 128)


def _pieces(X: Stored, memory: int) -> Iterator[Stored]:
    """Row blocks, small enough for several copies in memory."""
    if sp.issparse(X):
        rows = cast(sp.csr_array, X)
        yield from (rows[lo:hi] for lo, hi in cuts(rows.indptr, entries_in(memory)))
        return
    n, d = int(X.shape[0]), int(X.shape[1])
    step = max(1, memory // (4 * 8 * max(1, d)))
    chunks = getattr(X, "chunks", None)
    if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], int):
        step = max(1, step // chunks[0]) * chunks[0]  # so that no chunk is read twice
    for lo in range(0, n, step):
        yield np.asarray(X[lo : min(lo + step, n)])


def _as_block(block: MatrixLike) -> Stored:
    block = as_csr(block)[0] if sp.issparse(block) else np.asarray(block)
    if block.ndim != 2:
        raise ValueError(f"A block of rows has two dimensions, but one has {block.ndim}.")
    return block


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
        Type of the cells. By default the type of X; integers of up to 16 bits become float32, others float64.
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
