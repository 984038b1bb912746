"""Tables whose columns have names and hold numbers or words, some of them missing."""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import DataFormatError, number_of, whole_labels
from .delimited import WITH_COMMAS, in_words, layout_of, lines_of, rows_of
from .headers import MISSING

PARQUET = (".parquet", ".pq")
BATCH = 1 << 14
"""Rows that are held as text at once."""
FEW = 50
"""So many different words are always taken for the values of a category."""


class Frame(NamedTuple):
    """The columns of a table.

    Attributes
    ----------
    source : str
        Where it came from, for messages.
    names : list of str
        Of the columns; "1", "2", … where the file has none.
    named : bool
        Whether the file has them.
    columns : list of ndarray
        float64, or objects that are text; nan where a value is missing.
    lines : ndarray of int, optional
        The line of the file that each row stands on, where it is a text file.
    """

    source: str
    names: list[str]
    named: bool
    columns: list[NDArray[Any]]
    lines: NDArray[Any] | None = None

    def place(self, row: int) -> str:
        """Where to find a row, counted from 0, in the file."""
        return f"{self.source}, {'row' if self.lines is None else 'line'} {self._number(row)}"

    def _number(self, row: int) -> int:
        return row + 1 if self.lines is None else int(self.lines[row])


def is_words(column: NDArray[Any]) -> bool:
    """Whether a column holds words."""
    return column.dtype == object


def is_missing(column: NDArray[Any]) -> NDArray[Any]:
    """Which values of a column are missing: nan is the only value that is not itself."""
    return np.asarray(column != column, bool)


def read_frame(
    path: Path | list[Path],
    words: Collection[str] = (),
    known: Collection[str] = (),
    drop: Collection[str] = (),
    header: bool | None = None,
) -> Frame:
    """The columns of a csv or tsv file, or of one or several Parquet files.

    Parameters
    ----------
    path : Path or list of Path
    words : collection of str
        Columns that hold words even if these look like numbers.
    known : collection of str
        Names that prove a first line of a text file to be its header, see `layout_of`.
    drop : collection of str
        Columns to leave out.
    header : bool, optional
        Whether the first line of a text file names the columns; told from the file by default.

    Raises
    ------
    DataFormatError
        If a column of numbers has some word in it, or something that is neither.
    """
    if isinstance(path, list) or path.is_dir() or path.suffix.lower() in PARQUET:
        frame = _parquet(path, drop)
    else:
        frame = _delimited(path, {*words, *drop}, known, header)
    for name in (*words, *drop):
        if name not in frame.names:
            near = difflib.get_close_matches(name, frame.names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(frame.names[:20])}."
            raise DataFormatError(f"{frame.source} has no column {name!r}: {hint}")
    kept = [j for j, name in enumerate(frame.names) if name not in drop]
    columns = [
        as_words(frame.columns[j]) if frame.names[j] in words and not is_words(frame.columns[j]) else frame.columns[j]
        for j in kept
    ]
    return frame._replace(names=[frame.names[j] for j in kept], columns=columns)


def labels_in(frame: Frame, column: int) -> NDArray[Any]:
    """A column as labels: whole numbers, numbers, or text."""
    values = frame.columns[column]
    absent = np.flatnonzero(is_missing(values))
    if len(absent):
        raise DataFormatError(
            f"{frame.place(int(absent[0]))}, column {frame.names[column]}: the label is missing; fill it or drop the "
            "row."
        )
    return values.astype(str) if is_words(values) else whole_labels(values)


def check_names(names: list[str], source: str) -> None:
    """Columns are taken by name: two of one name are refused."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataFormatError(f"{source} has two columns called {twice!r}: rename one of them.")


# --- text ---------------------------------------------------------------------------------------


class _Word(Exception):
    """A column that was taken for numbers holds a word."""


def _delimited(path: Path, words: set[str], known: Collection[str], header: bool | None) -> Frame:
    with in_words(path):
        layout = layout_of(path, 0, known, header)
        names = layout.header or [str(j + 1) for j in range(layout.width)]
        check_names(names, str(path))
        texts = {j for j, name in enumerate(names) if name in words}
        found: set[int] = set()
        while True:  # once more for each column that turns out to hold words, which the first batch mostly tells
            try:
                columns, lines = _columns(path, layout.skip, layout.delimiter, layout.width, texts | found)
                break
            except _Word as word:
                found.add(int(word.args[0]))
    frame = Frame(str(path), names, layout.header is not None, columns, lines)
    for j in sorted(found):
        _check_words(frame, j)
    return frame


def _columns(
    path: Path, skip: int, delimiter: str, width: int, texts: set[int]
) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    parts: list[list[NDArray[Any]]] = [[] for _ in range(width)]
    lines, once = list[int](), dict[str, str]()
    with lines_of(path, skip) as text:
        rows = _rows(rows_of(text, delimiter, path, skip), path, width)
        while batch := list(islice(rows, BATCH)):
            lines += [line for line, _ in batch]
            for j, cells in enumerate(zip(*(row for _, row in batch), strict=True)):
                if j in texts:
                    parts[j].append(_words(cells, once))
                else:
                    parts[j].append(_numbers(cells, j, path, lines[-len(batch) :]))
    if not lines:
        raise DataFormatError(f"{path} holds no rows.")
    return [np.concatenate(column) for column in parts], np.array(lines)


def _rows(rows: Iterator[tuple[int, list[str]]], path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """The same rows, all of one width."""
    for line, row in rows:
        if len(row) != width:
            raise DataFormatError(f"{path}, line {line}: found {len(row)} cells, but the first line has {width}.")
        yield line, row


def _numbers(cells: tuple[str, ...], column: int, path: Path, lines: list[int]) -> NDArray[Any]:
    values = np.empty(len(cells))
    for i, cell in enumerate(cells):
        try:
            values[i] = float(cell)
        except ValueError:
            if cell.strip().lower() not in MISSING:
                raise _Word(column) from None
            values[i] = np.nan
    if np.isinf(values).any():
        i = int(np.argmax(np.isinf(values)))
        raise DataFormatError(f"{path}, line {lines[i]}: found {cells[i]!r} where a finite number was expected.")
    return values


def _words(cells: tuple[str, ...], once: dict[str, str]) -> NDArray[Any]:
    """Words, the same ones as the same object, which is kept once."""
    column = np.empty(len(cells), object)
    for i, cell in enumerate(cells):
        cell = cell.strip()
        column[i] = math.nan if cell.lower() in MISSING else once.setdefault(cell, cell)
    return column


def _check_words(frame: Frame, j: int) -> None:
    """Raise if most of a column is numbers, so that its words are slips."""
    column, name = frame.columns[j], frame.names[j]
    counts = Counter(column[~is_missing(column)].tolist())
    total, slips = sum(counts.values()), {word for word in counts if number_of(word) is None}
    if all(map(WITH_COMMAS.fullmatch, slips)):
        row = next(i for i, value in enumerate(column) if value in slips)
        raise DataFormatError(
            f"{frame.place(row)}, column {name}: found {column[row][:40]!r}, a number with commas; write numbers with "
            "a decimal point and without separators of thousands, or name the column in --categorical."
        )
    if 2 * sum(counts[word] for word in slips) < total:
        row = next(i for i, value in enumerate(column) if value in slips)
        raise DataFormatError(
            f"{frame.place(row)}, column {name}: found {column[row][:40]!r} where the others are numbers; mend it, "
            "leave it empty and give --impute, or name the column in --categorical."
        )


def check_categories(frame: Frame, columns: Collection[int]) -> None:
    """Raise if a column of words has so many different ones that they cannot be the values of a category."""
    for j in columns:
        column, name = frame.columns[j], frame.names[j]
        there = column[~is_missing(column)]
        different = len(set(there.tolist()))
        if different > max(FEW, len(there) // 2):
            raise DataFormatError(
                f"{frame.source}, column {name}: {different:,} different words in {len(there):,} rows are no "
                f"categories; leave the column out with --drop {name}, or insist with --categorical {name}."
            )


def as_words(column: NDArray[Any]) -> NDArray[Any]:
    """Numbers as they would be written."""
    written = [math.nan if value != value else f"{value:g}" for value in column.tolist()]
    return np.array(written, object)


# --- Parquet ------------------------------------------------------------------------------------


def _parquet(path: Path | list[Path], drop: Collection[str]) -> Frame:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install hinge[arrow].") from error
    source = ", ".join(map(str, path)) if isinstance(path, list) else str(path)
    try:
        table = pq.read_table(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"There is no file {source}: check the name and the current folder.") from error
    except (pa.ArrowException, OSError) as error:
        raise DataFormatError(f"{source} is not Parquet, or damaged: {error}") from error
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in drop:
            columns.append(np.zeros(0))
            continue
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            columns.append(column.cast(pa.float64()).to_numpy())
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            values = np.array(column.cast(kind).to_pylist(), object)
            values[values == None] = math.nan  # noqa: E711
            columns.append(values)
        else:
            raise DataFormatError(
                f"{source}, column {name}: holds {kind}, neither numbers nor text; leave it out with --drop {name}."
            )
    if not table.num_rows:
        raise DataFormatError(f"{source} holds no rows.")
    frame = Frame(source, list(table.column_names), True, columns)
    for name, column in zip(frame.names, columns, strict=True):
        if not is_words(column) and np.isinf(column).any():
            row = int(np.argmax(np.isinf(column)))
            raise DataFormatError(f"{frame.place(row)}, column {name}: found {column[row]}, no finite number.")
    return frame
