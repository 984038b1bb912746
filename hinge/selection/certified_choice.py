"""Bounds on the cross-validation error of every C in a range, from certified fits for some of them.

Write a machine as :math:`P_C(w) = \\tfrac12\\|w\\|^2 + C\\sum_is_i\\ell(g_i)`, :math:`g_i = 1 - y_if_i`, with the dual
point :math:`z = \\sum_ia_iy_i\\phi(x_i)`, where :math:`a_i \\ge 0`, and :math:`a_i \\le Cs_i` for the hinge. P is
strongly convex in w, and the dual strongly concave in z, so that the optimum :math:`w_C` obeys

.. math:: \\tfrac12\\|w_C - w\\|^2 + \\tfrac12\\|w_C - z\\|^2 \\le G = P_C(w) - D_C(a)
          = \\tfrac12\\|w - z\\|^2 + \\sum_i\\big(Cs_i\\ell(g_i) + \\tfrac{q}{2Cs_i}a_i^2 - a_ig_i\\big)

and lies in the ball about :math:`\\tfrac12(w + z)` with the radius :math:`\\sqrt{G - \\|w - z\\|^2/4}`. Every mixture
:math:`(1 - t)w + tw'`, :math:`(1 - u)a + ua'` of two fits, at C and C′, is such a pair for a C between the two, whose G
takes O(n), and no kernel value or product with X. G is of about the third power of the step for the squared hinge, and
of the second for the hinge. Between two mixtures, at :math:`C_1 < C_2`, L being the sum of the losses,

.. math:: G \\le \\max(G_1, G_2) + \\tfrac14\\big((C_2 - C_1)(L_1 - L_2)
          - \\tfrac12\\|w_1 - w_2\\|^2 - \\tfrac12\\|z_1 - z_2\\|^2\\big),

because L is below its chords, and the dual is concave in (C, a). So each held-out row has bounds on its decision value
for all C of a cell :math:`[C_1, C_2]`; rows that are certainly misclassified give a lower bound on the error, and those
that may be an upper one. Where too few are certain, another fit is made between the two, which starts from the mixture.

A free bias is bounded as in `hinge.problems.svm.idle_rows`. All roundings are included.

References
----------
Shibagaki, Suzuki, Karasuyama and Takeuchi, *Regularization Path of Cross-Validation Error Lower Bounds*, 2015, use the
ball that one fit gives. Its radius is :math:`\\tfrac12|C/C_0 - 1|\\,\\|w_0\\|` if the fit is exact.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from hinge.monitoring import Stop
from hinge.monitoring.interrupts import is_over, now
from hinge.problems.base import rounding
from hinge.problems.svm.idle_rows import CertifiedAnswer, bias_bounds
from hinge.problems.svm.losses import Loss

MOST_CELLS = 64
"""Cells between two fits; if these do not suffice, another fit does more."""


class FittedPair(NamedTuple):
    """A primal and a dual point of one binary problem at one C.

    Attributes
    ----------
    C : float
    a, g : ndarray of shape (n,)
        Dual weights, and :math:`1 - y_if_i`, of the training rows.
    f : ndarray of shape (m,)
        The mean of the decision values by w and by z of the held-out rows, without a free bias.
    w : tuple of two ndarrays
        Vectors whose inner product is ‖w‖²: w twice, or coefficients and responses. Both are linear in w.
    b : float
        A free bias.
    apart, blur : float
        Upper bounds on ‖w - z‖ and on the error of z by rounding, which the first includes.
    error, faint : float
        Bounds on the errors of each g and f, and of the second vector of `w`.
    """

    C: float
    a: np.ndarray
    g: np.ndarray
    f: np.ndarray
    w: tuple[np.ndarray, np.ndarray]
    b: float
    apart: float
    blur: float
    error: float
    faint: float

    @property
    def norm(self) -> float:
        """‖w‖."""
        return math.sqrt(max(float(self.w[0] @ self.w[1]), 0.0))


class FoldRows(NamedTuple):
    """One fold: its held-out rows, and the training rows of each of its binary problems.

    Attributes
    ----------
    codes, share : ndarray of shape (m,)
        Classes of the held-out rows, and what each adds to the error if it is misclassified.
    norms, train_norms : ndarray
        Upper bounds on :math:`\\|\\phi(x)\\|` of held-out and of training rows.
    y, s : list of ndarray of shape (n,)
        Labels, -1 and +1, and weights of the training rows in each problem.
    loss : Loss
    free : bool
        Whether the bias is free.
    """

    codes: np.ndarray
    share: np.ndarray
    norms: np.ndarray
    train_norms: np.ndarray
    y: Sequence[np.ndarray]
    s: Sequence[np.ndarray]
    loss: Loss
    free: bool


Node: TypeAlias = list[list[FittedPair]]
"""The fits at one C: of each fold, of each binary problem."""
PairFit: TypeAlias = Callable[[float, Stop, Sequence[Sequence[FittedPair]]], list[FittedPair]]
"""Fits all problems of a fold: takes C, when to stop, and fits of the fold to start from, at one C or at two."""


class ErrorBounds(NamedTuple):
    """Bounds on the cross-validation error of exact machines, for every C in a range.

    Attributes
    ----------
    C : ndarray of shape (n_cells + 1,)
        Ends of the cells, ascending.
    lower, upper : ndarray of shape (n_cells,)
        Bounds on the error, for all C of each cell.
    chosen : float
        An upper bound on the error of the chosen C.
    n_fits : int
        Fits that were made, one for each C, fold and binary problem.
    """

    C: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    chosen: float
    n_fits: int

    @property
    def gap(self) -> float:
        """No C of the range has an error that is more than this below the error of the chosen one."""
        return max(0.0, self.chosen - float(self.lower.min()))


class Mixing(NamedTuple):
    """How two fits of one problem are mixed for a C between theirs.

    Dual weights are linear in C, so that those with an upper bound stay below it, and w in log C, 1/C or C, for `power`
    0, -1 or 1: at large C, w is about linear in 1/C, and the dual weights, which are C times the losses, in C.

    Attributes
    ----------
    one, other : FittedPair
    power : int
    near, far : float
        Bounds on the distance between the w of both.
    """

    one: FittedPair
    other: FittedPair
    power: int = 1
    near: float = 0.0
    far: float = 0.0

    def shares(self, C: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """The share of the other fit in w, and in the dual weights."""
        if self.one.C == self.other.C:
            return np.zeros(np.shape(C)), np.zeros(np.shape(C))

        def between(power: int) -> np.ndarray:
            low, high, here = (
                np.log(x) if power == 0 else x**power for x in (self.one.C, self.other.C, np.asarray(C, np.float64))
            )
            return np.clip((here - low) / (high - low), 0.0, 1.0)

        return between(self.power), between(1)

    def gap(self, C: float, s: np.ndarray, loss: Loss) -> tuple[float, float]:
        """Upper bounds on G of the mixture, and on the sum L of its losses."""
        one, other, (t, u) = self.one, self.other, map(float, self.shares(C))
        a, g = (1.0 - u) * one.a + u * other.a, (1.0 - t) * one.g + t * other.g
        error, q, bound = max(one.error, other.error), loss.curvature, C * s
        over = np.maximum(g, 0.0)
        # Terms that are not negative: a difference of sums would lose the digits that count at large C.
        if q:
            terms = bound * (0.5 / q) * (np.abs(over - q * a / bound) + error) ** 2
        else:
            terms = np.maximum(bound - a, 0.0) * (over + error)
        paid = float(s @ loss.values(over, error))
        short = float(terms.sum() + a @ np.maximum(error - g, 0.0))
        # Where the bias is free, the classes of a balance but for the rounding of their sums.
        moved = rounding(len(a), float(a.sum())) * float(np.abs(g).max()) if one.b or other.b else 0.0
        short += rounding(len(a), short) + rounding(0, C * paid + float(a.sum())) + moved
        apart = max(one.apart, other.apart) + abs(t - u) * self.far
        return short + 0.5 * apart**2, paid + rounding(len(a), paid)

    def radii(self, ends: np.ndarray, s: np.ndarray, loss: Loss) -> np.ndarray:
        """For each cell a bound on the distance of :math:`w_C` from :math:`\\tfrac12(w + z)`."""
        G, L = np.array([self.gap(C, s, loss) for C in ends.tolist()]).T
        t, u = self.shares(ends)
        blur, skew = self.one.apart + self.other.apart, np.abs(t - u)
        both = (self.near * np.diff(t)) ** 2 + np.maximum(self.near * np.diff(u) - blur, 0.0) ** 2
        apart = np.maximum(self.near * np.minimum(skew[:-1], skew[1:]) - blur, 0.0)
        step = np.diff(ends)
        curved = step * (L[:-1] - L[1:]) + rounding(len(s), 1.0) * step * L[:-1] - 0.5 * both
        sq = np.maximum(G[:-1], G[1:]) + 0.25 * (np.maximum(curved, 0.0) - apart**2)
        return np.sqrt(np.maximum(sq, 0.0)) * (1.0 + 1e-12)


def best_mixing(one: FittedPair, other: FittedPair, s: np.ndarray, loss: Loss) -> tuple[float, Mixing]:
    """The mixing with the smallest G in the middle of two fits, and this G."""
    u, v = (p - q for p, q in zip(one.w, other.w, strict=True))
    sq, lost = float(u @ v), float(np.abs(u).sum()) * (one.faint + other.faint) + 1e-9 * float(np.abs(u) @ np.abs(v))
    near, far = math.sqrt(max(sq - lost, 0.0)), math.sqrt(max(sq + lost, 0.0))
    ways = [Mixing(one, other, power, near, far) for power in (1, 0, -1)]
    C = math.sqrt(one.C * other.C)
    return min(((way.gap(C, s, loss)[0], way) for way in ways), key=lambda found: found[0])


def value_bounds(
    rows: FoldRows, k: int, one: FittedPair, other: FittedPair, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds on the decision values of held-out rows in each cell, of shape (n_cells, m)."""
    s, y = rows.s[k], rows.y[k]
    mixing = best_mixing(one, other, s, rows.loss)[1]
    R, shares = mixing.radii(ends, s, rows.loss), mixing.shares(ends)
    t = 0.5 * (shares[0] + shares[1])[:, None]
    # The mean of w and z is that of the two fits' means, but for what w and z differ by where their shares do.
    R += 0.5 * np.abs(shares[0] - shares[1]).max() * max(one.apart, other.apart)
    error, blur = (max(getattr(pair, name) for pair in (one, other)) for name in ("error", "blur"))
    f = (1.0 - t) * one.f + t * other.f
    reach = (R[:, None] + blur) * rows.norms + 2.0 * error
    low, high = np.minimum(f[:-1], f[1:]) - reach, np.maximum(f[:-1], f[1:]) + reach
    for j in range(len(R)) if rows.free else ():
        b = (1.0 - t[j, 0]) * one.b + t[j, 0] * other.b
        own = [y * (1.0 - pair.g) - pair.b for pair in (one, other)]
        r = [(1.0 - at) * own[0] + at * own[1] for at in t[j : j + 2, 0].tolist()]
        spread = 0.5 * np.abs(r[1] - r[0]) + (R[j] + one.apart + other.apart) * rows.train_norms
        between = CertifiedAnswer(y, 0.5 * (r[0] + r[1]), b, s, spread, 1.0, 4.0 * error, rows.loss, True)
        below, above = bias_bounds(between)
        low[j] += below
        high[j] += above
    return low, high


def error_bounds(rows: FoldRows, one: list[FittedPair], other: list[FittedPair], ends: np.ndarray) -> np.ndarray:
    """The share of held-out rows that are certainly misclassified, and of those that may be, in each cell."""
    low, high = zip(
        *(value_bounds(rows, k, *pair, ends) for k, pair in enumerate(zip(one, other, strict=True))), strict=True
    )
    if len(low) == 1:  # the negative class has the value 0
        low, high = ((np.zeros_like(low[0]), *low), (np.zeros_like(high[0]), *high))
    least, most, m = np.array(low), np.array(high), np.arange(len(rows.codes))
    own_least, own_most = least[rows.codes, :, m].T, most[rows.codes, :, m].T
    least[rows.codes, :, m], most[rows.codes, :, m] = -np.inf, -np.inf
    wrong, unsure = least.max(axis=0) > own_most, most.max(axis=0) >= own_least
    return np.stack([wrong @ rows.share, unsure @ rows.share])


def leads(rows: FoldRows, pairs: list[FittedPair]) -> np.ndarray:
    """By how much the value of another class exceeds that of the own one, in units of ‖w‖‖φ(x)‖; of held-out rows."""
    f = np.stack([pair.f + pair.b for pair in pairs])
    norms = np.array([pair.norm for pair in pairs])
    if len(pairs) == 1:  # the negative class has the value 0
        f, norms = np.concatenate([np.zeros_like(f), f]), np.append(0.0, norms)
    m = np.arange(len(rows.codes))
    ahead = (f - f[rows.codes, m]) / (rows.norms * np.maximum(norms[:, None] + norms[rows.codes], 1e-300))
    ahead[rows.codes, m] = -np.inf
    return ahead.max(axis=0)


def needed_radius(rows: Sequence[FoldRows], node: Node, wanted: float) -> float:
    """The radius, in units of ‖w‖, within which rows with the share `wanted` would be certainly misclassified."""
    ahead = np.concatenate([leads(*one) for one in zip(rows, node, strict=True)])
    share = np.concatenate([fold.share for fold in rows])
    order = np.argsort(-ahead)
    at = int(np.searchsorted(np.cumsum(share[order]), wanted))
    return float(ahead[order[min(at, len(order) - 1)]]) / (2.0 if rows[0].free else 1.0)


def doubtful_radius(rows: Sequence[FoldRows], node: Node, share: float) -> float:
    """The radius, in units of ‖w‖, within which rows with this share would be of an uncertain class."""
    nearest = np.concatenate([np.abs(leads(*one)) for one in zip(rows, node, strict=True)])
    order = np.argsort(nearest)
    reached = np.cumsum(np.concatenate([fold.share for fold in rows])[order])
    at = min(int(np.searchsorted(reached, share)), len(order) - 1)
    return float(nearest[order[at]]) / (2.0 if rows[0].free else 1.0)


def certify_choice(
    rows: Sequence[FoldRows],
    fits: Sequence[PairFit],
    Cs: Sequence[float],
    epsilon: float,
    ends: float | None,
    *,
    chosen: float | None = None,
    most: float = 1.0,
) -> ErrorBounds:
    """Bound the error of every C between the smallest and the largest, until the gap is at most ε or time is up.

    Parameters
    ----------
    rows : sequence of FoldRows
    fits : sequence of callables
        What fits each fold.
    Cs : sequence of float
        Values to begin with, in ascending order.
    epsilon : float
    ends : float, optional
        When to stop, by `now`.
    chosen : float, optional
        The chosen C, one of the values.
    most : float
        An upper bound on its error, if it belongs to another kernel.

    Returns
    -------
    ErrorBounds
    """
    folds, n_fits = range(len(rows)), 0
    nodes: dict[float, Node] = {}
    found: dict[tuple[float, float], tuple[np.ndarray, np.ndarray]] = {}
    heap: list[tuple[float, float, float, float, int]] = []

    def fitted(C: float, tol: float | None, *near: Node) -> Node:
        nonlocal n_fits
        made: Node = []
        for k in folds:
            pairs = tuple(node[k] for node in near)
            if tol and len(near) == 1 and _within(rows[k], pairs[0], C, tol):
                made.append(pairs[0])
                continue
            gap = _tolerance(rows[k], pairs[0], C, tol) if tol else 1e-3
            # Rounding can put a gap out of reach: that must not take the time of all other fits.
            left = None if ends is None else max(0.1 * (ends - now()), 1e-3)
            made.append(fits[k](C, Stop(gap, None, left), pairs))
            n_fits += len(made[-1])
        return made

    def bounds_of(one: Node, other: Node, cut: np.ndarray) -> np.ndarray:
        return sum((error_bounds(rows[k], one[k], other[k], cut) for k in folds), np.zeros((2, len(cut) - 1)))

    def judge(low: float, high: float) -> None:
        """Bound the errors between two neighbours, if mixtures in their middle are accurate enough for that."""
        one, other = nodes[low], nodes[high]
        radius = max(min(needed_radius(rows, node, most - epsilon) for node in (one, other)), 1e-6)
        short, moved = 0.0, 0.0
        for k in folds:
            for p, q, s in zip(one[k], other[k], rows[k].s, strict=True):
                G, mixing = best_mixing(p, q, s, rows[k].loss)
                norm = max(p.norm, q.norm, 1e-300)
                short, moved = max(short, math.sqrt(G) / norm / radius), max(moved, mixing.far / norm)
        cells = 1
        if short <= 2.0:
            # Within a cell G is at most about a quarter of log(C₂/C₁)‖w‖‖w₁ - w₂‖ above that of its ends.
            cells = min(MOST_CELLS, math.ceil(0.7 * math.sqrt(math.log(high / low) * moved) / radius) or 1)
        cut = np.geomspace(low, high, cells + 1)
        cut[[0, -1]] = low, high
        found[low, high] = cut, np.array([[0.0], [1.0]]) if short > 2.0 else bounds_of(one, other, cut)
        if high > low * (1.0 + 1e-9):  # else rounding is what is too large
            pieces = max(2, math.ceil(short**0.6))
            heapq.heappush(heap, (float(found[low, high][1][0].min()), -math.log(high / low), low, high, pieces))

    if chosen is not None:
        nodes[chosen] = fitted(chosen, None)
        # A tenth of ε may be lost to rows whose class is not certain.
        nodes[chosen] = fitted(chosen, max(doubtful_radius(rows, nodes[chosen], 0.1 * epsilon), 1e-6), nodes[chosen])
        most = float(bounds_of(nodes[chosen], nodes[chosen], np.array([chosen, chosen]))[1, 0])
    if most <= epsilon:  # no error is negative
        return ErrorBounds(np.array([Cs[0], Cs[-1]]), np.zeros(1), np.ones(1), most, n_fits)
    first = min(Cs) if chosen is None else chosen
    nodes[first] = nodes.get(first) or fitted(first, None)
    for C in sorted(set(Cs) - {first}, key=lambda C: abs(math.log(C / first))):
        near = nodes[min(nodes, key=lambda other: abs(math.log(C / other)))]
        radius = needed_radius(rows, near, most - epsilon)
        nodes[C] = fitted(C, 0.5 * radius if radius > 0.0 else None, near)  # its own may be less
    for C in 3 * list(Cs):
        radius = needed_radius(rows, nodes[C], most - epsilon)
        if radius > 0.0 and chosen != C and not is_over(ends):
            nodes[C] = fitted(C, radius, nodes[C])
    for low, high in pairwise(Cs):
        judge(low, high)
    while heap and heap[0][0] < most - epsilon and not is_over(ends):
        _, _, low, high, pieces = heap[0]
        radius = min(needed_radius(rows, nodes[C], most - epsilon) for C in (low, high))
        if radius <= 0.0:  # one of the two has an error that is smaller by more than ε: there is nothing to prove
            break
        heapq.heappop(heap)
        del found[low, high]
        for C in np.geomspace(low, high, pieces + 1)[1:-1].tolist():
            nodes[C] = fitted(C, max(radius, 1e-6), nodes[low], nodes[high])
            judge(low, C)
            low = C
        judge(low, high)
    order = sorted(found)
    if not order:  # a single C
        lower, upper = bounds_of(nodes[Cs[0]], nodes[Cs[0]], np.array([Cs[0], Cs[0]]))
        return ErrorBounds(np.array([Cs[0], Cs[0]]), lower, upper, most, n_fits)
    cut = np.concatenate([found[cell][0][:-1] for cell in order])
    lower, upper = np.concatenate([found[cell][1] for cell in order], axis=1)
    return ErrorBounds(np.append(cut, Cs[-1]), lower, upper, most, n_fits)


def _within(rows: FoldRows, pairs: list[FittedPair], C: float, radius: float) -> bool:
    """Whether √G of fits at C is at most a third of a radius that is given in units of ‖w‖."""
    return all(
        pair.C == C and Mixing(pair, pair).gap(C, s, rows.loss)[0] <= (radius * pair.norm / 3.0) ** 2
        for pair, s in zip(pairs, rows.s, strict=True)
    )


def _tolerance(rows: FoldRows, near: list[FittedPair], C: float, radius: float) -> float:
    """The relative gap at which √G is a third of a radius that is given in units of ‖w‖."""
    wanted = [
        (radius * pair.norm / 3.0) ** 2 / (0.5 * pair.norm**2 + C * float(s @ rows.loss.values(pair.g.copy())))
        for pair, s in zip(near, rows.s, strict=True)
    ]
    return min(max(min(wanted), 1e-10), 1e-2)
