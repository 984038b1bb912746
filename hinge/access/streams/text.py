"""Streams of text files, delimited or svmlight: divided into pieces at line ends once, and read again by pieces."""

import io
from abc import abstractmethod
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.access.streams.base import RowStream, WatchedFiles, regrouped, sampled_hash
from hinge.compiled import compiled
from hinge.datasets.base import SUFFIXES, DataFormatError, most_features, smallest_float, whole_labels
from hinge.datasets.delimited import labels_of, layout_of, parse_by_cell, parse_fast
from hinge.datasets.readers import LARGEST_INDEX, fault_of
from hinge.threads import cores, each
from hinge.types import Stored

PIECE = 1 << 22
"""Approximate bytes of a piece: parsed in some hundredths of a second, so that Ctrl-C is noticed."""


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
        if path.suffix.lower() in SUFFIXES:
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
                    keep -= part.rows.nbytes
                else:
                    cells += part.rows.nnz
                    keep -= part.rows.data.nbytes + part.rows.indices.nbytes
                    longest = max(longest, int(np.diff(part.rows.indptr).max(initial=0)))
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

    def _lines_above(self, at: int) -> int:
        """Number of lines before this byte of the file."""
        with self.path.open("rb") as stream:
            return stream.read(at).count(b"\n")

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


def _stacked(parts: list[Stored], width: int, dtype: np.dtype) -> Stored:
    """Rows below one another, in one type and width; parts whose width is less are widened where they are."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate([np.asarray(part, dtype) for part in parts]) if parts else np.zeros((0, width), dtype)
    for part in parts:
        part.resize((part.shape[0], width))
    return sp.csr_array(sp.vstack(parts, format="csr", dtype=dtype))


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
        table, names = parse_fast(lines, self._layout) or parse_by_cell(
            lines, self._layout, self.path, self._lines_above(at)
        )
        place = self._layout.label
        # One dictionary for all pieces, which come in any order: it assigns codes to labels as they appear.
        codes = np.array([self._names.setdefault(name, len(self._names)) for name in names], np.int32)
        rows = np.ascontiguousarray(smallest_float(np.delete(table, place, axis=1)))
        return Parsed(rows, codes[table[:, place].astype(np.intp)])

    def labels(self) -> np.ndarray:
        return labels_of(self._labels, list(self._names))


_POWERS = np.array([10.0**k for k in range(23)])  # all are exact
_SPLIT = 2.0**27 + 1.0  # splits a float64 into two halves (Dekker)
_NEWLINE, _COLON, _HASH, _PLUS, _MINUS, _POINT, _ZERO, _NINE = (ord(c) for c in "\n:#+-.09")


class SvmlightStream(TextStream):
    """An svmlight file as CSR rows, parsed by compiled code; numbers it cannot parse are left to scikit-learn.

    Parameters
    ----------
    path : Path
    n_features : int, optional
        Number of columns; by default the largest index.
    zero_based : bool
        Whether indices count from 0.
    keep : int
        As for `TextStream`.
    """

    is_sparse = True

    def __init__(self, path: Path, n_features: int | None = None, zero_based: bool = False, keep: int = 0) -> None:
        self._base, self._most = 0 if zero_based else 1, n_features
        with path.open("rb") as stream:
            mark = len(BOM_UTF8) if stream.read(len(BOM_UTF8)) == BOM_UTF8 else 0
        super().__init__(path, mark, keep)
        if n_features is None and self.shape[1] > most_features(self.n_cells):
            raise DataFormatError(
                f"{path} has the index {self.shape[1] - 1 + self._base}, but only {self.n_cells} entries in all: mend "
                "the index, or open it as SvmlightStream(path, n_features=...) if so many are meant."
            )
        self.shape = self.shape[0], n_features or self.shape[1]

    def parse(self, text: bytes, at: int) -> Parsed:
        # Upper bounds, by the shortest cell "1:2 " and the shortest line "1\n"; unused memory costs nothing.
        cells, lines = len(text) // 4 + 1, len(text) // 2 + 1
        values, indices = np.empty(cells), np.empty(cells, np.int32)
        labels, indptr = np.empty(lines), np.empty(lines + 1, np.int32)
        indptr[0] = 0
        most = self._most or LARGEST_INDEX
        buffer = np.frombuffer(text, np.uint8)
        rows, used, fine = _parse(buffer, self._base, most, values, indices, indptr, labels)
        if not fine:
            return self._by_others(text, at)
        values, indices, indptr = smallest_float(values[:used]), indices[:used].copy(), indptr[: rows + 1].copy()
        width = int(indices.max(initial=-1)) + 1
        return Parsed(sp.csr_array((values, indices, indptr), shape=(rows, width)), labels[:rows].copy())

    def labels(self) -> np.ndarray:
        return whole_labels(self._labels)

    def _by_others(self, text: bytes, at: int) -> Parsed:
        """By scikit-learn, for numbers of many digits and query ids; errors are reported with their line."""
        from sklearn.datasets import load_svmlight_file

        for k, line in enumerate(text.splitlines()):
            fault = fault_of(line, self._most, self._base == 0)
            if fault:
                raise DataFormatError(f"{self.path}, line {self._lines_above(at) + k + 1}: {fault}")
        X, y = load_svmlight_file(io.BytesIO(text), zero_based=self._base == 0)
        return Parsed(sp.csr_array((smallest_float(X.data), X.indices, X.indptr), shape=X.shape), y)


@compiled
def _parse(text, base, most, values, indices, indptr, labels):
    """Parse svmlight lines; returns the numbers of rows and cells, and False at the first line it cannot parse."""
    at, row, cell, n = 0, 0, 0, len(text)
    while at < n:
        c = text[at]
        if c <= 32:
            at += 1
        elif c == _HASH:
            at = _line_end(text, at)
        else:
            labels[row], at, fine = _number(text, at)
            previous = base - 1
            while fine and at < n and text[at] != _NEWLINE:
                c = text[at]
                if c <= 32:
                    at += 1
                elif c == _HASH:
                    at = _line_end(text, at)
                else:
                    index = np.int64(0)
                    while at < n and _ZERO <= text[at] <= _NINE and index <= most:
                        index = 10 * index + np.int64(text[at]) - _ZERO
                        at += 1
                    fine = _ZERO <= c <= _NINE and at < n and text[at] == _COLON and previous < index < most + base
                    if fine:
                        previous = index
                        indices[cell] = index - base
                        values[cell], at, fine = _number(text, at + 1)
                        cell += 1
            if not fine:
                return row, cell, False
            row += 1
            indptr[row] = cell
    return row, cell, True


@compiled
def _line_end(text, at):
    while at < len(text) and text[at] != _NEWLINE:
        at += 1
    return at


@compiled
def _number(text, at):
    """A decimal number, the position after it, and whether it is valid: up to 18 digits, followed by nothing else.

    Digits and power are exact, and the remainder of the division is kept in twice the precision: only the last sum is
    rounded.
    """
    n, negative, seen, fraction = len(text), False, False, False
    m, digits, power, more = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    if at < n and (text[at] == _MINUS or text[at] == _PLUS):
        negative = text[at] == _MINUS
        at += 1
    while at < n and (_ZERO <= text[at] <= _NINE or (text[at] == _POINT and not fraction)):
        if text[at] == _POINT:
            fraction = True
        elif digits < 18:
            m = 10 * m + np.int64(text[at]) - _ZERO
            digits += m > 0
            power -= fraction
            seen = True
        else:
            return 0.0, at, False
        at += 1
    if seen and at < n and (text[at] | 32) == 101:  # e or E
        at += 1
        down, any_digit = False, False
        if at < n and (text[at] == _MINUS or text[at] == _PLUS):
            down = text[at] == _MINUS
            at += 1
        while at < n and _ZERO <= text[at] <= _NINE and more < 1000:
            more, any_digit = 10 * more + np.int64(text[at]) - _ZERO, True
            at += 1
        power += -more if down else more
        seen = any_digit
    fine = seen and (at == n or text[at] <= 32 or text[at] == _HASH) and (m == 0 or -22 <= power <= 22)
    if not fine or m == 0:
        return -0.0 if negative else 0.0, at, fine
    value = _scaled(m, power)
    return -value if negative else value, at, True


@compiled
def _scaled(m, power):
    """m · 10ᵖ for an integer of up to 18 digits, rounded once."""
    high = np.float64(m)
    low = np.float64(m - np.int64(high))
    ten = _POWERS[abs(power)]
    quotient = high / ten if power < 0 else high
    # The rounding error of the product of quotient and power, computed from two halves of each.
    product, a, b = quotient * ten, _SPLIT * quotient, _SPLIT * ten
    qh, th = a - (a - quotient), b - (b - ten)
    ql, tl = quotient - qh, ten - th
    off = ((qh * th - product) + qh * tl + ql * th) + ql * tl
    return quotient + ((high - product - off) + low) / ten if power < 0 else product + (off + low * ten)
