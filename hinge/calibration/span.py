"""The span from kernel values: the distance of a row from the span of the rows on the margin.

With :math:`M = K_{FF} + \\operatorname{diag}(\\rho)` over the rows F on the margin,

.. math:: S_i^2 = 1/(M^{-1})_{ii} - \\rho_i \\;(i \\in F), \\qquad
          S_i^2 = K_{ii} - k_i^\\top M^{-1}k_i \\;(i \\notin F),

and with a free bias M is bordered by ones, so that the coefficients of combinations of rows sum to one:
:math:`M^{-1}` becomes :math:`M^{-1} - uu^\\top/\\mathbf 1^\\top u` with :math:`u = M^{-1}\\mathbf 1`, and
:math:`S_i^2` of rows outside F grows by :math:`(1 - k_i^\\top u)^2/\\mathbf 1^\\top u`.

Cost: :math:`|F|(|F| + m)` kernel values and :math:`O(|F|^3 + |F|^2m)` operations for m rows outside F.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import get_lapack_funcs

from hinge.calibration.left_out import Asked

Values: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""A function that returns K(x, z) for some rows and some others, given by their indices."""
OwnValues: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""A function that returns K(x, x) for some rows."""

MOST_FREE = 4096
"""Most rows on the margin that are used; of more, this many evenly spaced ones."""
FAINT = {"f": 1e-4, "d": 1e-9}
"""Least amount added to the diagonal, relative to the mean of K(x, x), by dtype: two equal rows make K singular."""
TRIES = 12
BLOCK_ROWS = 1024


def spans_by_kernel(values: Values, own_values: OwnValues, free_bias: bool, asked: Asked) -> np.ndarray:
    """:math:`S_i^2` of the rows that are asked for."""
    free, rho, judged, place = asked
    if len(free) > MOST_FREE:
        some = np.arange(MOST_FREE) * len(free) // MOST_FREE
        where = np.full(len(free) + 1, -1)  # the last entry is for rows that are not on the margin
        where[some] = np.arange(MOST_FREE)
        free, rho, place = free[some], rho[some], where[place]
    if len(free) == 0:
        return own_values(judged)
    K, inside = values(free, free), place >= 0
    theirs, own = np.diagonal(K).astype(np.float64), np.empty(len(judged))
    own[inside], own[~inside] = theirs[place[inside]], own_values(judged[~inside])
    inverse, added = _inverse_factor(K, rho, float(theirs.mean()))
    rho = rho + added
    diagonal = np.einsum("ij,ij->j", inverse, inverse, dtype=np.float64)
    u = (inverse.T @ inverse.sum(axis=1)).astype(np.float64)
    total = float(u.sum())
    if free_bias:
        diagonal = diagonal - u * u / total
    found = np.empty(len(judged))
    with np.errstate(divide="ignore"):
        found[inside] = (1.0 / np.maximum(diagonal, 0.0) - rho)[place[inside]]
    outside = np.flatnonzero(~inside)
    for lo in range(0, len(outside), BLOCK_ROWS):
        rows = outside[lo : lo + BLOCK_ROWS]
        k = values(judged[rows], free)
        v = inverse @ k.T
        found[rows] = own[rows] - np.einsum("ij,ij->j", v, v)
        if free_bias:
            found[rows] += (1.0 - k @ u) ** 2 / total
    return np.clip(found, 0.0, own + float(theirs.max()))


def _inverse_factor(K: np.ndarray, rho: np.ndarray, mean: float) -> tuple[np.ndarray, float]:
    """:math:`L^{-1}` with :math:`LL^\\top = K + \\operatorname{diag}(\\rho) + r`, and the smallest r that works."""
    added, diagonal = FAINT[K.dtype.char] * (mean or 1.0), np.diagonal(K).copy()
    for _ in range(TRIES):
        np.fill_diagonal(K, diagonal + rho + added)
        try:
            L = cholesky(K, lower=True, check_finite=False)
            return get_lapack_funcs("trtri", (L,))(L, lower=1, overwrite_c=1)[0], added
        except LinAlgError:  # a kernel that is not positive semidefinite
            added *= 10.0
    return np.diag(1.0 / np.sqrt(np.maximum(diagonal, 0.0) + rho + added)), added
