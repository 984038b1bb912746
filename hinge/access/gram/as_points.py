"""Points, of which kernel values are computed, in the fastest storage that is accurate enough.

Each class fills a block of kernel values for given row and column numbers, and bounds its rounding errors; `Gram`
counts and caches the values.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hinge.access.gram.byte_dots import FEWEST, LANES, available, bit_planes, packed, residuals, step_of
from hinge.access.gram.given_points import FunctionPoints, GivenPoints
from hinge.access.gram.inner_points import (
    ROUNDINGS,
    SMALLEST,
    VALUE_ROUNDINGS,
    DensePoints,
    InnerPoints,
    Points,
    SparsePoints,
    proved_terms,
    sq_norms,
)
from hinge.access.matrix import dense_rows
from hinge.access.structure import as_csr
from hinge.compiled import JIT, compiled
from hinge.kernels import Function, Gaussian, Kernel, Precomputed
from hinge.types import Items, Stored

_UNIT = float(np.finfo(np.float32).eps) / 2


class DifferencePoints(InnerPoints):
    """Rows of a dense array with few features, less their centre, in single precision.

    Squared distances are sums of squared differences: their rounding is relative to the distance itself, where the
    rounding of inner products is relative to the squared norms. So values are accurate to single precision wherever
    the points lie.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    kernel : Gaussian
    """

    kernel: Gaussian

    def __init__(self, X: np.ndarray, kernel: Gaussian) -> None:
        super().__init__(len(X), np.float32)
        self._given, self.kernel, self._gamma = X, kernel, kernel.gamma
        self._centre = X.mean(axis=0, dtype=np.float64)
        d = X.shape[1] + X.shape[1] % 2
        self._rows = np.zeros((self.n, d), np.float32)
        sq, off = np.empty(self.n), np.empty(self.n)
        for lo in range(0, self.n, 4096):
            exact = X[lo : lo + 4096] - self._centre
            part = self._rows[lo : lo + 4096, : X.shape[1]]
            part[:] = exact
            sq[lo : lo + 4096] = np.einsum("ij,ij->i", exact, exact)
            off[lo : lo + 4096] = np.sqrt(np.einsum("ij,ij->i", exact - part, exact - part))
        self._off = (1.0 + 1e-6) * off + float(np.finfo(np.float64).eps) * np.sqrt(sq)
        self._columns = np.ascontiguousarray(self._rows.T)
        self._norms, self.sq = np.sqrt(sq), np.zeros(self.n, np.float32)
        self.nbytes = 2 * self._rows.nbytes

    @property
    def off_by(self) -> float:
        """By how much single precision of the points alone changes a value, at most."""
        return math.sqrt(2.0 * self._gamma / math.e) * 2.0 * float(self._off.max(initial=0.0))

    @property
    def finer(self) -> Points:  # type: ignore[override]
        """The same rows in float64, by inner products."""
        return DensePoints(self._given, self.kernel, np.float64, self._centre, exact=True)

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """Minus half the squared distances."""
        theirs = self._taken_once(columns, lambda numbers: np.take(self._columns, numbers, axis=1))
        least = -SMALLEST / max(self._gamma, 1e-300)
        _half_distances(self._rows[rows], theirs, np.float32(max(least, -1e38)), out)

    def _exactness(self) -> tuple[np.ndarray, float, float, np.ndarray]:
        # A distance is off by a share of itself, δ, so its value by δ t e^{-t}, which is at most δ/e.
        return self._norms, 0.0, VALUE_ROUNDINGS * _UNIT + self._share() / math.e, self._off

    def _share(self) -> float:
        """What a squared distance is off by, in units of itself: a difference, its square, and the sums."""
        return (self._rows.shape[1] + 3) * _UNIT

    def sum_errors(self, i: np.ndarray, size: np.ndarray, columns: np.ndarray, sums: np.ndarray) -> np.ndarray | None:
        """The bound of the kernel, and what shares of the exponents add: relative to -K ln K, which is concave."""
        exactness = self._norms, 0.0, VALUE_ROUNDINGS * _UNIT, self._off
        known, total = self.kernel.sum_errors(exactness, i, size, columns, sums), float(size.sum())
        if known is None:
            return None
        part = np.clip(sums, 1e-30 * total, total / math.e)  # of -x ln x, which is largest there
        return known + 1.02 * self._share() * part * np.log(total / part)


@compiled(fastmath={"contract", "nsz"})
def _half_distances(X, Z, least, out):
    """``out[r, c]`` is minus half the squared distance of rows X[r] and columns Z[:, c], not below `least`."""
    for r in range(len(X)):
        row, x = out[r], X[r]
        for f in range(0, len(x), 2):
            if f == 0:
                _begin(x[0], x[1], Z[0], Z[1], row)
            else:
                _add(x[f], x[f + 1], Z[f], Z[f + 1], row)
        for c in range(np.uint64(len(row))):
            half = np.float32(-0.5) * row[c]
            row[c] = least if half < least else half


@compiled(fastmath={"contract", "nsz"})
def _begin(a, b, x, y, out):
    for c in range(np.uint64(len(out))):
        out[c] = (a - x[c]) * (a - x[c]) + (b - y[c]) * (b - y[c])


@compiled(fastmath={"contract", "nsz"})
def _add(a, b, x, y, out):
    for c in range(np.uint64(len(out))):
        out[c] += (a - x[c]) * (a - x[c]) + (b - y[c]) * (b - y[c])


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
            same = copy.copy(self)
            WholePoints.__init__(same, self._given, self._kernel, self._step, self._off, np.float64)
            same._set_squares(self._whole_sq, self._terms)
            return same
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

    def __init__(self, X: Stored, kernel: Kernel, step: float, off: float = 0.0, dtype: DTypeLike = np.float32) -> None:
        super().__init__(X, kernel, step, off, dtype)
        self._distances = isinstance(kernel, Gaussian)
        self.bytes: np.ndarray = packed(X, step)
        self.nbytes = self.bytes.nbytes
        sq, terms = np.zeros((2, self.n))
        for lo in range(0, self.n, 4096):
            part = self.bytes[lo : lo + 4096].astype(np.float32)
            sq[lo : lo + 4096] = np.einsum("ij,ij->i", part, part, dtype=np.float64)
            terms[lo : lo + 4096] = np.count_nonzero(part, axis=1)
        self._set_squares(sq, terms)

    def _set_squares(self, whole: np.ndarray, terms: np.ndarray) -> None:
        super()._set_squares(whole, terms)
        self._less = (whole if self._distances else 0.0 * whole).astype(np.int32)

    def _counts(self, rows: np.ndarray, columns: np.ndarray, scale: np.float32, out: np.ndarray) -> None:
        from hinge.access.gram.byte_code import byte_dots

        byte_dots(self.bytes, self._less, rows, columns, scale, out)
        if isinstance(self.kernel, Gaussian):  # a value too small for single precision is not to become zero
            np.maximum(out, np.float32(max(-SMALLEST / max(self.kernel.gamma, 1e-300), -1e38)), out=out)


class BitPoints(WholePoints):
    """Values that are zero or a step, as bits; `planes` is the result of `bit_planes`."""

    def __init__(
        self, X: Stored, planes: np.ndarray, kernel: Kernel, step: float, off: float, dtype: DTypeLike
    ) -> None:
        super().__init__(X, kernel, step, off, dtype)
        self.planes, self.nbytes = planes, planes.nbytes
        ones = np.zeros(self.n)
        for plane in planes:
            ones += np.bitwise_count(plane)
        self._set_squares(ones, ones)

    def _counts(self, rows: np.ndarray, columns: np.ndarray, scale: np.float32, out: np.ndarray) -> None:
        from hinge.access.gram.byte_code import bit_dots

        bit_dots(self.planes, rows, columns, scale, out)


EPS = float(np.finfo(np.float32).eps)
ROUNDING = 1e-5
"""Largest error of an exponent for which inner products in float32 are good enough."""
PROVED = 1e-4
"""Largest error of an exponent that may be left to rounding at its worst, but for the longest 5% of the points."""
MOST_DIFFERENCES = 8
"""Features up to which differences of points are no slower than a product of matrices."""
LIMITS = 1e30, 1e300
"""Kernel values must be below these in float32 and in float64: sums of a few must not overflow."""


def as_points(
    X: Items | Points, kernel: Kernel, *, exact: bool = False, double: bool = False, most_bytes: int = 1 << 62
) -> Points:
    """The fastest storage of `X` that gives the kernel's values to about single precision.

    Parameters
    ----------
    X : array, CSR matrix, or any sequence for a callable kernel
    kernel : Kernel
    exact : bool
        Compute in float64 throughout.
    double : bool
        Compute inner products without a rounding of float32; values of a Gaussian kernel are rounded to that.
    most_bytes : int
        A copy of the points, as bytes or less their centre, may take this much memory.
    """
    if isinstance(X, Points):
        return X
    if sp.issparse(X):
        X = sp.csr_array(as_csr(X)[0])
    if isinstance(kernel, Function):
        return FunctionPoints(cast(Stored | Sequence[Any], X), kernel)
    if isinstance(kernel, Precomputed):
        return GivenPoints(np.asarray(X))
    rows: Stored = X if sp.issparse(X) else dense_rows(X)
    sq = sq_norms(rows)
    exact |= kernel.needs_points or needs_double(kernel, sq)
    if not kernel.needs_points:
        whole = _whole_points(rows, kernel, most_bytes, sq, exact)
        if whole is not None:
            return whole
    n, d = rows.shape
    if (
        isinstance(kernel, Gaussian)
        and not (exact or double)
        and 1 <= d <= MOST_DIFFERENCES
        and 8 * n * (d + 1) <= most_bytes
    ):
        points = DifferencePoints(rows if isinstance(rows, np.ndarray) else rows.toarray(), kernel)
        if points.off_by <= ROUNDING:
            return points
    if not isinstance(rows, np.ndarray):
        longest = int(np.diff(rows.indptr).max(initial=0))
        work = np.float64 if exact or double or _loses(kernel, sq, longest) else np.float32
        return SparsePoints(rows, kernel, work, exact)
    centre, terms = None, proved_terms(d, np.float32)
    if not double and _loses(kernel, sq, terms) and not kernel.needs_points:
        centre = rows.mean(axis=0, dtype=np.float64)
        sq = sq_norms(rows, centre)
    work = np.float64 if exact or double or _loses(kernel, sq, terms) else np.float32
    return DensePoints(rows, kernel, work, centre, exact, most_bytes, sq if centre is None else None)


def needs_double(kernel: Kernel, sq: np.ndarray) -> bool:
    """Whether float32 is too narrow for the kernel of points of these squared norms; float64 must not be."""
    largest = float(sq.max(initial=0.0))
    gamma, coef0 = float(getattr(kernel, "gamma", 0.0)), float(getattr(kernel, "coef0", 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        own = abs(float(kernel.diag(np.full(1, largest))[0]))
    # A nan, of infinite terms that cancel, is none of these.
    fits = [all(size < limit for size in (largest, gamma, gamma * largest, abs(coef0), own)) for limit in LIMITS]
    if not fits[1]:
        raise ValueError(
            f"Kernel values overflow: the point of row {int(sq.argmax())} has the squared norm {largest:g}, "
            f"for which {kernel} is too large. Scale the features, or use a smaller degree."
        )
    return not fits[0] or largest < 1e-12  # where products would vanish in float32


def _loses(kernel: Kernel, sq: np.ndarray, terms: int = 0) -> bool:
    """Whether distances in float32, of points of these squared norms, are not good enough.

    What can be proved of them grows with the terms of an inner product, and a certificate rests on that.
    """
    if not kernel.shifts or len(sq) == 0:
        return False
    scale = getattr(kernel, "gamma", 1.0) * EPS
    largest = scale * float(sq.max())
    if largest > ROUNDING or not 2 * largest * terms > PROVED:
        return largest > ROUNDING
    # The longest 5% of the points are far from all others: their kernel values are small, and so are the errors.
    return bool(2 * scale * float(np.quantile(sq, 0.95)) * terms > PROVED)


def _whole_points(X: Stored, kernel: Kernel, most_bytes: int, sq: np.ndarray, exact: bool) -> Points | None:
    """Points stored as bits or bytes, if the data allow it; else None. In float64 where they must be `exact`."""
    n, d = X.shape
    dtype = np.float64 if exact else np.float32

    def serves(step: float, off: float) -> bool:
        """Whether points are these multiples and their distances are counted in float32 without a rounding."""
        return step > 0 and (not exact or (off == 0.0 and 4 * float(sq.max(initial=0.0)) / step**2 < 1 << 24))

    in_bytes = n * (d + LANES) <= most_bytes and d >= FEWEST and d * 255 * 255 < 1 << 30 and available()
    in_bits = n * (d // 8 + 4) <= most_bytes and JIT
    step, off = step_of(X, most=255 if in_bytes else 1) if in_bits or in_bytes else (0.0, 0.0)
    if not serves(step, off):
        return None
    ones = in_bits and float((X if isinstance(X, np.ndarray) else X.data).max()) < 1.5 * step
    planes = bit_planes(X) if ones else None
    if planes is not None:
        return BitPoints(X, planes, kernel, step, off, dtype)
    whole = isinstance(kernel, Gaussian) or 4 * float(sq.max(initial=0.0)) / step**2 < 1 << 24
    return BytePoints(X, kernel, step, off, dtype) if in_bytes and (whole or not _loses(kernel, sq)) else None
