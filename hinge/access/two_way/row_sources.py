"""Row blocks of any source of a matrix, validated and of one type."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hinge.access.matrix import float_for
from hinge.access.structure import as_csr, check_parts
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
        Shape, if it is known; that of the transpose if `turned`.
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
        bad = tuple(np.argwhere(~good)[0].tolist())
        if isinstance(block, np.ndarray):
            i, j = bad
        else:
            i, j = int(np.searchsorted(block.indptr, bad[0], side="right")) - 1, int(block.indices[bad[0]])
        i, j = (j, at + i) if self.turned else (at + i, j)
        raise ValueError(
            f"The cell in row {i}, column {j} is {cells[bad]} as {self.dtype.name}: only finite numbers are taken."
        )

    def _blocks_of(self, X: RowsLike, memory: int) -> Iterable[Stored]:
        if isinstance(X, str | os.PathLike):
            path = Path(X)
            if path.suffix != ".npy":
                from hinge.access.tables.columnar import parquet_blocks

                self.shape, blocks = parquet_blocks(path, memory // 4)
                return blocks
            X = _mapped(path)
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


def _mapped(path: Path) -> np.ndarray:
    """The array of an .npy file as a memory map; NumPy checks that the file has the declared size."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}: check the name.")
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # the header's parser and the map raise too many kinds to list
        raise ValueError(f"{path} is not a NumPy array of numbers, or damaged: {error}") from error
    if not isinstance(X, np.ndarray):
        raise ValueError(f"{path} is an archive, not one array.")
    return X


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
