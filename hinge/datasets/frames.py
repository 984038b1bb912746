"""Tables whose columns have names and hold numbers or words, some of them missing."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hinge.datasets.base import DataFormatError, no_column, number_of, stack_rows, whole_labels
from hinge.datasets.delimited import MISSING, WITH_COMMAS, TextLayout, layout_of, pieces_of, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET = (".parquet", ".pq")
BATCH = 1 << 14
"""Rows of a Parquet file that are read at once."""
DIGITS = frozenset("0123456789")


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
    start : int
        The number of rows above, where it is a part of a file.
    """

    source: str
    names: list[str]
    named: bool
    columns: list[NDArray[Any]]
    lines: NDArray[Any] | None = None
    start: int = 0

    def place(self, row: int) -> str:
        """Where to find a row, counted from 0, in the file."""
        if self.lines is None:
            return f"{self.source}, row {self.start + row + 1}"
        return f"{self.source}, line {self.lines[row]}"


class MixedRows:
    """Rows whose columns are numbers or words, each in an array of its own: one array of objects would take six times
    the memory of the numbers.

    Selected as an array's, rows are such rows again and columns are arrays, which is what scikit-learn's
    ``ColumnTransformer`` and its folds do.

    Parameters
    ----------
    columns : list of ndarray
        float64, or objects that are text.
    """

    ndim = 2

    def __init__(self, columns: list[NDArray[Any]]) -> None:
        self.columns = columns
        self.shape = len(columns[0]), len(columns)
        self.size = self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: slice | NDArray[Any] | tuple[Any, Any]) -> Any:
        rows, chosen = key if isinstance(key, tuple) else (key, ...)
        if chosen is ...:
            return MixedRows([column[rows] for column in self.columns])
        if isinstance(chosen, int | np.integer):
            return self.columns[chosen][rows]
        places = np.arange(self.shape[1])[chosen]
        return np.column_stack([self.columns[j][rows] for j in places])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.column_stack([column.astype(object) for column in self.columns]).astype(dtype or object, copy=False)


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
        Columns that hold words even if the words are numbers.
    known : collection of str
        Names that prove a first line of a text file to be its header, see `layout_of`.
    drop : collection of str
        Columns to leave out.
    header : bool, optional
        Whether the first line of a text file names the columns; by default the file is examined.

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
            raise no_column(frame.source, name, frame.names)
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


def _delimited(path: Path, words: set[str], known: Collection[str], header: bool | None) -> Frame:
    layout = layout_of(path, 0, known, header)
    check_names(layout.names, str(path))
    texts = {j for j, name in enumerate(layout.names) if name in words}
    frame = frame_of(partial(pieces_of, path, layout.skip), layout, path, texts, range(layout.width))
    if not len(frame.columns[0]):
        raise DataFormatError(f"{path} holds no rows.")
    return frame


def frame_of(
    pieces: Callable[[], Iterable[tuple[str, int]]],
    layout: TextLayout,
    path: Path,
    texts: Collection[int],
    needed: Collection[int],
    found: frozenset[int] = frozenset(),
) -> Frame:
    """The rows of pieces of a text file.

    Parameters
    ----------
    pieces : callable
        Gives the pieces, each with the number of lines above it, as often as it is asked.
    layout : TextLayout
    path : Path
    texts : collection of int
        Columns that hold words even if the words are numbers.
    needed : collection of int
        Columns to read; the others stay empty.
    found : frozenset of int
        Columns of which a piece had words.
    """
    once = dict[str, str]()

    def columns_of(text: str, above: int) -> tuple[list[NDArray[Any] | None], list[int]]:
        """The columns of a piece, None where a column that is not known to hold words has one; and its lines."""
        lines, rows = list[int](), list[list[str]]()
        for line, row in rows_of(io.StringIO(text), layout.delimiter, path, above):
            if len(row) != layout.width:
                raise DataFormatError(
                    f"{path}, line {line}: found {len(row)} cells, but the first line has {layout.width}."
                )
            lines.append(line)
            rows.append(row)
        columns: list[NDArray[Any] | None] = [np.zeros(0)] * layout.width
        for j, cells in enumerate(zip(*rows, strict=True) if rows else [()] * layout.width):
            if j in needed:
                columns[j] = _words(cells, once) if j in texts or j in found else _numbers(cells, path, lines)
        return columns, lines

    parts: list[list[NDArray[Any]]] = [[] for _ in range(layout.width)]
    lines = list[NDArray[Any]]()
    for piece, above in pieces():
        columns, own = columns_of(piece, above)
        new = [j for j, column in enumerate(columns) if column is None]
        if new:  # once more, as words: the first piece mostly tells
            return frame_of(pieces, layout, path, texts, needed, found.union(new))
        for part, column in zip(parts, columns, strict=True):
            assert column is not None
            part.append(column)
        lines.append(np.array(own, np.int64))
    named = layout.header is not None
    frame = Frame(str(path), layout.names, named, [stack_rows(part) for part in parts], stack_rows(lines))
    for j in sorted(found):
        _check_words(frame, j)
    return frame


def _numbers(cells: tuple[str, ...], path: Path, lines: list[int]) -> NDArray[Any] | None:
    """The numbers of a column, nan where one is missing; None where something is neither."""
    gaps = {cell for cell in set(cells) if cell[-1:] not in DIGITS and cell.strip().lower() in MISSING}
    filled = ["nan" if cell in gaps else cell for cell in cells] if gaps else cells
    if "_" in "".join(filled):  # Python alone takes 2019_20 for a number
        return None
    try:
        values = np.fromiter(map(float, filled), np.float64, len(filled))
    except ValueError:
        return None
    if np.isinf(values).any():
        i = int(np.argmax(np.isinf(values)))
        raise DataFormatError(f"{path}, line {lines[i]}: found {cells[i]!r} where a finite number was expected.")
    return values


def _words(cells: tuple[str, ...], once: dict[str, str]) -> NDArray[Any]:
    """Words, the same ones as the same object, which is kept once."""
    spelled: dict[str, Any] = {}
    for cell in set(cells):
        word = cell.strip()
        spelled[cell] = math.nan if word.lower() in MISSING else once.setdefault(word, word)
    column = np.empty(len(cells), object)
    column[:] = [spelled[cell] for cell in cells]
    return column


def _check_words(frame: Frame, j: int) -> None:
    """Raise if most of a column is numbers, so that its words are slips."""
    column, name = frame.columns[j], frame.names[j]
    counts = Counter(column[~is_missing(column)].tolist())
    total, slips = sum(counts.values()), {word for word in counts if number_of(word) is None}
    row = next(i for i, value in enumerate(column) if value in slips)
    found = f"{frame.place(row)}, column {name}: found {column[row][:40]!r}"
    if all(map(WITH_COMMAS.fullmatch, slips)):
        raise DataFormatError(
            f"{found}, a number with commas; write numbers with a decimal point and without separators of thousands, "
            "or name the column in --categorical."
        )
    if 2 * sum(counts[word] for word in slips) < total:
        raise DataFormatError(
            f"{found} where the others are numbers; mend it, leave it empty and give --impute, or name the column in "
            "--categorical."
        )


def check_categories(frame: Frame, columns: Collection[int], few: int = 50) -> None:
    """Raise if a column of words has too many different ones to be the values of a category; `few` never are."""
    for j in columns:
        column, name = frame.columns[j], frame.names[j]
        there = column[~is_missing(column)]
        different = len(set(there.tolist()))
        if different > max(few, len(there) // 2):
            raise DataFormatError(
                f"{frame.source}, column {name}: {different:,} different words in {len(there):,} rows are no "
                f"categories; leave the column out with --drop {name}, or insist with --categorical {name}."
            )


def as_words(column: NDArray[Any]) -> NDArray[Any]:
    """Numbers as they would be written."""
    written = [math.nan if value != value else repr(value).removesuffix(".0") for value in column.tolist()]
    return np.array(written, object)


# --- Parquet ------------------------------------------------------------------------------------


def _parquet(path: Path | list[Path], drop: Collection[str]) -> Frame:
    source, data = _opened(path)
    with as_parquet(source):
        table = data.to_table()
    if not table.num_rows:
        raise DataFormatError(f"{source} holds no rows.")
    return _frame_of(table, source, {name for name in table.column_names if name not in drop})


def read_parquet_frames(
    path: Path | list[Path], choose: Callable[[list[str], str], Collection[str]]
) -> Iterator[Frame]:
    """The rows of one or several Parquet files, some thousands at a time; `choose` says which columns are needed.

    Parameters
    ----------
    path : Path or list of Path
    choose : callable
        From the names of the columns and the name of the source to the names of those to read; the others stay empty.
    """
    source, data = _opened(path)
    names = list(data.schema.names)
    needed, start = set(choose(names, source)), 0
    batches = data.to_batches(
        columns=[name for name in names if name in needed], batch_size=BATCH, batch_readahead=1, fragment_readahead=1
    )
    while True:
        with as_parquet(source):
            batch = next(batches, None)
        if batch is None:
            break
        part = _frame_of(batch, source, needed)
        whole = dict(zip(part.names, part.columns, strict=True))
        yield Frame(source, names, True, [whole.get(name, np.zeros(0)) for name in names], start=start)
        start += batch.num_rows


def _opened(path: Path | list[Path]) -> tuple[str, Any]:
    """The name of Parquet files for messages, and their rows as Arrow's dataset."""
    try:
        import pyarrow.dataset
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install hinge[arrow].") from error
    source = ", ".join(map(str, path)) if isinstance(path, list) else str(path)
    names = [str(one) for one in path] if isinstance(path, list) else str(path)
    with as_parquet(source):
        return source, pyarrow.dataset.dataset(names, format="parquet", partitioning="hive")


@contextmanager
def as_parquet(source: object) -> Iterator[None]:
    """Say which file it is that pyarrow cannot read, whatever error it raises."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"There is no file {source}: check the name and the current folder.") from error
    except Exception as error:
        if type(error) in (ValueError, DataFormatError, MemoryError):
            raise
        raise DataFormatError(f"{source} is not Parquet, or damaged: {error}") from error


def _frame_of(table: pa.Table | pa.RecordBatch, source: str, needed: Collection[str]) -> Frame:
    """The columns of an Arrow table or batch; those that are not needed stay empty."""
    import pyarrow as pa

    columns = []
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if name not in needed:
            columns.append(np.zeros(0))
            continue
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            columns.append(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            values = np.array(column.cast(kind).to_pylist(), object)
            values[values == None] = math.nan  # noqa: E711
            columns.append(values)
        else:
            raise DataFormatError(
                f"{source}, column {name}: holds {kind}, neither numbers nor text; leave it out with --drop {name}."
            )
    frame = Frame(source, list(table.schema.names), True, columns)
    for name, column in zip(frame.names, columns, strict=True):
        if not is_words(column) and np.isinf(column).any():
            row = int(np.argmax(np.isinf(column)))
            raise DataFormatError(f"{frame.place(row)}, column {name}: found {column[row]}, no finite number.")
    return frame
