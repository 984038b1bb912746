"""Rows on a GPU, or any torch device: products with matrices of several vectors, in float64.

The rows are sent once, in the type in which they are stored, and extended to (xᵢ, 1): vectors have an entry for the
bias. Needs torch.
"""

import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, cast

import numpy as np
import scipy.sparse as sp

from hinge.access.arrays import to_host
from hinge.access.gram.device import import_torch, tf32
from hinge.access.matrix import Matrix
from hinge.access.rows import DenseRows
from hinge.access.streams.base import LARGEST
from hinge.types import Stored

if TYPE_CHECKING:  # imported by `import_torch` when a device is used
    import torch

FEW = 2048
"""Features up to which sparse rows are stored as dense ones, and Hessians are formed."""
AT_ONCE = 1 << 27
"""Cells of a temporary copy."""
PIECE = 1 << 24
"""Bytes of one piece of a transfer to a GPU."""
SHORT = 256
"""Length of a row up to which the equations of several tasks are solved together: one at a time would leave the
device idle.
"""
LITTLE = 1 << 25
"""Number of cells of short rows up to which one product over all rows is faster than copying those that count."""
SUMMED = 1 << 16
"""Rows that are summed in float32; the sums are added up in float64."""
FLOATS, BYTES = (np.float32, np.float64), (np.uint8, np.int8, np.bool_)
MOST = 0.5
"""Fraction of the rows above which a copy of some of them is not worth while."""


class UnsoundRows(ValueError):
    """The arrays of a sparse matrix are inconsistent."""


_PLACED: "weakref.WeakKeyDictionary[Matrix, dict[str, FullRows | CompressedRows]]" = weakref.WeakKeyDictionary()


def validated_on_device(X: object, device: str) -> Matrix | None:
    """The rows, sent to the device without conversion, if a validation there finds no fault.

    That is faster than validation on the CPU. None if only the CPU can validate them, or if there is a fault to report.
    """
    if sp.issparse(X):
        S = cast(sp.csr_array, X)
        if S.format != "csr" or S.dtype not in FLOATS or S.indices.dtype != S.indptr.dtype:
            return None
        if len(S.indptr) != S.shape[0] + 1 or not len(S.data) == len(S.indices) == S.indptr[-1]:
            return None
    elif not (type(X) is np.ndarray and X.ndim == 2 and X.dtype in (*FLOATS, *BYTES) and X.flags.c_contiguous):
        return None
    given = cast(Stored, X)
    if min(given.shape) == 0:
        return None
    matrix = Matrix(given, checked=True)
    try:
        # Larger norms are left to the checks on the CPU, which report what is wrong.
        return matrix if on_device(matrix, device, checked=False).largest_norm <= LARGEST else None
    except UnsoundRows:
        return None


def on_device(matrix: Matrix, device: str, *, checked: bool = True) -> "FullRows | CompressedRows":
    """The rows of a matrix on a device; sent at the first use, which counts as a pass, and freed with the matrix.

    `checked` states that a sparse matrix has been validated; else it is validated there, and column indices must
    ascend.
    """
    placed = _PLACED.setdefault(matrix, {})
    if device not in placed:
        torch = import_torch(device)
        with _room_for(torch, matrix, device):
            placed[device] = _sent(torch, matrix, device, checked)
        matrix.count(matrix.n_cells)
    return placed[device]


class DeviceMatrix(Matrix):
    """A matrix whose rows lie on a device alone, where products with it are made: the host knows the shape."""

    def __init__(self, n: int, d: int, device: str) -> None:
        super().__init__(np.broadcast_to(np.zeros(1), (n, d)), checked=True)  # zeros that take no memory
        self.device = device

    def row_blocks(self) -> Iterator[tuple[int, int]]:
        """One range: all rows are multiplied in one call."""
        yield 0, self.shape[0]

    def fork(self) -> "DeviceMatrix":
        """The same rows with counters of its own."""
        other = cast(DeviceMatrix, super().fork())
        _PLACED[other] = _PLACED[self]
        return other

    def typical_sq_norm(self, sample: int = 64) -> float:
        """Median squared norm of a few evenly spaced rows."""
        some = cast(FullRows, on_device(self, self.device)).spaced(sample)
        return float(np.median((to_host(some).astype(np.float64) ** 2).sum(1)))

    def largest_norm(self) -> float:
        """The largest norm of a row."""
        return on_device(self, self.device).largest_norm

    def responses(self, w: np.ndarray, lo: int, hi: int, billed: bool = True) -> np.ndarray:
        """``X[lo:hi] @ w``, as exact as the rows are stored."""
        rows = on_device(self, self.device)
        V = np.zeros((rows.width, 1))
        V[: len(w), 0] = w
        return to_host(rows.responses(sent(rows.xp, V, self.device))[lo:hi, 0])

    def combine(self, coef: np.ndarray, lo: int, hi: int, out: np.ndarray) -> None:
        """``out += X[lo:hi].T @ coef``."""
        rows = on_device(self, self.device)
        every = np.zeros((rows.n, 1))
        every[lo:hi, 0] = coef
        out += to_host(rows.combine(sent(rows.xp, every, self.device))[: len(out), 0])


def matrix_of_tensor(X: "torch.Tensor", device: str) -> Matrix:
    """The matrix of rows that lie on a device."""
    torch, matrix = import_torch(device), DeviceMatrix(len(X), X.shape[1], device)
    with _room_for(torch, matrix, device):
        rows = _extended(torch, X, matrix, device)
    _PLACED[matrix] = {device: rows}
    return matrix


@contextmanager
def _room_for(torch: ModuleType, matrix: Matrix, device: str) -> Iterator[None]:
    """State what did not fit into the memory of a device."""
    try:
        yield
    except torch.cuda.OutOfMemoryError:
        raise MemoryError(
            f"The memory of {device} does not hold {matrix.n_cells:,} cells in float64; use device='cpu'."
        ) from None


def keep_there(X: "torch.Tensor", d: int, device: str) -> Matrix:
    """The matrix of rows (xᵢ, 1), of d features, that lie on a device."""
    matrix = DeviceMatrix(len(X), d, device)
    rows = FullRows(import_torch(device), X, d, matrix.n_cells, matrix.rows.reads)
    rows.forms_squares = True
    _PLACED[matrix] = {device: rows}
    return matrix


def product(torch: ModuleType, A: "torch.Tensor", B: "torch.Tensor", out: "torch.Tensor") -> None:
    """out ← AB; in float32 as three products of tf32, which is as exact, and twice as fast where there is tf32."""
    if A.dtype != torch.float32 or not A.is_cuda:
        out.copy_(A @ B)
        return
    high_A, high_B = ((M.view(torch.int32) & -8192).view(torch.float32) for M in (A, B.contiguous()))
    with tf32(torch, True):
        out.copy_((high_A @ (B - high_B)).add_((A - high_A) @ high_B).add_(high_A @ high_B))


def width_of(d: int) -> int:
    """Length of a vector on the device: one entry for each feature, one for the bias at index d, and padding."""
    return -(-(d + 1) // 8) * 8  # rows of 64 bytes make matrix products faster


def free_memory(torch: ModuleType, device: str) -> int:
    """Free memory of the device in bytes."""
    return int(torch.cuda.mem_get_info(device)[0]) if str(device).startswith("cuda") else 1 << 33


def sent(torch: ModuleType, a: np.ndarray, device: "str | torch.device") -> "torch.Tensor":
    """An array on a device, in its own dtype; `a` may change after the call, which does not wait for the device."""
    here = _as_tensor(torch, np.ascontiguousarray(a))
    if not str(device).startswith("cuda") or a.nbytes < 2 * PIECE:
        return here.to(device, non_blocking=True)  # the driver copies memory that is not pinned before it returns
    return _in_pieces(torch, here, device)


def _as_tensor(torch: ModuleType, a: np.ndarray) -> "torch.Tensor":
    if a.flags.writeable:
        return torch.from_numpy(a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of read-only arrays, which are not written here
        return torch.from_numpy(a)


def _in_pieces(torch: ModuleType, here: "torch.Tensor", device: "str | torch.device") -> "torch.Tensor":
    """The same through pinned memory: one piece is transferred while the next is copied."""
    there = torch.empty_like(here, device=device)
    flat, target, step = here.view(-1), there.view(-1), PIECE // here.element_size()
    room = [(torch.empty(step, dtype=here.dtype, pin_memory=True), torch.cuda.Event()) for _ in range(2)]
    for k, lo in enumerate(range(0, len(flat), step)):
        part, (buffer, left) = flat[lo : lo + step], room[k % 2]
        left.synchronize()
        buffer[: len(part)].copy_(part)
        target[lo : lo + step].copy_(buffer[: len(part)], non_blocking=True)
        left.record()
    return there


def _sent(torch: ModuleType, matrix: Matrix, device: str, checked: bool) -> "FullRows | CompressedRows":
    n, d = matrix.shape
    A, width = matrix.rows, width_of(d)
    if isinstance(A, DenseRows):
        return _extended(torch, sent(torch, A.X, device), matrix, device)
    pointers, columns = (sent(torch, a.view(f"i{a.dtype.itemsize}"), device) for a in (A.indptr, A.indices))
    values = sent(torch, A.data, device).to(torch.float64)
    if not (checked or _fit_together(torch, pointers, columns, d)):
        raise UnsoundRows("The parts of the sparse matrix do not fit together.")
    lines = torch.repeat_interleave(
        torch.arange(n, device=device, dtype=columns.dtype), pointers.diff(), output_size=len(columns)
    )
    if d <= FEW and 8 * n * width <= 0.25 * free_memory(torch, device):
        X = torch.zeros((n, width), dtype=torch.float64, device=device)
        X[lines.long(), columns.long()] = values
        X[:, d] = 1.0
        return FullRows(torch, X, d, matrix.n_cells, A.reads)
    return CompressedRows(torch, Compressed(pointers, columns, values), lines, d, A.reads)


def _extended(torch: ModuleType, rows: "torch.Tensor", matrix: Matrix, device: str) -> "FullRows":
    """Rows that lie on the device, copied in float64 with the constant feature."""
    n, d = matrix.shape
    X = torch.zeros((n, width_of(d)), dtype=torch.float64, device=device)
    X[:, :d] = rows
    X[:, d] = 1.0
    return FullRows(torch, X, d, matrix.n_cells, matrix.rows.reads)


def _fit_together(torch: ModuleType, pointers: "torch.Tensor", columns: "torch.Tensor", d: int) -> bool:
    """Whether row pointers ascend, and column indices ascend within each row and are in range."""
    m = len(columns)
    ordered = (pointers.diff() >= 0).all() & (pointers[0] == 0) & (pointers[-1] == m)
    if m == 0 or not bool(ordered):
        return bool(ordered)
    begins = torch.zeros(m + 1, dtype=torch.bool, device=columns.device)
    begins[pointers.long()] = True
    ascending = ((columns[1:] > columns[:-1]) | begins[1:m]).all()
    return bool(ascending & (columns.min() >= 0) & (columns.max() < d))


class FullRows:
    """Rows stored densely, in float64; or in float32, of which sums over many rows are made in float64.

    Attributes
    ----------
    n, d, width : int
        Rows, features, and the length of a vector: features, the bias at index d, and padding.
    forms_squares : bool
        Whether `squares` is available.
    """

    def __init__(self, torch: ModuleType, X: "torch.Tensor", d: int, cells: int, reads: np.ndarray) -> None:
        self.xp, self._X, self.d, self._cells, self._reads = torch, X, d, cells, reads
        self.n, self.width = X.shape
        self.forms_squares = d <= FEW

    def responses(self, V: "torch.Tensor") -> "torch.Tensor":
        """⟨v, (xᵢ, 1)⟩ of each row, for each column v of V."""
        self._reads[0] += self._cells
        if self._X.dtype == V.dtype:
            return self._X @ V
        constant, V = V[self.d].clone(), V.clone()  # a bias may be far larger than what is left of the responses
        V[self.d] = 0.0
        return (self._X @ V.to(self._X.dtype)).to(V.dtype) + constant

    def combine(self, A: "torch.Tensor") -> "torch.Tensor":
        """Σ aᵢ(xᵢ, 1) for each column a of A."""
        self._reads[0] += self._cells
        if self._X.dtype == A.dtype:
            return self._X.T @ A
        parts = zip(*(a.split(SUMMED) for a in (self._X, A.to(self._X.dtype))), strict=True)
        return sum((X.T @ a for X, a in parts), A.new_zeros((self.width, A.shape[1])))

    def squares(self, s: "torch.Tensor") -> "torch.Tensor":
        """Σ sᵢ(xᵢ, 1)(xᵢ, 1)ᵀ over the rows whose s is not zero; of rows in float32, for s ≥ 0, to the digits of tf32.

        Of many or long rows those are copied first, which waits for the device to count them.
        """
        torch, X, weight = self.xp, self._X, s.to(self._X.dtype)[:, None]
        if self.width <= SHORT and X.numel() <= LITTLE:
            self._reads[0] += self._cells
            return ((X * weight).T @ X).to(torch.float64)
        used = s.nonzero()[:, 0]
        self._reads[0] += self._cells * len(used) // self.n
        H = X.new_zeros((self.width, self.width), dtype=torch.float64)
        with tf32(torch, X.dtype == torch.float32):  # a Hessian off by a thousandth is as good
            for some in used.split(max(1, AT_ONCE // self.width)):
                B = X if len(some) == self.n else X[some]
                if X.dtype == torch.float32:  # both factors are rounded alike, so that H has no negative eigenvalue
                    B = B * weight[some].sqrt()
                    H += B.T @ B
                else:
                    H += (B * weight[some]).T @ B
        return H

    def diagonals(self, S: "torch.Tensor") -> "torch.Tensor":
        """Σ sᵢ(xᵢ², 1) for each column s of S: the diagonals of such sums."""
        self._reads[0] += self._cells
        blocks = zip(*(a.split(max(1, AT_ONCE // self.width)) for a in (self._X, S)), strict=True)
        return sum(((X * X).T.to(s.dtype) @ s for X, s in blocks), S.new_zeros((self.width, S.shape[1])))

    def some(self, on: "torch.Tensor") -> "tuple[FullRows, torch.Tensor | None]":
        """A copy of the rows that are on, and their indices; all rows, and None, if most are on."""
        used = on.nonzero()[:, 0]
        if len(used) > MOST * self.n:
            return self, None
        cells = self._cells * len(used) // self.n  # an average
        self._reads[0] += cells
        return FullRows(self.xp, self._X[used], self.d, cells, self._reads), used

    def spaced(self, sample: int) -> "torch.Tensor":
        """A few evenly spaced xᵢ."""
        return self._X[:: max(1, self.n // sample), : self.d]

    @cached_property
    def largest_norm(self) -> float:
        """The largest norm of an xᵢ; nan if a cell is nan."""
        blocks = self._X.split(max(1, AT_ONCE // self.width))
        return float(self.xp.stack([(X[:, : self.d] ** 2).sum(1).max() for X in blocks]).max()) ** 0.5


class Compressed:
    """A CSR matrix: row pointers `ends`, column indices `places`, and values."""

    def __init__(self, ends: "torch.Tensor", places: "torch.Tensor", values: "torch.Tensor") -> None:
        self.ends, self.places, self.values = ends, places, values

    def tensor(self, torch: ModuleType, shape: tuple[int, int], values: "torch.Tensor | None" = None) -> "torch.Tensor":
        """As a torch sparse tensor, optionally with other values."""
        values = self.values if values is None else values
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns that its CSR support is in beta
            return torch.sparse_csr_tensor(self.ends, self.places, values, size=shape, check_invariants=False)

    def some(self, torch: ModuleType, used: "torch.Tensor") -> "Compressed":
        """A copy of some rows."""
        begins, lengths = self.ends[used], self.ends[used + 1] - self.ends[used]
        ends = torch.cat([lengths.new_zeros(1), lengths.cumsum(0, dtype=lengths.dtype)])
        count = int(ends[-1])
        at = torch.arange(count, dtype=lengths.dtype, device=used.device)
        at += torch.repeat_interleave(begins - ends[:-1], lengths, output_size=count)
        return Compressed(ends, self.places[at], self.values[at])

    def transposed(self, torch: ModuleType, lines: "torch.Tensor", width: int) -> "Compressed":
        """The transpose, of `width` rows; `lines` are the row indices of the cells."""
        order = torch.argsort(self.places, stable=True)
        counts = torch.bincount(self.places, minlength=width)
        ends = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).to(self.ends.dtype)
        return Compressed(ends, lines[order], self.values[order])


class CompressedRows:
    """Rows stored sparsely, by rows and by columns.

    Attributes
    ----------
    n, d, width : int
        As of `FullRows`.
    forms_squares : bool
        False: Hessians would have d² entries.
    """

    forms_squares = False

    def __init__(
        self, torch: ModuleType, by_rows: Compressed, lines: "torch.Tensor", d: int, reads: np.ndarray
    ) -> None:
        self.xp, self._by_rows, self._reads = torch, by_rows, reads
        self.n, self.d, self.width = len(by_rows.ends) - 1, d, width_of(d)
        self._by_columns, self._cells = by_rows.transposed(torch, lines, d), len(by_rows.values)
        self._S, self._T = by_rows.tensor(torch, (self.n, d)), self._by_columns.tensor(torch, (d, self.n))

    def responses(self, V: "torch.Tensor") -> "torch.Tensor":
        """⟨v, (xᵢ, 1)⟩ of each row, for each column v of V."""
        self._reads[0] += self._cells
        return _product(self._S, V[: self.d]) + V[self.d]

    def combine(self, A: "torch.Tensor") -> "torch.Tensor":
        """Σ aᵢ(xᵢ, 1) for each column a of A."""
        self._reads[0] += self._cells
        return self._with_bias(_product(self._T, A), A)

    def diagonals(self, S: "torch.Tensor") -> "torch.Tensor":
        """Σ sᵢ(xᵢ², 1) for each column s of S: the diagonals of Hessians."""
        self._reads[0] += self._cells
        squared = self._by_columns.tensor(self.xp, (self.d, self.n), self._by_columns.values**2)
        return self._with_bias(_product(squared, S), S)

    def _with_bias(self, sums: "torch.Tensor", A: "torch.Tensor") -> "torch.Tensor":
        """Sums over rows, extended by the constant feature."""
        spare = A.new_zeros((self.width - self.d - 1, A.shape[1]))
        return self.xp.cat([sums, A.sum(0, keepdim=True), spare])

    def some(self, on: "torch.Tensor") -> "tuple[CompressedRows, torch.Tensor | None]":
        """A copy of the rows that are on, and their indices; all rows, and None, if most are on."""
        used = on.nonzero()[:, 0]
        if len(used) > MOST * self.n:
            return self, None
        torch, rows = self.xp, self._by_rows.some(self.xp, used)
        self._reads[0] += len(rows.values)
        lines = torch.arange(len(used), device=on.device, dtype=rows.places.dtype)
        lines = torch.repeat_interleave(lines, rows.ends.diff(), output_size=len(rows.values))
        return CompressedRows(torch, rows, lines, self.d, self._reads), used

    @cached_property
    def largest_norm(self) -> float:
        """The largest norm of an xᵢ; nan if a cell is nan."""
        squared = self._by_rows.tensor(self.xp, (self.n, self.d), self._by_rows.values**2)
        return float(_product(squared, squared.values().new_ones((self.d, 1))).max()) ** 0.5


def _product(S: "torch.Tensor", V: "torch.Tensor") -> "torch.Tensor":
    """S V; a single column as a vector, for which torch has faster routines."""
    return (S @ V[:, 0])[:, None] if V.shape[1] == 1 else S @ V
