"""A data matrix in memory, not copied, with a read counter and passes in row blocks."""

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any, TypeVar, cast, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from hinge.access.data import Data
from hinge.access.rows import CSRRows, DenseRows, add_row, cell, counter, dot, held_row, read_row, span, sq_norm
from hinge.access.structure import as_csr, check_csr, frozen
from hinge.compiled import compiled
from hinge.threads import allowed, each
from hinge.types import MatrixLike, Stored

T = TypeVar("T")

ROW_BLOCK_CELLS = 1 << 21
"""Cells per compiled call of a pass: some milliseconds, so that Ctrl-C is noticed."""

FEW_CELLS = 1 << 15
"""Cells of dense rows up to which products by BLAS take no longer than a call of compiled code."""

MOST_UNPACKED = 1 << 25
"""Largest number of cells of rows that are copied, or made dense, for their inner products."""

SPLIT = 2.0**27 + 1.0  # splits a float64 into two halves (Dekker)

_TURNING = threading.Lock()  # one for all matrices, since a lock cannot be pickled with a matrix


class Matrix(Data):
    """Counted access to a dense or CSR matrix, without a copy.

    Parameters
    ----------
    X : ndarray or CSR matrix or array
        C-contiguous float32 or float64, or CSR with such values and int32 or int64 indices;
        read-only and memory-mapped arrays included. Nothing is copied, nothing is written.
    checked : bool
        Whether the structure of a CSR matrix has been validated.

    Attributes
    ----------
    shape : tuple of int
    n_cells : int
        Cells read by one pass over all rows: the nonzeros of CSR, n·d of a dense matrix.
    max_row_cells : int
        Cells of the longest row.
    rows : DenseRows or CSRRows
        The rows for compiled code; each that is read is counted.
    unbilled : DenseRows or CSRRows
        The same rows with a separate counter, for evaluations that are not part of a method.
    """

    in_memory = True

    def __init__(self, X: Stored, *, checked: bool = False) -> None:
        self.shape: tuple[int, int] = X.shape
        self.is_sparse, self.dtype = sp.issparse(X), X.dtype
        self._reads = np.zeros(1, np.int64)
        parts: tuple[np.ndarray, ...]
        if self.is_sparse:
            S = cast(sp.csr_array, X)
            if not checked:
                check_csr(S)
            parts = _parts_of(S)
            self.n_cells = int(S.indptr[-1])
            self.max_row_cells = int(np.diff(S.indptr).max(initial=0))
            kind: Any = CSRRows
        else:
            parts = (frozen(X),)
            self.n_cells = X.size
            self.max_row_cells = self.shape[1]
            kind = DenseRows
        self._sq_norms: list[np.ndarray] = []  # holds one array once it is needed; a list, so that forks share it
        self._by_columns: list[tuple[np.ndarray, ...]] = []  # likewise
        self._measured = np.zeros(2)  # [rows whose norms are known, their largest squared norm]; forks share it
        self.rows: DenseRows | CSRRows = kind(*parts, self._reads)
        self.unbilled: DenseRows | CSRRows = kind(*parts, np.zeros(1, np.int64))

    def fork(self) -> "Matrix":
        """The same data with counters of its own, for a concurrent run."""
        other = copy.copy(self)
        other._reads = counter()
        other.rows = self.rows._replace(reads=other._reads)
        other.unbilled = self.unbilled._replace(reads=np.zeros(1, np.int64))
        return other

    @property
    def reads(self) -> int:
        """Cells read so far."""
        return int(self._reads[0])

    @property
    def columns(self) -> DenseRows | CSRRows:
        """The same data by columns: "row" j for compiled code is column j, and counted as such.

        The copy is made at the first use, which is counted as one pass; forks share it.
        """
        with _TURNING:
            if not self._by_columns:
                S = self.whole()
                turned = _parts_of(S.tocsc()) if self.is_sparse else (frozen(_transposed(S)),)
                self._by_columns.append(turned)
        kind: Any = CSRRows if self.is_sparse else DenseRows
        return kind(*self._by_columns[0], self._reads)

    @property
    def has_columns(self) -> bool:
        """Whether the copy by columns has been made."""
        return bool(self._by_columns)

    @property
    def sq_norms(self) -> np.ndarray:
        """Squared norms of the rows; nan until code that reads a row fills it in."""
        if not self._sq_norms:
            self._sq_norms.append(np.full(self.shape[0], np.nan))
        return self._sq_norms[0]

    def count(self, cells: int) -> None:
        """Add cells that were read through another counter."""
        self._reads[0] += cells

    @contextmanager
    def shared(self, parts: int) -> Iterator[list[DenseRows | CSRRows]]:
        """The rows for concurrent readers, each with a counter of its own; their reads are added at the end."""
        apart = [self.rows._replace(reads=counter()) for _ in range(parts)]
        try:
            yield apart
        finally:
            self.count(sum(int(rows.reads[0]) for rows in apart))

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of rows that cover the matrix, of equal length, each of about `ROW_BLOCK_CELLS` cells."""
        n = self.shape[0]
        step = max(1, min(n, ROW_BLOCK_CELLS * n // max(1, self.n_cells)))
        step = -(-n // max(1, -(-n // step)))
        for lo in range(0, n, step):
            yield lo, min(lo + step, n)

    def each_block(self, work: Callable[[Data, int, int], T]) -> list[T]:
        """The results of ``work(data, lo, hi)`` for all row blocks, in order; see :mod:`hinge.threads`.

        If several threads are allowed they work concurrently, each block on a fork of its own.
        """
        blocks = list(self.row_blocks())
        if allowed() == 1 or len(blocks) == 1:
            return [work(self, lo, hi) for lo, hi in blocks]
        forks = [self.fork() for _ in blocks]
        if self._measured[0] < self.n:
            for fork, (lo, _) in zip(forks, blocks, strict=True):
                fork._measured = np.array([lo, 0.0])
        try:
            results = each(lambda k: work(forks[k], *blocks[k]), len(blocks))
        finally:
            self.count(sum(fork.reads for fork in forks))
        ends = [fork._measured[0] == hi for fork, (_, hi) in zip(forks, blocks, strict=True)]
        if self._measured[0] < self.n and all(ends):
            self._measured[:] = self.n, max(float(fork._measured[1]) for fork in forks)
        return results

    def responses(self, w: np.ndarray, lo: int, hi: int, billed: bool = True) -> np.ndarray:
        """``X[lo:hi] @ w`` in float64."""
        out = np.empty(hi - lo)
        A = self.rows if billed else self.unbilled
        new = bool(lo <= self._measured[0] < hi)  # the first pass also finds the largest norm
        if (X := self._few_cells(lo, hi)) is not None:
            with np.errstate(over="ignore", invalid="ignore"):  # as compiled code: certificates are infinite then
                np.matmul(X, w, out=out)
                largest = float(np.vecdot(X, X).max()) if new else 0.0
            A.reads[0] += X.size
        else:
            largest = _responses(A, w, lo, hi, out, new)
        if new:
            self._measured[:] = hi, max(self._measured[1], largest)
        return out

    def _few_cells(self, lo: int, hi: int) -> np.ndarray | None:
        """Some dense rows in float64, if they are so few that BLAS has them sooner than a call of compiled code."""
        if isinstance(self.rows, DenseRows) and (hi - lo) * self.shape[1] <= FEW_CELLS:
            return self.rows.X[lo:hi].astype(np.float64, copy=False)
        return None

    def responses_at(self, rows: np.ndarray, w: np.ndarray, billed: bool = True) -> np.ndarray:
        """``X[rows] @ w`` in float64."""
        out = np.empty(len(rows))
        _responses_at(self.rows if billed else self.unbilled, rows, w, out)
        return out

    def typical_sq_norm(self, sample: int = 64) -> float:
        """Median squared norm of a few evenly spaced rows (billed)."""
        rows, A = np.arange(0, self.shape[0], max(1, self.shape[0] // sample)), self.rows
        # Without compiled code, so that a first fit has less to compile.
        if isinstance(A, DenseRows):
            some = A.X[rows].astype(np.float64)
            squares = np.einsum("ij,ij->i", some, some)
        else:
            at, counts = _cells_of(A, rows)
            some = A.data[at].astype(np.float64)
            squares = np.bincount(np.repeat(np.arange(len(rows)), counts), some * some, len(rows))
        self._reads[0] += some.size
        return median(squares.tolist())

    def largest_norm(self) -> float:
        """The largest norm of a row (not billed)."""
        done, largest = int(self._measured[0]), float(self._measured[1])
        if done < self.shape[0] and self._sq_norms and (known := float(self._sq_norms[0].max())) >= 0.0:
            largest = known  # solvers have met all rows
            self._measured[:] = self.shape[0], largest
        elif done < self.shape[0]:
            X = self._few_cells(done, self.shape[0])
            with np.errstate(over="ignore"):
                rest = _largest_sq_norm(self.unbilled, done, self.shape[0]) if X is None else np.vecdot(X, X).max()
            largest = max(largest, float(rest))
            self._measured[:] = self.shape[0], largest
        return float(np.sqrt(largest))

    def largest_entry(self) -> float:
        """The largest absolute value of an entry (not billed)."""
        values = self.rows[0]
        return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))

    def combine(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """``out += X[lo:hi].T @ coef``; rows whose coefficient is zero are not read."""
        if (X := self._few_cells(lo, hi)) is None:
            _combine(self.rows, coef, lo, hi, out)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                out += coef @ X
            self._reads[0] += np.count_nonzero(coef) * X.shape[1]

    def combine_finely(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray, rest: np.ndarray) -> None:
        """The same in twice the precision, as ``out + rest``; a last entry of both is for a column of ones."""
        _combine_finely(self.rows, coef, lo, hi, out, rest)

    def times(self, x: np.ndarray) -> np.ndarray:
        """``X @ x`` by BLAS or SciPy, in the precision of the storage."""
        self._reads[0] += self.n_cells
        return self._array @ x.astype(self.dtype, copy=False)

    def transposed_times(self, p: np.ndarray) -> np.ndarray:
        """``X.T @ p`` by BLAS or SciPy, in the precision of the storage."""
        self._reads[0] += self.n_cells
        return p.astype(self.dtype, copy=False) @ self._array

    def products(self, W: np.ndarray) -> np.ndarray:
        """``X @ W`` by BLAS or SciPy in float64, for several columns; stretches of float32 rows are converted."""
        self._reads[0] += self.n_cells
        X = self._array
        if X.dtype == np.float64:
            return X @ W
        return np.concatenate([X[lo:hi].astype(np.float64) @ W for lo, hi in self.row_blocks()])

    def combinations(self, C: np.ndarray) -> np.ndarray:
        """``X.T @ C`` in float64, for several columns of coefficients."""
        self._reads[0] += self.n_cells
        X = self._array
        if X.dtype == np.float64:
            return X.T @ C
        return sum(X[lo:hi].astype(np.float64).T @ C[lo:hi] for lo, hi in self.row_blocks())

    def gather_dense(self, rows: np.ndarray) -> np.ndarray:
        """Some rows as a dense array, copied."""
        some = self._some(rows)
        self._reads[0] += some.nnz if self.is_sparse else some.size
        return some.toarray() if self.is_sparse else some

    def whole(self) -> Any:
        """All rows as a NumPy array or SciPy matrix, for code that copies them; counted as one pass."""
        self._reads[0] += self.n_cells
        return self._array

    def compressed(self, most: float, room: float = np.inf) -> "Matrix":
        """The same rows as CSR, with the same counter, if few cells are nonzero; else itself.

        Parameters
        ----------
        most : float
            The fraction of cells that may be nonzero; some 256 rows are examined first.
        room : float
            The bytes that the copy may take.
        """
        X = self.rows[0]
        some, d, cell = X[:: max(1, self.shape[0] // 256)], self.shape[1], X.itemsize + 4
        if self.is_sparse or np.count_nonzero(some) > min(most, room / (cell * max(1, X.size))) * some.size:
            return self
        limit = int(min(most * X.size, room // cell))
        kind = np.int32 if limit + d < 1 << 31 else np.int64
        # What is not needed of these is never touched.
        starts, data, indices = (np.zeros(len(X) + 1, kind), np.empty(limit + d, X.dtype), np.empty(limit + d, kind))
        for lo, hi in self.row_blocks():
            if not _copy_nonzeros(X, lo, hi, starts, data, indices):
                return self
        cells = int(starts[-1])
        data, indices = data[:cells], indices[:cells]
        other = Matrix(sp.csr_array((data, indices, starts), shape=self.shape), checked=True)
        self._reads[0] += self.n_cells
        other._reads, other.rows = self._reads, other.rows._replace(reads=self._reads)
        return other

    def gather(self, rows: np.ndarray) -> "Matrix":
        """A copy of some rows, with a counter of its own; only the copying is counted here."""
        copied = Matrix(self._array[rows], checked=True)
        self._reads[0] += copied.n_cells
        return copied

    def inner_products(self, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        """⟨xᵢ, xⱼ⟩ of some rows, or of all, in float64."""
        some = self._array[rows] if isinstance(rows, slice) else self._some(rows)
        self._reads[0] += some.nnz if self.is_sparse else some.size
        m, d = some.shape
        if self.is_sparse:
            if m * d > MOST_UNPACKED or some.nnz < m * d // 64:  # beyond that a sparse product is faster
                exact = some.astype(np.float64, copy=False)
                return (exact @ exact.T).toarray()
            some = some.toarray()
        if some.dtype == np.float64:
            return some @ some.T
        G, step = np.zeros((m, m)), max(1, ROW_BLOCK_CELLS // max(1, m))
        for lo in range(0, d, step):  # some columns at a time, so that there is no float64 copy of all
            part = some[:, lo : lo + step].astype(np.float64)
            G += part @ part.T
        return G

    def column_products(self, columns: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Lower triangle of ``X[:, columns].T @ diag(weight) @ X[:, columns]``, for nonnegative weights.

        By matrix products if the columns are dense, else by a sparse sum over the rows of positive weight.
        """
        A, root, count = self.columns, np.sqrt(weight), len(columns)
        used, H = np.flatnonzero(root), np.zeros((count, count))
        if isinstance(A, DenseRows):
            step = max(1, ROW_BLOCK_CELLS // max(1, count))
            for lo in range(0, len(used), step):
                rows = used[lo : lo + step]
                B = A.X[np.ix_(columns, rows)] * root[rows]
                H += B @ B.T
            self._reads[0] += count * len(used)
            return H
        some = sp.csr_array((A.data, *_signed(A)), shape=self.shape[::-1], copy=False)[columns]
        self._reads[0] += some.nnz
        some.data = some.data * root[some.indices]
        some.eliminate_zeros()
        lines = some.T.tocsr()
        if 3 * lines.nnz > count * len(used):
            B = lines[used].toarray()
            return B.T @ B
        _add_outers(lines.data, lines.indices, lines.indptr, H)
        return H

    def _some(self, rows: np.ndarray) -> Any:
        """Some rows as a NumPy array or SciPy matrix, copied without touching the others."""
        A = self.rows
        if isinstance(A, DenseRows):
            return A.X[rows]
        at, counts = _cells_of(A, rows)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return sp.csr_array((A.data[at], A.indices[at].astype(np.int64), indptr), shape=(len(rows), self.shape[1]))

    @property
    def _array(self) -> Any:
        """The data as a NumPy array or SciPy matrix."""
        A = self.rows
        if isinstance(A, DenseRows):
            return A.X
        return sp.csr_array((A.data, *_signed(A)), shape=self.shape, copy=False)


@overload
def as_matrix(X: Matrix, *, checked: bool = False) -> Matrix: ...
@overload
def as_matrix(X: Data, *, checked: bool = False) -> Data: ...
@overload
def as_matrix(X: MatrixLike, *, checked: bool = False) -> Matrix: ...
def as_matrix(X: MatrixLike | Data, *, checked: bool = False) -> Data:
    """Wrap `X` for counted access; converted only if compiled code cannot read it as it is.

    `checked` states that a sparse X is the result of `as_csr`.
    """
    if isinstance(X, Data):
        return X
    if sp.issparse(X):
        S = cast(sp.csr_array, X if checked else as_csr(X)[0])
        if S.indices.dtype != S.indptr.dtype:
            S = sp.csr_array((S.data, S.indices, S.indptr.astype(S.indices.dtype)), shape=S.shape)
        if S.dtype not in (np.float32, np.float64):
            S = sp.csr_array((to_float(as_numbers(S.data)), S.indices, S.indptr), shape=S.shape)
        return Matrix(S, checked=True)
    X = dense_rows(X)
    if X.dtype not in (np.float32, np.float64):
        X = to_float(X)
    return Matrix(np.ascontiguousarray(X))


def dense_rows(X: ArrayLike) -> np.ndarray:
    """A two-dimensional array of real numbers."""
    X = as_numbers(X)
    if X.ndim != 2:
        raise ValueError(f"Expected a matrix with one row per example, got an array of {X.ndim} dimension(s).")
    return X


def as_numbers(X: ArrayLike) -> np.ndarray:
    """An array of real numbers."""
    try:
        X = np.asarray(X)
        X = X.astype(np.float64) if X.dtype == object else X
    except (TypeError, ValueError) as error:
        raise ValueError(f"Expected an array of numbers, with rows of one length: {error}") from error
    if X.dtype.kind not in "biuf":
        raise ValueError(f"Expected an array of real numbers, got one of {X.dtype}.")
    return X


def to_float(X: np.ndarray) -> np.ndarray:
    """Integers and booleans as float32, or float64 if float32 would lose digits; converted in row blocks."""
    if X.dtype.kind not in "iub":
        return X.astype(np.float64)
    largest = max(abs(int(X.max(initial=0))), abs(int(X.min(initial=0)))) if X.dtype.kind in "iu" else 1
    out = np.empty(X.shape, np.float32 if largest <= 1 << 24 else np.float64)
    for lo in range(0, len(X), 4096):
        out[lo : lo + 4096] = X[lo : lo + 4096]
    return out


def _parts_of(S: sp.csr_array) -> tuple[np.ndarray, ...]:
    """The values, indices and pointers of compressed lines as compiled code takes them."""
    unsigned = (a.view(f"u{a.dtype.itemsize}") for a in (S.indices, S.indptr))
    return tuple(map(frozen, (S.data, *unsigned)))


def _transposed(S: np.ndarray, *, rows: int = 1 << 13, columns: int = 8) -> np.ndarray:
    """A copy by columns, in tiles as wide as a line of the cache; between tiles Ctrl-C is noticed.

    What a tile writes lies together: to touch new memory everywhere in one call may take a second.
    """
    T = np.empty(S.shape[::-1], S.dtype)
    for j in range(0, len(T), columns):
        for i in range(0, len(S), rows):
            T[j : j + columns, i : i + rows] = S[i : i + rows, j : j + columns].T
    return T


def _signed(A: CSRRows) -> Iterator[np.ndarray]:
    """The indices and row pointers as SciPy takes them."""
    return (a.view(f"i{a.dtype.itemsize}") for a in (A.indices, A.indptr))


def _cells_of(A: CSRRows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the cells of some rows, and the number of cells of each row."""
    starts, stops = A.indptr[rows].astype(np.int64), A.indptr[rows + 1].astype(np.int64)
    counts = stops - starts
    return np.arange(counts.sum()) + np.repeat(stops - np.cumsum(counts), counts), counts


# Row indices are converted to unsigned, and conditions are used in place of `max`: each other type of index, and each
# `max`, would be another function to compile.


@compiled
def _largest_sq_norm(A, lo, hi):
    largest = 0.0
    for i in range(lo, hi):
        sq = sq_norm(A, held_row(A, np.uint64(i)))
        largest = sq if sq > largest else largest
    return largest


@compiled
def _responses(A, w, lo, hi, out, measure):
    largest = 0.0
    for i in range(lo, hi):
        x = read_row(A, np.uint64(i))
        out[i - lo] = dot(A, x, w)
        if measure:
            sq = sq_norm(A, x)
            largest = sq if sq > largest else largest
    return largest


@compiled
def _copy_nonzeros(X, lo, hi, starts, data, indices):
    """Append the nonzero cells of rows lo to hi; False if the arrays are too short for them."""
    p, room, d = np.uint64(starts[lo]), np.uint64(len(data)), np.uint64(X.shape[1])
    for i in range(np.uint64(lo), np.uint64(hi)):
        if p + d > room:
            return False
        for j in range(d):  # a zero is overwritten by the next cell: faster than to test for it
            data[p] = X[i, j]
            indices[p] = j
            p += np.uint64(X[i, j] != 0)
        starts[i + 1] = p
    return True


@compiled
def _responses_at(A, rows, w, out):
    for k in range(len(rows)):
        out[k] = dot(A, read_row(A, np.uint64(rows[k])), w)


@compiled
def _combine(A, coef, lo, hi, out):
    for i in range(lo, hi):
        if coef[i - lo] != 0.0:
            add_row(A, read_row(A, np.uint64(i)), coef[i - lo], out)


@compiled
def add_product(a, x, k, w, rest):
    """w[k] += a x, with what is rounded off added to rest[k]: Dekker's product and Knuth's sum."""
    product = a * x
    high = SPLIT * a
    a_high = high - (high - a)
    a_low = a - a_high
    high = SPLIT * x
    x_high = high - (high - x)
    x_low = x - x_high
    lost = a_low * x_low - (((product - a_high * x_high) - a_low * x_high) - a_high * x_low)
    before = w[k]
    after = before + product
    back = after - before
    rest[k] += lost + ((before - (after - back)) + (product - back))
    w[k] = after


@compiled
def _combine_finely(A, coef, lo, hi, out, rest):
    for i in range(lo, hi):
        a = coef[i - lo]
        if a != 0.0:
            row = read_row(A, np.uint64(i))
            start, stop = span(A, row)
            for p in range(start, stop):
                j, x = cell(A, row, p)
                add_product(a, np.float64(x), j, out, rest)
            add_product(a, 1.0, len(out) - 1, out, rest)


@compiled
def _add_outers(values, places, starts, H):
    for i in range(len(starts) - 1):
        for p in range(starts[i], starts[i + 1]):
            x, j = values[p], places[p]
            for q in range(starts[i], p + 1):  # places ascend along a row
                H[j, places[q]] += x * values[q]


def float_for(dtype: np.dtype) -> np.dtype:
    """The float type that holds these numbers exactly: float32 for integers of up to 16 bits and small floats."""
    short = dtype.itemsize <= (2 if dtype.kind in "iub" else 4)
    return np.dtype(np.float32 if short else np.float64)
