"""A loss and its smoothed form over a list of rows: what Newton's method asks of the data."""

import numpy as np

from hinge.access import add_outer, add_row, dot, read_row
from hinge.compiled import compiled
from hinge.problems.svm.losses import gap_share


@compiled(inline="always")
def _slope(loss, z, sharpness, spared):
    """The dual weight where the loss is smoothed: z moved towards 0 by ε, in units of the parabola, and clipped.

    Unlike min and max, which look for NaN, this compiles to vector selects.
    """
    a = z * sharpness
    near = a if a > -spared else -spared
    a -= near if near < spared else spared
    a = a if a > loss.low else loss.low
    return a if a < loss.high else loss.high


@compiled
def along(A, rows, y, p, lo, hi, q):
    """q ← yᵢ⟨p, (xᵢ, 1)⟩ for rows lo to hi of the list."""
    d = len(p) - 1
    w, b = p[:d], p[d]
    for k in range(lo, hi):
        i = rows[k]
        q[k] = y[i] * (dot(A, read_row(A, i), w) + b)


@compiled
def slopes(A, rows, y, target, weight, loss, m, center, mu, alpha, z, curved):
    """The dual at margins m, and which rows are on the parabola; z follows the rows whose α changed."""
    d = len(z) - 1
    mass = gap = linear = 0.0
    sharpness = 1.0 / (mu + loss.curvature)
    spared = loss.epsilon * sharpness
    for k in range(len(rows)):
        i = rows[k]
        s = weight[i] if len(weight) > 1 else weight[0]
        t = target[i] if len(target) > 1 else target[0]
        e = t - m[k]
        a = _slope(loss, e + mu * np.float64(center[k]), sharpness, spared)
        mass += s
        linear += s * (t * a - loss.epsilon * abs(a) - 0.5 * loss.curvature * a * a)
        curved[k] = loss.low < a < loss.high and a != 0.0
        if a != alpha[i]:
            row = read_row(A, i)
            step = s * (a - alpha[i]) * y[i]
            add_row(A, row, step, z)
            z[d] += step
            alpha[i] = a
        if mu > 0.0:
            gap += s * gap_share(loss, e, a)
    return mass, gap, linear


@compiled
def add_outers(A, rows, weight, sign, H):
    """Lower triangle of H ← H ± Σ sᵢ (xᵢ, 1)(xᵢ, 1)ᵀ over the rows of the list."""
    d = len(H) - 1
    for i in rows:
        row = read_row(A, i)
        s = sign * (weight[i] if len(weight) > 1 else weight[0])
        add_outer(A, row, s, H)
        add_row(A, row, s, H[d, :d])
        H[d, d] += s


@compiled(fastmath={"reassoc", "contract", "nsz"})
def search(rows, target, weight, loss, m, q, center, mu, first, second):
    """The minimum of F along the direction: Newton on its slope, kept within a bracket."""
    tau, lo, hi, start = 0.0, 0.0, np.inf, 0.0
    n, weighted, sharpness = len(rows), len(weight) > 1, 1.0 / (mu + loss.curvature)
    spared, targets = loss.epsilon * sharpness, len(target) > 1
    mass = weight[rows].sum() if weighted else weight[0] * n
    common = target[0]
    for trial in range(60):
        slope = curvature = 0.0
        if weighted or targets:
            for k in range(n):
                s = weight[rows[k]] if weighted else weight[0]
                t = target[rows[k]] if targets else target[0]
                c = _slope(loss, t - m[k] - tau * q[k] + mu * np.float64(center[k]), sharpness, spared)
                slope -= s * c * q[k]
                curvature += s * q[k] * q[k] if loss.low < c < loss.high and c != 0.0 else 0.0
        else:  # the same without the lookup, which would keep it from using vector instructions
            for k in range(n):
                c = _slope(loss, common - m[k] - tau * q[k] + mu * np.float64(center[k]), sharpness, 0.0)
                slope -= c * q[k]
                curvature += q[k] * q[k] if 0.0 < c < loss.high else 0.0
        share = 1.0 / mass if weighted or targets else 1.0 / n
        slope = first + tau * second + slope * share
        curvature = second + curvature * sharpness * share
        if trial == 0:
            start = slope
        if abs(slope) <= 0.05 * abs(start):
            return tau
        lo, hi = (tau, hi) if slope < 0.0 else (lo, tau)
        tau -= slope / curvature if curvature > 0.0 else 0.0
        if not (lo < tau < hi) or (lo == 0.0 and 0.1 * hi < tau < np.inf and trial > 1):
            # A step far too long, where the curvature at its start told nothing, is cut fast.
            tau = 2.0 * lo + 1.0 if hi == np.inf else 0.1 * hi if lo == 0.0 else 0.5 * (lo + hi)
    return lo  # the slope is still negative there: the way has been downhill


@compiled
def product(A, rows, weight, p, out):
    """out ← Σ sᵢ (xᵢ, 1)⟨(xᵢ, 1), p⟩ over the rows of the list."""
    d = len(p) - 1
    v, b = p[:d], p[d]
    out[:] = 0.0
    for i in rows:
        row = read_row(A, i)
        c = (weight[i] if len(weight) > 1 else weight[0]) * (dot(A, row, v) + b)
        add_row(A, row, c, out)
        out[d] += c
