"""How the commands speak: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

INTERRUPTED = 128 + signal.SIGINT  # what shells expect after Ctrl-C
PIPED_WIDTH = 1000  # width of tables in a pipe or file: wide enough that no line is wrapped


CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that move a cursor, change colours or the direction of text, ends of lines apart: names in files may hold
them."""


def visible(text: str) -> str:
    """Text with its control characters written out, so that a terminal does not obey them."""
    return CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def say(line: str, style: str | None = None) -> None:
    """Write a sentence to standard error."""
    Console(stderr=True).print(visible(line), style=style, markup=False, highlight=False, soft_wrap=True)


def console() -> Console:
    """Standard output, with nothing in the text taken for markup."""
    found = Console(markup=False, highlight=False, emoji=False)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found.width = PIPED_WIDTH
    return found


def show_table(lines: Sequence[Sequence[Any]], numbers: Collection[int] = (), narrow: int = 0) -> None:
    """Show lines of words in columns.

    Parameters
    ----------
    lines : sequence of sequences
    numbers : collection of int
        Columns of numbers, which end at the same place.
    narrow : int
        Columns that every terminal has space for: there, the others stand below each other, with their heads, which are
        the first line. 0 where all have space.
    """
    if narrow and console().width < PIPED_WIDTH:
        heads, *rest = lines
        below = [[f"{head}: {cell}" for head, cell in zip(heads, line, strict=True) if cell] for line in rest]
        lines = [(*line[:narrow], "\n".join(cells[narrow:])) for line, cells in zip(rest, below, strict=True)]
    table, last = Table.grid(padding=(0, 2)), len(lines[0]) - 1
    for k in range(last + 1):
        of_words = k == last and k not in numbers
        table.add_column(justify="right" if k in numbers else "left", no_wrap=not of_words, overflow="fold")
    for line in lines:
        table.add_row(*(visible(str(cell)) for cell in line))
    console().print(table)


def show_note(text: str) -> None:
    """A sentence below a table."""
    console().print(text, style="dim", soft_wrap=True)


def make_folder(folder: Path | None) -> None:
    """Make the folder for results before the work begins, so that a failure shows early."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: give the name of a folder for the results.")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{folder} may not be written to: choose another folder for the results.")


def number(value: float | str | None) -> str:
    """A number with three digits, words as they are, nothing for None."""
    return "" if value is None else value if isinstance(value, str) else f"{value:,.3g}"


def percent(share: float | None) -> str:
    """A share in per cent."""
    return "not measured" if share is None else f"{100 * share:.2f} %"


def show_json(value: object) -> None:
    """Write a result as JSON."""
    typer.echo(json.dumps(value, indent=1, allow_nan=False))


@contextmanager
def silence(quiet: bool = False) -> Iterator[None]:
    """Hide what the library logs, such as that a first fit waits for the compiler, if `quiet` or without a terminal."""
    logger = logging.getLogger("hinge")
    before = logger.level
    if quiet or not Console(stderr=True).is_terminal:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
