"""Exact optimisation of a small dual problem without a bias, by steps in one coordinate.

.. math:: \\min_\\Delta\\ \\tfrac12\\Delta^\\top K\\Delta + e^\\top\\Delta, \\qquad
          lo \\le \\beta + \\Delta \\le hi

Where `epsilon` is given, :math:`\\varepsilon\\sum_i|\\beta_i + \\Delta_i|` is added: a coordinate at zero has two
slopes.
"""

import numpy as np

from hinge.compiled import compiled
from hinge.problems.svm.kernel_duality import slope_above, slope_below
from hinge.solvers.kernel.conjugate_steps import diagonal


@compiled
def single_steps(K, beta, e, lo, hi, tol, most, epsilon):
    """Move single coordinates, the one that gains most first, until none violates by more than `tol`."""
    n = len(beta)
    diag, tiny = diagonal(K, np.arange(n), None, True)
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
    if epsilon < 0.0:
        return beta - e / own
    shrunk = max(0.0, abs(beta - e / own) - epsilon / own)
    return shrunk if beta - e / own > 0.0 else -shrunk
