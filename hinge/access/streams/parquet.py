"""Streams of Parquet files: a stretch is some row groups, whose columns are decoded a few at a time."""

import ctypes
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic, overload

from hinge.access.streams.base import RowStream, WatchedFiles, hash_of, regrouped
from hinge.access.tables.columnar import RowGroup, groups_of, has_nulls, labels_of, parquet_files
from hinge.compiled import compiled
from hinge.types import Stored

if TYPE_CHECKING:
    import polars as pl
    import pyarrow.dataset as ds

TALL = 128
"""Rows that are transposed at a time, such that the output stays in the cache."""


def turn(columns: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Write columns of one length side by side: ``out[:, j] = columns[j]``."""
    kept = [np.ascontiguousarray(column, out.dtype) for column in columns]
    if any(len(column) != len(out) for column in kept) or len(kept) != out.shape[1]:
        raise ValueError(f"There are {len(kept)} columns, of {sorted(map(len, kept))} rows, but room for {out.shape}.")
    _turn(np.array([column.ctypes.data for column in kept], np.intp), np.empty(0, out.dtype), out)


@compiled
def _turn(places, like, out):
    """Four columns at a time, since a processor can follow only a few streams of reads and writes."""
    n, d = out.shape
    for top in range(0, n, TALL):
        end = min(top + TALL, n)
        for j in range(0, d - 3, 4):
            a, b = column_at(places[j], n, like), column_at(places[j + 1], n, like)
            c, e = column_at(places[j + 2], n, like), column_at(places[j + 3], n, like)
            for i in range(top, end):
                out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = a[i], b[i], c[i], e[i]
        for j in range(d - d % 4, d):
            a = column_at(places[j], n, like)
            for i in range(top, end):
                out[i, j] = a[i]


def column_at(place: int, count: int, like: np.ndarray) -> np.ndarray:
    """An array of `count` numbers at a memory address, in the type of `like`; the owner must stay alive."""
    held = (ctypes.c_char * (count * like.itemsize)).from_address(int(place))
    return np.frombuffer(memoryview(held), like.dtype)


@intrinsic
def _pointer(context: Any, place: types.Integer, like: types.Array) -> Any:
    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return types.CPointer(like.dtype)(place, like), emit


@overload(column_at, inline="always")
def _compiled(place, count, like):
    return lambda place, count, like: carray(_pointer(place, like), count)  # type: ignore[call-arg]


DECODED = 1 << 24
"""Bytes of columns that are decoded at once, if that is more columns."""


class ParquetStream(RowStream):
    """Parquet files, one, several, or all of a folder, as one matrix in the order of their names.

    Memory holds the rows that are read and a few columns of one row group. A row group that is too large for a stretch
    is decoded again for each of its parts.

    Parameters
    ----------
    source : Path or list of Path
    label : str, optional
        The column of labels, which is not a feature.
    only : sequence of str, optional
        The columns of features, in the order in which they are wanted; by default all but the labels.
    """

    def __init__(self, source: Path | list[Path], label: str | None = None, only: Sequence[str] | None = None) -> None:
        self._groups: list[RowGroup]
        files = parquet_files(source)
        self._files = WatchedFiles(files)
        self._groups, self.names = groups_of(files, label, only)
        if not self._groups or not self.names:
            raise ValueError(f"{files[0]} has no {'rows' if self.names else 'columns of features'}: nothing to learn.")
        self._label = label
        self._ends = np.cumsum([len(group) for group in self._groups])
        self.shape = int(self._ends[-1]), len(self.names)
        self.dtype = np.result_type(np.float32, *(group.kind for group in self._groups))

    def stretches(self, rows: int, most: int) -> list[tuple[int, int]]:
        """Whole row groups, several if they are small; parts of one if it has more rows than `most`."""
        return regrouped([0, *self._ends.tolist()], rows, most)

    def read(self, lo: int, hi: int, out: np.ndarray | None = None) -> np.ndarray:
        out = np.empty((hi - lo, self.shape[1]), self.dtype) if out is None else out
        for piece in self.pieces(lo, hi, out):
            piece()
        return out

    def pieces(self, lo: int, hi: int, out: np.ndarray) -> list[Callable[[], object]]:
        """Functions that each read some columns of a row group, with a pyarrow reader of their own."""
        found: list[Callable[[], object]] = []
        first, at = int(np.searchsorted(self._ends, lo, side="right")), lo
        while at < hi:
            group, end = self._groups[first], int(self._ends[first])
            start, stop = end - len(group), min(hi, end)
            rows, room = slice(at - start, stop - start), out[at - lo : stop - lo]
            # At least 16 columns: 64 bytes of a row in float32, one cache line.
            step = max(16, DECODED // (len(group) * self.dtype.itemsize))
            found += [
                partial(self._read_columns, group, rows, j, room[:, j : j + step])
                for j in range(0, self.shape[1], step)
            ]
            at, first = stop, first + 1
        return found

    def _read_columns(self, group: RowGroup, rows: slice, first: int, out: np.ndarray) -> None:
        """Fill the columns of `out`, from column `first` of the file on."""
        self._files.check(group.path)
        assert self.names is not None
        names = self.names[first : first + out.shape[1]]
        columns = group.read(names)
        for name, column in zip(names, columns, strict=True):
            if column.null_count:
                raise ValueError(has_nulls(name, group.path))
        turn([column.to_numpy(zero_copy_only=False)[rows] for column in columns], out)

    def load(self) -> Stored:
        """All rows, in memory, validated; memory used for decoding is released."""
        import pyarrow as pa

        rows = super().load()
        pa.default_memory_pool().release_unused()
        return rows

    def labels(self) -> np.ndarray | None:
        return None if self._label is None else labels_of(self._groups, self._label)

    def fingerprint(self) -> str:
        """A hash of the files' footers, which contain sizes, positions and extremes of all columns."""
        return hash_of(str(self.shape), *(_footer(path) for path in self._files.paths), repr(self.names))


def _footer(path: Path) -> bytes:
    """The footer of a file: its last bytes, the number of which it declares."""
    with path.open("rb") as stream:
        stream.seek(-8, 2)
        size = int.from_bytes(stream.read(4), "little")
        stream.seek(-8 - size, 2)
        return stream.read(size)


ROWS = 1 << 17
"""Rows of a row group in the files that are written here."""


def dataset_stream(dataset: "ds.Dataset", label: str | None = None, only: Sequence[str] | None = None) -> ParquetStream:
    """An Arrow dataset: its files if they are Parquet, else a temporary copy of its rows."""
    files = [Path(path) for path in getattr(dataset, "files", [])]
    kind = getattr(getattr(dataset, "format", None), "default_extname", None)
    if files and kind == "parquet" and all(path.exists() for path in files):
        return ParquetStream(files, label, only)
    import pyarrow.parquet as pq

    path = Path(tempfile.mkdtemp(prefix="hinge-rows-")) / "rows.parquet"
    with pq.ParquetWriter(path, dataset.schema) as writer:
        for batch in dataset.to_batches(batch_size=ROWS):
            writer.write_batch(batch)
    return _Kept(path, label, only)


def lazy_frame_stream(
    frame: "pl.LazyFrame", label: str | None = None, only: Sequence[str] | None = None
) -> ParquetStream:
    """A lazy frame: its query is run once, by polars' streaming engine, into a temporary file.

    Collecting it slice by slice would run the query again for each slice, in each pass.
    """
    path = Path(tempfile.mkdtemp(prefix="hinge-rows-")) / "rows.parquet"
    frame.sink_parquet(path, row_group_size=ROWS, maintain_order=True)
    return _Kept(path, label, only)


class _Kept(ParquetStream):
    """Rows in a temporary folder, which is deleted with the stream."""

    def __init__(self, path: Path, label: str | None, only: Sequence[str] | None) -> None:
        weakref.finalize(self, shutil.rmtree, path.parent, ignore_errors=True)
        super().__init__(path, label, only)
