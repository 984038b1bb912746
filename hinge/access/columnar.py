"""Columns of numbers in Parquet files and Arrow tables: a column is cheap, a row costs its row group."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hinge.access.bill import PAGE, pages_of
from hinge.access.recent import Recent
from hinge.access.row_sources import float_for
from hinge.access.stretches import Stretched
from hinge.access.table import EVERYWHERE, Line

CACHE = 64 << 20


class ArrowTable(Stretched):
    """A Parquet file, a folder of them, or an Arrow table, used where it lies.

    What can be read is one column of one row group: a row costs all of its group, a cell one column of it.
    The bill has the stored, compressed bytes of these; of an Arrow table, those of a record batch. It needs
    pyarrow.

    Parameters
    ----------
    source : path or pyarrow.Table
        Of a folder, all .parquet files in and below it, in the order of their names.
    prices, keep
        As for `Table`.
    cache : int
        Bytes for decoded columns of row groups that were read last.

    Attributes
    ----------
    names : list of str
        Of the columns.
    """

    def __init__(self, source: Any, prices: Any = None, *, keep: bool = True, cache: int = CACHE) -> None:
        self._source = Path(source).absolute() if isinstance(source, str | os.PathLike) else source
        self._groups, self.names = _groups_of(self._source)
        self._ends = np.cumsum([len(group) for group in self._groups])
        n = int(self._ends[-1]) if self._groups else 0
        super().__init__((n, len(self.names)), prices, keep=keep)
        self._recent = Recent(cache)

    # --- Fetched --------------------------------------------------------------------------

    def _fetch_row(self, i: int) -> Line:
        return Line(EVERYWHERE, self._fetch_cells(i, np.arange(self.shape[1])))

    def _fetch_column(self, j: int) -> Line:
        parts = [self._decoded(g, [j])[0] for g in range(len(self._groups))]
        return Line(EVERYWHERE, np.concatenate(parts))

    def _fetch_cells(self, i: int, columns: np.ndarray) -> np.ndarray:
        g = int(np.searchsorted(self._ends, i, side="right"))
        k = i - self._start(g)
        return np.array([part[k] for part in self._decoded(g, columns.tolist())], np.float64)

    def _fetch_rows(self, lo: int, hi: int) -> np.ndarray:
        out = np.empty((hi - lo, self.shape[1]))
        for g in range(len(self._groups)):
            a, b = max(lo, self._start(g)), min(hi, int(self._ends[g]))
            for j in range(self.shape[1] if a < b else 0):
                out[a - lo : b - lo, j] = self._decoded(g, [j])[0][a - self._start(g) : b - self._start(g)]
        return out

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """The row groups."""
        return ((self._start(g), int(self._ends[g])) for g in range(len(self._groups)))

    def _cut(self, lo: int, hi: int) -> list[tuple[int, int]]:
        ends = [*self._ends[(self._ends > lo) & (self._ends < hi)].tolist(), hi]
        return [(a, b) for a, b in zip([lo, *ends[:-1]], ends, strict=True) if a < b]

    # --- parts ----------------------------------------------------------------------------

    def _start(self, g: int) -> int:
        return int(self._ends[g]) - len(self._groups[g])

    def _decoded(self, g: int, columns: list[int]) -> list[np.ndarray]:
        """Columns of a row group; those that were not read lately are read at once, and billed."""
        known = {j: self._recent.get((g, j)) for j in columns}
        group, missing = self._groups[g], [j for j, part in known.items() if part is None]
        if missing:
            for j, column in zip(missing, group.read(missing), strict=True):
                self.bill.moved(*group.cost(j))
                known[j] = part = _numbers(column, self.names[j], self._start(g))
                self._recent.put((g, j), part)
        return [known[j] for j in columns]  # type: ignore[misc]

    def _recipe(self) -> dict[str, Any]:
        return {"source": self._source, "cache": self._recent.budget}


def parquet_blocks(path: Path, nbytes: int) -> tuple[tuple[int, int], Iterator[np.ndarray]]:
    """The shape of a Parquet file or a folder of them, and its rows in blocks of about so many bytes."""
    groups, names = _groups_of(path)
    shape = sum(len(group) for group in groups), len(names)
    return shape, _blocks(groups, names, max(1, nbytes // (8 * max(1, len(names)))))


def _blocks(groups: list["_RowGroup"], names: list[str], rows: int) -> Iterator[np.ndarray]:
    start = 0
    kind = np.result_type(np.float32, *(group.kind for group in groups))
    for group in groups:
        for batch in group.file.iter_batches(batch_size=rows, row_groups=[group.number]):
            block = np.empty((len(batch), len(names)), kind)
            for j, name in enumerate(names):
                block[:, j] = _numbers(batch.column(j), name, start)
            start += len(batch)
            yield block


class _RowGroup:
    """A row group of a Parquet file."""

    def __init__(self, file: Any, number: int, names: list[str]) -> None:
        self.file, self.number, self._names = file, number, names
        self._meta = file.metadata.row_group(number)
        types = [field.type.to_pandas_dtype() for field in file.schema_arrow]
        self.kind = np.result_type(np.float32, *types)
        for j, name in enumerate(names):
            statistics = self._meta.column(j).statistics
            if statistics is not None and statistics.has_null_count and statistics.null_count:
                raise ValueError(_has_nulls(name))

    def __len__(self) -> int:
        return int(self._meta.num_rows)

    def read(self, columns: list[int]) -> list[Any]:
        """Some columns."""
        names = [self._names[j] for j in columns]
        table = self.file.read_row_group(self.number, columns=names, use_threads=False)
        return [table.column(name) for name in names]

    def cost(self, j: int) -> tuple[int, int]:
        """Bytes that column j takes in the file, and their pages."""
        chunk = self._meta.column(j)
        begin = chunk.data_page_offset
        if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
            begin = min(begin, chunk.dictionary_page_offset)
        return chunk.total_compressed_size, pages_of(begin, chunk.total_compressed_size)


class _Batch:
    """A record batch in memory."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    def read(self, columns: list[int]) -> list[Any]:
        """Some columns."""
        return [self._batch.column(j) for j in columns]

    def cost(self, j: int) -> tuple[int, int]:
        """Bytes of column j, and the pages that they fill."""
        nbytes = int(self._batch.column(j).nbytes)
        return nbytes, -(-nbytes // PAGE)


def _groups_of(source: Any) -> tuple[list[Any], list[str]]:
    """Row groups, and the names of their columns."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files and Arrow tables need pyarrow: pip install hinge[arrow].") from error
    if isinstance(source, pa.Table):
        names = _checked_names(source.schema, pa.types)
        return [_Batch(batch) for batch in source.to_batches() if len(batch)], names
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"A {type(source).__name__} is neither the path of a Parquet file nor an Arrow table."
        )
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"There is no Parquet file or folder {path}: check the name.")
    paths = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not paths:
        raise ValueError(f"There is no .parquet file in {path}.")
    try:
        files = [pq.ParquetFile(p, pre_buffer=False) for p in paths]  # else it reads what lies between
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path} is not Parquet, or damaged: {error}") from error
    names = _checked_names(files[0].schema_arrow, pa.types)
    for p, file in zip(paths, files, strict=True):
        if _checked_names(file.schema_arrow, pa.types) != names:
            raise ValueError(f"{p} has other columns than {paths[0]}: all files need the same.")
    groups = [_RowGroup(file, g, names) for file in files for g in range(file.num_row_groups)]
    return [group for group in groups if len(group)], names


def _checked_names(schema: Any, types: Any) -> list[str]:
    for field in schema:
        if not (
            types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type)
        ):
            raise ValueError(
                f"Column {field.name!r} holds {field.type}, not numbers: leave it out, or encode it first."
            )
    if len(set(schema.names)) < len(schema.names):
        raise ValueError("Two columns have the same name: rename one of them.")
    return list(schema.names)


def _numbers(column: Any, name: str, start: int) -> np.ndarray:
    """A column of a row group that starts at this row, as floats."""
    if column.null_count:
        raise ValueError(_has_nulls(name))
    values = column.to_numpy(zero_copy_only=False)
    values = np.array(values, float_for(values.dtype))
    good = np.isfinite(values)
    if not good.all():
        i = int(np.argmin(good))
        raise ValueError(f"Column {name!r} is {values[i]} in row {start + i}: only finite numbers are taken.")
    return values


def _has_nulls(name: str) -> str:
    return f"Column {name!r} has missing values: fill or drop them first."
