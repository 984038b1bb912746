"""Rows of Parquet files: a stretch is some row groups, whose columns are read a few at a time."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from hinge.access.streams.base import RowStream, Watched, hash_of
from hinge.access.streams.turning import turn
from hinge.access.tables.columnar import RowGroup, groups_of, has_nulls, labels_of, parquet_files
from hinge.types import Stored

COLUMNS = 16
"""Columns of a row group that are decoded at once, or more: 64 bytes of a row in float32, what memory moves at once."""
DECODED = 1 << 24
"""Bytes of columns that are decoded at once, where more of them take no more."""


class ParquetStream(RowStream):
    """Parquet files, one, several, or those of a folder, as one matrix in the order of their names.

    Memory holds the rows that are asked for and a few columns of one row group. A row group that is too large for a
    stretch is decoded again for each of its parts.

    Parameters
    ----------
    source : Path or list of Path
    label : str, optional
        The column of labels, which is no feature.
    only : sequence of str, optional
        The columns of features, in the order in which they are wanted; by default all but the labels.
    """

    def __init__(self, source: Path | list[Path], label: str | None = None, only: Sequence[str] | None = None) -> None:
        self._groups: list[RowGroup]
        files = parquet_files(source)
        self._files = Watched(files)
        self._groups, self.names = groups_of(files, label, only)
        if not self._groups or not self.names:
            raise ValueError(f"{files[0]} has no {'rows' if self.names else 'columns of features'}: nothing to learn.")
        self._label = label
        self._ends = np.cumsum([len(group) for group in self._groups])
        self.shape = int(self._ends[-1]), len(self.names)
        self.dtype = np.result_type(np.float32, *(group.kind for group in self._groups))

    def stretches(self, rows: int, most: int) -> list[tuple[int, int]]:
        """Whole row groups, several where they are small; parts of them where they are larger than `most`."""
        found: list[tuple[int, int]] = []
        for end, group in zip(self._ends.tolist(), self._groups, strict=True):
            start = end - len(group)
            if len(group) > most:
                parts = -(-len(group) // most)
                cuts = [start + len(group) * k // parts for k in range(parts + 1)]
                found += pairwise(cuts)
            elif found and end - found[-1][0] <= rows:
                found[-1] = found[-1][0], end
            else:
                found.append((start, end))
        return found

    def read(self, lo: int, hi: int, out: np.ndarray | None = None) -> np.ndarray:
        out = np.empty((hi - lo, self.shape[1]), self.dtype) if out is None else out
        for piece in self.pieces(lo, hi, out):
            piece()
        return out

    def pieces(self, lo: int, hi: int, out: np.ndarray) -> list[Callable[[], object]]:
        """Some columns of a row group each; pyarrow makes a reader of its own for every one."""
        found: list[Callable[[], object]] = []
        first, at = int(np.searchsorted(self._ends, lo, side="right")), lo
        while at < hi:
            group, end = self._groups[first], int(self._ends[first])
            start, stop = end - len(group), min(hi, end)
            rows, room = slice(at - start, stop - start), out[at - lo : stop - lo]
            step = max(COLUMNS, DECODED // (len(group) * self.dtype.itemsize))
            found += [
                partial(self._read_columns, group, rows, j, room[:, j : j + step])
                for j in range(0, self.shape[1], step)
            ]
            at, first = stop, first + 1
        return found

    def _read_columns(self, group: RowGroup, rows: slice, first: int, out: np.ndarray) -> None:
        """Those from the first on that there is room for."""
        self._files.check(group.path)
        columns = group.read(list(range(first, first + out.shape[1])))
        for k, column in enumerate(columns):
            if column.null_count:
                assert self.names is not None
                raise ValueError(has_nulls(self.names[first + k], group.path))
        turn([column.to_numpy(zero_copy_only=False)[rows] for column in columns], out)

    def load(self) -> Stored:
        """All rows, in memory, checked; what decoding them took is given back."""
        import pyarrow as pa

        rows = super().load()
        pa.default_memory_pool().release_unused()
        return rows

    def labels(self) -> np.ndarray | None:
        return None if self._label is None else labels_of(self._groups, self._label)

    def fingerprint(self) -> str:
        """Of the files' footers, which have the sizes, places and extremes of all columns."""
        return hash_of(str(self.shape), *(_footer(path) for path in self._files.paths), repr(self.names))


def _footer(path: Path) -> bytes:
    """The last bytes of a file, as many as its footer says that it has."""
    with path.open("rb") as stream:
        stream.seek(-8, 2)
        size = int.from_bytes(stream.read(4), "little")
        stream.seek(-8 - size, 2)
        return stream.read(size)
