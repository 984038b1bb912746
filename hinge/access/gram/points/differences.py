"""Points of few features under the Gaussian kernel: squared distances as sums of squared differences.

What inner products round is relative to the squared norms, what differences round to the distance itself: so values are
exact to single precision wherever the points lie. With few features it is no slower either.
"""

import math
from threading import get_ident

import numpy as np

from hinge.access.gram.points.inner import SMALLEST, VALUE_ROUNDINGS, DensePoints, InnerPoints, Points
from hinge.compiled import compiled
from hinge.kernels import Gaussian

FEW = 8
"""Features up to which this is no slower than a product of matrices."""
_UNIT = float(np.finfo(np.float32).eps) / 2


class DifferencePoints(InnerPoints):
    """Rows of a dense array, less their centre, in single precision.

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
        self._held: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # the last columns of each thread

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
        thread = get_ident()
        held = self._held.get(thread)
        if held is None or held[0] is not columns:
            held = self._held[thread] = columns, np.take(self._columns, columns, axis=1)
        least = -SMALLEST / max(self._gamma, 1e-300)
        _half_distances(self._rows[rows], held[1], np.float32(max(least, -1e38)), out)

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
