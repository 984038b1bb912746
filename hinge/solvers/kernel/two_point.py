"""Exact optimisation of a small dual problem by steps in one or two coordinates.

.. math:: \\min_\\Delta\\ \\tfrac12\\Delta^\\top K\\Delta + e^\\top\\Delta, \\qquad
          lo \\le \\beta + \\Delta \\le hi, \\quad \\textstyle\\sum_i\\Delta_i = 0 \\text{ with a free bias}

Where `epsilon` is given, :math:`\\varepsilon\\sum_i|\\beta_i + \\Delta_i|` is added: a coordinate at zero has two
slopes, and a step continues beyond zero if it still gains there.

Working pairs by second-order information: Fan, Chen and Lin 2005, the rule of LIBSVM.
"""

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.duality import slope_above, slope_below

TINY = 1e-12
"""The curvature of a step is taken for at least this share of the largest value."""


def steps(
    free: bool,
    K: np.ndarray,
    beta: np.ndarray,
    e: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    tol: float,
    most: int,
    epsilon: float | None,
) -> int:
    """`pair_steps` where the bias is free, else `single_steps`; how many were made."""
    if free:
        return int(pair_steps(K, beta, e, lo, hi, tol, most, epsilon, None))
    return int(single_steps(K, beta, e, lo, hi, tol, most, epsilon))


@compiled
def pair_steps(K, beta, e, lo, hi, tol, most, epsilon, cut):
    """Move pairs until no pair violates by more than `tol`, at most `most` times; β and e change in place.

    Where `cut` is given the sums before and from it on are kept apart: both points of a pair are on one side of it.
    """
    n = len(beta)
    diag, tiny = diagonal(K)
    for step in range(most):
        i, j, best, violation, rise = -1, -1, 0.0, -np.inf, 0.0
        for part in range(1 if cut is None else 2):
            first, last = _part(part, n, cut)
            u, least = -1, np.inf
            for k in range(first, last):
                if beta[k] < hi[k] and slope_above(beta[k], e[k], epsilon) < least:
                    u, least = k, slope_above(beta[k], e[k], epsilon)
            if u < 0:
                continue
            row, own, largest = K[u], diag[u], -np.inf
            for k in range(first, last):
                if beta[k] > lo[k]:
                    slope = slope_below(beta[k], e[k], epsilon)
                    largest = slope if slope > largest else largest
                    if slope - least > 0.0:
                        curve = own + diag[k] - 2.0 * row[k]
                        gain = (slope - least) * (slope - least) / (curve if curve > tiny else tiny)
                        if gain > best:
                            i, j, best, rise = u, k, gain, slope - least
            violation = largest - least if largest - least > violation else violation
        if j < 0 or violation <= tol:
            return step
        row, other = K[i], K[j]
        curve = diag[i] + diag[j] - 2.0 * row[j]
        d = _length(rise, curve if curve > tiny else tiny, beta[i], beta[j], epsilon)
        above, below = hi[i] - beta[i], beta[j] - lo[j]
        d = above if above < d else d
        d = below if below < d else d
        # At a bound exactly: whether a coordinate can move is asked by comparison with it.
        beta[i] = hi[i] if d == above else beta[i] + d
        beta[j] = lo[j] if d == below else beta[j] - d
        for k in range(n):
            e[k] += d * (row[k] - other[k])
    return most


@compiled(no_cpython_wrapper=True)
def _part(part, n, cut):
    """Where a part of the points begins and ends: all of them, or those on one side of the cut."""
    if cut is None:
        return 0, n
    return (0, cut) if part == 0 else (cut, n)


@compiled(no_cpython_wrapper=True)
def _length(rise, curve, up, down, epsilon):
    """How far to move β = up upwards and β = down downwards: the slope grows by 2ε where one of them passes zero."""
    d = rise / curve
    if epsilon is None:
        return d
    one, other = -up if up < 0.0 else np.inf, down if down > 0.0 else np.inf
    for kink in (min(one, other), max(one, other)):
        if d > kink:
            rise -= 2.0 * epsilon
            d = max(kink, rise / curve)
    return d


@compiled
def single_steps(K, beta, e, lo, hi, tol, most, epsilon):
    """Move single coordinates, the one that gains most first, until none violates by more than `tol`."""
    n = len(beta)
    diag, tiny = diagonal(K)
    for step in range(most):
        i, best, violation = -1, 0.0, 0.0
        for k in range(n):
            above, below = slope_above(beta[k], e[k], epsilon), slope_below(beta[k], e[k], epsilon)
            if (above < 0.0 and beta[k] < hi[k]) or (below > 0.0 and beta[k] > lo[k]):
                slope = above if above < 0.0 else below
                violation = max(violation, abs(slope))
                gain = slope * slope / max(diag[k], tiny)
                if gain > best:
                    i, best = k, gain
        if i < 0 or violation <= tol:
            return step
        old = beta[i]
        beta[i] = min(max(_moved(old, e[i], max(diag[i], tiny), epsilon), lo[i]), hi[i])
        d, row = beta[i] - old, K[i]
        for k in range(n):
            e[k] += d * row[k]
    return most


@compiled
def _moved(beta, e, own, epsilon):
    """The best value of one coordinate, without its bounds."""
    if epsilon is None:
        return beta - e / own
    shrunk = max(0.0, abs(beta - e / own) - epsilon / own)
    return shrunk if beta - e / own > 0.0 else -shrunk


@compiled(no_cpython_wrapper=True)
def diagonal(K):
    """The diagonal in one piece, since in K every entry lies in another page of memory; and the least curvature."""
    diag = np.empty(len(K), K.dtype)
    largest = 0.0
    for k in range(len(K)):
        diag[k] = own = K[k, k]
        own = own if own > 0.0 else -own
        largest = own if own > largest else largest
    return diag, TINY * largest if largest > 0.0 else TINY
