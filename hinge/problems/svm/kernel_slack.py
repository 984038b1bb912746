"""The slack-constrained SVM with a kernel."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram
from hinge.kernels import Kernel
from hinge.problems.base import Certificate
from hinge.problems.svm.examples import balance
from hinge.problems.svm.kernel_duality import UNIT
from hinge.problems.svm.kernelized import Expansion, KernelProblem, KernelRegularized
from hinge.problems.svm.slack_constrained import Basins, GivenSlack, checked_slack
from hinge.types import Items


class KernelSlackConstrained(GivenSlack[Expansion], KernelProblem):
    """Maximise the margin after a mean slack of ν: Problem 2.3 of the SBP paper.

    Any p of the simplex bounds the optimum from above by
    :math:`D(p) = \\|\\sum_i p_i y_i\\phi(x_i)\\| + \\nu\\max_i p_i/c_i`, with :math:`\\sum_i p_i y_i = 0`
    if the bias is free. `certificate` uses p ∝ |β|, which costs no kernel value; `bound` takes any p.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve_slack
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelSlackConstrained
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelSlackConstrained(X, 2 * y - 1, 0.05, Gaussian(gamma=2.0))
    >>> bool(solve_slack(problem, stop=Stop(tol=1e-2)).certificate.gap <= 1e-2)
    True
    """

    def __init__(
        self, X: Items | BaseGram, y: ArrayLike, nu: float, kernel: Kernel | None = None, **options: Any
    ) -> None:
        KernelProblem.__init__(self, X, y, kernel, **options)
        if self.loss.two_sided:
            raise ValueError("Slack is defined by the hinge loss; a regression problem takes lam instead.")
        self.nu = checked_slack(nu)
        if self.bias == "free" and min(float(self.row_shares()[self.y == side].sum()) for side in (1, -1)) == 0.0:
            raise ValueError("There are rows of one class only: a free bias has no best value.")

    def regularized(self, lam: float) -> KernelRegularized:
        """The same examples and kernel as a regularised problem."""
        weight = self.weight if len(self.weight) > 1 else None
        return KernelRegularized(self.gram, self.y, lam, weight=weight, bias=self.bias)

    def norm_of(self, answer: Expansion) -> float:
        """‖w‖."""
        return float(np.sqrt(self.checked(answer)))

    def basins(self, answer: Expansion, billed: bool = True) -> Basins:
        """The margins of an answer at unit norm; they cost no kernel value."""
        return Basins(
            answer.responses / (self.norm_of(answer) or 1.0), self.y, self.row_shares(), free=self.bias == "free"
        )

    def certificate(self, answer: Expansion) -> Certificate:
        """The interval [γ, D(p)] with p proportional to |β|; `b` is the bias at unit norm.

        An error of a response at unit norm changes γ by at most as much; an error of ‖w‖ scales γ.
        """
        gamma, b, _ = self.level(answer)
        beta = answer.beta
        size = float(np.abs(beta).sum())
        if not self.certifiable:
            return Certificate(gamma, np.nan, np.nan, b)
        if size == 0.0 or (beta * self.y < 0).any():
            return Certificate(gamma, np.inf, np.inf, b)
        e, p, own = self.off(answer), np.abs(beta), self.gram.norms
        sq, apart = self.checked(answer), 0.0
        sq_off = float(p @ e) + self.n * UNIT * sq
        norm = float(np.sqrt(sq)) or 1.0
        low = norm / np.sqrt(sq + sq_off) * gamma - float(e.max(initial=0.0)) / norm - 4 * self.n * UNIT * abs(b)
        if self.bias == "free":  # the heavier class is scaled down, until the sums of both agree
            side, ratio = balance(*(float(p[self.y == side].sum()) for side in (1, -1)))
            if ratio == 0.0:
                return Certificate(gamma, np.inf, np.inf, b)
            heavy = self.y == side
            apart = (1.0 - ratio) * float(p[heavy] @ own[heavy])
            p = np.where(heavy, ratio * p, p)
            size = float(p.sum())
        upper = self._bound(p / size, (np.sqrt(sq + sq_off) + apart) / size) * (1 + 4 * self.n * UNIT)
        as_is = (self._bound(p / size, norm / size) - gamma) / gamma if gamma > 0 else np.inf
        gap = max(0.0, (upper - low) / low) if low > 0 and upper < np.inf else np.inf
        return Certificate(gamma, upper, gap, b, max(0.0, as_is))

    def sharpened(self, answer: Expansion, found: Certificate, wanted: float) -> Certificate:
        """The certificate unchanged: no way to sharpen it is known, since all responses enter it."""
        return found

    def bound(self, p: np.ndarray) -> float:
        """D(p) for any nonnegative p, normalised and balanced first; its kernel values are billed."""
        p = np.maximum(np.asarray(p, np.float64), 0.0)
        if self.bias == "free":
            sides = self.y > 0, self.y < 0
            if not all(p[side].any() for side in sides):
                return np.inf  # all of α is on one class: no multiple of it satisfies the constraint of the bias
            for side in sides:
                p[side] /= 2.0 * p[side].sum()
        p = p / p.sum()
        used = np.flatnonzero(p)
        v = self.gram.host(self.gram.pass_over(used, (p * self.y)[used], used))
        return self._bound(p, float(np.sqrt(max((p * self.y)[used] @ v, 0.0))))

    def _bound(self, p: np.ndarray, norm: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return norm + self.nu * float(np.nanmax(p / np.asarray(self.share())))
