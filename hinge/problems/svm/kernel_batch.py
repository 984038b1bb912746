"""Several kernel SVMs over one set of points: pairs of classes, classes against the rest, folds, values of C."""

from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from hinge.access import Gram, Points
from hinge.access.gram.base import LinearSums
from hinge.access.gram.given_points import FunctionPoints, GivenPoints, check_own_values
from hinge.access.gram.gram import TILE_ROWS
from hinge.access.gram.inner_points import WeightVector
from hinge.problems.base import Certificate, Problem
from hinge.problems.batch import BatchCertificate, combine_certificates
from hinge.problems.svm.examples import FAINT, spread_of
from hinge.problems.svm.kernelized import Expansion, KernelProblem, KernelRegularized, dual_multiple
from hinge.problems.svm.levels import CLASSES, ONE_CLASS, TARGETS, checked_share
from hinge.problems.svm.losses import HINGE, Loss
from hinge.problems.svm.nu_forms import KernelNuClassification, KernelNuRegression, KernelOneClass, enclosing_radius


class BatchExpansion(NamedTuple):
    """The answers of all members as concatenated arrays: see `KernelBatch`.

    Attributes
    ----------
    beta, responses : ndarray of shape (len(rows),)
        Coefficients, and :math:`\\langle w, \\phi(x_i)\\rangle`, of each member's points.
    biases : ndarray of shape (n_members,)
    """

    beta: np.ndarray
    responses: np.ndarray
    biases: np.ndarray


class PackedBatch(Problem[BatchExpansion]):
    """Kernel problems on some of the same points each, as concatenated arrays.

    Member k has the points ``rows[cuts[k]:cuts[k + 1]]``. All kernel values are computed once, when they are first
    needed. The objective is the sum of the members' objectives, the gap of a certificate the largest of their gaps.

    Attributes
    ----------
    points : Points
    rows : ndarray of int64
        The points of all members, one member after the other.
    cuts : ndarray of int64 of shape (n_members + 1,)
    aims, boxes, lo, hi, start : ndarray of shape (len(rows),)
        Labels or targets, largest |β|, bounds of β, and a feasible β.
    lam, unit, spread : ndarray of shape (n_members,)
        λ of each member, its unit of gaps, and its spread of targets.
    bias : {"free", "none"}
    """

    lam: np.ndarray
    unit: np.ndarray
    spread: np.ndarray
    start: np.ndarray
    bias: Literal["free", "none"] = "free"

    def __init__(
        self,
        points: Points,
        rows: np.ndarray,
        cuts: np.ndarray,
        aims: np.ndarray,
        boxes: np.ndarray,
        positive: np.ndarray | None,
        K: np.ndarray | None = None,
    ) -> None:
        self.points, self.n, self.rows, self.cuts, self.aims, self.boxes = points, points.n, rows, cuts, aims, boxes
        self.lo, self.hi = -boxes, boxes
        if positive is not None:  # β has the sign of the label
            self.lo, self.hi = np.where(positive, 0.0, -boxes), np.where(positive, boxes, 0.0)
        self._K, self._evals = K, 0

    @cached_property
    def pass_cells(self) -> int:  # type: ignore[override]
        """Kernel values that a round of all members reads."""
        return sum((part.stop - part.start) ** 2 for part in self.parts)

    @cached_property
    def parts(self) -> list[slice]:
        """Where each member is in the concatenated arrays."""
        return [slice(*ends) for ends in pairwise(self.cuts.tolist())]

    @property
    def epsilon(self) -> float | None:
        """ε of the loss of regression; None for the hinge."""
        return self.loss.epsilon if self.loss.two_sided else None

    @property
    def kernel_evals(self) -> int:  # type: ignore[override]
        """Kernel values computed so far."""
        return self._evals

    @property
    def K(self) -> np.ndarray:
        """All kernel values in float64, not to be written to."""
        if self._K is None:
            self.points, self._K, self._evals = kernel_matrix(self.points)
        return self._K

    @cached_property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on the errors of the kernel values, as `Gram.errors` gives them."""
        return self.points.errors()

    @cached_property
    def weights(self) -> LinearSums | None:
        """The sums of a linear kernel by way of w; None for others."""
        return None if self.points.weighted is None else WeightVector(self.points.weighted)

    @property
    def certifiable(self) -> bool:
        """Whether there can be a certificate: not if the kernel is known not to be positive semidefinite."""
        return not self.points.indefinite

    @cached_property
    def members(self) -> tuple[KernelProblem, ...]:
        """Each problem on its own, over all points: those that take no part have the weight zero."""
        gram = Gram(self.points)
        return tuple(self.member(gram, k, part) for k, part in enumerate(self.parts))

    def member(self, gram: Gram, k: int, part: slice) -> KernelProblem:
        """Member k, whose arrays are these parts of the concatenated ones."""
        raise NotImplementedError

    def expansion(self, answer: BatchExpansion, k: int) -> Expansion:
        """The answer of member k, over all points; responses of those that take no part are zero."""
        part = self.parts[k]
        beta, r = (self.over_all(part, values, 0.0) for values in (answer.beta, answer.responses))
        return Expansion(beta, float(answer.biases[k]), r, None, self.n)

    def over_all(self, part: slice, values: np.ndarray, other: float) -> np.ndarray:
        """A member's values for all points; those that take no part have the value `other`."""
        found = np.full(self.n, other, values.dtype)
        found[self.rows[part]] = values[part]
        return found

    def objective(self, answer: BatchExpansion) -> float:
        """The sum of the members' objectives."""
        return sum(member.objective(self.expansion(answer, k)) for k, member in enumerate(self.members))

    def certificate(self, answer: BatchExpansion) -> Certificate:
        """The certificates of all members, combined."""
        found = [member.certificate(self.expansion(answer, k)) for k, member in enumerate(self.members)]
        return combine_certificates(found)

    def final_answer(self, answer: BatchExpansion, certificate: Certificate) -> BatchExpansion:
        """The answers with the biases of their certificates."""
        if not isinstance(certificate, BatchCertificate):
            return answer
        return answer._replace(biases=certificate.column("b"))


class KernelBatch(PackedBatch):
    """`KernelRegularized` problems on some of the same points each: see `PackedBatch`.

    Parameters
    ----------
    points : Points
    rows, cuts : ndarray of int64
        The points of all members, and where each member begins.
    y, weight : ndarray of shape (len(rows),)
        Labels, -1 and +1, or targets; and weights, all positive.
    C : float
    bias : {"free", "none"}
    loss : Loss
        The hinge, or the ε-insensitive loss.
    K : ndarray of shape (n, n), optional
        All kernel values, if they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import Stop, solve
    >>> from hinge.access import as_points
    >>> from hinge.kernels import Gaussian
    >>> from hinge.problems.svm.kernel_batch import KernelBatch
    >>> from hinge.solvers import ActiveSet
    >>> points = as_points(np.array([[0.0], [1.0], [2.0]]), Gaussian(gamma=1.0), exact=True)
    >>> rows, cuts, y = np.array([0, 1, 1, 2]), np.array([0, 2, 4]), np.array([1, -1, 1, -1])
    >>> pairs = KernelBatch(points, rows, cuts, y, np.ones(4), C=1.0)
    >>> result = solve(pairs, ActiveSet(tol=1e-3), stop=Stop(1e-3))
    >>> [bool(member.gap <= 1e-3) for member in result.certificate.members]
    [True, True]
    """

    def __init__(
        self,
        points: Points,
        rows: np.ndarray,
        cuts: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        C: float,
        *,
        bias: Literal["free", "none"] = "free",
        loss: Loss = HINGE,
        K: np.ndarray | None = None,
    ) -> None:
        super().__init__(points, rows, cuts, y, C * weight, None if loss.two_sided else y > 0, K)
        self.weight, self.bias, self.loss = weight, bias, loss
        self.lam, self.start = 1.0 / (C * np.add.reduceat(weight, cuts[:-1])), np.zeros(len(rows))
        self.unit, self.spread = np.zeros(len(self.lam)), np.ones(len(self.lam))
        for k, part in enumerate(self.parts) if loss.two_sided else ():
            s, t = weight[part], y[part]
            self.unit[k], self.spread[k] = FAINT * float(s @ np.abs(t)) / float(s.sum()), spread_of(t)

    def best_multiple(self, answer: BatchExpansion) -> BatchExpansion:
        """The best multiple of each member's answer for another C: see `KernelRegularized.best_multiple`."""
        beta, r = answer.beta.copy(), answer.responses.copy()
        for part in self.parts:
            s = dual_multiple(beta[part], r[part], self.boxes[part], self.aims[part], self.loss.epsilon)
            beta[part] *= s
            r[part] *= s
        return answer._replace(beta=beta, responses=r)

    def member(self, gram: Gram, k: int, part: slice) -> KernelRegularized:
        """Member k, whose arrays are these parts of the concatenated ones."""
        y, weight = self.over_all(part, self.aims, 1), self.over_all(part, self.weight, 0)
        return KernelRegularized(gram, y, float(self.lam[k]), weight=weight, bias=self.bias, loss=self.loss)


class SingleMember(PackedBatch):
    """A `KernelRegularized` problem as a batch of one, with the values of its own Gram; the problem certifies it."""

    def __init__(self, problem: KernelRegularized) -> None:
        n = problem.n
        self.n, self.rows, self.cuts, self.members = n, np.arange(n), np.array([0, n]), (problem,)
        self.aims, self.boxes, (self.lo, self.hi) = problem.aims, problem.boxes, problem.limits
        self.lam, self.unit, self.spread = np.array([[problem.lam], [problem.unit], [problem.spread]])
        self.bias, self.loss, self.start = problem.bias, problem.loss, np.zeros(n)

    @cached_property
    def K(self) -> np.ndarray:
        """All kernel values, in the precision of the Gram."""
        return self.members[0].gram.whole()

    @property
    def errors(self) -> tuple[np.ndarray, np.ndarray]:
        """None: the certificate of the problem has them."""
        return np.empty((0, self.n)), np.empty((0, self.n))

    @property
    def weights(self) -> LinearSums | None:
        """The sums of a linear kernel by way of w; None for others."""
        return self.members[0].gram.weights

    @property
    def certifiable(self) -> bool:
        """Whether there can be a certificate: not if the kernel is known not to be positive semidefinite."""
        return self.members[0].certifiable


def kernel_matrix(points: Points) -> tuple[Points, np.ndarray, int]:
    """All kernel values in float64, the points to certify with, and the number of values that were computed.

    One triangle is computed and mirrored; a function of blocks is called once for all values, as in scikit-learn.
    """
    n = points.n
    K, every = np.empty((n, n)), np.arange(n)
    if isinstance(points, FunctionPoints):
        points.fill(every, every, K)
        given = GivenPoints(K)
        check_own_values(every, given.diag(), indefinite=given.indefinite)
        return given, K, n * n
    check_own_values(every, points.diag(), indefinite=points.indefinite)
    if n <= TILE_ROWS and points.dtype == K.dtype:
        points.fill(every, every, K)
        return points, K, n * (n + 1) // 2
    for lo in range(0, n, TILE_ROWS):
        hi = min(lo + TILE_ROWS, n)
        tile = np.empty((hi - lo, n - lo), points.dtype)
        points.fill(every[lo:hi], every[lo:], tile)
        K[lo:hi, lo:] = tile
        K[hi:, lo:hi] = tile[:, hi - lo :].T
    return points, K, n * (n + 1) // 2


class LevelBatch(PackedBatch):
    """`KernelLevels` problems as concatenated arrays: `aims` are t, `boxes` are s, and β = σα.

    In each member, points with σ = 1 come first.

    Attributes
    ----------
    form : int
        A constant of `level_gap`.
    mass : ndarray of shape (n_members,)
        The sum M of the dual weights of either sign.
    positive : ndarray of int64 of shape (n_members,)
        Points of each member with σ = 1.
    centre : float
        What was subtracted from the targets.
    """

    form: int
    mass: np.ndarray
    positive: np.ndarray
    centre: float = 0.0

    def _begin(self, nu: float, faint: float, start: np.ndarray) -> None:
        count = len(self.cuts) - 1
        self.nu, self.start = checked_share(nu), start
        self.lam, self.unit, self.spread = np.full(count, np.nan), np.full(count, faint), np.ones(count)


class NuClassificationBatch(LevelBatch):
    """`KernelNuClassification` problems on some of the same points each.

    Parameters
    ----------
    points : Points
    rows, cuts : ndarray of int64
        The points of all members, points of the positive class first; and where each member begins.
    y, weight : ndarray of shape (len(rows),)
        Labels, -1 and +1, and weights, all positive.
    nu : float
        Feasible for every member.
    """

    form = CLASSES

    def __init__(
        self, points: Points, rows: np.ndarray, cuts: np.ndarray, y: np.ndarray, weight: np.ndarray, nu: float
    ) -> None:
        super().__init__(points, rows, cuts, np.zeros(len(rows)), weight, y > 0)
        self.y, self.positive = y, np.add.reduceat(y > 0, cuts[:-1], dtype=np.int64)
        ends = np.stack([cuts[:-1], cuts[:-1] + self.positive], axis=1).ravel()  # where each class of a member begins
        totals = np.add.reduceat(weight, ends)
        self.mass = 0.5 * nu * (totals[::2] + totals[1::2])
        share = np.minimum(np.repeat(self.mass, 2) / totals, 1.0)
        self._begin(nu, 0.0, np.where(y > 0, weight, -weight) * np.repeat(share, np.diff(ends, append=len(y))))

    def member(self, gram: Gram, k: int, part: slice) -> KernelNuClassification:
        """Member k, whose arrays are these parts of the concatenated ones."""
        y, weight = self.over_all(part, self.y, 1), self.over_all(part, self.boxes, 0.0)
        return KernelNuClassification(gram, y, self.nu, weight=weight)


class NuRegressionBatch(LevelBatch):
    """A `KernelNuRegression` problem, as a batch of one: its points come first with σ = 1, then with σ = -1.

    Parameters
    ----------
    points : Points
    t, weight : ndarray of shape (n,)
        Targets, and weights times C, all positive.
    nu : float
    """

    form = TARGETS

    def __init__(self, points: Points, t: np.ndarray, weight: np.ndarray, nu: float) -> None:
        n, self.target, self.centre = len(t), t, float(np.median(t))
        mass = 0.5 * nu * float(weight.sum())
        alpha = np.clip(mass - (np.cumsum(weight) - weight), 0.0, weight)  # the same for both copies: w = 0
        rows, linear, boxes = (np.tile(values, 2) for values in (np.arange(n), t - self.centre, weight))
        super().__init__(points, rows, np.array([0, 2 * n]), linear, boxes, np.repeat([True, False], n))
        self.mass, self.positive = np.array([mass]), np.array([n])
        self._begin(nu, FAINT * float(weight @ np.abs(t)), np.concatenate([alpha, -alpha]))

    def member(self, gram: Gram, k: int, part: slice) -> KernelNuRegression:
        """The problem itself."""
        return KernelNuRegression(gram, self.target, self.nu, weight=self.boxes[: self.n])

    def expansion(self, answer: BatchExpansion, k: int) -> Expansion:
        """The answer with one coefficient for each point."""
        beta, r = answer.beta[: self.n] + answer.beta[self.n :], answer.responses[: self.n]
        return Expansion(beta, float(answer.biases[0]), r, None, self.n)


class OneClassBatch(LevelBatch):
    """A `KernelOneClass` problem, as a batch of one.

    Parameters
    ----------
    points : Points
    weight : ndarray of shape (n,)
        All positive.
    nu : float
    """

    form = ONE_CLASS

    def __init__(self, points: Points, weight: np.ndarray, nu: float) -> None:
        n, total = len(weight), float(weight.sum())
        super().__init__(points, np.arange(n), np.array([0, n]), np.zeros(n), weight, np.ones(n, bool))
        self.mass, self.positive = np.array([nu * total]), np.array([n])
        self._begin(nu, 0.0, nu * weight)

    def member(self, gram: Gram, k: int, part: slice) -> KernelOneClass:
        """The problem itself."""
        return KernelOneClass(gram, self.nu, weight=self.boxes)

    def radius(self, answer: BatchExpansion) -> float:
        """See `KernelOneClass.radius`."""
        sq = max(float(answer.beta @ answer.responses), 0.0)
        return enclosing_radius(np.diagonal(self.K), sq, float(answer.biases[0]), float(self.mass[0]))
