"""Points of which kernel values are asked: one class for each way they are stored.

Each fills a block of kernel values for given row and column numbers, and says how exact it is; counting
and caching are the business of `Gram`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.access.byte_dots import available, byte_dots, packed, step_of
from hinge.kernels import Function, Kernel, Laplacian, Precomputed

ROUNDING = 1e-5
"""Largest error of an exponent for which inner products in float32 are good enough."""


class Points:
    """What `Gram` needs of points.

    Attributes
    ----------
    n : int
    dtype : dtype
        Of the kernel values: float32, or float64 where float32 would lose too much.
    by_value : bool
        Whether single values are expensive, so that symmetry is worth exploiting.
    """

    by_value = False
    nbytes = 0
    """Memory that a copy of the points takes, out of the budget of the cache."""

    def __init__(self, n: int, dtype: Any = np.float32) -> None:
        self.n = n
        self.dtype = np.dtype(dtype)

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """``out[r, c] = K(rows[r], columns[c])``."""
        raise NotImplementedError

    def diag(self) -> np.ndarray:
        """K(x, x) of every point, in float64."""
        raise NotImplementedError


class DensePoints(Points):
    """Rows of a dense array, used where they lie: inner products by BLAS, a tile at a time."""

    def __init__(self, X: np.ndarray, kernel: Kernel, dtype: Any, centre: np.ndarray | None = None) -> None:
        super().__init__(len(X), dtype)
        self.points, self.kernel, self.centre = X, kernel, centre
        self.sq = _sq_norms(X, centre).astype(dtype)

    def _take(self, numbers: np.ndarray) -> np.ndarray:
        consecutive = len(numbers) and numbers[-1] - numbers[0] == len(numbers) - 1
        first = int(numbers[0]) if len(numbers) else 0
        if consecutive and (np.diff(numbers) == 1).all():
            part = self.points[first : first + len(numbers)]
        else:
            part = self.points[numbers]
        if self.centre is not None:
            part = part - self.centre
        return part.astype(self.dtype, copy=False)

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By one product of matrices, and the kernel in place."""
        if isinstance(self.kernel, Laplacian):
            out[...] = self.kernel(self._take(rows), self._take(columns))
            return
        np.matmul(self._take(rows), self._take(columns).T, out=out)
        self.kernel.of_dots(out, self.sq[rows], self.sq[columns])

    def diag(self) -> np.ndarray:
        """From the squared norms."""
        return np.asarray(self.kernel.diag(self.sq), np.float64)


class BytePoints(Points):
    """Points whose values are whole multiples of a step, as rows of bytes."""

    def __init__(self, X: Any, kernel: Kernel, step: float) -> None:
        super().__init__(X.shape[0])
        self.kernel, self.step_sq = kernel, np.float32(step * step)
        self.bytes = packed(X, step)
        self.nbytes = self.bytes.nbytes
        sq = np.empty(self.n)
        for lo in range(0, self.n, 4096):
            part = self.bytes[lo : lo + 4096].astype(np.float32)
            sq[lo : lo + 4096] = np.einsum("ij,ij->i", part, part, dtype=np.float64)
        self.sq = (sq * step * step).astype(np.float32)

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By whole-number products, and the kernel in place."""
        byte_dots(self.bytes, rows, columns, self.step_sq, out)
        self.kernel.of_dots(out, self.sq[rows], self.sq[columns])

    def diag(self) -> np.ndarray:
        """From the squared norms."""
        return np.asarray(self.kernel.diag(self.sq), np.float64)


class SparsePoints(Points):
    """Compressed rows: the rows asked for are written out in full, the columns stay compressed."""

    def __init__(self, S: Any, kernel: Kernel, dtype: Any) -> None:
        super().__init__(S.shape[0], dtype)
        self.points, self.kernel = S, kernel
        self.sq = np.asarray(S.multiply(S).sum(axis=1), np.float64).ravel().astype(dtype)

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By one product of a compressed with a full matrix."""
        if isinstance(self.kernel, Laplacian):
            out[...] = self.kernel(self.points[rows], self.points[columns])
            return
        full = np.ascontiguousarray(self.points[rows].toarray().T, dtype=self.dtype)
        out[...] = (self.points[columns].astype(self.dtype, copy=False) @ full).T
        self.kernel.of_dots(out, self.sq[rows], self.sq[columns])

    def diag(self) -> np.ndarray:
        """From the squared norms."""
        return np.asarray(self.kernel.diag(self.sq), np.float64)


class GivenPoints(Points):
    """A Gram matrix that was computed elsewhere."""

    def __init__(self, K: np.ndarray) -> None:
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(
                f"A precomputed kernel is a square matrix, K(x_i, x_j) of all training points; got {K.shape}."
            )
        super().__init__(len(K), K.dtype if K.dtype == np.float32 else np.float64)
        self.matrix = K

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """Looked up."""
        out[...] = self.matrix[rows[:, None], columns]

    def diag(self) -> np.ndarray:
        """Looked up."""
        return np.asarray(np.diagonal(self.matrix), np.float64)


class FunctionPoints(Points):
    """Any items, and a Python function of two of them."""

    by_value = True

    def __init__(self, items: Sequence[Any], kernel: Function) -> None:
        super().__init__(len(items), np.float64)
        self.items, self.kernel = items, kernel

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By calls of the function; what it returns must be finite numbers."""
        f, on = self.kernel.function, self.kernel.on
        if on == "indices":
            for r, i in enumerate(rows.tolist()):
                out[r] = [f(i, j) for j in columns.tolist()]
        elif on == "pairs":
            for r, i in enumerate(rows.tolist()):
                x = self.items[i]
                out[r] = [f(x, self.items[j]) for j in columns.tolist()]
        else:
            values = np.asarray(f(_pick(self.items, rows), _pick(self.items, columns)), np.float64)
            if values.shape != out.shape:
                raise ValueError(
                    f"The kernel was asked for a block of {out.shape[0]} x {out.shape[1]} values and gave "
                    f"shape {values.shape}. A function of two items is hinge.kernels.Function(f, on='pairs')."
                )
            out[...] = values

    def diag(self) -> np.ndarray:
        """By one call for each item."""
        out = np.empty(self.n)
        for i in range(self.n):
            one = np.array([i])
            self.fill(one, one, out[i : i + 1].reshape(1, 1))
        return out


def _pick(items: Any, numbers: np.ndarray) -> Any:
    if isinstance(items, np.ndarray) or sp.issparse(items):
        return items[numbers]
    return [items[i] for i in numbers.tolist()]


def _sq_norms(X: np.ndarray, centre: np.ndarray | None) -> np.ndarray:
    sq = np.empty(len(X))
    for lo in range(0, len(X), 2048):
        part = X[lo : lo + 2048].astype(np.float64)
        part = part if centre is None else part - centre
        sq[lo : lo + 2048] = np.einsum("ij,ij->i", part, part)
    return sq


def as_points(X: Any, kernel: Kernel, *, exact: bool = False, most_bytes: int = 1 << 62) -> Points:
    """The fastest storage of `X` that gives the kernel's values to about single precision.

    Parameters
    ----------
    X : array, CSR matrix, or any sequence for a callable kernel
    kernel : Kernel
    exact : bool
        Compute in float64 throughout.
    most_bytes : int
        A copy of the points as bytes may take this much memory.
    """
    if isinstance(X, Points):
        return X
    if isinstance(kernel, Function):
        return FunctionPoints(X, kernel)
    if isinstance(kernel, Precomputed):
        return GivenPoints(np.asarray(X))
    n, d = X.shape
    if not exact and available() and not isinstance(kernel, Laplacian) and n * (d + 16) <= most_bytes:
        step = step_of(X) if d * 255 * 255 < 1 << 31 else 0.0
        if step:
            return BytePoints(X, kernel, step)
    gamma = getattr(kernel, "gamma", 1.0)
    if sp.issparse(X):
        S: Any = sp.csr_array(X)
        largest = float(np.asarray(S.multiply(S).sum(axis=1)).max(initial=0.0))
        loses = kernel.shifts and gamma * largest * np.finfo(np.float32).eps > ROUNDING
        return SparsePoints(S, kernel, np.float64 if exact or loses else np.float32)
    X = np.asarray(X)
    if exact or isinstance(kernel, Laplacian):
        return DensePoints(X, kernel, np.float64)
    centre = None
    if kernel.shifts:
        eps = float(np.finfo(np.float32).eps)
        if gamma * float(_sq_norms(X, None).max(initial=0.0)) * eps > ROUNDING:
            centre = X.mean(axis=0, dtype=np.float64)
            if gamma * float(_sq_norms(X, centre).max(initial=0.0)) * eps > ROUNDING:
                return DensePoints(X, kernel, np.float64, centre)
    return DensePoints(X, kernel, np.float32, None if centre is None else centre.astype(X.dtype))
