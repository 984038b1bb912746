"""Validation of sparse matrices, once, before compiled code follows their indices.

SciPy validates what its constructors are given, but its matrices can be changed afterwards, made from files and memory
maps without validation, and have flags that are wrong. One pass finds indices out of range, repeated and unsorted ones,
and values that are not finite.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.compiled import compiled
from hinge.types import Sparse

_1 = np.uint64(1)
_NO_VALUES = np.zeros(0, np.float32)
_NO_VALUES.flags.writeable = False


def as_csr(X: Sparse) -> tuple[sp.csr_array, bool]:
    """A sparse matrix as CSR without repeated indices in a row, and whether its values are finite.

    Nothing is copied if it is that already, in this machine's byte order. Values that are not float32 or float64 count
    as finite here; they are checked when they are converted.

    Raises
    ------
    ValueError
        If its arrays are inconsistent.
    """
    if len(X.shape) != 2:
        raise ValueError(
            f"Expected a matrix with one row per example, got a sparse array of {len(X.shape)} dimension(s)."
        )
    try:
        dtype = X.dtype
    except AttributeError as error:  # somebody has put a list in the place of its values
        raise _broken(f"its values are no array: {error}") from error
    if not dtype.isnative:  # as files from other machines are mapped
        X = X.astype(dtype.newbyteorder("="))
    if X.format != "csr":
        check_parts(X)
        try:
            X = X.tocsr()
        # Formats of Python objects can contain anything.
        except (TypeError, ValueError, OverflowError, IndexError) as error:
            raise _broken(f"{error}".rstrip(".")) from error
    ascending, finite = check_csr(X)
    if not ascending or not len(X.indices) == len(X.data) == X.indptr[-1]:
        # The same arrays, without unused entries, in a new matrix whose flags are not set.
        kind, end = sp.csr_array if isinstance(X, sp.sparray) else sp.csr_matrix, int(X.indptr[-1])
        X = kind((X.data[:end], X.indices[:end], X.indptr), shape=X.shape)
    # Repeated indices are assumed without a test if that would need more memory than the data.
    large = X.shape[1] > max(1 << 20, 8 * len(X.indices))
    if not ascending and (large or _repeats(X.indices, X.indptr, X.shape[1])):
        X = X.copy()  # the caller's matrix is never written
        X.sum_duplicates()
        finite = finite and (X.dtype.kind != "f" or bool(np.isfinite(X.data).all()))
    return X, finite


def check_csr(X: sp.csr_array) -> tuple[bool, bool]:
    """Whether the indices of each row ascend, and whether the values are finite; errors as for `as_csr`."""
    return _survey_of(X, X.shape[0], X.shape[1], ("row", "column"))


def check_parts(X: Sparse) -> None:
    """Raise if the arrays of a sparse matrix or vector, of any format, are inconsistent."""
    if X.format == "coo":
        _check_coordinates(X)
        return
    n, d = X.shape if len(X.shape) == 2 else (1, *X.shape)
    if X.format == "csr":
        _survey_of(X, n, d, ("row", "column"))
    elif X.format == "csc":
        _survey_of(X, d, n, ("column", "row"))
    elif X.format == "bsr":
        height, width = np.shape(X.data)[1:] if np.ndim(X.data) == 3 else (0, 0)
        if min(height, width) < 1 or n % height or d % width:
            raise _broken(f"its values have the shape {np.shape(X.data)}, which are not blocks of {n} × {d}")
        _survey_of(X, n // height, d // width, ("row of blocks", "column of blocks"))
    elif X.format == "dia":
        _check_whole("offsets", X.offsets)
        if X.data.ndim != 2 or len(X.data) != len(X.offsets) or len(np.unique(X.offsets)) < len(X.offsets):
            raise _broken("its diagonals and their offsets differ in number, or an offset is repeated")
    elif X.format == "lil" and not (len(X.rows) == len(X.data) == n and [*map(len, X.rows)] == [*map(len, X.data)]):
        raise _broken("some row has not as many columns as values")


def _check_coordinates(X: sp.coo_array) -> None:
    for axis, at in enumerate(X.coords):
        _check_whole("coords", at)
        if len(at) != len(X.data):
            raise _broken(f"there are {len(at)} coordinates and {len(X.data)} values")
        if len(at) and not 0 <= int(at.min()) <= int(at.max()) < X.shape[axis]:
            worst = int(at.min()) if at.min() < 0 else int(at.max())
            raise _broken(f"there is an entry at {worst} of {X.shape[axis]}, on axis {axis}")


def _survey_of(X: Sparse, lines: int, length: int, names: tuple[str, str]) -> tuple[bool, bool]:
    """Validate compressed lines (rows or columns), `lines` of them, each of length `length`."""
    indices, indptr, data = X.indices, X.indptr, X.data
    if not isinstance(data, np.ndarray) or data.ndim != (3 if X.format == "bsr" else 1):
        raise _broken(f"its values are not an array, or one of {np.ndim(data)} dimensions")
    _check_whole("indices", indices)
    _check_whole("indptr", indptr)
    if len(indptr) != lines + 1:
        raise _broken(f"indptr has {len(indptr)} entries, but {lines} {names[0]}s need {lines + 1}")
    stored, end = min(len(indices), len(data)), int(indptr[-1])
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise _broken("indptr does not ascend from 0")
    if end > stored:
        raise _broken(f"indptr ends at {end}, but there are {len(indices)} indices and {len(data)} values")
    if end == 0:
        return True, True
    plain = data.ndim == 1 and data.dtype in (np.float32, np.float64)
    values = frozen(np.ascontiguousarray(data[:end])) if plain else _NO_VALUES
    unsigned = (frozen(np.ascontiguousarray(a).view(f"u{a.dtype.itemsize}")) for a in (indices[:end], indptr))
    top, ascending, finite = _survey(*unsigned, values, np.finfo(values.dtype).max)
    if top >= length:
        p = int(np.flatnonzero((indices[:end] < 0) | (indices[:end] >= length))[0])
        line = int(np.searchsorted(indptr, p, side="right")) - 1
        raise _broken(f"{names[0]} {line} has an entry in {names[1]} {indices[p]} of {length}")
    return bool(ascending), bool(finite)


def _check_whole(name: str, part: ArrayLike) -> None:
    if not (isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype in (np.int32, np.int64)):
        kind = getattr(part, "dtype", type(part).__name__)
        raise _broken(f"{name} is of {kind} and shape {np.shape(part)}, not one-dimensional int32 or int64")


def _broken(what: str) -> ValueError:
    return ValueError(f"The sparse matrix is broken: {what}. Build it again, from its rows or its coordinates.")


def frozen(a: np.ndarray) -> np.ndarray:
    """A read-only view as a plain array: one compiled type for arrays, memory maps and read-only input."""
    view = np.asarray(a).view(np.ndarray)
    view = view[:]
    view.flags.writeable = False
    return view


@compiled
def _survey(indices, indptr, values, largest):
    """The largest index, whether the indices of each line ascend, and whether all values are within ±largest."""
    top = indices[0]
    falls = 0
    for p in range(np.uint64(len(indices) - 1)):
        j = indices[p + _1]
        top = max(top, j)
        falls += j <= indices[p]
    starts = 0  # descents from one line to the next, which are allowed
    for i in range(1, len(indptr) - 1):
        first = np.uint64(indptr[i])
        if np.uint64(0) < first < np.uint64(indptr[i + 1]):
            starts += indices[first] <= indices[first - _1]
    within = True
    for p in range(np.uint64(len(values))):
        within &= abs(values[p]) <= largest
    return top, falls == starts, within


@compiled
def _repeats(indices, indptr, d):
    """Whether a row has a repeated index; rows need not be sorted."""
    seen = np.full(d, -1, np.int64)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            if seen[indices[p]] == i:
                return True
            seen[indices[p]] = i
    return False


def only_columns(X: sp.csr_array, kept: np.ndarray) -> sp.csr_array:
    """X with only the cells of the flagged columns stored."""
    cells = kept[X.indices]
    ends = np.concatenate([[0], np.cumsum(cells)])[X.indptr]
    return sp.csr_array((X.data[cells], X.indices[cells], ends.astype(X.indptr.dtype)), shape=X.shape)


def cells_and_counts(X: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The stored values in float64, their columns, and the number of cells of each row."""
    return X.data.astype(np.float64), X.indices.astype(np.int32), np.diff(X.indptr).astype(np.int64)
