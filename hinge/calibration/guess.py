"""A first approximation of the span of a linear classifier, as if features were uncorrelated.

With the diagonal of H (see `leverage`) in place of H,

.. math:: S_i^2 \\approx \\sum_j \\frac{x_{ij}^2}{H_{jj} - x_{ij}^2/\\rho_i},

where the contribution of row i itself is subtracted from H if it is on the margin. Cost: two passes over the rows.
"""

import numpy as np

from hinge.access import cell, held_row, span
from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.compiled import compiled


def first_guess(rows: Features, asked: Asked) -> tuple[np.ndarray, np.ndarray]:
    """:math:`S_i^2` of the rows on the margin, and of the rows that are asked for."""
    free, rho, judged, place = asked
    A, penalty = rows.matrix.unbilled, rows.penalty[:-1]
    diagonal = penalty.copy()
    _add_squares(A, free, 1.0 / rho, diagonal)
    inside = place >= 0
    others = judged[~inside]
    guess = np.empty(len(free) + len(others))
    own = np.concatenate([1.0 / rho, np.zeros(len(others))])
    _sum_shares(A, np.concatenate([free, others]), own, diagonal, penalty + np.finfo(float).tiny, guess)
    if rows.constant:
        guess += rows.constant**2 / (rows.penalty[-1] + rows.constant**2 * float((1.0 / rho).sum()))
    found = np.empty(len(judged))
    found[inside], found[~inside] = guess[place[inside]], guess[len(free) :]
    return guess[: len(free)], found


@compiled
def _add_squares(A, rows, scale, out):
    for k in range(len(rows)):
        row = held_row(A, rows[k])
        start, stop = span(A, row)
        for p in range(start, stop):
            j, x = cell(A, row, p)
            out[j] += scale[k] * np.float64(x) * np.float64(x)


@compiled
def _sum_shares(A, rows, own, diagonal, least, out):
    for k in range(len(rows)):
        row = held_row(A, rows[k])
        start, stop = span(A, row)
        total = 0.0
        for p in range(start, stop):
            j, x = cell(A, row, p)
            square = np.float64(x) * np.float64(x)
            if square > 0.0:
                total += square / max(diagonal[j] - own[k] * square, least[j])
        out[k] = total
