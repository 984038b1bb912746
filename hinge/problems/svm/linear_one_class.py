"""The one-class SVM with the linear kernel, over rows, with an explicit w."""

import math

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import Data, as_matrix, frozen
from hinge.problems.base import EPS, Certificate, Cost, Solution, rounding
from hinge.problems.svm.levels import checked_share, optimal_level
from hinge.problems.svm.penalized import FAR, checked_lam
from hinge.problems.svm.regularized import Regularized
from hinge.types import MatrixLike

SOME = 512
"""Number of rows, or up to twice that, by which the default λ is estimated: their mean is accurate to about 4%."""


class OneClass(Regularized):
    """The one-class SVM: a hyperplane ⟨w, x⟩ = ρ that a fraction of at most ν of the rows lie below.

    .. math:: P(w, \\rho) = \\frac\\lambda2\\|w\\|^2 - \\nu\\rho + \\sum_i c_i\\max(0, \\rho - \\langle w, x_i\\rangle),
              \\qquad
              D(\\alpha) = -\\frac\\lambda2\\|w(\\alpha)\\|^2, \\quad
              w(\\alpha) = \\frac1\\lambda\\sum_i c_i\\alpha_ix_i, \\quad \\sum_i c_i\\alpha_i = \\nu

    with :math:`0 \\le \\alpha_i \\le 1`. It is the hinge loss with target 0, labels +1 and the free bias b = -ρ, plus
    the term νb of the objective (`pull`), by which the mean of the dual weights is ν instead of 0. λ only sets the
    scale: λw and λρ do not depend on it. Solvers work best where ρ is about 1, for which the default λ is chosen.
    Objectives and bounds are reported for LIBSVM's :math:`\\lambda = 1/\\sum_i s_i` and multiplied by
    :math:`\\sum_i s_i`, as in `KernelOneClass`.

    The certificate is, as for `KernelOneClass`, a bound on :math:`\\|w - w^*\\|/\\|w\\|` for the optimal w*. With α
    made feasible and w = w(α),

    .. math:: P - D = \\sum_i c_i\\big(\\alpha_i\\max(0, r_i - \\rho) + (1 - \\alpha_i)\\max(0, \\rho - r_i)\\big)
              \\ \\ge\\ \\lambda\\|w - w^*\\|^2, \\qquad r_i = \\langle w, x_i\\rangle

    at the ρ that is best for w, a quantile of r. It takes two passes: one over the rows with α > 0 for w(α), which
    `finished` returns, and one for r. If zero is in the convex hull of the rows w* may be zero; no bound is then below
    1.

    Parameters
    ----------
    X : array, CSR matrix, Matrix or Table
    nu : float in (0, 1]
    weight : array of shape (n,), optional
        Nonnegative weights :math:`s_i`; all one where not given.
    lam : float, optional
        By default ν times the squared norm of the mean row, estimated from some of the rows.

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
        """ν times the squared norm of the mean of some rows, but not below 1e-6 of a typical row's."""
        some = np.zeros(self.n)
        some[:: max(1, self.n // SOME)] = 1.0
        mean = self.combination(some) / (float(self.row_shares() @ some) or 1.0)
        sq = max(float(mean @ mean), 1e-6 * self.matrix.typical_sq_norm())
        return float(np.clip(self.nu * sq or 1.0, 1 / FAR, FAR))

    @property
    def scale(self) -> float:
        """Factor that turns w and ρ into LIBSVM's: λ Σ s."""
        return self.lam * self.total

    @property
    def objective_scale(self) -> float:
        """Factor that turns objectives into LIBSVM's."""
        return self.scale * self.total

    def objective(self, solution: Solution) -> float:
        """P at w and ρ = -b, exact; reads not billed."""
        return (super().objective(solution) + self.nu * solution.b) * self.objective_scale

    def best_bias(self, r: np.ndarray) -> float:
        """-ρ, for the best ρ given the responses."""
        return -optimal_level(r, np.zeros(self.n), self.row_shares(), self.nu)

    def relative(self, primal: float, dual: float) -> float:
        """The bound on the relative error of w = w(α), from P and D in any common unit."""
        return min(1.0, math.sqrt(max(primal - dual, 0.0) / (-2.0 * dual))) if dual < 0.0 else 1.0

    def vanishes(self, sq_norm: float) -> bool:
        """Whether w is zero up to rounding, and so is the optimal w, so that no relative error is defined."""
        longest = 1e-8 * self.nu * self.largest_norm() / self.lam  # relative to the largest possible norm
        return sq_norm <= longest * longest

    def dual(self, solution: Solution, primal: float | None = None) -> float:
        """D at the feasible point made from the solution's α; -inf if the solution has no α."""
        return -np.inf if solution.alpha is None else self.certificate(solution).bound

    def restored(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """α within its bounds and with the mean ν, and w(α).

        The difference to ν is spread over the rows between their bounds, in proportion to each row's distance to the
        bound; over all rows if that is not enough.
        """
        c = self.row_shares()
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
        """P and D at w(α), and the bound on the relative error of w, which includes all rounding."""
        if solution.alpha is None:
            return Certificate.unknown(solution.b)
        alpha, w = self.restored(solution.alpha)
        r, c, lam = self.responses(w), self.row_shares(), self.lam
        # Where several levels are optimal, it is chosen by the α that are not within 0.01 of a bound.
        level = optimal_level(r, np.where(np.abs(alpha - 0.5) > 0.5 - 1e-2, 0.0, alpha) * c, c, self.nu)
        r -= level
        e, norm = self.response_error(w, level), float(np.linalg.norm(w))
        # Each response has an error of at most e, taken with the worse sign.
        most = float(c @ np.maximum(alpha * (r + e), (1.0 - alpha) * (e - r)))
        slack = float(c @ np.maximum(alpha * r, (alpha - 1.0) * r))
        # The sum of α is not exactly ν: bound the change of α that would make it so, and the rounding of w(α).
        lack = abs(self.nu - float(c @ alpha)) + rounding(2 * self.n, self.nu)
        off = (self.combination_norm(w * lam, self.nu) - norm * lam + lack * self.largest_norm()) / lam
        most += rounding(self.n, most) + lack * float(np.abs(r).max() + e) + 0.5 * lam * off * off
        shortest, longest = max(norm - off, 0.0), norm + off
        gap = min((math.sqrt(most / lam) + off) * (1.0 + 4.0 * EPS), norm + 2.0 * off) / norm if norm > 0.0 else 1.0
        primal, dual, as_is = (-0.5 * lam * size * size for size in (shortest, longest, norm))
        unrounded = 0.0 if self.vanishes(norm * norm) else self.relative(slack + as_is, as_is)
        primal, dual = (most + primal) * self.objective_scale, dual * self.objective_scale * (1.0 + 4.0 * EPS)
        return Certificate(primal + 4.0 * EPS * abs(primal), dual, gap, -level, unrounded)

    def final_answer(self, answer: Solution, certificate: Certificate) -> Solution:
        """w(α), which is what the certificate is for, with its level."""
        if certificate.is_unknown or answer.alpha is None:
            return answer
        alpha, w = self.restored(answer.alpha)
        return Solution(w, certificate.b, alpha)

    def certificate_cells(self, cost: Cost) -> int:
        """Upper bound on the cells that a certificate (two passes) and `finished` (one pass) read."""
        return 3 * self.pass_cells
