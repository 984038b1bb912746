"""The regularised SVM, Eq. (1) of the Pegasos paper, with any loss: primal, dual, and the duality gap."""

import math
from typing import NamedTuple

import numpy as np

from hinge.access import Data
from hinge.problems.base import EPS, TINY, Certificate, Combination, Solution, rounding
from hinge.problems.svm.linear import Bias
from hinge.problems.svm.losses import Loss
from hinge.problems.svm.penalized import Penalized
from hinge.types import MatrixLike


class DualShare(NamedTuple):
    """The contribution of some of the rows to the dual: sums over these rows, and a maximum (`largest`).

    Attributes
    ----------
    z, off : ndarray of shape (d,), float
        :math:`\\sum_i c_i\\alpha_iy_ix_i`, and a bound on its error in norm.
    positive, negative : float
        As `Examples.class_mass` returns them.
    linear, size, square : float
        As `Regularized.conjugates` returns them.
    largest : float
        The largest |αᵢ| divided by its upper bound.
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
    """Lower bound on D at the best multiple of α; `terms` is the longest chain of additions in the sums of `share`."""
    norm, mass = math.sqrt(share.z @ share.z), share.positive + share.negative
    error = rounding(terms, share.size)
    z_sq = (norm + rounding(len(share.z), norm) + share.off) ** 2
    if constant_sq:
        z_sq += constant_sq * (abs(share.positive - share.negative) + rounding(terms, mass)) ** 2
    quadratic = z_sq / lam + loss.curvature * share.square
    if not share.linear > 0.0:
        return 0.0
    most = 1.0 / share.largest if share.largest > 0 else np.inf
    scale = min(most, share.linear / quadratic if quadratic > 0 else np.inf) if loss.piecewise else 1.0
    return scale * (share.linear - error) - 0.5 * scale**2 * (
        quadratic + rounding(terms if share.square else 0, quadratic)
    )


class Regularized(Penalized):
    """Minimise λ/2 ‖w‖² plus the mean loss.

    .. math::
        P(w, b) = \\frac\\lambda2\\|w\\|^2 + \\hat L(w, b), \\qquad
        D(\\alpha) = \\sum_i c_i\\alpha_i
                   - \\frac1{2\\lambda}\\Big\\|\\sum_i c_i\\alpha_i y_i x_i\\Big\\|^2,\\quad
        0 \\le \\alpha_i \\le 1

    for the hinge. For other losses (:mod:`hinge.problems.svm.losses`), the linear term is
    :math:`\\sum_i c_i(t_i\\alpha_i - \\ell^*(\\alpha_i))`, and α has the bounds of the loss.
    With a free bias the dual also has the constraint :math:`\\sum_i c_i\\alpha_i y_i = 0`.
    :math:`\\lambda = 1/(C\\sum_i s_i)` gives the objective of LIBLINEAR and LIBSVM.

    The certificate is the relative duality gap :math:`(P - D)/D`, an upper bound on
    :math:`(P - P^*)/P^*`. In regression, where the optimum may be zero, it is :math:`(P - D)/\\max(D, 10^{-9}T)`,
    where T is the mean loss of w = 0 with ε = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Regularized, Solution
    >>> problem = Regularized([[1.0, 0.0], [0.0, -1.0]], [1, -1], lam=1.0)
    >>> answer = Solution(np.array([0.5, 0.5]), alpha=np.array([1.0, 1.0]))
    >>> round(problem.objective(answer), 6), bool(problem.certificate(answer).gap < 1e-9)  # it is the optimum
    (0.75, True)
    """

    def with_rows(
        self, X: MatrixLike | Data, rows: np.ndarray | slice = slice(None), weight: np.ndarray | None = None
    ) -> "Regularized":
        """The problem of some of the rows, given as X, with their labels or targets, and their weights unless given."""
        y = (self.target if self.loss.two_sided else self.y)[rows]
        weight = self.weight[rows] if weight is None and len(self.weight) == self.n else weight
        bias: Bias = self.bias
        return Regularized(X, y, self.lam, weight=weight, bias=bias, bias_scale=self.bias_scale, loss=self.loss)

    @property
    def scale(self) -> float:
        """Factor that turns w and b into those of the problem with a kernel: 1, where λ is given."""
        return 1.0

    def penalty(self, w: np.ndarray, b: float) -> float:
        """½‖w‖²."""
        return 0.5 * self.norm(w, b) ** 2

    def dual(self, solution: Solution, primal: float | None = None) -> float:
        """D at a feasible point made from the solution's α; -inf if the solution has no α.

        With a free bias the class with the larger sum of cα is scaled down until the dual constraint holds. Then α is
        multiplied by the best factor that keeps it within its bounds, which costs nothing. The sum over rows is made
        anew, unless the solver's own (`Combination`) is known well enough: it has gathered the roundings of all its
        updates, and these must be at most 1% of the gap to a given `primal`.
        """
        alpha = solution.alpha
        if alpha is None:
            return -np.inf
        if primal is not None and isinstance(solution, Combination) and solution.mass < np.inf and self.bias != "free":
            share = self.dual_share(alpha, self.lam * solution.w, chain=solution.chain)
            share = share._replace(off=self.combination_error(solution.mass, chain=solution.chain))
            known, exact = (
                dual_value(one, self.lam, self.loss, self.constant_sq, self.terms)
                for one in (share, share._replace(off=0.0))
            )
            if exact - known <= 0.01 * (primal - known):
                return known
        alpha = self.balanced(alpha) if self.bias == "free" else alpha
        return self.dual_of(alpha, self.combination(alpha))

    def dual_of(self, alpha: np.ndarray, z: np.ndarray, chain: int | None = None) -> float:
        """D at the best multiple of a feasible α, given z = Σ cᵢαᵢyᵢxᵢ.

        `chain` is the longest chain of additions in z, if it was not summed block by block.
        """
        share = self.dual_share(alpha, z, chain=chain)
        return dual_value(share, self.lam, self.loss, self.constant_sq, self.terms)

    def dual_share(self, alpha: np.ndarray, z: np.ndarray, others: int = 0, chain: int | None = None) -> DualShare:
        """The contribution of the rows to the dual, given their sum z; `others` further parts will be added to it."""
        positive, negative, linear, size, square = self._dual_sums(alpha).tolist()
        off = self.combination_error(positive + negative, others, chain)
        return DualShare(z, off, positive, negative, linear, size, square, self.fullness(alpha))

    def fullness(self, alpha: np.ndarray) -> float:
        """The largest |αᵢ| divided by its upper bound."""
        return float(np.abs(alpha).max()) / self.loss.high if self.loss.high < math.inf else 0.0

    def _dual_sums(self, alpha: np.ndarray) -> np.ndarray:
        """The sums over rows of a `DualShare`, see `dual_sums`."""

        def part(lo: int, hi: int) -> np.ndarray:
            target = self.target[lo:hi] if self.loss.two_sided else 1.0
            return dual_sums(self.loss, alpha[lo:hi], self.y[lo:hi], target, self.share(lo, hi), self.largest_target)

        return np.asarray(np.sum(self.over_blocks(part), axis=0))

    def sharpened(self, answer: Solution, found: Certificate, wanted: float) -> Certificate:
        """The certificate of the best multiple of w, if its gap is at most `wanted`; it costs another pass.

        On separable data with a small λ the dual can be near its optimum while some margin is slightly below 1, by the
        solver's error or by rounding, which costs far more than λ/2 ‖w‖². A slightly longer w avoids that. It would
        gain little unless the gap exceeds `wanted` ten times; or 1.5 times if no α is at its upper bound: a plane then
        nearly separates the rows, and margins slightly below 1 may be all of the gap.
        """
        found = self._summed_finely(answer, found) if 0.0 < wanted < found.gap < np.inf else found
        if not 0.0 < 1.5 * wanted < found.gap < np.inf or self.loss.two_sided or self.pull or not self.loss.piecewise:
            return found
        bounded = answer.alpha is not None and float(answer.alpha.max()) >= self.loss.high
        if bounded and found.gap < 10.0 * wanted:
            return found
        r = self.responses(answer.w)
        s = best_multiple(self.y * (r + found.b), self.share(), self.lam * self.norm(answer.w, found.b) ** 2, self.loss)
        s *= 1.0 + 2.0 * self.response_error(answer.w, found.b)  # margins of exactly 1 stay there despite rounding
        if not np.isfinite(s):
            return found
        r *= s
        primal = self.primal(s * answer.w, s * found.b, r)
        gap = self.relative(primal, found.bound)
        return Certificate(primal, found.bound, gap, s * found.b, scale=s) if gap <= wanted else found

    def _summed_finely(self, answer: Solution, found: Certificate) -> Certificate:
        """The certificate with z summed in twice the precision, if the rounding of z is most of the gap.

        With many rows and a small λ, z = λw is far smaller than its terms, and ‖z‖²/λ is what the dual pays. α is
        defined by the rounded values of :math:`c_i\\alpha_iy_i`, so that these have no error.
        """
        alpha = answer.alpha
        if alpha is None or self.bias == "free" or self.pull or not self.in_memory:
            return found
        mass, norm = sum(self.class_mass(alpha)), self.lam * float(np.linalg.norm(answer.w))
        off = self.combination_error(mass)
        if off * (norm + 0.5 * off) / self.lam < 0.5 * (found.objective - found.bound):
            return found
        z = self.fine_combination(alpha * self.y * self.share())[:-1]
        lost = (self.n * EPS) ** 2 * mass * self.largest_norm() + 8.0 * self.n * self.d * TINY
        share = self.dual_share(alpha, z)
        share = share._replace(
            off=2.0 * EPS * float(np.linalg.norm(z)) + lost,
            largest=share.largest * (1.0 + (self.terms + 8) * EPS),  # α may have been rounded up
        )
        bound = max(found.bound, dual_value(share, self.lam, self.loss, self.constant_sq, self.terms))
        return found._replace(bound=bound, gap=self.relative(found.objective, bound))

    def final_answer(self, answer: Solution, certificate: Certificate) -> Solution:
        """The answer that `solve` returns: the multiple of w that was certified, with the best bias."""
        given = super().final_answer(answer, certificate)
        return given if certificate.scale == 1.0 else given._replace(w=certificate.scale * given.w)

    def conjugates(self, alpha: np.ndarray) -> tuple[float, float, float]:
        """The last three of `dual_sums`."""
        linear, size, square = self._dual_sums(alpha)[2:].tolist()
        return linear, size, square


def dual_sums(
    loss: Loss,
    alpha: np.ndarray,
    y: np.ndarray,
    target: np.ndarray | float,
    c: np.ndarray | float,
    largest_target: np.ndarray | float,
) -> np.ndarray:
    """Sums over rows, along the last axis of the arrays, that make up the dual.

    Returns
    -------
    ndarray of shape (5, ...)
        Σ cᵢ|αᵢ| where αᵢyᵢ is positive, and where it is negative; Σ cᵢ(tᵢαᵢ - ε|αᵢ|), a bound on the sum of its terms'
        absolute values, and Σ cᵢαᵢ² (0 for linear losses). Of a loss that is not piecewise quadratic the last three are
        Σ cᵢ(tᵢαᵢ - ℓ*(αᵢ)), the bound, and 0.
    """
    weighted = alpha * c
    signed = weighted * y
    # Summed apart, since a difference of the two would cancel.
    positive, negative = np.maximum(signed, 0.0).sum(-1), -np.minimum(signed, 0.0).sum(-1)
    mass = positive + negative
    if loss.piecewise:
        spared = loss.epsilon * mass
        linear = (weighted * target).sum(-1) - spared if loss.two_sided else mass - spared
        size, square = largest_target * mass + spared, np.vecdot(weighted, alpha) if loss.curvature else 0.0 * mass
    else:
        paid, known = loss.conjugates(alpha), target * alpha
        linear = ((known - paid) * c).sum(-1)
        size, square = 4.0 * ((np.maximum(np.abs(paid), 1.0) + np.abs(known)) * c).sum(-1), 0.0 * mass
    return np.array([positive, negative, linear, size, square])


def best_multiple(m: np.ndarray, c: np.ndarray | float, sq: float, loss: Loss) -> float:
    """The s that minimises :math:`\\frac{s^2}2 q + \\sum_i c_i\\ell(1 - sm_i)`, with q = `sq` and margins m.

    The slope in s is piecewise linear with a kink at each :math:`1/m_i > 0`, beyond which row i has no loss. The kinks
    are sorted, and the zero of the slope is found between two of them, in O(n log n).
    """
    order = np.argsort(m)[::-1]  # the largest margins have the first kinks
    m = m[order]
    c = np.broadcast_to(c, m.shape)[order]
    first = np.cumsum((c * m)[::-1])[::-1]  # sums over the rows that still have a loss
    second = np.cumsum((c * m * m)[::-1])[::-1] if loss.curvature else np.zeros(len(m))
    unit = 1.0 / loss.curvature if loss.curvature else 1.0
    met = int(np.count_nonzero(m > 1e-100))  # smaller ones, whose inverse may overflow, count as not positive
    kinks = 1.0 / m[:met]
    slopes = sq * kinks - unit * (first[:met] - kinks * second[:met])  # just before each kink
    at = int(np.searchsorted(slopes, 0.0))
    low = float(kinks[at - 1]) if at else 0.0
    if at == len(m):
        return low
    s = unit * float(first[at]) / (sq + unit * float(second[at])) if sq > 0.0 else np.inf
    return min(max(s, low), float(kinks[at]) if at < met else np.inf)
