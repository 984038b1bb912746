"""A loss and its smoothed form over a list of rows: what Newton's method asks of the data."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hinge.access import add_outer, add_row, cell, dot, read_row, span
from hinge.compiled import compiled
from hinge.problems.svm.losses import gap_share

REORDERED = {"reassoc", "contract", "nsz"}  # sums may be reordered; NaN and infinity keep their meaning


@compiled(inline="always")
def slope_of(loss, z, sharpness, spared):
    """The dual weight where the loss is smoothed: z moved towards 0 by ε, in units of the parabola, and clipped.

    Unlike min and max, which check for NaN, this compiles to vector selects.
    """
    a = z * sharpness
    near = a if a > -spared else -spared
    a -= near if near < spared else spared
    a = a if a > loss.low else loss.low
    return a if a < loss.high else loss.high


@compiled
def along(A, rows, y, p, lo, hi, q):
    """q ← yᵢ⟨p, (xᵢ, 1)⟩ for rows lo to hi of the list."""
    b = p[len(p) - 1]
    for k in range(lo, hi):
        i = np.uint64(rows[k])
        q[k] = y[i] * (dot(A, read_row(A, i), p) + b)


@compiled
def slopes(A, rows, y, target, weight, loss, m, center, mu, alpha, z, curved):
    """The dual at margins m, and which rows are on the parabola; z follows the rows whose α changed."""
    d = len(z) - 1
    mass = gap = linear = 0.0
    sharpness = 1.0 / (mu + loss.curvature)
    spared = loss.epsilon * sharpness
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        s = weight[i] if len(weight) > 1 else weight[0]
        t = target[i] if len(target) > 1 else target[0]
        e = t - m[k]
        a = slope_of(loss, e + mu * np.float64(center[k]), sharpness, spared)
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
    last = H[d]
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        row = read_row(A, i)
        s = sign * (weight[i] if len(weight) > 1 else weight[0])
        add_outer(A, row, s, H)
        add_row(A, row, s, last)
        last[d] += s


class Trial(NamedTuple):
    """A place on the way along a direction: the step, between which steps the minimum lies, and the slope at 0."""

    tau: float
    low: float
    high: float
    start: float
    number: int
    over: bool


FIRST = Trial(0.0, 0.0, np.inf, 0.0, 0, False)
MOST_TRIALS = 60


def search(sums: Callable[[float], tuple[float, float]], first: float, second: float) -> float:
    """The minimum of F along a direction: Newton on its slope, kept within a bracket.

    `sums` has the losses' slope and curvature after a step τ. The penalty's, at 0, are `first` and `second`. It is no
    compiled function: to compile one takes longer than it saves in thousands of fits.
    """
    trial = FIRST
    while not trial.over:
        trial = next_trial(trial, *sums(trial.tau), first, second)
    return trial.tau


@compiled(fastmath=REORDERED)
def slope_at(rows, target, weight, loss, m, q, center, mu, tau):
    """Sums over rows after a step τ along the direction: of the losses' slopes, and of squares on the parabola."""
    slope = curvature = 0.0
    weighted, sharpness = len(weight) > 1, 1.0 / (mu + loss.curvature)
    spared, targets = loss.epsilon * sharpness, len(target) > 1
    for k in range(len(rows)):
        s = weight[rows[k]] if weighted else weight[0]
        t = target[rows[k]] if targets else target[0]
        c = slope_of(loss, t - m[k] - tau * q[k] + mu * np.float64(center[k]), sharpness, spared)
        slope -= s * c * q[k]
        curvature += s * q[k] * q[k] if loss.low < c < loss.high and c != 0.0 else 0.0
    return slope, curvature


@compiled(fastmath=REORDERED)
def even_slope_at(t, s, loss, m, q, center, mu, tau):
    """The same where all rows have the target t of a label and the weight s: vector instructions need no lookup."""
    slope = curvature = 0.0
    sharpness = 1.0 / (mu + loss.curvature)
    for k in range(len(q)):
        c = slope_of(loss, t - m[k] - tau * q[k] + mu * np.float64(center[k]), sharpness, 0.0)
        slope -= c * q[k]
        curvature += q[k] * q[k] if 0.0 < c < loss.high else 0.0
    return s * slope, s * curvature


def next_trial(trial: Trial, slope: float, curvature: float, first: float, second: float) -> Trial:
    """The next trial, from the slope and curvature of the losses at this one, and of the penalty at 0."""
    tau, low, high, start, number, _ = trial
    slope, curvature = first + tau * second + slope, second + curvature
    if number == 0:
        start = slope
    if abs(slope) <= 0.05 * abs(start):
        return Trial(tau, low, high, start, number, True)
    low, high = (tau, high) if slope < 0.0 else (low, tau)
    tau -= slope / curvature if curvature > 0.0 else 0.0
    if not (low < tau < high) or (low == 0.0 and 0.1 * high < tau < np.inf and number > 1):
        # A step is cut fast if it is far too long because the curvature at its start was no guide.
        tau = 2.0 * low + 1.0 if high == np.inf else 0.1 * high if low == 0.0 else 0.5 * (low + high)
    if number + 1 == MOST_TRIALS:  # the slope is still negative at the lower end: the way there has been downhill
        return Trial(low, low, high, start, number + 1, True)
    return Trial(tau, low, high, start, number + 1, False)


@compiled
def copy_rows(A, rows, B):
    """The rows (xᵢ, 1) of a list, one below the other, in an array of zeros."""
    d = B.shape[1] - 1
    for k in range(len(rows)):
        row = read_row(A, np.uint64(rows[k]))
        first, stop = span(A, row)
        for p in range(first, stop):
            j, x = cell(A, row, p)
            B[k, j] = x
        B[k, d] = 1.0


@compiled
def diagonal(A, rows, weight, out):
    """out ← the diagonal of Σ sᵢ (xᵢ, 1)(xᵢ, 1)ᵀ over the rows of the list."""
    d = len(out) - 1
    for j in range(d + 1):
        out[j] = 0.0
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        row, s = read_row(A, i), weight[i] if len(weight) > 1 else weight[0]
        first, stop = span(A, row)
        for p in range(first, stop):
            j, x = cell(A, row, p)
            out[j] += s * x * x
        out[d] += s


@compiled
def product(A, rows, weight, p, out):
    """out ← Σ sᵢ (xᵢ, 1)⟨(xᵢ, 1), p⟩ over the rows of the list."""
    d = len(p) - 1
    for j in range(d + 1):
        out[j] = 0.0
    for k in range(len(rows)):
        i = np.uint64(rows[k])
        row = read_row(A, i)
        c = (weight[i] if len(weight) > 1 else weight[0]) * (dot(A, row, p) + p[d])
        add_row(A, row, c, out)
        out[d] += c
