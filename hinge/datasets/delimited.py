"""Comma- and tab-separated text with a label column."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from hinge.datasets.base import (
    DataFormatError,
    inner_suffix,
    no_column,
    number_of,
    opened,
    smallest_float,
    stack_rows,
    whole_labels,
)

LABEL_NAMES = ("label", "target", "class", "y")
MISSING = ("", "na", "nan", "null", "?")
DECIMALS = re.compile(r"[-+]?\d*\.\d+|[-+]?\d+(\.\d*)?[eE][-+]?\d+")
HEADER, DATA, DOUBTFUL = "header", "data", "doubtful"


class _Column(NamedTuple):
    """A cell of the first line, and what stands beneath it, without gaps."""

    cell: str
    beneath: list[str]

    @property
    def of_numbers(self) -> bool:
        return bool(self.beneath) and all(map(_is_number, self.beneath))

    @property
    def of_words(self) -> bool:
        return len(self.beneath) > 1 and not any(map(_is_number, self.beneath))  # one word may be a slip

    @property
    def is_decimal(self) -> bool:
        """Whether every number beneath is written with a fraction or an exponent."""
        return bool(self.beneath) and all(map(DECIMALS.fullmatch, self.beneath))

    @property
    def is_unlike(self) -> bool:
        """Whether a whole number stands above fractions, above words, or outside the range of the numbers."""
        if self.is_decimal or self.of_words:
            return True
        values = [float(cell) for cell in self.beneath if _is_number(cell)]
        return bool(values) and not min(values) <= float(self.cell) <= max(values)


def kind_of_first(first: Sequence[str], beneath: Sequence[Sequence[str]], known: Collection[str] = ()) -> str:
    """Whether a first line is a ``"header"``, ``"data"`` or ``"doubtful"``.

    A word above a column of numbers is a name; so is a word above words that recur, where it does not itself. Beside
    such names, or on their own, numbers are names if they are distinct, whole and unlike what stands beneath.

    Parameters
    ----------
    first : sequence of str
        Its cells, without blanks around them.
    beneath : sequence of sequences of str
        The first rows below it; rows of another width are ignored.
    known : collection of str
        Names that prove a header: words, any of them; numbers, all of them, unless it clearly is data.
    """
    # "y" alone does not prove a header: in the mushroom data it is a value.
    proofs = {name for name in known if not _is_number(name)}
    if proofs & set(first) or any(cell.lower() in LABEL_NAMES[:3] for cell in first):
        return HEADER
    kind = _compared(first, [[cell.strip() for cell in row] for row in beneath if len(row) == len(first)])
    return HEADER if kind == DOUBTFUL and known and set(known) <= set(first) else kind


def _compared(first: Sequence[str], rows: list[list[str]]) -> str:
    filled = [j for j, cell in enumerate(first) if cell.lower() not in MISSING]
    columns = [_Column(first[j], [row[j] for row in rows if row[j].lower() not in MISSING]) for j in filled]
    numbers = [column for column in columns if _is_number(column.cell)]
    words = [column for column in columns if not _is_number(column.cell)]
    if not rows:
        return DATA if numbers else HEADER
    recurs = any(column.cell in column.beneath for column in words)
    alone = any(column.of_numbers for column in words) or any(column.of_words for column in numbers)
    if not numbers:
        return DATA if recurs and not alone else HEADER
    named, strange, counted = _as_names(numbers, rows, [j for j in filled if _is_number(first[j])])
    if alone and not recurs:
        return HEADER if named and (counted or strange) else DOUBTFUL
    if recurs or not named:
        return DOUBTFUL if alone else DATA
    if any(len(set(column.beneath)) < len(column.beneath) for column in words):  # these recur, and the first does not
        return HEADER if counted or strange else DOUBTFUL
    strange = strange and len(rows) >= 20  # of 21 like rows the first one is outside the others' range in 2 of 21 cases
    if counted and strange and any(column.is_decimal for column in numbers):
        return HEADER
    return DOUBTFUL if counted or strange else DATA


def _as_names(numbers: list[_Column], rows: list[list[str]], places: list[int]) -> tuple[bool, bool, bool]:
    """Whether numbers could be names, whether all are unlike what is beneath, and whether they count as no row does."""
    named = all(column.cell.isdecimal() for column in numbers) and len({c.cell for c in numbers}) == len(numbers)
    strange = named and all(column.is_unlike for column in numbers)
    counted = named and len(numbers) > 1 and _counts([column.cell for column in numbers])
    return named, strange, counted and not any(_counts([row[j] for j in places]) for row in rows)


def _counts(cells: list[str]) -> bool:
    """Whether each is one more than the one before."""
    return all(cell.isdecimal() for cell in cells) and all(int(b) - int(a) == 1 for a, b in pairwise(cells))


def is_index(first: Sequence[str], beneath: Sequence[Sequence[str]]) -> bool:
    """Whether the first column has no name and numbers the rows, as pandas and R write the names of rows."""
    cells = [row[0].strip() for row in beneath if row]
    return not first[0] and len(cells) > 1 and cells[0] in ("0", "1") and _counts(cells)


def _is_number(cell: str) -> bool:
    return number_of(cell) is not None


END = "\x1aend\x1a"
"""A line after the last one: where it is not on its own, a quote is open."""
PIECE = 1 << 21
"""Characters that are parsed at once."""
WITH_COMMAS = re.compile(r"[-+]?\d*(,\d+)+(\.\d*)?|[-+]?\d+(\.\d+)+,\d+")
"""Numbers as other languages write them, or with separators of thousands."""
COMPARED = 1 << 18
"""Characters of the rows that are compared with the first line, to tell whether it is a header."""


class TextLayout(NamedTuple):
    """What the first lines of a file tell."""

    delimiter: str
    header: list[str] | None  # the column names, if the file has them
    skip: int  # physical lines before the first data row
    width: int
    label: int  # position of the label column

    @property
    def names(self) -> list[str]:
        """The names of the columns; "1", "2", … where the file has none."""
        return self.header or [str(j + 1) for j in range(self.width)]


def read_delimited(
    path: Path, n_features: int | None = None, label: str | int | None = None, header: bool | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and labels of a csv or tsv file; see :func:`hinge.datasets.read`."""
    with in_words(path):
        layout = layout_of(path, label, header=header)
        if n_features is not None and layout.width - 1 != n_features:
            raise DataFormatError(
                f"{path} has {layout.width - 1} columns beside its label, but {n_features} were asked for."
            )
        blocks, codes, names = _pieces(path, layout)
        if len({block.dtype for block in blocks}) > 1:  # the first were rounded before a later one needed float64
            blocks, codes, names = _pieces(path, layout, wide=True)
    if not sum(map(len, blocks)):
        raise DataFormatError(f"{path} holds no rows: expected lines of numbers and a label.")
    return stack_rows(blocks), labels_of(stack_rows(codes), names)


def _pieces(
    path: Path, layout: TextLayout, wide: bool = False, spelled: bool = False
) -> tuple[list[NDArray[Any]], list[NDArray[Any]], list[str]]:
    """The rows in blocks, their labels as positions in a list of names, and that list.

    With `wide` rows are float64 whatever they hold; with `spelled` names are kept as in the text, else ``1.0`` may be
    called 1.
    """
    blocks, codes, known = list[NDArray[Any]](), list[NDArray[Any]](), dict[str, int]()
    of_numbers = set[bool]()
    for piece, above in pieces_of(path, layout.skip):
        if not piece.strip():
            continue
        table, names = parse_fast(piece, layout, spelled) or parse_by_cell(piece, layout, path, above)
        rows, own = np.delete(table, layout.label, axis=1), table[:, layout.label].astype(np.intp)
        blocks.append(np.ascontiguousarray(rows if wide else smallest_float(rows)))
        codes.append(np.array([known.setdefault(name, len(known)) for name in names], np.int32)[own])
        of_numbers.add(_are_numbers(names))
    if len(of_numbers) > 1 and not spelled:  # numbers among words are words, as they are spelled
        return _pieces(path, layout, wide, spelled=True)
    return blocks, codes, list(known)


def pieces_of(path: Path, skip: int) -> Iterator[tuple[str, int]]:
    """The rows after the first `skip` lines, some megabytes of text at a time, and the number of lines above each."""
    with in_words(path), lines_of(path, skip) as text:
        while piece := _piece(text):
            yield piece, skip
            skip += piece.count("\n")


def _piece(text: TextIO) -> str:
    """The next lines, at most some megabytes, so that few cells are in memory twice; none where a quote is open."""
    lines = [text.read(PIECE), text.readline()]
    is_open = sum(line.count('"') for line in lines) % 2 == 1
    while is_open and (line := text.readline()):
        lines.append(line)
        is_open = line.count('"') % 2 == 0
    return "".join(lines)


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Say which file it is that is no text."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataFormatError(f"{path} is not UTF-8 text: save it again in that encoding.") from error


@contextmanager
def lines_of(path: Path, skip: int = 0) -> Iterator[TextIO]:
    """The lines of a file after the first `skip`."""
    with opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig")
        for _ in range(skip):
            next(text)
        yield text


def rows_of(text: Iterable[str], delimiter: str, path: Path, above: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold something, each with the number of its last line; `above` lines come before the text.

    What follows a quote that is never closed is no row: the error names the line where its row begins.
    """
    rows, begins = csv.reader(chain(text, [END]), delimiter=delimiter), above + 1
    try:
        for row in rows:
            if row and row[-1].endswith(END):
                if row != [END]:
                    raise DataFormatError(f'{path}, line {begins}: a quote (") is opened here that is never closed.')
                return
            if "".join(row).strip():
                yield above + rows.line_num, row
            begins = above + rows.line_num + 1
    except csv.Error as error:
        raise DataFormatError(
            f'{path}, line {begins}: this is no row of delimited text ({error}); is a quote (") not closed?'
        ) from error


def layout_of(
    path: Path, label: str | int | None, known: Collection[str] = (), header: bool | None = None
) -> TextLayout:
    """Delimiter, header and label column, found from the first lines; see `kind_of_first` for the `known` names."""
    with in_words(path), lines_of(path) as text:
        first_line = next((line for line in text if line.strip()), "")
    delimiter = "\t" if inner_suffix(path) == ".tsv" else ","
    if delimiter not in first_line:
        delimiter = next((mark for mark in (",", ";", "\t") if mark in first_line), delimiter)
    cells = first_line.strip().split(";")
    if delimiter == "," and len(cells) > 1 and all("," not in cell or WITH_COMMAS.fullmatch(cell) for cell in cells):
        delimiter = ";"
    with in_words(path), lines_of(path) as text:
        rows = rows_of(text, delimiter, path)
        first_end, first = next(rows, (0, None))
        if first is None:
            raise DataFormatError(f"{path} holds no rows: expected lines of numbers and a label.")
        first = [cell.strip() for cell in first]
        beneath = [row for _, row in islice(rows, max(1, COMPARED // max(1, len(first_line))))]
    if header is None:
        header = _has_header(path, first, beneath, [*known, *([label] if isinstance(label, str) else [])])
    if header and not beneath:
        raise DataFormatError(f"{path} holds a header but no rows below it.")
    if len(first) < 2:
        raise DataFormatError(f"{path} has one column, but a label and at least one feature are needed.")
    names, skip = (first, first_end) if header else (None, 0)
    return TextLayout(delimiter, names, skip, len(first), _label_column(path, names, len(first), label))


def _has_header(path: Path, first: list[str], beneath: list[list[str]], known: Collection[str]) -> bool:
    if is_index(first, beneath):
        raise DataFormatError(
            f"The first column of {path} has no name and numbers the rows, as pandas and R do: write the file without "
            "it (index=False, row.names=FALSE), or give it a name if it is a feature."
        )
    kind = kind_of_first(first, beneath, known)
    if kind == DOUBTFUL:
        some = ", ".join(first[:5]) + (", …" if len(first) > 5 else "")
        raise DataFormatError(
            f"The first line of {path} ({some}) may be names of columns, or a row: say so with --header or --no-header "
            "(header=True or False of hinge.datasets.read), or give the columns names that are words."
        )
    return kind == HEADER


def _label_column(path: Path, header: list[str] | None, width: int, label: str | int | None) -> int:
    if label is None:
        lowered = [name.lower() for name in header or ()]
        return next((lowered.index(name) for name in LABEL_NAMES if name in lowered), width - 1)
    if isinstance(label, str):
        if header is None:
            raise DataFormatError(f"{path} has no header, so there is no column {label!r}: give its position instead.")
        if label not in header:
            raise no_column(path, label, header)
        return header.index(label)
    if not -width <= label < width:
        raise DataFormatError(f"{path} has {width} columns, so label={label} lies outside them.")
    return label % width


def parse_fast(text: str, layout: TextLayout, spelled: bool = True) -> tuple[NDArray[Any], list[str]] | None:
    """All rows of a text, labels as positions in a list of names; None where something is no finite number.

    By NumPy's own parser, in half the time where labels need not be looked up by their text.
    """
    codes: dict[str, float] = {}
    table = None if spelled else parse_numbers(text, layout)
    if table is not None:
        numbers, table[:, layout.label] = np.unique(table[:, layout.label], return_inverse=True)
        return table, [f"{number:.17g}" for number in numbers.tolist()]

    def code(cell: str) -> float:
        name = cell.strip()
        if name.lower() in MISSING:
            raise ValueError("missing label")
        return codes.setdefault(name, float(len(codes)))

    table = parse_numbers(text, layout, {layout.label: code})
    return None if table is None else (table, list(codes))


def parse_numbers(
    text: str, layout: TextLayout, converters: Mapping[int | str, Callable[[str], Any]] | None = None
) -> NDArray[Any] | None:
    """All cells of a text as finite numbers; None where some cell is none."""
    if text.count('"') % 2:  # NumPy would not complain of an open quote
        return None
    options: dict[str, Any] = {"delimiter": layout.delimiter, "comments": None, "quotechar": '"', "ndmin": 2}
    try:
        table = np.loadtxt(io.StringIO(text), converters=converters, **options)
    except (ValueError, OverflowError) as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # NumPy takes Ctrl-C in a converter for a broken cell
            raise error.__cause__ from None
        return None
    return table if table.shape[1] == layout.width and np.isfinite(table).all() else None


def parse_by_cell(text: str, layout: TextLayout, path: Path, above: int) -> tuple[NDArray[Any], list[str]]:
    """The same cell by cell: slow, but it can say which cell is broken; `above` lines come before the text."""
    codes: dict[str, float] = {}
    table, names = [], layout.names
    for line, row in rows_of(io.StringIO(text), layout.delimiter, path, above):
        where = f"{path}, line {line}"
        if len(row) != layout.width:
            raise DataFormatError(f"{where}: found {len(row)} cells, but the first line has {layout.width}.")
        values = []
        for column, (name, cell) in enumerate(zip(names, row, strict=True)):
            cell = cell.strip()
            if cell.lower() in MISSING:
                raise DataFormatError(
                    f"{where}, column {name}: the value is missing; fill it or drop the row "
                    "(hinge train --impute median fills it)."
                )
            if column == layout.label:
                values.append(codes.setdefault(cell, float(len(codes))))
                continue
            value = number_of(cell)
            if value is None or not math.isfinite(value):
                raise DataFormatError(
                    f"{where}, column {name}: found {cell[:40]!r} where a finite number was expected; encode words "
                    "first, say by scikit-learn's OneHotEncoder (hinge train does so by itself, of rows in memory)."
                )
            values.append(value)
        table.append(values)
    return np.array(table), list(codes)


def labels_of(codes: NDArray[Any], names: list[str]) -> NDArray[Any]:
    """The labels as numbers if every one is a finite number, else as text."""
    if not _are_numbers(names):
        return np.array(names)[codes]
    return whole_labels(np.array([number_of(name) for name in names], dtype=np.float64))[codes]


def _are_numbers(names: list[str]) -> bool:
    """Whether all of them are finite numbers."""
    return all((number := number_of(name)) is not None and math.isfinite(number) for name in names)
