"""Which way to the spans of a linear machine is the shortest."""

import numpy as np

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.calibration.leverage import spans_by_features
from hinge.calibration.probes import Effort, diagonal_of, first_guess, spans_by_probes
from hinge.calibration.span import MOST_FREE, spans_by_kernel

FAINT = 1e-9
"""Share of the rows' mean squared norm that ρ is at least."""
NEGLIGIBLE, SOME, MUCH = 0.03, 0.3, 0.6
"""Mean share of its loss that a row takes back: below the first a guess will do, from the others on it matters."""
LITTLE_WORK, MUCH_WORK = 3e8, 1e10
"""Operations up to which spans are computed rather than estimated, below and above the last of these."""
ROUGH, FINE = Effort(1, 0.1), Effort(4, 0.03)
"""How they are estimated, below and above that in the middle."""


def linear_spans(rows: Features, asked: Asked) -> np.ndarray:
    """By features where these are few, by inner products where the rows on the margin are, else by probes.

    Where rows are many for their features, or C is small, hardly any row matters: then the first guess is enough.
    """
    asked = asked._replace(rho=np.maximum(asked.rho, FAINT * rows.typical_sq_norm(asked.free)))
    free, rho, judged, place = asked
    inside = place >= 0
    m, d, more = float(len(free)), float(rows.width), float(np.count_nonzero(~inside))
    by_features = (m + len(judged)) * d * d + d**3
    by_products = m * (m + more) * (m + rows.cells_per_row) if m <= MOST_FREE else np.inf
    if min(by_features, by_products) > LITTLE_WORK:
        diagonal = diagonal_of(rows, free, rho)
        guess = first_guess(rows, asked, diagonal)
        share = float(np.mean(guess / (guess + rho[place]))) if inside.all() else 1.0
        if share < NEGLIGIBLE:
            return guess
        if share < MUCH or min(by_features, by_products) > MUCH_WORK:
            return spans_by_probes(rows, asked, diagonal, guess, ROUGH if share < SOME else FINE)
    free_bias = bool(rows.constant) and rows.penalty[-1] == 0.0
    if by_features < by_products or not rows.penalty[:-1].all():
        return spans_by_features(rows, asked)
    return spans_by_kernel(rows.products, rows.sq_norms, free_bias, asked)
