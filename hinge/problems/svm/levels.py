"""The ν-SVMs: dual weights whose sum is fixed by ν, one sum and one multiplier (a level) for each sign."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram
from hinge.problems.base import Certificate
from hinge.problems.svm.kernelized import Expansion, KernelProblem
from hinge.problems.svm.level_gap import level_gap, relative_gap
from hinge.problems.svm.losses import HINGE, Loss


class KernelLevels(KernelProblem):
    """Points with a sign σ; for each sign, the dual weights of its points have a given sum M.

    .. math:: \\max_\\alpha\\ D(\\alpha) = \\sum_i\\sigma_it_i\\alpha_i - \\tfrac12\\|w\\|^2, \\qquad
              w = \\sum_i\\sigma_i\\alpha_i\\phi(x_i), \\quad 0 \\le \\alpha_i \\le s_i, \\quad
              \\sum_{\\sigma_i = \\sigma}\\alpha_i = M = \\frac\\nu k\\sum_i s_i

    where k is the number of different signs. It is the dual of

    .. math:: P(w, l) = \\tfrac12\\|w\\|^2 - \\sum_\\sigma Ml_\\sigma
              + \\sum_i s_i\\max(0, l_{\\sigma_i} - m_i), \\qquad
              m_i = \\sigma_i(\\langle w, \\phi(x_i)\\rangle - t_i).

    Given w, the optimal level of a sign is a quantile of its margins m. With one sign and t = 0 this is the one-class
    SVM, with labels for signs and t = 0 the ν-SVM of two classes. In ν-regression t are the targets, and every point
    occurs twice, once with each sign; both copies have the same response, so kernel values are computed once.

    With the responses the duality gap costs O(n log n) and no kernel value,

    .. math:: P - D = \\sum_i \\alpha_i\\max(0, m_i - l) + (s_i - \\alpha_i)\\max(0, l - m_i)
              \\ \\ge\\ \\|w - w^*\\|^2,

    where one half of the bound follows from the strong convexity of P and the other from that of D. Each problem's
    `error` turns P - D into the `gap` of its certificate.

    An answer is an `Expansion` with β = σα; for points with two copies β is the difference of their α, since equal
    amounts added to both leave w unchanged.

    Parameters
    ----------
    gram : Gram
    y : array of shape (n,)
        Labels, or targets.
    nu : float in (0, 1]
    sign : array of shape (n,) or (2, n)
        σ of each point, or of its two copies.
    C : float
        :math:`s_i` is C times the weight of the point.
    weight : array of shape (n,), optional
        Weights of the points; all one where not given.
    loss : Loss

    References
    ----------
    B. Schölkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett, *New Support Vector Algorithms*, 2000;
    C.-C. Chang, C.-J. Lin, *Training ν-Support Vector Classifiers: Theory and Algorithms*, 2001.
    """

    form: ClassVar[int]
    """Which of the three problems it is: a constant of `level_gap`."""
    signs: ClassVar[tuple[int, ...]] = (1, -1)
    """The values that σ takes."""
    centre: float = 0.0
    """What was subtracted from the targets: the levels absorb it, and sums of smaller numbers are more exact."""
    faint: float = 0.0
    """Lower limit of what the gap of regression is divided by."""

    def __init__(
        self,
        gram: BaseGram,
        y: ArrayLike,
        nu: float,
        sign: np.ndarray,
        *,
        C: float = 1.0,
        weight: ArrayLike | None = None,
        loss: Loss = HINGE,
    ) -> None:
        super().__init__(gram, y, weight=weight, loss=loss)
        self.nu = checked_share(nu)
        self.sign = np.atleast_2d(sign).astype(np.float64)
        self.boxes = np.broadcast_to(C * np.asarray(self.weight, np.float64), (self.n,))
        self.mass = self.nu * float(self.boxes.sum()) / len(self.signs)
        self.linear = np.zeros(self.n)
        room = [float((self.boxes * (self.sign == sign)).sum()) for sign in self.signs]
        self.shares = np.array([self.mass / own if own > 0 else np.inf for own in room])

    # --- what solvers use -----------------------------------------------------------------

    def margins(self, r: np.ndarray, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """The margins m of some points, and of their copies, from the responses."""
        return self.sign[:, rows] * (r - self.linear[rows])

    def levels(self, m: np.ndarray, alpha: np.ndarray, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """The optimal level of each sign given these margins, a weighted quantile.

        Where it is not unique it is, as in LIBSVM, the mean margin of the points between their bounds.
        """
        sign = self.sign[:, rows]
        s = np.broadcast_to(self.boxes[rows], sign.shape)
        if len(self.signs) == 1:
            return np.array([quantile(m.ravel(), alpha.ravel(), s.ravel(), float(self.shares.min()))])
        own = [sign == one for one in self.signs]
        return np.array(
            [quantile(m[at], alpha[at], s[at], share) for at, share in zip(own, self.shares.tolist(), strict=True)]
        )

    def over(self, m: np.ndarray, levels: np.ndarray, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """m - l: by how much each margin exceeds the level of its sign."""
        return m - (np.where(self.sign[:, rows] > 0, *levels) if len(levels) == 2 else levels)

    def slack(self, over: np.ndarray, alpha: np.ndarray, rows: slice | np.ndarray = slice(None)) -> float:
        """P - D of a feasible α, given m - l."""
        above, below = np.maximum(over, 0.0), np.maximum(-over, 0.0)
        return float(np.vdot(alpha, above) + np.vdot(self.boxes[rows] - alpha, below))

    def error(self, slack: float, sq_norm: float, gain: float = 0.0, off: float = 0.0) -> float:
        """The `gap` of a certificate, from P - D.

        Parameters
        ----------
        slack, sq_norm, gain : float
            P - D, ‖w‖², and Σ σtα.
        off : float
            Bound on the error of w itself, in norm.
        """
        return float(relative_gap(self.form, slack, sq_norm, gain, off, self.faint))

    def vanishes(self, sq_norm: float) -> bool:
        """Whether w is zero up to the rounding of kernel values, and so is the optimal w."""
        return sq_norm <= 0.5 * np.finfo(self.gram.dtype).eps * self.mass**2 * float(self.gram.diag.mean())

    def bias_of(self, levels: np.ndarray) -> float:
        """The bias for which both signs have the same level: σ(⟨w, φ⟩ + b - t) ≥ l with the mean l of both levels."""
        return self.centre + float(levels[-1] - levels[0]) / 2

    def weights_of(self, beta: np.ndarray) -> np.ndarray:
        """The α with σα = β; of two copies, the smallest such α: one of both is zero."""
        return np.maximum(self.sign * beta, 0.0)

    # --- certificates ---------------------------------------------------------------------

    def objective(self, answer: Expansion) -> float:
        """P at w and b, and at the best mean level given both."""
        m = self.sign * (answer.responses - self.linear + (answer.b - self.centre))
        s = np.broadcast_to(self.boxes, m.shape)
        mass = self.mass * len(self.signs)
        level = quantile(m.ravel(), self.weights_of(answer.beta).ravel(), s.ravel(), mass / float(s.sum()))
        return 0.5 * self.checked(answer) - mass * level + float(np.vdot(s, np.maximum(level - m, 0.0)))

    def certificate(self, answer: Expansion) -> Certificate:
        """P at the best levels, D, and a bound on the gap that includes all rounding."""
        beta, r = answer.beta, answer.responses
        self.checked(answer)
        alpha = self.weights_of(beta)
        lack = self.mass - _sums(self, alpha)
        inside = bool((alpha <= self.boxes).all()) and np.array_equal((self.sign * alpha).sum(axis=0), beta)
        if len(alpha) == 2:  # a sum that is too small for both signs: equal amounts can be added to both copies
            lack -= max(0.0, float(lack.min()))
        inside &= bool((np.abs(lack) <= 1e-9 * self.mass).all())
        if answer.terms == np.inf:
            return Certificate.unknown(answer.b)
        if self.certifiable and inside and not self.gram.contradicts(beta):
            return self._bounds(beta, r, self.off(answer))
        b = self.bias_of(self.levels(self.margins(r), alpha))
        unknown = np.inf if self.certifiable and not inside else np.nan
        return Certificate(self.objective(answer._replace(b=b)), -unknown, unknown, b)

    def _bounds(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        alpha = self.weights_of(beta)
        levels = self.levels(self.margins(r), alpha)
        b = self.bias_of(levels)
        shifts = float(np.abs(levels).max()) + abs(b) + abs(self.centre)  # includes the rounding of b
        parts = self.boxes, self.linear, r, e, self.gram.norms
        box, linear, r, e, own = (np.array(np.broadcast_to(part, alpha.shape)).ravel() for part in parts)
        slack, sq, gain, most, sq_off, least, shift = level_gap(
            self.form, self.sign.ravel(), box, alpha.ravel(), linear, r, e, own, levels, shifts, self.mass
        )
        gap = self.error(most, sq - sq_off, least + 0.5 * (sq - sq_off), shift)
        return Certificate(slack + gain - 0.5 * sq, float(least), gap, b, self.error(slack, sq, gain))


def _sums(problem: KernelLevels, alpha: np.ndarray) -> np.ndarray:
    """The sum of α for each sign."""
    return np.array([float(alpha[problem.sign == sign].sum()) for sign in problem.signs])


def quantile(m: np.ndarray, alpha: np.ndarray, s: np.ndarray, share: float) -> float:
    """The l at which -(share Σs)l + Σ s max(0, l - m) is least."""
    order = np.argsort(m, kind="stable")
    below = np.cumsum(s[order])
    target = share * below[-1]
    at = min(int(np.searchsorted(below, target * (1 - 1e-12))), len(m) - 1)
    low = high = float(m[order[at]])
    if at + 1 < len(m) and below[at] <= target * (1 + 1e-12):
        high = float(m[order[at + 1]])
    free = (alpha > 0) & (alpha < s)
    return float(np.clip(m[free].mean(), low, high)) if free.any() else (low + high) / 2


def checked_share(nu: float) -> float:
    """ν as a number in (0, 1]."""
    if not 0 < nu <= 1:
        raise ValueError(f"nu must lie in (0, 1], got {nu!r}: it is a share of the points.")
    return float(nu)


def summing_to(alpha: np.ndarray, s: np.ndarray, total: float) -> np.ndarray:
    """α moved within its bounds until it sums to the total, in proportion to the room that each has."""
    lack = total - float(alpha.sum())
    room = s - alpha if lack > 0 else alpha
    return np.clip(alpha + lack * room / (float(room.sum()) or 1.0), 0.0, s)
