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

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked

TRIES = 12
BLOCK_CELLS = 1 << 21
SIGNS = 64
"""Rows k of G: the standard deviation of a span is a sixth of it."""
MOST_SHARE = 0.3
"""Random signs are accurate enough if the mean leverage of the rows on the margin is at most this."""
MOST_MOVES = 4
"""The sum is made anew when this many times its number of rows have been added to it or removed."""


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
    """

    share: np.ndarray | None = None
    H: np.ndarray | None = None
    moved: int = 0

    def of(self, rows: Features, free: np.ndarray, rho: np.ndarray) -> np.ndarray:
        """The sum over the rows `free`; by updating the last one if few rows were added or removed."""
        share = np.zeros(rows.X.shape[0])
        share[free] = 1.0 / rho
        if self.share is not None and self.H is not None:
            both = np.flatnonzero((self.share > 0) & (share > 0))
            factor = float(np.median(share[both] / self.share[both])) if len(both) else 1.0
            apart = share - factor * self.share
            other = np.flatnonzero(np.abs(apart) > np.finfo(np.float32).eps * share.max(initial=0.0))
            self.moved += len(other)
            if 2 * len(other) < len(free) and self.moved < MOST_MOVES * len(free):
                self.H *= factor
                for sign in (-1.0, 1.0):
                    some = other[sign * apart[other] > 0]
                    self.H += sign * _sum_of_squares(rows, some, np.abs(apart[some]))
                self.share = share
                return self.H.copy()
        self.share, self.moved = share, 0
        self.H = _sum_of_squares(rows, free, 1.0 / rho)
        return self.H.copy()


def _sum_of_squares(rows: Features, some: np.ndarray, share: np.ndarray) -> np.ndarray:
    H, step = np.zeros((rows.width, rows.width)), max(1, BLOCK_CELLS // rows.width)
    for lo in range(0, len(some), step):
        scaled = rows.dense(some[lo : lo + step]) * np.sqrt(share[lo : lo + step, None])
        H += scaled.T @ scaled
    return H


def spans_by_features(rows: Features, asked: Asked, kept: Squares | None = None, signs: int = 0) -> np.ndarray:
    """:math:`S_i^2` of the rows that are asked for; an estimate, if a number of random signs is given.

    Random signs serve only where leverages are small: near 1, their error would dominate :math:`1 - h_i/\\rho_i`.
    """
    free, rho, judged, place = asked
    H = (Squares() if kept is None else kept).of(rows, free, rho)
    H[np.diag_indices(len(H))] += rows.penalty
    L, inside = _factor(H), place >= 0
    own = rho[place[inside]]
    h = _by_signs(rows, L, judged, signs) if signs else None
    if h is None or (inside.any() and float(np.mean(h[inside] / own)) > MOST_SHARE):
        h = _by_all(rows, L, judged)
    h[inside] /= np.maximum(1.0 - h[inside] / own, np.finfo(float).eps)
    return h


def _by_signs(rows: Features, L: np.ndarray, judged: np.ndarray, signs: int) -> np.ndarray:
    G = np.random.default_rng(0).choice((-1.0, 1.0), (rows.width, signs))  # a fixed seed: results are reproducible
    V = solve_triangular(L, G, lower=True, trans="T", check_finite=False)
    v = rows.times(judged, V)
    return np.einsum("ij,ij->i", v, v) / signs


def _by_all(rows: Features, L: np.ndarray, judged: np.ndarray) -> np.ndarray:
    h, step = np.empty(len(judged)), max(1, BLOCK_CELLS // rows.width)
    for lo in range(0, len(judged), step):
        some = slice(lo, lo + step)
        v = solve_triangular(L, rows.dense(judged[some]).T, lower=True, check_finite=False)
        h[some] = np.einsum("ij,ij->j", v, v)
    return h


def _factor(H: np.ndarray) -> np.ndarray:
    added = 1e-14 * float(np.trace(H)) / len(H) or 1.0
    for _ in range(TRIES):
        try:
            return cholesky(H + added * np.eye(len(H)), lower=True, check_finite=False)
        except LinAlgError:  # H is singular: features without a penalty, and too few rows
            added *= 10.0
    return np.diag(np.sqrt(np.diagonal(H) + added))
