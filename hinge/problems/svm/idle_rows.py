"""Rows that provably have no loss, and no dual weight, at the optimum: gap-safe screening.

P is λ-strongly convex in w, so that an answer whose duality gap is G is near the optimum :math:`w^*`:

.. math:: \\tfrac\\lambda2\\|w - w^*\\|^2 \\le P(w, b) - P^* \\le G, \\qquad
          |\\langle w - w^*, \\phi(x_i)\\rangle| \\le e_i = \\|\\phi(x_i)\\|\\sqrt{2G/\\lambda}

(Ndiaye, Fercoq, Gramfort and Salmon, *Gap Safe Screening Rules for Sparsity Enforcing Penalties*, 2017). A free bias is
not penalised, and is bounded by monotonicity: the derivative of the loss in b does not decrease with any response, so
that every optimal :math:`b^*` is at most the largest one that is optimal for the responses :math:`r_i - e_i`, and at
least the smallest one for :math:`r_i + e_i`.

If then a row cannot have a loss at the optimum, the optimality conditions hold without it, for the same w and b: all
such rows can be left out together, and the optimum stays what it is.
"""

from typing import NamedTuple

import numpy as np

from hinge.problems.svm.losses import Loss


class CertifiedAnswer(NamedTuple):
    """The rows of a problem with an answer and what its certificate proves.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Labels, -1 and +1, or targets.
    r : ndarray of shape (n,)
        Responses :math:`\\langle w, \\phi(x_i)\\rangle`, with the bias if it is not free.
    b : float
        The free bias.
    c : ndarray of shape (n,)
        Weights of the losses, in any unit.
    norms : ndarray of shape (n,)
        :math:`\\|\\phi(x_i)\\|`, with the constant feature of a penalised bias.
    radius : float
        :math:`\\sqrt{2G/\\lambda}`.
    error : ndarray or float
        Bounds on the rounding of the responses.
    loss : Loss
    free : bool
        Whether the bias is free.
    """

    y: np.ndarray
    r: np.ndarray
    b: float
    c: np.ndarray
    norms: np.ndarray
    radius: float
    error: np.ndarray | float
    loss: Loss
    free: bool


def idle_margins(answer: CertifiedAnswer) -> tuple[np.ndarray, np.ndarray]:
    """How far each row is from having a loss, and how much less that can be at the optimum.

    A row for which the first is larger than the second has no loss at the optimum.

    Returns
    -------
    slack : ndarray of shape (n,)
        :math:`y_if_i - 1`, or :math:`\\varepsilon - |t_i - f_i|` of a regression.
    change : ndarray of shape (n,)
    """
    e = answer.norms * answer.radius + answer.error
    down = up = np.zeros(len(e))
    if answer.free:
        low, high = bias_bounds(answer)
        down, up = np.full(len(e), answer.b - low), np.full(len(e), high - answer.b)
    f = answer.r + answer.b
    if answer.loss.two_sided:
        return answer.loss.epsilon - np.abs(answer.y - f), e + np.maximum(down, up)
    return answer.y * f - 1.0, e + np.where(answer.y > 0, down, up)


def bias_bounds(answer: CertifiedAnswer) -> tuple[float, float]:
    """Lower and upper bounds on every bias that is optimal for some responses within their errors."""
    e = answer.norms * answer.radius + answer.error
    return -_largest_bias(answer, e, -1.0), _largest_bias(answer, e, 1.0)


def _largest_bias(answer: CertifiedAnswer, e: np.ndarray, side: float, halvings: int = 60) -> float:
    """An upper bound on `side` times any optimal bias; infinite if none is found."""
    total = float(answer.c.sum())
    if not (answer.loss.two_sided or answer.loss.curvature):  # the slope rises by c at each kink
        kinks = side * (answer.y - answer.r) + e
        order = np.argsort(kinks)
        least = float(answer.c[side * answer.y > 0].sum()) + 1e-12 * total
        at = int(np.searchsorted(np.cumsum(answer.c[order]), least, side="right"))
        return float(kinks[order[at]]) if at < len(order) else np.inf
    b, step = side * answer.b, max(1.0, abs(answer.b)) * 2.0**-50

    def exceeds(b: float) -> bool:
        """Whether the loss certainly rises with side · b, whatever the responses within their errors."""
        z = answer.r - side * e + side * b
        if answer.loss.two_sided:
            slopes = -answer.loss.slope(answer.y - z)
        else:
            slopes = -answer.y * answer.loss.slope(1.0 - answer.y * z)
        size = float(np.abs(slopes) @ answer.c)
        return side * float(slopes @ answer.c) > 1e-12 * max(size, total)  # more than the rounding of the sum

    low = b
    while not exceeds(b + step):
        low, step = b + step, 2.0 * step
        if not step < 1e300:
            return np.inf
    high = b + step
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if exceeds(middle) else (middle, high)
    return high
