"""Streams of text files: divided into pieces at line ends once, and read again by pieces."""

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from hinge.access.streams.base import RowStream, WatchedFiles, regrouped, sampled_hash
from hinge.datasets.base import smallest_float
from hinge.datasets.delimited import labels_of, layout_of, parse_table
from hinge.threads import cores, each
from hinge.types import Stored

PIECE = 1 << 22
"""Approximate bytes of a piece: parsed in some hundredths of a second, so that Ctrl-C is noticed."""
COMPRESSED = (".gz", ".bz2", ".xz")


class Parsed(NamedTuple):
    """The rows of a piece, and their labels in the form of the format."""

    rows: Stored
    labels: np.ndarray


class TextStream(RowStream):
    """A text file with one row in each line. It is parsed when it is opened, for validation, and again for each read.

    Parameters
    ----------
    path : Path
    skip : int
        Bytes before the first row.
    keep : int
        Bytes of parsed rows that may stay in memory; if that is all of them, `load` does not parse again.
    """

    @property
    def threads(self) -> int:
        """Number of pieces that are parsed concurrently when the file is opened."""
        return cores()

    def __init__(self, path: Path, skip: int = 0, keep: int = 0) -> None:
        if path.suffix.lower() in COMPRESSED:
            raise ValueError(f"{path} is compressed, and cannot be read in pieces: unpack it first.")
        self.path, self._files = path, WatchedFiles([path])
        self._kept: list[Stored] | None = []
        self.dtype = np.dtype(np.float32)
        ends, rows, labels = [skip], [0], []
        width = longest = cells = 0
        for batch in self._batches(skip):
            first = ends[-1]
            starts = np.cumsum([first, *(len(text) for text in batch)]).tolist()
            found = each(lambda k: self.parse(batch[k], starts[k]), len(batch), self.threads)  # noqa: B023
            for text, part in zip(batch, found, strict=True):
                ends.append(ends[-1] + len(text))
                rows.append(rows[-1] + part.rows.shape[0])
                labels.append(part.labels)
                self.dtype = np.promote_types(self.dtype, part.rows.dtype)
                width = max(width, part.rows.shape[1])
                if isinstance(part.rows, np.ndarray):
                    cells += part.rows.size
                else:
                    cells += part.rows.nnz
                    longest = max(longest, int(np.diff(part.rows.indptr).max(initial=0)))
                keep -= self._size(part.rows)
                if self._kept is not None:
                    self._kept.append(part.rows)
                if keep < 0:
                    self._kept = None
        self._ends, self._rows, self._cells, self._longest = ends, rows, cells, longest
        self.shape = rows[-1], width
        self._labels = np.concatenate(labels) if labels else np.zeros(0)
        if not all(self.shape):
            raise ValueError(f"{path} holds no {'features' if rows[-1] else 'rows'}: there is nothing to learn from.")

    @abstractmethod
    def parse(self, text: bytes, at: int) -> Parsed:
        """The rows of some whole lines, which start at this byte of the file."""

    @property
    def n_cells(self) -> int:
        return self._cells

    @property
    def max_row_cells(self) -> int:
        return self._longest if self.is_sparse else self.shape[1]

    def stretches(self, rows: int, most: int) -> list[tuple[int, int]]:
        """Whole pieces, several if they are small; parts of one if it has more rows than `most`."""
        return regrouped(self._rows, rows, most)

    def read(self, lo: int, hi: int, out: np.ndarray | None = None) -> Stored:
        first = int(np.searchsorted(self._rows, lo, side="right")) - 1
        last = int(np.searchsorted(self._rows, hi, side="left"))
        parts = []
        for k in range(first, last):
            start = self._rows[k]
            rows = self._piece(k)[max(lo - start, 0) : hi - start]
            parts.append(rows)
        if out is None:
            return _stacked(parts, self.shape[1], self.dtype)
        np.concatenate(parts, out=out, casting="same_kind")
        return out

    def load(self) -> Stored:
        """All rows; parsed again only if they were not kept."""
        if self._kept is None:
            return super().load()
        kept, self._kept = self._kept, None
        return _stacked(kept, self.shape[1], self.dtype)

    def forget(self) -> None:
        self._kept = None

    def labels(self) -> np.ndarray:
        return self._labels

    def fingerprint(self) -> str:
        return sampled_hash(self.path)

    def _piece(self, k: int) -> Stored:
        self._files.check(self.path)
        with self.path.open("rb") as stream:
            stream.seek(self._ends[k])
            return self.parse(stream.read(self._ends[k + 1] - self._ends[k]), self._ends[k]).rows

    def _batches(self, skip: int) -> Iterator[list[bytes]]:
        """Pieces of whole lines, one for each core at a time."""
        with self.path.open("rb") as stream:
            stream.seek(skip)
            batch = []
            while text := stream.read(PIECE):
                batch.append(text + stream.readline())
                if len(batch) == cores():
                    yield batch
                    batch = []
            if batch:
                yield batch

    @staticmethod
    def _size(rows: Stored) -> int:
        return int(rows.nbytes if isinstance(rows, np.ndarray) else rows.data.nbytes + rows.indices.nbytes)


def _stacked(parts: list[Stored], width: int, dtype: np.dtype) -> Stored:
    """Rows below one another, in one type and width; the parts are freed as they are copied."""
    n = sum(part.shape[0] for part in parts)
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([np.asarray(part, dtype) for part in parts]) if parts else np.zeros((0, width), dtype)
    left = cast(list[sp.csr_array], parts)[::-1]
    cells = sum(int(part.nnz) for part in left)
    index = np.dtype(np.int32 if max(cells, width) < 2**31 else np.int64)
    data, indices, indptr = np.empty(cells, dtype), np.empty(cells, index), np.zeros(n + 1, index)
    at = row = 0
    parts.clear()
    while left:
        part = left.pop()
        count, below = int(part.nnz), row + part.shape[0]
        data[at : at + count], indices[at : at + count] = part.data, part.indices
        indptr[row + 1 : below + 1] = part.indptr[1:] + at
        at, row = at + count, below
    return sp.csr_array((data, indices, indptr), shape=(n, width))


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
