"""The duality gap of dual weights that have given sums, with its rounding.

For weights α with 0 ≤ α ≤ s that sum to M for either sign σ, and any levels l,

.. math:: P - D = \\sum_i \\alpha_i\\max(0, m_i - l) + (s_i - \\alpha_i)\\max(0, l - m_i), \\qquad
          m_i = \\sigma_i(\\langle w, \\phi(x_i)\\rangle - t_i).

A term vanishes, whatever the rounding, where α is at the bound that the sign of m - l asks for. Where every point is
there twice, with both signs, arrays hold both copies.
"""

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.duality import UNIT
from hinge.problems.svm.quantiles import quantile

ONE_CLASS, CLASSES, TARGETS = 0, 1, 2
"""Forms of the problem: one sign, labels for signs, and every point with both."""


@compiled
def level_gap(form, sign, box, alpha, linear, r, e, own, levels, shifts, mass):
    """P - D of w = Σ σαφ at these levels, against its own α, made feasible.

    Sums that are not right are made so by weights that shrink alike, or that grow in proportion to the room that each
    has; of two copies, by what both have in common, which moves no response.

    Parameters
    ----------
    form : int
    sign, box, alpha, linear, r : ndarray of shape (n,)
        σ, s, the least α, t, and responses ⟨w, φ(xᵢ)⟩.
    e, own : ndarray of shape (n,)
        Bounds on the errors of the responses, and norms of the φ(xᵢ).
    levels : ndarray
        Of the positive sign and, where there is one, of the negative.
    shifts : float
        The size of what is added to a response to compare it with a level.
    mass : float
        M.

    Returns
    -------
    slack, sq, gain : float
        P - D, ‖w‖² and Σ σtα, as if the responses were exact.
    most, sq_off, least, shift : float
        P - D at most, how far ‖w‖² may be off, D at least, and how far w may be off.
    """
    n = len(sign)
    sums, room, size = _sums(sign, box, alpha, own)
    common, share, grows = _shares(form, mass - sums, sums, room, n * UNIT * mass)
    # Where coefficients are divided by the margin they are rounded once more, and with them every response. Who comes
    # back to α by their sums has what these lack besides.
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
        sq_off += a * (off + n * UNIT * abs(r[i]))  # responses of both signs cancel in the sum, but their errors add up
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
    """Σα and Σ(s - α) of either sign, and Σα‖φ‖; the first with what each addition loses added at the end (Kahan)."""
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
    """What both copies lack in common; by which share of their room, or of themselves, the weights move; and which."""
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
    """P - D in the unit of the certificate.

    Of one class the relative error of w, at most 1: the best w, which is the shortest, is no farther away than 0.
    Of classes (P - D)/\\|P\\|. Of targets (P - D)/D, where a D below `faint` is taken for that.

    Parameters
    ----------
    form : int
    slack, sq, gain : float
        P - D, ‖w‖², and Σ σtα.
    off : float
        By how far w itself may be off.
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
    """The l at which -Ml + Σ s max(0, l - m) is least; of several, that of the points between their bounds."""
    total, count = 0.0, 0
    for i in range(len(m)):
        if 1e-12 * s[i] < alpha[i] < (1.0 - 1e-12) * s[i]:  # between its bounds by more than rounding
            total += m[i]
            count += 1
    low, high = quantile(m.copy(), s.copy(), mass)
    return min(max(total / count, low), high) if count else 0.5 * (low + high)
