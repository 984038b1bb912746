"""Platt's sigmoid: the probability of the positive class as a function of the decision value.

.. math:: p(f) = \\frac1{1 + \\exp(Af + B)}, \\qquad
          \\min_{A, B} -\\sum_i s_i\\big(t_i\\log p(f_i) + (1 - t_i)\\log(1 - p(f_i))\\big),

with Platt's targets :math:`t_+ = (N_+ + 1)/(N_+ + 2)` and :math:`t_- = 1/(N_- + 2)`, N the total weight of each class,
by Newton's method with backtracking (Lin, Lin and Weng, *A Note on Platt's Probabilistic Outputs for Support Vector
Machines*, 2007).
"""

from typing import NamedTuple

import numpy as np


class PlattSigmoid(NamedTuple):
    """A and B of Platt's sigmoid."""

    A: float
    B: float


def fit_sigmoid(f: np.ndarray, positive: np.ndarray, weight: np.ndarray) -> PlattSigmoid:
    """The sigmoid of least loss among those that do not decrease with the decision value: A ≤ 0.

    Parameters
    ----------
    f : ndarray of shape (n,)
        Decision values of rows that the machine was not trained on.
    positive : ndarray of bool of shape (n,)
    weight : ndarray of shape (n,)
        Rows of weight zero are ignored.

    Notes
    -----
    A step costs O(n).
    """
    taken = weight > 0.0
    f, positive, weight = f[taken], positive[taken], weight[taken]
    n_pos, n_neg = float(weight[positive].sum()), float(weight[~positive].sum())
    t = np.where(positive, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
    mean = float(weight @ t) / float(weight.sum())
    flat = PlattSigmoid(0.0, float(np.log((1.0 - mean) / mean)))
    middle, scale = float(np.median(f)), float(np.std(f))
    if not scale > 1e-12 * max(1.0, float(np.abs(f).max())):  # all decision values are equal
        return flat
    z = (f - middle) / scale
    slope, offset = _newton(z, t, weight, -flat.B)
    if not slope > 0.0:
        return flat
    return PlattSigmoid(-slope / scale, slope * middle / scale - offset)


def probabilities(f: np.ndarray, sigmoid: PlattSigmoid) -> np.ndarray:
    """The probability of each decision value."""
    z = sigmoid.A * f + sigmoid.B
    small = np.exp(-np.abs(z))  # cannot overflow
    return np.where(z >= 0.0, small, 1.0) / (1.0 + small)


def _newton(
    z: np.ndarray, t: np.ndarray, weight: np.ndarray, offset: float, *, steps: int = 100, tol: float = 1e-8
) -> tuple[float, float]:
    """Slope and offset of least loss, for decision values scaled to a standard deviation of about 1.

    It ends when the predicted decrease is less than `tol` times the loss.
    """
    slope = 0.0
    loss, p = _loss(z, t, weight, slope, offset)
    ridge = 1e-12 * float(weight.sum())
    for _ in range(steps):
        off, curve = weight * (p - t), weight * p * (1.0 - p)
        g0, g1 = float(off @ z), float(off.sum())
        h01, h11 = float(curve @ z), float(curve.sum()) + ridge
        h00 = float((curve * z) @ z) + ridge
        det = h00 * h11 - h01 * h01
        step0, step1 = -(h11 * g0 - h01 * g1) / det, -(h00 * g1 - h01 * g0) / det
        gain = -(g0 * step0 + g1 * step1)
        if gain <= tol * loss:
            break
        length = 1.0
        while length > 1e-10:
            new, p = _loss(z, t, weight, slope + length * step0, offset + length * step1)
            if new < loss - 1e-4 * length * gain:
                break
            length *= 0.5
        else:
            break
        slope, offset, loss = slope + length * step0, offset + length * step1, new
    return slope, offset


def _loss(z: np.ndarray, t: np.ndarray, weight: np.ndarray, slope: float, offset: float) -> tuple[float, np.ndarray]:
    """The loss, and the probability of each row."""
    x = slope * z + offset
    small = np.exp(-np.abs(x))  # cannot overflow
    p = np.where(x >= 0.0, 1.0, small) / (1.0 + small)
    return float(weight @ (np.maximum(x, 0.0) + np.log1p(small) - t * x)), p
