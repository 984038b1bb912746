"""Streams of Parquet files: a stretch is some row groups, whose columns are decoded a few at a time."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from hinge.access.streams.base import RowStream, Watched, hash_of, regrouped
from hinge.access.streams.turning import turn
from hinge.access.tables.columnar import RowGroup, groups_of, has_nulls, labels_of, parquet_files
from hinge.types import Stored

COLUMNS = 16
"""Least number of columns that are decoded at once: 64 bytes of a row in float32, one cache line."""
DECODED = 1 << 24
"""Bytes of columns that are decoded at once, if that is more columns."""


class ParquetStream(RowStream):
    """Parquet files, one, several, or those of a folder, as one matrix in the order of their names.

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
        self._files = Watched(files)
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
            step = max(COLUMNS, DECODED // (len(group) * self.dtype.itemsize))
            found += [
                partial(self._read_columns, group, rows, j, room[:, j : j + step])
                for j in range(0, self.shape[1], step)
            ]
            at, first = stop, first + 1
        return found

    def _read_columns(self, group: RowGroup, rows: slice, first: int, out: np.ndarray) -> None:
        """Read as many columns as `out` has, from column `first` on."""
        self._files.check(group.path)
        columns = group.read(list(range(first, first + out.shape[1])))
        for k, column in enumerate(columns):
            if column.null_count:
                assert self.names is not None
                raise ValueError(has_nulls(self.names[first + k], group.path))
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
    """The footer of a file: its last bytes, as many as it declares."""
    with path.open("rb") as stream:
        stream.seek(-8, 2)
        size = int.from_bytes(stream.read(4), "little")
        stream.seek(-8 - size, 2)
        return stream.read(size)
