"""Points whose kernel values come from their inner products: one class for each way they are stored.

And sums of linear kernel values by way of the weight vector, which is summed in twice the precision.
"""

from collections.abc import Callable
from threading import get_ident
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from hinge.access.matrix import as_matrix
from hinge.compiled import compiled
from hinge.kernels import Gaussian, Kernel, Linear
from hinge.kernels.exponential import gaussian_to_rows
from hinge.types import Stored

UNIT = float(np.finfo(np.float64).eps) / 2
ROUNDINGS = 8
"""Roundings of an inner product or a squared norm, beside one for each of its terms."""
VALUE_ROUNDINGS = 8
"""Roundings of a kernel value, as if all were relative to it."""
SMALLEST = 43.0
"""Half the exponent of the smallest kernel value that is kept apart from zero."""


PIECE = 112
"""Terms of an inner product that are summed in float32 one after the other; then the sums are added.

What can be proved of a sum grows with its terms, and a certificate rests on that. Shorter pieces are slower.
"""
BLOCK_CELLS = 1 << 15
"""Cells that are squared together: 256 kB, which the nearest caches hold; 2 MB take 1.4 times as long."""


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
    weighted: Stored | None = None
    """Rows of which w is a weighted sum, where the kernel is linear."""
    finer: "Points | None" = None
    """The same points with more exact values, where there are any."""
    indefinite = False
    """Whether the kernel is known not to be positive semidefinite in general."""
    sums_tell = False
    """Whether sums of values tell more about their own errors than the points do."""

    def __init__(self, n: int, dtype: DTypeLike = np.float32) -> None:
        self.n = n
        self.dtype: np.dtype = np.dtype(dtype)

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """``out[r, c] = K(rows[r], columns[c])``."""
        raise NotImplementedError

    def fill_rows(
        self, rows: np.ndarray, columns: np.ndarray, tile: np.ndarray, slab: np.ndarray, slots: np.ndarray, first: int
    ) -> None:
        """``slab[slots[r], first + c] = K(rows[r], columns[c])``; `tile` is memory for these values."""
        self.fill(rows, columns, tile)
        slab[slots, first : first + len(columns)] = tile

    def diag(self) -> np.ndarray:
        """K(x, x) of every point, in float64."""
        raise NotImplementedError

    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """A and B of shape (k, n): the values given for i and j are off by at most Σₖ Aₖᵢ Bₖⱼ."""
        return np.zeros((1, self.n)), np.zeros((1, self.n))  # values that were given count as exact

    def kinds(self, i: np.ndarray) -> np.ndarray:
        """Numbers of points, the same for those whose values are about as exact."""
        return np.zeros(len(i), np.int64)

    def sum_errors(self, i: np.ndarray, size: np.ndarray, columns: np.ndarray, sums: np.ndarray) -> np.ndarray | None:
        """What sums Σ size K(xᵢ, ·) of terms that are not negative are off by; None if that is not known."""
        return None

    def shares(self) -> tuple[np.ndarray, float] | None:
        """The same for any such sum S of values of all points, as S (share + unit · ln(Σ size / S)): both of these."""
        return None


class InnerPoints(Points):
    """Points of which inner products are computed, by `dots`, and made kernel values."""

    kernel: Kernel
    sq: np.ndarray
    """Squared norms, in the type of the kernel values, or zeros where `dots` has taken them into account."""

    def __init__(self, n: int, dtype: DTypeLike = np.float32) -> None:
        super().__init__(n, dtype)
        self._held: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def _taken_once(self, columns: np.ndarray, take: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """``take(columns)``, kept for the next call of this thread: columns meet several tiles of rows."""
        held = self._held.get(get_ident())
        if held is None or held[0] is not columns:
            held = self._held[get_ident()] = columns, take(columns)
        return held[1]

    def _exactness(self) -> tuple[np.ndarray, float, float, np.ndarray]:
        """Norms N of the points; η, for which inner products are off by η Nᵢ Nⱼ and squared norms by η N²;
        the rounding of kernel values; and how far each point is from the one that stands for it.
        """
        raise NotImplementedError

    @property
    def sums_tell(self) -> bool:  # type: ignore[override]
        """Whether kernel values can be small: then their sums give tighter bounds than the points do."""
        return isinstance(self.kernel, Gaussian)

    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """The kernel's bound, from the errors of inner products, of squared norms and of the points themselves."""
        return self.kernel.errors(*self._exactness())

    def kinds(self, i: np.ndarray) -> np.ndarray:
        """By powers of four of the squared norms, which errors grow with; the smaller half is of one kind."""
        powers = np.frexp(self._exactness()[0][i])[1].astype(np.int64)
        return powers - np.minimum(powers, int(np.median(powers))) if len(i) else powers

    def sum_errors(self, i: np.ndarray, size: np.ndarray, columns: np.ndarray, sums: np.ndarray) -> np.ndarray | None:
        """The bound of the kernel."""
        return self.kernel.sum_errors(self._exactness(), i, size, columns, sums)

    def shares(self) -> tuple[np.ndarray, float] | None:
        """Those of the kernel, of points that are as they are given."""
        exactness = self._exactness()
        return None if exactness[-1].any() else self.kernel.shares(*exactness[:-1])

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """``out[r, c]``: the inner product of points rows[r] and columns[c]."""
        raise NotImplementedError

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By inner products, and the kernel in place."""
        self.dots(rows, columns, out)
        self.kernel.of_dots(out, self.sq.take(rows), self.sq.take(columns))

    def fill_rows(
        self, rows: np.ndarray, columns: np.ndarray, tile: np.ndarray, slab: np.ndarray, slots: np.ndarray, first: int
    ) -> None:
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


class TablePoints(InnerPoints):
    """Rows of a table as it is, of which inner products are computed in the type `work`.

    A Gaussian kernel whose distances need float64 has values in float32 all the same: the distance is
    formed in float64, and only then rounded.
    """

    def __init__(self, X: Stored, kernel: Kernel, work: DTypeLike, exact: bool, sq: np.ndarray) -> None:
        self.work = np.dtype(work)
        self._mixed = isinstance(kernel, Gaussian) and self.work == np.float64 and not exact
        super().__init__(X.shape[0], np.float32 if self._mixed else work)
        self.points, self.kernel, self.indefinite = X, kernel, kernel.indefinite
        self.sq = np.zeros(self.n, np.float32) if self._mixed else sq.astype(work)
        self._halves = 0.5 * sq if self._mixed else sq
        self._norms = np.sqrt(sq)
        self.weighted = X if isinstance(kernel, Linear) else None

    def _longest(self) -> int:
        """Terms of the longest inner product."""
        raise NotImplementedError

    def _exactness(self) -> tuple[np.ndarray, float, float, np.ndarray]:
        unit = float(np.finfo(self.work).eps) / 2
        eta = (self._longest() + ROUNDINGS) * unit
        if isinstance(self.kernel, Gaussian) and self.work == np.float32:
            eta = 0.5 * (self._longest() + 2 * ROUNDINGS) * unit  # squared norms are summed in float64
        return self._norms, eta, VALUE_ROUNDINGS * float(np.finfo(self.dtype).eps) / 2, np.zeros(self.n)

    def _take(self, numbers: np.ndarray) -> Any:
        """Some rows in the type `work`."""
        raise NotImplementedError

    def products(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """Inner products, in the type `work`."""
        raise NotImplementedError

    def fill(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By inner products, or by distances for the kernel that needs those."""
        if self.kernel.needs_points:
            out[...] = self.kernel(self._take(rows), self._take(columns))
        else:
            super().fill(rows, columns, out)

    def dots(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """Inner products, less half the squared norms where the differences are large."""
        if not self._mixed:
            self.products(rows, columns, out)
            return
        G = np.empty(out.shape)
        self.products(rows, columns, G)
        least = -SMALLEST / max(self.kernel.gamma, 1e-300)  # type: ignore[attr-defined]
        _half_distances(G, self._halves.take(rows), self._halves.take(columns), least, out)


class DensePoints(TablePoints):
    """Rows of a dense array, used where they lie: inner products by BLAS, a tile at a time."""

    def __init__(
        self,
        X: np.ndarray,
        kernel: Kernel,
        work: DTypeLike,
        centre: np.ndarray | None = None,
        exact: bool = False,
        most_bytes: int = 0,
        sq: np.ndarray | None = None,
    ) -> None:
        if centre is not None:
            centre = centre.astype(np.result_type(X.dtype, work))
        self._sq = sq_norms(X, centre) if sq is None else sq  # in float64, less the centre
        super().__init__(X, kernel, work, exact, self._sq)
        self.centre = centre
        # Rows that would be centred, or changed in type, for every tile are copied so once, if memory allows it.
        copies = (centre is not None or X.dtype != self.work) and X.size * self.work.itemsize <= most_bytes
        self._moved = (X if centre is None else X - centre).astype(self.work) if copies else None
        self.nbytes = 0 if self._moved is None else self._moved.nbytes

    def _longest(self) -> int:
        return proved_terms(self.points.shape[1], self.work)

    @property
    def finer(self) -> Points | None:  # type: ignore[override]
        """The same rows in float64."""
        if self.dtype == np.float64:
            return None
        return DensePoints(self.points, self.kernel, np.float64, self.centre, exact=True, sq=self._sq)

    def _take(self, numbers: np.ndarray) -> np.ndarray:
        points = self.points if self._moved is None else self._moved
        first = int(numbers[0]) if len(numbers) else 0
        consecutive = len(numbers) and numbers[-1] - first == len(numbers) - 1 and (np.diff(numbers) == 1).all()
        part = points[first : first + len(numbers)] if consecutive else points.take(numbers, axis=0)
        if self.centre is not None and self._moved is None:
            part = part - self.centre
        return part.astype(self.work, copy=False)

    def products(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By one product of matrices."""
        mine, theirs = self._take(rows), self._taken_once(columns, self._take).T
        if mine.shape[1] == 1:
            np.multiply(mine, theirs, out=out)  # three times as fast
            return
        if self.work == np.float64:
            np.matmul(mine, theirs, out=out)
            return
        np.matmul(mine[:, :PIECE], theirs[:PIECE], out=out)
        more = np.empty_like(out) if mine.shape[1] > PIECE else out
        for lo in range(PIECE, mine.shape[1], PIECE):
            np.matmul(mine[:, lo : lo + PIECE], theirs[lo : lo + PIECE], out=more)
            out += more


class SparsePoints(TablePoints):
    """Compressed rows; those asked for are written out in full where they are not very thin."""

    points: sp.csr_array

    def __init__(self, S: sp.csr_array, kernel: Kernel, work: DTypeLike, exact: bool = False) -> None:
        super().__init__(S, kernel, work, exact, sq_norms(S))
        # Below this density a product of two compressed matrices is faster than one with a full matrix.
        self._thin = S.nnz < 0.03 * S.shape[0] * S.shape[1]

    def _longest(self) -> int:
        return int(np.diff(self.points.indptr).max(initial=0))

    @property
    def finer(self) -> Points | None:  # type: ignore[override]
        """The same rows in float64."""
        return None if self.dtype == np.float64 else SparsePoints(self.points, self.kernel, np.float64, True)

    def _take(self, numbers: np.ndarray) -> sp.csr_array:
        return self.points[numbers].astype(self.work, copy=False)

    def products(self, rows: np.ndarray, columns: np.ndarray, out: np.ndarray) -> None:
        """By one product of a compressed matrix with another, or with a full one."""
        mine, theirs = self._take(rows), self._take(columns)
        if self._thin:
            (mine @ theirs.T).toarray(out=out)
        else:
            out[...] = (theirs @ np.ascontiguousarray(mine.toarray().T)).T


def proved_terms(d: int, work: DTypeLike) -> int:
    """Roundings of an inner product of d terms, at most, as `DensePoints` computes it."""
    return min(d, PIECE) + -(-d // PIECE) if work == np.float32 else d


def sq_norms(X: Stored, centre: np.ndarray | None = None) -> np.ndarray:
    """Squared norms of the rows, dense ones less the centre, in float64."""
    sq = np.empty(X.shape[0])
    step = max(1, BLOCK_CELLS * len(sq) // max(1, X.size))
    with np.errstate(over="ignore"):  # who asks says what is too large
        for lo in range(0, len(sq), step):
            out = sq[lo : lo + step]
            if isinstance(X, np.ndarray):
                part = X[lo : lo + step].astype(np.float64)
                part = part if centre is None else part - centre
                np.vecdot(part, part, out=out)
            else:
                starts = X.indptr[lo : lo + step + 1]
                squares = X.data[starts[0] : starts[-1]].astype(np.float64) ** 2
                out[:] = np.bincount(np.repeat(np.arange(len(out)), np.diff(starts)), squares, len(out))
    return sq


@compiled
def _half_distances(G, own, other, least, out):
    """``out = G - own - other``, which is minus half a squared distance, rounded at the end."""
    for r in range(len(own)):
        a = own[r]
        for c in range(len(other)):
            half = (G[r, c] - a) - other[c]
            out[r, c] = least if half < least else half


class WeightVector:
    """:math:`\\sum_j\\beta_j\\langle x_j, x_i\\rangle = \\langle w, x_i\\rangle`, where
    :math:`w = \\sum_j\\beta_jx_j`.

    Where the βx are large and cancel, which C and unscaled features bring about, inner products in float64
    lose what is left. Here w is summed without loss (Ogita, Rump and Oishi 2005) and rounded once: the error
    is relative to ‖w‖, and not to :math:`\\sum_j|\\beta_j|\\|x_j\\|`. It costs one multiplication for
    each value in the rows that are read.
    """

    finer = None

    def __init__(self, points: Stored) -> None:
        self.rows, self.evals = points, 0
        self.norms = np.sqrt(sq_norms(points))

    def error(self, size: np.ndarray, terms: float) -> np.ndarray:
        """As `Gram.error`, before the sums are made: nothing is known of ‖w‖ then, so little is promised."""
        return 4.0 * (self.rows.shape[1] + terms) * UNIT * float(size @ self.norms) * self.norms

    def again(self, i: np.ndarray, coef: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``coef @ K[i, columns]``, and a bound on the error of each."""
        self.evals += len(i) + len(columns)
        w, matrix = weight_vector(self.rows, i, coef), as_matrix(self.rows, checked=True)
        lost = (len(i) * UNIT) ** 2 * 4.0 * float(np.abs(coef) @ self.norms[i])
        norm = float(np.linalg.norm(w))
        error = ((matrix.max_row_cells + 4) * UNIT * norm + lost) * self.norms[columns]
        return matrix.responses_at(columns, w), error


def weight_vector(rows: Stored, i: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """The sum of these rows times `coef`, in twice the precision, rounded once."""
    sums, rest = np.zeros((2, rows.shape[1] + 1))  # the last sum is that of coef
    for lo in range(0, len(i), 1024):
        part = as_matrix(rows[i[lo : lo + 1024]], checked=True)
        part.combine_finely(np.ascontiguousarray(coef[lo : lo + 1024], np.float64), 0, part.n, sums, rest)
    return (sums + rest)[:-1]
