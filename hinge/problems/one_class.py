"""The one-class SVM: most of the points on the far side of a hyperplane from zero."""

from typing import Any

import numpy as np

from hinge.access import Gram, as_points
from hinge.kernels import Kernel
from hinge.problems.base import Certificate
from hinge.problems.kernelized import BALANCED, Expansion, KernelProblem

SMALL_NORM = 1e-3
"""Errors are relative to no ‖w‖ below this share of the largest there can be."""


class KernelOneClass(KernelProblem):
    """The level that all but a share ν of the points reach, and the shortest w for it,

    .. math:: P(w, \\rho) = \\tfrac12\\|w\\|^2 - \\nu S\\rho
              + \\sum_i s_i\\max(0, \\rho - \\langle w, \\phi(x_i)\\rangle)

    with :math:`S = \\sum_i s_i`. Its dual is

    .. math:: D(\\alpha) = -\\tfrac12\\alpha^\\top K\\alpha, \\qquad 0 \\le \\alpha_i \\le s_i, \\quad
              \\textstyle\\sum_i\\alpha_i = \\nu S,

    and :math:`w = \\sum_i\\alpha_i\\phi(x_i)`. Where :math:`K(x, x) = \\kappa` for all x, :math:`w/(\\nu S)`
    is the centre of the smallest ball with a price on what lies outside: see `radius`.

    With the responses :math:`r_i` the duality gap costs O(n log n) and no kernel value,

    .. math:: P - D = \\sum_i \\alpha_i\\max(0, r_i - \\rho) + (s_i - \\alpha_i)\\max(0, \\rho - r_i)
              \\ \\ge\\ \\|w - w^*\\|^2,

    half of it by the strong convexity of P and half by that of D, for the best :math:`w^*`. The certificate
    is :math:`\\sqrt{P - D}/\\|w\\|`, a bound on the relative error of w, and so of the decision function. An
    answer is an `Expansion` with α for β and -ρ for b.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    nu : float in (0, 1]
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    weight : array of shape (n,), optional
        The :math:`s_i`, all one where not given.
    """

    def __init__(self, X: Any, nu: float, kernel: Kernel | None = None, *, weight: Any = None) -> None:
        gram = X if kernel is None else Gram(as_points(X, kernel))
        super().__init__(gram, np.ones(getattr(gram, "n", 0), np.int8), weight=weight)
        if not 0 < nu <= 1:
            raise ValueError(f"nu must lie in (0, 1], got {nu!r}: it is the share of points left outside.")
        self.nu = float(nu)
        self.boxes = np.broadcast_to(np.asarray(self.weight, np.float64), (self.n,))
        self.mass = self.nu * float(self.boxes.sum())

    def level(self, r: np.ndarray, alpha: np.ndarray, rows: slice | np.ndarray = slice(None)) -> float:
        """The ρ that is best for these responses: the ν-quantile.

        Where several are best it is, as in LIBSVM, that of the points between their bounds.
        """
        s = self.boxes[rows]
        order = np.argsort(r, kind="stable")
        below = np.cumsum(s[order])
        target = self.nu * below[-1]
        at = min(int(np.searchsorted(below, target * (1 - 1e-12))), len(r) - 1)
        low = high = float(r[order[at]])
        if at + 1 < len(r) and below[at] <= target * (1 + 1e-12):
            high = float(r[order[at + 1]])
        free = (alpha > 0) & (alpha < s)
        return float(np.clip(r[free].mean(), low, high)) if free.any() else (low + high) / 2

    def slack(
        self, r: np.ndarray, alpha: np.ndarray, rho: float, rows: slice | np.ndarray = slice(None)
    ) -> float:
        """P - D, where α is feasible."""
        over = r - rho
        return float(alpha @ np.maximum(over, 0.0) + (self.boxes[rows] - alpha) @ np.maximum(-over, 0.0))

    def least(self, share: float = 1.0) -> float:
        """The smallest ‖w‖² that errors are relative to, of points that are this share of all."""
        return (SMALL_NORM * share * self.mass) ** 2 * float(self.gram.diag.mean()) or 1.0

    def error(self, slack: float, sq_norm: float, share: float = 1.0) -> float:
        """The certified relative error of w; the best w, which is the shortest, is no farther away than 0."""
        sq_norm = max(sq_norm, 0.0)
        return float(np.sqrt(min(slack, sq_norm) / max(sq_norm, self.least(share))))

    def objective(self, answer: Expansion) -> float:
        """P at w and ρ."""
        short = np.maximum(-answer.b - answer.responses, 0.0)
        return 0.5 * self.checked(answer) + self.mass * answer.b + float(self.boxes @ short)

    def certificate(self, answer: Expansion) -> Certificate:
        """P at the best ρ, D, and the bound on the relative error of w."""
        alpha, r, sq = answer.beta, answer.responses, self.checked(answer)
        rho = self.level(r, alpha)
        inside = bool(((alpha >= 0) & (alpha <= self.boxes)).all())
        if not inside or abs(float(alpha.sum()) - self.mass) > BALANCED * self.mass:
            return Certificate(self.objective(answer._replace(b=-rho)), -np.inf, np.inf, -rho)
        slack = self.slack(r, alpha, rho)
        return Certificate(slack - 0.5 * sq, -0.5 * sq, self.error(slack, sq), -rho)

    def radius(self, answer: Expansion) -> float:
        """The radius of the ball about :math:`w/(\\nu S)`, where K(x, x) is the same for all x.

        .. math:: R^2 = \\kappa - 2\\rho/(\\nu S) + \\|w\\|^2/(\\nu S)^2

        Points outside it are those with :math:`\\langle w, \\phi(x)\\rangle < \\rho`; nan otherwise.
        """
        diag = self.gram.diag
        if np.ptp(diag) > 1e-6 * diag.max():
            return np.nan
        sq = diag.mean() + 2.0 * answer.b / self.mass + self.checked(answer) / self.mass**2
        return float(np.sqrt(max(sq, 0.0)))
