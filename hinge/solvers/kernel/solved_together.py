"""Many small kernel problems over one Gram matrix in one compiled call, by the rounds of `active_set`."""

from typing import NamedTuple

import numpy as np

from hinge.compiled import compiled
from hinge.solvers.kernel.active_set import FINEST, FIRST, SHARPER, STILL, advance_round, measured


class Together(NamedTuple):
    """Many problems over one Gram matrix: problem k has the points ``rows[cuts[k]:cuts[k + 1]]``.

    Attributes
    ----------
    K : ndarray of shape (n, n)
    A, B : ndarray of shape (k, n)
        Errors of its values, as `Gram.errors` gives them.
    rows, cuts : ndarray of int64
    y, box, beta, r : ndarray of shape (len(rows),)
        Labels or targets, largest |β|, and what is found: coefficients and responses.
    lam, unit, spread : ndarray
        λ of each problem, its unit of gaps, and its spread of targets.
    found : ndarray of shape (n_problems, 8)
        Gap or violation, the same without rounding, objective, bias; and where it stands: rounds made, the
        violation to solve to, the dual, and for how many rounds that has been still. A gap of inf: yet to be
        solved.
    """

    K: np.ndarray
    A: np.ndarray
    B: np.ndarray
    rows: np.ndarray
    cuts: np.ndarray
    y: np.ndarray
    box: np.ndarray
    beta: np.ndarray
    r: np.ndarray
    lam: np.ndarray
    unit: np.ndarray
    spread: np.ndarray
    found: np.ndarray


def unsolved(n_problems: int) -> np.ndarray:
    """`found` of problems that are yet to be solved."""
    return np.tile([np.inf, 0.0, np.nan, 0.0, 0.0, FIRST, -np.inf, 0.0], (n_problems, 1))


@compiled
def solve_together(these, first, tol, free, certifiable, work, epsilon=None):
    """Solve problems from `first` on, until about so much `work` is done; the number of the next one.

    `epsilon` is that of the ε-insensitive loss; None for the hinge.
    """
    done = 0.0
    for k in range(first, len(these.cuts) - 1):
        at, end = these.cuts[k], these.cuts[k + 1]
        n, rows = end - at, these.rows[at:end]
        y, box, beta = these.y[at:end], these.box[at:end], these.beta[at:end]
        K, own, lo, hi = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
        for i in range(n):
            own[i] = np.sqrt(max(these.K[rows[i], rows[i]], 0.0))
            if epsilon is None:
                lo[i], hi[i] = (0.0, box[i]) if y[i] > 0 else (-box[i], 0.0)
            else:
                lo[i], hi[i] = -box[i], box[i]
            for j in range(n):
                K[i, j] = these.K[rows[i], rows[j]]
        e, off = -y.astype(np.float64), np.zeros(n)
        _add_rows(K, beta, e)
        found, finished = these.found[k], False
        while not finished and done < work:
            level = found[5] * these.spread[k]
            done += n * (1.0 + advance_round(K, beta, e, lo, hi, level, free, certifiable, epsilon))
            found[5] = max(SHARPER * found[5], FINEST)
            found[4] += 1.0
            as_is, ended = np.inf, False
            for look in range(2):
                b, gap, value, objective = measured(
                    K, y, box, these.lam[k], these.unit[k], beta, e, lo, hi, own, off, free, certifiable, epsilon
                )
                if look == 0:
                    found[7] = 0.0 if value > found[6] + 1e-14 * abs(value) else found[7] + 1.0
                    found[6] = max(value, found[6])
                    as_is, ended = gap, found[7] >= STILL and found[5] <= FINEST
                    if gap > tol and not ended:
                        break
                    # The sums anew, so that their rounding is that of one sum; then all rounding is counted.
                    for i in range(n):
                        e[i] = -y[i]
                    _add_rows(K, beta, e)
                    _errors(these.A, these.B, rows, beta, own, off)
                else:
                    finished = gap <= tol or ended
                    found[0] = gap if finished else np.inf
                    found[1], found[2], found[3] = as_is, objective, b
                    off[:] = 0.0
        for i in range(n):
            these.r[at + i] = e[i] + y[i]
        if done >= work:
            return k + finished
    return len(these.cuts) - 1


@compiled
def _add_rows(K, beta, e):
    for j in range(len(beta)):
        if beta[j] != 0.0:
            row = K[j]
            for i in range(len(e)):
                e[i] += beta[j] * row[i]


@compiled
def _errors(A, B, rows, beta, own, off):
    """Bounds on the errors of Σ βK: of the values, and of a sum of n terms in float64."""
    n = len(beta)
    size = 0.0
    for j in range(n):
        size += abs(beta[j]) * own[j]
    for i in range(n):
        off[i] = 1.2e-16 * (n + 1) * size * own[i]
    for k in range(len(A)):
        size = 0.0
        for j in range(n):
            size += abs(beta[j]) * B[k, rows[j]]
        for i in range(n):
            off[i] += A[k, rows[i]] * size
