"""The one-class SVM over rows: w itself in place of kernel values."""

import math

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data, as_matrix, frozen
from hinge.problems.base import Certificate, Solution
from hinge.problems.cost import Cost
from hinge.problems.rounding import EPS, rounding
from hinge.problems.svm.levels import checked_share, quantile
from hinge.problems.svm.penalized import FAR, checked_lam
from hinge.problems.svm.regularized import Regularized
from hinge.types import MatrixLike

SOME = 512
"""Rows, or up to twice as many, that set the unit."""
FAINTEST = 1e-6
"""Share of a typical row's squared norm below which that of the mean row says nothing of the answer's scale."""
NEAR = 1e-2
"""α within this of a bound is taken to be at it where several levels are best: the answer is near the best one only."""
VANISHING = 1e-8
"""Share of the longest w that there can be below which w is taken for zero."""


class OneClass(Regularized):
    """The level ρ = -b that all but a share ν of the rows reach, and the shortest w for it.

    .. math:: P(w, \\rho) = \\frac\\lambda2\\|w\\|^2 - \\nu\\rho + \\sum_i c_i\\max(0, \\rho - \\langle w, x_i\\rangle),
              \\qquad
              D(\\alpha) = -\\frac\\lambda2\\|w(\\alpha)\\|^2, \\quad
              w(\\alpha) = \\frac1\\lambda\\sum_i c_i\\alpha_ix_i, \\quad \\sum_i c_i\\alpha_i = \\nu

    with :math:`0 \\le \\alpha_i \\le 1`: the hinge with the target 0, the label +1 and a free bias, which costs ν
    besides (`pull`), so that the dual weights have the mean ν where without it their sum is zero. λ is no parameter
    but a unit: the answer for another one is λw, λρ divided by it. :math:`\\lambda = 1/\\sum_i s_i` is that of LIBSVM,
    in which, and multiplied by :math:`\\sum_i s_i`, objectives and their bounds are given, as in `KernelOneClass`;
    solvers are best served by one in which ρ is about 1.

    The certificate is that of `KernelOneClass`, a bound on :math:`\\|w - w^*\\|/\\|w\\|` for the best w*. With α moved
    until its sum is right and w = w(α),

    .. math:: P - D = \\sum_i c_i\\big(\\alpha_i\\max(0, r_i - \\rho) + (1 - \\alpha_i)\\max(0, \\rho - r_i)\\big)
              \\ \\ge\\ \\lambda\\|w - w^*\\|^2, \\qquad r_i = \\langle w, x_i\\rangle

    at the ρ that is best for w, a quantile. It takes two passes: one for w(α) over the rows with a weight α, which is
    what `finished` gives out, and one for r. Where the rows surround zero the best w is zero, and no bound is below 1.

    Parameters
    ----------
    X : array, CSR matrix, Matrix or Table
    nu : float in (0, 1]
    weight : array of shape (n,), optional
        Nonnegative weights :math:`s_i`; all one where not given.
    lam : float, optional
        λ; by default ν times the squared norm of the mean row, as some rows have it.

    References
    ----------
    B. Schölkopf and others, *Estimating the Support of a High-Dimensional Distribution*, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Stop, solve
    >>> from hinge.problems import OneClass
    >>> from hinge.solvers import SDCA
    >>> X = 2.0 + np.random.default_rng(0).standard_normal((200, 2))
    >>> result = solve(OneClass(X, 0.1), SDCA(), stop=Stop(tol=1e-2))
    >>> below = X @ result.solution.w + result.solution.b < 0
    >>> bool(abs(below.mean() - 0.1) < 0.02)
    True
    """

    def __init__(
        self, X: MatrixLike | Data, nu: float, *, weight: ArrayLike | None = None, lam: float | None = None
    ) -> None:
        data = as_matrix(X)
        super().__init__(data, np.ones(data.shape[0], np.int8), 1.0, weight=weight, bias="free")
        self.target = frozen(np.zeros(1))
        self.nu = self.pull = checked_share(nu)
        self.lam = self._own_lam() if lam is None else checked_lam(lam)

    def _own_lam(self) -> float:
        some = np.zeros(self.n)
        some[:: max(1, self.n // SOME)] = 1.0
        mean = self.combination(some) / (float(self._shares() @ some) or 1.0)
        sq = max(float(mean @ mean), FAINTEST * self.matrix.typical_sq_norm())
        return float(np.clip(self.nu * sq or 1.0, 1 / FAR, FAR))

    @property
    def scale(self) -> float:
        """By what w and ρ are multiplied to be those of LIBSVM: λ Σ s."""
        return self.lam * self.total

    @property
    def objective_scale(self) -> float:
        """By what objectives are multiplied to be those of LIBSVM."""
        return self.scale * self.total

    def objective(self, solution: Solution) -> float:
        """P at w and ρ = -b, exact; reads not billed."""
        return (super().objective(solution) + self.nu * solution.b) * self.objective_scale

    def best_bias(self, r: np.ndarray) -> float:
        """-ρ, for the best ρ given the responses."""
        return -quantile(r, np.zeros(self.n), self._shares(), self.nu)

    def relative(self, primal: float, dual: float) -> float:
        """The bound on the relative error of w, for w = w(α): of both, only the ratio counts."""
        return min(1.0, math.sqrt(max(primal - dual, 0.0) / (-2.0 * dual))) if dual < 0.0 else 1.0

    def vanishes(self, sq_norm: float) -> bool:
        """Whether w is zero, as far as floating point can tell, and the best one too: nothing is relative to it."""
        longest = VANISHING * self.nu * self.largest_norm() / self.lam
        return sq_norm <= longest * longest

    def dual(self, solution: Solution) -> float:
        """D at the feasible point made from the solution's α; -inf where it has none."""
        return -np.inf if solution.alpha is None else self.certificate(solution).bound

    def restored(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """α within its bounds and with the mean ν, and w(α).

        What lacks is made up for by the rows between their bounds, in proportion to the room that each has, and by all
        where these have too little of it.
        """
        c = self._shares()
        counts = c > 0.0
        alpha = np.where(counts, np.clip(alpha, 0.0, 1.0), 0.0)
        for pool in ((alpha > 0.0) & (alpha < 1.0), counts):
            lack = self.nu - float(c @ alpha)
            room = np.where(pool, 1.0 - alpha if lack > 0.0 else alpha, 0.0)
            mass = float(c @ room)
            if abs(lack) > rounding(self.n, self.nu) and mass > 0.0:
                alpha = np.clip(alpha + np.clip(lack / mass, -1.0, 1.0) * room, 0.0, 1.0)
        return alpha, self.combination(alpha) / self.lam

    def certificate(self, solution: Solution) -> Certificate:
        """P and D at w(α), and the bound on the relative error of w, all rounding included."""
        if solution.alpha is None:
            return Certificate.unknown(solution.b)
        alpha, w = self.restored(solution.alpha)
        r, c, lam = self.responses(w), self._shares(), self.lam
        level = quantile(r, np.where(np.abs(alpha - 0.5) > 0.5 - NEAR, 0.0, alpha) * c, c, self.nu)
        r -= level
        e, norm = self.response_error(w, level), float(np.linalg.norm(w))
        # Each response is off by e at most, in whatever direction is worse.
        most = float(c @ np.maximum(alpha * (r + e), (1.0 - alpha) * (e - r)))
        slack = float(c @ np.maximum(alpha * r, (alpha - 1.0) * r))
        # The sum of α is off, too: by a change of α that makes it right, and by what is rounded in w(α).
        lack = abs(self.nu - float(c @ alpha)) + rounding(2 * self.n, self.nu)
        off = (self.combination_norm(w * lam, self.nu) - norm * lam + lack * self.largest_norm()) / lam
        most += rounding(self.n, most) + lack * float(np.abs(r).max() + e) + 0.5 * lam * off * off
        shortest, longest = max(norm - off, 0.0), norm + off
        gap = min((math.sqrt(most / lam) + off) * (1.0 + 4.0 * EPS), norm + 2.0 * off) / norm if norm > 0.0 else 1.0
        primal, dual, as_is = (-0.5 * lam * size * size for size in (shortest, longest, norm))
        unrounded = 0.0 if self.vanishes(norm * norm) else self.relative(slack + as_is, as_is)
        primal, dual = (most + primal) * self.objective_scale, dual * self.objective_scale * (1.0 + 4.0 * EPS)
        return Certificate(primal + 4.0 * EPS * abs(primal), dual, gap, -level, unrounded)

    def finished(self, answer: Solution, certificate: Certificate) -> Solution:
        """w(α), of which the certificate speaks, with its level."""
        if certificate.is_unknown or answer.alpha is None:
            return answer
        alpha, w = self.restored(answer.alpha)
        return Solution(w, certificate.b, alpha)

    def certificate_cells(self, cost: Cost) -> int:
        """A certificate takes two passes, and `finished` another."""
        return 3 * self.pass_cells

    def _shares(self) -> np.ndarray:
        """The cᵢ, one a row."""
        return np.broadcast_to(np.asarray(self.share()), (self.n,))
