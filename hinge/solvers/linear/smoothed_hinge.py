"""The smoothed hinge over a list of rows: what Newton's method asks of the data."""

import numpy as np

from hinge.access import add_outer, add_row, dot, read_row
from hinge.compiled import compiled


@compiled
def _clip(a):
    """a to [0, 1]; unlike min and max, which look for NaN, this compiles to vector selects."""
    a = a if a > 0.0 else 0.0
    return a if a < 1.0 else 1.0


@compiled
def along(A, rows, y, p, lo, hi, q):
    """q ← yᵢ⟨p, (xᵢ, 1)⟩ for rows lo to hi of the list."""
    d = len(p) - 1
    w, b = p[:d], p[d]
    for k in range(lo, hi):
        i = rows[k]
        q[k] = y[i] * (dot(A, read_row(A, i), w) + b)


@compiled
def slopes(A, rows, y, weight, m, center, mu, alpha, z, H):
    """The dual at margins m; z follows the rows whose α changed.

    The rows on the parabola add to the lower triangle of H, unless it is empty.
    """
    d = len(z) - 1
    mass = gap = linear = 0.0
    sharpness = 1.0 / mu
    for k in range(len(rows)):
        i = rows[k]
        s = weight[i] if len(weight) > 1 else weight[0]
        e = 1.0 - m[k]
        a = _clip(center[k] + e * sharpness)
        mass += s
        linear += s * a
        on_parabola = 0.0 < a < 1.0
        if a != alpha[i] or on_parabola:
            row = read_row(A, i)
            step = s * (a - alpha[i]) * y[i]
            add_row(A, row, step, z)
            z[d] += step
            alpha[i] = a
            if on_parabola:
                gap += s * (max(0.0, e) - a * e)
                if len(H) > 0:
                    add_outer(A, row, s, H)
                    add_row(A, row, s, H[d, :d])
                    H[d, d] += s
    return mass, gap, linear


@compiled(fastmath={"reassoc", "contract", "nsz"})
def search(rows, weight, m, q, center, mu, first, second):
    """The minimum of F along the direction: Newton on its slope, kept within a bracket."""
    tau, lo, hi, start = 0.0, 0.0, np.inf, 0.0
    n, weighted, sharpness = len(rows), len(weight) > 1, 1.0 / mu
    mass = weight[rows].sum() if weighted else weight[0] * n
    for trial in range(60):
        slope = curvature = 0.0
        if weighted:
            for k in range(n):
                a = center[k] + (1.0 - m[k] - tau * q[k]) * sharpness
                c = _clip(a)
                sq = weight[rows[k]] * q[k]
                slope -= c * sq
                curvature += sq * q[k] if c == a else 0.0
        else:  # the same without the lookup, which would keep it from using vector instructions
            for k in range(n):
                a = center[k] + (1.0 - m[k] - tau * q[k]) * sharpness
                c = _clip(a)
                slope -= c * q[k]
                curvature += q[k] * q[k] if c == a else 0.0
        share = 1.0 / mass if weighted else 1.0 / n
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
