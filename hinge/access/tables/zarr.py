"""Zarr arrays as tables: whole chunks are read."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from hinge.access.matrix import float_for
from hinge.access.tables.bill import PAGE
from hinge.access.tables.fetched import Recent, Stretched
from hinge.access.tables.table import BLOCK_CELLS, EVERYWHERE, Line

if TYPE_CHECKING:  # optional packages
    import zarr

CACHE = 64 << 20
ANY, MOST_UNPACKED = 1 << 28, 10_000
"""Bytes that any array may declare, and the largest multiple of the stored bytes that a larger one may declare."""


class ZarrTable(Stretched):
    """A two-dimensional zarr array, read chunk by chunk.

    The bill has the decoded bytes of the chunks that were read. Needs zarr.

    Parameters
    ----------
    source : path or zarr.Array
    prices, keep
        As for `Table`.
    cache : int
        Bytes for the cache of chunks.

    Attributes
    ----------
    array : zarr.Array
    dtype : dtype
        Type of the cells returned.
    """

    def __init__(
        self,
        source: "str | os.PathLike | zarr.Array",
        prices: ArrayLike | None = None,
        *,
        keep: bool = True,
        cache: int = CACHE,
    ) -> None:
        self.array = array_of(source)
        super().__init__(cast(tuple[int, int], self.array.shape), prices, keep=keep)
        self._tall, self._wide = map(int, self.array.chunks)
        self.dtype = float_for(self.array.dtype)
        self._recent = Recent(cache)

    # --- Fetched --------------------------------------------------------------------------

    def _fetch_row(self, i: int) -> Line:
        return Line(EVERYWHERE, self._fetch_rows(i, i + 1)[0])

    def _fetch_column(self, j: int) -> Line:
        k = j % self._wide
        parts = [self._chunk(a, j // self._wide)[:, k] for a in range(-(-self.shape[0] // self._tall))]
        return Line(EVERYWHERE, np.concatenate(parts))

    def _fetch_cells(self, i: int, columns: np.ndarray) -> np.ndarray:
        out = np.empty(len(columns), self.dtype)
        across = columns // self._wide
        for b in np.unique(across).tolist():
            there = across == b
            out[there] = self._chunk(i // self._tall, b)[i % self._tall, columns[there] - b * self._wide]
        return out

    def _fetch_rows(self, lo: int, hi: int) -> np.ndarray:
        out = np.empty((hi - lo, self.shape[1]), self.dtype)
        for a in range(lo // self._tall, -(-hi // self._tall)):
            top = a * self._tall
            begin, end = max(lo, top), min(hi, top + self._tall)
            for b in range(-(-self.shape[1] // self._wide)):
                part = self._chunk(a, b)[begin - top : end - top]
                out[begin - lo : end - lo, b * self._wide : b * self._wide + part.shape[1]] = part
        return out

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that cover the matrix, each of whole chunks."""
        return iter(self._cut(0, self.shape[0]))

    def _cut(self, lo: int, hi: int) -> list[tuple[int, int]]:
        step = max(1, BLOCK_CELLS // max(1, self.shape[1]) // self._tall) * self._tall
        ends = [*range((lo // step + 1) * step, hi, step), hi]
        return [(a, b) for a, b in zip([lo, *ends[:-1]], ends, strict=True) if a < b]

    # --- parts ----------------------------------------------------------------------------

    def _chunk(self, a: int, b: int) -> np.ndarray:
        """Chunk number a downwards and b across, without the part beyond the edge of the array."""
        chunk = self._recent.get((a, b))
        if chunk is None:
            top, left = a * self._tall, b * self._wide
            try:
                chunk = np.asarray(self.array[top : top + self._tall, left : left + self._wide])
            except OSError:
                raise
            except Exception as error:  # MemoryError too: the declared size fits, so a codec was misled
                raise ValueError(f"The chunk of row {top}, column {left} is damaged: {error}") from error
            chunk = chunk.astype(self.dtype, copy=False)
            nbytes = self._tall * self._wide * self.array.dtype.itemsize  # chunks at the edge are stored whole
            self.bill.moved(nbytes, -(-nbytes // PAGE))
            good = np.isfinite(chunk)
            if not good.all():
                i, j = np.argwhere(~good)[0].tolist()
                raise ValueError(
                    f"The cell in row {top + i}, column {left + j} is {chunk[i, j]}: only finite numbers are taken."
                )
            self._recent.put((a, b), chunk)
        return chunk

    def _recipe(self) -> dict[str, Any]:
        return {"source": self.array, "cache": self._recent.budget}


def array_of(source: "str | os.PathLike | zarr.Array") -> "zarr.Array":
    """The array, validated: two-dimensional, and of numbers."""
    try:
        import zarr
    except ImportError as error:
        raise ImportError("Zarr arrays need zarr: pip install hinge[zarr].") from error
    stored = None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.exists():
            raise FileNotFoundError(f"There is no zarr array {path}: check the name.")
        stored = sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size
        try:
            source = zarr.open_array(os.fspath(source), mode="r")
        except Exception as error:  # stores and codecs raise too many kinds to list
            raise ValueError(f"{path} is not a zarr array, or damaged: {error}") from error
    if not isinstance(source, zarr.Array):
        raise TypeError(f"A {type(source).__name__} is neither the path of a zarr array nor such an array.")
    if source.ndim != 2:
        raise ValueError(f"A matrix has two dimensions, but this array has {source.ndim}.")
    if 0 in source.shape:
        raise ValueError(f"This array has the shape {source.shape}: there are no cells to read.")
    if 0 in source.chunks:
        raise ValueError(f"This array is damaged: its chunks have the shape {source.chunks}, without any cells.")
    if source.dtype.kind not in "fiub":
        raise ValueError(f"Cells are numbers, but those of this array are {source.dtype}.")
    declared = max(math.prod(source.shape), math.prod(source.chunks)) * source.dtype.itemsize
    if stored is not None and declared > max(ANY, MOST_UNPACKED * stored):
        raise ValueError(f"{source.shape} cells in chunks of {source.chunks} are declared, in {stored} bytes.")
    chunks = math.prod(-(-n // size) for n, size in zip(source.shape, source.chunks, strict=True))
    # A larger number of chunks must not exceed the stored bytes, since each takes time.
    if stored is not None and chunks > max(10_000, stored):
        raise ValueError(f"{chunks} chunks are declared, in {stored} bytes: most would be empty. Use larger chunks.")
    return source
