"""The span of a linear machine of many rows and features, estimated by random directions.

With H as in `leverage`, Gaussian :math:`g, e` and :math:`z = R^{1/2}g + \\sum_{i\\in F}\\tilde x_ie_i/\\sqrt{\\rho_i}`,
which has the covariance H, the solution of :math:`Hu = z` has the covariance :math:`H^{-1}`, so that

.. math:: \\mathrm E(\\tilde x_i^\\top u)^2 = h_i, \\qquad
          \\mathrm E\\Big(e_i - \\frac{\\tilde x_i^\\top u}{\\sqrt{\\rho_i}}\\Big)^2 = 1 - h_i/\\rho_i \\;(i \\in F),

and :math:`S_i^2` is a quotient of two means of squares. All systems are solved at once, by conjugate gradients with
the diagonal of H. If features were uncorrelated, H would be that diagonal: this is the first guess. The means of a few
probes are noisy: they tell by which factor the first guess is off, and a single row is drawn to it, as much as the
spread of the squares is noise.

Cost: two passes over the rows on the margin, and in each of some ten steps two products of them with as many columns as
there are probes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked

STEPS = 60


class Effort(NamedTuple):
    """How many probes, and the share of z at which residuals end."""

    probes: int
    near: float


def first_guess(rows: Features, asked: Asked, diagonal: np.ndarray) -> np.ndarray:
    """:math:`S_i^2` as if features were uncorrelated."""
    free, rho, judged, place = asked
    part = _squared(rows.X[judged])
    own = np.where(place >= 0, 1.0 / rho[np.maximum(place, 0)], 0.0) if len(free) else np.zeros(len(judged))
    least = rows.penalty[:-1] + np.finfo(float).tiny
    if sp.issparse(part):
        share = np.repeat(own, np.diff(part.indptr)) * part.data
        part.data = part.data / np.maximum(diagonal[part.indices] - share, least[part.indices])
        guess = np.asarray(part.sum(axis=1)).ravel()
    else:
        guess = (part / np.maximum(diagonal[:-1] - own[:, None] * part, least)).sum(axis=1)
    return guess + (rows.constant**2 / diagonal[-1] if rows.constant else 0.0)


def spans_by_probes(
    rows: Features, asked: Asked, diagonal: np.ndarray, guess: np.ndarray, effort: Effort
) -> np.ndarray:
    """:math:`S_i^2` of the rows that are judged, about, from the diagonal of H and the first guess."""
    free, rho, judged, place = asked
    probes = effort.probes
    rng = np.random.default_rng(0)  # the same call gives the same bits
    X: Any = _rows_of(rows, free).astype(np.float32, copy=False)
    root = np.sqrt(1.0 / rho).astype(np.float32)[:, None]
    constant, penalty = np.float32(rows.constant), rows.penalty.astype(np.float32)[:, None]
    e = rng.standard_normal((len(free), probes), np.float32)
    g = rng.standard_normal((rows.width, probes), np.float32)

    def back(coef: np.ndarray) -> np.ndarray:
        return np.concatenate([X.T @ coef, constant * coef.sum(axis=0, keepdims=True)])

    def there(part: Any, u: np.ndarray) -> np.ndarray:
        return part @ u[:-1] + constant * u[-1]

    z = np.sqrt(penalty) * g + back(root * e)
    scale = diagonal.astype(np.float32)[:, None]
    u = _solved(lambda v: penalty * v + back(root**2 * there(X, v)), z, scale, effort.near)
    along = there(rows.X[judged].astype(np.float32, copy=False), u)
    inside = np.flatnonzero(place >= 0)
    own = place[inside]
    found = (along.astype(np.float64) ** 2).mean(axis=1)
    left = (e[own] - along[inside] * root[own]).astype(np.float64)
    kept = rho[own] / (rho[own] + guess[inside])
    found[inside] /= np.maximum(_drawn((left**2).mean(axis=1), kept, probes), 1e-6)
    return _drawn(found, guess, probes)


def _rows_of(rows: Features, free: np.ndarray) -> Any:
    return rows.X if len(free) == rows.X.shape[0] else rows.X[free]


def diagonal_of(rows: Features, free: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """The diagonal of H; 1 for a bias that is not there."""
    features = rows.penalty[:-1] + _squared(_rows_of(rows, free)).T @ (1.0 / rho)
    bias = rows.penalty[-1] + rows.constant**2 * float((1.0 / rho).sum())
    return np.append(features, bias if rows.constant else 1.0)


def _drawn(estimate: np.ndarray, first: np.ndarray, probes: int) -> np.ndarray:
    """Estimates drawn to a multiple of a first guess, by how much of their spread is noise."""
    if not first.any():
        return estimate
    level = float(estimate.sum() / first.sum())
    ratio = estimate / np.where(first > 0.0, first, 1.0)
    mean_square = float(np.mean(ratio**2)) / (1.0 + 2.0 / probes)
    spread, noise = max(0.0, mean_square - level**2), 2.0 / probes * mean_square
    share = spread / (spread + noise) if spread > 0.0 else 0.0
    return first * (level + share * (ratio - level))


def _solved(times: Callable[[np.ndarray], np.ndarray], z: np.ndarray, diagonal: np.ndarray, near: float) -> np.ndarray:
    """H⁻¹z for every column of z, until residuals are a share `near` of it."""
    u, residual = np.zeros_like(z), z.copy()
    p = residual / diagonal
    rp, tiny = np.einsum("ij,ij->j", residual, p), np.finfo(np.float32).tiny
    target = near**2 * rp
    for _ in range(STEPS):
        if (rp <= target).all():
            break
        Hp = times(p)
        step = rp / np.maximum(np.einsum("ij,ij->j", p, Hp), tiny)
        u += step * p
        residual -= step * Hp
        scaled = residual / diagonal
        rp, before = np.einsum("ij,ij->j", residual, scaled), rp
        p *= rp / np.maximum(before, tiny)
        p += scaled
    return u


def _squared(X: Any) -> Any:
    """The squares of all entries, in float64."""
    if sp.issparse(X):
        return sp.csr_array((X.data.astype(np.float64) ** 2, X.indices, X.indptr), shape=X.shape)
    return X.astype(np.float64) ** 2
