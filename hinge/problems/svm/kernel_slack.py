"""The slack-constrained SVM with a kernel."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram
from hinge.kernels import Kernel
from hinge.problems.base import Certificate
from hinge.problems.svm.kernel_duality import UNIT
from hinge.problems.svm.kernelized import Expansion, KernelProblem, KernelRegularized
from hinge.problems.svm.slack_constrained import Basins, best_level
from hinge.types import Items


class KernelSlackConstrained(KernelProblem):
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
        super().__init__(X, y, kernel, **options)
        if self.loss.two_sided:
            raise ValueError("Slack is defined by the hinge loss; a regression problem takes lam instead.")
        if not 0 <= nu <= 1:
            raise ValueError(f"nu must lie in [0, 1], got {nu!r}: it is the mean slack at unit norm.")
        self.nu = float(nu)
        if self.bias == "free":
            sides = [float(np.sum(np.broadcast_to(self.share(), (self.n,))[self.y == s])) for s in (1, -1)]
            if min(sides) == 0.0:
                raise ValueError("There are rows of one class only: a free bias has no best value.")

    def regularized(self, lam: float) -> KernelRegularized:
        """The same examples and kernel as a regularised problem."""
        weight = self.weight if len(self.weight) > 1 else None
        return KernelRegularized(self.gram, self.y, lam, weight=weight, bias=self.bias)

    def level(self, answer: Expansion) -> tuple[float, float, float]:
        """The margin γ (water level), the bias at unit norm, and the norm in [0, 1] at which w has this margin."""
        norm = np.sqrt(self.checked(answer)) or 1.0
        c = np.broadcast_to(np.asarray(self.share()), (self.n,))
        basins = Basins(answer.responses / norm, self.y, c, free=self.bias == "free")
        return best_level(basins, self.nu)

    def usable(self, answer: Expansion) -> float:
        """The slack at which all points of the smaller class use some; with more the bias diverges.

        Infinite without a free bias, and if weights differ, for which it is not computed.
        """
        counts = np.broadcast_to(self.weight > 0, (self.n,))
        if self.bias != "free" or len(np.unique(self.weight[self.weight > 0])) > 1:
            return np.inf
        c = self.y * answer.responses / (np.sqrt(self.checked(answer)) or 1.0)
        lows = [np.sort(c[counts & (self.y == side)]) for side in (1, -1)]
        m = min(map(len, lows))
        depth = lows[0][:m] + lows[1][:m]
        return float(m * depth[-1] - depth.sum()) / sum(map(len, lows))

    def flooded(self, usable: float) -> str:
        """The error message for a slack that covers all of the smaller class."""
        m = min(int(((self.y == side) & (self.weight > 0)).sum()) for side in (1, -1))
        return (
            f"A slack of {self.nu:g} is too large: it covers all {m} rows of the smaller class, and "
            f"the bias diverges. The largest usable slack is about {usable:.2g}."
        )

    def objective(self, answer: Expansion) -> float:
        """The largest margin (water level) of any multiple of w in the unit ball."""
        return self.level(answer)[0]

    def certificate(self, answer: Expansion) -> Certificate:
        """The interval [γ, D(p)] with p proportional to |β|; `b` is the bias at unit norm.

        An error of a response at unit norm changes γ by at most as much; an error of ‖w‖ scales γ.
        """
        gamma, b, _ = self.level(answer)
        b = b if self.bias == "free" else 0.0
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
            sums = [float(p[self.y == side].sum()) for side in (1, -1)]
            if min(sums) == 0.0:
                return Certificate(gamma, np.inf, np.inf, b)
            heavy = self.y == (1 if sums[0] > sums[1] else -1)
            kappa = abs(sums[0] - sums[1]) / max(sums)
            apart = kappa * float(p[heavy] @ own[heavy])
            p = np.where(heavy, (1.0 - kappa) * p, p)
            size = float(p.sum())
        upper = self._bound(p / size, (np.sqrt(sq + sq_off) + apart) / size) * (1 + 4 * self.n * UNIT)
        as_is = (self._bound(p / size, norm / size) - gamma) / gamma if gamma > 0 else np.inf
        gap = max(0.0, (upper - low) / low) if low > 0 and upper < np.inf else np.inf
        return Certificate(gamma, upper, gap, b, max(0.0, as_is))

    def final_answer(self, answer: Expansion, certificate: Certificate) -> Expansion:
        """The answer with the certificate's bias, which is for unit norm, times ‖w‖."""
        if certificate.is_unknown:
            return answer
        return answer._replace(b=certificate.b * (float(np.sqrt(self.checked(answer))) or 1.0))

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
