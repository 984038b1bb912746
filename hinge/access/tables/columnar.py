"""Parquet files by their row groups: blocks of rows, columns of labels, and validation of names and types."""

import difflib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from hinge.access.matrix import float_for

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MAGIC = b"PAR1"
# Types of values in Thrift's compact protocol, in which the footer is written. pyarrow can read numbers of
# missing values too, but crashes the process if a footer is damaged.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12


def nulls_of(path: Path) -> list[dict[str, int]]:
    """The number of missing values of each column of each row group, by name; 0 if it is not known.

    Names of nested columns are joined by dots.

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
    columns = [[column[3] for column in group[1]] for group in footer.get(4, [])]  # by Thrift's field numbers
    return [{b".".join(meta[3]).decode(): meta.get(12, {}).get(3, 0) for meta in group} for group in columns]


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


ROWS_PER_BYTE = 1 << 14
"""Most rows for each byte of a file: a column of a single value takes hardly any space."""


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
    parts = [group.read([label])[0] for group in groups]
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
        self, path: Path, file: "pq.ParquetFile", number: int, names: list[str], kind: np.dtype, nulls: dict[str, int]
    ) -> None:
        self.path, self.file, self.number, self.kind = path, file, number, kind
        self._rows = int(file.metadata.row_group(number).num_rows)
        for name in names:
            if nulls[name]:
                raise ValueError(has_nulls(name, path))

    def __len__(self) -> int:
        return self._rows

    def next_of(self, batches: Iterator[Any]) -> Any:
        """The next batch, None at the end."""
        with in_words(self.path):
            return next(batches, None)

    def read(self, names: list[str]) -> list[Any]:
        """These columns."""
        with in_words(self.path):
            table = self.file.read_row_group(self.number, columns=names, use_threads=False)
            columns = [table.column(name) for name in names]
        if any(len(column) != len(self) for column in columns):
            raise ValueError(f"{self.path} is damaged: its columns have other numbers of values than it says.")
        return columns


def groups_of(
    source: str | os.PathLike | list[Path], label: str | None = None, only: Sequence[str] | None = None
) -> tuple[list[RowGroup], list[str]]:
    """The row groups of a file, of a folder or of several files; and the names of the columns except the labels.

    With `only`, these columns, in this order, whatever others there are.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install hinge[arrow].") from error
    several = isinstance(source, list) and all(isinstance(path, Path) for path in source)
    if not several and not isinstance(source, str | os.PathLike):
        raise TypeError(f"A {type(source).__name__} is not the path of a Parquet file.")
    with in_words("One of the files" if isinstance(source, list) else source):
        files = _files_of(source if isinstance(source, list) else Path(source))
        names = _checked_names(files[0][1].schema_arrow, pa.types, label, files[0][0], only)
        for path, file in files:
            counts = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            if min(counts, default=0) < 0 or file.metadata.num_rows > ROWS_PER_BYTE * path.stat().st_size:
                raise ValueError(f"{path} is damaged: it says that it has {file.metadata.num_rows} rows in {counts}.")
            if _checked_names(file.schema_arrow, pa.types, label, path, only) != names:
                raise ValueError(f"{path} has other columns than {files[0][0]}: all files need the same.")
        groups: list[RowGroup] = []
        for path, file in files:
            kinds = (file.schema_arrow.field(name).type.to_pandas_dtype() for name in names)
            kind, nulls = np.result_type(np.float32, *kinds), nulls_of(path)
            groups += (RowGroup(path, file, g, names, kind, nulls[g]) for g in range(file.num_row_groups))
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
