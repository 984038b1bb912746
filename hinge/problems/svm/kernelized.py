"""Kernel SVMs: the regularised and the slack-constrained problem in a space known by its kernel."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram, Gram, as_points
from hinge.access.gram.base import Sums
from hinge.kernels import Kernel
from hinge.problems.base import Certificate
from hinge.problems.svm.duality import UNIT, duality_gap, stationary_bias
from hinge.problems.svm.examples import Examples, sorted_bias
from hinge.problems.svm.losses import HINGE, Loss
from hinge.problems.svm.penalized import checked_lam, lam_of
from hinge.types import Items

PROBES = 32
"""Rows that tell how exact the others can be had."""
NARROWER = 0.5
"""Share of the rows to which a way that is not exact enough must cut down those left to the next, to be worth it."""


class Again(NamedTuple):
    """Responses of β that were summed anew: `r` and bounds on the errors of each, `off`."""

    beta: np.ndarray
    r: np.ndarray
    off: np.ndarray


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
        Additions that made one response, at most; infinite where not all responses are there.
    known : ndarray of shape (n,), optional
        Bounds on the errors that the responses had when they were last summed anew: `path` and `terms` are those since
        then. Where it is None they began with zero.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import BlockDual
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0))
    >>> result = solve(problem, BlockDual(), stop=Stop(tol=1e-2, max_iter=10**5))
    >>> result.solution.beta.shape, result.solution.responses.shape
    ((60,), (60,))
    """

    beta: np.ndarray
    b: float
    responses: np.ndarray
    path: np.ndarray | None = None
    terms: float = 1e6
    known: np.ndarray | None = None

    @property
    def sq_norm(self) -> float:
        """‖w‖²; the paper's section 3.3 lacks the square."""
        return float(self.beta @ self.responses)


def gram_of(X: Items | BaseGram, kernel: Kernel | None) -> BaseGram:
    """The Gram matrix that was given, or that of the points."""
    if kernel is not None:
        return Gram(as_points(X, kernel))
    if not isinstance(X, BaseGram):
        raise TypeError("A kernel problem takes a Gram, or points and a kernel.")
    return X


class KernelProblem(Examples[Expansion]):
    """Examples with a Gram matrix.

    Parameters
    ----------
    X : Gram, or points for `kernel`
    y : array of shape (n,)
        Labels, -1 and +1; targets, if the loss is one of regression.
    kernel : Kernel, optional
        Where `X` is not a `Gram` already.
    weight : array of shape (n,), optional
    bias : {"none", "free"}
    loss : Loss
        The hinge, or the ε-insensitive loss.

    Examples
    --------
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelProblem, KernelRegularized
    >>> problem = KernelRegularized([[0.0], [1.0]], [1, -1], 0.1, Gaussian(gamma=1.0))
    >>> isinstance(problem, KernelProblem), problem.n
    (True, 2)
    """

    def __init__(
        self,
        X: Items | BaseGram,
        y: ArrayLike,
        kernel: Kernel | None = None,
        *,
        weight: ArrayLike | None = None,
        bias: Literal["none", "free"] = "none",
        loss: Loss = HINGE,
    ) -> None:
        if loss.curvature:
            raise ValueError(
                f"A problem with a kernel has the hinge or the epsilon-insensitive loss, not the {loss.name} loss."
            )
        self.gram = gram_of(X, kernel)
        super().__init__(self.gram.n, y, weight, loss)
        if bias not in ("none", "free"):
            raise ValueError(f"bias is 'none' or 'free', not {bias!r}.")
        self.bias = bias
        self.again: Again | None = None
        """What the last certificate that was sharpened has found out."""

    @property
    def epsilon(self) -> float | None:
        """ε of the loss of regression; None for the hinge."""
        return self.loss.epsilon if self.loss.two_sided else None

    @property
    def aims(self) -> np.ndarray:
        """What responses are to come near: the labels or the targets."""
        return self.target if self.loss.two_sided else self.y

    @property
    def kernel_evals(self) -> int:  # type: ignore[override]
        """Kernel values computed so far."""
        return self.gram.evals

    def values_again(self, answer: Expansion) -> int:
        """One for each point and each support vector."""
        return int(np.count_nonzero(answer.beta)) * self.n

    def criteria_of(self, answer: Expansion) -> tuple[float, float]:
        """Both criteria: the norm and the mean loss."""
        return float(np.sqrt(max(answer.sq_norm, 0.0))), self.mean_loss(answer.responses, answer.b)

    def mean_loss(self, r: np.ndarray, b: float) -> float:
        """The mean loss."""
        return self.total_loss(r, b)

    def best_bias(self, r: np.ndarray) -> float:
        """The same by one selection: beside kernel rows, vectors of length n are nothing."""
        if not np.isfinite(r).all():
            return super().best_bias(r)  # which says so
        return float(sorted_bias(r, self.aims, self.share(), self.epsilon))

    def checked(self, answer: Expansion) -> float:
        """‖w‖², not negative: rounding can make it so, and so can a kernel that is not positive."""
        sq = answer.sq_norm
        if not np.isfinite(sq):
            i = int(np.flatnonzero(~np.isfinite(answer.responses))[0])
            raise ValueError(f"The kernel gave a value that is not finite in the column of row {i}.")
        return max(sq, 0.0)

    def off(self, answer: Expansion) -> np.ndarray:
        """Bounds on the errors of the responses, against those of the exact kernel."""
        size = np.abs(answer.beta)
        if answer.known is not None and answer.path is not None:
            own = self.gram.norms  # an addition is rounded relative to the response, not to the path alone
            added = answer.terms * UNIT * float(own @ (size + answer.path)) * own
            return answer.known + self.gram.error(answer.path, answer.terms) + added
        return self.gram.error(size if answer.path is None else np.maximum(answer.path, size), answer.terms)

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
            if not found.gap > wanted >= found.unrounded:
                break
            if e is None:
                r, e = r.copy(), self.off(answer)
            rows = self._blurred(answer.beta, r, e, found, wanted)
            if finer.finer is not None:
                known = self._foreseen(finer, answer.beta, rows, r, e)
                if self._bounds(answer.beta, r, known).gap > wanted:
                    left = self._blurred(answer.beta, r, known, found, wanted)
                    if len(left) > NARROWER * len(rows):
                        continue  # not exact enough: try the next, more exact way
            self._again(finer, answer.beta, rows, r, e)
            found = self._bounds(answer.beta, r, e)
            self.again = Again(answer.beta.copy(), r, e)
        return found

    def _bounds(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        """The certificate of β with these responses, which are off by e at most."""
        raise NotImplementedError

    def _foreseen(self, finer: Sums, beta: np.ndarray, rows: np.ndarray, r: np.ndarray, e: np.ndarray) -> np.ndarray:
        """The errors to expect once these rows are computed again: as a few of them say."""
        errors = finer.error(np.abs(beta), int(np.count_nonzero(beta)) + 1)
        some, few = rows[:: max(1, len(rows) // PROBES)], e.copy()
        self._again(finer, beta, some, r.copy(), few)
        known = e.copy()
        # What counts is the sum over all rows, so the mean says more than the worst of a few.
        known[rows] = errors[rows] * float((few[some] / np.maximum(errors[some], 1e-300)).mean() if len(some) else 0.0)
        return np.minimum(known, e)

    def _blurred(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, found: Certificate, wanted: float) -> np.ndarray:
        """The rows whose responses matter: all of them, where nothing better is known."""
        return np.arange(self.n)

    def _again(self, finer: Sums, beta: np.ndarray, rows: np.ndarray, r: np.ndarray, e: np.ndarray) -> None:
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

    With the ε-insensitive loss, :math:`\\max(0, |t_i - \\langle w,\\phi(x_i)\\rangle - b| - \\varepsilon)`, the dual is

    .. math:: D(\\beta) = \\lambda\\Big(\\sum_i t_i\\beta_i - \\varepsilon|\\beta_i|
              - \\tfrac12\\|w\\|^2\\Big), \\qquad |\\beta_i| \\le c_i/\\lambda.

    Its optimum may be zero: a gap below 1e-9 of the loss of w = 0 is measured against that.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from hinge import Stop, solve
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems import KernelRegularized
    >>> from hinge.solvers import BlockDual
    >>> X, y = make_moons(60, noise=0.1, random_state=0)
    >>> problem = KernelRegularized(X, 2 * y - 1, 0.01, Gaussian(gamma=2.0))
    >>> result = solve(problem, BlockDual(), stop=Stop(tol=1e-3, max_iter=10**5))
    >>> bool(result.certificate.gap <= 1e-3)
    True
    """

    def __init__(
        self, X: Items | BaseGram, y: ArrayLike, lam: float, kernel: Kernel | None = None, **options: Any
    ) -> None:
        super().__init__(X, y, kernel, **options)
        self.lam = checked_lam(lam)
        self._boxes: tuple[float, np.ndarray] | None = None

    @classmethod
    def from_C(
        cls, X: Items | BaseGram, y: ArrayLike, C: float, kernel: Kernel | None = None, **options: Any
    ) -> "KernelRegularized":
        """The same problem by LIBSVM's C, λ = 1/(C Σ s)."""
        problem = cls(X, y, 1.0, kernel, **options)
        problem.lam = lam_of(C, problem.total)
        return problem

    @property
    def boxes(self) -> np.ndarray:
        """The largest |βᵢ| of the dual, cᵢ/λ."""
        if self._boxes is None or self._boxes[0] != self.lam:
            # Read-only and contiguous whether rows have weights or not: one type, so code is compiled once.
            boxes = np.full(self.n, np.asarray(self.share()) / self.lam)
            boxes.flags.writeable = False
            self._boxes = self.lam, boxes
        return self._boxes[1]

    @property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest β of the dual."""
        if self.loss.two_sided:
            return -self.boxes, self.boxes.copy()
        return np.where(self.y > 0, 0.0, -self.boxes), np.where(self.y > 0, self.boxes, 0.0)

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """β in its box and, with a free bias, summing to zero."""
        beta = np.clip(beta, *self.limits)
        if self.bias == "free":
            sums = {s: float(np.abs(beta[np.sign(beta) == s]).sum()) for s in (1, -1)}
            for s, own in sums.items():
                beta[np.sign(beta) == s] *= min(sums.values()) / (own or 1.0)
        return beta

    def objective(self, answer: Expansion) -> float:
        """P(w, b), exact."""
        return 0.5 * self.lam * self.checked(answer) + self.mean_loss(answer.responses, answer.b)

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
            b = stationary_bias(answer.beta, answer.responses - self.aims, *self.limits, self.epsilon)
        return Certificate(self.objective(answer._replace(b=b)), np.nan, np.nan, b)

    def _bounds(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        b = self.best_bias(r) if self.bias == "free" else 0.0
        primal, gap, most, dual = self._gap_of(beta, r, e, b, np.empty(self.n))
        return Certificate(primal, dual, self.relative(most, dual), b, self.relative(gap, primal - gap))

    def relative(self, gap: float, dual: float) -> float:
        """A gap in the unit of the certificate."""
        unit = max(dual, self.unit)
        return gap / unit if unit > 0 else 0.0 if gap == 0.0 and self.loss.two_sided else np.inf

    def _gap_of(
        self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, b: float, extra: np.ndarray
    ) -> tuple[float, float, float, float]:
        own = self.gram.norms
        free = self.bias == "free"
        return duality_gap(self.aims, self.boxes, self.lam, beta, r, e, own, b, free, extra, self.epsilon)

    def _blurred(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, found: Certificate, wanted: float) -> np.ndarray:
        """Rows whose errors together are more than the gap can bear: near the margin, between bounds.

        What errors leave of D is what the gap is relative to; only where they leave too little of it, by way of ‖w‖²,
        do the rows of all support vectors matter.
        """
        extra = np.empty(self.n)
        primal, gap, _, low = self._gap_of(beta, r, e, found.b, extra)
        room, most = (wanted * max(dual, self.unit) - gap for dual in (low, primal - gap))
        order = np.argsort(-extra, kind="stable")
        left = np.cumsum(extra[order][::-1])[::-1]
        chosen = np.zeros(self.n, bool)
        chosen[order[: int(np.searchsorted(-left, -0.5 * max(room, 0.5 * most), side="left"))]] = True
        if not room >= 0.5 * most:
            chosen |= beta != 0.0
        return np.flatnonzero(chosen)

    def dual(self, beta: np.ndarray, sq_norm: float) -> float:
        """D at the multiple of β that is best in the box; -inf where none is feasible."""
        size = float(np.abs(beta).sum())
        if self.bias == "free" and abs(float(beta.sum())) > 1e-9 * size:
            return -np.inf
        if not self.loss.two_sided and (beta * self.y < 0).any():
            return -np.inf
        gain = size if self.epsilon is None else float(beta @ self.target) - self.epsilon * size
        if not gain > 0.0:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = float(np.nanmax(np.abs(beta) / self.boxes))
        linear, quadratic = self.lam * gain, self.lam * sq_norm
        scale = min(1.0 / largest, linear / quadratic if quadratic > 0 else np.inf)
        return scale * linear - 0.5 * scale**2 * quadratic
