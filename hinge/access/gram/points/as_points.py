"""Points of which kernel values are asked: one class for each way they are stored.

Each fills a block of kernel values for given row and column numbers, and says how exact it is; counting
and caching are the business of `Gram`.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numba.core import config

from hinge.access.gram.points.byte_dots import FEWEST, LANES, available, bit_planes, step_of
from hinge.access.gram.points.differences import FEW, DifferencePoints
from hinge.access.gram.points.given import FunctionPoints, GivenPoints
from hinge.access.gram.points.inner import (
    DensePoints,
    InnerPoints,
    Points,
    SparsePoints,
    proved_terms,
    sparse_sq_norms,
    sq_norms,
)
from hinge.access.gram.points.whole import BitPoints, BytePoints
from hinge.access.matrix import dense_rows
from hinge.access.structure import as_csr
from hinge.kernels import Function, Gaussian, Kernel, Precomputed
from hinge.types import Items, Stored

__all__ = [
    "BitPoints",
    "BytePoints",
    "DensePoints",
    "DifferencePoints",
    "FunctionPoints",
    "GivenPoints",
    "InnerPoints",
    "Points",
    "SparsePoints",
    "as_points",
]

EPS = float(np.finfo(np.float32).eps)
ROUNDING = 1e-5
"""Largest error of an exponent for which inner products in float32 are good enough."""
PROVED = 1e-4
"""Largest error of an exponent that may be left to rounding at its worst, but for the longest points."""
LONG = 0.95
"""Share of the points that are not among these: far from all others, they have small kernel values, and so errors."""
SMALLEST = 1e-12
"""Points whose squared norms are all below this take float64: in float32 products would vanish."""
LARGEST = 1e30
"""Kernel values of this size and above are computed in float64: sums of a few must not overflow."""


def as_points(X: Items | Points, kernel: Kernel, *, exact: bool = False, most_bytes: int = 1 << 62) -> Points:
    """The fastest storage of `X` that gives the kernel's values to about single precision.

    Parameters
    ----------
    X : array, CSR matrix, or any sequence for a callable kernel
    kernel : Kernel
    exact : bool
        Compute in float64 throughout.
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
    sq = sq_norms(rows) if isinstance(rows, np.ndarray) else sparse_sq_norms(rows)
    exact |= kernel.needs_points or needs_double(kernel, sq)
    if not kernel.needs_points:
        whole = _whole_points(rows, kernel, most_bytes, sq, exact)
        if whole is not None:
            return whole
    n, d = rows.shape
    if isinstance(kernel, Gaussian) and not exact and 1 <= d <= FEW and 8 * n * (d + 1) <= most_bytes:
        points = DifferencePoints(rows if isinstance(rows, np.ndarray) else rows.toarray(), kernel)
        if points.off_by <= ROUNDING:
            return points
    if not isinstance(rows, np.ndarray):
        longest = int(np.diff(rows.indptr).max(initial=0))
        work = np.float64 if exact or _loses(kernel, sq, longest) else np.float32
        return SparsePoints(rows, kernel, work, exact)
    centre, terms = None, proved_terms(d, np.float32)
    if _loses(kernel, sq, terms) and not kernel.needs_points:
        centre = rows.mean(axis=0, dtype=np.float64)
        sq = sq_norms(rows, centre)
    work = np.float64 if exact or _loses(kernel, sq, terms) else np.float32
    return DensePoints(rows, kernel, work, centre, exact, most_bytes, sq if centre is None else None)


def needs_double(kernel: Kernel, sq: np.ndarray) -> bool:
    """Whether float32 is too narrow for the kernel of points of these squared norms; float64 must not be."""
    largest = float(sq.max(initial=0.0))
    if _overflows(kernel, largest, np.float64):
        raise ValueError(
            f"Kernel values overflow: the point of row {int(sq.argmax())} has the squared norm {largest:g}, "
            f"for which {kernel} is too large. Scale the features, or use a smaller degree."
        )
    return _overflows(kernel, largest, np.float32) or largest < SMALLEST


def _overflows(kernel: Kernel, sq: float, dtype: type[np.floating]) -> bool:
    """Whether values of points up to this squared norm come near the end of a floating point type."""
    gamma, coef0 = (float(getattr(kernel, name, 0.0)) for name in ("gamma", "coef0"))
    with np.errstate(over="ignore", invalid="ignore"):
        own = np.abs(np.asarray(kernel.diag(np.full(1, sq, dtype)), np.float64))
    limit = LARGEST if dtype is np.float32 else LARGEST**10
    return not np.max([sq, gamma, gamma * sq, abs(coef0), own[0]]) < limit


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
    return bool(2 * scale * float(np.quantile(sq, LONG)) * terms > PROVED)


def _whole_points(X: Stored, kernel: Kernel, most_bytes: int, sq: np.ndarray, exact: bool) -> Points | None:
    """Points stored as bits or bytes, if the data allow it; else None. In float64 where they must be `exact`."""
    n, d = X.shape
    dtype = np.float64 if exact else np.float32

    def serves(step: float, off: float) -> bool:
        """Whether points are these multiples and their distances are counted in float32 without a rounding."""
        return step > 0 and (not exact or (off == 0.0 and 4 * float(sq.max(initial=0.0)) / step**2 < 1 << 24))

    if n * (d // 8 + 4) <= most_bytes and not config.DISABLE_JIT:  # type: ignore[attr-defined]
        step, off = step_of(X, most=1)
        planes = bit_planes(X) if serves(step, off) else None
        if planes is not None:
            return BitPoints(X, planes, kernel, step, off, dtype)
    if n * (d + LANES) <= most_bytes and available() and d >= FEWEST and d * 255 * 255 < 1 << 30:
        step, off = step_of(X)
        whole = step > 0 and (isinstance(kernel, Gaussian) or 4 * float(sq.max(initial=0.0)) / step**2 < 1 << 24)
        if serves(step, off) and (whole or not _loses(kernel, sq)):
            return BytePoints(X, kernel, step, off, dtype)
    return None
