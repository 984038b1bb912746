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


TOGETHER = 1024
"""Points up to which all kernel values are one matrix, of 8 MB; those of more fit no cache."""
BUNDLE = 256
"""Points from which on classes are not joined to a bundle: one call for two of them then does some 100,000 values."""


class Errors(NamedTuple):
    """What kernel values are off by at most, and their sums.

    Attributes
    ----------
    A, B : ndarray of shape (k, n)
        The values given for i and j are off by Σₖ Aₖᵢ Bₖⱼ.
    share : ndarray of shape (n,) or (0,)
        In place of these, where values lie between 0 and 1: a sum S = Σ aⱼKᵢⱼ of terms that are not negative is off by
        S (shareᵢ + unit · ln(Σ aⱼ / S)).
    unit : float
    """

    A: np.ndarray
    B: np.ndarray
    share: np.ndarray
    unit: float


class Blocks(NamedTuple):
    """Kernel values of the points of two bundles: of the first with itself, of both, of the last with itself.

    Places from ``len(first)`` on are in the last. Where there is one bundle all three are the same matrix. There is
    `room` to copy the rows of any member to; all members use the same, since to allocate it anew has a price.
    """

    first: np.ndarray
    across: np.ndarray
    last: np.ndarray
    room: np.ndarray


class Group(NamedTuple):
    """Some members of a batch, whose points lie in two bundles: number `first`, and `last` if it is another."""

    first: int
    last: int
    members: np.ndarray


class PackedBatch(Problem[BatchExpansion]):
    """Kernel problems on some of the same points each, as concatenated arrays.

    Member k has the points ``rows[cuts[k]:cuts[k + 1]]``. Of few points all kernel values are computed once, when they
    are first needed. Many points of which each member has two classes are parted into bundles of classes: values of a
    bundle with itself are kept, those of two bundles are made for the members in these, and overwritten by the next.
    The objective is the sum of the members' objectives, the gap of a certificate the largest of their gaps.

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
        self._held: tuple[int, int] | None = None  # the bundles whose values are in `_rooms`
        self._own = dict[int, np.ndarray]()

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
    def diagonal(self) -> np.ndarray:
        """The kernel values of points with themselves."""
        return np.diagonal(self.K) if len(self.bundles) == 2 else self.points.diag()

    @cached_property
    def bundles(self) -> np.ndarray:
        """Where bundles of consecutive points begin, and n: the points of every member lie in two of them at most."""
        whole = np.array([0, self.n])
        if self._K is not None or self.n <= TOGETHER or isinstance(self.points, FunctionPoints):
            return whole
        begins = np.append(True, self.rows[1:] != self.rows[:-1] + 1)
        begins[self.cuts[:-1]] = True
        bounds = [0]
        for start in np.unique(self.rows[begins]).tolist():  # of classes, if points are sorted by them
            if start - bounds[-1] >= BUNDLE:
                bounds.append(start)
        bundles = np.array([*bounds, self.n])
        each, sizes = np.searchsorted(bundles, self.rows, side="right"), np.diff(self.cuts)
        ends = np.minimum.reduceat(each, self.cuts[:-1]), np.maximum.reduceat(each, self.cuts[:-1])
        two = np.logical_or(*(each == np.repeat(end, sizes) for end in ends)).all()
        return bundles if two and len(bundles) > 3 else whole

    @cached_property
    def groups(self) -> list[Group]:
        """The members by their bundles."""
        count, firsts = len(self.bundles) - 1, self.cuts[:-1]
        if count == 1:
            return [Group(0, 0, np.arange(len(firsts)))]
        each = np.searchsorted(self.bundles, self.rows, side="right") - 1
        key = np.minimum.reduceat(each, firsts) * count + np.maximum.reduceat(each, firsts)
        return [Group(one // count, one % count, np.flatnonzero(key == one)) for one in np.unique(key).tolist()]

    @cached_property
    def places(self) -> np.ndarray:
        """Where the points of the members are in the `values` of their group."""
        if len(self.groups) == 1:
            return self.rows
        places, bundles = self.rows.copy(), self.bundles
        for first, last, members in self.groups:
            for k in members.tolist():
                own = places[self.parts[k]]
                own -= np.where(own < bundles[first + 1], bundles[first], bundles[last] - np.diff(bundles)[first])
        return places

    def blocks(self, group: Group) -> Blocks:
        """The kernel values of the points of a group, not to be written to; until those of another are asked for."""
        if len(self.groups) == 1:
            return Blocks(self.K, self.K, self.K, np.empty(0, self.K.dtype))
        (first, last, _), (between, room) = group, self._rooms
        own, other = self._of_bundle(first), self._of_bundle(last)
        if first == last:
            return Blocks(own, own, own, room)
        across = between[: len(own) * len(other)].reshape(len(own), len(other))
        if self._held != (first, last):
            self._held = None  # until all of them are there
            rows, columns = (np.arange(*self.bundles[b : b + 2]) for b in (first, last))
            for lo in range(0, len(rows), TILE_ROWS):
                self.points.fill(rows[lo : lo + TILE_ROWS], columns, across[lo : lo + TILE_ROWS])
            self._evals += across.size
            self._held = first, last
        return Blocks(own, across, other, room)

    @cached_property
    def _rooms(self) -> tuple[np.ndarray, np.ndarray]:
        """Room for the values of two bundles, and for those of a member."""
        sizes, largest = np.diff(self.bundles), int(np.diff(self.cuts).max())
        most = max(int(sizes[first] * sizes[last]) for first, last, _ in self.groups)
        room = np.empty(most + largest**2, self.points.dtype)
        return room[:most], room[most:]

    def _of_bundle(self, b: int) -> np.ndarray:
        """The kernel values of a bundle with itself."""
        if b not in self._own:
            every = np.arange(*self.bundles[b : b + 2])
            check_own_values(every, self.points.diag()[every], indefinite=self.points.indefinite)
            self._own[b] = triangle_and_mirror(self.points, every, np.empty((len(every),) * 2, self.points.dtype))
            self._evals += len(every) * (len(every) + 1) // 2
        return self._own[b]

    def values_of(self, k: int) -> np.ndarray:
        """The kernel values of the points of member k, not to be written to."""
        group = next(one for one in self.groups if len(self.groups) == 1 or k in one.members)
        own, across, other, _ = self.blocks(group)
        at, half = self.places[self.parts[k]], len(own)
        inside = at < half
        if inside.all():
            return own if len(at) == half and (at == np.arange(half)).all() else own[np.ix_(at, at)]
        mine, theirs, (here, there) = at[inside], at[~inside] - half, (np.flatnonzero(one) for one in (inside, ~inside))
        K = np.empty((len(at), len(at)), own.dtype)
        K[np.ix_(here, here)], K[np.ix_(there, there)] = own[np.ix_(mine, mine)], other[np.ix_(theirs, theirs)]
        K[np.ix_(here, there)] = across[np.ix_(mine, theirs)]
        K[np.ix_(there, here)] = K[np.ix_(here, there)].T
        return K

    @cached_property
    def errors(self) -> Errors:
        """Bounds on the errors of the kernel values."""
        shares = self.points.shares() if len(self.bundles) > 2 else None
        if shares is None:
            by_row, by_column = self.points.errors()
            return Errors(by_row, by_column, np.empty(0), 0.0)
        none = np.empty((0, self.n))
        return Errors(none, none, *shares)

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
            self.unit[k] = FAINT * float(s @ np.abs(t)) / float(s.sum())
            self.spread[k] = spread_of(t, s, free=bias == "free")

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
        self.bias, self.loss, self.start, self.bundles = problem.bias, problem.loss, np.zeros(n), self.cuts

    @cached_property
    def K(self) -> np.ndarray:
        """All kernel values, in the precision of the Gram."""
        return self.members[0].gram.whole()

    @cached_property
    def errors(self) -> Errors:
        """None: the certificate of the problem has them."""
        none = np.empty((0, self.n))
        return Errors(none, none, np.empty(0), 0.0)

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
    return points, triangle_and_mirror(points, every, K), n * (n + 1) // 2


def triangle_and_mirror(points: Points, these: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Fill K with the kernel values of consecutive points among themselves; one triangle is computed and mirrored."""
    n = len(these)
    if n <= TILE_ROWS and points.dtype == K.dtype:
        points.fill(these, these, K)
        return K
    for lo in range(0, n, TILE_ROWS):
        hi = min(lo + TILE_ROWS, n)
        tile = np.empty((hi - lo, n - lo), points.dtype)
        points.fill(these[lo:hi], these[lo:], tile)
        K[lo:hi, lo:] = tile
        K[hi:, lo:hi] = tile[:, hi - lo :].T
    return K


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
        return enclosing_radius(self.diagonal, sq, float(answer.biases[0]), float(self.mass[0]))
