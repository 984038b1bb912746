"""Points whose kernel values come from their inner products: one class for each way they are stored."""

from typing import Any

import numpy as np

from hinge.access.byte_dots import bit_dots, byte_dots, packed
from hinge.compiled import compiled
from hinge.kernels import Gaussian, Kernel, Laplacian
from hinge.kernels.exponential import gaussian_to_rows


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

    def fill_rows(
        self, rows: np.ndarray, columns: np.ndarray, tile: np.ndarray, slab: np.ndarray, slots: np.ndarray,
        first: int,
    ) -> None:  # fmt: skip
        """``slab[slots[r], first + c] = K(rows[r], columns[c])``; `tile` is room for these values."""
        self.fill(rows, columns, tile)
        _store(slab, slots, first, tile)

    def diag(self) -> np.ndarray:
        """K(x, x) of every point, in float64."""
        raise NotImplementedError


class InnerPoints(Points):
    """Points of which inner products are computed, by `dots`, and made kernel values."""

    kernel: Kernel
    sq: np.ndarray
    """Squared norms, in the type of the kernel values."""

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """``out[r, c]``: the inner product of points rows[r] and columns[c]."""
        raise NotImplementedError

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By inner products, and the kernel in place."""
        self.dots(rows, columns, out)
        self.kernel.of_dots(out, self.sq.take(rows), self.sq.take(columns))

    def fill_rows(
        self, rows: np.ndarray, columns: np.ndarray, tile: np.ndarray, slab: np.ndarray, slots: np.ndarray,
        first: int,
    ) -> None:  # fmt: skip
        """By inner products in the tile, and the kernel on the way to the slab where that is its cost."""
        if isinstance(self.kernel, Gaussian) and self.dtype == np.float32:
            self.dots(rows, columns, tile)
            sq_x, sq_z = self.sq.take(rows), self.sq.take(columns)
            gaussian_to_rows(tile, sq_x, sq_z, self.kernel.gamma, slab, slots, first)
        else:
            super().fill_rows(rows, columns, tile, slab, slots, first)

    def diag(self) -> np.ndarray:
        """From the squared norms."""
        return np.asarray(self.kernel.diag(self.sq), np.float64)


class DensePoints(InnerPoints):
    """Rows of a dense array, used where they lie: inner products by BLAS, a tile at a time."""

    def __init__(self, X: np.ndarray, kernel: Kernel, dtype: Any, centre: np.ndarray | None = None) -> None:
        super().__init__(len(X), dtype)
        self.points, self.kernel = X, kernel
        single = X.dtype == np.float32
        self.centre = None if centre is None else centre.astype(np.float32 if single else np.float64)
        self.sq = sq_norms(X, self.centre).astype(dtype)

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

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By one product of matrices."""
        np.matmul(self._take(rows), self._take(columns).T, out=out)

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By inner products, or by distances for the kernel that needs those."""
        if isinstance(self.kernel, Laplacian):
            out[...] = self.kernel(self._take(rows), self._take(columns))
        else:
            super().fill(rows, columns, out)


class BytePoints(InnerPoints):
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

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By whole-number products."""
        byte_dots(self.bytes, rows, columns, self.step_sq, out)


class BitPoints(InnerPoints):
    """Points whose values are zero or a step, as bits; `planes` are those of `bit_planes`."""

    def __init__(self, planes: np.ndarray, kernel: Kernel, step: float) -> None:
        super().__init__(planes.shape[1])
        self.kernel, self.step_sq = kernel, np.float32(step * step)
        self.planes, self.nbytes = planes, planes.nbytes
        ones = sum(np.bitwise_count(plane).astype(np.int64) for plane in planes)
        self.sq = (ones * step * step).astype(np.float32)

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By counts of bits."""
        bit_dots(self.planes, rows, columns, self.step_sq, out)


class SparsePoints(InnerPoints):
    """Compressed rows: the rows asked for are written out in full, the columns stay compressed."""

    def __init__(self, S: Any, kernel: Kernel, dtype: Any) -> None:
        super().__init__(S.shape[0], dtype)
        self.points, self.kernel = S, kernel
        self.sq = sparse_sq_norms(S).astype(dtype)

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By one product of a compressed with a full matrix."""
        full = np.ascontiguousarray(self.points[rows].toarray().T, dtype=self.dtype)
        out[...] = (self.points[columns].astype(self.dtype, copy=False) @ full).T

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By inner products, or by distances for the kernel that needs those."""
        if isinstance(self.kernel, Laplacian):
            out[...] = self.kernel(self.points[rows], self.points[columns])
        else:
            super().fill(rows, columns, out)


def sq_norms(X: np.ndarray, centre: np.ndarray | None = None) -> np.ndarray:
    """Squared norms of the rows, less the centre, in float64."""
    sq = np.empty(len(X))
    for lo in range(0, len(X), 2048):
        part = X[lo : lo + 2048].astype(np.float64)
        part = part if centre is None else part - centre
        sq[lo : lo + 2048] = np.einsum("ij,ij->i", part, part)
    return sq


def sparse_sq_norms(S: Any) -> np.ndarray:
    """Squared norms of compressed rows, in float64."""
    squares = S.data.astype(np.float64) ** 2
    row = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    return np.bincount(row, squares, S.shape[0])


@compiled
def _store(slab, slots, first, tile):
    for r in range(len(slots)):
        slab[slots[r], first : first + tile.shape[1]] = tile[r]
