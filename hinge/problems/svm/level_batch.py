"""Several ν-SVMs over one set of points: pairs of classes, or a regression."""

import numpy as np

from hinge.access import Gram, Points
from hinge.problems.svm.examples import FAINT
from hinge.problems.svm.kernel_batch import BatchExpansion, PackedBatch
from hinge.problems.svm.kernelized import Expansion
from hinge.problems.svm.level_gap import CLASSES, TARGETS
from hinge.problems.svm.levels import checked_share
from hinge.problems.svm.nu_forms import KernelNuClassification, KernelNuRegression


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
        The points of all members, those of the positive class first; and where each member begins.
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
