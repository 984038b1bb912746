"""Platt's sigmoid: the probability of the positive class as a function of the decision value.

.. math:: p(f) = \\frac1{1 + \\exp(Af + B)}, \\qquad
          \\min_{A, B} -\\sum_i s_i\\big(t_i\\log p(f_i) + (1 - t_i)\\log(1 - p(f_i))\\big),

with Platt's targets :math:`t_+ = (N_+ + 1)/(N_+ + 2)` and :math:`t_- = 1/(N_- + 2)`, N the total weight of each class,
by Newton's method with backtracking (Lin, Lin and Weng, *A Note on Platt's Probabilistic Outputs for Support Vector
Machines*, 2007).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit


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
    return expit(-(sigmoid.A * f + sigmoid.B))


def _newton(
    z: np.ndarray, t: np.ndarray, weight: np.ndarray, offset: float, *, steps: int = 100, tol: float = 1e-8
) -> tuple[float, float]:
    """Slope and offset of least loss, for decision values scaled to a standard deviation of about 1.

    It ends when the predicted decrease is less than `tol` times the loss.
    """
    Z, u, ridge = np.stack([z, np.ones(len(z))]), np.array([0.0, offset]), 1e-12 * float(weight.sum()) * np.eye(2)
    x = u @ Z
    loss = _loss(x, t, weight)
    for _ in range(steps):
        p = expit(x)
        g, H = Z @ (weight * (p - t)), (Z * (weight * p * (1.0 - p))) @ Z.T + ridge
        step = np.linalg.solve(H, -g)
        gain = -float(g @ step)
        if gain <= tol * loss:
            break
        for length in 0.5 ** np.arange(34.0):
            x = (u + length * step) @ Z
            new = _loss(x, t, weight)
            if new < loss - 1e-4 * length * gain:
                break
        else:
            break
        u, loss = u + length * step, new
    return float(u[0]), float(u[1])


def _loss(x: np.ndarray, t: np.ndarray, weight: np.ndarray) -> float:
    return float(weight @ (np.logaddexp(0.0, x) - t * x))
