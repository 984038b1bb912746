"""The span of a linear classifier from a d × d system over its features, for many rows.

With :math:`H = R + \\sum_{i\\in F}\\tilde x_i\\tilde x_i^\\top/\\rho_i`, where F are the rows on the margin,
:math:`\\tilde x` is x with the constant feature, and R is the diagonal of the penalty (1; 0 if not penalised),

.. math:: h_i = \\tilde x_i^\\top H^{-1}\\tilde x_i, \\qquad S_i^2 = h_i \\;(i \\notin F), \\qquad
          S_i^2 = \\frac{h_i}{1 - h_i/\\rho_i} \\;(i \\in F),

which equals what `span` computes from inner products. :math:`h_i/\\rho_i`, the leverage of row i, is the fraction by
which the row's own presence reduces its loss: for the squared hinge
:math:`1 - y_if_i^{(-i)} = (1 - y_if_i)/(1 - h_i/\\rho_i)` is exact while no row comes to the margin or leaves it.

Cost: :math:`O((|F| + m)d^2 + d^3)` for m rows. With :math:`H = LL^\\top` and a matrix G of k rows of random signs,

.. math:: h_i = |L^{-1}\\tilde x_i|^2 \\approx \\tfrac1k|GL^{-1}\\tilde x_i|^2,

without bias and with a standard deviation of :math:`h_i\\sqrt{2/k}`, in :math:`O(|F|d^2 + d^3 + mdk)`
(Drineas, Magdon-Ismail, Mahoney and Woodruff, *Fast Approximation of Matrix Coherence and Statistical Leverage*, 2012).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from hinge.access import Matrix, as_matrix
from hinge.access.matrix import ROW_BLOCK_CELLS
from hinge.calibration.left_out import SpanRequest
from hinge.types import Stored


@dataclass(frozen=True)
class LinearRows:
    """Rows of a linear classifier with the constant feature of its bias.

    Attributes
    ----------
    X : ndarray or CSR of shape (n, d)
        Without the columns that the classifier does not use.
    constant : float
        Value of the constant feature; 0 without a bias.
    penalty : ndarray of shape (d + 1,)
        Diagonal of the penalty's Hessian: 1, or 0 for a weight that is not penalised.
    """

    X: Stored
    constant: float
    penalty: np.ndarray

    @cached_property
    def matrix(self) -> Matrix:
        """The rows for compiled code; its reads are not counted with the fit."""
        return as_matrix(self.X, checked=True)

    @property
    def width(self) -> int:
        """Number of features, the constant one included."""
        return self.X.shape[1] + 1

    @property
    def cells_per_row(self) -> float:
        """Mean number of stored entries of a row, the constant feature included."""
        X: Any = self.X
        return X.nnz / max(1, X.shape[0]) + 1.0 if sp.issparse(X) else float(self.width)

    @property
    def cells_per_product(self) -> float:
        """The same, in units of the time of an entry in a dense inner product: a sparse one takes about eight."""
        return self.cells_per_row * (8.0 if sp.issparse(self.X) else 1.0)

    def dense(self, rows: np.ndarray) -> np.ndarray:
        """Some rows in float64, with the constant feature."""
        part: Any = self.X[rows]
        out = np.empty((len(rows), self.width))
        out[:, :-1] = part.toarray() if sp.issparse(part) else part
        out[:, -1] = self.constant
        return out

    def times(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """⟨x, v⟩ for some rows x and all columns v of V, the last entries of which belong to the bias; in X's dtype."""
        X: Any = self.X
        return self._rows_of(rows) @ V[:-1].astype(X.dtype, copy=False) + self.constant * V[-1]

    def products(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """⟨x, z⟩ for some rows and some others, with the constant feature if the bias is penalised."""
        one = self._some(rows)
        other = one if others is rows else self._some(others)
        dots = one @ other.T
        return (dots.toarray() if sp.issparse(dots) else dots) + self.constant**2 * self.penalty[-1]

    def sq_norms(self, rows: np.ndarray) -> np.ndarray:
        """Squared norms of some rows, with the constant feature if the bias is penalised."""
        part = self._some(rows)
        sq = part.multiply(part).sum(axis=1) if sp.issparse(part) else np.einsum("ij,ij->i", part, part)
        return np.asarray(sq).ravel() + self.constant**2 * self.penalty[-1]

    def typical_sq_norm(self) -> float:
        """The median of the squared norms of eight rows; 1 if it is zero."""
        return self.matrix.typical_sq_norm(8) + self.constant**2 * self.penalty[-1] or 1.0

    def responses(self, rows: np.ndarray, v: np.ndarray) -> np.ndarray:
        """⟨x, v⟩ of some rows; the last entry of v belongs to the constant feature."""
        return self.matrix.responses_at(rows, v[:-1]) + self.constant * v[-1]

    def combination(self, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """The sum of some rows times their coefficients, with the constant feature."""
        every, v = np.zeros(self.X.shape[0]), np.zeros(self.width)
        every[rows] = coef
        self.matrix.combine(every, 0, len(every), v[:-1])
        v[-1] = self.constant * coef.sum()
        return v

    def _some(self, rows: np.ndarray) -> Any:
        """Some rows in float64."""
        return self._rows_of(rows).astype(np.float64, copy=False)

    def _rows_of(self, rows: np.ndarray) -> Any:
        """Some rows; not copied if they are all rows, in order."""
        X: Any = self.X
        return X if len(rows) == X.shape[0] and (rows[1:] > rows[:-1]).all() else X[rows]


SIGNS = 64
"""Rows k of G: the standard deviation of a span is a sixth of it."""
MOST_LEVERAGE = 0.3
"""Mean leverage of the rows on the margin up to which approximations are accurate enough: beyond it, errors of the
leverage h are amplified by 1/(1 - h)."""


@dataclass
class Squares:
    """The last sum :math:`\\sum_ix_ix_i^\\top/\\rho_i`, updated for the next one: along a path of C few rows change.

    Attributes
    ----------
    share : ndarray of shape (n,), optional
        :math:`1/\\rho_i` of the rows in the sum, 0 of the others; None before the first sum.
    H : ndarray of shape (d + 1, d + 1)
    moved : int
        Rows added or removed since the sum was last made anew.
    most_moves : int
        The sum is made anew when this many times its number of rows have been added or removed, against rounding.
    """

    share: np.ndarray | None = None
    H: np.ndarray | None = None
    moved: int = 0
    most_moves: int = 4

    def sum_over(self, rows: LinearRows, free: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """The sum over the rows `free`; by updating the last one if few rows were added or removed."""
        share = np.zeros(rows.X.shape[0])
        share[free] = 1.0 / rho
        if self.share is not None and self.H is not None:
            both = np.flatnonzero((self.share > 0) & (share > 0))
            factor = float(np.median(share[both] / self.share[both])) if len(both) else 1.0
            apart = share - factor * self.share
            other = np.flatnonzero(np.abs(apart) > np.finfo(np.float32).eps * share.max(initial=0.0))
            self.moved += len(other)
            if 2 * len(other) < len(free) and self.moved < self.most_moves * len(free):
                self.H *= factor
                for sign in (-1.0, 1.0):
                    some = other[sign * apart[other] > 0]
                    self.H += sign * _sum_of_squares(rows, some, np.abs(apart[some]))
                self.share = share
                return self.H.copy()
        self.share, self.moved = share, 0
        self.H = _sum_of_squares(rows, free, 1.0 / rho)
        return self.H.copy()


def _sum_of_squares(rows: LinearRows, some: np.ndarray, share: np.ndarray) -> np.ndarray:
    H, step = np.zeros((rows.width, rows.width)), max(1, ROW_BLOCK_CELLS // rows.width)
    for lo in range(0, len(some), step):
        scaled = rows.dense(some[lo : lo + step]) * np.sqrt(share[lo : lo + step, None])
        H += scaled.T @ scaled
    return H


def spans_by_features(rows: LinearRows, asked: SpanRequest, kept: Squares | None = None, signs: int = 0) -> np.ndarray:
    """:math:`S_i^2` of the rows that are asked for; an estimate, if a number of random signs is given.

    Random signs serve only where leverages are small: near 1, their error would dominate :math:`1 - h_i/\\rho_i`.
    """
    free, rho, judged, place = asked
    H = (Squares() if kept is None else kept).sum_over(rows, free, rho)
    H[np.diag_indices(len(H))] += rows.penalty
    L, inside = _factor(H), place >= 0
    own = rho[place[inside]]
    h = _by_signs(rows, L, judged, signs) if signs else None
    if h is None or (inside.any() and float(np.mean(h[inside] / own)) > MOST_LEVERAGE):
        h = _by_all(rows, L, judged)
    h[inside] /= np.maximum(1.0 - h[inside] / own, np.finfo(float).eps)
    return h


def _by_signs(rows: LinearRows, L: np.ndarray, judged: np.ndarray, signs: int) -> np.ndarray:
    G = np.random.default_rng(0).choice((-1.0, 1.0), (rows.width, signs))  # a fixed seed: results are reproducible
    V = solve_triangular(L, G, lower=True, trans="T", check_finite=False)
    v = rows.times(judged, V)
    return np.einsum("ij,ij->i", v, v) / signs


def _by_all(rows: LinearRows, L: np.ndarray, judged: np.ndarray) -> np.ndarray:
    h, step = np.empty(len(judged)), max(1, ROW_BLOCK_CELLS // rows.width)
    for lo in range(0, len(judged), step):
        some = slice(lo, lo + step)
        v = solve_triangular(L, rows.dense(judged[some]).T, lower=True, check_finite=False)
        h[some] = np.einsum("ij,ij->j", v, v)
    return h


def _factor(H: np.ndarray) -> np.ndarray:
    added = 1e-14 * float(np.trace(H)) / len(H) or 1.0
    for _ in range(12):  # up to a matrix that is all diagonal
        try:
            return cholesky(H + added * np.eye(len(H)), lower=True, check_finite=False)
        except LinAlgError:  # H is singular: features without a penalty, and too few rows
            added *= 10.0
    return np.diag(np.sqrt(np.diagonal(H) + added))
