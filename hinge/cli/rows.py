"""What the argument DATA of a command holds, a set by name or a file: rows, labels, names of columns, weights."""

from __future__ import annotations

import atexit
import difflib
import glob
import os
import re
import shutil
import sys
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.cli.options import ReadOptions
from hinge.datasets import DataFormatError, delimited, frames, load, read
from hinge.datasets.base import inner_suffix, no_column, number_of, opened, smallest_float, stack_rows, whole_labels
from hinge.datasets.readers import DELIMITED, svmlight_blocks

PAIR_HEADER = "pair.json"
SVMLIGHT_LINE = re.compile(rb"\s*[-+\w.]+(\s+(qid:)?\d+:\S+)+\s*(#.*)?$")
STDIN = "-"
MARKS = {b"PAR1": ".parquet", b"\x93NUMPY": ".npy", b"PK": ".npz"}
PACKED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz"}
"""First bytes of what may come from standard input."""


class ModelColumns(NamedTuple):
    """The columns that a model was trained on.

    Attributes
    ----------
    width : int
    names : list of str, optional
    words : tuple of int
        Which of them hold words.
    label : str, optional
        What the column of labels was called.
    spelled : bool
        Whether its labels are text, so that labels to compare with them are not parsed as numbers.
    """

    width: int
    names: list[str] | None = None
    words: tuple[int, ...] = ()
    label: str | None = None
    spelled: bool = False


class ChosenColumns(NamedTuple):
    """The positions of the columns that are taken from a table: of the label, the weights, and the features."""

    label: int | None
    weight: int | None
    features: list[int]

    @property
    def needed(self) -> set[int]:
        """The positions of all of them."""
        return {j for j in (self.label, self.weight, *self.features) if j is not None}


class FileRows(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    X : array, CSR matrix, table on disk, or `frames.MixedRows` where some columns are words
    y : ndarray, optional
    names : list of str, optional
        Of the features.
    words : tuple of int
        Columns that hold words.
    weight : ndarray, optional
    label : str, optional
        What the column of the labels is called.
    place : callable, optional
        From the number of a row to where it stands in the file, in words.
    """

    X: Any
    y: np.ndarray | None
    names: list[str] | None = None
    words: tuple[int, ...] = ()
    weight: np.ndarray | None = None
    label: str | None = None
    place: Callable[[int], str] | None = None

    def named(self, names: list[str], has_names: bool, chosen: ChosenColumns) -> FileRows:
        """The same rows with the names of their columns, where the file has names, and of the labels."""
        features = [names[j] for j in chosen.features] if has_names else None
        return self._replace(names=features, label=None if chosen.label is None else names[chosen.label])

    @property
    def columns(self) -> ModelColumns:
        """What a model learns that is trained on these."""
        spelled = self.y is not None and self.y.dtype.kind in "UO"
        return ModelColumns(self.X.shape[1], self.names, self.words, self.label, spelled)


class Kind(Enum):
    """What a file is read as."""

    PAIR = "a pair"
    TABLE = "Parquet files"
    DELIMITED = "csv or tsv"
    ZARR = "a Zarr array"
    ARRAY = "an .npy file"
    OTHER = "svmlight or npz"


def read_rows(data: str, how: ReadOptions, labelled: bool = True) -> FileRows:
    """The rows of a file, a folder, a pattern with ``*``, or standard input, to be learned from.

    Parameters
    ----------
    data : str
    how : ReadOptions
    labelled : bool
        Whether labels are needed.
    """
    if data == STDIN:
        path = standard_input()
        with of_standard_input(path):
            return without_name(read_rows(str(path), how, labelled))
    kind, path = source_of(data, how)
    if kind is Kind.PAIR:
        rows = _of_pair(path, how)
    elif kind is Kind.TABLE:
        rows = _of_frame(path, how, labelled)
    elif kind is Kind.DELIMITED:
        rows = _numbers_only(path, how, labelled) or _of_frame(path, how, labelled)
    elif kind is Kind.OTHER:
        rows = FileRows(*read(path, label=column_of(how.label), zero_based=how.zero_based))
    else:
        rows = stacked(_not_empty(_of_matrix(kind, path, how, labelled), data))
    return rows if how.labels is None else rows._replace(y=labels_from(how.labels, rows.X.shape[0]))


def source_of(data: str, how: ReadOptions) -> tuple[Kind, Any]:
    """What files are read as, and where they are: several of a pattern, else one file or folder.

    Raises if there are none, or if options are given that choose nothing of them.
    """
    path = Path(data)
    if glob.has_magic(data) and not path.exists():
        found = sorted(glob.glob(data, recursive=True))
        if not found:
            raise FileNotFoundError(f"There is no file {data}: check the pattern.")
        return Kind.TABLE, [Path(name) for name in found]
    if path.is_dir():
        kind = _kind_of_folder(path)
    elif path.suffix.lower() in frames.PARQUET:
        kind = Kind.TABLE
    elif inner_suffix(path) in DELIMITED:
        kind = Kind.DELIMITED
    else:
        kind = Kind.ARRAY if path.suffix.lower() == ".npy" else Kind.OTHER
    if kind in (Kind.PAIR, Kind.TABLE, Kind.DELIMITED):
        return kind, path
    for option, value in (("drop", how.drop), ("categorical", how.categorical), ("sample-weight-column", how.weight)):
        if value:
            raise ValueError(f"--{option} names a column, and {data} is neither csv, tsv nor Parquet.")
    if how.header is not None:
        raise ValueError(f"--header and --no-header are for csv and tsv files, and {data} is neither.")
    return kind, path


def _kind_of_folder(path: Path) -> Kind:
    from hinge.access.streams.opening import is_zarr

    if (path / PAIR_HEADER).exists():
        return Kind.PAIR
    if is_zarr(path):
        return Kind.ZARR
    if any(one.suffix.lower() in (*frames.PARQUET, "") and one.is_file() for one in path.rglob("*")):
        return Kind.TABLE
    raise FileNotFoundError(
        f"{path} is a folder without Parquet files or a Zarr array: name a file, or a folder that has some."
    )


@contextmanager
def of_standard_input(path: Path) -> Iterator[None]:
    """Call the file that standard input was written to by its name."""
    try:
        yield
    except ValueError as error:
        raise DataFormatError(str(error).replace(str(path), "Standard input")) from error


def without_name(rows: FileRows) -> FileRows:
    """Rows of standard input, whose places are without the name of a file."""
    place = rows.place
    return rows._replace(place=place and (lambda row: f"Standard input, {place(row).rpartition(', ')[2]}"))


def column_of(label: str | None) -> str | int | None:
    """A column by position if that is a number, else by name."""
    return int(label) if label is not None and label.removeprefix("-").isdecimal() else label


def standard_input() -> Path:
    """Standard input as a file, whose first bytes tell its format."""
    folder = Path(tempfile.mkdtemp(prefix="hinge-stdin-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "stdin"
    with path.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream)
    head = _head(path)
    if not head:
        raise ValueError("Standard input is empty: there are no rows in it.")
    packing = next((end for mark, end in PACKED.items() if head.startswith(mark)), "")
    path = path.rename(folder / f"stdin{packing}")
    with of_standard_input(path):
        head = _head(path)
    suffix = next((end for mark, end in MARKS.items() if head.startswith(mark)), None)
    if suffix is None:
        first = next((line for line in head.removeprefix(BOM_UTF8).splitlines() if line.strip()), b"")
        suffix = ".svm" if SVMLIGHT_LINE.match(first) else ".csv"
    return path.rename(folder / f"stdin{suffix}{packing}")


def _head(path: Path) -> bytes:
    """The first bytes of a file, unpacked if its name says so."""
    with opened(path) as stream:
        return stream.read(1 << 16)


# --- columns with names -------------------------------------------------------------------------


def _numbers_only(path: Path, how: ReadOptions, labelled: bool) -> FileRows | None:
    """The rows of a text file that holds nothing but numbers and labels, in little memory; None where it does not."""
    if how.categorical:
        return None
    layout, chosen = text_columns(path, how, None, labelled)
    parsed_label = 0 if chosen.label is None else chosen.label
    try:
        X, found = delimited.read_delimited(path, label=parsed_label, header=layout.header is not None)
    except DataFormatError:  # some column holds words or gaps, or what the next reader has a sentence for
        return None
    y = None if chosen.label is None else found
    if y is None:
        if found.dtype.kind not in "if":
            return None
        X = smallest_float(np.column_stack([found, X]))
    columns = [j for j in range(layout.width) if j != chosen.label]
    weight = None if chosen.weight is None else X[:, columns.index(chosen.weight)].astype(np.float64)
    if columns != chosen.features:
        X = np.ascontiguousarray(X[:, np.searchsorted(columns, chosen.features)])
    return FileRows(X, y, weight=weight).named(layout.names, layout.header is not None, chosen)


def text_columns(
    path: Path, how: ReadOptions, wanted: ModelColumns | None, labelled: bool = True
) -> tuple[delimited.TextLayout, ChosenColumns]:
    """The layout of a csv or tsv file, and the columns that are chosen from it."""
    layout = delimited.layout_of(path, 0, known_names(how, wanted), how.header)
    frames.check_names(layout.names, str(path))
    return layout, choose_columns(layout.names, layout.header is not None, str(path), how, wanted, labelled)


def _of_frame(path: Path | list[Path], how: ReadOptions, labelled: bool) -> FileRows:
    """The rows of a table that may have words and gaps."""
    frame = frames.read_frame(path, how.categorical, known_names(how), how.drop, how.header)
    chosen = choose_columns(frame.names, frame.named, frame.source, how, None, labelled)
    words = [j for j in chosen.features if frames.is_words(frame.columns[j])]
    frames.check_categories(frame, [j for j in words if frame.names[j] not in how.categorical])
    return rows_of_frame(frame, chosen)


def rows_of_frame(frame: frames.Frame, chosen: ChosenColumns) -> FileRows:
    """Rows of the columns that are chosen."""
    columns = [frame.columns[j] for j in chosen.features]
    spelled = tuple(k for k, column in enumerate(columns) if frames.is_words(column))
    if spelled:
        X: Any = frames.MixedRows(columns)
    else:
        X = np.column_stack(columns) if columns else np.zeros((max(map(len, frame.columns)), 0))
        X = smallest_float(X) if np.isfinite(X).all() else X
    y = None if chosen.label is None else frames.labels_in(frame, chosen.label)
    weight = None if chosen.weight is None else _weights(frame, chosen.weight)
    place = frame._replace(columns=[]).place  # which would keep the columns in memory beside the rows
    return FileRows(X, y, None, spelled, weight, None, place).named(frame.names, frame.named, chosen)


def known_names(how: ReadOptions, wanted: ModelColumns | None = None) -> list[str]:
    """Names that prove a first line to be a header."""
    asked = (how.label, how.weight, *how.drop, *how.categorical)
    named = [name for name in asked if name is not None and isinstance(column_of(name), str)]
    return named + list((wanted and wanted.names) or ())


def choose_columns(
    names: list[str], named: bool, source: str, how: ReadOptions, wanted: ModelColumns | None, labelled: bool
) -> ChosenColumns:
    """The columns to take from a table: by name where both file and model have names."""
    weight = None if how.weight is None else _position(names, how.weight, source)
    label = None if how.label is None else _position(names, how.label, source)
    if wanted is not None and wanted.names is not None and named:
        at = {name: j for j, name in enumerate(names)}
        absent = [name for name in wanted.names if name not in at]
        if absent:
            near = difflib.get_close_matches(absent[0], names, 1)
            hint = f"did {near[0]!r} mean it?" if near else f"its columns are {', '.join(names[:20])}."
            raise ValueError(f"{source} has no column {absent[0]!r}, which the model was trained on: {hint}")
        if label is None and not how.unlabelled:
            label = _label_beside(names, wanted)
        return ChosenColumns(label, weight, [at[name] for name in wanted.names])
    dropped = {_position(names, name, source) for name in how.drop if name in names or not named}
    if label is None and how.labels is None and not how.unlabelled:
        label = _usual_label(names, named, len(names) - len(dropped) - (weight is not None), wanted, labelled)
    features = [j for j in range(len(names)) if j not in (label, weight) and j not in dropped]
    if wanted is not None and len(features) != wanted.width:
        beside = " beside its label" if label is not None else ""
        raise ValueError(
            f"{source} has {len(features)} columns{beside}, but {wanted.width} features "
            "were learned: give those columns in their order, with the label or (--no-labels) without."
        )
    return ChosenColumns(label, weight, features)


def _label_beside(names: list[str], wanted: ModelColumns) -> int | None:
    """The label among columns that are no features of the model."""
    assert wanted.names is not None
    features = set(wanted.names)
    rest = [name for name in names if name not in features]
    if wanted.label is not None:
        return names.index(wanted.label) if wanted.label in rest else None
    alike = [name for name in rest if name.lower() in delimited.LABEL_NAMES]
    return names.index((alike or rest)[0]) if len(alike or rest) == 1 else None


def _usual_label(names: list[str], named: bool, width: int, wanted: ModelColumns | None, labelled: bool) -> int | None:
    """The label where nobody named it: the column called so, else the last; none where all columns are features."""
    if wanted is not None and width == wanted.width:
        return None
    lowered = [name.lower() for name in names] if named else []
    alike = next((lowered.index(name) for name in delimited.LABEL_NAMES if name in lowered), None)
    return alike if alike is not None or not labelled else len(names) - 1


def _position(names: list[str], column: str, source: str) -> int:
    """A column by name, else by position."""
    if column in names and not column.isdecimal():
        return names.index(column)
    at = column_of(column)
    if isinstance(at, str):
        raise no_column(source, column, names)
    if column in names and names.index(column) != at:
        raise ValueError(
            f"{source} has a column called {column!r}, which is not the one at position {at}: rename its columns."
        )
    if at is None or not -len(names) <= at < len(names):
        raise ValueError(f"{source} has {len(names)} columns, so position {column} lies outside them.")
    return at % len(names)


def _weights(frame: frames.Frame, column: int) -> np.ndarray:
    values = frame.columns[column]
    if frames.is_words(values) or not np.isfinite(values).all():
        raise ValueError(f"{frame.source}, column {frame.names[column]}: weights are numbers, one a row, none missing.")
    return values


# --- matrices -----------------------------------------------------------------------------------


def _of_matrix(kind: Kind, path: Path, how: ReadOptions, labelled: bool) -> Iterator[FileRows]:
    """The rows of an .npy file or a Zarr array, whose labels are a column that was named, or are in another file."""
    from hinge.access.streams.opening import array_of, map_array

    X = map_array(path) if kind is Kind.ARRAY else array_of(path)
    if how.label is None:
        y = _labels_beside(path, path.stem, how, X.shape[0], labelled)
        return (rows._replace(X=np.array(rows.X)) for rows in in_blocks(FileRows(X, y)))
    at = _position([str(j) for j in range(X.shape[1])], how.label, str(path))
    rows = FileRows(X, as_labels(np.asarray(X[:, at])), label=str(at))
    return (block._replace(X=np.ascontiguousarray(np.delete(block.X, at, axis=1))) for block in in_blocks(rows))


def _of_pair(path: Path, how: ReadOptions) -> FileRows:
    from hinge.access.two_way.reader import open_pair

    table = open_pair(path)
    return FileRows(table, _labels_beside(path, path.name, how, table.shape[0], True))


def _labels_beside(path: Path, name: str, how: ReadOptions, n: int, needed: bool) -> np.ndarray | None:
    """The labels of a matrix that lie beside it, unless another file is named."""
    place = path.with_name(f"{name}.labels.npy")
    if how.labels is None and place.exists():
        return labels_from(place, n)
    if how.labels is None and needed:
        raise ValueError(f"{path} holds no labels: give their file with --labels, or name it {place.name}.")
    return None


def labels_from(path: Path, n: int | None = None) -> np.ndarray:
    """Labels from a .npy file, or one a line from a text file; of n rows, if that is known."""
    if path.suffix.lower() == ".npy":
        y = np.load(path, allow_pickle=False)
    else:
        lines = [line.strip() for line in path.read_text().splitlines() if line.strip()]
        try:
            y = np.array(lines, np.float64)
        except ValueError:
            y = np.array(lines)
    if y.ndim != 1:
        raise ValueError(f"{path} holds a matrix, but labels are needed, one for each row.")
    check_count(path, len(y), n)
    return as_labels(y)


def check_count(path: Path, labels: int, n: int | None) -> None:
    """Raise unless there is a label for each of n rows, if their number is known."""
    if n not in (None, labels):
        raise ValueError(f"{path} holds {labels} labels, but there are {n} rows: one each is needed.")


def as_labels(y: np.ndarray) -> np.ndarray:
    """Numbers as labels: whole ones where all are."""
    return whole_labels(y) if y.dtype.kind in "fb" else y


def split_names(texts: Iterable[str] | None) -> tuple[str, ...]:
    """Names with commas between, of an option that may be given several times."""
    return tuple(name.strip() for text in texts or () for name in text.split(",") if name.strip())


def is_file(data: str) -> bool:
    """Whether something names files and not a set of the catalog: names of the catalog come first."""
    from hinge.datasets.catalog import ENTRIES

    if any(data.lower() in (e.name, *e.aliases) for e in ENTRIES):
        return False
    return data == STDIN or os.path.exists(data) or bool(glob.has_magic(data) and glob.glob(data, recursive=True))


def stream_label(data: str, how: ReadOptions) -> str | None:
    """The label column of rows that stay on disk, by name; None where the file says it, or there is another file."""
    kind, files = source_of(data, how)
    if kind is not Kind.TABLE:
        return how.label
    if how.labels is not None:
        return None
    from hinge.access.streams.parquet import parquet_names

    names = parquet_names(files[0] if isinstance(files, list) else files)
    at = _usual_label(names, True, len(names), None, True) if how.label is None else _position(names, how.label, data)
    assert at is not None
    return names[at]


# --- a block at a time --------------------------------------------------------------------------

BLOCK = 1 << 22
"""Numbers of a matrix that are read at once."""


def read_blocks(data: str, how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    """The rows of a file, a folder, a pattern with ``*``, or standard input, in blocks of some megabytes.

    Parameters
    ----------
    data : str
    how : ReadOptions
    wanted : ModelColumns
        Those of the model that the rows are for: taken by name where both have names. Such rows may lack labels.
    """
    if data == STDIN:
        path = standard_input()
        with of_standard_input(path):
            yield from map(without_name, read_blocks(str(path), how, wanted))
        return
    kind, path = source_of(data, how)
    if kind is Kind.PAIR:
        raise ValueError(f"{path} is a pair, which is for training: give the file that it was made from.")
    if kind is Kind.TABLE:
        blocks = _of_parquet(path, how, wanted)
    elif kind is Kind.DELIMITED:
        blocks = _of_text(path, how, wanted)
    elif kind is Kind.OTHER and inner_suffix(path) != ".npz" and how.label is None:
        blocks = (FileRows(X, y) for X, y in svmlight_blocks(path, wanted.width, how.zero_based))
    elif kind is Kind.OTHER:
        X, y = read(path, n_features=wanted.width, label=column_of(how.label), zero_based=how.zero_based)
        blocks = in_blocks(FileRows(X, y))
    else:
        blocks = _of_matrix(kind, path, how, labelled=False)
    filled = _not_empty(blocks, data)
    yield from filled if how.labels is None else _with_labels(filled, how.labels)


def _not_empty(blocks: Iterator[FileRows], data: str) -> Iterator[FileRows]:
    """Those blocks that have rows, of which there must be some."""
    n = 0
    for rows in blocks:
        if rows.X.shape[0]:
            n += rows.X.shape[0]
            yield rows
    if n == 0:
        raise DataFormatError(f"{data} holds no rows.")


def in_blocks(rows: FileRows) -> Iterator[FileRows]:
    """The same rows, some at a time."""
    n, d = rows.X.shape
    step = max(1, BLOCK // max(1, d))
    for lo in range(0, n, step):
        y = None if rows.y is None else rows.y[lo : lo + step]
        yield rows._replace(X=rows.X[lo : lo + step], y=y, place=_counted_from(lo))


def stacked(blocks: Iterable[FileRows]) -> FileRows:
    """All rows of the blocks in one array."""
    first, *others = blocks
    if not others:
        return first
    X, y, weight = ([getattr(part, name) for part in (first, *others)] for name in ("X", "y", "weight"))
    del others  # `stack_rows` frees each block as soon as it is copied
    return first._replace(
        X=sp.vstack(X, format="csr") if sp.issparse(first.X) else _stack(X),
        y=None if first.y is None else np.concatenate(y),
        weight=None if first.weight is None else np.concatenate(weight),
        place=None,
    )


def _stack(blocks: list[Any]) -> Any:
    if isinstance(blocks[0], frames.MixedRows):
        columns = zip(*(block.columns for block in blocks), strict=True)
        return frames.MixedRows([np.concatenate(parts) for parts in columns])
    return stack_rows(blocks)


def _counted_from(start: int) -> Callable[[int], str]:
    return lambda row: f"Row {start + row + 1}"


def _with_labels(blocks: Iterator[FileRows], path: Path) -> Iterator[FileRows]:
    """The same rows with labels from a file of their own."""
    y, n = labels_from(path), 0
    for rows in blocks:
        lo, n = n, n + rows.X.shape[0]
        if n <= len(y):  # rows beyond the labels are counted, for the error
            yield rows._replace(y=y[lo:n])
    check_count(path, len(y), n)


def _of_parquet(files: Path | list[Path], how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    chosen: list[ChosenColumns] = []

    def choose(names: list[str], source: str) -> list[str]:
        frames.check_names(names, source)
        chosen.append(choose_columns(names, True, source, how, wanted, True))
        return [names[j] for j in chosen[0].needed]

    for frame in frames.read_parquet_frames(files, choose):
        yield _for_model(frame, wanted, chosen[0])


def _of_text(path: Path, how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    """The rows of a csv or tsv file: by NumPy's parser until a piece of it holds words or gaps."""
    layout, chosen = text_columns(path, how, wanted)
    texts = {chosen.features[k] for k in wanted.words}
    if wanted.spelled and chosen.label is not None:
        texts.add(chosen.label)
    fast = not wanted.words and chosen.weight is None
    for piece, above in delimited.pieces_of(path, layout.skip):
        rows = _numbers_in(piece, layout, chosen, wanted.spelled) if fast else None
        fast = rows is not None
        if rows is None:
            frame = frames.frame_of(partial(iter, [(piece, above)]), layout, path, texts, chosen.needed)
            rows = _for_model(frame, wanted, chosen)
        yield rows.named(layout.names, layout.header is not None, chosen)


def _numbers_in(text: str, layout: delimited.TextLayout, chosen: ChosenColumns, spelled: bool) -> FileRows | None:
    """The rows of a piece that holds nothing but numbers and labels; None where it does not."""
    label, y = chosen.label, None
    if not text.strip():
        return FileRows(np.zeros((0, len(chosen.features)), np.float32), None)
    if label is None:
        table = delimited.parse_numbers(text, layout)
    else:
        table, names = delimited.parse_fast(text, layout._replace(label=label), spelled) or (None, [])
    if table is None:
        return None
    if label is not None:
        codes = table[:, label].astype(np.intp)
        y = np.array(names)[codes] if spelled else delimited.labels_of(codes, names)
    return FileRows(np.ascontiguousarray(smallest_float(table[:, chosen.features])), y)


def _for_model(frame: frames.Frame, wanted: ModelColumns, chosen: ChosenColumns) -> FileRows:
    """The rows of a frame, with words in the columns in which the model has words."""
    columns = list(frame.columns)
    for k, j in enumerate(chosen.features):
        if frames.is_words(columns[j]) and k not in wanted.words:
            raise ValueError(f"{frame.source}, column {frame.names[j]}: holds words, but numbers when it was learned.")
        if k in wanted.words and not frames.is_words(columns[j]):
            columns[j] = frames.as_words(columns[j])
    return rows_of_frame(frame._replace(columns=columns), chosen)


class TrainingData(NamedTuple):
    """What to learn from, and what to test on where there is something."""

    name: str
    train: FileRows
    test: FileRows | None = None

    @property
    def unseen(self) -> FileRows:
        """The test part, or all where there is none."""
        return self.train if self.test is None else self.test


def training_data(
    data: str, test: str | None, how: ReadOptions, positive: str | None = None, labelled: bool = True
) -> TrainingData:
    """The training part and, where there is one, the test part, both with the same features."""
    from_file = is_file(data)
    if not from_file:
        found = _named(data, how, positive)
    elif inner_suffix(Path(data)) == ".train" and how == ReadOptions(fetch=how.fetch):  # its test file lies beside it
        found = _named(data, how, "all")
    else:
        name = "standard input" if data == STDIN else Path(data).name
        found = TrainingData(name, read_rows(data, how, labelled=labelled))
    if from_file and positive is not None:
        found = _against_the_rest(found, positive, data)
    if test is None:
        return found
    if found.test is not None and not from_file:
        raise ValueError(f"{data} brings its own test rows: leave --test out.")
    return found._replace(test=_test_rows(test, found.train, how, data))


def blocks(data: str, how: ReadOptions, wanted: ModelColumns) -> Iterator[FileRows]:
    """The rows of a file, or of the test part of a named set, for a model, a block at a time."""
    if is_file(data):
        return read_blocks(data, how, wanted)
    part = _named(data, how, None).unseen
    return in_blocks(part._replace(X=_widened(part.X, wanted.width)))


def _named(data: str, how: ReadOptions, positive: str | None) -> TrainingData:
    found = load(data, positive=positive, fetch=how.fetch)
    for option, value in (("label", how.label), ("labels", how.labels), ("sample-weight-column", how.weight)):
        if value is not None:
            raise ValueError(f"--{option} chooses from a file, but {data} is a set with a name.")
    test = None if found.X_test is None else FileRows(found.X_test, found.y_test)
    return TrainingData(found.name, FileRows(found.X_train, found.y_train), test)


def _test_rows(test: str, train: FileRows, how: ReadOptions, data: str) -> FileRows:
    if not is_file(test):
        part = _named(test, ReadOptions(fetch=how.fetch), None).unseen
    else:
        sparse = inner_suffix(Path(test)) not in (".csv", ".tsv", ".parquet", ".pq")
        part = read_rows(test, how) if sparse else stacked(read_blocks(test, how, train.columns))
    width = max(train.X.shape[1], part.X.shape[1])
    widths = [_widened(X, width).shape[1] for X in (train.X, part.X)]
    if min(widths) < width:
        raise ValueError(f"{data} has {widths[0]} features, but {test} has {widths[1]}: give both the same.")
    return part if train.y is None or part.y is None else part._replace(y=in_classes(part.y, np.unique(train.y)))


def _widened(X: Any, width: int) -> Any:
    """X with empty columns added in place up to `width`: sparse files do not mention trailing zeros."""
    if sp.issparse(X) and X.shape[1] < width:
        X.resize((X.shape[0], width))
    return X


# --- labels -------------------------------------------------------------------------------------


def rest_of(positive: str) -> str:
    """The name of all other classes together, where one class is learned against the rest."""
    return f"not {positive}"


def _against_the_rest(found: TrainingData, positive: str, data: str) -> TrainingData:
    """Labels that name one class and call all others not that; two classes keep their names."""
    if found.train.y is None:
        raise ValueError(f"--positive is one of the labels, and {data} has none.")
    classes = np.unique(found.train.y)
    if positive not in [str(value) for value in classes.tolist()]:
        some = ", ".join(str(value) for value in classes[:20].tolist())
        raise ValueError(f"{data} has no class {positive!r} to make positive: its classes are {some}.")
    if len(classes) == 2:
        return found
    two, test = np.array([positive, rest_of(positive)]), found.test
    if test is not None and test.y is not None:
        test = test._replace(y=in_classes(test.y, two))
    return TrainingData(found.name, found.train._replace(y=in_classes(found.train.y, two)), test)


def in_classes(y: np.ndarray, classes: np.ndarray, positive: str | None = None) -> np.ndarray:
    """Labels of a file in the terms of a model's classes.

    Where the model tells one class from all others, every other label is one of those.
    """
    if classes.dtype.kind not in "UO":
        if positive is not None and set(classes.tolist()) <= {-1, 1}:
            return np.where(y.astype(str) == positive, 1, -1)
        return y
    names = [str(name) for name in classes]
    found, codes = np.unique(y, return_inverse=True)
    texts = np.array([_class_spelled(str(value), names) for value in found.tolist()])[codes]
    for name, other in zip(names, reversed(names), strict=True) if len(names) == 2 else ():
        if other == rest_of(name):
            return np.where(texts == name, name, other)
    return texts


def _class_spelled(text: str, names: list[str]) -> str:
    """A label as the classes spell it: 1.0 and +1 are the class 1, unless there is one that is spelled so."""
    value = None if text in names else number_of(text)
    return text if value is None or not np.isfinite(value) else str(whole_labels(np.array([value]))[0])
