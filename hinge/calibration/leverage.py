"""The span of a linear machine by its features, where rows are many.

With :math:`H = R + \\sum_{i\\in F}\\tilde x_i\\tilde x_i^\\top/\\rho_i`, where :math:`\\tilde x` is x with the feature
of the bias and R the penalty (the identity; 0 for what is not penalised),

.. math:: h_i = \\tilde x_i^\\top H^{-1}\\tilde x_i, \\qquad S_i^2 = h_i \\;(i \\notin F), \\qquad
          S_i^2 = \\frac{h_i}{1 - h_i/\\rho_i} \\;(i \\in F),

which is what `span` computes from inner products. For the squared hinge it is exact while no row comes to the margin
or leaves it: :math:`1 - y_if_i^{(-i)} = (1 - y_if_i)/(1 - h_i/\\rho_i)`.

Cost: :math:`O((|F| + m)d^2 + d^3)`.
"""

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked

TRIES = 12
BLOCK_CELLS = 1 << 21


def spans_by_features(rows: Features, asked: Asked) -> np.ndarray:
    """:math:`S_i^2` of the rows that are judged."""
    free, rho, judged, place = asked
    step = max(1, BLOCK_CELLS // rows.width)
    H = np.diag(rows.penalty)
    for lo in range(0, len(free), step):
        scaled = rows.dense(free[lo : lo + step]) / np.sqrt(rho[lo : lo + step, None])
        H += scaled.T @ scaled
    L = _factor(H)
    h = np.empty(len(judged))
    for lo in range(0, len(judged), step):
        some = slice(lo, lo + step)
        v = solve_triangular(L, rows.dense(judged[some]).T, lower=True, check_finite=False)
        h[some] = np.einsum("ij,ij->j", v, v)
    inside = place >= 0
    own = rho[place[inside]]
    h[inside] /= np.maximum(1.0 - h[inside] / own, np.finfo(float).eps)
    return h


def _factor(H: np.ndarray) -> np.ndarray:
    added = 1e-14 * float(np.trace(H)) / len(H) or 1.0
    for _ in range(TRIES):
        try:
            return cholesky(H + added * np.eye(len(H)), lower=True, check_finite=False)
        except LinAlgError:  # features that are not penalised, and of which too few rows tell
            added *= 10.0
    return np.diag(np.sqrt(np.diagonal(H) + added))
