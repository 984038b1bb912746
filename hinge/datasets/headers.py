"""Whether the first line of delimited text names the columns, told by comparing it with the rows beneath."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from .base import number_of

LABEL_NAMES = ("label", "target", "class", "y")
MISSING = ("", "na", "nan", "null", "?")
ENOUGH = 20
"""Rows beneath from which a range is told: of 21 like rows the first one is outside it in 2 of 21 cases."""
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
        The first rows below it; those of another width are not looked at.
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
    strange = strange and len(rows) >= ENOUGH
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
