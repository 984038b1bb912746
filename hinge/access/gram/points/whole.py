"""Points whose values are whole multiples of one step: pixels, counts and codes, as bytes or bits."""

import numpy as np
from numpy.typing import DTypeLike

from hinge.access.gram.points.byte_dots import bit_dots, byte_dots, packed, residuals
from hinge.access.gram.points.inner import (
    ROUNDINGS,
    SMALLEST,
    VALUE_ROUNDINGS,
    DensePoints,
    InnerPoints,
    Points,
    SparsePoints,
)
from hinge.kernels import Gaussian, Kernel
from hinge.types import Stored


def _in_steps(kernel: Kernel, step: float) -> tuple[Kernel, float]:
    """The kernel of points in whole numbers, and the factor of their inner products.

    Distances stay whole numbers, so that no difference of large ones is rounded.
    """
    if isinstance(kernel, Gaussian):
        return Gaussian(kernel.gamma * step * step), 1.0
    return kernel, step * step


class WholePoints(InnerPoints):
    """Points whose values are whole multiples of a step, up to `off`: their inner products are exact."""

    _distances = False
    """Whether `_counts` gives minus half the squared distances, exact too, in place of inner products."""

    def __init__(self, X: Stored, kernel: Kernel, step: float, off: float, dtype: DTypeLike) -> None:
        super().__init__(X.shape[0], dtype)
        self._given, self._kernel, self._step, self._off = X, kernel, step, off
        self.kernel, scale = _in_steps(kernel, step)
        self.scale, self.indefinite = self.dtype.type(scale), kernel.indefinite
        self._known: tuple[np.ndarray, float, float, np.ndarray] | None = None

    def _counts(self, rows: np.ndarray, columns: np.ndarray, scale: np.float32, out: np.ndarray) -> None:
        """``out[r, c]``: `scale` times the inner product of the multiples."""
        raise NotImplementedError

    def _same(self, dtype: DTypeLike) -> "WholePoints":
        """The same points with values in another type."""
        raise NotImplementedError

    def _set_squares(self, whole: np.ndarray, terms: np.ndarray) -> None:
        """From the squared norms in steps, and the number of values that are not zero."""
        self._whole_sq, self._terms = whole, terms
        sq = 0.0 * whole if self._distances else whole * float(self.scale)
        self.sq = sq.astype(self.dtype)

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By whole-number products."""
        if out.dtype == np.float32:
            self._counts(rows, columns, np.float32(self.scale), out)
            return
        counts = np.empty(out.shape, np.float32)
        self._counts(rows, columns, np.float32(1.0), counts)
        np.multiply(counts, self.scale, out=out)

    @property
    def finer(self) -> Points | None:  # type: ignore[override]
        """The same multiples with values in float64; then, where they are none, the points as given."""
        if self.dtype == np.float32:
            return self._same(np.float64)
        if self._off == 0.0 and self._fits_single:
            return None
        sparse = hasattr(self._given, "indptr")
        return (SparsePoints if sparse else DensePoints)(self._given, self._kernel, np.float64, exact=True)

    @property
    def _fits_single(self) -> bool:
        """Whether single precision, in which counts come, holds the numbers that values are made of."""
        largest = float(self._whole_sq.max(initial=0.0))
        return (4 * largest if self._distances or self.dtype == np.float32 else largest) < 1 << 24

    def _exactness(self) -> tuple[np.ndarray, float, float, np.ndarray]:
        if self._known is not None:
            return self._known
        unit, single = (float(np.finfo(dtype).eps) / 2 for dtype in (self.dtype, np.float32))
        gaussian, exact = isinstance(self.kernel, Gaussian), self._fits_single
        eta = 0.0 if gaussian and (exact or self._distances) else ROUNDINGS * unit
        eta += 0.0 if exact or self._distances else 2 * single
        off = self._off * np.sqrt(self._terms)
        if self._off > 0 and self.dtype == np.float64:  # then it is worth a pass over the points
            off = np.minimum(off, residuals(self._given, self._step))
        off = off / (self._step if gaussian else 1.0)
        # A distance with too many digits for float32 is rounded once, and so is the exponent made of it.
        value = VALUE_ROUNDINGS * unit + (0.0 if exact or unit == single or not self._distances else 2 * single)
        self._known = np.sqrt(self._whole_sq * float(self.scale)), eta, value, off
        return self._known


class BytePoints(WholePoints):
    """Whole multiples as rows of bytes."""

    _far = False
    """Whether half a distance may belong to a value too small for single precision; there is a `_least`."""

    def __init__(
        self,
        X: Stored,
        kernel: Kernel,
        step: float,
        off: float = 0.0,
        dtype: DTypeLike = np.float32,
        known: "BytePoints | None" = None,
    ) -> None:
        super().__init__(X, kernel, step, off, dtype)
        self._distances = isinstance(kernel, Gaussian)
        self.bytes: np.ndarray = packed(X, step) if known is None else known.bytes
        self.nbytes = self.bytes.nbytes
        if known is not None:
            self._set_squares(known._whole_sq, known._terms)
            return
        sq, terms = np.zeros((2, self.n))
        for lo in range(0, self.n, 4096):
            part = self.bytes[lo : lo + 4096].astype(np.float32)
            sq[lo : lo + 4096] = np.einsum("ij,ij->i", part, part, dtype=np.float64)
            terms[lo : lo + 4096] = np.count_nonzero(part, axis=1)
        self._set_squares(sq, terms)

    def _set_squares(self, whole: np.ndarray, terms: np.ndarray) -> None:
        super()._set_squares(whole, terms)
        self._less = (whole if self._distances else 0.0 * whole).astype(np.int32)
        if isinstance(self.kernel, Gaussian):
            self._least = -SMALLEST / max(self.kernel.gamma, 1e-300)
            self._far = 2.0 * float(whole.max(initial=0.0)) > -self._least

    def _counts(self, rows: np.ndarray, columns: np.ndarray, scale: np.float32, out: np.ndarray) -> None:
        byte_dots(self.bytes, self._less, rows, columns, scale, out)
        if self._far:
            np.maximum(out, np.float32(self._least), out=out)

    def _same(self, dtype: DTypeLike) -> WholePoints:
        return BytePoints(self._given, self._kernel, self._step, self._off, dtype, self)


class BitPoints(WholePoints):
    """Values that are zero or a step, as bits; `planes` are those of `bit_planes`."""

    def __init__(
        self,
        X: Stored,
        planes: np.ndarray,
        kernel: Kernel,
        step: float,
        off: float = 0.0,
        dtype: DTypeLike = np.float32,
    ) -> None:
        super().__init__(X, kernel, step, off, dtype)
        self.planes, self.nbytes = planes, planes.nbytes
        ones = np.zeros(self.n)
        for plane in planes:
            ones += np.bitwise_count(plane)
        self._set_squares(ones, ones)

    def _counts(self, rows: np.ndarray, columns: np.ndarray, scale: np.float32, out: np.ndarray) -> None:
        bit_dots(self.planes, rows, columns, scale, out)

    def _same(self, dtype: DTypeLike) -> WholePoints:
        return BitPoints(self._given, self.planes, self._kernel, self._step, self._off, dtype)
