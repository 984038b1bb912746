"""Kernel SVMs: the regularised and the slack-constrained problem in a space known by its kernel."""

from typing import Any, Literal, NamedTuple

import numpy as np

from hinge.access import Gram, as_points
from hinge.kernels import Kernel
from hinge.problems.base import Certificate
from hinge.problems.duality import UNIT, duality_gap, stationary_bias
from hinge.problems.examples import Examples
from hinge.problems.regularized import checked_lam, lam_of
from hinge.problems.slack_constrained import Basins, best_level


class Expansion(NamedTuple):
    """An answer :math:`w = \\sum_i \\beta_i\\phi(x_i)`.

    Attributes
    ----------
    beta : ndarray of shape (n,)
    b : float
        Bias; 0 where the problem has none.
    responses : ndarray of shape (n,)
        :math:`\\langle w, \\phi(x_i)\\rangle`, which every kernel method keeps.
    path : ndarray of shape (n,), optional
        By how much each β has moved in all while the responses were kept up to date: what their rounding is
        relative to. Where it is None no β has ever moved back.
    terms : float
        Additions that made one response, at most.
    """

    beta: np.ndarray
    b: float
    responses: np.ndarray
    path: np.ndarray | None = None
    terms: float = 1e6

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
        """‖w‖², not negative: rounding can make it so, and so can a kernel that is not positive."""
        sq = answer.sq_norm
        if not np.isfinite(sq):
            i = int(np.flatnonzero(~np.isfinite(answer.responses))[0])
            raise ValueError(f"The kernel gave a value that is not finite in the column of row {i}.")
        return max(sq, 0.0)

    def off(self, answer: Expansion) -> np.ndarray:
        """Bounds on the errors of the responses, against those of the exact kernel."""
        size = np.abs(answer.beta) if answer.path is None else np.maximum(answer.path, np.abs(answer.beta))
        return self.gram.error(size, answer.terms)

    @property
    def certifiable(self) -> bool:
        """Whether there is a certificate: there is none for a kernel that is not positive."""
        return not self.gram.indefinite

    def sharpened(self, answer: Expansion, found: Certificate, wanted: float) -> Certificate:
        """A certificate without the rounding that keeps its gap above the one `wanted`, if that can be had.

        The responses that matter are computed again, more exactly, and their kernel values are billed.
        """
        r, e = answer.responses, None
        for finer in self.gram.sharper():
            if not found.gap > wanted >= found.gap - found.rounding:
                break
            if e is None:
                r, e = r.copy(), self.off(answer)
            self._again(finer, answer.beta, self._blurred(answer.beta, r, e, found, wanted), r, e)
            found = self._bounds(answer.beta, r, e)
        return found

    def _bounds(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        """The certificate of β with these responses, which are off by e at most."""
        raise NotImplementedError

    def _blurred(
        self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, found: Certificate, wanted: float
    ) -> np.ndarray:
        """The rows whose responses matter: all of them, where nothing better is known."""
        return np.arange(self.n)

    def _again(self, finer: Any, beta: np.ndarray, rows: np.ndarray, r: np.ndarray, e: np.ndarray) -> None:
        """Compute the responses of these rows again, more exactly; the kernel values are billed."""
        used, before = np.flatnonzero(beta), finer.evals
        r[rows], e[rows] = finer.again(used, beta[used], rows)
        if finer is not self.gram:
            self.gram.evals += finer.evals - before


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

    @property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest β of the dual."""
        return np.where(self.y > 0, 0.0, -self.boxes), np.where(self.y > 0, self.boxes, 0.0)

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """β in its box and, with a free bias, summing to zero."""
        beta = np.clip(beta * self.y, 0.0, self.boxes) * self.y
        if self.bias == "free":
            sums = {s: float(np.abs(beta[self.y == s]).sum()) for s in (1, -1)}
            for s, own in sums.items():
                beta[self.y == s] *= min(sums.values()) / (own or 1.0)
        return beta

    def objective(self, answer: Expansion) -> float:
        """P(w, b), exact."""
        return 0.5 * self.lam * self.checked(answer) + self.loss(answer.responses, answer.b)

    def certificate(self, answer: Expansion) -> Certificate:
        """The relative duality gap, at the best bias where it is free, all rounding included."""
        self.checked(answer)
        if not self.certifiable or self.gram.contradicts(answer.beta):
            return self._none(answer)
        return self._bounds(answer.beta, answer.responses, self.off(answer))

    def _none(self, answer: Expansion) -> Certificate:
        """No certificate: the kernel is not positive, and the answer at best stationary."""
        b = 0.0
        if self.bias == "free":
            b = stationary_bias(answer.beta, answer.responses - self.y, *self.limits)
        return Certificate(self.objective(answer._replace(b=b)), np.nan, np.nan, b)

    def _bounds(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        b = self.best_bias(r) if self.bias == "free" else 0.0
        primal, gap, most, dual = self._gap_of(beta, r, e, b, np.empty(self.n))
        high = most / dual if dual > 0 else np.inf
        return Certificate(primal, dual, high, b, (most - gap) / dual if dual > 0 else np.inf)

    def _gap_of(
        self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, b: float, extra: np.ndarray
    ) -> tuple[float, float, float, float]:
        own = self.gram.norms
        boxes = np.ascontiguousarray(self.boxes)
        return duality_gap(self.y, boxes, self.lam, beta, r, e, own, b, self.bias == "free", extra)

    def _blurred(
        self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, found: Certificate, wanted: float
    ) -> np.ndarray:
        """Rows whose errors together are more than the gap can bear: near the margin, between bounds."""
        extra = np.empty(self.n)
        *_, dual = self._gap_of(beta, r, e, found.b, extra)
        order = np.argsort(-extra, kind="stable")
        left = np.cumsum(extra[order][::-1])[::-1]
        bears = 0.1 * wanted * max(dual, 0.0)
        rows = order[: int(np.searchsorted(-left, -bears, side="left"))]
        if not float(np.abs(beta) @ e) * self.lam <= 0.05 * dual:  # ‖w‖² is too uncertain
            rows = np.union1d(rows, np.flatnonzero(beta))
        return np.sort(rows)

    def dual(self, beta: np.ndarray, sq_norm: float) -> float:
        """D at the multiple of β that is best in the box; -inf where none is feasible."""
        signed = beta * self.y
        size = float(np.abs(beta).sum())
        if self.bias == "free" and abs(float(beta.sum())) > 1e-9 * size:
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
        """The interval [γ, D(p)] with p proportional to |β|; `b` belongs to w at unit norm.

        γ moves by no more than the largest error of a response at unit norm, and is less where ‖w‖ is more.
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
        low = (
            norm / np.sqrt(sq + sq_off) * gamma
            - float(e.max(initial=0.0)) / norm
            - 4 * self.n * UNIT * abs(b)
        )
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
        as_is = self._bound(p / size, norm / size)
        gap, rounding = (
            ((upper - low) / low, (upper - as_is + gamma - low) / low)
            if low > 0 and upper < np.inf
            else (np.inf, 0.0)
        )
        return Certificate(gamma, upper, max(0.0, gap), b, rounding)

    def sharpened(self, answer: Expansion, found: Certificate, wanted: float) -> Certificate:
        """As it is: all responses count here."""
        return found

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
