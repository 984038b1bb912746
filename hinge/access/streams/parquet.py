"""Streams of Parquet files: a stretch is some row groups, whose columns are decoded a few at a time."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hinge.access.streams.base import RowStream, WatchedFiles, check_values, hash_of, regrouped, sampled_hash
from hinge.datasets.base import no_column
from hinge.datasets.frames import as_parquet, check_names
from hinge.types import Stored

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq


def set_columns(out: np.ndarray, columns: Sequence[np.ndarray]) -> None:
    """Write columns of one length side by side, some rows at a time, so that they stay in the cache."""
    for top in range(0, len(out), 4096):
        rows = slice(top, top + 4096)
        for own, column in zip(out[rows].T, columns, strict=True):
            own[:] = column[rows]


ROWS_PER_BYTE = 1 << 14
"""Most rows for each byte of a file: a column of a single value takes hardly any space."""


class RowGroup:
    """A row group of a Parquet file; `kind` is the type that holds its features."""

    def __init__(self, path: Path, file: "pq.ParquetFile", number: int, kind: np.dtype) -> None:
        self.path, self.file, self.number, self.kind = path, file, number, kind
        self._rows = int(file.metadata.row_group(number).num_rows)

    def __len__(self) -> int:
        return self._rows

    def read(self, names: list[str]) -> list[Any]:
        """These columns, of which no value is missing."""
        with as_parquet(self.path):
            table = self.file.read_row_group(self.number, columns=names, use_threads=False)
            columns = self._checked(names, table)
        if any(len(column) != len(self) for column in columns):
            raise ValueError(f"{self.path} is damaged: its columns have other numbers of values than it says.")
        return columns

    def batches(self, names: list[str], rows: int) -> Iterator[list[Any]]:
        """The same, a number of rows at a time."""
        found = self.file.iter_batches(batch_size=rows, row_groups=[self.number], columns=names, use_threads=False)
        while True:
            with as_parquet(self.path):
                batch = next(found, None)
                if batch is None:
                    return
                columns = self._checked(names, batch)
            yield columns

    def _checked(self, names: list[str], table: "pa.Table | pa.RecordBatch") -> list[Any]:
        for name in names:
            if table.column(name).null_count:
                raise ValueError(f"Column {name!r} has missing values in {self.path}: fill or drop them first.")
        return [table.column(name) for name in names]


def labels_of(groups: list[RowGroup], label: str) -> np.ndarray:
    """One column of all row groups, of numbers or text."""
    parts = [group.read([label])[0] for group in groups]
    parts = [part.cast(part.type.value_type) if hasattr(part.type, "value_type") else part for part in parts]
    labels = np.concatenate([part.to_numpy() for part in parts]) if parts else np.zeros(0)
    if labels.dtype == object and all(isinstance(value, str) for value in labels):
        labels = labels.astype(str)
    if labels.dtype.kind not in "iubfU" or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise ValueError(f"Column {label!r} holds {labels.dtype}, but labels are finite numbers or text.")
    return labels


def parquet_names(path: Path) -> list[str]:
    """The names of all columns of a Parquet file, or of the first in a folder."""
    return list(_opened(parquet_files(path)[0]).schema_arrow.names)


def groups_of(
    paths: list[Path], label: str | None = None, only: Sequence[str] | None = None
) -> tuple[list[RowGroup], list[str]]:
    """The row groups of some files, and the names of the columns except the labels.

    With `only`, these columns, in this order, whatever others there are.
    """
    files = [(path, _opened(path)) for path in paths]
    with as_parquet("One of the files"):
        names, groups = _checked_names(files[0][1].schema_arrow, label, files[0][0], only), list[RowGroup]()
        for path, file in files:
            counts = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            if min(counts, default=0) < 0 or file.metadata.num_rows > ROWS_PER_BYTE * path.stat().st_size:
                raise ValueError(f"{path} is damaged: it says that it has {file.metadata.num_rows} rows in {counts}.")
            if _checked_names(file.schema_arrow, label, path, only) != names:
                raise ValueError(f"{path} has other columns than {files[0][0]}: all files need the same.")
            kinds = (file.schema_arrow.field(name).type.to_pandas_dtype() for name in names)
            kind = np.result_type(np.float32, *kinds)
            groups += (RowGroup(path, file, g, kind) for g in range(file.num_row_groups))
    return [group for group in groups if len(group)], names


def _opened(path: Path) -> "pq.ParquetFile":
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install hinge[arrow].") from error
    with as_parquet(path):  # with pre_buffer=True pyarrow also reads the bytes between the columns
        return pq.ParquetFile(path, pre_buffer=False)


def parquet_files(source: Path | list[Path]) -> list[Path]:
    """A Parquet file, the files in and below a folder sorted by name, or several; all must exist."""
    named = source if isinstance(source, list) else [source]
    for path in named:
        if not path.exists():
            raise FileNotFoundError(f"There is no Parquet file or folder {path}: check the name.")
    found = [file for path in named for file in (sorted(path.rglob("*.parquet")) if path.is_dir() else [path])]
    if not found:
        raise ValueError(f"There is no .parquet file in {', '.join(map(str, named))}.")
    return found


def _checked_names(schema: "pa.Schema", label: str | None, path: Path, only: Sequence[str] | None) -> list[str]:
    """The columns of features, which must exist once and hold numbers."""
    import pyarrow.types as kinds

    wanted = [name for name in schema.names if name != label] if only is None else list(only)
    for name in [*([] if label is None else [label]), *wanted]:
        if name not in schema.names:
            raise no_column(path, name, schema.names)
    for field in schema:
        of_numbers = kinds.is_integer(field.type) or kinds.is_floating(field.type) or kinds.is_boolean(field.type)
        if field.name in wanted and not of_numbers:
            raise ValueError(
                f"Column {field.name!r} holds {field.type}, not numbers ({path}): leave it out, or encode it first."
            )
    check_names(schema.names, str(path))
    return wanted


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
        columns = group.read(self.names[first : first + out.shape[1]])
        set_columns(out, [column.to_numpy(zero_copy_only=False)[rows] for column in columns])

    def blocks(self, nbytes: int) -> Iterator[np.ndarray]:
        """All rows in blocks of at most this many bytes, validated; a larger row group is decoded once."""
        assert self.names is not None
        start, most = 0, max(1, nbytes // self.row_bytes)
        for group in self._groups:
            for columns in group.batches(self.names, most):
                block = np.empty((len(columns[0]), len(columns)), self.dtype)
                set_columns(block, [column.to_numpy(zero_copy_only=False) for column in columns])
                check_values(block, start, self.names)
                start += len(block)
                yield block

    def load(self) -> Stored:
        """All rows, in memory, validated; memory used for decoding is released."""
        import pyarrow as pa

        rows = super().load()
        pa.default_memory_pool().release_unused()
        return rows

    def labels(self) -> np.ndarray | None:
        return None if self._label is None else labels_of(self._groups, self._label)

    def fingerprint(self) -> str:
        """A hash of samples of the files: their ends contain sizes, positions and extremes of all columns."""
        return hash_of(str(self.shape), *(sampled_hash(path) for path in self._files.paths), repr(self.names))


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
