"""The regularised SVM: Eq. (1) of the Pegasos paper, its dual, and the duality gap; of any loss."""

from typing import NamedTuple

import numpy as np

from hinge.problems.base import Certificate, Solution
from hinge.problems.rounding import rounding
from hinge.problems.svm.losses import Loss
from hinge.problems.svm.penalized import Penalized

FAR_OFF, FAR_OFF_INSIDE = 10.0, 1.5
"""Times the wanted gap from which on another multiple of the answer is tried: else none is much better. The second is
for an α that is nowhere at its upper bound: then a plane nearly separates the rows, and margins a little short of 1 may
be all of the gap.
"""

FAINT = 1e-100
"""Margins below this are taken for none."""


class DualShare(NamedTuple):
    """What some of the rows add to the dual: sums over rows, but for the last, which is a maximum.

    `z` is :math:`\\sum_i c_i\\alpha_iy_ix_i`, and `off` what rounding may add to its norm; `positive` and `negative`
    are as in `class_mass`; `linear`, `size` and `square` as in `conjugates`; `largest` is the largest |α| over its
    bound.
    """

    z: np.ndarray
    off: float
    positive: float
    negative: float
    linear: float
    size: float
    square: float
    largest: float


def dual_value(share: DualShare, lam: float, loss: Loss, constant_sq: float, terms: int) -> float:
    """D at least, at the best multiple of α, by what all rows add to it in sums of so many terms at most."""
    norm, mass = float(np.linalg.norm(share.z)), share.positive + share.negative
    error = rounding(terms, share.size)
    z_sq = (norm + rounding(len(share.z), norm) + share.off) ** 2
    if constant_sq:
        z_sq += constant_sq * (abs(share.positive - share.negative) + rounding(terms, mass)) ** 2
    quadratic = z_sq / lam + loss.curvature * share.square
    if not share.linear > 0.0:
        return 0.0
    most = 1.0 / share.largest if share.largest > 0 else np.inf
    scale = min(most, share.linear / quadratic if quadratic > 0 else np.inf)
    return scale * (share.linear - error) - 0.5 * scale**2 * (
        quadratic + rounding(terms if share.square else 0, quadratic)
    )


class Regularized(Penalized):
    """The norm paid for by λ.

    .. math::
        P(w, b) = \\frac\\lambda2\\|w\\|^2 + \\hat L(w, b), \\qquad
        D(\\alpha) = \\sum_i c_i\\alpha_i
                   - \\frac1{2\\lambda}\\Big\\|\\sum_i c_i\\alpha_i y_i x_i\\Big\\|^2,\\quad
        0 \\le \\alpha_i \\le 1

    for the hinge; for other losses, see :mod:`hinge.problems.svm.losses`, :math:`t_i\\alpha_i - \\ell^*(\\alpha_i)`
    stands for the first :math:`\\alpha_i`, and their bounds for 0 and 1.
    With a free bias the dual also asks for :math:`\\sum_i c_i\\alpha_i y_i = 0`.
    :math:`\\lambda = 1/(C\\sum_i s_i)` gives the objective of LIBLINEAR and LIBSVM.

    The certificate is the relative duality gap :math:`(P - D)/D`, an upper bound on
    :math:`(P - P^*)/P^*`. Of regression, whose optimum may be zero, it is :math:`(P - D)/\\max(D, 10^{-9}T)` with
    T for what w = 0 costs without a tube, ε = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Regularized, Solution
    >>> problem = Regularized([[1.0, 0.0], [0.0, -1.0]], [1, -1], lam=1.0)
    >>> answer = Solution(np.array([0.5, 0.5]), alpha=np.array([1.0, 1.0]))
    >>> round(problem.objective(answer), 6), bool(problem.certificate(answer).gap < 1e-9)  # it is the optimum
    (0.75, True)
    """

    def penalty(self, w: np.ndarray, b: float) -> float:
        """½‖w‖²."""
        return 0.5 * self.norm(w, b) ** 2

    def dual(self, solution: Solution) -> float:
        """D at a feasible point made from the solution's α; -inf where there is none.

        For a free bias the heavier class is scaled down until the dual constraint holds. Then
        α is scaled as a whole to the best factor that keeps it in the box, which costs nothing. The rows are
        summed anew: a sum that followed the changes of α has gathered their roundings.
        """
        alpha = solution.alpha
        if alpha is None:
            return -np.inf
        alpha = self.balanced(alpha) if self.bias == "free" else alpha
        return self.dual_of(alpha, self.combination(alpha))

    def dual_of(self, alpha: np.ndarray, z: np.ndarray, chain: int | None = None) -> float:
        """The same for an α that is feasible and balanced, by z, its sum of rows.

        `chain` is how many rows were added up to z one after the other, where that was not by blocks.
        """
        share = self.dual_share(alpha, z, chain=chain)
        return dual_value(share, self.lam, self.loss, self.constant_sq, self.terms)

    def dual_share(self, alpha: np.ndarray, z: np.ndarray, others: int = 0, chain: int | None = None) -> DualShare:
        """What the rows, whose sum is z, add to the dual at α, a sum to which so many `others` are added."""
        positive, negative = self.class_mass(alpha)
        off = self.combination_error(positive + negative, others, chain)
        return DualShare(
            z, off, positive, negative, *self.conjugates(alpha), float(np.abs(alpha).max()) / self.loss.high
        )

    def sharpened(self, answer: Solution, found: Certificate, wanted: float) -> Certificate:
        """The certificate of the best multiple of the answer, if it is good enough; it costs another pass.

        Of data that can be separated, the dual may long know the norm of w when some margin still is a little short of
        1, which costs far more than w does where λ is small. So does rounding, which alone may leave margins short.
        """
        if not 0.0 < FAR_OFF_INSIDE * wanted < found.gap < np.inf or self.loss.two_sided or self.pull:
            return found
        bounded = answer.alpha is not None and float(answer.alpha.max()) >= self.loss.high
        if bounded and found.gap < FAR_OFF * wanted:
            return found
        r = self.responses(answer.w)
        s = best_multiple(self.y * (r + found.b), self.share(), self.lam * self.norm(answer.w, found.b) ** 2, self.loss)
        s *= 1.0 + 2.0 * self.response_error(answer.w, found.b)  # rows that just meet their margin do so for certain
        if not np.isfinite(s):
            return found
        r *= s
        primal = self.primal(s * answer.w, s * found.b, r)
        gap = self.relative(primal, found.bound)
        return Certificate(primal, found.bound, gap, s * found.b, scale=s) if gap <= wanted else found

    def finished(self, answer: Solution, certificate: Certificate) -> Solution:
        """The answer as it is given out: the multiple that was certified, with the best bias."""
        given = super().finished(answer, certificate)
        return given if certificate.scale == 1.0 else given._replace(w=certificate.scale * given.w)

    def conjugates(self, alpha: np.ndarray) -> tuple[float, float, float]:
        """Σ cᵢ(tᵢαᵢ - ε|αᵢ|), a bound on what its terms add up to without their signs, and Σ cᵢαᵢ² if it counts."""

        def part(lo: int, hi: int) -> tuple[float, float, float]:
            a, c = alpha[lo:hi], self.share(lo, hi)
            mass = float(np.abs(a).sum() * c if isinstance(c, float) else np.abs(a) @ c)
            linear = float((self.target[lo:hi] * a) @ np.broadcast_to(c, a.shape)) if self.loss.two_sided else mass
            if not self.loss.curvature:
                return linear, mass, 0.0
            return linear, mass, float(a @ a * c if isinstance(c, float) else (a * c) @ a)

        linear, mass, square = (sum(parts) for parts in zip(*self.over_blocks(part), strict=True))
        spared = self.loss.epsilon * mass
        return linear - spared, self.largest_target * mass + spared, square


def best_multiple(m: np.ndarray, c: np.ndarray | float, sq: float, loss: Loss) -> float:
    """The s that minimises :math:`\\frac{s^2}2 q + \\sum_i c_i\\ell(1 - sm_i)`, with q = `sq`: a zero of its slope.

    That has a kink at each :math:`1/m_i`, from which on the row costs nothing; it is found among them, in O(n log n).
    """
    order = np.argsort(m)[::-1]  # the largest margins are met first
    m = m[order]
    c = np.broadcast_to(c, m.shape)[order]
    first = np.cumsum((c * m)[::-1])[::-1]  # of the rows that are still short
    second = np.cumsum((c * m * m)[::-1])[::-1] if loss.curvature else np.zeros(len(m))
    unit = 1.0 / loss.curvature if loss.curvature else 1.0
    met = int(np.count_nonzero(m > FAINT))
    kinks = 1.0 / m[:met]
    slopes = sq * kinks - unit * (first[:met] - kinks * second[:met])  # just before each kink
    at = int(np.searchsorted(slopes, 0.0))
    low = float(kinks[at - 1]) if at else 0.0
    if at == len(m):
        return low
    s = unit * float(first[at]) / (sq + unit * float(second[at])) if sq > 0.0 else np.inf
    return min(max(s, low), float(kinks[at]) if at < met else np.inf)
