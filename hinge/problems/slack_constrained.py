"""The slack-constrained SVM: problem (3) of the SIMBA paper, Problem 2.3 of the SBP paper."""

from typing import Any

import numpy as np

from hinge.problems.base import Certificate, Solution
from hinge.problems.linear import Bias, LinearProblem


class SlackConstrained(LinearProblem):
    """The widest margin after a total slack of nν.

    .. math:: \\max_{\\|w\\| \\le 1,\\, b}\\ \\max_{\\xi \\ge 0,\\ \\sum_i c_i\\xi_i \\le \\nu}\\
              \\min_i\\ y_i(\\langle w, x_i\\rangle + b) + \\xi_i

    At given w the inner optimum is the *water level* γ: the margins are filled up with a volume ν.
    Every p of the simplex bounds the optimum from above,

    .. math:: D(p) = \\Big\\|\\sum_i p_i y_i x_i\\Big\\| + \\nu \\max_i p_i / c_i,

    with :math:`\\sum_i p_i y_i = 0` where the bias is free. The certificate is the relative gap
    :math:`(D - \\gamma)/\\gamma`, which by Lemma 2.1 bounds both criteria of w/γ against the Pareto
    front: each is within 1/(1 - gap) of it.
    """

    def __init__(self, X: Any, y: Any, nu: float, *, weight: Any = None, bias: Bias = "none") -> None:
        super().__init__(X, y, weight=weight, bias=bias)
        if bias == "penalized":
            raise ValueError("SlackConstrained takes bias='none' or 'free'; add a constant feature to X.")
        if not 0 < nu <= 1:
            raise ValueError(f"nu must lie in (0, 1], got {nu!r}: it is the mean slack at unit norm.")
        self.nu = float(nu)

    def objective(self, solution: Solution) -> float:
        """The water level of w, at the best bias where it is free, at unit norm or the best below."""
        return self._level(solution, billed=False)[0]

    def certificate(self, solution: Solution) -> Certificate:
        """The interval [γ, D(p)] with p proportional to the solution's cα."""
        gamma, b = self._level(solution, billed=True)
        alpha = solution.alpha
        if alpha is None or alpha.max() <= 0:
            return Certificate(gamma, np.inf, np.inf, b)
        alpha = self.balanced(alpha) if self.bias == "free" else alpha
        mass = sum(self.class_mass(alpha))
        if mass <= 0:
            return Certificate(gamma, np.inf, np.inf, b)
        upper = (float(np.linalg.norm(self.combination(alpha))) + self.nu * float(alpha.max())) / mass
        gap = max(0.0, (upper - gamma) / gamma) if gamma > 0 else np.inf
        return Certificate(gamma, upper, gap, b)

    def _level(self, solution: Solution, billed: bool) -> tuple[float, float]:
        norm = self.norm(solution.w) or 1.0
        r = self.responses(solution.w, billed) / norm
        c = np.broadcast_to(np.asarray(self.share()), (self.n,))
        if self.bias == "free":
            level, b = best_level(r, self.y, c, self.nu)
        else:
            level, b = water_level(self.y * r, c, self.nu), solution.b / norm
        # Where w has margins of one at a loss L, a shorter w of margin ν/L uses up the slack as well.
        loss = self.hinge_of(r * norm, solution.b)
        if loss > 0 and self.nu / loss * norm <= 1.0 and self.nu / loss > level:
            level, b = self.nu / loss, solution.b / norm
        return level, b


def water_level(m: np.ndarray, c: np.ndarray, nu: float) -> float:
    """The γ with :math:`\\sum_i c_i(\\gamma - m_i)_+ = \\nu`, by Newton's method on a convex function.

    Starting to the right of the root, the steps fall to it monotonically and end after finitely many.
    """
    gamma = float(m @ c) + nu  # the level over all rows together: not below the root, as c sums to 1
    gamma = max(gamma, float(m.min()) + np.finfo(float).tiny)
    while True:
        wet = m < gamma
        mass = float(c[wet].sum())
        if mass == 0.0:
            return gamma
        lower = (nu + float(c[wet] @ m[wet])) / mass
        if not lower < gamma:
            return gamma
        gamma = lower


def best_level(r: np.ndarray, y: np.ndarray, c: np.ndarray, nu: float) -> tuple[float, float]:
    """The highest water level over the bias b, and that b.

    The level is concave in b, with slope (wet positive mass - wet negative mass)/(wet mass), so b
    is found by bisection on the sign of the slope.
    """
    # Beyond these even all the water in the smaller class's basin does not reach.
    smaller = min(float(c[y > 0].sum()), float(c[y < 0].sum()))
    hi = float(np.abs(r).max()) + 1.0 + (nu / smaller if smaller > 0 else 0.0)
    lo = -hi
    while True:
        b = (lo + hi) / 2
        m = y * (r + b)
        gamma = water_level(m, c, nu)
        wet = m < gamma
        slope = float(c[wet] @ y[wet])
        if slope == 0.0 or hi - lo <= 1e-13 * max(1.0, abs(lo), abs(hi)):
            return gamma, b
        lo, hi = (b, hi) if slope > 0 else (lo, b)
