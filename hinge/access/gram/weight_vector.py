"""Sums of linear kernel values by way of the weight vector, which is summed in twice the precision."""

import numpy as np

from hinge.access.gram.inner_points import sparse_sq_norms, sq_norms
from hinge.compiled import compiled
from hinge.types import Stored

UNIT = float(np.finfo(np.float64).eps) / 2
SPLIT = 2.0**27 + 1.0  # splits a float64 into two halves (Dekker)


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
        sq = sparse_sq_norms(points) if hasattr(points, "indptr") else sq_norms(points)
        self.norms = np.sqrt(sq)

    def error(self, size: np.ndarray, terms: float) -> np.ndarray:
        """As `Gram.error`, before the sums are made: nothing is known of ‖w‖ then, so little is promised."""
        return 4.0 * (self.rows.shape[1] + terms) * UNIT * float(size @ self.norms) * self.norms

    def again(self, i: np.ndarray, coef: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``coef @ K[i, columns]``, and a bound on the error of each."""
        self.evals += len(i) + len(columns)
        w = weight_vector(self.rows, i, coef)
        if hasattr(self.rows, "indptr"):
            mine = self.rows[columns]
            values, longest = mine @ w, int(np.diff(mine.indptr).max(initial=0))
        else:
            values, longest = np.empty(len(columns)), len(w)
            for lo in range(0, len(columns), 1024):
                values[lo : lo + 1024] = self.rows[columns[lo : lo + 1024]].astype(np.float64) @ w
        lost = (len(i) * UNIT) ** 2 * 4.0 * float(np.abs(coef) @ self.norms[i])
        norm = float(np.linalg.norm(w))
        return values, ((longest + 4) * UNIT * norm + lost) * self.norms[columns]


def weight_vector(rows: Stored, i: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """The sum of these rows times `coef`, in twice the precision, rounded once."""
    w, rest = np.zeros((2, rows.shape[1]))
    for lo in range(0, len(i), 1024):
        part, c = rows[i[lo : lo + 1024]], np.ascontiguousarray(coef[lo : lo + 1024], np.float64)
        if part.dtype != np.float32:  # compiled code takes neither other byte orders nor half or extended precision
            part = part.astype(np.float64, copy=False)
        if hasattr(part, "indptr"):
            _add_compressed(part.indptr, part.indices, part.data, c, w, rest)
        else:
            _add_rows(np.ascontiguousarray(part), c, w, rest)
    w += rest
    return w


@compiled
def _add_rows(X, coef, w, rest):
    for r in range(len(coef)):
        row = X[r]
        for k in range(len(w)):
            add_product(coef[r], np.float64(row[k]), k, w, rest)


@compiled
def _add_compressed(indptr, indices, data, coef, w, rest):
    for r in range(len(coef)):
        for at in range(indptr[r], indptr[r + 1]):
            add_product(coef[r], np.float64(data[at]), indices[at], w, rest)


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
