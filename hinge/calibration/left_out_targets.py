"""Leave-one-out predictions of a regression, computed from the solution without another fit."""

import numpy as np

from hinge.calibration.left_out import BAND, SolvedProblem, SpanRequest, Spans, left_out, spread_over


def left_out_targets(
    f: np.ndarray, t: np.ndarray, beta: np.ndarray, bound: np.ndarray, epsilon: float, curvature: float, spans: Spans
) -> np.ndarray:
    """Leave-one-out predictions of a regression, for all rows.

    The prediction of row i without it is :math:`f_i - \\beta_iS_i^2`. The span is as in a classification whose label
    is the sign of :math:`\\beta_i`, and in which a row lacks its margin by as much as its residual exceeds ε, in units
    of the mean absolute residual. If ε is less than the band of rows near the edge of the tube, dual weights there
    range from -C to C instead of 0 to C, and ρ is half as large.

    Parameters
    ----------
    f, t : ndarray of shape (n,)
        Predictions and targets.
    beta : ndarray of shape (n,)
        Coefficients of the rows in w, with their signs.
    bound : ndarray of shape (n,)
        C times the weights of the rows.
    epsilon, curvature : float
        Of the loss: half the width of the tube, and ½ for the square.
    spans : callable
    """
    unit = float(np.abs(t - f).mean()) or 1.0
    side = np.where(beta != 0.0, np.sign(beta), np.where(t >= f, 1.0, -1.0))
    short = (side * (t - f) - epsilon) / unit
    as_label = side * (1.0 - short)
    narrow = not curvature and epsilon < BAND * unit

    def in_tube(asked: SpanRequest) -> np.ndarray:
        return spans(asked._replace(rho=0.5 * asked.rho) if narrow else asked)

    # Without a row, its prediction does not leave the range of all targets and predictions.
    room = np.where(side > 0.0, f - min(f.min(), t.min()), max(f.max(), t.max()) - f) / unit
    # ρ of a squared loss does not depend on the unit; that of a kink is relative to the band, which has it.
    solved = SolvedProblem(as_label, side, np.abs(beta) / unit, bound if curvature else bound / unit, curvature)
    found = left_out(solved, in_tube, room=room)
    moved = found.f - as_label[found.rows]
    for label in (-1.0, 1.0):
        if np.count_nonzero(side == label) == 1:  # the rule of `left_out` for a single row of a label does not apply
            moved[side[found.rows] == label] = 0.0
    return spread_over(f, side, found.rows, f[found.rows] + unit * moved)
