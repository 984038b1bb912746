"""Which way to the spans of a linear machine is the shortest."""

import numpy as np

from hinge.calibration.features import Features
from hinge.calibration.left_out import Asked
from hinge.calibration.leverage import spans_by_features
from hinge.calibration.probes import spans_by_probes
from hinge.calibration.span import MOST_FREE, spans_by_kernel

MOST_WORK = 1e10
"""Operations, about a second, up to which spans are computed rather than estimated."""


def linear_spans(rows: Features, asked: Asked) -> np.ndarray:
    """By features where these are few, by inner products where the rows on the margin are, else by probes."""
    m, d, judged = float(len(asked.free)), float(rows.width), float(len(asked.judged))
    by_features = (m + judged) * d * d + d**3
    by_products = m * m * (m + judged + d) if m <= MOST_FREE else np.inf
    if min(by_features, by_products) > MOST_WORK:
        return spans_by_probes(rows, asked)
    free_bias = bool(rows.constant) and rows.penalty[-1] == 0.0
    if by_features < by_products or not rows.penalty[:-1].all():
        return spans_by_features(rows, asked)
    return spans_by_kernel(rows.products, rows.sq_norms, free_bias, asked)
