"""Streams of comma- or tab-separated text, with a column of labels."""

from pathlib import Path

import numpy as np

from hinge.access.streams.text import Parsed, TextStream
from hinge.datasets.base import smallest_float
from hinge.datasets.delimited import labels_of, layout_of, parse_table


class DelimitedStream(TextStream):
    """A csv or tsv file as dense rows. Each line is one row: cells must not contain line breaks.

    Parameters
    ----------
    path : Path
    label : str or int, optional
        The label column by name or position; by default as for :func:`hinge.datasets.read`.
    keep : int
        As for `TextStream`.
    """

    threads = 1  # threads would share a dictionary, and the interpreter

    def __init__(self, path: Path, label: str | int | None = None, keep: int = 0) -> None:
        self._layout, self._names = layout_of(path, label), dict[str, int]()
        header = self._layout.header
        if header is not None:
            self.names = [name for j, name in enumerate(header) if j != self._layout.label]
        with path.open("rb") as stream:
            for _ in range(self._layout.skip):
                stream.readline()
            skip = stream.tell()
        super().__init__(path, skip, keep)

    def parse(self, text: bytes, at: int) -> Parsed:
        lines = text.decode("utf-8-sig")
        table, names = parse_table(lines, self._layout, self.path, lambda: self._lines_above(at))
        place = self._layout.label
        # One dictionary for all pieces, which come in any order: it assigns codes to labels as they appear.
        codes = np.array([self._names.setdefault(name, len(self._names)) for name in names], np.int32)
        rows = np.ascontiguousarray(smallest_float(np.delete(table, place, axis=1)))
        return Parsed(rows, codes[table[:, place].astype(np.intp)])

    def _lines_above(self, at: int) -> int:
        with self.path.open("rb") as stream:
            return stream.read(at).count(b"\n")

    def labels(self) -> np.ndarray:
        return labels_of(self._labels, list(self._names))
