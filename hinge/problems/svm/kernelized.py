"""Kernel SVMs: answers as kernel expansions, and the regularised problem."""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram, Gram, Matrix, as_points
from hinge.access.gram.base import KernelSums
from hinge.kernels import Kernel
from hinge.problems.base import FEW, Certificate
from hinge.problems.svm.examples import Examples, balance
from hinge.problems.svm.kernel_duality import (
    UNIT,
    certificate_at,
    dual_bound,
    duality_gap,
    longer,
    primal_bound,
    relative_gap,
    stationary_bias,
    width_of,
)
from hinge.problems.svm.losses import HINGE, Loss
from hinge.problems.svm.penalized import GivenLambda, checked_lam
from hinge.problems.svm.regularized import Regularized
from hinge.problems.svm.slack_constrained import Basins, GivenSlack, checked_slack
from hinge.types import Items


class Again(NamedTuple):
    """Responses of the expansion β that were summed anew, `r`, and bounds on the error of each, `off`."""

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
        For each i the sum of |Δβᵢ| over all updates of the responses, to which their rounding errors are
        proportional. None if no βᵢ ever moved back, so that the sum is |βᵢ|.
    terms : float
        Upper bound on the number of additions to each response; infinite where responses are missing.
    known : ndarray of shape (n,), optional
        Bounds on the errors of the responses when they were last summed anew; `path` and `terms` then count from there.
        None if they have been updated from zero.
    dual : ndarray of shape (n,), optional
        A feasible dual point, in units of β, where the answer is not its own.
    of_dual : (ndarray of shape (n,), ndarray of shape (n,)), optional
        The responses of `dual` at the points where it is not zero, and bounds on their errors, if they are known.

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
    dual: np.ndarray | None = None
    of_dual: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def sq_norm(self) -> float:
        """‖w‖² = βᵀr; section 3.3 of the SBP paper lacks the square."""
        return float(self.beta @ self.responses)


def gram_of(X: Items | BaseGram, kernel: Kernel | None) -> BaseGram:
    """The Gram matrix that was given, or the one of the points under `kernel`."""
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
        """Responses that the last call of `sharpened` summed anew."""

    @property
    def kernel_evals(self) -> int:  # type: ignore[override]
        """Kernel values computed so far."""
        return self.gram.evals

    def values_again(self, answer: Expansion) -> int:
        """At most one for each pair of a point and a support vector; by way of w, one for each.

        Of an answer with a dual point of its own, for each pair of its points, and all again more exactly; none if that
        point's responses are known.
        """
        used = int(np.count_nonzero(answer.beta))
        if answer.of_dual is not None:
            return 0
        if answer.dual is not None:
            return 2 * int(np.count_nonzero(answer.dual)) ** 2 + used * self.n
        return used * self.n if self.gram.weights is None else used + self.n

    def criteria_of(self, answer: Expansion) -> tuple[float, float]:
        """The norm and the mean loss."""
        return float(np.sqrt(max(answer.sq_norm, 0.0))), self.mean_loss(answer.responses, answer.b)

    def mean_loss(self, r: np.ndarray, b: float) -> float:
        """The mean loss."""
        return self.mean_loss_from(r, b)

    def checked(self, answer: Expansion) -> float:
        """‖w‖²; zero where it is negative, by rounding or by a kernel that is not positive semidefinite."""
        sq = answer.sq_norm
        if not np.isfinite(sq):
            i = int(np.flatnonzero(~np.isfinite(answer.responses))[0])
            raise ValueError(f"The kernel gave a value that is not finite in the column of row {i}.")
        return max(sq, 0.0)

    def off(self, answer: Expansion) -> np.ndarray:
        """Bounds on the errors of the responses, including the errors of the kernel values."""
        size = np.abs(answer.beta)
        if answer.known is not None and answer.path is not None:
            own = self.gram.norms  # an addition is rounded relative to the whole response, not only to what was added
            added = answer.terms * UNIT * float(own @ (size + answer.path)) * own
            return answer.known + self.gram.error(answer.path, answer.terms) + added
        return self.gram.error(size if answer.path is None else np.maximum(answer.path, size), answer.terms)

    @property
    def certifiable(self) -> bool:
        """Whether there can be a certificate: not if the kernel is known not to be positive semidefinite."""
        return not self.gram.indefinite

    def sharpened(self, answer: Expansion, found: Certificate, wanted: float) -> Certificate:
        """A certificate with less rounding error, if that keeps the gap above `wanted`, or is most of a gap above 1.

        Responses whose errors add much to the gap are summed again, more accurately; the kernel values are billed.
        `gram.sharper()` lists the ways to do so, from cheap to accurate. Those of a linear kernel are summed by way of
        w in any case: they are cheap, and they are what its coefficients predict.

        The product of the kernel matrix with the dual point of an answer that is not its own is made here. It is made
        again in higher precision, with the responses of the answer, where rounding is a tenth of the gap, or keeps it
        above what is wanted.
        """
        if answer.of_dual is not None:
            return found
        if answer.dual is not None:
            return self._sharpened_apart(answer, found, wanted)
        r, e = answer.responses, None
        if self.gram.weights is not None and found.bound > -np.inf:
            r, e = np.empty((2, self.n))
            self._again(self.gram.weights, answer.beta, np.arange(self.n), r, e)
            self.again = Again(answer.beta.copy(), r, e)
            return self._bounds(answer.beta, r, e)
        for finer in self.gram.sharper():
            if not found.gap > wanted or (found.unrounded > wanted and found.gap < max(1.0, 2.0 * found.unrounded)):
                break
            if e is None:
                r, e = r.copy(), self.off(answer)
            rows = self._blurred(answer.beta, r, e, found, wanted)
            if finer.finer is not None:
                known = self._predicted_errors(finer, answer.beta, rows, r, e)
                if self._bounds(answer.beta, r, known).gap > wanted:
                    left = self._blurred(answer.beta, r, known, found, wanted)
                    if len(left) > 0.5 * len(rows):
                        continue  # not accurate enough, and it leaves most rows to the next one
            self._again(finer, answer.beta, rows, r, e)
            found = self._bounds(answer.beta, r, e)
            self.again = Again(answer.beta.copy(), r, e)
        return found

    def _sharpened_apart(self, answer: Expansion, found: Certificate, wanted: float) -> Certificate:
        """The certificate by the dual point of the answer, once its responses are known."""
        assert answer.dual is not None
        if not self.certifiable or self.gram.contradicts(answer.dual):
            return self._none(answer)
        levels = [*self.gram.sharper()] if self.gram.on_device else [self.gram, *self.gram.sharper()]
        levels = levels if self.gram.weights is None else [self.gram.weights]
        used, e = np.flatnonzero(answer.dual), self.off(answer)
        for finer in [level for k, level in enumerate(levels) if level not in levels[:k]][:2]:
            r, off = np.zeros((2, self.n))
            self._again(finer, answer.dual, used, r, off)
            if finer is not self.gram:
                again = np.empty((2, self.n))
                self._again(finer, answer.beta, np.arange(self.n), *again)
                self.again = Again(answer.beta.copy(), *again)
                answer, e = answer._replace(responses=again[0]), again[1]
            found = self._bounds_apart(answer, e, (r, off))
            if not found.gap > wanted or (found.gap - found.unrounded <= 0.1 * found.gap and found.unrounded > wanted):
                break
        return found

    def final_answer(self, answer: Expansion, certificate: Certificate) -> Expansion:
        """The answer with the bias of its certificate, and with the responses that were summed for that."""
        answer = super().final_answer(answer, certificate)
        if (s := certificate.scale) != 1.0:
            answer = answer._replace(beta=s * answer.beta, responses=s * answer.responses)
        if self.again is None or not np.array_equal(self.again.beta, answer.beta):
            return answer
        return answer._replace(responses=self.again.r, path=np.zeros(self.n), terms=0, known=self.again.off)

    def _bounds(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        """The certificate of β with the responses r, whose errors are at most e."""
        raise NotImplementedError

    def _bounds_apart(
        self, answer: Expansion, e: np.ndarray, of_dual: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Certificate:
        """The certificate of an answer whose responses are off by up to e, by a dual point that is not its own.

        `of_dual` are the responses of that, and how far off they may be; without them there is no bound.
        """
        raise NotImplementedError

    def _none(self, answer: Expansion) -> Certificate:
        """The certificate without a bound, for a kernel that is not positive semidefinite."""
        raise NotImplementedError

    def _predicted_errors(
        self, finer: KernelSums, beta: np.ndarray, rows: np.ndarray, r: np.ndarray, e: np.ndarray
    ) -> np.ndarray:
        """Error bounds to expect once these rows are summed again, extrapolated from about 32 of them."""
        errors = finer.error(np.abs(beta), int(np.count_nonzero(beta)) + 1)
        some, few = rows[:: max(1, len(rows) // 32)], e.copy()
        self._again(finer, beta, some, r.copy(), few)
        known = e.copy()
        # The errors of all rows are added up, so the mean ratio predicts better than the largest of the sample.
        known[rows] = errors[rows] * float((few[some] / np.maximum(errors[some], 1e-300)).mean() if len(some) else 0.0)
        return np.minimum(known, e)

    def _blurred(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, found: Certificate, wanted: float) -> np.ndarray:
        """Rows whose responses to sum again: all of them, unless a subclass knows better."""
        return np.arange(self.n)

    def _again(self, finer: KernelSums, beta: np.ndarray, rows: np.ndarray, r: np.ndarray, e: np.ndarray) -> None:
        """Sum the responses of these rows again, more accurately, in place; the kernel values are billed."""
        used, before = np.flatnonzero(beta), finer.evals
        r[rows], e[rows] = finer.again(used, beta[used], rows)
        if finer is not self.gram:
            self.gram.evals += finer.evals - before


class KernelRegularized(GivenLambda[Expansion], KernelProblem):
    """The regularised SVM with a kernel: Problem 2.2 of the SBP paper.

    .. math:: P(w, b) = \\frac\\lambda2\\|w\\|^2
              + \\sum_i c_i\\max(0, 1 - y_i(\\langle w,\\phi(x_i)\\rangle + b))

    Where :math:`0 \\le \\alpha_i = \\lambda\\beta_i y_i/c_i \\le 1` the answer is its own dual point, and the
    certificate, the relative duality gap :math:`(P - D)/D`, costs O(n) and no kernel value. If some
    :math:`\\alpha_i` exceeds 1, the dual is bounded at a multiple of α within the box.

    With the ε-insensitive loss, :math:`\\max(0, |t_i - \\langle w,\\phi(x_i)\\rangle - b| - \\varepsilon)`, the dual is

    .. math:: D(\\beta) = \\lambda\\Big(\\sum_i t_i\\beta_i - \\varepsilon|\\beta_i|
              - \\tfrac12\\|w\\|^2\\Big), \\qquad |\\beta_i| \\le c_i/\\lambda.

    Its optimum may be zero: a D below 1e-9 times the loss of w = 0 is replaced by that in the denominator.

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
        KernelProblem.__init__(self, X, y, kernel, **options)
        self.lam = checked_lam(lam)
        self._boxes: tuple[float, np.ndarray] | None = None

    @property
    def boxes(self) -> np.ndarray:
        """The largest |βᵢ| of the dual, cᵢ/λ."""
        if self._boxes is None or self._boxes[0] != self.lam:
            # In one piece, whether rows have weights or not, so that code is compiled for one type of array.
            self._boxes = self.lam, np.full(self.n, np.asarray(self.share()) / self.lam)
        return self._boxes[1]

    @property
    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of β in the dual."""
        if self.loss.two_sided:
            return -self.boxes, self.boxes.copy()
        return np.where(self.y > 0, 0.0, -self.boxes), np.where(self.y > 0, self.boxes, 0.0)

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """β clipped to its bounds and, with a free bias, scaled on one side so that it sums to zero."""
        beta = np.clip(beta, *self.limits)
        if self.bias == "free":
            sums = {s: float(np.abs(beta[np.sign(beta) == s]).sum()) for s in (1, -1)}
            for s, own in sums.items():
                beta[np.sign(beta) == s] *= min(sums.values()) / (own or 1.0)
        return beta

    def on_features(self, features: Matrix) -> Regularized:
        """The same problem with rows in place of points."""
        weight = self.weight if len(self.weight) > 1 else None
        return Regularized(features, self.aims, self.lam, weight=weight, bias=self.bias, loss=self.loss)

    def lost(self, beta: np.ndarray, rest: np.ndarray, bound: float) -> float:
        """What features leave of K(x, x), as it lowers the dual objective at β: in units of the gap."""
        size = max(bound, self.unit)
        return 0.5 * self.lam * float(rest @ beta**2) / size if size > 0.0 else np.inf

    def dual_point(self, answer: Expansion) -> np.ndarray:
        """A feasible β to start from: the answer's dual point, or else its own β, made feasible."""
        return self.feasible(answer.beta if answer.dual is None else answer.dual)

    def best_multiple(self, answer: Expansion) -> Expansion:
        """The feasible multiple of an answer for another λ, at least 1 if possible, that maximises the dual."""
        s = dual_multiple(answer.beta, answer.responses, self.boxes, self.aims, self.loss.epsilon)
        path, known = (None if one is None else one * s for one in (answer.path, answer.known))
        return Expansion(answer.beta * s, answer.b, answer.responses * s, path, answer.terms + 1, known)

    def objective(self, answer: Expansion) -> float:
        """P(w, b), exact."""
        return 0.5 * self.lam * self.checked(answer) + self.mean_loss(answer.responses, answer.b)

    def certificate(self, answer: Expansion) -> Certificate:
        """The relative duality gap, at the best bias where it is free, all rounding included."""
        self.checked(answer)
        if not self.certifiable or self.gram.contradicts(answer.beta):
            return self._none(answer)
        if answer.dual is not None:
            e = self.off(answer)
            return self._bounds_apart(answer, e, answer.of_dual)
        return self._bounds(answer.beta, answer.responses, self.off(answer))

    def sharpened(self, answer: Expansion, found: Certificate, wanted: float) -> Certificate:
        """As of all kernel problems; a longer w may be better where an answer is its own dual point."""
        found = super().sharpened(answer, found, wanted)
        if answer.dual is not None or found.gap <= wanted or self.loss.two_sided:
            return found
        return self._longer(answer, found, wanted)

    def _longer(self, answer: Expansion, found: Certificate, wanted: float) -> Certificate:
        """The certificate of a longer w, if its gap is as `wanted`: see `longer`."""
        beta, r, e = answer.beta, answer.responses, self.off(answer)
        if self.again is not None and np.array_equal(self.again.beta, beta):
            r, e = self.again.r, self.again.off
        exact, own = self.gram.weights, self.gram.norms
        e = 3.0 * e if exact is not None else e + 4.0 * UNIT * float(np.abs(beta) @ own) * own  # as of the multiple
        s, b = longer(self.y, self.share(), self.lam * float(beta @ r), r, e, self.bias == "free")
        if not (found.bound > -np.inf and 0.0 < s < np.inf and (s * np.abs(beta) <= self.boxes).all()):
            return found
        beta, r, e = s * beta, s * r, s * e
        if exact is not None:
            r, e = np.empty((2, self.n))
            self._again(exact, beta, np.arange(self.n), r, e)
        certificate = self._certificate_at(beta, r, e, b)
        if not certificate.gap <= wanted:
            return found
        self.again = Again(beta, r, e)
        return certificate._replace(scale=s)

    def _bounds_apart(
        self, answer: Expansion, e: np.ndarray, of_dual: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Certificate:
        """As of all kernel problems; without the dual point's responses its bound is the objective of zero."""
        free, aims, box, lam = self.bias == "free", self.aims, self.boxes, self.lam
        b = self.best_bias(answer.responses) if free else 0.0
        primal, most = primal_bound(aims, box, lam, answer.beta, answer.responses, e, b, self.epsilon)
        dual, least = 0.0, 0.0
        if answer.dual is not None and of_dual is not None:
            dual, least = dual_bound(aims, box, lam, answer.dual, *of_dual, self.gram.norms, self.epsilon, free)
        # The weights, their total, C and λ are rounded: these change P and the optimum, both in proportion to P.
        gap = (most - least) * (1.0 + FEW * UNIT) + FEW * UNIT * primal
        return Certificate(most, least, self.relative(gap, least), b, self.relative(max(primal - dual, 0.0), dual))

    def _none(self, answer: Expansion) -> Certificate:
        """The certificate without a bound, for a kernel that is not positive semidefinite, at a stationary bias."""
        b = 0.0
        if self.bias == "free":
            b = stationary_bias(answer.beta, answer.responses - self.aims, *self.limits, width_of(self.epsilon))
        return Certificate(self.objective(answer._replace(b=b)), np.nan, np.nan, b)

    def _bounds(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        return self._certificate_at(beta, r, e, self.best_bias(r) if self.bias == "free" else 0.0)

    def _certificate_at(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, b: float) -> Certificate:
        own, free = self.gram.norms, self.bias == "free"
        return certificate_at(self.aims, self.boxes, self.lam, self.unit, beta, r, e, own, b, free, self.epsilon)

    def relative(self, gap: float, dual: float) -> float:
        """The relative gap, from P - D and a lower bound on D."""
        return relative_gap(gap, dual, self.unit, self.epsilon)

    def _gap_of(
        self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, b: float, extra: np.ndarray
    ) -> tuple[float, float, float, float]:
        aims, own, free = self.aims.astype(np.float64, copy=False), self.gram.norms, self.bias == "free"
        return duality_gap(aims, self.boxes, self.lam, beta, r, e, own, b, free, extra, width_of(self.epsilon))

    def _blurred(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray, found: Certificate, wanted: float) -> np.ndarray:
        """The rows with the largest error terms, which must be summed again for the gap to be as `wanted`.

        These are near the margin and between their bounds. Errors also reduce D by way of ‖w‖²; only where that alone
        leaves too little of D are all support vectors summed again.
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


def dual_multiple(
    beta: np.ndarray, responses: np.ndarray, boxes: np.ndarray, aims: np.ndarray, epsilon: float
) -> float:
    """The s in [1, ...] for which the dual of sβ is largest, reduced until sβ is within the bounds `boxes`."""
    sq, used = float(beta @ responses), np.flatnonzero(beta)
    if sq <= 0.0:
        return 1.0
    most = float((boxes[used] / np.abs(beta[used])).min(initial=np.inf)) * (1.0 - 1e-12)  # within bounds after rounding
    gain = float(beta @ aims) - epsilon * float(np.abs(beta).sum())
    return min(max(gain / sq, 1.0), most)


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
