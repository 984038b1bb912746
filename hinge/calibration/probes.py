"""The span of a linear machine of many rows and features, estimated by random directions.

With H as in `leverage`, Gaussian :math:`g, e` and :math:`z = R^{1/2}g + \\sum_{i\\in F}\\tilde x_ie_i/\\sqrt{\\rho_i}`,
which has the covariance H, the solution of :math:`Hu = z` has the covariance :math:`H^{-1}`, so that

.. math:: \\mathrm E(\\tilde x_i^\\top u)^2 = h_i, \\qquad
          \\mathrm E\\Big(e_i - \\frac{\\tilde x_i^\\top u}{\\sqrt{\\rho_i}}\\Big)^2 = 1 - h_i/\\rho_i \\;(i \\in F),

and :math:`S_i^2` is a quotient of two means of squares. All systems are solved at once, by conjugate gradients with
the diagonal of H. The means of a few probes are noisy: each is drawn to what the diagonal alone predicts, as much as
the spread of the probes is larger than that of the rows.

Cost: a product of X with as many columns as there are probes, and one with its transpose, in each of some ten steps.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked

PROBES = 16
STEPS = 60
NEAR = 0.05
"""Residuals end at this share of z."""
FAINT = 1e-3
"""Share of the rows' mean squared norm that ρ is at least: with less, the systems take too many steps."""


def spans_by_probes(rows: Features, asked: Asked) -> np.ndarray:
    """:math:`S_i^2` of the rows that are judged, about."""
    free, rho, judged, place = asked
    rho = np.maximum(rho, FAINT * rows.mean_sq_norm(free))
    rng = np.random.default_rng(0)  # the same call gives the same bits
    X: Any = rows.X[free].astype(np.float32)
    root = np.sqrt(1.0 / rho).astype(np.float32)[:, None]
    constant, penalty = np.float32(rows.constant), rows.penalty.astype(np.float32)[:, None]
    e = rng.standard_normal((len(free), PROBES), np.float32)
    g = rng.standard_normal((rows.width, PROBES), np.float32)

    def back(coef: np.ndarray) -> np.ndarray:
        return np.concatenate([X.T @ coef, constant * coef.sum(axis=0, keepdims=True)])

    def there(part: Any, u: np.ndarray) -> np.ndarray:
        return part @ u[:-1] + constant * u[-1]

    squares = X.multiply(X).T @ root**2 if sp.issparse(X) else (X * X).T @ root**2
    diagonal = penalty + np.concatenate([squares, constant**2 * (root**2).sum(axis=0, keepdims=True)])
    diagonal[diagonal == 0.0] = 1.0  # a bias that is not there
    z = np.sqrt(penalty) * g + back(root * e)
    u = _solved(lambda v: penalty * v + back(root**2 * there(X, v)), z, diagonal)
    part: Any = rows.X[judged].astype(np.float32)
    along = there(part, u)
    squares = (
        part.multiply(part) @ (1.0 / diagonal[:-1]) if sp.issparse(part) else (part * part) @ (1.0 / diagonal[:-1])
    )
    first = np.asarray(squares, np.float64).ravel() + float(constant**2 / diagonal[-1, 0])
    h = _drawn((along.astype(np.float64) ** 2).mean(axis=1), first)
    inside = np.flatnonzero(place >= 0)
    own = place[inside]
    left = e[own] - along[inside] * root[own]
    kept = _drawn((left.astype(np.float64) ** 2).mean(axis=1), np.ones(len(inside)))
    h[inside] /= np.maximum(kept, 1e-6)
    return h


def _drawn(estimate: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Estimates drawn to a multiple of a first guess, by how much of their spread is noise."""
    if not len(estimate):
        return estimate
    level = float(estimate.sum() / first.sum()) if first.any() else 0.0
    ratio = estimate / np.where(first > 0.0, first, 1.0)
    mean_square = float(np.mean(ratio**2)) / (1.0 + 2.0 / PROBES)
    spread, noise = max(0.0, mean_square - level**2), 2.0 / PROBES * mean_square
    share = spread / (spread + noise) if spread > 0.0 else 0.0
    return first * (level + share * (ratio - level))


def _solved(times: Any, z: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """H⁻¹z for every column of z."""
    u, residual = np.zeros_like(z), z.copy()
    p = residual / diagonal
    rp = np.einsum("ij,ij->j", residual, p)
    target = NEAR**2 * rp
    for _ in range(STEPS):
        Hp = times(p)
        step = rp / np.maximum(np.einsum("ij,ij->j", p, Hp), np.finfo(np.float32).tiny)
        u += step * p
        residual -= step * Hp
        scaled = residual / diagonal
        rp, before = np.einsum("ij,ij->j", residual, scaled), rp
        if (rp <= target).all():
            break
        p = scaled + rp / np.maximum(before, np.finfo(np.float32).tiny) * p
    return u
