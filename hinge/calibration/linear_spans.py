"""Which way to the spans of a linear machine is the shortest that will do."""

import numpy as np

from hinge.calibration.features import Features
from hinge.calibration.guess import first_guess
from hinge.calibration.left_out import Asked
from hinge.calibration.leverage import SIGNS, Squares, spans_by_features
from hinge.calibration.probes import NEAR, STEPS, Guesses, spans_by_probes
from hinge.calibration.span import MOST_FREE, spans_by_kernel

FAINT = 1e-9
"""Share of the rows' typical squared norm that ρ is at least."""
LITTLE, SOME = 0.03, 0.3
"""Mean share of its loss that a row takes back: up to the first rows are alike, up to the second a guess will do."""
NO_WORK = 1e6
"""Operations that nobody notices."""
MOST_WIDE = 2048
"""Features of which sums of squares are made."""
FLOPS = 16.0
"""Of a matrix product, in the time that a cell of a row takes."""
FEW, MANY = 12.0, 40.0
"""Passes over the rows on the margin that a guess, and that probes, take."""
FEW_FREE, PATIENCE, FAR = 1024, 16, 0.3
"""Where so many steps do not solve the system of no more rows, it is factored instead; where errors are counted, that
is done only if all steps leave so large a share of it."""


def linear_spans(rows: Features, asked: Asked, kept: Squares | None = None) -> np.ndarray:
    """By a guess where rows hardly matter; else exactly, or by random signs or probes where these take less.

    The shares of their losses that the rows on the margin take back sum up to no more than there are features. Where
    rows are many for that, each is taken for the mean, and no data is read. That, and guesses, will do for
    probabilities. Errors are counted by single rows: where features are few enough for a sum of squares, `kept` asks
    for spans by random signs, and has the last such sum.
    """
    asked = asked._replace(rho=np.maximum(asked.rho, FAINT * rows.typical_sq_norm()))
    free, rho, judged, place = asked
    m, d, more = float(len(free)), float(rows.width), float(np.count_nonzero(place < 0))
    ridge, free_bias = bool(rows.penalty[:-1].all()), bool(rows.constant) and rows.penalty[-1] == 0.0
    by_features = (m + len(judged)) * d * d + d**3
    by_products = m * (m + more) * (m + rows.cells_per_product) if ridge and m <= MOST_FREE else np.inf
    work = min(by_features, by_products)
    if kept is None and work > NO_WORK and d < LITTLE * m:
        return np.full(len(judged), d / (m - d) * float(np.median(rho)))
    passes = work / (FLOPS * max(1.0, m) * rows.cells_per_row)
    if kept is not None and passes > FEW and d <= MOST_WIDE and by_features < by_products:
        return spans_by_features(rows, asked, kept, SIGNS)
    if ridge and work > NO_WORK and passes > FEW:
        guesses = Guesses(*first_guess(rows, asked))
        if float(np.mean(guesses.free / (guesses.free + rho))) < SOME:
            return guesses.judged
        if passes > MANY:
            few, counted = m <= FEW_FREE, kept is not None
            steps, far = (PATIENCE, NEAR) if few and not counted else (STEPS, FAR if few else np.inf)
            found = spans_by_probes(rows, asked, guesses, steps, far, counted=counted)
            if found is not None:
                return found
    if by_features < by_products:
        return spans_by_features(rows, asked, kept)
    return spans_by_kernel(rows.products, rows.sq_norms, free_bias, asked)
