"""The one-class SVM: most of the points on the far side of a hyperplane from zero."""

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram
from hinge.kernels import Kernel
from hinge.problems.base import Certificate
from hinge.problems.svm.duality import UNIT
from hinge.problems.svm.kernelized import Expansion, KernelProblem, gram_of
from hinge.types import Items


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
    is :math:`\\sqrt{P - D}/\\|w\\|`, a bound on the relative error of w, and so of the decision function; it
    is never above 1, since :math:`w^*` is the shortest. Where the points surround zero, so that
    :math:`w^*` is zero, no better one exists. An answer is an `Expansion` with α for β and -ρ for b.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    nu : float in (0, 1]
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    weight : array of shape (n,), optional
        The :math:`s_i`, all one where not given.
    """

    def __init__(
        self, X: Items | BaseGram, nu: float, kernel: Kernel | None = None, *, weight: ArrayLike | None = None
    ) -> None:
        gram = gram_of(X, kernel)
        super().__init__(gram, np.ones(gram.n, np.int8), weight=weight)
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

    def slack(self, r: np.ndarray, alpha: np.ndarray, rho: float, rows: slice | np.ndarray = slice(None)) -> float:
        """P - D, where α is feasible."""
        over = r - rho
        return float(alpha @ np.maximum(over, 0.0) + (self.boxes[rows] - alpha) @ np.maximum(-over, 0.0))

    def error(self, slack: float, sq_norm: float) -> float:
        """The certified relative error of w; the best w, which is the shortest, is no farther away than 0."""
        return float(np.sqrt(min(slack / sq_norm, 1.0))) if sq_norm > 0 else 1.0

    def vanishes(self, sq_norm: float) -> bool:
        """Whether w is zero, as far as floating point can tell."""
        return sq_norm <= (1e-8 * self.mass) ** 2 * float(self.gram.diag.mean())

    def objective(self, answer: Expansion) -> float:
        """P at w and ρ."""
        short = np.maximum(-answer.b - answer.responses, 0.0)
        return 0.5 * self.checked(answer) + self.mass * answer.b + float(self.boxes @ short)

    def certificate(self, answer: Expansion) -> Certificate:
        """P at the best ρ, D, and the bound on the relative error of w, all rounding included."""
        alpha, r = answer.beta, answer.responses
        self.checked(answer)
        inside = bool(((alpha >= 0) & (alpha <= self.boxes)).all())
        inside &= abs(float(alpha.sum()) - self.mass) <= 1e-9 * self.mass
        if not self.certifiable or not inside:
            b = -self.level(r, alpha)
            unknown = np.inf if self.certifiable else np.nan
            return Certificate(self.objective(answer._replace(b=b)), -unknown, unknown, b)
        return self._bounds(alpha, r, self.off(answer))

    def _bounds(self, alpha: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        rho = self.level(r, alpha)
        sq = max(float(alpha @ r), 0.0)
        over = np.abs(r - rho)
        slack = self.slack(r, alpha, rho)
        e = e + 2 * UNIT * (np.abs(r) + abs(rho))
        # What it is with each response off by e, in whatever direction is worse.
        ends = []
        for off in (e, -e):
            over_by = r + off - rho
            ends.append(alpha * np.maximum(over_by, 0.0) + (self.boxes - alpha) * np.maximum(-over_by, 0.0))
        most = float(np.maximum(*ends).sum())
        # The sum of α is right up to rounding: made right, α changes by this share, and with it w.
        apart = abs(float(alpha.sum()) - self.mass) / self.mass + self.n * UNIT
        sq_off = float(alpha @ e) + self.n * UNIT * sq
        most += apart * (float(alpha @ over) + sq + sq_off) + self.n * UNIT * most
        low = sq - sq_off
        gap, as_is = self.error(most, low), self.error(slack, sq)
        return Certificate(slack - 0.5 * sq, -0.5 * (sq + sq_off), gap, -rho, as_is)

    def radius(self, answer: Expansion) -> float:
        """The radius of the ball about :math:`w/(\\nu S)`, where K(x, x) is the same for all x.

        .. math:: R^2 = \\kappa - 2\\rho/(\\nu S) + \\|w\\|^2/(\\nu S)^2

        Points outside it are those with :math:`\\langle w, \\phi(x)\\rangle < \\rho`; nan otherwise.
        """
        diag = self.gram.diag
        if np.ptp(diag) > 1e-6 * diag.max():
            return np.nan
        sq = diag.mean() + 2.0 * answer.b / self.mass + self.checked(answer) / self.mass / self.mass
        return float(np.sqrt(max(sq, 0.0)))
