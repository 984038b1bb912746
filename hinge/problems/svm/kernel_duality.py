"""The duality gap of a kernel expansion as a sum of nonnegative terms, with a bound on its rounding error.

For any v, and any α in the box whose :math:`\\sum_i c_i\\alpha_iy_i` is zero where the bias is free,

.. math:: P(v, b) - D(\\alpha) = \\frac\\lambda2\\|v - w(\\alpha)\\|^2
          + \\sum_i c_i\\big[(1 - \\alpha_i)\\max(0, m_i) + \\alpha_i\\max(0, -m_i)\\big], \\qquad
          m_i = 1 - y_i(\\langle v, \\phi(x_i)\\rangle + b).

A term is zero, whatever the rounding, where α is at the bound that is optimal for the sign of m. So errors of the
responses enter the gap only at points between their bounds or near the margin, which are few where the gap is small.

The ε-insensitive loss of regression has targets t in place of the 1 and no labels; -1 ≤ α ≤ 1, and the terms are

.. math:: \\max(0, |m_i| - \\varepsilon) + \\varepsilon|\\alpha_i| - \\alpha_im_i, \\qquad
          m_i = t_i - \\langle v, \\phi(x_i)\\rangle - b.

Functions of this file, and of the solvers that use them, take `epsilon`. If it is None, the loss is the hinge and y are
labels; else the loss is the ε-insensitive one and y are targets. Compiled functions take `width_of` it, and y as
float64, so that they are compiled once for both.
"""

import math

import numpy as np

from hinge.compiled import compiled
from hinge.problems.base import FEW, Certificate, rounding
from hinge.problems.svm.examples import sorted_bias
from hinge.problems.svm.losses import HINGE
from hinge.problems.svm.regularized import best_multiple
from hinge.types import Array

UNIT = float(np.finfo(np.float64).eps) / 2
"""Unit roundoff of float64."""
ONE_SIDED = -1.0
"""The `epsilon` of the hinge in compiled code."""


def width_of(epsilon: float | None) -> float:
    """`epsilon` as compiled code takes it."""
    return ONE_SIDED if epsilon is None else float(epsilon)


@compiled
def duality_gap(y, box, lam, beta, r, e, own, b, free, extra, epsilon):
    """The gap of w = Σ βφ at bias b, against the best multiple of its own α, made feasible.

    With a free bias the sums of positive and of negative β must agree: the larger one is scaled by 1 - κ.

    Parameters
    ----------
    y, box, beta, r : ndarray of shape (n,)
        Labels or targets, cᵢ/λ, coefficients, and responses ⟨w, φ(xᵢ)⟩.
    e, own, extra : ndarray of shape (n,)
        Bounds on the errors of the responses; norms of the φ(xᵢ); filled with what each error adds to the gap.
    free : bool
        Whether the bias is free.
    epsilon : float
        Of the ε-insensitive loss; `ONE_SIDED` for the hinge.

    Returns
    -------
    primal, gap : float
        P and P - D, as if the responses were exact.
    most, dual : float
        Upper bound on P - D, and lower bound on D; infinite and -inf where no multiple of α is feasible.
    """
    n = len(y)
    up, up_norm, up_linear, up_size, sq, sq_off, largest = _side(1.0, y, box, beta, r, e, own, epsilon)
    down, down_norm, down_linear, down_size, sq_down, off_down, top = _side(-1.0, y, box, beta, r, e, own, epsilon)
    sq, sq_off, largest = sq + sq_down, sq_off + off_down, max(largest, top)
    kappa = abs(up - down) / max(up, down) if free and up != down else 0.0
    norm = kappa * (up_norm if up > down else down_norm)
    sq_off += n * UNIT * abs(sq)
    longest = np.sqrt(max(sq + sq_off, 0.0))
    share_up, share_down = _shares(up, down) if free else (1.0, 1.0)
    linear, size = share_up * up_linear + share_down * down_linear, share_up * up_size + share_down * down_size
    quadratic = (np.sqrt(max(sq, 0.0)) + norm) ** 2
    scale = _best_multiple(largest, linear, quadratic)
    dual = lam * (scale * linear - 0.5 * scale**2 * (longest + norm) ** 2)
    if scale > 0.0:
        dual -= 4.0 * n * UNIT * lam * size * max(1.0, scale)
    primal = 0.5 * lam * max(sq, 0.0)
    gap = 0.5 * lam * (abs(1.0 - scale) * np.sqrt(max(sq, 0.0)) + scale * norm) ** 2
    most = 0.5 * lam * (abs(1.0 - scale) * longest + scale * norm) ** 2
    for i in range(n):
        c = lam * box[i]
        m = _short_of(y[i], r[i] + b, epsilon)
        primal += c * _term(0.0, m, epsilon)
        heavy = free and (beta[i] > 0.0) == (up > down)
        a = _weight(beta[i], box[i], scale, 1.0 - kappa if heavy else 1.0, epsilon)
        here = _term(a, m, epsilon)
        off = e[i] + 3.0 * UNIT * (_reach(y[i], epsilon) + abs(r[i]) + abs(b))
        there = max(_term(a, m + off, epsilon), _term(a, m - off, epsilon))
        gap += c * here
        most += c * there
        extra[i] = c * (there - here)
    if free:
        most += _of_sides(primal, b, lam * 2.0 * min(up, down), epsilon) * n * UNIT
    # The weights, their total, C and λ are rounded: these change P and the optimum, both in proportion to P.
    most = (1.0 + 2.0 * n * UNIT) * most + FEW * UNIT * primal
    if not largest < np.inf:
        return primal, np.inf, np.inf, -np.inf
    return primal, gap, most, dual


@compiled(no_cpython_wrapper=True)
def _side(sign, y, box, beta, r, e, own, epsilon):
    """Sums over the points whose β has this sign.

    Returns Σ|β|; Σ|β|‖φ‖; the linear part of the dual, Σ|β| or Σ(tβ - ε|β|); the sum of the absolute values of its
    terms; their part of ‖w‖² and a bound on its error; and the largest |α|, infinite where a β has the wrong sign or an
    upper bound of zero.
    """
    mass = norms = linear = size = sq = sq_off = largest = 0.0
    for i in range(len(y)):
        a = sign * beta[i]
        if not a > 0.0:
            continue
        mass += a
        norms += a * own[i]
        if epsilon < 0.0:
            linear += a
            if y[i] * sign < 0.0:
                largest = np.inf
        else:
            linear += y[i] * beta[i] - epsilon * a
            size += (abs(y[i]) + epsilon) * a
        sq += beta[i] * r[i]
        sq_off += a * e[i]
        largest = max(largest, a / box[i] if box[i] > 0.0 else np.inf)
    return mass, norms, linear, mass if epsilon < 0.0 else size, sq, sq_off, largest


@compiled(inline="always")
def _shares(up, down):
    """Factors of the positive and of the negative side that make their sums equal to the smaller one."""
    if up == down or min(up, down) == 0.0:
        return (1.0, 1.0) if up == down else (0.0, 0.0)
    return (down / up, 1.0) if up > down else (1.0, up / down)


@compiled(inline="always")
def _of_sides(primal, b, mass, epsilon):
    """Bound on the change of P - D if one side's sum is changed by rounding, divided by that rounding."""
    if epsilon < 0.0:
        return abs(b) * mass
    return (abs(b) + epsilon) * mass + primal


@compiled(inline="always")
def _best_multiple(largest, linear, quadratic):
    """The s with s·α ≤ 1 that maximises s·linear - s²/2·quadratic; exactly 1 if it differs from 1 by rounding only."""
    if linear <= 0.0:
        return 1.0 if linear == 0.0 else 0.0
    scale = min(1.0 / max(largest, 1e-300), linear / quadratic if quadratic > 0.0 else np.inf)
    return 1.0 if abs(scale - 1.0) < 1e-12 else scale


@compiled(inline="always")
def _weight(beta, box, scale, share, epsilon):
    """α of a point times `scale` and `share`; in regression with the sign of β."""
    if beta == 0.0 or box <= 0.0:
        return 0.0
    a = min(1.0, scale * abs(beta) / box * share)
    if epsilon < 0.0:
        return a
    return a if beta > 0.0 else -a


@compiled(inline="always")
def _short_of(y, response, epsilon):
    """1 - y·response, or target minus response."""
    if epsilon < 0.0:
        return 1.0 - y * response
    return y - response


@compiled(inline="always")
def _reach(y, epsilon):
    """Size of the number that the response is subtracted from; its rounding is relative to that."""
    if epsilon < 0.0:
        return 1.0
    return abs(y) + epsilon


@compiled(no_cpython_wrapper=True)
def _term(a, m, epsilon):
    """(1 - α)max(0, m) + α max(0, -m); of the ε-insensitive loss, max(0, |m| - ε) + ε|α| - αm.

    Written as a sum of nonnegative terms, so that nothing cancels.
    """
    if epsilon < 0.0:
        return (1.0 - a) * m if m > 0.0 else -a * m
    if a < 0.0:
        a, m = -a, -m
    beyond = m - epsilon
    return (1.0 - a) * beyond if beyond > 0.0 else max(0.0, -m - epsilon) - a * beyond


@compiled(no_cpython_wrapper=True)
def slope_above(beta, e, epsilon):
    """The slope of eβ + ε|β| to the right of β: e itself for the hinge."""
    if epsilon < 0.0:
        return e
    return e + epsilon if beta >= 0.0 else e - epsilon


@compiled(no_cpython_wrapper=True)
def slope_below(beta, e, epsilon):
    """The slope of eβ + ε|β| to the left of β."""
    if epsilon < 0.0:
        return e
    return e + epsilon if beta > 0.0 else e - epsilon


@compiled
def stationary_bias(beta, e, lo, hi, epsilon):
    """LIBSVM's bias, where none is provably best: the mean over points between their bounds of the bias that puts each
    on the margin; if there are none, the middle of the interval that the points at their bounds allow. With ε, β = 0
    counts as a bound.
    """
    total, count, least, largest = 0.0, 0, np.inf, -np.inf
    for i in range(len(beta)):
        above, below = slope_above(beta[i], e[i], epsilon), slope_below(beta[i], e[i], epsilon)
        if lo[i] < beta[i] < hi[i] and above == below:
            total += above
            count += 1
            continue
        if beta[i] < hi[i]:
            least = min(least, above)
        if beta[i] > lo[i]:
            largest = max(largest, below)
    if count:
        return -total / count
    if least == np.inf or largest == -np.inf:
        return -least if largest == -np.inf else -largest
    return -0.5 * (least + largest)


def relative_gap(gap: float, dual: float, unit: float, epsilon: float | None) -> float:
    """The relative gap, from P - D and a lower bound on D, for which `unit` stands where it is larger."""
    size = max(dual, unit)
    return gap / size if size > 0 else 0.0 if gap == 0.0 and epsilon is not None else np.inf


def certificate_at(
    y: np.ndarray,
    box: np.ndarray,
    lam: float,
    unit: float,
    beta: np.ndarray,
    r: np.ndarray,
    e: np.ndarray,
    own: np.ndarray,
    b: float,
    free: bool,
    epsilon: float | None,
) -> Certificate:
    """The certificate of β at the bias b; see `duality_gap`."""
    aims, extra = y.astype(np.float64, copy=False), np.empty(len(y))
    primal, gap, most, dual = duality_gap(aims, box, lam, beta, r, e, own, b, free, extra, width_of(epsilon))
    whole, unrounded = (relative_gap(*one, unit, epsilon) for one in ((most, dual), (gap, primal - gap)))
    return Certificate(primal, dual, whole, b, unrounded)


def longer(
    y: np.ndarray, c: np.ndarray | float, sq: float, r: np.ndarray, e: np.ndarray, free: bool
) -> tuple[float, float]:
    """The s and b for which P(sw, b) is least, where every margin is smaller by what its response may be off by.

    Where C is so large that no point needs a loss, margins of 1 that are rounded cost C times their rounding, which can
    be far more than λ/2 ‖w‖²; a w that is longer by as much as they are rounded costs nearly nothing.

    Parameters
    ----------
    y : ndarray of shape (n,)
        Labels.
    c : ndarray of shape (n,) or float
        The cᵢ.
    sq : float
        λ‖w‖².
    r, e : ndarray of shape (n,)
        Responses, and bounds on their errors.
    free : bool
    """
    low = r - y * e
    b = float(sorted_bias(low, y, c, None)) if free else 0.0
    m = y * (low + b) - 4.0 * UNIT * (1.0 + np.abs(r) + abs(b))
    s = best_multiple(m, c, sq, HINGE)
    return s, s * b


def primal_bound(
    y: Array, box: Array, lam: float, beta: Array, r: Array, e: Array, b: float, epsilon: float | None
) -> tuple[float, float]:
    """P of w = Σ βφ at bias b, as if its responses r were exact, and an upper bound where they are off by up to e."""
    short = 1.0 - y * (r + b) if epsilon is None else np.abs(y - r - b) - epsilon
    off = e + 3.0 * UNIT * ((1.0 if epsilon is None else np.abs(y) + epsilon) + np.abs(r) + abs(b))
    squares = beta * r
    sq, sq_off = float(squares.sum()), float(np.abs(beta) @ e) + rounding(len(y), float(np.abs(squares).sum()))
    c = lam * box
    primal = 0.5 * lam * max(sq, 0.0) + float(c @ np.maximum(short, 0.0))
    most = 0.5 * lam * max(sq + sq_off, 0.0) + float(c @ np.maximum(short + off, 0.0))
    return primal, most + rounding(len(y), most)


def dual_bound(
    y: Array, box: Array, lam: float, beta: Array, r: Array, e: Array, own: Array, epsilon: float | None, free: bool
) -> tuple[float, float]:
    """D at the best multiple of β, as if its responses r were exact, and a lower bound where they are off by up to e.

    β lies within its bounds, and with a free bias sums to zero but for rounding: the heavier side is scaled by 1 - κ
    until it does. Only the responses of rows whose β is not zero are used. The sums that decide what is feasible, and
    the linear part of D, are correct to the last bit.
    """
    used = beta != 0.0
    y, box, beta, r, e, own = (one[used] for one in (y, box, beta, r, e, own))
    size, dual = np.abs(beta), (0.0, 0.0)
    gains = size if epsilon is None else y * beta - epsilon * size
    linear, lost, long = math.fsum(gains), 0.0, 0.0
    largest = float(np.divide(size, box, out=np.full(len(box), np.inf), where=box > 0.0).max(where=size > 0, initial=0))
    if not linear > 0.0 or not largest < np.inf:
        return dual
    reach = size if epsilon is None else (np.abs(y) + epsilon) * size
    if epsilon is not None:
        lost = 3.0 * UNIT * float(reach.sum())
    if free and (tilt := math.fsum(beta)):
        side = beta * tilt > 0.0
        kappa = abs(tilt) / float(size[side].sum()) * (1.0 + rounding(len(y), 1.0))
        lost, long = lost + kappa * float(reach[side].sum()), kappa * float((size * own)[side].sum())
    squares = beta * r
    sq, sq_off = float(squares.sum()), float(size @ e) + rounding(len(y), float(np.abs(squares).sum()))
    norm = (math.sqrt(max(sq + sq_off, 0.0)) + long) * (1.0 + rounding(len(y), 1.0))
    scale = min((1.0 - FEW * UNIT) / largest, linear / norm**2 if norm > 0.0 else np.inf)
    gained, paid = scale * linear, 0.5 * (scale * norm) ** 2
    least = gained - scale * lost - paid - FEW * UNIT * (gained + paid)
    return lam * (gained - 0.5 * scale**2 * max(sq, 0.0)), max(0.0, lam * least * (1.0 - FEW * UNIT))


WORTH = 0.3
"""Fraction of the gap by which a rescaling must reduce the primal: a smaller reduction ends no run sooner."""


def best_scale(
    lam: float, sq: float, r: Array, y: Array, c: Array | float, b: float, gap: float, epsilon: float | None, free: bool
) -> tuple[float, float, float]:
    """s, b and the primal at s·w where it is less than at w by a fraction `WORTH` of the gap; else 1, b and infinity.

    .. math:: \\min_{s, b}\\ \\frac\\lambda2 s^2\\|w\\|^2 + \\sum_i c_i\\,\\ell(y_i, s r_i + b)

    During a run the dual objective is near its optimum before the primal is. Where C is large, many rows that miss the
    margin by little cost much, and a slightly longer w avoids that. The minimum over b is a convex function of s, so
    the sign of its slope tells on which side of s its minimiser lies: it is bracketed by doubling |s - 1|, and then
    located by five steps of bisection.

    Parameters
    ----------
    lam, sq : float
        λ and ‖w‖².
    r, y : array of shape (n,)
        Responses of w, and labels or targets.
    c : array of shape (n,) or float
        The cᵢ; a number if all are equal.
    b, gap : float
        The best bias for s = 1, and P - D at that.
    epsilon : float, optional
        Of the ε-insensitive loss; None for the hinge.
    free : bool
        Whether the bias is free; if not, b is kept.
    """
    slope = _primal(lam, sq, r, y, c, 1.0, b, epsilon)[1]
    if not (sq > 0.0 and gap > 0.0 and slope != 0.0):
        return 1.0, b, np.inf
    # A convex function is above its tangent: for |s - 1| < h the reduction is less than that fraction of the gap.
    h = WORTH * gap / abs(slope)
    way = -float(np.sign(slope))
    if not h < 0.5 or way * _primal(lam, sq, r, y, c, 1.0 + way * h, b, epsilon)[1] >= 0.0:
        return 1.0, b, np.inf
    best, near, far = (1.0, b, np.inf), h, np.inf
    left = 5
    for _ in range(40):
        at = 2.0 * near if far == np.inf else 0.5 * (near + far)
        s = 1.0 + way * at
        if s <= 0.0:
            far = at
            continue
        now = float(sorted_bias(s * r, y, c, epsilon)) if free else b
        primal, slope = _primal(lam, sq, r, y, c, s, now, epsilon)
        best = min(best, (s, now, primal), key=lambda one: one[-1])
        near, far = (near, at) if way * slope >= 0.0 else (at, far)
        left -= far < np.inf
        if left == 0:
            break
    return best


def _primal(
    lam: float, sq: float, r: Array, y: Array, c: Array | float, s: float, b: float, epsilon: float | None
) -> tuple[float, float]:
    """The primal at s·w and b, and its slope in s."""
    short = 1.0 - y * (s * r + b) if epsilon is None else y - s * r - b
    over = short if epsilon is None else abs(short) - epsilon
    side = y if epsilon is None else (short > 0) * 2.0 - 1.0
    loss, slope = (c * over.clip(0.0)).sum(), -(c * (over > 0) * side * r).sum()
    return 0.5 * lam * s * s * sq + float(loss), lam * s * sq + float(slope)
