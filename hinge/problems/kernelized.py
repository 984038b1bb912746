"""Kernel SVMs: the regularised and the slack-constrained problem in a space known by its kernel."""

from typing import Any, Literal, NamedTuple

import numpy as np

from hinge.access import Gram, as_points
from hinge.kernels import Kernel
from hinge.problems.base import Certificate
from hinge.problems.examples import Examples
from hinge.problems.regularized import checked_lam, lam_of, relative_gap
from hinge.problems.slack_constrained import Basins, best_level

BALANCED = 1e-9
"""The dual constraint of a free bias counts as met when the β sum to this share of their sizes."""


class Expansion(NamedTuple):
    """An answer :math:`w = \\sum_i \\beta_i\\phi(x_i)`.

    Attributes
    ----------
    beta : ndarray of shape (n,)
    b : float
        Bias; 0 where the problem has none.
    responses : ndarray of shape (n,)
        :math:`\\langle w, \\phi(x_i)\\rangle`, which every kernel method keeps.
    """

    beta: np.ndarray
    b: float
    responses: np.ndarray

    @property
    def sq_norm(self) -> float:
        """‖w‖²; the paper's section 3.3 lacks the square."""
        return float(self.beta @ self.responses)


class KernelProblem(Examples):
    """Examples with a Gram matrix.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    y : array of shape (n,)
        Labels, -1 and +1.
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    weight : array of shape (n,), optional
    bias : {"none", "free"}
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        kernel: Kernel | None = None,
        *,
        weight: Any = None,
        bias: Literal["none", "free"] = "none",
    ) -> None:
        if kernel is not None:
            X = Gram(as_points(X, kernel))
        if not hasattr(X, "pass_over"):
            raise TypeError("A kernel problem takes a Gram, or points and a kernel.")
        self.gram: Gram = X
        super().__init__(X.n, y, weight)
        if bias not in ("none", "free"):
            raise ValueError(f"bias is 'none' or 'free', not {bias!r}.")
        self.bias = bias

    reads = 0
    pass_cells = 0

    @property
    def kernel_evals(self) -> int:
        """Kernel values computed so far."""
        return self.gram.evals

    def criteria_of(self, answer: Expansion) -> tuple[float, float]:
        """Both criteria: the norm and the mean hinge loss."""
        return float(np.sqrt(max(answer.sq_norm, 0.0))), self.loss(answer.responses, answer.b)

    def loss(self, r: np.ndarray, b: float) -> float:
        """The mean hinge loss."""
        return sum(self.hinge_of(r[lo:hi], b, lo, hi) for lo, hi in self.blocks())

    def checked(self, answer: Expansion) -> float:
        """‖w‖², which a kernel that is not positive can make negative."""
        sq, scale = answer.sq_norm, float(np.abs(answer.beta) @ np.abs(answer.responses))
        rounding = 1e-6 if self.gram.dtype == np.float64 else 1e-4
        if sq < -rounding * max(scale, float(np.abs(answer.beta).sum())):
            i = int(np.argmin(answer.beta * answer.responses))
            raise ValueError(
                f"The kernel is not positive: the squared norm of an answer is {sq:.3g}, and the point of "
                f"row {i} contributes most. Use a positive semidefinite kernel, or add to its diagonal."
            )
        if not np.isfinite(sq):
            i = int(np.flatnonzero(~np.isfinite(answer.responses))[0])
            raise ValueError(f"The kernel gave a value that is not finite in the column of row {i}.")
        return max(sq, 0.0)


class KernelRegularized(KernelProblem):
    """The norm paid for by λ: Problem 2.2 of the SBP paper.

    .. math:: P(w, b) = \\frac\\lambda2\\|w\\|^2
              + \\sum_i c_i\\max(0, 1 - y_i(\\langle w,\\phi(x_i)\\rangle + b))

    Where :math:`0 \\le \\alpha_i = \\lambda\\beta_i y_i/c_i \\le 1` the answer is its own dual point, and the
    certificate, the relative duality gap :math:`(P - D)/D`, costs O(n) and no kernel value. Other β are
    scaled into that box, which still bounds.
    """

    def __init__(self, X: Any, y: Any, lam: float, kernel: Kernel | None = None, **options: Any) -> None:
        super().__init__(X, y, kernel, **options)
        self.lam = checked_lam(lam)
        self._boxes: tuple[float, np.ndarray] | None = None

    @classmethod
    def from_C(
        cls, X: Any, y: Any, C: float, kernel: Kernel | None = None, **options: Any
    ) -> "KernelRegularized":
        """The same problem by LIBSVM's C, λ = 1/(C Σ s)."""
        problem = cls(X, y, 1.0, kernel, **options)
        problem.lam = lam_of(C, problem.total)
        return problem

    @property
    def boxes(self) -> np.ndarray:
        """The largest |βᵢ| of the dual, cᵢ/λ."""
        if self._boxes is None or self._boxes[0] != self.lam:
            self._boxes = self.lam, np.broadcast_to(np.asarray(self.share()) / self.lam, (self.n,))
        return self._boxes[1]

    def objective(self, answer: Expansion) -> float:
        """P(w, b), exact."""
        return 0.5 * self.lam * self.checked(answer) + self.loss(answer.responses, answer.b)

    def certificate(self, answer: Expansion) -> Certificate:
        """The relative duality gap, at the best bias where it is free."""
        b = self.best_bias(answer.responses) if self.bias == "free" else 0.0
        sq = self.checked(answer)
        primal = 0.5 * self.lam * sq + self.loss(answer.responses, b)
        dual = self.dual(answer.beta, sq)
        return Certificate(primal, dual, relative_gap(primal, dual), b)

    def dual(self, beta: np.ndarray, sq_norm: float) -> float:
        """D at the multiple of β that is best in the box; -inf where none is feasible."""
        signed = beta * self.y
        size = float(np.abs(beta).sum())
        if self.bias == "free" and abs(float(beta.sum())) > BALANCED * size:
            return -np.inf
        if (signed < 0).any():
            return -np.inf
        if size == 0.0:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = float(np.nanmax(signed / self.boxes))
        linear, quadratic = self.lam * size, self.lam * sq_norm
        scale = min(1.0 / largest, linear / quadratic if quadratic > 0 else np.inf)
        return scale * linear - 0.5 * scale**2 * quadratic


class KernelSlackConstrained(KernelProblem):
    """The widest margin after a mean slack of ν: Problem 2.3 of the SBP paper.

    Any p of the simplex bounds the optimum from above by
    :math:`D(p) = \\|\\sum_i p_i y_i\\phi(x_i)\\| + \\nu\\max_i p_i/c_i`, with :math:`\\sum_i p_i y_i = 0`
    where the bias is free. The free choice p ∝ |β| is what `certificate` uses; `bound` takes any other.
    """

    def __init__(self, X: Any, y: Any, nu: float, kernel: Kernel | None = None, **options: Any) -> None:
        super().__init__(X, y, kernel, **options)
        if not 0 <= nu <= 1:
            raise ValueError(f"nu must lie in [0, 1], got {nu!r}: it is the mean slack at unit norm.")
        self.nu = float(nu)
        if self.bias == "free":
            sides = [float(np.sum(np.broadcast_to(self.share(), (self.n,))[self.y == s])) for s in (1, -1)]
            if min(sides) == 0.0:
                raise ValueError("There are rows of one class only: a free bias has no best value.")

    def regularized(self, lam: float) -> KernelRegularized:
        """The same examples and kernel, with the norm paid for by λ."""
        weight = self.weight if len(self.weight) > 1 else None
        return KernelRegularized(self.gram, self.y, lam, weight=weight, bias=self.bias)

    def level(self, answer: Expansion) -> tuple[float, float, float]:
        """The water level γ, the bias at unit norm, and the norm within [0, 1] at which w has it."""
        norm = np.sqrt(self.checked(answer)) or 1.0
        c = np.broadcast_to(np.asarray(self.share()), (self.n,))
        basins = Basins(answer.responses / norm, self.y, c, free=self.bias == "free")
        return best_level(basins, self.nu)

    def usable(self, answer: Expansion) -> float:
        """The slack at which the smaller class is all wet; more of it only lets the bias run off.

        Infinite without a free bias, and with weights that differ, for which it is not worked out.
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
        """The sentence for a slack that covers the whole of the smaller class."""
        m = min(int(((self.y == side) & (self.weight > 0)).sum()) for side in (1, -1))
        return (
            f"A slack of {self.nu:g} is too large: it covers all {m} rows of the smaller class, and "
            f"the bias runs off. The largest usable slack is about {usable:.2g}."
        )

    def objective(self, answer: Expansion) -> float:
        """The highest water level of any multiple of w in the unit ball."""
        return self.level(answer)[0]

    def certificate(self, answer: Expansion) -> Certificate:
        """The interval [γ, D(p)] with p proportional to |β|; `b` belongs to w at unit norm."""
        gamma, b, _ = self.level(answer)
        b = b if self.bias == "free" else 0.0
        size = float(np.abs(answer.beta).sum())
        balanced = self.bias == "none" or abs(float(answer.beta.sum())) <= BALANCED * size
        if size == 0.0 or not balanced or (answer.beta * self.y < 0).any():
            return Certificate(gamma, np.inf, np.inf, b)
        upper = self._bound(np.abs(answer.beta) / size, np.sqrt(self.checked(answer)) / size)
        return Certificate(gamma, upper, max(0.0, (upper - gamma) / gamma) if gamma > 0 else np.inf, b)

    def bound(self, p: np.ndarray) -> float:
        """D(p) for any nonnegative p, scaled to the simplex and to balance; its kernel values are billed."""
        p = np.maximum(np.asarray(p, np.float64), 0.0)
        if self.bias == "free":
            sides = self.y > 0, self.y < 0
            if not all(p[side].any() for side in sides):
                return np.inf  # no multiple of it is balanced
            for side in sides:
                p[side] /= 2.0 * p[side].sum()
        p = p / p.sum()
        used = np.flatnonzero(p)
        v = self.gram.host(self.gram.pass_over(used, (p * self.y)[used], used))
        return self._bound(p, float(np.sqrt(max((p * self.y)[used] @ v, 0.0))))

    def _bound(self, p: np.ndarray, norm: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            return norm + self.nu * float(np.nanmax(p / np.asarray(self.share())))
