"""Labelled and weighted examples: the part that all SVM problems share, linear or with a kernel."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import frozen
from hinge.kernels import namespace
from hinge.problems.base import Answer, Problem
from hinge.problems.svm.losses import HINGE, Loss
from hinge.threads import each
from hinge.types import Array

T = TypeVar("T")
BLOCK_ROWS = 1 << 16
"""Rows of one block of a pass."""
ONE = frozen(np.ones(1))
"""The weight, or the target, of every row, where all are 1."""
FAINT = 1e-9
"""The optimum of regression may be zero: the unit of a relative gap is at least this times the loss of w = 0."""


class Examples(Problem[Answer]):
    """Labels or targets, weights, and the quantities that follow from them and the responses ⟨w, xᵢ⟩.

    The loss of a row is a function of :math:`g_i = t_i - y_i(\\langle w, x_i\\rangle + b)`. In classification
    :math:`t_i = 1`, and the array `target` has one entry; in regression :math:`y_i = 1` and :math:`t_i` is the target.

    Parameters
    ----------
    n : int
        Number of examples.
    y : array of shape (n,)
        Labels, -1 and +1; targets if the loss is one of regression.
    weight : array of shape (n,), optional
        Nonnegative weights :math:`s_i`; all one where not given.
    loss : Loss

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import Examples
    >>> rows = Examples(4, [1, 1, -1, -1])
    >>> bool(-1.0 <= rows.best_bias(np.array([2.0, 1.0, -1.0, -2.0])) <= 1.0)
    True
    """

    def __init__(self, n: int, y: ArrayLike, weight: ArrayLike | None = None, loss: Loss = HINGE) -> None:
        self.n, self.loss = n, loss
        y = np.asarray(y)
        if y.shape != (n,):
            raise ValueError(f"X has {n} rows but y has shape {y.shape}; one label per row is needed.")
        if n == 0:
            raise ValueError("There are no rows to learn from.")
        if loss.two_sided:
            if y.dtype.kind not in "iufb" or not np.isfinite(y).all():
                raise ValueError("Targets of a regression problem are finite numbers.")
            self.y, self.target = np.ones(n, np.int8), frozen(y.astype(np.float64))
        elif y.dtype.kind not in "iuf" or np.count_nonzero(np.abs(y) == 1) < n:
            raise ValueError("Labels of a problem are -1 and +1; the estimators accept other labels.")
        else:
            self.y, self.target = y.astype(np.int8), ONE
        self.weight = ONE if weight is None else _checked_weight(weight, n)
        self.total = float(n) if weight is None else float(self.weight.sum())

    @cached_property
    def spread(self) -> float:
        """The typical size of gᵢ at w = 0 and the best bias: 1 for labels, the mean deviation for targets.

        Of a piecewise linear loss without a bias, or with a free one, no less than the objective of w = 0.
        """
        free = getattr(self, "bias", "free") != "none"
        return spread_of(self.target, self.row_shares(), free=free) if self.loss.two_sided else 1.0

    @cached_property
    def unit(self) -> float:
        """Lower limit of what a relative gap is divided by; 0 in classification, where the optimum is not zero."""
        if not self.loss.two_sided:
            return 0.0
        plain = self.loss._replace(epsilon=0.0)
        return FAINT * sum(
            float(np.sum(plain.values(self.target[lo:hi].copy()) * self.share(lo, hi))) for lo, hi in self.blocks()
        )

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Row ranges of one pass."""
        for lo in range(0, self.n, BLOCK_ROWS):
            yield lo, min(lo + BLOCK_ROWS, self.n)

    def over_blocks(self, work: Callable[[int, int], T]) -> list[T]:
        """The results of ``work(lo, hi)`` for all blocks, in order; blocks are shared among the allowed threads."""
        blocks = list(self.blocks())
        return [work(*blocks[0])] if len(blocks) == 1 else each(lambda k: work(*blocks[k]), len(blocks))

    def share(self, lo: int = 0, hi: int | None = None) -> np.ndarray | float:
        """The cᵢ = sᵢ/Σs of rows lo to hi; a single number where all weights are equal."""
        if len(self.weight) == 1:
            return float(self.weight[0]) / self.total
        return self.weight[lo:hi] / self.total

    def row_shares(self) -> np.ndarray:
        """The cᵢ of all rows, as an array also where they are equal."""
        return np.broadcast_to(np.asarray(self.share()), (self.n,))

    @cached_property
    def terms(self) -> int:
        """Longest chain of additions in a sum over all rows that is made block by block: bounds its rounding."""
        blocks = list(self.blocks())  # blocks of rows in files may have unequal lengths
        return max(hi - lo for lo, hi in blocks) + len(blocks)

    def short_of(self, r: np.ndarray, b: float, lo: int = 0, hi: int | None = None) -> np.ndarray:
        """The gᵢ of rows lo to hi, from their responses ⟨w, xᵢ⟩."""
        target = self.target[0] if len(self.target) == 1 else self.target[lo:hi]
        return target - self.y[lo:hi] * (r + b)

    def loss_of(self, r: np.ndarray, b: float, lo: int = 0, hi: int | None = None, error: float = 0.0) -> float:
        """Contribution of rows lo to hi to the mean loss; an upper bound if responses have errors of up to `error`."""
        losses = self.loss.values(self.short_of(r, b, lo, hi), error)
        c = self.share(lo, hi)
        return float(losses.sum() * c) if isinstance(c, float) else float(losses @ c)

    def mean_loss_from(self, r: np.ndarray, b: float, error: float = 0.0) -> float:
        """The mean loss from all responses; an upper bound if these have errors of up to `error`."""
        return sum(self.over_blocks(lambda lo, hi: self.loss_of(r[lo:hi], b, lo, hi, error)))

    @property
    def epsilon(self) -> float | None:
        """ε of the loss of regression; None for losses of classification."""
        return self.loss.epsilon if self.loss.two_sided else None

    @property
    def aims(self) -> np.ndarray:
        """The labels of classification, or the targets of regression."""
        return self.target if self.loss.two_sided else self.y

    def best_bias(self, r: np.ndarray) -> float:
        """The exact minimiser over b of the mean loss, given the responses.

        The hinge is piecewise linear in b with kinks at :math:`y_i - r_i`, and its slope rises by
        :math:`c_i` at each from :math:`-\\sum_{y_i=+1} c_i`: the minimiser is the order statistic
        at which the positive mass is used up (midpoint where the slope is zero on an interval). The ε-insensitive loss
        has two kinks a row, and a weighted median of them is best. Slopes of squared losses are piecewise linear:
        Newton's method finds their zero.
        """
        if not np.isfinite(r).all():
            raise ValueError("A response is not finite: X has NaN or infinite entries, or entries too large.")
        loss = self.loss
        if not loss.curvature:
            return float(sorted_bias(r, self.aims, self.share(), self.epsilon))
        b, low, high, weight = 0.0, -np.inf, np.inf, self.row_shares()
        for _ in range(100):
            a = loss.slope(self.short_of(r, b))
            slope, curvature = float(-(a * self.y) @ weight), float(weight[a != 0].sum()) / loss.curvature
            low, high = (b, high) if slope < 0 else (low, b)
            step = -slope / curvature if curvature > 0 else 0.0
            if step == 0.0 or not abs(step) > 1e-15 * abs(b):
                break
            b = b + step if low < b + step < high else 0.5 * (low + high)
        return b

    def class_mass(self, alpha: np.ndarray) -> tuple[float, float]:
        """:math:`\\sum c_i|\\alpha_i|` over the rows where αᵢyᵢ is positive, and where it is negative."""

        def part(lo: int, hi: int) -> tuple[float, float]:
            mass, c = alpha[lo:hi] * self.y[lo:hi], self.share(lo, hi)
            factor = c if isinstance(c, float) else 1.0
            mass = mass if isinstance(c, float) else mass * c
            # summed apart, since a difference of the two would cancel
            return factor * float(np.maximum(mass, 0.0).sum()), -factor * float(np.minimum(mass, 0.0).sum())

        positive, negative = map(sum, zip(*self.over_blocks(part), strict=True))
        return positive, negative

    def balanced(self, alpha: np.ndarray) -> np.ndarray:
        """α scaled down on the heavier side, so that :math:`\\sum_i c_i\\alpha_i y_i = 0`."""
        return self.side_scaled(alpha, *balance(*self.class_mass(alpha)))

    def side_scaled(self, alpha: np.ndarray, side: int, ratio: float) -> np.ndarray:
        """α multiplied by `ratio` on the rows where αᵢyᵢ has the sign `side`."""
        scaled = alpha.copy()
        for lo, hi in self.blocks():
            scaled[lo:hi][np.sign(alpha[lo:hi] * self.y[lo:hi]) == side] *= ratio
        return scaled


def balance(positive: float, negative: float) -> tuple[int, float]:
    """The sign of the larger of two sums, and the factor that makes it equal to the smaller."""
    ratio = min(positive, negative) / max(positive, negative, np.finfo(float).tiny)
    return 1 if positive > negative else -1, ratio


def spread_of(target: np.ndarray, weight: np.ndarray | None = None, *, free: bool = True) -> float:
    """The mean absolute deviation of targets from their mean, if that is `free`, or from zero; 1 where it is zero."""
    centre = np.average(target, weights=weight) if free else 0.0
    return float(np.average(np.abs(target - centre), weights=weight)) or 1.0


def sorted_bias(r: Array, y: Array, c: Array | float, epsilon: float | None = None) -> Any:
    """`Examples.best_bias` by one sort, for NumPy or torch; `c` is a number if all weights are equal.

    If `epsilon` is given, y are targets and the loss is the ε-insensitive one.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.problems import sorted_bias
    >>> float(sorted_bias(np.array([3.0, 2.0, 0.0]), np.array([1.0, 1.0, -1.0]), 1 / 3))
    -1.0
    """
    xp = namespace(r)
    kinks, mass = y - r, None if isinstance(c, float) else c
    if epsilon is not None:  # two kinks a row, and the slope changes its sign at half of their mass
        kinks = xp.concatenate([kinks - epsilon, kinks + epsilon])
        mass = None if mass is None else xp.concatenate([mass, mass])
        target = 0.5 * float(len(kinks) if mass is None else mass.sum())
    else:
        target = float((y > 0).sum() if mass is None else (mass * (y > 0)).sum())
    low, high = weighted_quantiles(kinks, mass, target)
    return (low + high) / 2


def weighted_quantiles(values: Array, mass: Array | None, target: float) -> tuple[Any, Any]:
    """The smallest and the largest value where the cumulative mass of the sorted values is the target.

    Without `mass` all are equal to 1. The two differ if the cumulative mass equals the target, up to rounding, between
    two values; values of mass zero between them are passed over.
    """
    xp, last = namespace(values), len(values) - 1
    if mass is None:
        places = [min(max(int(target) - 1, 0), last), min(int(target), last)]
        # No other need be in its place.
        placed: Any = np.partition(values, places) if xp is np else xp.sort(values)[0]
        return placed[places[0]], placed[places[1]]
    order = xp.argsort(values)
    below = xp.cumsum(mass[order], 0)
    low, high = (min(int(xp.searchsorted(below, target * (1.0 + off))), last) for off in (-1e-12, 1e-12))
    return values[order[low]], values[order[high]]


def _checked_weight(weight: ArrayLike, n: int) -> np.ndarray:
    """Weights as float64."""
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"Weights have shape {weight.shape}; one weight per row ({n}) is needed.")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("Weights must be finite and not negative.")
    if not weight.any():
        raise ValueError("All weights are zero: there is nothing to learn from.")
    return frozen(weight)
