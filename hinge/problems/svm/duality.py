"""The duality gap of a kernel answer, as a sum of terms that are never negative, with its rounding.

For any v, and any α in the box whose :math:`\\sum_i c_i\\alpha_iy_i` is zero where the bias is free,

.. math:: P(v, b) - D(\\alpha) = \\frac\\lambda2\\|v - w(\\alpha)\\|^2
          + \\sum_i c_i\\big[(1 - \\alpha_i)\\max(0, m_i) + \\alpha_i\\max(0, -m_i)\\big], \\qquad
          m_i = 1 - y_i(\\langle v, \\phi(x_i)\\rangle + b).

A term vanishes, whatever the rounding, where α is at the bound that the sign of m asks for. So an error of
the responses counts for the points between their bounds and near the margin alone; where the gap is small
these are few.
"""

import numpy as np

from hinge.compiled import compiled

UNIT = float(np.finfo(np.float64).eps) / 2


@compiled
def duality_gap(y, box, lam, beta, r, e, own, b, free, extra):
    """The gap of w = Σ βφ at bias b against the best multiple of its own α, made feasible.

    The heavier class is scaled down by 1 - κ until the sums of both agree, which rounding alone leaves apart.

    Parameters
    ----------
    y, box, beta, r : ndarray of shape (n,)
        Labels, cᵢ/λ, coefficients, and responses ⟨w, φ(xᵢ)⟩.
    e : ndarray of shape (n,)
        Bounds on the errors of the responses.
    own : ndarray of shape (n,)
        Norms of the φ(xᵢ).
    extra : ndarray of shape (n,)
        Filled with what the error of each response adds to the gap.

    Returns
    -------
    primal, gap : float
        P and P - D, as if the responses were exact.
    most, dual : float
        P - D at most, D at least; -inf where no multiple of α is feasible.
    """
    n = len(y)
    up, down, up_norm, down_norm, sq, sq_off, largest = _sums(y, box, beta, r, e, own)
    kappa = norm = 0.0
    if free and up != down:
        kappa = abs(up - down) / max(up, down)
        norm = kappa * (up_norm if up > down else down_norm)
    sq_off += n * UNIT * abs(sq)
    longest = np.sqrt(max(sq + sq_off, 0.0))
    linear = 2.0 * min(up, down) if free else up + down
    quadratic = (np.sqrt(max(sq, 0.0)) + norm) ** 2
    scale = _best_multiple(largest, linear, quadratic)
    dual = lam * (scale * linear - 0.5 * scale**2 * (longest + norm) ** 2) - 4.0 * n * UNIT * lam * linear
    primal = 0.5 * lam * max(sq, 0.0)
    gap = 0.5 * lam * (abs(1.0 - scale) * np.sqrt(max(sq, 0.0)) + scale * norm) ** 2
    most = 0.5 * lam * (abs(1.0 - scale) * longest + scale * norm) ** 2
    heavy = (1.0 if up > down else -1.0) if free else 0.0
    for i in range(n):
        c = lam * box[i]
        m = 1.0 - y[i] * (r[i] + b)
        primal += c * max(0.0, m)
        a = 0.0
        if beta[i] != 0.0 and box[i] > 0.0:
            a = min(1.0, scale * abs(beta[i]) / box[i] * (1.0 - kappa if y[i] == heavy else 1.0))
        here = _term(a, m)
        off = e[i] + 3.0 * UNIT * (1.0 + abs(r[i]) + abs(b))
        there = max(_term(a, m + off), _term(a, m - off))
        gap += c * here
        most += c * there
        extra[i] = c * (there - here)
    if free:
        most += abs(b) * lam * linear * n * UNIT
    most *= 1.0 + 2.0 * n * UNIT
    if not largest < np.inf:
        return primal, np.inf, np.inf, -np.inf
    return primal, gap, most, dual


@compiled
def _sums(y, box, beta, r, e, own):
    """Sums over all points: Σ|β| of each class, the same times the norms, ‖w‖² and how far that may be off.

    The last is the largest α, infinite where one has the wrong sign or no room at all.
    """
    up = down = up_norm = down_norm = sq = sq_off = largest = 0.0
    for i in range(len(y)):
        a = y[i] * beta[i]
        if a < 0.0 or (a > 0.0 and box[i] <= 0.0):
            largest = np.inf
        if a != 0.0:
            if y[i] > 0:
                up += a
                up_norm += a * own[i]
            else:
                down += a
                down_norm += a * own[i]
            sq += beta[i] * r[i]
            sq_off += abs(beta[i]) * e[i]
            if box[i] > 0.0:
                largest = max(largest, a / box[i])
    return up, down, up_norm, down_norm, sq, sq_off, largest


@compiled
def _best_multiple(largest, linear, quadratic):
    """The s in the box, s·α ≤ 1, at which s·linear - s²/2·quadratic is largest; 1 if it is that but for rounding."""
    if linear <= 0.0:
        return 1.0
    scale = min(1.0 / max(largest, 1e-300), linear / quadratic if quadratic > 0.0 else np.inf)
    return 1.0 if abs(scale - 1.0) < 1e-12 else scale


@compiled
def _term(a, m):
    """(1 - α)max(0, m) + α max(0, -m)."""
    return (1.0 - a) * m if m > 0.0 else -a * m


@compiled
def stationary_bias(beta, e, lo, hi):
    """LIBSVM's bias, for problems that have no best one: the mean of what points between their bounds ask
    for; the middle of what those at a bound allow, where there are no others.
    """
    total, count, least, largest = 0.0, 0, np.inf, -np.inf
    for i in range(len(beta)):
        if lo[i] < beta[i] < hi[i]:
            total += e[i]
            count += 1
        elif beta[i] < hi[i]:
            least = min(least, e[i])
        elif beta[i] > lo[i]:
            largest = max(largest, e[i])
    if count:
        return -total / count
    if least == np.inf or largest == -np.inf:
        return -least if largest == -np.inf else -largest
    return -0.5 * (least + largest)
