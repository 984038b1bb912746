"""The duality gap of the ν-SVMs (see `KernelLevels`), with a bound on its rounding error.

For dual weights 0 ≤ α ≤ s whose sum over the points of each sign σ is M, and any levels l,

.. math:: P - D = \\sum_i \\alpha_i\\max(0, m_i - l) + (s_i - \\alpha_i)\\max(0, l - m_i), \\qquad
          m_i = \\sigma_i(\\langle w, \\phi(x_i)\\rangle - t_i).

A term is zero, whatever the rounding, where α is at the bound that is optimal for the sign of m - l. Where every point
occurs twice, with both signs (regression), arrays hold both copies.
"""

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.duality import UNIT
from hinge.problems.svm.quantiles import quantile

ONE_CLASS, CLASSES, TARGETS = 0, 1, 2
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
