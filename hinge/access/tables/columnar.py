"""Tables of Parquet files and Arrow tables: a column is cheap to read, a row costs its whole row group."""

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hinge.access.matrix import float_for
from hinge.access.tables.bill import PAGE, pages_of
from hinge.access.tables.fetched import Recent, Stretched
from hinge.access.tables.table import EVERYWHERE, Line

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MAGIC = b"PAR1"
# Types of values in Thrift's compact protocol, in which the footer is written. pyarrow can read positions of columns
# and numbers of missing values too, but crashes the process if a footer is damaged.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


class Chunk(NamedTuple):
    """A column of a row group (a column chunk).

    Attributes
    ----------
    begin, nbytes : int
        Its position in the file, and its size there.
    nulls : int
        Number of missing values; 0 if not known.
    """

    begin: int
    nbytes: int
    nulls: int


def chunks_of(path: Path) -> list[dict[str, Chunk]]:
    """The columns of each row group by name; names of nested columns are joined by dots.

    Raises
    ------
    ValueError, LookupError, TypeError
        If there is no footer, or it is invalid.
    """
    with path.open("rb") as stream:
        end = stream.seek(0, 2) - 8
        stream.seek(max(0, end))
        tail = stream.read()
        start = end - int.from_bytes(tail[:4], "little")
        if tail[4:] != MAGIC or start < 0:
            raise ValueError(f"{path} is not Parquet, or cut short: it has no footer.")
        stream.seek(start)
        footer = _struct(stream.read(end - start), 0, 0)[0]
    return [dict(_chunk(column[3]) for column in group[1]) for group in footer.get(4, [])]


def _chunk(meta: dict[int, Any]) -> tuple[str, Chunk]:
    begin = min(meta[9], meta.get(11) or meta[9])  # a dictionary page comes before the data pages
    nulls = meta.get(12, {}).get(3, 0)
    return b".".join(meta[3]).decode(), Chunk(begin, meta[7], nulls)


def _struct(content: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The values of a struct by field number, and the position after it."""
    if depth > 32:  # far deeper than any footer
        raise ValueError("The footer is nested too deeply.")
    fields: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        at += 1
        if head < 16:
            number, at = _whole(content, at)
        else:
            number += head >> 4
        kind = head & 15
        if kind <= _FALSE:
            fields[number] = kind == _TRUE
        elif kind < _DOUBLE and kind != _BYTE:
            found = content[at]  # most numbers take a single byte
            if found < 128:
                fields[number], at = (found >> 1) ^ -(found & 1), at + 1
            else:
                fields[number], at = _whole(content, at)
        else:
            fields[number], at = _value(content, at, kind, depth)
    return fields, at + 1


def _value(content: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of the given type, and the position after it."""
    if kind == _BINARY:
        count, at = _varint(content, at)
        if at + count > len(content):
            raise ValueError("The footer is cut short.")
        return content[at : at + count], at + count
    if kind == _STRUCT:
        return _struct(content, at, depth + 1)
    if kind in (_LIST, _SET):
        count, kind = content[at] >> 4, content[at] & 15
        at += 1
        if count == 15:
            count, at = _varint(content, at)
        items = []
        for _ in range(count):
            item, at = _value(content, at, kind, depth + 1)
            items.append(item)
        return items, at
    if kind in (_TRUE, _FALSE, _BYTE):
        return content[at], at + 1
    if kind == _DOUBLE:
        return content[at : at + 8], at + 8
    if kind < _DOUBLE:
        return _whole(content, at)
    raise ValueError(f"The footer has a value of the kind {kind}.")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while (byte := content[at]) > 127:
        found |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("The footer has a number of more than 64 bits.")
    return found | byte << shift, at + 1


def _whole(content: bytes, at: int) -> tuple[int, int]:
    """A signed integer in zigzag encoding, and the position after it."""
    found, at = _varint(content, at)
    return (found >> 1) ^ -(found & 1), at


CACHE = 64 << 20
ROWS_PER_BYTE = 1 << 14
"""Most rows for each byte of a file: a column of a single value takes hardly any space."""


class ArrowTable(Stretched):
    """A Parquet file, a folder of them, or an Arrow table.

    The unit of reading is one column of one row group: a row costs all of its group, a cell one column of it. The bill
    has the stored, compressed bytes of these; for an Arrow table, the bytes of a record batch. Needs pyarrow.

    Parameters
    ----------
    source : path or pyarrow.Table
        Of a folder, all .parquet files in and below it, sorted by name.
    prices, keep
        As for `Table`.
    cache : int
        Bytes for the cache of decoded columns of row groups.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    """

    def __init__(
        self,
        source: "str | os.PathLike | pa.Table",
        prices: ArrayLike | None = None,
        *,
        keep: bool = True,
        cache: int = CACHE,
    ) -> None:
        self._source = Path(source).absolute() if isinstance(source, str | os.PathLike) else source
        self._groups, self.names = groups_of(self._source)
        self._ends = np.cumsum([len(group) for group in self._groups])
        n = int(self._ends[-1]) if self._groups else 0
        super().__init__((n, len(self.names)), prices, keep=keep)
        self._recent = Recent(cache)

    # --- Fetched --------------------------------------------------------------------------

    def _fetch_row(self, i: int) -> Line:
        return Line(EVERYWHERE, self._fetch_cells(i, np.arange(self.shape[1])))

    def _fetch_column(self, j: int) -> Line:
        parts = [self._decoded(g, [j])[0] for g in range(len(self._groups))]
        return Line(EVERYWHERE, np.concatenate(parts) if parts else np.empty(0))

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
        """Columns of a row group; those not in the cache are read together, and billed."""
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


def parquet_blocks(path: Path, nbytes: int, label: str | None = None) -> tuple[tuple[int, int], Iterator[np.ndarray]]:
    """The shape of a Parquet file or folder, and an iterator over blocks of rows of about `nbytes` bytes.

    The column of labels is left out.
    """
    groups, names = groups_of(path, label)
    shape = sum(len(group) for group in groups), len(names)
    return shape, _blocks(groups, names, max(1, nbytes // (8 * max(1, len(names)))))


def parquet_labels(path: Path, label: str) -> np.ndarray:
    """One column of a Parquet file or a folder of them, of numbers or text."""
    return labels_of(groups_of(path, label)[0], label)


def labels_of(groups: list["RowGroup"], label: str) -> np.ndarray:
    """One column of all row groups, of numbers or text."""
    parts = [group.read_label(label) for group in groups]
    parts = [part.cast(part.type.value_type) if hasattr(part.type, "value_type") else part for part in parts]
    for group, part in zip(groups, parts, strict=True):
        if part.null_count:
            raise ValueError(has_nulls(label, group.path))
    labels = np.concatenate([part.to_numpy() for part in parts]) if parts else np.zeros(0)
    if labels.dtype == object and all(isinstance(value, str) for value in labels):
        labels = labels.astype(str)
    if labels.dtype.kind not in "iubfU" or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
        raise ValueError(f"Column {label!r} holds {labels.dtype}, but labels are finite numbers or text.")
    return labels


def parquet_names(path: Path) -> list[str]:
    """The names of all columns of a Parquet file, or of the first in a folder."""
    with in_words(path):
        return list(_files_of(path)[0][1].schema_arrow.names)


def _blocks(groups: list["RowGroup"], names: list[str], rows: int) -> Iterator[np.ndarray]:
    start = 0
    kind = np.result_type(np.float32, *(group.kind for group in groups))
    for group in groups:
        batches = group.file.iter_batches(batch_size=rows, row_groups=[group.number], columns=names)
        while (batch := group.next_of(batches)) is not None:
            block = np.empty((len(batch), len(names)), kind)
            for j, name in enumerate(names):
                block[:, j] = _numbers(batch.column(name), name, start)
            start += len(batch)
            yield block


class RowGroup:
    """A row group of a Parquet file."""

    def __init__(
        self,
        path: Path,
        file: "pq.ParquetFile",
        number: int,
        names: list[str],
        kind: np.dtype,
        chunks: dict[str, Chunk],
    ) -> None:
        self.path, self.file, self.number, self.kind, self._names = path, file, number, kind, names
        self._rows = int(file.metadata.row_group(number).num_rows)
        self._chunks = [chunks[name] for name in names]
        for name, chunk in zip(names, self._chunks, strict=True):
            if chunk.nulls:
                raise ValueError(has_nulls(name, path))

    def __len__(self) -> int:
        return self._rows

    def read(self, columns: list[int]) -> list[Any]:
        """Some columns."""
        return self._read([self._names[j] for j in columns])

    def read_label(self, name: str) -> Any:
        """A column that is not a feature."""
        return self._read([name])[0]

    def next_of(self, batches: Iterator[Any]) -> Any:
        """The next batch, None at the end."""
        with in_words(self.path):
            return next(batches, None)

    def _read(self, names: list[str]) -> list[Any]:
        with in_words(self.path):
            table = self.file.read_row_group(self.number, columns=names, use_threads=False)
            columns = [table.column(name) for name in names]
        if any(len(column) != len(self) for column in columns):
            raise ValueError(f"{self.path} is damaged: its columns have other numbers of values than it says.")
        return columns

    def cost(self, j: int) -> tuple[int, int]:
        """Bytes of column j in the file, and their pages."""
        chunk = self._chunks[j]
        return chunk.nbytes, pages_of(chunk.begin, chunk.nbytes)


class _Batch:
    """A record batch in memory."""

    def __init__(self, batch: "pa.RecordBatch") -> None:
        self._batch = batch

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    def read(self, columns: list[int]) -> list[Any]:
        """Some columns."""
        return [self._batch.column(j) for j in columns]

    def cost(self, j: int) -> tuple[int, int]:
        """Bytes of column j, and the number of pages that they fill."""
        nbytes = int(self._batch.column(j).nbytes)
        return nbytes, -(-nbytes // PAGE)


def groups_of(
    source: "str | os.PathLike | list[Path] | pa.Table", label: str | None = None, only: Sequence[str] | None = None
) -> tuple[list[Any], list[str]]:
    """The row groups of a file, of a folder or of several files; and the names of the columns except the labels.

    With `only`, these columns, in this order, whatever others there are.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files and Arrow tables need pyarrow: pip install hinge[arrow].") from error
    if isinstance(source, pa.Table):
        names = _checked_names(source.schema, pa.types)
        return [_Batch(batch) for batch in source.to_batches() if len(batch)], names
    several = isinstance(source, list) and all(isinstance(path, Path) for path in source)
    if not several and not isinstance(source, str | os.PathLike):
        raise TypeError(f"A {type(source).__name__} is neither the path of a Parquet file nor an Arrow table.")
    with in_words("One of the files" if isinstance(source, list) else source):
        files = _files_of(source if isinstance(source, list) else Path(source))
        names = _checked_names(files[0][1].schema_arrow, pa.types, label, files[0][0], only)
        for path, file in files:
            counts = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            if min(counts, default=0) < 0 or file.metadata.num_rows > ROWS_PER_BYTE * path.stat().st_size:
                raise ValueError(f"{path} is damaged: it says that it has {file.metadata.num_rows} rows in {counts}.")
            if _checked_names(file.schema_arrow, pa.types, label, path, only) != names:
                raise ValueError(f"{path} has other columns than {files[0][0]}: all files need the same.")
        groups = [
            RowGroup(path, file, g, names, kind, chunks)
            for path, file in files
            for kind in [_kind_of(file.schema_arrow, names)]
            for g, chunks in zip(range(file.num_row_groups), chunks_of(path), strict=True)
        ]
    return [group for group in groups if len(group)], names


@contextmanager
def in_words(path: str | os.PathLike) -> Iterator[None]:
    """Convert any error that pyarrow raises for damaged files to a ValueError that names the file."""
    try:
        yield
    except Exception as error:
        if type(error) in (ValueError, FileNotFoundError, MemoryError):
            raise
        raise ValueError(f"{path} is not Parquet, or damaged: {error}") from error


def _files_of(source: Path | list[Path]) -> list[tuple[Path, Any]]:
    """The Parquet files of a path, a folder or a list, opened."""
    import pyarrow.parquet as pq

    opened = []
    for path in parquet_files(source):
        with in_words(path):  # with pre_buffer=True pyarrow also reads the bytes between the columns
            opened.append((path, pq.ParquetFile(path, pre_buffer=False)))
    return opened


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


def _checked_names(
    schema: "pa.Schema",
    types: ModuleType,
    label: str | None = None,
    path: Path | None = None,
    only: Sequence[str] | None = None,
) -> list[str]:
    of = f" ({path})" if path is not None else ""
    wanted = [name for name in schema.names if name != label] if only is None else list(only)
    for name in [*([] if label is None else [label]), *wanted]:
        if name not in schema.names:
            near = difflib.get_close_matches(name, schema.names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(schema.names[:20])}."
            raise ValueError(f"There is no column {name!r}: {hint}{of}")
    for field in schema:
        if field.name in wanted and not (
            types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type)
        ):
            raise ValueError(
                f"Column {field.name!r} holds {field.type}, not numbers{of}: leave it out, or encode it first."
            )
    if len(set(schema.names)) < len(schema.names):
        raise ValueError("Two columns have the same name: rename one of them.")
    return wanted


def _kind_of(schema: "pa.Schema", names: list[str]) -> np.dtype:
    """The float type that holds all of these columns."""
    return np.result_type(np.float32, *(schema.field(name).type.to_pandas_dtype() for name in names))


def _numbers(column: "pa.Array | pa.ChunkedArray", name: str, start: int) -> np.ndarray:
    """A column of a row group as floats; `start` is the row at which the group starts, for error messages."""
    if column.null_count:
        raise ValueError(has_nulls(name))
    values = column.to_numpy(zero_copy_only=False)
    values = np.array(values, float_for(values.dtype))
    good = np.isfinite(values)
    if not good.all():
        i = int(np.argmin(good))
        raise ValueError(f"Column {name!r} is {values[i]} in row {start + i}: only finite numbers are taken.")
    return values


def has_nulls(name: str, path: Path | None = None) -> str:
    """The error message for a column with missing values."""
    return f"Column {name!r} has missing values{'' if path is None else f' in {path}'}: fill or drop them first."
