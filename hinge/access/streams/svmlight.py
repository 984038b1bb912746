"""Streams of svmlight (LIBSVM) text: ``label index:value index:value ... # comment``."""

import io
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from hinge.access.streams.text import Parsed, TextStream
from hinge.compiled import compiled
from hinge.datasets.base import DataFormatError, most_features, smallest_float, whole_labels
from hinge.datasets.readers import LARGEST_INDEX, fault_of

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
                with self.path.open("rb") as stream:
                    above = sum(1 for _ in io.BytesIO(stream.read(at))) if at else 0
                raise DataFormatError(f"{self.path}, line {above + k + 1}: {fault}")
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
