"""The ν-SVMs: dual weights whose sum is fixed by ν, one sum and one multiplier (a level) for each sign.

For dual weights 0 ≤ α ≤ s whose sum over the points of each sign σ is M, and any levels l,

.. math:: P - D = \\sum_i \\alpha_i\\max(0, m_i - l) + (s_i - \\alpha_i)\\max(0, l - m_i), \\qquad
          m_i = \\sigma_i(\\langle w, \\phi(x_i)\\rangle - t_i).

A term is zero, whatever the rounding, where α is at the bound that is optimal for the sign of m - l. Where every point
occurs twice, with both signs (regression), arrays hold both copies.
"""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hinge.access import BaseGram
from hinge.compiled import compiled
from hinge.problems.base import Certificate, rounding
from hinge.problems.svm.examples import weighted_quantiles
from hinge.problems.svm.kernel_duality import UNIT
from hinge.problems.svm.kernelized import Expansion, KernelProblem
from hinge.problems.svm.losses import HINGE, Loss

FEW = 12
"""Values up to which the rest of a selection is sorted."""


@compiled
def quantile(values, mass, target):
    """The smallest and the largest weighted quantile: where the cumulative mass of the sorted values is the target.

    The two differ if the cumulative mass equals the target, up to rounding, between two values. By selection: values
    are parted by a pivot, and only the part in which the target lies is parted again. Reorders `values` and `mass`.
    """
    n = len(values)
    lo, hi, below, least = 0, n, 0.0, target * (1.0 - 1e-12)
    while hi - lo > FEW:
        a, b, c = values[lo], values[(lo + hi) // 2], values[hi - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        first, last, at, lighter, equal = lo, hi, lo, 0.0, 0.0
        while at < last:
            value, own = values[at], mass[at]
            if value < pivot:
                values[at], mass[at] = values[first], mass[first]
                values[first], mass[first] = value, own
                lighter += own
                first += 1
                at += 1
            elif value > pivot:
                last -= 1
                values[at], mass[at] = values[last], mass[last]
                values[last], mass[last] = value, own
            else:
                equal += own
                at += 1
        if first > lo and below + lighter >= least:
            hi = first
        elif below + lighter + equal >= least or last == hi:
            lo, hi, below = first, last, below + lighter
            break
        else:
            lo, below = last, below + lighter + equal
    if hi - lo <= FEW:
        for i in range(lo + 1, hi):
            value, own, j = values[i], mass[i], i
            while j > lo and values[j - 1] > value:
                values[j], mass[j] = values[j - 1], mass[j - 1]
                j -= 1
            values[j], mass[j] = value, own
    for k in range(lo, hi):
        below += mass[k]
        if below >= least:
            if k + 1 == n or below > target * (1.0 + 1e-12):
                return values[k], values[k]
            after = values[k + 1]
            for j in range(k + 2, n if k + 1 == hi else 0):  # parts beyond have no order
                after = min(after, values[j])
            return values[k], after
    return values[hi - 1], values[hi - 1]


ONE_CLASS, CLASSES, TARGETS = range(3)
"""Values of `form`: one-class (σ = 1), classification (σ = y), regression (every point with both signs)."""


@compiled
def level_gap(form, sign, box, alpha, linear, r, e, own, levels, shifts, mass):
    """P - D of w = Σ σαφ at these levels, against its own α, made feasible.

    If the sum of a sign is not M, its weights are scaled down, or raised in proportion to s - α. If both sums of
    regression are below M, equal amounts are added to both copies of points, which leaves w unchanged.

    Parameters
    ----------
    form : int
    sign, box, alpha, linear, r : ndarray of shape (n,)
        σ, s, α, t, and responses ⟨w, φ(xᵢ)⟩.
    e, own : ndarray of shape (n,)
        Bounds on the errors of the responses, and norms of the φ(xᵢ).
    levels : ndarray
        l of the positive sign and, if there is one, of the negative sign.
    shifts : float
        Size of the numbers added to a response to compare it with a level; its rounding is relative to that.
    mass : float
        M.

    Returns
    -------
    slack, sq, gain : float
        P - D, ‖w‖² and Σ σtα, as if the responses were exact.
    most, sq_off, least, shift : float
        Upper bound on P - D, bound on the error of ‖w‖², lower bound on D, and bound on the change of w in norm.
    """
    n = len(sign)
    sums, room, size = _sums(sign, box, alpha, own)
    common, share, grows = _shares(form, mass - sums, sums, room, n * UNIT * mass)
    # In classification the coefficients are later divided by ρ, which rounds them and all responses once more. Code
    # that recovers α from such coefficients by their sum has the error of that sum in addition.
    short = max(abs(mass - sums[0]), abs(mass - sums[1])) / mass if form == CLASSES else 0.0
    again = (8.0 * UNIT + 2.0 * short) * size if form == CLASSES else 0.0
    slack, most, cost, stray, shift = 0.0, 0.0, 0.0, 0.0, 0.0
    sq, sq_off, gain, terms = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        k = 0 if sign[i] > 0.0 else 1
        a, left, off = alpha[i], box[i] - alpha[i], e[i] + again * own[i]
        over = sign[i] * (r[i] - linear[i]) - levels[k]
        slack += _term(a, left, over)
        sq += sign[i] * a * r[i]
        sq_off += a * (off + n * UNIT * abs(r[i]))  # terms of both signs cancel in the sum, but their errors add up
        gain += sign[i] * a * linear[i]
        terms += abs(linear[i]) * a
        off += 2.0 * UNIT * (abs(r[i]) + abs(linear[i]) + shifts)
        most += max(_term(a, left, over + off), _term(a, left, over - off))
        moved = share[k] * (left if grows[k] else a)
        cost += moved * abs(over)
        stray += moved * abs(linear[i])
        shift += moved * own[i]
    both, width = levels[0] + levels[-1], abs(levels[0]) + abs(levels[-1])
    slack = max(slack - common * both, 0.0)
    most = max(most + common * (4.0 * UNIT * width - both), 0.0) * (1.0 + 2.0 * n * UNIT)
    most += cost + 0.5 * shift * shift
    sq = max(sq, 0.0)
    least = gain - 2.0 * n * UNIT * terms - stray - 0.5 * (np.sqrt(sq + sq_off) + shift) ** 2
    return slack, sq, gain, most, sq_off, least, shift


@compiled
def _sums(sign, box, alpha, own):
    """Σα (by Kahan's summation) and Σ(s - α) for each sign, and Σα‖φ‖ over all points."""
    sums, room, size, lost = np.zeros(2), np.zeros(2), 0.0, np.zeros(2)
    for i in range(len(sign)):
        k = 0 if sign[i] > 0.0 else 1
        term = alpha[i] - lost[k]
        total = sums[k] + term
        lost[k] = (total - sums[k]) - term
        sums[k] = total
        room[k] += box[i] - alpha[i]
        size += alpha[i] * own[i]
    return sums, room, size


@compiled
def _shares(form, lack, sums, room, rounding):
    """How the sums of α are made equal to M.

    Returns the amount that is added to both copies of points in regression; for each sign the fraction of s - α that is
    added to α, or of α that is subtracted; and whether it is added.
    """
    common = max(0.0, min(lack[0], lack[1])) if form == TARGETS else 0.0
    share, grows = np.zeros(2), np.zeros(2, np.bool_)
    for k in range(2):
        short = lack[k] - common
        grows[k] = short > 0.0 and room[k] > 0.0
        moved = room[k] if grows[k] else sums[k]
        if moved > 0.0:
            share[k] = (abs(short) + rounding) / moved
    return common, share, grows


@compiled(inline="always")
def _term(a, left, over):
    return a * over if over > 0.0 else -left * over


@compiled
def relative_gap(form, slack, sq, gain, off, faint):
    """The `gap` of a certificate, from P - D.

    One-class: a bound on the relative error of w, at most 1, since the optimal w is no farther from w than 0 is.
    Classification: (P - D)/\\|P\\|. Regression: (P - D)/max(D, `faint`).

    Parameters
    ----------
    form : int
    slack, sq, gain : float
        P - D, ‖w‖², and Σ σtα.
    off : float
        Bound on the error of w, in norm.
    faint : float
    """
    if form == ONE_CLASS:
        return min((np.sqrt(slack) + off) / np.sqrt(sq), 1.0) if sq > 0.0 else 1.0
    unit = 0.5 * sq - slack if form == CLASSES else max(gain - 0.5 * sq, faint)
    if unit > 0.0:
        return slack / unit
    return 0.0 if slack == 0.0 and form == TARGETS else np.inf


@compiled
def level_of(m, alpha, s, mass):
    """The l that minimises -Ml + Σ s max(0, l - m); of several, the one nearest to the mean m between the bounds."""
    total, count = 0.0, 0
    for i in range(len(m)):
        if 1e-12 * s[i] < alpha[i] < (1.0 - 1e-12) * s[i]:  # between its bounds by more than rounding
            total += m[i]
            count += 1
    low, high = quantile(m.copy(), s.copy(), mass)
    return min(max(total / count, low), high) if count else 0.5 * (low + high)


class KernelLevels(KernelProblem):
    """Points with a sign σ; for each sign, the dual weights of its points have a given sum M.

    .. math:: \\max_\\alpha\\ D(\\alpha) = \\sum_i\\sigma_it_i\\alpha_i - \\tfrac12\\|w\\|^2, \\qquad
              w = \\sum_i\\sigma_i\\alpha_i\\phi(x_i), \\quad 0 \\le \\alpha_i \\le s_i, \\quad
              \\sum_{\\sigma_i = \\sigma}\\alpha_i = M = \\frac\\nu k\\sum_i s_i

    where k is the number of different signs. It is the dual of

    .. math:: P(w, l) = \\tfrac12\\|w\\|^2 - \\sum_\\sigma Ml_\\sigma
              + \\sum_i s_i\\max(0, l_{\\sigma_i} - m_i), \\qquad
              m_i = \\sigma_i(\\langle w, \\phi(x_i)\\rangle - t_i).

    Given w, the optimal level of a sign is a quantile of its margins m. With one sign and t = 0 this is the one-class
    SVM, with labels for signs and t = 0 the ν-SVM of two classes. In ν-regression t are the targets, and every point
    occurs twice, once with each sign; both copies have the same response, so kernel values are computed once.

    With the responses the duality gap costs O(n log n) and no kernel value,

    .. math:: P - D = \\sum_i \\alpha_i\\max(0, m_i - l) + (s_i - \\alpha_i)\\max(0, l - m_i)
              \\ \\ge\\ \\|w - w^*\\|^2,

    where one half of the bound follows from the strong convexity of P and the other from the strong concavity of D.
    Each problem's `error` turns P - D into the `gap` of its certificate.

    An answer is an `Expansion` with β = σα; for points with two copies β is the difference of their α, since equal
    amounts added to both leave w unchanged.

    Parameters
    ----------
    gram : Gram
    y : array of shape (n,)
        Labels, or targets.
    nu : float in (0, 1]
    sign : array of shape (n,) or (2, n)
        σ of each point, or of its two copies.
    C : float
        :math:`s_i` is C times the weight of the point.
    weight : array of shape (n,), optional
        Weights of the points; all one where not given.
    loss : Loss

    References
    ----------
    B. Schölkopf, A. J. Smola, R. C. Williamson, P. L. Bartlett, *New Support Vector Algorithms*, 2000;
    C.-C. Chang, C.-J. Lin, *Training ν-Support Vector Classifiers: Theory and Algorithms*, 2001.
    """

    form: ClassVar[int]
    """Which of the three problems it is: a constant of `level_gap`."""
    signs: ClassVar[tuple[int, ...]] = (1, -1)
    """The values that σ takes."""
    centre: float = 0.0
    """What was subtracted from the targets: the levels absorb it, and sums of smaller numbers are more exact."""
    faint: float = 0.0
    """Lower limit of what the gap of regression is divided by."""

    def __init__(
        self,
        gram: BaseGram,
        y: ArrayLike,
        nu: float,
        sign: np.ndarray,
        *,
        C: float = 1.0,
        weight: ArrayLike | None = None,
        loss: Loss = HINGE,
    ) -> None:
        super().__init__(gram, y, weight=weight, loss=loss)
        self.nu = checked_share(nu)
        self.sign = np.atleast_2d(sign).astype(np.float64)
        self.boxes = np.broadcast_to(C * np.asarray(self.weight, np.float64), (self.n,))
        self.mass = self.nu * float(self.boxes.sum()) / len(self.signs)
        self.linear = np.zeros(self.n)
        room = [float((self.boxes * (self.sign == sign)).sum()) for sign in self.signs]
        self.shares = np.array([self.mass / own if own > 0 else np.inf for own in room])

    # --- what solvers use -----------------------------------------------------------------

    def margins(self, r: np.ndarray, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """The margins m of some points, and of their copies, from the responses."""
        return self.sign[:, rows] * (r - self.linear[rows])

    def levels(self, m: np.ndarray, alpha: np.ndarray, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """The optimal level of each sign given these margins, a weighted quantile.

        Where it is not unique it is, as in LIBSVM, the mean margin of the points between their bounds.
        """
        sign = self.sign[:, rows]
        s = np.broadcast_to(self.boxes[rows], sign.shape)
        if len(self.signs) == 1:
            return np.array([optimal_level(m.ravel(), alpha.ravel(), s.ravel(), float(self.shares.min()))])
        own = [sign == one for one in self.signs]
        return np.array(
            [optimal_level(m[at], alpha[at], s[at], share) for at, share in zip(own, self.shares.tolist(), strict=True)]
        )

    def over(self, m: np.ndarray, levels: np.ndarray, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """m - l: by how much each margin exceeds the level of its sign."""
        return m - (np.where(self.sign[:, rows] > 0, *levels) if len(levels) == 2 else levels)

    def slack(self, over: np.ndarray, alpha: np.ndarray, rows: slice | np.ndarray = slice(None)) -> float:
        """P - D of a feasible α, given m - l."""
        above, below = np.maximum(over, 0.0), np.maximum(-over, 0.0)
        return float(np.vdot(alpha, above) + np.vdot(self.boxes[rows] - alpha, below))

    def error(self, slack: float, sq_norm: float, gain: float = 0.0, off: float = 0.0) -> float:
        """The `gap` of a certificate, from P - D.

        Parameters
        ----------
        slack, sq_norm, gain : float
            P - D, ‖w‖², and Σ σtα.
        off : float
            Bound on the error of w itself, in norm.
        """
        return float(relative_gap(self.form, slack, sq_norm, gain, off, self.faint))

    def vanishes(self, sq_norm: float) -> bool:
        """Whether w is zero up to the rounding of kernel values, and so is the optimal w."""
        return sq_norm <= 0.5 * np.finfo(self.gram.dtype).eps * self.mass**2 * float(self.gram.diag.mean())

    def bias_of(self, levels: np.ndarray) -> float:
        """The bias for which both signs have the same level: σ(⟨w, φ⟩ + b - t) ≥ l with the mean l of both levels."""
        return self.centre + float(levels[-1] - levels[0]) / 2

    def weights_of(self, beta: np.ndarray) -> np.ndarray:
        """The α with σα = β; of two copies, the smallest such α: one of both is zero."""
        return np.maximum(self.sign * beta, 0.0)

    def best_levels(self, r: np.ndarray) -> np.ndarray:
        """The optimal levels given the responses; the middle, where a level is not unique."""
        return self.levels(self.margins(r), np.zeros(self.sign.shape))

    def best_bias(self, r: np.ndarray) -> float:
        """The bias of the optimal levels given the responses."""
        return self.bias_of(self.best_levels(r))

    # --- by landmarks ---------------------------------------------------------------------

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """β within its bounds, each sign's weights moved until they sum to M; of two copies, to at most M, and equally.

        Weights between their bounds are moved, in proportion to the room that each has, and the others only where that
        is not enough: to move them all by a little would make them all support vectors. Certificates allow for a sum
        that is rounded.
        """
        alpha = np.minimum(self.weights_of(beta), self.boxes)
        s = np.broadcast_to(self.boxes, alpha.shape)
        sides = [self.sign == sign for sign in self.signs]
        total = self.mass if len(alpha) == 1 else min(self.mass, *(float(alpha[own].sum()) for own in sides))
        for own in sides:
            a, most = alpha[own], s[own]
            for pool in ((a > 0.0) & (a < most), np.ones(len(a), bool)):
                if abs(total - float(a.sum())) > rounding(2 * self.n, self.mass):
                    a[pool] = summing_to(a[pool], most[pool], total - float(a[~pool].sum()))
            alpha[own] = a
        return (self.sign * alpha).sum(axis=0)

    def lost(self, beta: np.ndarray, rest: np.ndarray, bound: float) -> float:
        """What features leave of K(x, x), as it lowers the dual objective at β: in units of the gap."""
        size = max(abs(bound), self.faint)
        return 0.5 * float(rest @ beta**2) / size if 0.0 < size < np.inf else np.inf

    def primal(self, sq_norm: float, r: np.ndarray) -> float:
        """P at the optimal levels, from ‖w‖² and the responses."""
        levels = self.best_levels(r)
        short = np.maximum(-self.over(self.margins(r), levels), 0.0)
        return 0.5 * sq_norm - self.mass * float(levels.sum()) + float((short @ self.boxes).sum())

    def gap_apart(self, slack: float, dual: float, sq_norm: float) -> float:
        """The `gap` of a certificate by a dual point that is not the answer's own, from P - D, D and ‖w‖²."""
        return self.error(max(slack, 0.0), -2.0 * dual)

    # --- certificates ---------------------------------------------------------------------

    def objective(self, answer: Expansion) -> float:
        """P at w and b, and at the best mean level given both."""
        m = self.sign * (answer.responses - self.linear + (answer.b - self.centre))
        s = np.broadcast_to(self.boxes, m.shape)
        mass = self.mass * len(self.signs)
        level = optimal_level(m.ravel(), self.weights_of(answer.beta).ravel(), s.ravel(), mass / float(s.sum()))
        return 0.5 * self.checked(answer) - mass * level + float(np.vdot(s, np.maximum(level - m, 0.0)))

    def certificate(self, answer: Expansion) -> Certificate:
        """P at the best levels, D, and a bound on the gap that includes all rounding."""
        beta, r = answer.beta, answer.responses
        self.checked(answer)
        if answer.dual is not None:
            certifiable = self.certifiable and not self.gram.contradicts(beta)
            return self._bounds_apart(answer, self.off(answer), answer.of_dual) if certifiable else self._none(answer)
        inside = self._is_feasible(beta)
        if answer.terms == np.inf:
            return Certificate.unknown(answer.b)
        if self.certifiable and inside and not self.gram.contradicts(beta):
            return self._bounds(beta, r, self.off(answer))
        b = self.bias_of(self.levels(self.margins(r), self.weights_of(beta)))
        unknown = np.inf if self.certifiable and not inside else np.nan
        return Certificate(self.objective(answer._replace(b=b)), -unknown, unknown, b)

    def _is_feasible(self, beta: np.ndarray) -> bool:
        """Whether β is within its bounds, and its sums are right but for rounding."""
        alpha = self.weights_of(beta)
        lack = self.mass - np.array([float(alpha[self.sign == sign].sum()) for sign in self.signs])
        inside = bool((alpha <= self.boxes).all()) and np.array_equal((self.sign * alpha).sum(axis=0), beta)
        if len(alpha) == 2:  # a sum that is too small for both signs: equal amounts can be added to both copies
            lack -= max(0.0, float(lack.min()))
        return inside and bool((np.abs(lack) <= 1e-9 * self.mass).all())

    def _none(self, answer: Expansion) -> Certificate:
        b = self.best_bias(answer.responses)
        return Certificate(self.objective(answer._replace(b=b)), np.nan, np.nan, b)

    def _bounds_apart(
        self, answer: Expansion, e: np.ndarray, of_dual: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Certificate:
        """As of all kernel problems."""
        r, beta, own = answer.responses, answer.beta, self.gram.norms
        levels = self.best_levels(r)
        b, over, height = self.bias_of(levels), self.over(self.margins(r), levels), float(np.abs(levels).sum())
        # The last term: coefficients are divided by ρ in the end, which rounds them and all responses once more.
        off = e + 2.0 * UNIT * (np.abs(r) + np.abs(self.linear) + height + abs(b) + abs(self.centre))
        off += 8.0 * UNIT * float(np.abs(beta) @ own) * own
        squares = beta * r
        sq = max(float(squares.sum()), 0.0)
        sq_off = float(np.abs(beta) @ e) + rounding(self.n, float(np.abs(squares).sum()))
        paid, most_paid = (float((np.maximum(short, 0.0) @ self.boxes).sum()) for short in (-over, off - over))
        free = self.mass * float(levels.sum())
        primal, most = 0.5 * sq - free + paid, 0.5 * (sq + sq_off) - free + most_paid
        most += rounding(over.size, 0.5 * (sq + sq_off) + self.mass * height + most_paid)
        if answer.dual is None or of_dual is None or not self._is_feasible(answer.dual):
            return Certificate(most, -np.inf, np.inf, b)
        dual, least = self._dual_bound(answer.dual, *of_dual)
        gap = self.gap_apart(most - least, least, max(sq - sq_off, 0.0))
        return Certificate(most, least, gap + rounding(1, gap), b, self.gap_apart(primal - dual, dual, sq))

    def _dual_bound(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> tuple[float, float]:
        """D at a feasible β, as if its responses r were exact, and a lower bound where they are off by up to e.

        The sums are not exactly those of a feasible point, and M is itself rounded: β is moved until they are, which
        moves w by at most the largest norm for each unit. Of points with two copies smaller multiples of β are feasible
        too, and the best is taken.
        """
        products, gains, alpha = beta * r, self.linear * beta, self.weights_of(beta)
        sq = max(float(products.sum()), 0.0)
        sq_off = float(np.abs(beta) @ e) + rounding(self.n, float(np.abs(products).sum()))
        sums = [math.fsum(alpha[self.sign == sign]) for sign in self.signs]
        total = self.mass if len(alpha) == 1 else min(self.mass, *sums)
        moved = sum(abs(total - own) for own in sums) + len(sums) * rounding(self.n, self.mass)
        gain, lost = math.fsum(gains), 4.0 * UNIT * float(np.abs(gains).sum())
        lost += moved * float(np.abs(self.linear).max())
        longest = math.sqrt(sq + sq_off) + moved * float(self.gram.norms.max())
        s = 1.0 if len(alpha) == 1 or gain >= longest**2 else max(gain, 0.0) / longest**2
        gain, lost, paid = s * gain, s * lost, 0.5 * (s * longest) ** 2
        return gain - 0.5 * s * s * sq, gain - lost - paid - rounding(4, abs(gain) + lost + paid)

    def _bounds(self, beta: np.ndarray, r: np.ndarray, e: np.ndarray) -> Certificate:
        alpha = self.weights_of(beta)
        levels = self.levels(self.margins(r), alpha)
        b = self.bias_of(levels)
        shifts = float(np.abs(levels).max()) + abs(b) + abs(self.centre)  # includes the rounding of b
        parts = self.boxes, self.linear, r, e, self.gram.norms
        box, linear, r, e, own = (np.array(np.broadcast_to(part, alpha.shape)).ravel() for part in parts)
        slack, sq, gain, most, sq_off, least, shift = level_gap(
            self.form, self.sign.ravel(), box, alpha.ravel(), linear, r, e, own, levels, shifts, self.mass
        )
        gap = self.error(most, sq - sq_off, least + 0.5 * (sq - sq_off), shift)
        primal = min(slack + gain - 0.5 * sq, least + most)  # rounded no further up than the gap allows
        return Certificate(float(primal), float(least), gap, b, self.error(slack, sq, gain))


def optimal_level(m: np.ndarray, alpha: np.ndarray, s: np.ndarray, share: float) -> float:
    """The l at which -(share Σs)l + Σ s max(0, l - m) is least."""
    low, high = map(float, weighted_quantiles(m, s, share * float(s.sum())))
    free = (alpha > 0) & (alpha < s)
    return float(np.clip(m[free].mean(), low, high)) if free.any() else (low + high) / 2


def checked_share(nu: float) -> float:
    """ν as a number in (0, 1]."""
    if not 0 < nu <= 1:
        raise ValueError(f"nu must lie in (0, 1], got {nu!r}: it is a share of the points.")
    return float(nu)


def summing_to(alpha: np.ndarray, s: np.ndarray, total: float) -> np.ndarray:
    """α moved within its bounds until it sums to the total, in proportion to the room that each has."""
    lack = total - float(alpha.sum())
    room = s - alpha if lack > 0 else alpha
    return np.clip(alpha + lack * room / (float(room.sum()) or 1.0), 0.0, s)
