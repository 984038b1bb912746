"""The span by kernel values: how far a row is from what the rows on the margin span.

With :math:`M = K_{FF} + \\operatorname{diag}(\\rho)` over the rows F on the margin,

.. math:: S_i^2 = 1/(M^{-1})_{ii} - \\rho_i \\;(i \\in F), \\qquad
          S_i^2 = K_{ii} - k_i^\\top M^{-1}k_i \\;(i \\notin F),

and where the bias is free, M is bordered by ones, so that combinations of rows have coefficients that sum to one:
:math:`M^{-1}` becomes :math:`M^{-1} - uu^\\top/\\mathbf 1^\\top u` with :math:`u = M^{-1}\\mathbf 1`, and
:math:`S_i^2` of the others grows by :math:`(1 - k_i^\\top u)^2/\\mathbf 1^\\top u`.

Cost: :math:`|F|(|F| + m)` kernel values and :math:`O(|F|^3 + |F|^2m)` operations for m rows beside F.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.linalg.lapack import get_lapack_funcs

from hinge.calibration.left_out import Asked

Values: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Gives K(x, z) of some rows and some others, by their numbers."""
OwnValues: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Gives K(x, x) of some rows."""

MOST_FREE = 4096
"""Rows on the margin up to which all of them count; of more, this many in even steps."""
FAINT = {"f": 1e-4, "d": 1e-9}
"""Share of the mean of K(x, x) that is added to the diagonal, at least, by type: rows may be there twice."""
TRIES = 12
BLOCK_ROWS = 1024


def spans_by_kernel(values: Values, own_values: OwnValues, free_bias: bool, asked: Asked) -> np.ndarray:
    """:math:`S_i^2` of the rows that are judged."""
    free, rho, judged, place = asked
    if len(free) > MOST_FREE:
        some = np.arange(MOST_FREE) * len(free) // MOST_FREE
        where = np.full(len(free) + 1, -1)  # the last is for rows that are not among them
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
    """:math:`L^{-1}` of :math:`LL^\\top = K + \\operatorname{diag}(\\rho) + r`, and r: the least that lets it exist."""
    added, diagonal = FAINT[K.dtype.char] * (mean or 1.0), np.diagonal(K).copy()
    for _ in range(TRIES):
        np.fill_diagonal(K, diagonal + rho + added)
        try:
            L = cholesky(K, lower=True, check_finite=False)
            return get_lapack_funcs("trtri", (L,))(L, lower=1, overwrite_c=1)[0], added
        except LinAlgError:  # a kernel that is not positive
            added *= 10.0
    return np.diag(1.0 / np.sqrt(np.maximum(diagonal, 0.0) + rho + added)), added
