"""The spans of a linear classifier by the cheapest method that is accurate enough."""

import numpy as np

from hinge.calibration.features import Features
from hinge.calibration.guess import first_guess
from hinge.calibration.left_out import Asked
from hinge.calibration.leverage import SIGNS, Squares, spans_by_features
from hinge.calibration.probes import NEAR, STEPS, Guesses, spans_by_probes
from hinge.calibration.span import MOST_FREE, spans_by_kernel

FAINT = 1e-9
"""Lower limit of ρ, relative to the typical squared norm of a row."""
LITTLE, SOME = 0.03, 0.3
"""Mean leverage up to which all rows are given the same span, and up to which the first guess is accurate enough."""
NO_WORK = 1e6
"""Operations below which the exact method is always used."""
MOST_WIDE = 2048
"""Most features for which a d × d sum is made where errors are counted."""
FLOPS = 16.0
"""Operations of a matrix product in the time of reading one cell of a row."""
FEW, MANY = 12.0, 40.0
"""Cost of a first guess, and of probes, in passes over the rows on the margin."""
FEW_FREE, PATIENCE, FAR = 1024, 16, 0.3
"""If `PATIENCE` steps of conjugate gradients do not solve a system of at most `FEW_FREE` rows, it is factored instead;
where errors are counted, only if all steps leave a residual of more than `FAR`."""


def linear_spans(rows: Features, asked: Asked, kept: Squares | None = None) -> np.ndarray:
    """Spans by the first guess where leverages are small; else exact, or by random signs or probes if these cost less.

    The leverages of the rows on the margin sum up to at most the number of features d. If d is small compared with the
    number of rows, each row gets the mean, and no data is read. This, and the first guess, is accurate enough for
    probabilities. If `kept` is given, leave-one-out errors will be counted, which depend on single rows: then spans are
    computed by random signs if there are few enough features for a d × d sum. `kept` holds the last such sum.
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
